"""The privacy models that guarantees may be of, and what the numbers of each say.

A guarantee states its parameters by name. Here each model has a frozen dataclass of them, so that whoever
asks for a guarantee can be told what does not exist, what no release keeps and what every one does. A number
is marked as the numbers of results are; of choices each asks for at least as much as those after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from annotated_types import doc

from app.domain.catalogue.meanings import HIGH, LOW, Meaning, Range
from app.domain.catalogue.result_values import ResultValue, values_of
from app.domain.mechanisms.guarantee import Status

LIKENESS: Final = "beta_likeness"
DIFFERENTIAL_PRIVACY: Final = "differential_privacy"
BOUNDED_PRIVACY: Final = "bounded_differential_privacy"
PROBABILISTIC_PRIVACY: Final = "probabilistic_differential_privacy"
ATTRIBUTE: Final = "attribute"
"""The parameter that names the one attribute which a guarantee is about; a model may have none."""

_RANK: Final[dict[Status, int]] = {"none": 0, "heuristic": 1, "as_published": 2, "certified": 3}


@dataclass(frozen=True)
class PromisedLikeness:
    """What a guarantee of β-likeness states."""

    beta: Annotated[
        float, Meaning(Range(0.0, 1e6)), LOW, doc("Greatest relative gain: 1 means twice as likely.")
    ]
    bound: Annotated[
        Literal["enhanced", "basic"], doc("Whether frequent values have the tighter bound −ln p.")
    ]
    attribute: Annotated[str, doc("The sensitive attribute that was drawn.")]


@dataclass(frozen=True)
class PromisedAmplification:
    """What a guarantee of bounded amplification states."""

    gamma: Annotated[
        float, Meaning(Range(1.0)), LOW, doc("Greatest factor by which odds between two values change.")
    ]
    local_epsilon: Annotated[float, Meaning(Range(0.0)), LOW, doc("Its natural logarithm.")]
    attribute: Annotated[str, doc("The sensitive attribute that was drawn.")]


@dataclass(frozen=True)
class _OfGroups:
    """What guarantees about groups of records state."""

    p: Annotated[float, Meaning(Range(0.0, 1.0)), LOW, doc("With this probability a value is kept.")]
    epsilon: Annotated[
        float, Meaning(Range(0.0)), HIGH, doc("An estimate is bad from this relative error on.")
    ]
    delta: Annotated[float, Meaning(Range(0.0, 1.0)), HIGH, doc("Least value of what the criterion bounds.")]
    attribute: Annotated[str, doc("The sensitive attribute that was drawn.")]


@dataclass(frozen=True)
class PromisedReconstruction(_OfGroups):
    """What a guarantee of reconstruction privacy states."""

    criterion: Annotated[
        Literal["exact_min", "exact_total"],
        doc("Whether estimates are too low, and too high, with the probability delta each, or bad with it."),
    ]


@dataclass(frozen=True)
class PromisedReconstructionBound(_OfGroups):
    """What a guarantee states that only bounds the probability of a bad estimate from above."""

    criterion: Annotated[
        Literal["chernoff_full", "chernoff_simple"], doc("Which bound it is; the simple one is greater.")
    ]


@dataclass(frozen=True)
class PromisedPrivacy:
    """What a guarantee of approximate differential privacy states, of adding or removing one record."""

    epsilon: Annotated[
        float,
        Meaning(Range(0.0)),
        LOW,
        doc("One record changes the probability of no set of published tables by more than e^epsilon..."),
    ]
    delta: Annotated[float, Meaning(Range(0.0, 1.0)), LOW, doc("...apart from this slack.")]


@dataclass(frozen=True)
class PromisedBoundedPrivacy(PromisedPrivacy):
    """What a guarantee of bounded differential privacy states, of another value of one record."""

    attribute: Annotated[str, doc("The attribute whose value is another one, in place of one record more.")]


@dataclass(frozen=True)
class PromisedProbabilisticPrivacy(PromisedBoundedPrivacy):
    """The same of the probability of outputs with a greater loss; delta is that of any partition."""

    delta_of_partition: Annotated[
        float, Meaning(Range(0.0, 1.0)), LOW, doc("The probability of such an output of one partition.")
    ]


_UNDONE_PRIVACY: Final[Mapping[str, Callable[[float], float]]] = {
    "epsilon": math.log,
    "delta": lambda records: 1 / records if math.isfinite(records) else 1.0,
}


@dataclass(frozen=True)
class GuaranteeModel:
    """A privacy model that a mechanism may promise.

    Parameters
    ----------
    name, title
        As guarantees name it, and as people read it.
    parameters
        A frozen dataclass of what its guarantees state.
    always_assumed
        Hypotheses of every such guarantee that nobody can check: without them it says nothing.
    is_of_single_records
        Whether it bounds what the one value tells that a record shows. One about groups does not: a large
        group may keep it where values are published nearly unchanged.
    undone
        By number, from which bound on nothing keeps a reader from taking the one record of so many that shows
        a value for the person who has it.
    needs_all
        Whether all of these numbers have to be below that, since one of them alone bounds nothing.
    """

    name: str
    title: str
    parameters: type
    always_assumed: tuple[str, ...] = ()
    is_of_single_records: bool = True
    undone: Mapping[str, Callable[[float], float]] = field(default_factory=dict)
    needs_all: bool = False

    @cached_property
    def numbers(self) -> dict[str, ResultValue]:
        """Its numbers by name, with what each can be and on which side people are safer."""
        return {own.path: own for own in values_of(self.parameters)}

    @cached_property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """Its choices by name, the one that asks for most first."""
        found = {
            name: _choices(hint)
            for name, hint in get_type_hints(self.parameters, include_extras=True).items()
        }
        return {name: own for name, own in found.items() if own}

    @property
    def is_of_one_attribute(self) -> bool:
        """Whether each of its guarantees is about one attribute, which it names."""
        return ATTRIBUTE in self.names

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All parameters."""
        return tuple(own.name for own in fields(self.parameters))


GUARANTEE_MODELS: Final[tuple[GuaranteeModel, ...]] = (
    GuaranteeModel(
        LIKENESS,
        "β-likeness",
        PromisedLikeness,
        ("prior_is_common", "own_record_only", "records_independent"),
    ),
    GuaranteeModel(
        "amplification",
        "bounded amplification (local differential privacy)",
        PromisedAmplification,
        ("own_record_only",),
        undone={"gamma": float, "local_epsilon": math.log},
    ),
    GuaranteeModel(
        "reconstruction_privacy",
        "reconstruction privacy",
        PromisedReconstruction,
        ("plain_estimate",),
        is_of_single_records=False,
    ),
    GuaranteeModel(
        "reconstruction_bound",
        "bounded errors of reconstruction, which is no reconstruction privacy",
        PromisedReconstructionBound,
        ("plain_estimate",),
        is_of_single_records=False,
    ),
    GuaranteeModel(
        DIFFERENTIAL_PRIVACY,
        "differential privacy",
        PromisedPrivacy,
        ("parameters_are_public", "only_the_table_leaves"),
        undone=_UNDONE_PRIVACY,
        needs_all=True,
    ),
    GuaranteeModel(
        BOUNDED_PRIVACY,
        "bounded differential privacy (of one value replaced)",
        PromisedBoundedPrivacy,
        ("totals_are_public", "parameters_are_public", "only_the_table_leaves"),
        undone=_UNDONE_PRIVACY,
        needs_all=True,
    ),
    GuaranteeModel(
        PROBABILISTIC_PRIVACY,
        "probabilistic differential privacy (of one value replaced)",
        PromisedProbabilisticPrivacy,
        ("totals_are_public", "parameters_are_public", "only_the_table_leaves"),
        undone=_UNDONE_PRIVACY,
        needs_all=True,
    ),
)

MODEL_OF: Final = {own.name: own for own in GUARANTEE_MODELS}


def is_worth(status: Status, asked: Status) -> bool:
    """Whether a status is at least what is asked for."""
    return _RANK[status] >= _RANK[asked]


def worth(status: Status) -> int:
    """The greater, the more it is worth; 0 for nothing."""
    return _RANK[status]


def _choices(hint: Any) -> tuple[str, ...]:  # noqa: ANN401 - any type
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) is Literal else ()

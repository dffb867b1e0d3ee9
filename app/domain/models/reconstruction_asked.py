"""What is asked about perturbed groups, and how a release that a mechanism drew answers part of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final

from annotated_types import Ge, Le, Lt, doc

from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.classes.grouping import Grouping
from app.domain.classes.reconstruction import Bound
from app.domain.classes.reconstruction_groups import ReconstructionQuestion, Test
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.mechanisms.drawn_release import PublishedRetention
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.models.entry import MeasureContext
from app.domain.models.sensitive_values import SensitiveAttribute

RETENTION: Final = 0.5
"""p of a dataset where none is asked for."""

Retention = Annotated[
    float,
    Ge(1e-9),
    Lt(1),
    doc("p: with this probability a record keeps its value; else any of all m is drawn, its own included."),
]
Criteria = Annotated[
    Test,
    doc(
        "`chernoff_simple` and `chernoff_full` ask that an upper bound of the probability of a large error "
        "is at least δ, as published: no guarantee of an error. `exact_min` asks that the estimate is too "
        "low, and too high, with a probability of at least δ each; `exact_total` that it is off either way "
        "with δ."
    ),
]
Releases = Annotated[
    int,
    Ge(1),
    Le(100),
    doc(
        "Exactly so many independent releases of the same records a reader has: r make a group as if r times "
        "as large. By an exact criterion a group may pass with r of them and fail with fewer."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ReconstructionParameters(Grouping):
    """Which perturbation, and how bad estimates have to be."""

    attribute: SensitiveAttribute = None
    p: Annotated[
        float | None,
        Ge(1e-9),
        Lt(1),
        doc(
            "p: with this probability a record keeps its value; else any of all m is drawn, its own "
            "included. null: 0.5, and of a release that a mechanism drew the release's own; any other is "
            "refused there."
        ),
    ] = None
    epsilon: Annotated[
        float,
        Ge(0),
        Le(1000),
        doc(
            "ε: from which error on, as a part of the share, an estimate counts as bad. 0 is answered with a "
            "warning; no criterion and no release takes it."
        ),
    ] = 0.5
    delta: Annotated[float, Ge(0), Le(1), doc("δ: what the criterion compares with.")] = 0.3
    criterion: Criteria = "chernoff_simple"
    releases: Releases = 1
    top: Annotated[int, Ge(1), Le(200), doc("Most groups, and values of the worst, to list.")] = 10
    by_mode: Annotated[
        int,
        Ge(0),
        Le(20),
        ADDED_LATER,
        doc(
            "Of so many of the groups listed it is told what each mode of `sample_perturb_scale` would leave "
            "to be estimated, beside plain perturbation; of one release."
        ),
    ] = 0

    def __post_init__(self) -> None:
        if self.by_mode and self.releases > 1:
            raise InvalidInput.of(
                "/measure/by_mode",
                "several-releases",
                "What modes leave to be estimated is known of one release only.",
                "Set releases to 1, or leave by_mode out.",
            )

    @property
    def groups_all(self) -> bool:
        """The whole table is then the group that everybody is known to be in."""
        return True

    @property
    def bound(self) -> Bound:
        """By which samples would be small enough: a mechanism goes by no exact criterion."""
        return "chernoff_full" if self.criterion == "chernoff_full" else "chernoff_simple"


def drawn_retention(context: MeasureContext) -> PublishedRetention | None:
    """What the release says of uniformly replaced values, if a mechanism drew it."""
    return None if context.drawn is None else context.drawn.retained


def retention(context: MeasureContext, own: ReconstructionParameters) -> float:
    """The release's own probability if a mechanism drew it, else the one asked for."""
    drawn = drawn_retention(context)
    if drawn is not None:
        return drawn.p
    return RETENTION if own.p is None else own.p


def fits_release(context: MeasureContext, own: ReconstructionParameters) -> str | None:
    """InvalidInput where another question is asked than the drawn release answers."""
    drawn, faults = drawn_retention(context), []
    if drawn is None:
        return None
    if own.p is not None and own.p != drawn.p:
        faults.append(
            Fault(
                "/measure/p",
                "other-p",
                f"The release was drawn with p = {drawn.p:.9g}.",
                "Leave p out, or measure the dataset with another one.",
            )
        )
    if own.attribute not in (None, drawn.attribute):
        faults.append(
            Fault(
                "/measure/attribute",
                "other-attribute",
                f"The release shows drawn values of {drawn.attribute!r}.",
                "Leave the attribute out, or measure the dataset.",
            )
        )
    if own.by_mode and isinstance(drawn, PublishedSamples) and _sizes_of(drawn) is None:
        faults.append(
            Fault(
                "/measure/by_mode",
                "sizes-not-told",
                "How large samples of this release are is told to nobody, and follows from what modes would "
                "leave.",
                "Leave by_mode out, or measure the dataset.",
            )
        )
    refuse(faults)
    return None


def _sizes_of(samples: PublishedSamples) -> tuple[float, float, Bound] | None:
    """What sizes of samples follow from, ε, δ and the bound; None where they are not told."""
    own = samples
    if own.sample_size is None or own.epsilon is None or own.delta is None or own.bound is None:
        return None
    return own.epsilon, own.delta, own.bound


def sizing(
    context: MeasureContext, own: ReconstructionParameters, question: ReconstructionQuestion
) -> tuple[ReconstructionQuestion, Bound]:
    """What samples would keep: what the release's own do if they are drawn, else what is asked about."""
    drawn = drawn_retention(context)
    sizes = _sizes_of(drawn) if isinstance(drawn, PublishedSamples) else None
    if sizes is None:
        return question, own.bound
    epsilon, delta, bound = sizes
    return replace(question, epsilon=epsilon, delta=delta), bound

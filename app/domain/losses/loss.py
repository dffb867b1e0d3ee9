"""What a loss of information is to a search: how much a table-level rule takes from a table.

A loss never falls when a rule generalises more, nor when it suppresses more records; searches prune by that.
There are two kinds:

* A :class:`SummedLoss` has one term per attribute, each of the attribute's own level and of which of its
  cells are suppressed. Mostly the terms are added up; they may also be compared by their greatest or one
  after another (``RANKED``). It needs no classes, and boxes of rules have bounds for nothing.
* A :class:`ClassLoss` depends on the equivalence classes that a rule makes. What it is without suppression is
  a lower bound for every rule at or above the levels, whatever classes that one suppresses; records that
  every rule suppresses without the rest of their class have to be told (``ClassLoss.least``).

Levels are one per quasi-identifier that the loss was made for, in that order. Suppressed records count with
every quasi-identifier suppressed. Records count alike: their weights are for means of risk and utility.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, MaxLen, doc

from app.domain.arrays import Bools, Floats, Indices, Longs
from app.domain.catalogue.catalogue_types import ColumnName, Example
from app.domain.errors import InvalidInput, joined

Sums = npt.NDArray[Any]
"""int64 where a loss counts in whole numbers, float64 where it does not."""

LossKind = Literal[
    "geometric",
    "arithmetic",
    "precision",
    "height",
    "discernibility",
    "average_class_size",
    "non_uniform_entropy",
    "ambiguity",
    "kl_divergence",
    "ail",
    "squared_error",
]
LeafDomain = Literal["declared", "active"]
"""All leaves of a hierarchy, those without records included, or the values that occur in the table."""

ACTIVE_BY_DEFAULT: Final[frozenset[LossKind]] = frozenset({"kl_divergence"})
Aggregate = Literal["sum", "mean", "maximum", "rank"]
"""What is made of the attributes' losses. ``rank``: the greatest is compared first, then the next, …"""

RANKED: Final[frozenset[Aggregate]] = frozenset({"maximum", "rank"})
"""The aggregates that are no function of a sum of terms."""
OF_CELLS: Final[tuple[LossKind, ...]] = (
    "geometric",
    "arithmetic",
    "precision",
    "non_uniform_entropy",
    "ail",
    "squared_error",
)
"""The losses that are sums over cells; of these alone cells of suppressed records can be told from others."""
OF_ATTRIBUTES: Final[tuple[LossKind, ...]] = (*OF_CELLS, "height")
"""The losses that every attribute has of its own, so that attributes can be weighed against each other."""
AGGREGATED: Final[tuple[LossKind, ...]] = tuple(kind for kind in OF_ATTRIBUTES if kind != "geometric")
MOST_WEIGHT: Final = 1e6
EQUAL: Final = 0.5
"""The suppression factor by which generalised and suppressed cells count alike."""


def _listed(kinds: Sequence[LossKind]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


@dataclass(frozen=True)
class LossChoice:
    """How loss of information is measured, with more than its kind."""

    kind: Annotated[LossKind, doc("Kind of loss."), Example("ail")] = "geometric"
    leaf_domain: Annotated[
        LeafDomain | None,
        doc(
            "Which values count where leaves are counted: all leaves of the hierarchy (`declared`) or those "
            "that occur in the table (`active`); null: `active` for `kl_divergence`, else `declared`."
        ),
        Example("active"),
    ] = None
    numeric: Annotated[
        tuple[ColumnName, ...],
        MaxLen(200),
        doc(
            "Attributes whose values are numbers: `ail` measures them by their range, `squared_error` by "
            "their squared distance from the mean of the numbers that are released as one value."
        ),
        Example([]),
    ] = ()
    weights: Annotated[
        Mapping[ColumnName, Annotated[float, Ge(0), Le(MOST_WEIGHT)]],
        MaxLen(200),
        doc(
            "Quasi-identifier → how much its loss counts, 1 where it is not named. Only the proportions "
            "matter: weights are scaled so that their mean is 1. For "
            f"{_listed(OF_ATTRIBUTES)}."
        ),
        Example({"city": 2}),
    ] = field(default_factory=dict, hash=False)
    aggregate: Annotated[
        Aggregate | None,
        doc(
            "What is made of the attributes' losses: their `sum`, `mean` or `maximum`, or `rank`: of two "
            "rules the one whose greatest loss is smaller is better, if these tie the one whose next "
            f"greatest is, and so on. Null: as the loss is defined. For {_listed(AGGREGATED)}."
        ),
        Example("rank"),
    ] = None
    suppression_factor: Annotated[
        float,
        Ge(0),
        Le(1),
        doc(
            "0.5: a cell of a suppressed record counts as ⊥. Below, it counts less, at 0 no more than it "
            "would generalised; above, generalised cells count less, at 1 nothing. For "
            f"{_listed(OF_CELLS)}."
        ),
        Example(EQUAL),
    ] = EQUAL

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if not 0 <= weight <= MOST_WEIGHT:
                raise InvalidInput.of(
                    pointer_of_weight(name),
                    "out-of-range",
                    f"A weight must be between 0 and {MOST_WEIGHT:,.0f}.",
                    "Only the proportions of the weights count.",
                )
        if not 0 <= self.suppression_factor <= 1:
            raise InvalidInput.of(
                "/suppression_factor",
                "out-of-range",
                "suppression_factor must be between 0 and 1.",
                "0.5 counts generalised and suppressed cells alike.",
            )
        if self.kind == "squared_error" and not self.numeric:
            raise InvalidInput.of(
                "/numeric",
                "missing",
                "The loss squared_error needs to know which attributes are numbers.",
                "Name one of them at least; others lose as by arithmetic.",
            )
        if self.weights:
            _require_kind(
                "weights", self.kind, OF_ATTRIBUTES, "It has no loss of single attributes to weigh."
            )
        if self.aggregate is not None:
            why = "It has no losses of single attributes to aggregate."
            if self.kind == "geometric":
                why = "It is the geometric mean of the attributes' losses already; arithmetic has the same."
            _require_kind("aggregate", self.kind, AGGREGATED, why)
        if self.suppression_factor != EQUAL:
            why = "It is no sum over cells, of which those of suppressed records could count otherwise."
            _require_kind("suppression_factor", self.kind, OF_CELLS, why)

    @property
    def is_plain(self) -> bool:
        """Whether attributes and suppressed cells count as the loss is defined."""
        return not self.weights and self.aggregate is None and self.suppression_factor == EQUAL

    @property
    def is_ranked(self) -> bool:
        """Whether the loss is no function of a sum of terms."""
        return self.aggregate in RANKED

    @property
    def leaves(self) -> LeafDomain:
        """The leaf domain, that of the kind where none was chosen."""
        if self.leaf_domain is not None:
            return self.leaf_domain
        return "active" if self.kind in ACTIVE_BY_DEFAULT else "declared"


def pointer_of_weight(attribute: str) -> str:
    """Where the weight of an attribute is in the document of a loss."""
    return joined("/weights", attribute)


def _require_kind(option: str, kind: LossKind, kinds: Sequence[LossKind], why: str) -> None:
    if kind not in kinds:
        raise InvalidInput.of(
            f"/{option}",
            "not-applicable",
            f"The loss {kind} takes no {option}. {why}",
            f"Leave it out, or choose one of {', '.join(kinds)}.",
        )


class SummedLoss(ABC):
    """A loss with one term per attribute.

    Attributes
    ----------
    kind
        Its name.
    aggregate
        What is made of the terms. For those in ``RANKED`` a term is the attribute's weighted loss, in the
        loss's unit.
    nodes
        Per attribute the nodes that occur in the table, ascending.
    records
        Per attribute how many records have each of the ``nodes``.
    uncovered
        Per attribute (levels, nodes): what suppressing one record of the node adds, on a level, to the
        attribute's sum over records. Negative only if the loss is not ``is_monotone``.
    is_monotone
        Whether suppressing records never lowers the loss, nor does a more general rule that suppresses the
        same ones.
    """

    kind: LossKind
    aggregate: Aggregate
    is_monotone: bool = True
    nodes: list[Longs]
    records: list[Longs]
    uncovered: list[Sums]

    @property
    def n_attributes(self) -> int:
        """Attributes that the loss looks at."""
        return len(self.nodes)

    def added(self, suppressed: Sequence[Longs]) -> list[Sums]:
        """What suppression adds per attribute on each level, from the records suppressed per node."""
        return [per_level @ records for per_level, records in zip(self.uncovered, suppressed, strict=True)]

    def relief(self, allowed: int) -> list[Floats] | None:
        """Per attribute and level, what suppressing so many records adds to the sum at least; None: nothing.

        Every attribute has its own records suppressed here, those that save most: a sum of no choice of
        records for all attributes is smaller.
        """
        if self.is_monotone:
            return None
        found = []
        for uncovered, records in zip(self.uncovered, self.records, strict=True):
            savings = np.minimum(uncovered, 0.0)
            order = np.argsort(savings, axis=1, kind="stable")
            counted = np.minimum(np.cumsum(records[order], axis=1), allowed)
            amounts = np.diff(counted, axis=1, prepend=0)
            found.append(np.asarray((np.take_along_axis(savings, order, axis=1) * amounts).sum(axis=1)))
        return found

    @abstractmethod
    def terms(self, attribute: int, added: Sums | int = 0) -> Floats:
        """What an attribute contributes to :meth:`of_sum` on its first levels, as many as ``added`` has."""

    @abstractmethod
    def of_sums(self, totals: Floats) -> Floats:
        """The losses whose terms add up to each of the ``totals``; strictly growing."""

    @abstractmethod
    def sums_of(self, losses: Floats) -> Floats:
        """Inverse of :meth:`of_sums`."""

    @abstractmethod
    def of(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> float:
        """Loss of a rule; ``added`` as :meth:`added` gives it for the records that the rule suppresses."""

    @abstractmethod
    def of_attributes(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> tuple[float, ...]:
        """Per attribute its loss times its weight (weights have mean 1), in the loss's unit."""

    def of_sum(self, total: float) -> float:
        """The loss whose terms add up to ``total``."""
        return float(self.of_sums(np.float64(total)))  # type: ignore[arg-type]

    def sum_of(self, loss: float) -> float:
        """Inverse of :meth:`of_sum`."""
        return float(self.sums_of(np.float64(loss)))  # type: ignore[arg-type]


class RuleClasses(Protocol):
    """The classes that a rule makes: records with the same released quasi-identifiers."""

    @property
    def sizes(self) -> Longs:
        """Records per class (G,); zeros in between mean no class."""

    @property
    def of_row(self) -> Indices:
        """Class of every row of ``table.reduced`` (the distinct records over all attributes)."""


class ClassLoss(ABC):
    """A loss that depends on the equivalence classes that a rule makes.

    Attributes
    ----------
    more_seconds
        Estimated time that a rule which suppresses takes beyond what its classes do.
    """

    kind: LossKind
    more_seconds: float = 0.0

    @abstractmethod
    def of(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """Loss of a rule with its classes; ``suppressed`` (G,) are those that it suppresses, None: none."""

    def least(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """A lower bound for every rule at or above the levels, from the classes that these make.

        ``suppressed`` (G,) are those that every rule suppresses; None: none.
        """
        return self.of(levels, classes, suppressed)

    def least_below(self, classes: RuleClasses, suppressed: Bools | None, k: int) -> float:
        """A lower bound for every rule at or below the one that makes the classes.

        All of these suppress the ``suppressed`` classes (G,), None: none, and keep no class of fewer than
        ``k`` records.
        """
        return 0.0


Loss = SummedLoss | ClassLoss

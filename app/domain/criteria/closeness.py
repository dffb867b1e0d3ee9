"""t-closeness as a criterion (Li, Li and Venkatasubramanian 2007; β-likeness 8.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.classes.closeness import Distance, distances, farther, has_missing
from app.domain.classes.grouping import Bools
from app.domain.classes.necessary import (
    least_mass,
    least_size,
    least_values,
    most_passing,
    rounds_equally,
    rounds_in_order,
)
from app.domain.classes.ratios import as_written
from app.domain.criteria.anonymity import GREATEST_K, KAnonymity
from app.domain.criteria.criterion import Criterion, Judged, Merging
from app.domain.criteria.diversity import Attribute, at_least_values, require_within
from app.domain.distinct import Longs

GREATEST_T = 1000.0


@dataclass(frozen=True)
class TCloseness(Criterion):
    """In every class the sensitive values are distributed nearly as in the whole table."""

    kind: ClassVar[str] = "t_closeness"
    title: ClassVar[str] = "t-closeness: sensitive values distributed nearly as in the whole table"
    source: ClassVar[str] = "Li, Li and Venkatasubramanian 2007"
    merging: ClassVar[Merging] = "passes_stay"

    t: Annotated[
        float,
        Ge(0),
        Le(GREATEST_T),
        doc("Greatest distance of a class from the whole table: a share of 1, or bits for `kl` and `js`."),
    ]
    distance: Annotated[
        Distance,
        doc(
            "Earth mover's distance with all values equally far apart (`equal`), by their order (`ordered`) "
            "or by the sensitive attribute's hierarchy (`hierarchical`), or the divergence of Kullback and "
            "Leibler (`kl`) or Jensen and Shannon (`js`) in bits."
        ),
    ] = "equal"
    attribute: Attribute = None

    def __post_init__(self) -> None:
        require_within("t", self.t, 0, GREATEST_T)

    def failing(self, judged: Judged) -> Bools:
        """Classes that are farther than t; exactly at t passes."""
        counts = judged.counts(self.attribute)
        return farther(counts, self.distance, as_written(self.t), judged.hierarchy(self.attribute))

    def attained(self, judged: Judged) -> float | None:
        """Distance of the farthest class."""
        counts = judged.counts(self.attribute)
        found = distances(counts, self.distance, judged.hierarchy(self.attribute))
        return float(found.max()) if len(found) else None

    def unavoidable(self, judged: Judged) -> Longs:
        """What does not fit into any mixture of values near the whole table's."""
        counts = judged.counts(self.attribute)
        reach = self._reach(judged)
        if reach is None:
            return super().unavoidable(judged)
        shares = counts.totals / counts.totals.sum()
        at_most = counts.sizes - most_passing(counts, shares, 1 - self.t * reach)
        return np.asarray(np.maximum(at_most, self.failing(judged)))

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """The least class that can be as close, and how many values it has."""
        totals = whole.counts(self.attribute).totals
        shares, reach = totals / totals.sum(), self._reach(whole)
        if reach is None:
            values = len(totals) if self.distance == "kl" else least_values(shares, least_mass(self.t))
            return least_classes(values, values, self.attribute)
        values = least_values(shares, 1 - self.t * reach)
        possible = (
            rounds_in_order(totals, self.t)
            if self.distance == "ordered"
            else rounds_equally(totals, self.t * reach)
        )
        return least_classes(least_size(possible, totals), values, self.attribute)

    def _reach(self, judged: Judged) -> int | None:
        """Mass that moves at all moves over at least 1 / reach; None for the divergences."""
        if self.distance == "ordered":
            return max(1, judged.counts(self.attribute).n_values - 1)
        if self.distance == "hierarchical":
            return max(1, judged.hierarchy(self.attribute).height)
        return 1 if self.distance == "equal" else None

    def impossible(self, whole: Judged) -> str | None:
        """The whole table is at distance 0 from itself, if the distance is defined."""
        if self.distance == "ordered" and has_missing(whole.counts(self.attribute)):
            return "Some records lack the sensitive value, and a missing value has no place in an order."
        return None


def least_classes(size: int, values: int, attribute: str | None) -> tuple[Criterion, ...]:
    """Criteria that say that every class has so many records and different values."""
    records = (KAnonymity(min(size, GREATEST_K)),) if size > values else ()
    return (*records, *at_least_values(values, attribute))

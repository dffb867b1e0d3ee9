"""t-closeness as a criterion (Li et al. (2007))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.classes.closeness import Distance, cuts, distances, farther, has_missing
from app.domain.classes.gains import lacks_values
from app.domain.classes.grouping import Bools
from app.domain.classes.necessary import (
    greatest_shift,
    least_mass,
    least_size,
    least_values,
    most_passing,
    rounds_equally,
    rounds_in_order,
)
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.classes.value_groups import in_groups
from app.domain.criteria.anonymity import GREATEST_K, KAnonymity
from app.domain.criteria.criterion import Criterion, Judged, Merging
from app.domain.criteria.diversity import Attribute, at_least_values
from app.domain.criteria.ranges import require_within
from app.domain.distinct import Longs
from app.domain.numbers import highest_accepted

GREATEST_T = 1000.0


@dataclass(frozen=True)
class TCloseness(Criterion):
    """In every class the sensitive values are distributed nearly as in the whole table."""

    kind: ClassVar[str] = "t_closeness"
    title: ClassVar[str] = "t-closeness: sensitive values distributed nearly as in the whole table"
    source: ClassVar[str] = "Li et al. (2007)"
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
        """What does not fit into any mixture of values, or of groups of them, near the whole table's."""
        counts = judged.counts(self.attribute)
        most = counts.sizes
        for own, shift in self._shifts(judged):
            shares = own.totals / own.totals.sum()
            most = np.minimum(most, most_passing(own, shares, 1 - shift))
        if self.distance == "kl":
            most = np.where(lacks_values(counts), 0, most)
        return np.asarray(np.maximum(counts.sizes - most, self.failing(judged)))

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """The least class that can be as close, and how many values it has."""
        totals = whole.counts(self.attribute).totals
        size, values = 1, len(totals) if self.distance == "kl" else 1
        for own, shift in self._shifts(whole):
            values = max(values, least_values(own.totals / own.totals.sum(), 1 - shift))
            size = max(size, least_size(rounds_equally(own.totals, shift), own.totals))
        if self.distance == "ordered":
            size = max(size, least_size(rounds_in_order(totals, self.t), totals))
        if self.distance == "js":
            values = max(values, least_values(totals / totals.sum(), least_mass(self.t)))
        return least_classes(size, values, self.attribute)

    def _shifts(self, judged: Judged) -> list[tuple[SensitiveCounts, float]]:
        """Counts of values or of groups of them, and the mass of those that may be elsewhere at most."""
        counts = judged.counts(self.attribute)
        if self.distance == "hierarchical":
            tree = judged.hierarchy(self.attribute)
            found = [(part, self.t * tree.height / max(1, above)) for part, above in cuts(tree, counts.nodes)]
            return [(in_groups(counts, part), shift) for part, shift in found if shift < 1]
        shift = {
            "equal": self.t,
            "ordered": self.t * max(1, counts.n_values - 1),
            # Pinsker's inequality: a divergence is at least 2 v² nats.
            "kl": math.sqrt(highest_accepted(self.t) * math.log(2) / 2),
            "js": greatest_shift(self.t),
        }[self.distance]
        return [(counts, shift)] if shift < 1 else []

    def impossible(self, whole: Judged) -> str | None:
        """The whole table is at distance 0 from itself, if the distance is defined."""
        if self.distance == "ordered" and has_missing(whole.counts(self.attribute)):
            return "Some records lack the sensitive value, and a missing value has no place in an order."
        return None


def least_classes(size: int, values: int, attribute: str | None) -> tuple[Criterion, ...]:
    """Criteria that say that every class has so many records and different values."""
    records = (KAnonymity(min(size, GREATEST_K)),) if size > values else ()
    return (*records, *at_least_values(values, attribute))

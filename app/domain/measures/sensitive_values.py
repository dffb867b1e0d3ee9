"""The values of one sensitive attribute in the classes of a release, as measures look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.catalogue_types import CellValue
from app.domain.classes.grouping import Bools, EquivalenceClasses, Grouping
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.criteria.criterion import Others
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.measures.entry import Cost, MeasureContext
from app.domain.measures.judged import ClassRef, class_ref

SECONDS_PER_CELL: Final = 3e-8
SECONDS_PER_ENTRY: Final = 1.5e-7


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """What is counted of one attribute.

    Attributes
    ----------
    others
        The other sensitive attributes by which the classes are split, none if they are left aside.
    without_value
        Records that are in a class and without a value that counts: it is missing, or withheld with them.
    """

    name: str
    others: tuple[str, ...]
    classes: EquivalenceClasses
    counts: SensitiveCounts
    hierarchy: Hierarchy
    without_value: int

    @cached_property
    def judged(self) -> Bools:
        """(G,) classes that have a value at all: missing ones may have been left out."""
        return self.counts.sizes > 0

    def worst(self, scores: npt.NDArray[np.float64]) -> int | None:
        """The class of the highest score, the first of equals; None if no class is judged."""
        if not self.judged.any():
            return None
        return int(np.argmax(np.where(self.judged, scores, -np.inf)))

    def ref(self, class_: int | None) -> ClassRef | None:
        """A class by its records."""
        return None if class_ is None else class_ref(self.classes, class_)

    def by_frequency(self, class_: int) -> tuple[CellValue, ...]:
        """The values of a class, the most frequent first, equally frequent ones in the hierarchy's order."""
        entries = slice(self.counts.starts[class_], self.counts.starts[class_ + 1])
        order = np.argsort(-self.counts.counts[entries], kind="stable")
        return tuple(map(self.label, self.counts.values[entries][order].tolist()))

    def most_frequent_entry(self, class_: int, among: Bools) -> int | None:
        """Entry of a class's most frequent value among some (m,), the first of equals; None without one."""
        first, last = self.counts.starts[class_ : class_ + 2].tolist()
        own = np.where(among[self.counts.values[first:last]], self.counts.counts[first:last], 0)
        return first + int(np.argmax(own)) if own.any() else None

    def label(self, value: int) -> CellValue:
        """What a value is called."""
        return CellValue(self.hierarchy.labels[int(self.counts.nodes[value])])

    def records_of(self, classes: Bools) -> int:
        """Records of some classes."""
        return int(self.classes.records[classes].sum())

    def in_one_class(self) -> SensitiveCounts:
        """The whole table as a single class, records without a class included."""
        totals = self.counts.totals
        numbers = np.arange(len(totals), dtype=np.int32)
        starts = np.array([0, len(totals)], dtype=np.int64)
        return SensitiveCounts(starts, numbers, totals, totals, self.counts.nodes)


def sensitive_values(
    context: MeasureContext,
    grouping: Grouping,
    attribute: str | None,
    others: Others,
    beside: Sequence[str] = (),
) -> SensitiveValues:
    """Count the values of an attribute (None: the only sensitive one).

    ``in_classes`` splits the classes by the other attributes of the role sensitive and by those in ``beside``
    (Machanavajjhala (2008), definition 3.11): whoever knows one of them may conclude the attribute from it.
    """
    release, table = context.release, context.table
    name = release.sensitive(attribute)
    split: tuple[str, ...] = ()
    if others == "in_classes":
        known = {*release.other_sensitive(name), *beside} - {name, *(grouping.quasi_identifiers or ())}
        split = tuple(own for own in table.attributes if own in known)
    counts, classes = release.counts(grouping, name, split), release.classes(grouping, split)
    shown, _ = release.values(grouping, name)
    without = int(np.count_nonzero((classes.of_record >= 0) & (shown < 0)))
    return SensitiveValues(name, split, classes, counts, table.hierarchies[table.position(name)], without)


def cost_of_counting(context: MeasureContext, n_attributes: int) -> Cost:
    """Cost of grouping the records and counting the values of so many sensitive attributes."""
    table = context.table
    cells = table.n_records * (table.n_attributes + 2 * n_attributes + 4)
    seconds = cells * SECONDS_PER_CELL + table.n_records * n_attributes * SECONDS_PER_ENTRY
    return Cost(seconds, 16 * cells, n_attributes, "classes")

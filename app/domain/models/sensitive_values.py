"""The values of one sensitive attribute in classes, as criteria and measures look at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Bools, Longs
from app.domain.catalogue.catalogue_types import ADDED_LATER, CellValue
from app.domain.catalogue.meanings import STRICTER_DOWN, STRICTER_UP
from app.domain.classes.grouping import EquivalenceClasses, Grouping, MissingSensitiveOption
from app.domain.classes.sensitive_counts import SensitiveCounts, missing_as_most_frequent
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.criterion import Merging, ValueCriterion, failing_classes
from app.domain.models.entry import Cost, MeasureContext
from app.domain.models.judged import ClassRef, class_ref
from app.domain.models.judging import JudgedClasses, Others

GREATEST_L: Final = 1_000_000
LEAST_C: Final = 1e-9
BY_ITSELF: Final = (
    "The other sensitive attributes split the classes here (`others: in_classes`); `others: apart` judges "
    "this one by itself, as other tools do."
)
Attribute = Annotated[
    str | None, MaxLen(200), doc("The sensitive attribute; may be left out if there is only one.")
]
SensitiveAttribute = Annotated[
    str | None, MaxLen(200), doc("The sensitive attribute; null: the only one of that role.")
]
OtherAttributes = Annotated[
    Others,
    doc(
        "Whether the other sensitive attributes split the classes further (`in_classes`): whoever knows one "
        "of them must not learn this one from it; or are left aside (`apart`)."
    ),
]
Ell = Annotated[int, Ge(1), Le(GREATEST_L), STRICTER_UP, doc("ℓ.")]
C = Annotated[
    float,
    Ge(LEAST_C),
    Le(1e9),
    STRICTER_DOWN,
    doc("The c, taken as the decimal it is written as; the comparison is strict."),
]
Labels = tuple[Annotated[CellValue, Len(1, 1000)], ...]


def named(attribute: str | None) -> str:
    """The sensitive attribute as a sentence names it."""
    return "the sensitive attribute" if attribute is None else repr(attribute)


@dataclass(frozen=True, kw_only=True)
class GroupingOfValues(Grouping):
    """The same, of measures that count how diverse sensitive values are."""

    spellings: Annotated[
        Literal["as_read", "as_written"],
        ADDED_LATER,
        doc(
            "Whether values that a person reads as one are one (`as_read`: case, blanks, invisible signs, "
            "look-alike letters, 1000 and 1000.0), or each spelling is (`as_written`, as in version 1)."
        ),
    ] = "as_read"

    @property
    def folds(self) -> bool:
        """Unless spellings are asked for."""
        return self.spellings == "as_read"


@dataclass(frozen=True, kw_only=True)
class GroupingOfDiversity(GroupingOfValues):
    """The same, of measures for which a missing value is no value of its own unless that is asked for."""

    missing_sensitive: MissingSensitiveOption = "most_frequent"


@dataclass(frozen=True)
class DiversityCriterion(ValueCriterion):
    """A condition on the values of one sensitive attribute in each class, or each block of it."""

    missing_sensitive: Annotated[
        Literal["most_frequent", "own_category"],
        doc(
            "Whether a missing value counts as the most frequent of its class, the worst that it may be, or "
            "is a value of its own, as in version 1."
        ),
    ] = field(default="most_frequent", kw_only=True)

    source: ClassVar[str] = "Machanavajjhala et al. (2007); Machanavajjhala (2008), section 3.4"
    merging: ClassVar[Merging] = "passes_stay"

    @property
    def _of(self) -> tuple[str | None, Others]:
        """The attribute, and what becomes of the others: left aside, unless the criterion asks."""
        return getattr(self, "attribute", None), getattr(self, "others", "apart")

    @abstractmethod
    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        """(B,) which blocks fail."""

    def _removed(self, judged: JudgedClasses, counts: SensitiveCounts, failing: Bools) -> Longs:
        """(B,) records of failing blocks that fail however the block is split, 0 for the others."""
        return failing.astype(np.int64)

    def _counts(self, judged: JudgedClasses) -> SensitiveCounts:
        """What it looks at: who has each value, or, of those about whole distributions, these."""
        return self._completed(judged.counts(*self._of))

    def _completed(self, counts: SensitiveCounts) -> SensitiveCounts:
        """The counts with missing values as the criterion takes them."""
        own_value = self.version == 1 or self.missing_sensitive == "own_category"
        return counts if own_value else missing_as_most_frequent(counts)

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes with a block that fails."""
        return failing_classes(judged, *self._of, self._failing(judged, self._counts(judged)))

    def unavoidable(self, judged: JudgedClasses) -> Longs:
        """Records of the blocks that cannot pass with the others, in all blocks of a class."""
        attribute, others = self._of
        counts = self._counts(judged)
        removed = self._removed(judged, counts, self._failing(judged, counts))
        if others == "apart":
            return removed
        owners = judged.class_of_block(attribute)
        return np.bincount(owners, removed, len(judged.sizes)).astype(np.int64)

    def _whole(self, whole: JudgedClasses) -> tuple[SensitiveCounts, str] | None:
        """Counts of the table as one class, and what they are of; None if that meets the criterion."""
        counts = self._counts(whole)
        if not self._failing(whole, counts).any():
            return None
        if counts.n_classes > 1:
            return counts, "Of all records as one class, those equal in the other sensitive attributes"
        return counts, "All records as one class"

    def alternative(self, whole: JudgedClasses) -> str:
        """The attribute by itself, where only the other sensitive attributes are in the way."""
        attribute, others = self._of
        if others == "apart" or whole.counts(attribute, others).n_classes <= len(whole.sizes):
            return ""
        beside = replace(self, **{"others": "apart"})  # type: ignore[arg-type]
        return BY_ITSELF if beside.impossible(whole) is None else ""


@dataclass(frozen=True)
class WholeBlockCriterion(DiversityCriterion):
    """One that no part of a block meets if the block does not, with ``others`` among its fields."""

    merging: ClassVar[Merging] = "fewer_fail"
    passes_by_fewer_values: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._of[1] == "in_classes":
            # A block that fails may join a class that had none and take its records along.
            object.__setattr__(self, "merging", "passes_stay")

    def _removed(self, judged: JudgedClasses, counts: SensitiveCounts, failing: Bools) -> Longs:
        return np.where(failing, counts.sizes, 0)


SECONDS_PER_MODEL: Final = 1e-3
SECONDS_PER_CELL: Final = 1.6e-9
SECONDS_PER_ENTRY: Final = 1.3e-8
"""Fitted to the least processor times of ten models on Adult, 60 repetitions of 30,162 records, and on 33
copies of it, three repetitions."""


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """What is counted of one attribute.

    Attributes
    ----------
    others
        The other sensitive attributes by which the classes are split, none if they are left aside.
    without_value
        Records that are in a class and without a value that counts: it is missing, or suppressed with them.
    completed
        Whether a missing value counts as the most frequent one of its class.
    """

    name: str
    others: tuple[str, ...]
    classes: EquivalenceClasses
    counts: SensitiveCounts
    hierarchy: Hierarchy
    without_value: int
    completed: bool = False

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
        population = np.array([self.counts.population])
        persons = None if self.counts.persons is None else (population, self.counts.population)
        found = SensitiveCounts(starts, numbers, totals, totals, self.counts.nodes, persons)
        return missing_as_most_frequent(found) if self.completed else found


def sensitive_values(
    context: MeasureContext,
    grouping: Grouping,
    attribute: str | None,
    others: Others,
    beside: Sequence[str] = (),
    *,
    weighed: bool = False,
) -> SensitiveValues:
    """Count the values of an attribute (None: the only sensitive one); ``weighed``: of persons their weights.

    ``in_classes`` splits the classes by the other attributes of the role sensitive and by those in ``beside``
    (Machanavajjhala (2008), definition 3.11): whoever knows one of them may conclude the attribute from it.
    """
    release, table = context.release, context.table
    name = release.sensitive(attribute)
    split: tuple[str, ...] = ()
    if others == "in_classes":
        known = {*release.other_sensitive(name), *beside} - {name, *(grouping.quasi_identifiers or ())}
        split = tuple(own for own in table.attributes if own in known)
    counts = release.counts(grouping, name, split, weighed=weighed)
    completed = isinstance(grouping, GroupingOfDiversity) and grouping.missing_sensitive == "most_frequent"
    if completed:
        counts = missing_as_most_frequent(counts)
    classes = release.classes(grouping, split)
    shown, _ = release.values(grouping, name)
    without = int(np.count_nonzero((classes.of_record >= 0) & (shown < 0)))
    hierarchy = table.hierarchies[table.position(name)]
    return SensitiveValues(name, split, classes, counts, hierarchy, without, completed)


def cost_of_counting(context: MeasureContext, n_attributes: int, beside: float = 0.0) -> Cost:
    """Cost of grouping the records and counting the values of so many sensitive attributes.

    ``beside`` are the seconds of what is made of the counts, where that takes about as long as the rest of
    a small table.
    """
    table = context.table
    cells = table.n_records * (table.n_attributes + 2 * n_attributes + 4)
    seconds = SECONDS_PER_MODEL + beside + cells * SECONDS_PER_CELL
    seconds += table.n_records * n_attributes * SECONDS_PER_ENTRY
    return Cost(seconds, 16 * cells, n_attributes, "classes")

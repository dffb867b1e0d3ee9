"""k-anonymity: how many records an equivalence class has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools
from app.domain.catalogue.meanings import FAILING, FROM_ONE, HIDING, LOW, LOW_SHARE, MET, STRICTER_UP
from app.domain.classes.grouping import EquivalenceClasses, Grouping, seconds_of_grouping
from app.domain.counting.counter import Counter, dictionary_of
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.models.judged import ClassRef, JudgedOn, judged_on, worst_class
from app.domain.models.judging import JudgedClasses
from app.domain.rules.rule import Rule, TableRule, apply, apply_to_codes
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.table import Table

GREATEST_K: Final = 1_000_000
Records = Annotated[
    int, Ge(1), Le(GREATEST_K), STRICTER_UP, doc("Least number of records of an equivalence class.")
]


def fit_only(size: int, others: str = "") -> str:
    """How few the records of the smallest class may be."""
    return "the worst-off are unique" if size <= 1 else f"the worst-off are in a class of {size:,}{others}"


@dataclass(frozen=True)
class KAnonymity(Criterion):
    """Every record that is not suppressed is in an equivalence class of at least k records.

    Of k persons where a column names them: (X, Y)-anonymity, X being the quasi-identifiers and Y the person.
    """

    kind: ClassVar[str] = "k_anonymity"
    title: ClassVar[str] = "k-anonymity: at least k records, or persons, in every class"
    source: ClassVar[str] = "Samarati and Sweeney (1998); Wang and Fung (2006)"
    merging: ClassVar[Merging] = "fewer_fail"
    by_persons: ClassVar[str] = COUNTS_PERSONS
    merging_by_persons: ClassVar[Merging | None] = "fewer_fail"

    k: Records

    @property
    def least_class_size(self) -> int:
        """K."""
        return self.k

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes of fewer than k records, or persons."""
        return judged.fewer_than(self.k)

    @property
    def failing_in_words(self) -> str:
        """Unique, or in small classes."""
        return "would be unique" if self.k == 2 else f"would be in classes of fewer than {self.k:,}"

    def worst_in_words(self, worst: float) -> str | None:
        """Of a class of so many; who is unique needs no more words."""
        return None if self.k == 2 else fit_only(int(worst))

    def attained(self, judged: JudgedClasses) -> float | None:
        """Records, or persons, of the smallest class."""
        return int(judged.sizes.min()) if len(judged.sizes) else None

    def impossible(self, whole: JudgedClasses) -> str | None:
        """The table has fewer than k records, or persons."""
        size = int(whole.sizes.sum())
        if size >= self.k:
            return None
        return f"There are {size} {whole.unit}, {self.k - size} fewer than one class must have."


BYTES_PER_CELL: Final = 16


@dataclass(frozen=True, kw_only=True)
class EquivalenceClassesParameters(Grouping):
    """Which k to compare with."""

    k: Annotated[int, Ge(1), Le(1_000_000), doc("Smaller classes are counted as failing; any k ≥ 1.")] = 5


@dataclass(frozen=True)
class SizeOfClasses:
    """Classes of one size."""

    size: Annotated[int, doc("Records that cannot be told apart.")]
    classes: Annotated[int, doc("How many classes are of this size.")]
    records: Annotated[int, doc("Records in these classes.")]


@dataclass(frozen=True)
class EquivalenceClassesFound:
    """The classes that the quasi-identifiers make.

    The size of a class is the number of records that cannot be told from its own: as many as it has, and more
    where missing values match everything.
    """

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    k: Annotated[
        int | None, FROM_ONE, HIDING, doc("Size of the smallest class; null if no record was judged.")
    ]
    largest: Annotated[int | None, doc("Size of the largest class; null if no record was judged.")]
    is_k_anonymous: Annotated[bool, MET, doc("Whether no class is smaller than the k asked for.")]
    classes_below_k: Annotated[int, FAILING, doc("Classes that are.")]
    records_below_k: Annotated[int, FAILING, doc("Records in these classes.")]
    unique_records: Annotated[int, LOW, doc("Records in a class of size 1: nobody is like them.")]
    unique_share: Annotated[
        float | None, LOW_SHARE, doc("The same in parts of the records judged; null if there are none.")
    ]
    mean_size: Annotated[float | None, FROM_ONE, HIDING, doc("Mean size over classes, each counted once.")]
    mean_size_of_records: Annotated[
        float | None, FROM_ONE, HIDING, doc("Mean over records of the size of their class.")
    ]
    sizes: Annotated[tuple[SizeOfClasses, ...], doc("How many classes there are of each size, ascending.")]
    worst: Annotated[ClassRef | None, doc("The smallest class, the first of equals.")]


def _sizes(classes: EquivalenceClasses) -> tuple[SizeOfClasses, ...]:
    sizes, of_class = np.unique(classes.sizes, return_inverse=True)
    numbers = np.bincount(of_class, minlength=len(sizes))
    # Sums of whole numbers below 2⁵³ are exact.
    records = np.bincount(of_class, classes.records, len(sizes)).astype(np.int64)
    columns = (sizes.tolist(), numbers.tolist(), records.tolist())
    return tuple(SizeOfClasses(*own) for own in zip(*columns, strict=True))


def _compute(
    context: MeasureContext, parameters: EquivalenceClassesParameters, tick: Tick
) -> EquivalenceClassesFound:
    classes = context.release.classes(parameters)
    sizes = _sizes(classes)
    below = [own for own in sizes if own.size < parameters.k]
    unique = sum(own.records for own in sizes if own.size == 1)
    n_classes, n_records = classes.n_classes, classes.n_judged
    tick(1)
    return EquivalenceClassesFound(
        judged=judged_on(context.table, parameters, classes),
        k=sizes[0].size if sizes else None,
        largest=sizes[-1].size if sizes else None,
        is_k_anonymous=not below,
        classes_below_k=sum(own.classes for own in below),
        records_below_k=sum(own.records for own in below),
        unique_records=unique,
        unique_share=unique / n_records if n_records else None,
        mean_size=sum(own.size * own.classes for own in sizes) / n_classes if n_classes else None,
        mean_size_of_records=sum(own.size * own.records for own in sizes) / n_records if n_records else None,
        sizes=sizes,
        worst=worst_class(classes, -classes.sizes.astype(np.float64)),
    )


def _cost(context: MeasureContext, parameters: EquivalenceClassesParameters) -> Cost:
    size = context.table.n_records * (context.table.n_attributes + 4) * BYTES_PER_CELL
    return Cost(seconds_of_grouping(context.table, parameters), size, 1, "classes")


EQUIVALENCE_CLASSES: Final = Measure(
    name="equivalence_classes",
    title="k-anonymity by the quasi-identifiers, and how large the classes are",
    source="Samarati and Sweeney (1998); Machanavajjhala (2008), definition 3.2",
    guarantee="exact",
    parameters=EquivalenceClassesParameters,
    result=EquivalenceClassesFound,
    cost=_cost,
    compute=_compute,
    example=Example(
        "how large are the groups of members that share what others may know?",
        "proposal-classes",
        rule="proposal",
        parameters={"k": 2},
    ),
    criteria=(KAnonymity,),
    judges=lambda own, value: KAnonymity(own.k),
    looks_at="quasi_identifiers",
    reads=frozenset({"records", "classes"}),
    by_persons=COUNTS_PERSONS,
    bounded_by_persons={"k": "lower"},
)
SECONDS_PER_CELL: Final = 2e-8


@dataclass(frozen=True)
class AnonymityParameters:
    """Which k to compare with."""

    k: Annotated[
        int, Ge(1), Le(1_000_000), doc("Records in smaller classes are counted as below it; any k ≥ 1.")
    ] = 5


@dataclass(frozen=True)
class ClassSize:
    """Classes of one size."""

    size: Annotated[int, doc("Identical disclosed records per class.")]
    classes: Annotated[int, doc("How many classes are of this size.")]


@dataclass(frozen=True)
class Anonymity:
    """How well records hide among each other; says nothing about what an attacker knows beside the table."""

    k_matching: Annotated[
        int,
        HIDING,
        doc("Least number of original records consistent with a disclosed one: it matches each of them."),
    ]
    k_equivalence: Annotated[
        int,
        FROM_ONE,
        HIDING,
        doc("Least number of identical disclosed records, ⊥ equal to ⊥: the usual definition."),
    ]
    classes: Annotated[int, doc("Number of distinct disclosed records.")]
    class_sizes: Annotated[tuple[ClassSize, ...], doc("How many classes there are of each size, ascending.")]
    records_below_k: Annotated[int, FAILING, doc("Records whose class has fewer than k records.")]
    is_k_anonymous: Annotated[bool, MET, doc("Whether no record is below k in the usual definition.")]
    row_of_k_matching: Annotated[
        int | None,
        doc("The record of k_matching, the first of equals, as a row of the dataset from 1; null: measured "
            "before it was told."),
    ] = None  # fmt: skip
    row_of_k_equivalence: Annotated[
        int | None, doc("The first record of the smallest class, the first of equals; null as above.")
    ] = None


def _disclosed(table: Table, rule: Rule) -> DistinctRows:
    """Distinct disclosed records with how many records they are; ``inverse`` is of the records."""
    if not isinstance(rule, TableRule):
        codes = apply(rule, table)
        return distinct_rows([codes[:, j] for j in range(table.n_attributes)], table.sizes, len(codes))
    reduced = table.reduced
    codes = apply_to_codes(rule, table, reduced.codes)
    rows = distinct_rows([codes[:, j] for j in range(table.n_attributes)], table.sizes, len(codes))
    records = np.bincount(rows.inverse, reduced.counts, minlength=rows.size).astype(np.int64)
    return DistinctRows(rows.codes, records, rows.inverse[reduced.inverse])


def _first_row(disclosed: DistinctRows, among: Bools) -> int:
    """The first record, as a row from 1, that is disclosed as one of some distinct records (d,)."""
    return int(np.argmax(among[disclosed.inverse])) + 1


def _least_matching(
    context: MeasureContext, disclosed: DistinctRows, levels: tuple[int, ...] | None
) -> tuple[int, int]:
    """K in the matching sense, and the first record that attains it as a row from 1."""
    counter = _counter_of_itself(context)
    least = counter.least(disclosed.codes, disclosed.counts, levels)
    # A record matches at least those of its class.
    among = disclosed.counts <= least
    among[among] = counter.count_records(disclosed.codes[among], levels).values == least
    return least, _first_row(disclosed, among)


def _cost_of_readings(context: MeasureContext, parameters: AnonymityParameters) -> Cost:
    table = context.table
    is_full_domain = isinstance(context.rule, TableRule)
    rows = table.reduced.size if is_full_domain else table.n_records
    seconds, size = rows * (table.n_attributes + 4) * SECONDS_PER_CELL, 8 * rows * (table.n_attributes + 6)
    if is_full_domain and table.is_complete:
        return Cost(seconds, size, 1, "classes")
    counting = _counter_of_itself(context).choose(rows, 1)
    # Once for k, and once more to find the record of it.
    return Cost(seconds + 2 * counting.seconds, size + counting.bytes, 1, counting.engine)


def _counter_of_itself(context: MeasureContext) -> Counter:
    return Counter(context.table, dictionary_of(context.table), context.memory_ceiling)


def _compute_readings(context: MeasureContext, parameters: AnonymityParameters, tick: Tick) -> Anonymity:
    table, rule = context.table, given(context.rule)
    disclosed = _disclosed(table, rule)
    k_equivalence = int(disclosed.counts.min())
    levels = rule.levels if isinstance(rule, TableRule) else None
    # A full-domain rule on complete data makes classes that are also what each disclosed record matches.
    coincide = levels is not None and table.is_complete
    sizes, classes = np.unique(disclosed.counts, return_counts=True)
    row_of_smallest = _first_row(disclosed, disclosed.counts == k_equivalence)
    k_matching, row_of_matching = k_equivalence, row_of_smallest
    if not coincide:
        k_matching, row_of_matching = _least_matching(context, disclosed, levels)
    tick(1)
    return Anonymity(
        k_matching=k_matching,
        k_equivalence=k_equivalence,
        classes=disclosed.size,
        class_sizes=tuple(
            ClassSize(size, number) for size, number in zip(sizes.tolist(), classes.tolist(), strict=True)
        ),
        records_below_k=int(disclosed.counts[disclosed.counts < parameters.k].sum()),
        is_k_anonymous=k_equivalence >= parameters.k,
        row_of_k_matching=row_of_matching,
        row_of_k_equivalence=row_of_smallest,
    )


ANONYMITY: Final = Measure(
    name="anonymity",
    title="k-anonymity in both readings",
    source="Definitions: k-anonymity, two counts of k-anonymity",
    guarantee="exact",
    parameters=AnonymityParameters,
    result=Anonymity,
    needs=frozenset({"rule"}),
    cost=_cost_of_readings,
    compute=_compute_readings,
    example=Example(
        "do the members hide among each other?", "proposal-anonymity", rule="proposal", parameters={"k": 2}
    ),
    judges=lambda own, value: KAnonymity(own.k),
)

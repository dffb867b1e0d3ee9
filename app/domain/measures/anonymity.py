"""k-anonymity of a rule in both readings, and class sizes (Definitions: two counts of k-anonymity)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.anonymity import equivalence_k, matching_k
from app.domain.classes.grouping import Bools
from app.domain.counting.counter import Counter, dictionary_of
from app.domain.distinct import DistinctRows, distinct_rows
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported, given
from app.domain.rules.rule import Rule, TableRule, apply, apply_to_codes
from app.domain.tables import Table

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
        int, doc("Least number of original records consistent with a disclosed one: it matches each of them.")
    ]
    k_equivalence: Annotated[
        int, doc("Least number of identical disclosed records, ⊥ equal to ⊥: the usual definition.")
    ]
    classes: Annotated[int, doc("Number of distinct disclosed records.")]
    class_sizes: Annotated[tuple[ClassSize, ...], doc("How many classes there are of each size, ascending.")]
    records_below_k: Annotated[int, doc("Records whose class has fewer than k records.")]
    is_k_anonymous: Annotated[bool, doc("Whether no record is below k in the usual definition.")]
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
    least = matching_k(counter, disclosed, levels)
    # A record matches at least those that are disclosed like it.
    among = disclosed.counts <= least
    among[among] = counter.count_records(disclosed.codes[among], levels).values == least
    return least, _first_row(disclosed, among)


def _cost(context: MeasureContext, parameters: AnonymityParameters) -> Cost:
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


def _compute(context: MeasureContext, parameters: AnonymityParameters, tick: Tick) -> Anonymity:
    table, rule = context.table, given(context.rule)
    disclosed = _disclosed(table, rule)
    k_equivalence = equivalence_k(disclosed)
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
    version=1,
    title="k-anonymity in both readings",
    source="Definitions: k-anonymity, two counts of k-anonymity",
    guarantee="exact",
    parameters=AnonymityParameters,
    result=Anonymity,
    needs=frozenset({"rule"}),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)

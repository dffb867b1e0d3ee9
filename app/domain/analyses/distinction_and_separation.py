"""Which columns tell records apart, alone and in small sets: a help to find quasi-identifiers.

Of n records a set of columns with d different combinations of values, c_i records in each, distinguishes d/n
of the records, which is the greatest share that can be kept so that no two are alike. It separates the pairs
of records that differ in some column of the set: 1 − Σ c_i(c_i − 1) / (n(n − 1)).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.catalogue.meanings import LOW, LOW_SHARE
from app.domain.classes.grouping import Grouping
from app.domain.errors import InvalidInput
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.distinct import amounts_of_rows, compacted, distinct_rows
from app.domain.tables.table import no_attribute

MOST_SETS: Final = 100_000
SECONDS_PER_ROW_OF_SET: Final = 1.6e-8
SECONDS_PER_CELL_OF_ALL_BUT_ONE: Final = 4e-9
SECONDS_PER_SET: Final = 4e-5
BYTES_PER_ROW: Final = 32
SETS_PER_TICK: Final = 16


@dataclass(frozen=True, kw_only=True)
class DistinctionParameters:
    """Which sets of columns are looked at, and how many of them are shown."""

    columns: Annotated[
        tuple[Annotated[str, MaxLen(1000)], ...] | None,
        Len(1, 100),
        doc("Attributes to look at; null: all that the dataset discloses, the sensitive ones included."),
    ] = None
    largest_set: Annotated[
        int,
        Ge(1),
        Le(10),
        doc(f"All sets of up to so many columns are looked at; {MOST_SETS:,} sets at most."),
    ] = 2
    shown: Annotated[int, Ge(1), Le(1_000), doc("How many sets of each size are shown.")] = 20
    leave_one_out: Annotated[
        bool, ADDED_LATER, doc("Whether all columns but one are looked at, too, for each that is left out.")
    ] = False


@dataclass(frozen=True)
class SetOfColumns:
    """How well one set of columns tells records apart."""

    columns: Annotated[tuple[str, ...], doc("The columns, in the schema's order.")]
    combinations: Annotated[int, LOW, doc("Different combinations of their values.")]
    distinction: Annotated[
        float, LOW_SHARE, doc("combinations in parts of the records; 1: no two records are alike.")
    ]
    pairs_separated: Annotated[int, LOW, doc("Pairs of records that differ in at least one of the columns.")]
    separation: Annotated[
        float, LOW_SHARE, doc("The same in parts of all pairs; 1 also where there is no pair.")
    ]
    unique_records: Annotated[int, LOW, doc("Records whose combination nobody else has.")]


@dataclass(frozen=True)
class SetsOfSize:
    """The sets of one size."""

    size: Annotated[int, doc("Columns per set.")]
    looked_at: Annotated[int, doc("How many sets of this size there are; all were looked at.")]
    shown: Annotated[
        tuple[SetOfColumns, ...],
        doc(
            "Those that separate most pairs; of equals those with more combinations, then in the schema's "
            "order."
        ),
    ]


@dataclass(frozen=True)
class Distinction:
    """Sets of columns by how well they tell the records apart."""

    records: Annotated[int, doc("Records of the dataset, all of which are compared.")]
    pairs: Annotated[int, doc("Pairs of records.")]
    columns: Annotated[tuple[str, ...], doc("The columns that were looked at.")]
    all_columns: Annotated[SetOfColumns, doc("All of them together: no set of them tells more apart.")]
    by_size: Annotated[tuple[SetsOfSize, ...], doc("The sets, by their number of columns, ascending.")]
    all_but_one: Annotated[
        tuple[SetOfColumns, ...],
        doc(
            "If asked for, all columns but the first, all but the second and so on: what a column adds to "
            "the others is what all of them tell apart beyond that."
        ),
    ] = ()


def _positions(context: MeasureContext, parameters: DistinctionParameters) -> tuple[int, ...]:
    table, named = context.table, parameters.columns
    if named is None:
        return tuple(range(table.n_attributes))
    if len(set(named)) != len(named):
        raise InvalidInput.of(
            "/measure/columns", "duplicate-attribute", "A column is named twice.", "Name it once."
        )
    unknown = [name for name in named if name not in table.attributes]
    if unknown:
        raise InvalidInput([no_attribute("/measure/columns", unknown[0], table.attributes)])
    return tuple(sorted(map(table.position, named)))


def _number_of_sets(columns: int, largest: int) -> int:
    """How many sets there are; InvalidInput for too many."""
    sets = sum(math.comb(columns, size) for size in range(1, min(columns, largest) + 1))
    if sets > MOST_SETS:
        raise InvalidInput.of(
            "/measure/largest_set",
            "too-many-sets",
            f"{columns} columns have {sets:,} sets of up to {largest}; {MOST_SETS:,} are the limit.",
            "Ask for smaller sets, or name fewer columns.",
        )
    return sets


class _Rows:
    """The distinct rows of the columns, and how many records each stands for."""

    def __init__(self, context: MeasureContext, positions: tuple[int, ...]) -> None:
        codes, table = context.release.codes, context.table
        self.names = tuple(table.attributes[j] for j in positions)
        self.records, self.pairs = len(codes), math.comb(len(codes), 2)
        rows, self.amounts = _distinct(context, positions)
        columns, values = compacted(
            [rows[:, place] for place in range(len(positions))], [table.sizes[j] for j in positions]
        )
        self._columns = [(own, len(used)) for own, used in zip(columns, values, strict=True)]

    def sets(self, largest: int) -> Iterator[SetOfColumns]:
        """Every set of up to so many columns; each grows out of the groups that its first columns make."""
        everybody = np.zeros(len(self.amounts), dtype=np.int32)
        yield from self._grown((), everybody, 1, largest)

    def _grown(
        self, chosen: tuple[int, ...], groups: Ints, n_groups: int, largest: int
    ) -> Iterator[SetOfColumns]:
        for place in range(chosen[-1] + 1 if chosen else 0, len(self._columns)):
            column, size = self._columns[place]
            own = (*chosen, place)
            if len(own) == largest:
                yield self._told(own, amounts_of_rows([groups, column], [n_groups, size], self.amounts))
                continue
            rows = distinct_rows([groups, column], [n_groups, size], len(groups))
            # Sums of whole numbers below 2⁵³ are exact.
            yield self._told(own, np.bincount(rows.inverse, self.amounts, rows.size).astype(np.int64))
            yield from self._grown(own, rows.inverse, rows.size, largest)

    def all_but_one(self) -> Iterator[SetOfColumns]:
        """The sets that lack one column, in the order of what they lack; the empty set of a single column."""
        every = range(len(self._columns))
        for left_out in every:
            own = tuple(place for place in every if place != left_out)
            columns, sizes = [self._columns[j][0] for j in own], [self._columns[j][1] for j in own]
            yield self._told(own, amounts_of_rows(columns, sizes, self.amounts))

    @property
    def together(self) -> SetOfColumns:
        """All columns as one set."""
        return self._told(tuple(range(len(self._columns))), self.amounts)

    def _told(self, chosen: tuple[int, ...], amounts: Longs) -> SetOfColumns:
        alike = int((amounts * (amounts - 1) // 2).sum())
        separated = self.pairs - alike
        return SetOfColumns(
            columns=tuple(self.names[place] for place in chosen),
            combinations=len(amounts),
            distinction=len(amounts) / self.records,
            pairs_separated=separated,
            separation=separated / self.pairs if self.pairs else 1.0,
            unique_records=int(np.count_nonzero(amounts == 1)),
        )


def _distinct(context: MeasureContext, positions: tuple[int, ...]) -> tuple[Ints, Longs]:
    """(d, columns) the distinct rows of the columns, and (d,) how many of the records have each.

    Where these are the quasi-identifiers, equivalence classes of all records are the same.
    """
    release = context.release
    if positions == context.table.quasi_identifiers:
        classes = release.classes(Grouping(suppressed="own_block"))
        return classes.codes, classes.records
    columns = [release.codes[:, j] for j in positions]
    rows = distinct_rows(columns, [context.table.sizes[j] for j in positions], len(release.codes))
    return rows.codes, rows.counts


def _compute(context: MeasureContext, parameters: DistinctionParameters, tick: Tick) -> Distinction:
    positions = _positions(context, parameters)
    largest = min(parameters.largest_set, len(positions))
    n_sets = _number_of_sets(len(positions), largest)
    rows = _Rows(context, positions)
    # Of each size the best so far: negated ranks make the worst of them the first of the heap.
    best: list[list[tuple[int, int, int, SetOfColumns]]] = [[] for _ in range(largest)]
    for number, found in enumerate(rows.sets(largest)):
        heap = best[len(found.columns) - 1]
        entry = (found.pairs_separated, found.combinations, -number, found)
        (heapq.heappush if len(heap) < parameters.shown else heapq.heappushpop)(heap, entry)
        if number % SETS_PER_TICK == 0:
            tick(number)
    without = tuple(rows.all_but_one()) if parameters.leave_one_out else ()
    tick(n_sets)
    return Distinction(
        records=rows.records,
        pairs=rows.pairs,
        columns=rows.names,
        all_columns=rows.together,
        by_size=tuple(
            SetsOfSize(
                size,
                math.comb(len(positions), size),
                tuple(found for *_, found in sorted(best[size - 1], key=lambda own: own[:3], reverse=True)),
            )
            for size in range(1, largest + 1)
        ),
        all_but_one=without,
    )


def _cost(context: MeasureContext, parameters: DistinctionParameters) -> Cost:
    positions = _positions(context, parameters)
    largest = min(parameters.largest_set, len(positions))
    sets, n = _number_of_sets(len(positions), largest), context.table.n_records
    distinct = context.table.reduced.size
    seconds = sets * (SECONDS_PER_SET + distinct * SECONDS_PER_ROW_OF_SET) + n * len(positions) * 3e-8
    if parameters.leave_one_out:
        seconds += len(positions) ** 2 * distinct * SECONDS_PER_CELL_OF_ALL_BUT_ONE
    return Cost(seconds, n * (len(positions) + largest + 2) * BYTES_PER_ROW, sets, "sets of columns")


DISTINCTION_AND_SEPARATION: Final = Measure(
    name="distinction_and_separation",
    title="Which columns tell records apart, alone and in small sets",
    source="Motwani and Xu (2007), section 1.1",
    guarantee="exact",
    parameters=DistinctionParameters,
    result=Distinction,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "which columns tell the members apart, and which pairs of columns?",
        "members-distinction",
        parameters={"largest_set": 2, "shown": 5},
    ),
)

"""Classes as criteria look at them, and which of them have to be withheld."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.criteria.criterion import Criterion, Judged, Others
from app.domain.distinct import Ints, Longs, distinct_rows, row_keys
from app.domain.errors import InvalidInput
from app.domain.hierarchies import Hierarchy
from app.domain.tables import Table


@dataclass(frozen=True, eq=False)
class _Column:
    """Values of one sensitive attribute: number (r,) of each row's, totals (m,) and nodes (m,) of each."""

    numbers: Longs
    totals: Longs
    nodes: Ints


@dataclass(frozen=True, eq=False)
class Population:
    """Entities of a population (G,) that are disclosed like each class, and how many like none."""

    entities: Longs
    outside: int


class JudgedRecords:
    """The records of a table, reduced to distinct combinations of a group and sensitive values.

    Parameters
    ----------
    groups
        (n,) number from 0 of each record's group: what no class of any rule that is judged divides.
    shown
        (n, m) disclosed nodes, of which the sensitive attributes count; None: those of the table.
    amounts
        (n,) how many records each row of the others stands for; None: one.
    """

    def __init__(
        self, table: Table, groups: Ints, shown: Ints | None = None, amounts: Longs | None = None
    ) -> None:
        codes = table.codes if shown is None else shown
        self._table = table
        self.sensitive = tuple(name for name in table.attributes if name in table.sensitive)
        positions = [table.position(name) for name in self.sensitive]
        self.n_groups = int(groups.max(initial=-1)) + 1
        rows = distinct_rows(
            [groups, *(codes[:, j] for j in positions)],
            [max(1, self.n_groups), *(table.sizes[j] for j in positions)],
            len(groups),
        )
        counts = rows.counts
        if amounts is not None:
            counts = np.bincount(rows.inverse, amounts, rows.size).astype(np.int64)
        self.group: Longs = rows.codes[:, 0].astype(np.int64)
        self.amounts: Longs = counts
        self.per_group: Longs = np.bincount(self.group, counts, self.n_groups).astype(np.int64)
        self._codes = rows.codes[:, 1:]
        self._columns = [_column(self._codes[:, i], counts, table.sizes[j]) for i, j in enumerate(positions)]

    def judged(
        self, class_of_group: Longs, n_classes: int, population: Population | None = None
    ) -> JudgedClasses:
        """The classes that the groups make; −1 leaves a group out."""
        return JudgedClasses(self, class_of_group, n_classes, population)

    @cached_property
    def whole(self) -> JudgedClasses:
        """All records as one class."""
        return self.judged(np.zeros(self.n_groups, dtype=np.int64), 1)

    def index(self, attribute: str | None) -> int:
        """Which of the sensitive attributes is meant; InvalidInput for any other."""
        if attribute is None and len(self.sensitive) == 1:
            return 0
        if attribute in self.sensitive:
            return self.sensitive.index(attribute)
        named = (
            "and the criterion names none" if attribute is None else f"and {attribute!r} is not among them"
        )
        raise InvalidInput.of(
            "/attribute",
            "sensitive-attribute-unclear",
            f"Attributes of the role sensitive are: {', '.join(self.sensitive) or 'none'}, {named}.",
            f"Name one of: {', '.join(self.sensitive)}."
            if self.sensitive
            else "Give an attribute the role sensitive in the dataset's schema.",
        )

    def hierarchy(self, index: int) -> Hierarchy:
        """The hierarchy of a sensitive attribute."""
        return self._table.hierarchies[self._table.position(self.sensitive[index])]

    def column(self, index: int) -> _Column:
        """Values of a sensitive attribute."""
        return self._columns[index]

    def others_of(self, index: int) -> Longs:
        """(r,) number of each row's combination of the other sensitive attributes."""
        others = [i for i in range(len(self.sensitive)) if i != index]
        columns = [self._codes[:, i] for i in others]
        sizes = [self._table.sizes[self._table.position(self.sensitive[i])] for i in others]
        return distinct_rows(columns, sizes, len(self.group)).inverse.astype(np.int64)


class JudgedClasses:
    """The classes of one rule; a :class:`Judged`."""

    def __init__(
        self,
        records: JudgedRecords,
        class_of_group: Longs,
        n_classes: int,
        population: Population | None = None,
    ) -> None:
        self._population = population
        self._records = records
        self.class_of_group = class_of_group
        self.n_classes = n_classes
        self._blocks: dict[int, tuple[Longs, Longs]] = {}
        self._counts: dict[tuple[int, Others], SensitiveCounts] = {}

    @cached_property
    def sizes(self) -> Longs:
        """(G,) records of each class."""
        return self._per_class(self._records.per_group, self.class_of_group)

    def counts(self, attribute: str | None, others: Others = "apart") -> SensitiveCounts:
        """Values of a sensitive attribute per class, or per block of ``class_of_block``."""
        index = self._records.index(attribute)
        if len(self._records.sensitive) == 1:
            others = "apart"
        key = (index, others)
        if key not in self._counts:
            rows, of_row = self._rows
            n_blocks = self.n_classes
            if others == "in_classes":
                of_row, owners = self._blocks_of(index)
                n_blocks = len(owners)
            column = self._records.column(index)
            starts, values, counts = count_values(
                of_row, column.numbers[rows], self._records.amounts[rows], n_blocks, len(column.nodes)
            )
            self._counts[key] = SensitiveCounts(starts, values, counts, column.totals, column.nodes)
        return self._counts[key]

    def class_of_block(self, attribute: str | None) -> Longs:
        """(B,) the class of each block: its records with equal values of the other sensitive attributes."""
        index = self._records.index(attribute)
        if len(self._records.sensitive) == 1:
            return np.arange(self.n_classes, dtype=np.int64)
        return self._blocks_of(index)[1]

    def hierarchy(self, attribute: str | None) -> Hierarchy:
        """The hierarchy of a sensitive attribute."""
        return self._records.hierarchy(self._records.index(attribute))

    def population(self) -> Longs:
        """(G,) entities of the population per class; InvalidInput without one."""
        return self._given_population.entities

    def outside(self) -> int:
        """Entities of the population that are disclosed like no record of the table."""
        return self._given_population.outside

    @property
    def _given_population(self) -> Population:
        if self._population is None:
            raise InvalidInput.of(
                "/",
                "no-population",
                "The criterion compares the classes with a population, and none is given.",
                "Name a dictionary where the question takes one, or choose a criterion of the dataset alone.",
            )
        return self._population

    def only(self, kept: Bools) -> JudgedClasses:
        """The classes that are kept."""
        if kept.all():
            return self
        becomes = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        given = self._population
        population = None if given is None else Population(given.entities[kept], given.outside)
        n_classes = int(np.count_nonzero(kept))
        return JudgedClasses(self._records, becomes[self.class_of_group], n_classes, population)

    @cached_property
    def _rows(self) -> tuple[slice | Longs, Longs]:
        """The rows that are in a class, and the class of each."""
        of_row = self.class_of_group[self._records.group]
        if self.class_of_group.min(initial=0) >= 0:
            return slice(None), of_row
        rows = np.flatnonzero(of_row >= 0)
        return rows, of_row[rows]

    def _blocks_of(self, index: int) -> tuple[Longs, Longs]:
        """Block of each row in a class, and class of each block."""
        if index not in self._blocks:
            rows, of_row = self._rows
            others = self._records.others_of(index)[rows]
            keys, _ = row_keys(
                [of_row, others], [self.n_classes, int(others.max(initial=0)) + 1], len(of_row)
            )
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            self._blocks[index] = inverse.astype(np.int64), of_row[first]
        return self._blocks[index]

    def _per_class(self, amounts: Longs, of: Longs) -> Longs:
        kept = of >= 0
        return np.bincount(of[kept], amounts[kept], self.n_classes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Withheld:
    """Which classes (G,) are withheld, and whether what remains meets all criteria then."""

    classes: Bools
    satisfied: bool


def withheld(judged: JudgedClasses, criteria: Sequence[Criterion], allowed: int | None = None) -> Withheld:
    """The classes that have to be withheld so that the others meet all criteria.

    Classes that fail a criterion are withheld. If the others then do not meet the table-wide criteria
    together, so are those of fewer than f records for the least f with which they do.

    Parameters
    ----------
    allowed
        Records that may be withheld: no more are tried. None: all.
    """
    failing = failing_any(judged, criteria)
    table_wide = [criterion for criterion in criteria if criterion.table_wide]
    if not table_wide:
        return Withheld(failing, True)
    sizes = judged.sizes
    budget = int(sizes.sum()) if allowed is None else allowed
    below = [0, *(np.unique(sizes[~failing]) + 1).tolist()]
    for least in below:
        gone = failing | (sizes < least)
        if sizes[gone].sum() > budget:
            break
        remaining = judged.only(~gone)
        if not remaining.n_classes or all(criterion.satisfied(remaining) for criterion in table_wide):
            return Withheld(gone, True)
    return Withheld(failing, False)


def failing_any(judged: Judged, criteria: Sequence[Criterion]) -> Bools:
    """(G,) classes that fail at least one criterion."""
    failing = np.zeros(len(judged.sizes), dtype=bool)
    for criterion in criteria:
        if not criterion.table_wide:
            failing |= criterion.failing(judged)
    return failing


def _column(codes: Ints, amounts: Longs, n_nodes: int) -> _Column:
    totals = np.bincount(codes, amounts, n_nodes).astype(np.int64)
    nodes = np.flatnonzero(totals)
    number = np.zeros(n_nodes, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    return _Column(number[codes], totals[nodes], nodes.astype(np.int32))

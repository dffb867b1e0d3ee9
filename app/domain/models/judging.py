"""Classes as criteria look at them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.persons import ClassPersons, class_persons, runs_of_persons
from app.domain.classes.sensitive_counts import SensitiveCounts, count_persons, count_values, count_weights
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.risk.bayes import BayesBlock, Knowledge
from app.domain.tables.distinct import distinct_rows, row_keys
from app.domain.tables.table import Table

NEWEST_READING: Final = 2
"""Version of the criteria of sensitive values, by what they take for one value."""

Others = Literal["in_classes", "apart"]
"""Others split the classes (Machanavajjhala (2008), definition 3.11), or are left aside."""


@dataclass(frozen=True, eq=False)
class _Column:
    """Values of one sensitive attribute: number (r,) of each row's, totals (m,) and nodes (m,) of each.

    Totals are of records, or of persons where a column names them.
    """

    numbers: Longs
    totals: Longs
    nodes: Ints


@dataclass(frozen=True, eq=False)
class Population:
    """Entities of a population (G,) that fall into each class, how many fall into none, and all of them.

    Attributes
    ----------
    shown
        (G, q) what the classes show of the quasi-identifiers.
    knowledge
        What the population tells of sensitive values; None: nothing.
    """

    entities: Longs
    outside: int
    total: int
    shown: Ints | None = None
    knowledge: Knowledge | None = None

    def only(self, kept: Bools) -> Population:
        """Of the classes that are kept."""
        shown = None if self.shown is None else self.shown[kept]
        return replace(self, entities=self.entities[kept], shown=shown)

    def with_block(self, gone: Bools) -> Population:
        """With one more class before those that are not gone: anybody may be in it, and nobody is outside."""
        kept = self.only(~gone)
        shown = None if kept.shown is None else with_top(kept.shown)
        return replace(kept, entities=np.append(self.total, kept.entities), outside=0, shown=shown)


class JudgedRecords:
    """The records of a table, reduced to distinct combinations of a group and sensitive values.

    Parameters
    ----------
    groups
        (n,) number from 0 of each record's group: what no class of any rule that is judged divides.
    shown
        (n, m) disclosed nodes, of which the sensitive attributes count; None: those of the table.
    amounts
        (n,) how many records each row of the others stands for; None: one. Rows of several persons' records
        have none.
    version
        Of the criteria that look at them: in version 1 each spelling is a value, since then each reading.

    Attributes
    ----------
    group, amounts
        (r,) group and records of each combination.
    person
        (r,) person of each combination, which are then of one person each; None: no column names persons.
    per_group
        (g,) records of each group.
    n_groups, n_records
        g, and records of the table.
    """

    def __init__(
        self,
        table: Table,
        groups: Ints,
        shown: Ints | None = None,
        amounts: Longs | None = None,
        version: int = NEWEST_READING,
    ) -> None:
        codes = table.codes if shown is None else shown
        self._table = table
        self.sensitive = tuple(name for name in table.attributes if name in table.sensitive)
        positions = [table.position(name) for name in self.sensitive]
        self.n_groups = int(groups.max(initial=-1)) + 1
        values = [codes[:, j] for j in positions]
        if version > 1:
            values = [table.hierarchies[j].as_read[own] for j, own in zip(positions, values, strict=True)]
        columns = [groups, *values]
        sizes = [max(1, self.n_groups), *(table.sizes[j] for j in positions)]
        if table.persons is not None:
            columns, sizes = [*columns, table.persons], [*sizes, table.n_persons]
        rows = distinct_rows(columns, sizes, len(groups))
        counts = rows.counts
        if amounts is not None:
            counts = np.bincount(rows.inverse, amounts, rows.size).astype(np.int64)
        self.group: Longs = rows.codes[:, 0].astype(np.int64)
        self.amounts: Longs = counts
        self.per_group: Longs = np.bincount(self.group, counts, self.n_groups).astype(np.int64)
        self.n_records = int(counts.sum())
        self._codes = rows.codes[:, 1 : 1 + len(positions)]
        self.person: Ints | None = None if table.persons is None else rows.codes[:, -1]
        self.n_persons = table.n_persons
        self._columns = [
            _column(self._codes[:, i], counts, table.sizes[j], self.person) for i, j in enumerate(positions)
        ]

    def judged(
        self,
        class_of_group: Longs,
        n_classes: int,
        population: Population | None = None,
        shows_nothing: Bools | None = None,
    ) -> JudgedClasses:
        """The classes that the groups make; −1 leaves a group out.

        ``shows_nothing`` (G,) are classes of which every quasi-identifier is ⊥; None: none.
        """
        return JudgedClasses(self, class_of_group, n_classes, population, shows_nothing)

    @cached_property
    def most_of_a_person(self) -> int | None:
        """Most records of one person; None where no column names persons."""
        if self.person is None:
            return None
        return int(np.bincount(self.person, self.amounts).max())

    @cached_property
    def whole(self) -> JudgedClasses:
        """All records as one class."""
        return self.judged(np.zeros(self.n_groups, dtype=np.int64), 1)

    def one_of_each(self) -> JudgedRecords:
        """One record of each combination, in a group of its own; distributions stay those of the table."""
        found = copy(self)
        found.n_groups = len(self.amounts)
        found.group = np.arange(found.n_groups, dtype=np.int64)
        found.amounts = found.per_group = np.ones(found.n_groups, dtype=np.int64)
        return found

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

    @property
    def n_values(self) -> list[int]:
        """How many values each sensitive attribute has."""
        return [len(column.nodes) for column in self._columns]

    def position(self, index: int) -> int:
        """Position of a sensitive attribute in the table."""
        return self._table.position(self.sensitive[index])

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
    """The G classes of one rule, as criteria look at them."""

    overlaps: ClassVar[bool] = False
    """Whether a record may be like those of several classes, so that suppressing one class changes others."""

    def __init__(
        self,
        records: JudgedRecords,
        class_of_group: Longs,
        n_classes: int,
        population: Population | None = None,
        shows_nothing: Bools | None = None,
    ) -> None:
        self._population = population
        self._shows_nothing = shows_nothing
        self._records = records
        self.class_of_group = class_of_group
        self.n_classes = n_classes
        self._blocks: dict[int, tuple[Longs, Longs]] = {}
        self._counts: dict[tuple[int, Others], SensitiveCounts] = {}

    @cached_property
    def _own(self) -> Longs:
        return self._per_class(self._records.per_group, self.class_of_group)

    @property
    def records(self) -> Longs:
        """(G,) records of each class, at least 1."""
        return self._own

    @property
    def unit(self) -> str:
        """What :attr:`sizes` count, in the plural."""
        return "records" if self._records.person is None else "persons"

    @property
    def units(self) -> Longs:
        """(G,) persons of each class; its records where no column names persons."""
        return self._own if self.persons is None else self.persons.persons

    @property
    def sizes(self) -> Longs:
        """(G,) records that a reader cannot tell from those of the class, here its own; or persons."""
        return self.units

    @cached_property
    def persons(self) -> ClassPersons | None:
        """The persons of each class; None where no column names them."""
        if self._records.person is None:
            return None
        rows, of_row = self._rows
        amounts = self._records.amounts[rows]
        person = self._records.person[rows]
        return class_persons(
            np.repeat(of_row, amounts), np.repeat(person, amounts), self.n_classes, self._records.n_persons
        )

    def fewer_than(self, k: int) -> Bools:
        """(G,) classes of a size below k; persons are counted only where the records leave it open."""
        most = self._records.most_of_a_person
        if most is None or "persons" in self.__dict__:
            return self.sizes < k
        found: Bools = self.records < k
        open_ = ~found & (self.records <= (k - 1) * most)
        if open_.any():
            found[open_] = self.only(open_).sizes < k
        return found

    @property
    def largest_share(self) -> Floats:
        """(G,) largest share that one person has of the records of a class: 1/size by records."""
        return np.asarray(1.0 / self.sizes) if self.persons is None else self.persons.largest_share

    @property
    def expected_matches(self) -> Floats:
        """(G,) records of a class attributed to the right person by a random choice, in expectation."""
        if self.persons is not None:
            return self.persons.expected_matches
        return np.asarray(self.records / self.sizes)

    def table_records(self) -> int:
        """Records of the table, those in no class included."""
        return self._records.n_records

    def counts(self, attribute: str | None, others: Others = "apart") -> SensitiveCounts:
        """Values of a sensitive attribute (None: the only one) per class: records, or persons, who have each.

        With ``in_classes`` per block instead: records of a class with equal values of all other sensitive
        attributes. InvalidInput at ``/attribute`` for an attribute that is not sensitive.
        """
        index, records = self._records.index(attribute), self._records
        others = "apart" if len(records.sensitive) == 1 else others
        key = (index, others)
        if key not in self._counts:
            rows, of_row, n_blocks = self._in_blocks(index, others)
            column = records.column(index)
            numbers, n_values = column.numbers[rows], len(column.nodes)
            if records.person is None:
                found = count_values(of_row, numbers, records.amounts[rows], n_blocks, n_values)
                found = self._with_others(found, key, n_values)
                self._counts[key] = SensitiveCounts(*found, column.totals, column.nodes)
            else:
                found, sizes = count_persons(
                    of_row, numbers, records.person[rows], n_blocks, n_values, records.n_persons
                )
                persons = sizes, records.n_persons
                self._counts[key] = SensitiveCounts(*found, column.totals, column.nodes, persons)
        return self._counts[key]

    def distributions(self, attribute: str | None, others: Others = "apart") -> SensitiveCounts:
        """The same so that each class's sum up to it: of persons the weights, by :func:`count_weights`."""
        index, records = self._records.index(attribute), self._records
        if records.person is None:
            return self.counts(attribute, others)
        rows, of_row, n_blocks = self._in_blocks(index, others)
        nodes, numbers = records.column(index).nodes, records.column(index).numbers
        one = np.zeros_like(numbers)
        _, _, totals = count_weights(one, numbers, records.person, records.amounts, 1, len(nodes))
        found = count_weights(
            of_row, numbers[rows], records.person[rows], records.amounts[rows], n_blocks, len(nodes)
        )
        return SensitiveCounts(*found, totals, nodes)

    def _in_blocks(self, index: int, others: Others) -> tuple[slice | Longs, Longs, int]:
        """The rows that are in a class, the class or block of each, and how many there are."""
        rows, of_row = self._rows
        if others == "apart" or len(self._records.sensitive) == 1:
            return rows, of_row, self.n_classes
        of_row, owners = self._blocks_of(index)
        return rows, of_row, len(owners)

    @property
    def shows_nothing(self) -> Bools:
        """(G,) classes of which every quasi-identifier is missing or suppressed."""
        if self._shows_nothing is None:
            return np.zeros(self.n_classes, dtype=bool)
        return self._shows_nothing

    def _with_others(
        self, found: tuple[Longs, Ints, Longs], key: tuple[int, Others], n_values: int
    ) -> tuple[Longs, Ints, Longs]:
        """Starts, values and counts with those of whoever is like a class: here nobody else."""
        return found

    def class_of_block(self, attribute: str | None) -> Longs:
        """(B,) the class of each block of ``counts(attribute, "in_classes")``."""
        index = self._records.index(attribute)
        if len(self._records.sensitive) == 1:
            return np.arange(self.n_classes, dtype=np.int64)
        return self._blocks_of(index)[1]

    def hierarchy(self, attribute: str | None) -> Hierarchy:
        """The hierarchy of a sensitive attribute."""
        return self._records.hierarchy(self._records.index(attribute))

    def population(self) -> Longs:
        """(G,) entities of the population that fall into each class; InvalidInput without one."""
        return self._required_population.entities

    def outside(self) -> int:
        """Entities of the population that fall into no class of the table."""
        return self._required_population.outside

    def beliefs(self, attribute: str | None) -> Iterator[tuple[BayesBlock, Longs]]:
        """What who knows the population believes of some units at a time, and (u,) the class of each.

        InvalidInput at ``/`` without a population, NotSupported for one that does not say the values.
        """
        given = self._required_population
        if given.knowledge is None or given.shown is None:
            raise self._no_population()
        position = self._records.position(self._records.index(attribute))
        return given.knowledge.beliefs(position, self.counts(attribute), self.class_of_group, given.shown)

    @property
    def _required_population(self) -> Population:
        if self._population is None:
            raise self._no_population()
        return self._population

    @staticmethod
    def _no_population() -> InvalidInput:
        return InvalidInput.of(
            "/",
            "no-population",
            "The criterion compares the classes with a population, and none is given.",
            "Name a dictionary where the question takes one, or choose a criterion of the dataset alone.",
        )

    def only(self, kept: Bools) -> JudgedClasses:
        """The classes that are kept."""
        if kept.all():
            return self
        nothing = None if self._shows_nothing is None else self._shows_nothing[kept]
        return JudgedClasses(self._records, *self._only(kept), nothing)

    def with_block(self, gone: Bools) -> JudgedClasses:
        """The classes that are not gone, and before them the own block: the records of those that are.

        It shows nothing, and nobody else is like its records.
        """
        return JudgedClasses(self._records, *self._with_block(gone))

    def _with_block(self, gone: Bools) -> tuple[Longs, int, Population | None]:
        """Class of each group, number of classes and population with the block."""
        becomes = np.append(np.where(gone, 0, np.cumsum(~gone)), -1)
        population = None if self._population is None else self._population.with_block(gone)
        return becomes[self.class_of_group], 1 + int(np.count_nonzero(~gone)), population

    def _only(self, kept: Bools) -> tuple[Longs, int, Population | None]:
        """Class of each group, number of classes and population of those that are kept."""
        becomes = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        population = None if self._population is None else self._population.only(kept)
        return becomes[self.class_of_group], int(np.count_nonzero(kept)), population

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


class AloneRecords(JudgedClasses):
    """What no protection looks like: a class of one record per combination of sensitive values that occurs.

    Distributions are compared with that of the whole table. Of the population nobody else is like a record,
    and somebody is like none.

    Parameters
    ----------
    table
        The table whose hierarchies count.
    shown
        (n, m) the disclosed nodes of its records; None: those of the table.
    """

    def __init__(self, table: Table, shown: Ints | None = None) -> None:
        every = JudgedRecords(table, np.zeros(table.n_records, dtype=np.int32), shown)
        self.amounts: Longs = every.amounts
        """(G,) how many records of the table each stands for."""
        alone = every.one_of_each()
        somebody = Population(alone.amounts, outside=1, total=alone.n_groups + 1)
        super().__init__(alone, np.arange(alone.n_groups, dtype=np.int64), alone.n_groups, somebody)


def with_top(codes: Ints) -> Ints:
    """(G + 1, q) codes of classes behind one of which nothing is shown."""
    return np.concatenate([np.full_like(codes, TOP, shape=(1, codes.shape[1])), codes])


def _column(codes: Ints, amounts: Longs, n_nodes: int, person: Ints | None) -> _Column:
    if person is None:
        totals = np.bincount(codes, amounts, n_nodes).astype(np.int64)
    else:
        having, _ = runs_of_persons(codes, person, n_nodes, int(person.max()) + 1)
        totals = np.bincount(having, minlength=n_nodes)
    nodes = np.flatnonzero(totals)
    number = np.zeros(n_nodes, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    return _Column(number[codes], totals[nodes], nodes.astype(np.int32))

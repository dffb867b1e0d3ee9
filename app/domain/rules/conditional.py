"""Conditional rules: hide(A, F) and gen(A, F, G) (Definitions: conditional rules).

F selects the records that keep their value: a statement affects a record unless F is true of it, so that an
unknown F hides. All conditions are judged on the original table (snapshot). Where several statements affect
one cell it becomes the least upper bound of what they ask for; the order of statements has no meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.errors import Fault, InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.rules.condition_truth import TRUE, Column, ValueType, check_condition, truths_of
from app.domain.rules.conditions import Condition, attributes_of, comparisons_of
from app.domain.rules.disclosed_values import (
    FAULTS_SHOWN,
    Ancestors,
    in_rows,
    not_above,
    pointer_step,
    unknown_value,
)
from app.domain.rules.rule import CellRule
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table, unknown_attribute

MOST_JUDGEMENTS: Final = 500_000_000
"""Most comparisons of a rule times records: judging so many takes about ten seconds."""


@dataclass(frozen=True)
class ToLevel:
    """The ancestor at a level, as in rules for the whole table."""

    level: int


@dataclass(frozen=True)
class ToValue:
    """One ancestor for all affected records; None is ⊥. What is ⊥ already stays so."""

    value: str | None


@dataclass(frozen=True)
class ToEntities:
    """G by entity id; every affected record must be named, others may be."""

    values: Mapping[str, str | None]


@dataclass(frozen=True)
class ToRows:
    """G by row number from 1; every affected record must be named, others may be."""

    values: Mapping[int, str | None]


Target = ToLevel | ToValue | ToEntities | ToRows


@dataclass(frozen=True)
class Hide:
    """Suppress the attribute unless the condition is true."""

    attribute: str
    unless: Condition


@dataclass(frozen=True)
class Generalise:
    """Show something more general unless the condition is true."""

    attribute: str
    unless: Condition
    to: Target


Statement = Hide | Generalise


@dataclass(frozen=True, eq=False)
class ConditionalRule:
    """The rule as it falls out for one table, and how many records each statement affects."""

    rule: CellRule
    affected: tuple[int, ...]


def columns_read(statements: Sequence[Statement]) -> tuple[str, ...]:
    """Names of the columns that the conditions read."""
    return tuple(dict.fromkeys(name for s in statements for name in attributes_of(s.unless)))


def check_statements(
    table: Table, statements: Sequence[Statement], types: Mapping[str, ValueType], pointer: str
) -> None:
    """Raise InvalidInput with everything that is wrong before any record is looked at."""
    faults: list[Fault] = []
    for i, statement in enumerate(statements):
        place = f"{pointer}/{i}"
        if statement.attribute not in table.attributes:
            faults.append(unknown_attribute(f"{place}/attribute", statement.attribute, table))
        elif isinstance(statement, Generalise):
            hierarchy = table.hierarchies[table.attributes.index(statement.attribute)]
            faults += _faults_of_target(statement, hierarchy, f"{place}/to")
        try:
            check_condition(statement.unless, types, f"{place}/unless")
        except InvalidInput as error:
            faults += error.faults
    faults += _faults_of_size(table, statements, pointer)
    if faults:
        raise InvalidInput(faults[:FAULTS_SHOWN])


def _faults_of_size(table: Table, statements: Sequence[Statement], pointer: str) -> list[Fault]:
    comparisons = sum(1 for s in statements for _ in comparisons_of(s.unless))
    if comparisons * table.n_records <= MOST_JUDGEMENTS:
        return []
    return [
        Fault(
            pointer,
            "conditions-too-large",
            f"The conditions make {comparisons} comparisons of each of {table.n_records} records; a rule of "
            f"this table may make {MOST_JUDGEMENTS // table.n_records}.",
            "Shorten the conditions; where they list values, name what is shown by a rule of the kind "
            "generalisation or by rows.",
        )
    ]


def conditional_rule(
    table: Table, statements: Sequence[Statement], columns: Mapping[str, Column], pointer: str = "/statements"
) -> ConditionalRule:
    """The disclosed value of every cell.

    Parameters
    ----------
    table
        The original relation T.
    statements
        In any order.
    columns
        Every column that the conditions read, (n,) records long.
    pointer
        Where the statements are in the request.

    Raises
    ------
    InvalidInput
        An unknown attribute or value, a comparison of unlike things, an affected record that G does not
        name, or a value of G that is not above the original.
    NotSupported
        A level in a hierarchy that is no tree, or values without a least upper bound.
    """
    types = {name: column.type for name, column in columns.items()}
    check_statements(table, statements, types, pointer)
    merged: dict[int, _Requests] = {}
    affected = []
    truths = truths_of((statement.unless for statement in statements), columns, table.n_records)
    for i, (statement, truth) in enumerate(zip(statements, truths, strict=True)):
        rows = np.flatnonzero(truth != TRUE)
        affected.append(len(rows))
        j = table.attributes.index(statement.attribute)
        if j not in merged:
            merged[j] = _Requests(table.hierarchies[j], table.codes[:, j])
        merged[j].add(rows, _requested(table, j, statement, rows, f"{pointer}/{i}/to"))
    codes = table.codes.copy(order="F")
    for j, requests in merged.items():
        codes[:, j] = requests.disclosed()
    return ConditionalRule(CellRule(codes), tuple(affected))


class _Requests:
    """What is asked for each cell of one attribute: a node, or a set of nodes without order among them.

    Numbers below the number of nodes are nodes, those above sets.
    """

    def __init__(self, hierarchy: Hierarchy, originals: Ints) -> None:
        self._hierarchy = hierarchy
        self._asked = originals.copy()
        self._sets: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}

    def add(self, rows: Longs, nodes: Ints) -> None:
        """Ask for a node in each of the rows.

        What was asked for before starts with the original, below every node asked for, so that it never
        counts.
        """
        before = self._asked[rows]
        pairs = distinct_rows([before, nodes], [self._n_numbers, self._hierarchy.n_nodes], len(rows))
        joined = [self._joined(old, new) for old, new in pairs.codes.tolist()]
        self._asked[rows] = np.array(joined, dtype=np.int32)[pairs.inverse]

    def disclosed(self) -> Ints:
        """(n,) the least upper bound of what is asked for; NotSupported where there is none."""
        used = np.unique(self._asked)
        node = {number: self._least_above(self._nodes(number)) for number in used.tolist()}
        place = np.searchsorted(used, self._asked)
        return np.array(list(node.values()), dtype=np.int32)[place]

    @property
    def _n_numbers(self) -> int:
        return self._hierarchy.n_nodes + len(self._sets)

    def _nodes(self, number: int) -> frozenset[int]:
        n_nodes = self._hierarchy.n_nodes
        return frozenset({number}) if number < n_nodes else self._sets[number - n_nodes]

    def _joined(self, number: int, node: int) -> int:
        """The number of the nodes asked for, without those that lie below another of them."""
        nodes = self._nodes(number) | {node}
        above = {n: self._hierarchy.up(n) for n in nodes}
        kept = frozenset(n for n in nodes if not any(m != n and m in above[n] for m in nodes))
        if len(kept) == 1:
            return next(iter(kept))
        if kept not in self._number:
            self._number[kept] = self._n_numbers
            self._sets.append(kept)
        return self._number[kept]

    def _least_above(self, nodes: frozenset[int]) -> int:
        lowest = self._hierarchy.least_above(nodes)
        if len(lowest) != 1:
            labels = " and ".join(repr(self._hierarchy.labels[node]) for node in sorted(nodes))
            raise NotSupported(
                f"Statements that affect the same record ask for {labels}, which have no least upper bound.",
                "Add one value above them to the hierarchy, or ask for the same value in all of them.",
            )
        return lowest[0]


def _requested(table: Table, j: int, statement: Statement, rows: Longs, pointer: str) -> Ints:
    """The node that the statement asks for in each of the rows that it affects."""
    if isinstance(statement, Hide):
        return np.full(len(rows), TOP, dtype=np.int32)
    hierarchy, originals = table.hierarchies[j], table.codes[rows, j]
    match statement.to:
        case ToLevel(level):
            nodes: Ints = hierarchy.ancestors_at(level)[originals]
        case ToValue(value):
            ancestors = Ancestors(hierarchy)
            becomes = np.full(hierarchy.n_nodes, UNKNOWN, dtype=np.int32)
            for node in np.unique(originals).tolist():
                becomes[node] = ancestors.of(node, value)
            becomes[TOP] = TOP  # what is missing stays so
            nodes = becomes[originals]
            _require_above(statement.attribute, [value] * len(rows), rows, nodes, f"{pointer}/value")
        case ToEntities() | ToRows() as to:
            nodes = _given(table, j, statement.attribute, to, rows, pointer)
    return nodes


def _given(table: Table, j: int, attribute: str, to: ToEntities | ToRows, rows: Longs, pointer: str) -> Ints:
    """The nodes that G names for the rows."""
    if isinstance(to, ToRows):
        named = [(row in to.values, to.values.get(row)) for row in (rows + 1).tolist()]
    elif table.entity_ids is None:
        raise InvalidInput.of(
            pointer,
            "no-identifier",
            "The dataset has no identifier, so that entities have no names.",
            "Name records by their row number, or declare an identifier in the dataset's schema.",
        )
    else:
        ids = map(str, table.entity_ids[rows].tolist())
        named = [(entity in to.values, to.values.get(entity)) for entity in ids]
    missing = rows[np.array([not is_named for is_named, _ in named], dtype=bool)]
    if len(missing):
        raise InvalidInput.of(
            f"{pointer}/values",
            "missing-value",
            f"The condition is not true of {in_rows(missing)}, for which no value is given.",
            "Give a value, or null for suppressed, for every record of which the condition is not true.",
        )
    labels = [value for _, value in named]
    nodes = Ancestors(table.hierarchies[j]).of_all(table.codes[rows, j], labels)
    _require_above(attribute, labels, rows, nodes, f"{pointer}/values")
    return nodes


def _require_above(
    attribute: str, labels: Sequence[str | None], rows: Longs, nodes: Ints, pointer: str
) -> None:
    wrong = np.flatnonzero(nodes == UNKNOWN).tolist()
    if not wrong:
        return
    by_label: dict[str, list[int]] = {}
    for i in wrong:
        by_label.setdefault(str(labels[i]), []).append(int(rows[i]))
    raise InvalidInput(
        [
            not_above(pointer, attribute, label, f"the original in {in_rows(np.array(own))}")
            for label, own in list(by_label.items())[:FAULTS_SHOWN]
        ]
    )


def _faults_of_target(statement: Generalise, hierarchy: Hierarchy, pointer: str) -> list[Fault]:
    match statement.to:
        case ToLevel(level) if not 0 <= level <= hierarchy.height:
            return [
                Fault(
                    f"{pointer}/level",
                    "level-out-of-range",
                    f"Level {level} of attribute {statement.attribute!r} is outside 0..{hierarchy.height}.",
                    f"Choose 0 (as it is) to {hierarchy.height} (suppressed).",
                )
            ]
        case ToLevel(level):
            if 0 < level < hierarchy.height:
                hierarchy.require_tree(f"A level of attribute {statement.attribute!r}")
            return []
        case ToValue(value):
            named: Mapping[str, str | None] = {"value": value}
        case ToEntities(values):
            named = {f"values/{pointer_step(name)}": value for name, value in values.items()}
        case ToRows(by_row):
            named = {f"values/{row}": value for row, value in by_row.items()}
    knows = Ancestors(hierarchy).knows
    return [
        unknown_value(f"{pointer}/{step}", statement.attribute, str(value))
        for step, value in named.items()
        if not knows(value)
    ][:FAULTS_SHOWN]

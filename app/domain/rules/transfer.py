"""A rule for one table carried over to another table with the same attributes, such as its next delivery.

Nodes of two hierarchies correspond if they have the same label below corresponding parents; they then have
the same depth. What a rule suppresses stays suppressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.rules.rule import CellRule, RecordRule, Rule, TableRule, apply, climbed
from app.domain.rules.steps import steps_between
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import missing_cells, shows_nothing
from app.domain.tables.table import Table

Unmatched = Literal["suppress", "modal_rule"]


@dataclass(frozen=True, eq=False)
class Transfer:
    """The rule for the other table.

    Attributes
    ----------
    rule
        The rule, its attributes in the other table's order.
    matched
        Records of the other table with a rule of their own, by entity id; None for rules that all share.
    cells_withheld
        Cells of matched records that are suppressed because their value has changed in a hierarchy that is no
        tree: what the rule named may not lie above the new value.
    """

    rule: Rule
    matched: int | None
    cells_withheld: int


def corresponding_nodes(source: Hierarchy, target: Hierarchy) -> Ints:
    """The node of ``target`` for every node of ``source``, −1 where there is none."""
    if source is target:
        return np.arange(source.n_nodes, dtype=np.int32)
    place: dict[tuple[str, frozenset[int], int], int] = {}
    for code in range(1, target.n_nodes):
        _take(place, target.labels[code], frozenset(target.parents[code]), code)
    found = np.full(source.n_nodes, UNKNOWN, dtype=np.int32)
    found[TOP] = TOP
    seen: dict[tuple[str, frozenset[int], int], int] = {}
    for code in range(1, source.n_nodes):
        parents = frozenset(int(found[parent]) for parent in source.parents[code])
        if UNKNOWN not in parents:
            key = _take(seen, source.labels[code], parents, code)
            found[code] = place.get(key, UNKNOWN)
    return found


def _take(
    place: dict[tuple[str, frozenset[int], int], int], label: str, parents: frozenset[int], code: int
) -> tuple[str, frozenset[int], int]:
    """Enter a node under its label and parents; those that share both are told apart by their order."""
    number = 0
    while (label, parents, number) in place:
        number += 1
    place[label, parents, number] = code
    return label, parents, number


def positions_of(source: Table, target: Table, pointer: str) -> list[int]:
    """The position in ``source`` of every attribute of ``target``; InvalidInput if the attributes differ."""
    gone = [name for name in source.attributes if name not in target.attributes]
    new = [name for name in target.attributes if name not in source.attributes]
    if gone or new:
        parts = [f"lacks {', '.join(gone)}"] * bool(gone) + [f"adds {', '.join(new)}"] * bool(new)
        raise InvalidInput.of(
            pointer,
            "other-attributes",
            f"The other dataset {' and '.join(parts)}: the rule says nothing of these.",
            "Name a dataset with the same disclosed attributes.",
        )
    return [source.position(name) for name in target.attributes]


def transfer(rule: Rule, source: Table, target: Table, unmatched: Unmatched, pointer: str) -> Transfer:
    """Carry a rule of ``source`` over to ``target``.

    Parameters
    ----------
    rule
        A table-level rule keeps the depth at which it cuts each hierarchy, everything as it is, and nothing.
        Other rules are carried over record by record, matched by entity id: a value that has stayed is
        disclosed as before; in its place another one is raised by as many steps, in a tree.
    unmatched
        What becomes of records without a counterpart: all suppressed, or the steps that most records of
        ``source`` have (of several such the lexicographically smallest).

    Raises
    ------
    InvalidInput
        Other attributes, or records that cannot be matched because there are no identifiers.
    NotSupported
        ``modal_rule`` where a hierarchy is no tree.
    """
    positions = positions_of(source, target, pointer)
    if isinstance(rule, TableRule):
        levels = [
            level_for(rule.levels[j], source.hierarchies[j], target.hierarchies[i], pointer)
            for i, j in enumerate(positions)
        ]
        return Transfer(TableRule(tuple(levels)), None, 0)
    return _Carrier(rule, source, target, positions, unmatched, pointer).carry()


def level_for(level: int, source: Hierarchy, target: Hierarchy, pointer: str) -> int:
    """The level of ``target`` that cuts at the same depth; 0 stays 0 and ⊥ stays ⊥."""
    if level == source.height:
        return target.height
    if level == 0:
        return 0
    cut = source.height - level
    target.require_tree("A level")
    # A cut below the deepest value leaves every value as it is.
    return max(0, target.height - cut)


class _Carrier:
    """Carries a record-level rule over, attribute by attribute."""

    def __init__(
        self,
        rule: Rule,
        source: Table,
        target: Table,
        positions: Sequence[int],
        unmatched: Unmatched,
        pointer: str,
    ) -> None:
        self._source, self._target, self._positions = source, target, positions
        self._disclosed = apply(rule, source)
        self._rule, self._unmatched, self._pointer = rule, unmatched, pointer
        self._row = _matching_rows(source, target, pointer)

    def carry(self) -> Transfer:
        """The rule for the target."""
        target = self._target
        codes = np.empty(target.codes.shape, dtype=np.int32, order="F")
        modal = self._modal_steps() if self._unmatched == "modal_rule" and (self._row < 0).any() else None
        suppressed = 0
        for i, j in enumerate(self._positions):
            codes[:, i], lost = self._column(i, j, None if modal is None else int(modal[j]))
            suppressed += lost
        return Transfer(CellRule(codes), int((self._row >= 0).sum()), suppressed)

    def _column(self, i: int, j: int, modal: int | None) -> tuple[Ints, int]:
        """Disclosed nodes of one attribute, and the cells that had to be suppressed."""
        old, new = self._source.hierarchies[j], self._target.hierarchies[i]
        now = self._target.codes[:, i]
        matched = np.flatnonzero(self._row >= 0)
        rows = self._row[matched]
        before, shown = self._source.codes[rows, j], self._disclosed[rows, j]
        there = corresponding_nodes(old, new)
        result = np.zeros(len(now), dtype=np.int32)
        if modal is not None:
            others = np.flatnonzero(self._row < 0)
            result[others] = new.ancestor_steps(modal)[now[others]]
        stayed = there[before] == now[matched]
        found = np.where(stayed, there[shown], TOP).astype(np.int32)
        changed = ~stayed & ~self._suppresses(rows, j)
        lost = 0
        if new.is_tree and old.is_tree:
            steps = self._steps(rows, j)
            found[changed] = climbed(new, now[matched[changed]], steps[changed])
        else:
            lost = int((changed & ~missing_cells(now[matched])).sum())
        result[matched] = found
        return result, lost

    def _steps(self, rows: Longs, j: int) -> Ints:
        """Steps from the original up to what the rule discloses of records of the source, trees only."""
        if isinstance(self._rule, RecordRule):
            steps: Ints = self._rule.steps[rows, j].astype(np.int32)
            return steps
        hierarchy, originals = self._source.hierarchies[j], self._source.codes[rows, j]
        return steps_between(hierarchy, originals, self._disclosed[rows, j])

    def _suppresses(self, rows: Longs, j: int) -> Bools:
        """Whether the rule suppresses the cell; of a missing value that is known by its steps alone."""
        hidden = shows_nothing(self._disclosed[rows, j])
        if isinstance(self._rule, RecordRule):
            hidden &= ~missing_cells(self._source.codes[rows, j])
        return hidden

    def _modal_steps(self) -> Ints:
        """The most frequent vector of steps among all records of the source."""
        source = self._source
        for hierarchy in (*source.hierarchies, *self._target.hierarchies):
            hierarchy.require_tree("The most frequent rule")
        every = np.arange(source.n_records)
        columns = [self._steps(every, j) for j in range(source.n_attributes)]
        rows = distinct_rows(columns, [height + 1 for height in source.heights], source.n_records)
        # Rows are in lexicographic order, and argmax takes the first of equals.
        modal: Ints = rows.codes[int(rows.counts.argmax())]
        return modal


def _matching_rows(source: Table, target: Table, pointer: str) -> Longs:
    """The row of ``source`` with the same entity for every row of ``target``, −1 without one."""
    if source.entity_ids is None or target.entity_ids is None:
        raise InvalidInput.of(
            pointer,
            "ids-not-comparable",
            "A rule per record needs identifiers in both datasets, to know whose record is whose.",
            "Declare an identifier in both, or choose a table-level rule.",
        )
    row_of = {entity: row for row, entity in enumerate(source.entity_ids.tolist())}
    return np.array([row_of.get(entity, -1) for entity in target.entity_ids.tolist()], dtype=np.int64)

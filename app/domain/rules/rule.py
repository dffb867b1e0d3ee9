"""Disclosure rules as values: what each cell becomes (Definitions: disclosure rules).

A level counts generalisation from 0 (as it is) to the hierarchy's height (⊥). For table rules on
unbalanced trees level l is the depth cut H − l: a value above the cut stays. For single records a
level is a number of steps up from the record's own value, at most to ⊥.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Integers, Ints
from app.domain.errors import Fault, InvalidInput, having
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import ROWS_AT_ONCE
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table, no_attribute


@dataclass(frozen=True)
class TableRule:
    """One level per attribute for all records; ``a <= b`` iff b is at least as general everywhere."""

    levels: tuple[int, ...]

    def __le__(self, other: TableRule) -> bool:
        return len(self.levels) == len(other.levels) and all(
            a <= b for a, b in zip(self.levels, other.levels, strict=True)
        )

    def __lt__(self, other: TableRule) -> bool:
        return self != other and self <= other


@dataclass(frozen=True, eq=False)
class RecordRule:
    """Steps up per record and attribute, integers (n, m)."""

    steps: npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class CellRule:
    """The disclosed node of every cell, int32 (n, m), each ⪰ its original; works on DAGs too."""

    codes: Ints


Rule = TableRule | RecordRule | CellRule


def identity(n_attributes: int) -> TableRule:
    """Disclose everything as it is."""
    return TableRule((0,) * n_attributes)


def suppression(table: Table, attributes: Iterable[str]) -> TableRule:
    """Suppress the named attributes entirely; InvalidInput for a name that the table does not have."""
    suppressed = {table.position(attribute) for attribute in attributes}
    return TableRule(tuple(height if j in suppressed else 0 for j, height in enumerate(table.heights)))


def table_rule(table: Table, levels: Mapping[str, int], pointer: str = "/levels") -> TableRule:
    """Check a level per attribute, 0 for those not named; every fault names its attribute and bound."""
    faults = [
        no_attribute(f"{pointer}/{attribute}", attribute, table.attributes)
        for attribute in levels
        if attribute not in table.attributes
    ]
    for attribute, height in zip(table.attributes, table.heights, strict=True):
        level = levels.get(attribute, 0)
        if not 0 <= level <= height:
            faults.append(
                Fault(
                    f"{pointer}/{attribute}",
                    "level-out-of-range",
                    f"Level {level} of attribute {attribute!r} is outside 0..{height}.",
                    f"Choose 0 (as it is) to {height} (suppressed).",
                )
            )
    if faults:
        raise InvalidInput(faults)
    for attribute, hierarchy in zip(table.attributes, table.hierarchies, strict=True):
        if 0 < levels.get(attribute, 0) < hierarchy.height:
            hierarchy.require_tree(f"A level of attribute {attribute!r}")
    return TableRule(tuple(levels.get(attribute, 0) for attribute in table.attributes))


def record_rule(table: Table, steps: Integers, pointer: str = "/records") -> RecordRule:
    """Check steps (n, m); faults name attribute, bound and the first rows (numbered from 1)."""
    if steps.shape != table.codes.shape:
        raise InvalidInput.of(
            pointer,
            "wrong-shape",
            f"The rule is for {steps.shape[0]} records; the dataset has {table.n_records}.",
            "Give the levels of every record of the dataset.",
        )
    faults = []
    for j, (attribute, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        column = steps[:, j]
        bad = np.flatnonzero((column < 0) | (column > hierarchy.height))
        if len(bad):
            rows = ", ".join(str(row + 1) for row in bad[:10])
            faults.append(
                Fault(
                    f"{pointer}/{attribute}",
                    "level-out-of-range",
                    f"{having(len(bad), 'record')} a level of attribute {attribute!r} "
                    f"outside 0..{hierarchy.height} (first rows: {rows}).",
                    f"Choose 0 (as it is) to {hierarchy.height} (suppressed).",
                )
            )
        elif column.any():
            hierarchy.require_tree(f"A level of attribute {attribute!r}")
    if faults:
        raise InvalidInput(faults)
    return RecordRule(np.asfortranarray(steps, dtype=np.int16))


def apply(rule: Rule, table: Table) -> Ints:
    """Disclosed node codes (n, m), column-major. Every result is ⪰ its original."""
    return apply_to_codes(rule, table, table.codes)


def apply_to_codes(rule: Rule, table: Table, codes: Ints) -> Ints:
    """Apply a rule to rows of node codes (r, m) of the table's hierarchies.

    For a rule that is not a :class:`TableRule` the rows must be the table's records.
    """
    if isinstance(rule, CellRule):
        return rule.codes
    if rule == identity(table.n_attributes):
        return _read_only(codes)
    disclosed = np.empty(codes.shape, dtype=np.int32, order="F")
    if isinstance(rule, RecordRule):
        for j in range(table.n_attributes):
            disclosed[:, j] = climbed(table.hierarchies[j], codes[:, j], rule.steps[:, j])
        return disclosed
    becomes = recodings(rule, table)
    for start in range(0, len(codes), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        for j, level in enumerate(rule.levels):
            disclosed[rows, j] = becomes[j].take(codes[rows, j]) if level else codes[rows, j]
    return disclosed


def _read_only(codes: Ints) -> Ints:
    """The codes themselves, without a copy of them, for who does not write into them."""
    view = codes.view()
    view.flags.writeable = False
    return view


def suppressed_records(rule: Rule, table: Table, disclosed: Ints) -> Bools:
    """(n,) records whose quasi-identifiers a rule for single records suppresses, all of them.

    ``disclosed`` (n, m) is what the rule shows. A rule for the whole table that suppresses everything
    suppresses nobody: it makes one class.
    """
    if isinstance(rule, TableRule) or not table.quasi_identifiers:
        return np.zeros(table.n_records, dtype=bool)
    found: Bools = np.ones(table.n_records, dtype=bool)
    for j in table.quasi_identifiers:
        found &= shows_nothing(disclosed[:, j])
    return found


def recodings(rule: TableRule, table: Table) -> list[Ints]:
    """What each node of each attribute becomes (nodes,)."""
    _require_width(rule.levels, table)
    return [
        hierarchy.ancestors_at(level) for hierarchy, level in zip(table.hierarchies, rule.levels, strict=True)
    ]


def _require_width(levels: Sequence[int], table: Table) -> None:
    if len(levels) != table.n_attributes:
        raise InvalidInput.of(
            "/levels",
            "wrong-shape",
            f"The rule has {len(levels)} levels, the table {table.n_attributes} attributes.",
            "Give one level per attribute.",
        )


def climbed(hierarchy: Hierarchy, nodes: Ints, steps: Integers) -> Ints:
    """The nodes, each raised by its own number of steps."""
    if not steps.any():
        return nodes
    ladder = np.stack([hierarchy.ancestor_steps(s) for s in range(int(steps.max()) + 1)])
    found: Ints = ladder[steps, nodes]
    return found

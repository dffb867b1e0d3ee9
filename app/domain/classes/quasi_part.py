"""The part of a table that its rules choose levels of: the quasi-identifiers; and how all else is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final

import numpy as np

from app.domain.arrays import Ints
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import RecordRule, Rule, TableRule, apply, table_rule
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.table import Table

_AS_THEY_ARE: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class _QuasiPart(Table):
    """The quasi-identifiers of ``whole``, whose distinct records are known or will be needed."""

    whole: Table = field(kw_only=True)

    @cached_property
    def reduced(self) -> DistinctRows:
        """The distinct records of the part, found among those of the whole."""
        whole = self.whole.reduced
        columns = [whole.codes[:, j] for j in self.whole.quasi_identifiers]
        rows = distinct_rows(columns, self.sizes, whole.size)
        counts = np.bincount(rows.inverse, whole.counts, rows.size).astype(np.int64)
        return DistinctRows(rows.codes, counts, rows.inverse[whole.inverse])


def quasi_part(table: Table) -> Table:
    """The table without its sensitive attributes; itself if it has none.

    InvalidInput if nothing is left.
    """
    if not table.sensitive:
        return table
    kept = required_quasi_identifiers(table)
    return _QuasiPart(
        tuple(table.attributes[j] for j in kept),
        tuple(table.hierarchies[j] for j in kept),
        table.codes[:, kept],
        persons=table.persons,
        whole=table,
    )


def required_quasi_identifiers(table: Table) -> tuple[int, ...]:
    """Positions of the quasi-identifiers; InvalidInput if all attributes are sensitive."""
    if not table.quasi_identifiers:
        raise InvalidInput.of(
            "/dataset",
            "no-quasi-identifiers",
            "All attributes of the dataset have the role sensitive: there is nothing to generalise.",
            "Give attributes that an attacker may know the role quasi_identifier.",
        )
    return table.quasi_identifiers


def group_of_row(table: Table, part: Table) -> Ints:
    """(R,) which distinct record of the part each distinct record of the table is."""
    if part is table:
        return np.arange(table.reduced.size, dtype=np.int32)
    found = np.empty(table.reduced.size, dtype=np.int32)
    found[table.reduced.inverse] = part.reduced.inverse
    return found


def rule_for(
    table: Table, levels: tuple[int, ...], of_sensitive: Mapping[str, int] = _AS_THEY_ARE
) -> TableRule:
    """The rule with these levels of the quasi-identifiers, other sensitive attributes as they are."""
    found = [of_sensitive.get(name, 0) for name in table.attributes]
    for j, level in zip(table.quasi_identifiers, levels, strict=True):
        found[j] = level
    return TableRule(tuple(found))


def level_of_persons(table: Table, attribute: str, persons: int, spare: int) -> int:
    """The lowest level on which every value of an attribute is of ``persons`` and ``spare`` more.

    If that is ⊥ alone, the lowest on which every value is of ``persons``. Missing values do not count.
    """
    j = table.position(attribute)
    hierarchy, codes = table.hierarchies[j], table.codes[:, j]
    hierarchy.require_tree(f"A level of attribute {attribute!r}")
    least = []
    for level in range(hierarchy.height):
        nodes = hierarchy.ancestors_at(level)[codes]
        if table.persons is not None:
            nodes = distinct_rows(
                [nodes, table.persons], (hierarchy.n_nodes, table.n_persons), len(nodes)
            ).codes[:, 0]
        counts = np.bincount(nodes, minlength=hierarchy.n_nodes)[TOP + 1 :]
        least.append(int(counts[counts > 0].min(initial=table.n_records + 1)))
    wanted = persons + spare if max(least, default=0) >= persons + spare else persons
    return next((level for level, own in enumerate(least) if own >= wanted), hierarchy.height)


def shown_at(table: Table, of_sensitive: Mapping[str, int]) -> Table:
    """The table with sensitive attributes at levels of their hierarchies."""
    if not any(of_sensitive.values()):
        return table
    return replace(table, codes=apply(table_rule(table, of_sensitive), table))


def hidden_further(rule: Rule, table: Table, of_sensitive: Mapping[str, int]) -> Rule:
    """A rule of records of :func:`shown_at`, as one of the table."""
    if not isinstance(rule, RecordRule) or not any(of_sensitive.values()):
        return rule
    shown, steps = shown_at(table, of_sensitive), rule.steps.copy(order="F")
    for j in map(table.position, of_sensitive):
        depth = table.hierarchies[j].depth
        steps[:, j] += depth[table.codes[:, j]] - depth[shown.codes[:, j]]
    return RecordRule(steps)

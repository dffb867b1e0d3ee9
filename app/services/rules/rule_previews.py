"""Some records before and after a rule, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import Rule, apply
from app.domain.rules.steps import steps_between
from app.domain.tables.table import Table
from app.services.rules.rule_definitions import RuleDefinition


@dataclass(frozen=True)
class PreviewRule:
    """Records ``first`` to ``first + limit - 1`` (from 1) of a dataset; a stored rule or a definition."""

    dataset: str
    rule: str | RuleDefinition
    first: int = 1
    limit: int = 20


@dataclass(frozen=True)
class PreviewedRecord:
    """One record: a cell is None where it is missing or suppressed.

    ``steps`` lead from the original up to the shown value; None where the hierarchy is no tree and they have
    no number.
    """

    row: int
    before: tuple[str | None, ...]
    after: tuple[str | None, ...]
    steps: tuple[int | None, ...]


@dataclass(frozen=True)
class RulePreview:
    """The records, with the hierarchies' heights: as many steps suppress a value."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    total_rows: int
    records: tuple[PreviewedRecord, ...]


def preview_of(table: Table, rule: Rule, first: int, limit: int) -> RulePreview:
    """The records as they are and as the rule discloses them."""
    rows = np.arange(first - 1, min(first - 1 + limit, table.n_records))
    before, after = table.codes[rows], apply(rule, table)[rows]
    steps = [
        steps_between(hierarchy, before[:, j], after[:, j]).tolist()
        for j, hierarchy in enumerate(table.hierarchies)
    ]
    return RulePreview(
        table.attributes,
        table.heights,
        table.n_records,
        tuple(
            PreviewedRecord(
                row + 1,
                _labels(table.hierarchies, before[i].tolist()),
                _labels(table.hierarchies, after[i].tolist()),
                tuple(None if own[i] < 0 else own[i] for own in steps),
            )
            for i, row in enumerate(rows.tolist())
        ),
    )


def _labels(hierarchies: tuple[Hierarchy, ...], codes: list[int]) -> tuple[str | None, ...]:
    return tuple(
        None if code == TOP else hierarchy.labels[code]
        for hierarchy, code in zip(hierarchies, codes, strict=True)
    )

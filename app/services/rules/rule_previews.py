"""Some records before and after a rule, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.rules.rule import Rule, apply
from app.domain.rules.steps import labels_shown, steps_between
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
    trees = table.hierarchies
    steps = [steps_between(tree, before[:, j], after[:, j]).tolist() for j, tree in enumerate(trees)]
    originals = [labels_shown(tree, before[:, j]) for j, tree in enumerate(trees)]
    shown = [labels_shown(tree, after[:, j]) for j, tree in enumerate(trees)]
    return RulePreview(
        table.attributes,
        table.heights,
        table.n_records,
        tuple(
            PreviewedRecord(
                row + 1,
                tuple(labels[i] for labels in originals),
                tuple(labels[i] for labels in shown),
                tuple(None if own[i] < 0 else own[i] for own in steps),
            )
            for i, row in enumerate(rows.tolist())
        ),
    )

"""A suggested change as what creating a rule takes."""

from __future__ import annotations

from app.domain.rules.rule import Rule, TableRule
from app.domain.search.changes.change import Change
from app.domain.tables import Table
from app.services.resources import JsonObject
from app.services.rule_definitions import AT_LEAST
from app.services.rule_documents import TABLE_LEVEL, suppression_document


def definition_of_change(
    change: Change, table: Table, rule: Rule, written: str | JsonObject
) -> JsonObject | None:
    """The definition of the changed rule, as creating a rule takes it; None if no change was found.

    Parameters
    ----------
    rule
        The rule that was changed.
    written
        How it was named or defined; a definition must not be that of a rule which is generalised further.
    """
    if change.levels is None:
        return None
    withheld = {} if change.withholding is None else suppression_document(change.withholding)
    if not isinstance(rule, TableRule):
        return {"kind": AT_LEAST, "rule": written, "levels": dict(change.levels), **withheld}
    levels = {
        name: max(level, change.levels.get(name, 0))
        for name, level in zip(table.attributes, rule.levels, strict=True)
    }
    shown = {name: level for name, level in levels.items() if level}
    return {"kind": TABLE_LEVEL, "levels": shown, **withheld}

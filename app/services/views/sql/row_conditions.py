"""Conditions outside WHERE that leave out rows as WHERE does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from app.services.views.sql.conditions import operands
from app.services.views.sql.values import written


@dataclass(frozen=True)
class OnlyCount:
    """The count that a SELECT shows, and nothing else, of the rows that meet a condition of its own."""

    count: exp.Count
    condition: exp.Expr
    is_case: bool
    """Whether the condition is that of CASE, whose value is never NULL: rows are counted."""


def only_count(select: exp.Select) -> OnlyCount | None:
    """The count by FILTER, or by CASE without ELSE; None: the SELECT shows something else.

    Of all rows at once: of groups, those would be shown of which no row meets the condition.
    """
    if len(select.expressions) != 1 or any(select.args.get(own) for own in ("group", "having")):
        return None
    shown = select.expressions[0].unalias()
    while isinstance(shown, exp.Paren):
        shown = shown.this
    if isinstance(shown, exp.Filter) and isinstance(shown.this, exp.Count):
        return OnlyCount(shown.this, shown.expression.this, is_case=False)
    case = shown.this if isinstance(shown, exp.Count) and not shown.expressions else None
    if not isinstance(case, exp.Case) or case.this is not None or len(case.args["ifs"]) != 1:
        return None
    (branch,), otherwise = case.args["ifs"], case.args.get("default")
    value = written(branch.args["true"])
    if value is None or value.kind == "null" or not (otherwise is None or isinstance(otherwise, exp.Null)):
        return None
    return OnlyCount(shown, branch.this, is_case=True)


def asked_of_groups(select: exp.Select, is_column: Callable[[exp.Column], bool]) -> list[exp.Expr]:
    """The parts of HAVING that ask of columns of FROM by which rows are grouped, alike for all of a group."""
    having, group = select.args.get("having"), select.args.get("group")
    if having is None or group is None or not all(isinstance(own, exp.Column) for own in group.expressions):
        return []
    names = {(own.table, own.name) for own in group.expressions}
    found = []
    for part in operands(having.this, exp.And):
        columns = list(part.find_all(exp.Column))
        is_grouped = all((own.table, own.name) in names and is_column(own) for own in columns)
        if columns and is_grouped and not part.find(exp.AggFunc, exp.Query):
            found.append(part)
    return found

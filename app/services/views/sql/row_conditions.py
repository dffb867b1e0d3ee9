"""Conditions outside WHERE that leave out rows as WHERE does."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from app.services.views.sql.conditions import operands
from app.services.views.sql.values import written


def only_count(select: exp.Select) -> tuple[exp.Count, exp.Expr] | None:
    """The count that a SELECT shows alone, by FILTER or CASE without ELSE, and its condition; None: no such.

    Of all rows at once: of groups, those would be shown of which no row meets the condition.
    """
    if len(select.expressions) != 1 or select.args.get("group") or select.args.get("having"):
        return None
    shown = select.expressions[0].unalias().unnest()
    if isinstance(shown, exp.Filter) and isinstance(shown.this, exp.Count):
        return shown.this, shown.expression.this
    case = shown.this if isinstance(shown, exp.Count) and not shown.expressions else None
    if not isinstance(case, exp.Case) or case.this is not None or len(case.args["ifs"]) != 1:
        return None
    value, otherwise = written(case.args["ifs"][0].args["true"]), case.args.get("default") or exp.Null()
    is_counted = value is not None and value.kind != "null" and isinstance(otherwise, exp.Null)
    return (shown, case.args["ifs"][0].this) if is_counted else None


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

"""Expressions that may fail on some rows, where a database may try them on rows that no condition keeps.

A query that fails says so, and whether it does depends on every row for which an expression was tried: by
`10 / (a - 1) > 2` a row with a = 1 is known, even if another condition leaves it out. In which order
conditions are asked, and whether a subquery of FROM is computed before, is the database's choice. What the
outermost SELECT shows is computed of the rows that are left.
"""

from __future__ import annotations

from sqlglot import exp

from app.services.views.sql.kinds import Kinds


def failing(query: exp.Query, kinds: Kinds) -> exp.Expr | None:
    """An expression that may fail, and that may be tried before all conditions are known to hold."""
    kinds.of(query)
    return min(filter(_is_tried_early, kinds.may_fail), key=kinds.text.offset, default=None)


def _is_tried_early(node: exp.Expr) -> bool:
    # An aggregate is one of the rows that are left of its own SELECT.
    is_aggregate = isinstance(node, exp.AggFunc)
    below, above = node, node.parent_select if is_aggregate else node
    while above is not None:
        # The condition of a count leaves out rows as WHERE does, and has been tried on them.
        is_counted = isinstance(below, exp.Case) and isinstance(above, exp.Count)
        if isinstance(above, exp.Where | exp.Having | exp.Lateral) or below.arg_key == "on" or is_counted:
            return True
        if isinstance(above, exp.From | exp.Join | exp.With) and not is_aggregate:
            return True
        below, above = above, above.parent
    return False

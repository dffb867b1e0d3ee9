"""What a rule leaves of the records before a mechanism draws: it generalises the rest, not what is drawn."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Ints
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.rules.rule import TableRule, apply


def changes(context: MechanismContext, column: int) -> bool:
    """Whether the rule shows another value of the attribute of any record."""
    if context.rule is None:
        return False
    if isinstance(context.rule, TableRule):
        return context.rule.levels[column] > 0
    return not np.array_equal(disclosed(context)[:, column], context.table.codes[:, column])


def disclosed(context: MechanismContext) -> Ints:
    """(n, columns) the table under the rule, the table's own codes without one."""
    return context.table.codes if context.rule is None else apply(context.rule, context.table)


def shown_attributes(context: MechanismContext) -> tuple[str, ...]:
    """The attributes that the rule's levels do not suppress in all records."""
    names, heights = context.table.attributes, context.table.heights
    if not isinstance(context.rule, TableRule):
        return names
    levels = zip(names, heights, context.rule.levels, strict=True)
    return tuple(name for name, height, level in levels if level < max(height, 1))


def bytes_disclosed(context: MechanismContext) -> int:
    """Of a record, what a table under the rule takes beside the table itself."""
    return 0 if context.rule is None else context.table.codes.itemsize * context.table.n_attributes


def touched(attribute: str, what: str) -> str:
    """Why a rule that changes the attribute is refused; ``what`` is to be done to its values."""
    return (
        f"The rule generalises or suppresses values of {attribute!r}, which are to be {what}. Give a rule "
        "that leaves this attribute as it is and suppresses no record."
    )

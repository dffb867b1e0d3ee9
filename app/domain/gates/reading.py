"""Which columns the requirement of a policy reads, with the policy's slots and the requirement's scope."""

from __future__ import annotations

from app.domain.errors import InvalidInput
from app.domain.policies.policy import Policy, Requirement
from app.domain.policies.reading import NO_COLUMNS, NOTHING_READ, Columns, Readable, Reading


def reading_of(policy: Policy, criterion: Requirement, columns: Columns) -> Reading:
    """What a requirement of the policy reads of these columns; nothing if it cannot be understood."""
    grouped, condition = columns.quasi_identifiers, criterion.condition
    if criterion.scope.attributes is not None:
        grouped = frozenset(criterion.scope.attributes) & columns.disclosed
    slots = policy.slots_of(condition)
    if policy.takes_absence_for_safety(condition):
        slots -= columns.lacking
    carried = NO_COLUMNS.union(*(columns.carried.get(slot, NO_COLUMNS) for slot in slots))
    try:
        return condition.reading(Readable(columns, grouped, carried))
    except InvalidInput:
        return NOTHING_READ

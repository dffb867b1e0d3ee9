"""Whether the budget of a table has enough for a draw."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from app.domain.errors import Conflict
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.services.ports import UnitOfWork
from app.services.releases.budgets import Account, Budget, account_of
from app.services.releases.draw_subjects import tables_of
from app.services.releases.drawing import Preparation

_NUMBERS: Final = (("epsilon", "ε"), ("delta", "δ"))


async def require_within_budget(work: UnitOfWork, prepared: Preparation) -> None:
    """Conflict with the numbers if the draw would spend more than is left; a budget there need not be.

    Who begins or queues the draw has the turn at draws, so that nobody else takes the same rest.
    """
    if prepared.loss is None:
        return
    people = prepared.people
    tables = await tables_of(work, {} if people is None else {prepared.subject: people.subjects})
    subjects = tables.subjects(prepared.subject)
    budgets = await work.budgets.of_table(subjects)
    if not budgets:
        return
    account = await account_of(work, subjects, prepared.wordings.keys())
    for budget in budgets:
        if (account.held + prepared.loss).is_within(budget.limits):
            continue
        sums = sums_told(account, budget.limits)
        asked = {name: decimal_text(getattr(prepared.loss, name)) for name, _ in _NUMBERS}
        short = [
            f"{letter} of {asked[name]} is asked for and {sums[name]['remaining']} is left"
            for name, letter in _NUMBERS
            if getattr(account.held, name) + getattr(prepared.loss, name) > getattr(budget.limits, name)
        ]
        raise Conflict(
            f"The budget {budget.name!r} of the table has not enough: {', and '.join(short)}.",
            "Use what was released, ask for a smaller ε or δ, or have somebody with the scope govern raise "
            "it.",
            {"budget": {"id": budget.id, "name": budget.name, **sums}, "asked": asked},
        )


def least_limits(budgets: Collection[Budget]) -> PrivacyLoss | None:
    """What all releases of a table may spend that has these budgets; None if it has none.

    Whatever is within each of them is within the least ε and the least δ, and the other way round.
    """
    if not budgets:
        return None
    limits = [own.limits for own in budgets]
    return PrivacyLoss(min(own.epsilon for own in limits), min(own.delta for own in limits))


def sums_told(account: Account, limits: PrivacyLoss | None) -> dict[str, dict[str, str | None]]:
    """Of ε and of δ the limit, what is spent, reserved and left, as exact decimals; None without a limit."""
    spent, reserved = account.of("spent"), account.of("reserved")
    return {
        name: {
            "limit": None if limits is None else decimal_text(getattr(limits, name)),
            "spent": decimal_text(getattr(spent, name)),
            "reserved": decimal_text(getattr(reserved, name)),
            "remaining": None
            if limits is None
            else decimal_text(getattr(limits, name) - getattr(account.held, name)),
        }
        for name, _ in _NUMBERS
    }

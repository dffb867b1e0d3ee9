"""Whether all that was released of a table keeps the limits of a requirement on its privacy budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.gates.findings import Finding, held
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.domain.mechanisms.spending import loss_stated
from app.domain.policies.policy import BudgetCondition

_MOST_NAMED: Final = 5


@dataclass(frozen=True)
class TableSpending:
    """What the releases of a table have spent or reserved, the one that is judged among them.

    ``voided_by`` names those without a certified guarantee of differential privacy; None is one that is
    deleted.
    """

    loss: PrivacyLoss
    releases: int
    voided_by: tuple[str | None, ...] = ()


def finding_of_spending(condition: BudgetCondition, spending: TableSpending) -> Finding:
    """Whether the sums are within the limits, exactly, and mean anything."""
    limits = loss_stated({"epsilon": condition.epsilon, "delta": condition.delta})
    all_private = _all_private(spending.voided_by)
    stands = spending.loss.is_within(limits) and all_private.holds == "yes"
    told = (
        f"The {spending.releases:,} differentially private releases of the table spend, this one included, "
        f"an ε of {decimal_text(spending.loss.epsilon)} and a δ of {decimal_text(spending.loss.delta)}; "
        f"allowed are {decimal_text(limits.epsilon)} and {decimal_text(limits.delta)}."
    )
    if all_private.holds == "no":
        told += f" Together they promise nothing: {all_private.reason}"
    part = held(stands, "equals", True)
    return Finding("equals", True, (part,), "exact", told, hypotheses=(all_private,))


def _all_private(voided_by: tuple[str | None, ...]) -> Hypothesis:
    if not voided_by:
        return Hypothesis(
            "all_releases_private", "yes", "Every known release of the table is differentially private."
        )
    named = [repr(own) for own in voided_by if own is not None][:_MOST_NAMED]
    listed = f", among them {', '.join(named)}" if named else ""
    return Hypothesis(
        "all_releases_private",
        "no",
        f"{len(voided_by):,} releases of the table have no certified guarantee of differential privacy"
        f"{listed}.",
    )

"""Whether all that was released of a table keeps the limits of a requirement on its privacy budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.gates.findings import Finding, held
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.domain.mechanisms.spending import loss_stated, nothing_left
from app.domain.policies.budget_condition import BudgetCondition

_MOST_NAMED: Final = 5


@dataclass(frozen=True)
class TableSpending:
    """What the releases of a table have spent or reserved, the one that is judged among them.

    ``voided_by`` names those without a certified guarantee of differential privacy; None is one that is not
    stored. ``least_records`` is the greatest number of records that is declared for one of them,
    ``hypotheses`` what is known of all that their guarantees rest on, for the weakest of them.
    """

    loss: PrivacyLoss
    releases: int
    voided_by: tuple[str | None, ...] = ()
    least_records: int | None = None
    hypotheses: tuple[Hypothesis, ...] = ()


def finding_of_spending(condition: BudgetCondition, spending: TableSpending) -> Finding:
    """Whether the sums are within the limits, exactly, and mean anything."""
    limits = loss_stated({"epsilon": condition.epsilon, "delta": condition.delta})
    hypotheses = (_all_private(spending.voided_by), *spending.hypotheses)
    failing = [own for own in hypotheses if own.holds == "no"]
    assumed = [own.id.replace("_", " ") for own in hypotheses if own.holds == "assumed"]
    nothing = nothing_left(spending.loss.delta, spending.releases, spending.least_records)
    of = (
        "The only differentially private release of the table spends"
        if spending.releases == 1
        else f"The {spending.releases:,} differentially private releases of the table spend, this one "
        "included,"
    )
    told = (
        f"{of} an ε of {decimal_text(spending.loss.epsilon)} and a δ of {decimal_text(spending.loss.delta)}; "
        f"allowed are {decimal_text(limits.epsilon)} and {decimal_text(limits.delta)}."
    )
    stands = spending.loss.is_within(limits) and not failing and not nothing
    if failing:
        told += f" Together they promise nothing: {' '.join(own.reason for own in failing)}"
    elif nothing:
        told += f" {nothing}"
    elif not condition.may_rest_on_assumptions:
        stands = stands and not assumed
        told += f" It rests on assumptions, which the policy does not allow: {', '.join(assumed)}."
    else:
        told += f" Assumed, which the policy allows: {', '.join(assumed)}."
    part = held(stands, "equals", True)
    return Finding("equals", True, (part,), "exact", told, hypotheses=hypotheses)


def _all_private(voided_by: tuple[str | None, ...]) -> Hypothesis:
    if not voided_by:
        return Hypothesis(
            "all_releases_private",
            "assumed",
            "Every known release of the uploaded content is differentially private. What was released of "
            "another upload of the same people, or is deleted or released elsewhere, is not known.",
        )
    named = [repr(own) for own in voided_by if own is not None][:_MOST_NAMED]
    listed = f", among them {', '.join(named)}" if named else ""
    some = "1 release" if len(voided_by) == 1 else f"{len(voided_by):,} releases"
    return Hypothesis(
        "all_releases_private",
        "no",
        f"No certified guarantee of differential privacy is known of {some} of the table{listed}.",
    )

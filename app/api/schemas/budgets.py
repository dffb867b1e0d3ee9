"""Budgets of tables, and the ledger of what their releases spend."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from app.api.schemas.common import Answer, GuaranteeHypothesis, Name, Ref
from app.api.schemas.derived import Asking, model_of
from app.services.releases import ledgers
from app.services.releases.budget_service import LIMIT_PATTERN, CreateBudget, Limits, Seen
from app.services.releases.ledgers import Ledger
from app.services.releases.within_budget import sums_told


def _as_text(value: object) -> object:
    """A number as mechanisms take it, as the decimal that it is written as."""
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


_Limit = Annotated[
    str,
    StringConstraints(max_length=80, pattern=f"^{LIMIT_PATTERN}$"),
    BeforeValidator(
        _as_text,
        json_schema_input_type=Annotated[str, Field(max_length=80, pattern=f"^{LIMIT_PATTERN}$")]
        | Annotated[float, Field(ge=0)],
    ),
]
EpsilonLimit = Annotated[
    _Limit,
    Field(description="Most ε of all releases together, above 0 and at most 1000.", examples=[2]),
]
DeltaLimit = Annotated[
    _Limit, Field(description="Most δ of all releases together, at least 0 and below 1.", examples=[0.00001])
]
Completeness = Annotated[
    list[GuaranteeHypothesis],
    Field(
        max_length=1,
        description="Whether the sums are known to be of all releases of these people: `assumed` without "
        "identifiers, and where something was given out that could not be compared.",
    ),
]
Exact = Annotated[str, Field(max_length=200, examples=["0.5"])]


class NewBudget(Asking[CreateBudget]):
    """Limits of what the releases of a table may spend: numbers, or decimals as text; none is rounded."""

    name: Name
    dataset: Annotated[Ref, Field(examples=["residents"])]
    """A dataset of the table. The budget is for the cells of its upload: for all datasets of them, for the
    same table if it is uploaded again, also in another file, and for other deliveries that have some of its
    people by their identifiers.
    """
    epsilon: EpsilonLimit
    delta: DeltaLimit


class NewLimits(Asking[Limits]):
    """Other limits of a budget."""

    epsilon: EpsilonLimit
    delta: DeltaLimit


class BudgetSums(Answer):
    """One number of a budget, in exact decimals."""

    limit: Annotated[Exact | None, Field(description="The most; null without a budget.")]
    spent: Annotated[Exact, Field(description="Sum over what was stored, or can be no more.")]
    reserved: Exact
    """Sum over what was begun and is not stored, and what runs are to draw."""
    remaining: Annotated[Exact | None, Field(description="What is left; null without a budget.")]


class TableBudget(Answer):
    """How the budget of a release's table stands."""

    name: Annotated[str | None, Field(max_length=100, examples=["residents-budget"])]
    """Its name, of several the one that allows least; null if there is none."""
    epsilon: Annotated[BudgetSums, Field(description="ε of all releases of the table.")]
    delta: Annotated[BudgetSums, Field(description="δ of all releases of the table.")]
    sentence: Annotated[str, Field(max_length=1000)]
    """Whether anything limits the releases of the table, and what all of them together promise."""
    hypotheses: Completeness


class Budget(Answer):
    """What all differentially private releases of a table may spend together."""

    id: Annotated[str, Field(max_length=100, description="Random public id.")]
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["residents-budget"])]
    datasets: Annotated[list[str], Field(max_length=10_000, examples=[["residents"]])]
    """The datasets of the table that are stored now."""
    epsilon: Annotated[BudgetSums, Field(description="Its ε.")]
    delta: Annotated[BudgetSums, Field(description="Its δ.")]
    created_at: Annotated[datetime, Field(description="When it was set.", examples=["2026-11-20T09:00:00Z"])]
    changed_at: Annotated[datetime, Field(examples=["2026-11-20T09:00:00Z"])]
    """When its limits were changed last."""

    @classmethod
    def of(cls, seen: Seen) -> Budget:
        """The use case's answer as a body."""
        sums = sums_told(seen.account, seen.budget.limits)
        return cls.model_validate({**vars(seen.budget), **sums, "datasets": seen.datasets})


class BudgetListing(Answer):
    """Part of a list, newest first."""

    items: Annotated[list[Budget], Field(max_length=200, description="The budgets, newest first.")]
    next_cursor: Annotated[str | None, Field(max_length=1000)]
    """Value of `cursor` for the next part; null on the last one."""


class LedgerEntry(Answer):
    """A differentially private release of the table, and what it spends."""

    release: Annotated[str | None, Field(max_length=100, examples=["residents-counted"])]
    """Its name; null if none is stored: it is deleted, begun and not stored yet, or never will be."""
    state: Annotated[Literal["reserved", "spent"], Field(examples=["spent"])]
    """`reserved`: begun and not stored, or to be drawn by a run; `spent`: stored, or begun of a dataset that
    was erased first.
    """
    epsilon: Annotated[Exact, Field(description="Its ε.")]
    delta: Annotated[Exact, Field(description="Its δ.")]
    begun_at: datetime | None
    """When it was begun; null where a run has not begun it."""


LedgerVoid: Any = model_of(ledgers.Void, "LedgerVoid")


class BudgetLedger(Answer):
    """All that was released of a table, and what it spends."""

    budget: Annotated[str | None, Field(max_length=100, examples=["residents-budget"])]
    """Name of the table's budget, of several the one that allows least; null if it has none: then nothing
    limits what its releases add up to.
    """
    budgets: Annotated[list[str], Field(max_length=10_000, examples=[["residents-budget"]])]
    """Names of all its budgets. There are several only where uploads turned out to be the same table after
    each had one: a release is to be within each of them, so the limits are the least ε and the least δ.
    """
    datasets: Annotated[list[str], Field(max_length=10_000, examples=[["residents"]])]
    """The datasets of the table that are stored now. Without one, other releases of it are not known."""
    epsilon: Annotated[BudgetSums, Field(description="ε.")]
    delta: Annotated[BudgetSums, Field(description="δ.")]
    releases: Annotated[list[LedgerEntry], Field(max_length=100_000)]
    """The differentially private releases, deleted ones too, the oldest first."""
    voided_by: Annotated[list[LedgerVoid], Field(max_length=100_000)]
    """Releases without a certified guarantee of differential privacy: beside them sums promise nothing."""
    stands: Annotated[bool, Field(examples=[True])]
    """Whether the sums promise anything: nothing voids them, and δ is below 1 and below 1 in the greatest
    number of records that is declared for any of them.
    """
    sentence: Annotated[str, Field(max_length=1000)]
    """What all of them together promise of any one person's record."""
    hypotheses: Completeness

    @classmethod
    def of(cls, ledger: Ledger) -> BudgetLedger:
        """The use case's answer as a body."""
        return cls.model_validate(
            {
                "budget": ledger.budgets[0].name if ledger.budgets else None,
                "budgets": [own.name for own in ledger.budgets],
                "datasets": ledger.datasets,
                **ledger.sums,
                "releases": ledger.releases_told,
                "voided_by": [vars(own) for own in ledger.voided_by],
                "stands": ledger.stands,
                "sentence": ledger.sentence,
                "hypotheses": [vars(ledger.completeness)],
            }
        )

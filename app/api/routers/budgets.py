"""Budgets over HTTP."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Body, Path, Response

from app.api.authentication import AnyKey, Governor
from app.api.examples.form import bodies, names
from app.api.routers.answers import COMMON, MADE, REFUSED, located, problems
from app.api.routers.collection import CreatedIn, Cursor, Limit, NamePart
from app.api.routes import PREFIX, Route
from app.api.schemas.budgets import Budget, BudgetLedger, BudgetListing, NewBudget, NewLimits
from app.api.schemas.common import Ref
from app.api.services import UseCases

_EXAMPLE: Final = "residents-budget"
_TAG: Final = "budgets"

BUDGETS: Final = bodies(
    {"name": _EXAMPLE, "dataset": "residents", "epsilon": "2", "delta": "0.00001"},
    residents_budget="all releases of the residents together",
)

router = APIRouter(prefix=f"{PREFIX}/budgets", tags=[_TAG], route_class=Route, responses=COMMON)
of_datasets = APIRouter(prefix=f"{PREFIX}/datasets", tags=[_TAG], route_class=Route, responses=COMMON)

BudgetRef = Annotated[Ref, Path(description="Id or name of the budget.", openapi_examples=names(_EXAMPLE))]


@router.post("", status_code=201, responses=MADE | problems("not-found"))
async def create_budget(
    actor: Governor,
    services: UseCases,
    response: Response,
    body: Annotated[NewBudget, Body(openapi_examples=BUDGETS)],
) -> Budget:
    """Set a budget.

    From now on no differentially private release of the table is drawn with which the ε or the δ of all of
    them would add up to more, whichever dataset of the content it is made of. What was released before
    counts; limits below that are refused with 409. A table has one budget, for good. Needs the scope
    `govern`.
    """
    seen, created = await services.budgets.create(actor, body.request())
    located(response, f"/budgets/{seen.budget.id}", created)
    return Budget.of(seen)


@router.get("")
async def list_budgets(
    actor: AnyKey,
    services: UseCases,
    created: CreatedIn,
    name: NamePart = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> BudgetListing:
    """List budgets.

    The tenant's budgets, newest first, a page at a time.
    """
    page = await services.budgets.list(actor, name=name, created=created, limit=limit, cursor=cursor)
    return BudgetListing(items=[Budget.of(own) for own in page.items], next_cursor=page.next_cursor)


@router.get("/{ref}", responses=problems("not-found"))
async def get_budget(actor: AnyKey, services: UseCases, ref: BudgetRef) -> BudgetLedger:
    """Get a budget.

    With the ledger of its table: every release with what it spends, also where nothing else is stored of the
    table any more.
    """
    return BudgetLedger.of(await services.budgets.ledger(actor, ref))


@router.post("/{ref}/limits", responses=REFUSED | problems("not-found"))
async def change_budget(
    actor: Governor,
    services: UseCases,
    ref: BudgetRef,
    body: Annotated[
        NewLimits,
        Body(
            openapi_examples={
                "more": {"summary": "a higher ε", "value": {"epsilon": "3", "delta": "0.00001"}}
            }
        ),
    ],
) -> Budget:
    """Change a budget.

    Raise or lower its limits; below what is spent or reserved is refused with 409, which says both. Needs the
    scope `govern`.
    """
    return Budget.of(await services.budgets.change(actor, ref, body.request()))


@of_datasets.get("/{ref}/budget", responses=problems("not-found"))
async def get_budget_of_dataset(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("residents"))],
) -> BudgetLedger:
    """Get the budget of a dataset.

    The ledger of the table that it was made of: what each differentially private release of the same content
    spends, what is left, and which other releases leave the sums without meaning. Without a budget nothing is
    limited, and `budget` is null.
    """
    return BudgetLedger.of(await services.budgets.ledger_of_dataset(actor, ref))

"""Use cases on budgets: set and changed, and the ledger of what the releases of a table spend of them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from app.domain.errors import Conflict, InvalidInput
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.services.datasets.tables import TableLoader
from app.services.ports import Store, UnitOfWork
from app.services.releases.budgets import Account, Budget, account_of, accounts_of
from app.services.releases.draw_subjects import Tables, tables_of
from app.services.releases.ledgers import Ledger, ledger_of, ledger_of_table
from app.services.releases.people_in_both import PeopleInBoth, names_people, people_in_both
from app.services.releases.within_budget import sums_told
from app.services.resources import ALWAYS, Actor, Kind, Page, Period, Scope, Stored, check_name, require

LIMIT_PATTERN: Final = r"[0-9]{1,4}(\.[0-9]{1,60})?([eE]-?[0-9]{1,2})?"
LARGEST_EPSILON: Final = 1000


@dataclass(frozen=True)
class Limits:
    """ε and δ as decimals in text, such as 0.5 or 1e-6, so that none is rounded."""

    epsilon: str
    delta: str

    def read(self) -> PrivacyLoss:
        """The exact numbers; InvalidInput unless 0 < ε ≤ 1000 and 0 ≤ δ < 1."""
        epsilon, delta = _exact("/epsilon", self.epsilon), _exact("/delta", self.delta)
        if not 0 < epsilon <= LARGEST_EPSILON:
            raise InvalidInput.of(
                "/epsilon", "out-of-range", f"epsilon must be above 0 and at most {LARGEST_EPSILON}."
            )
        if not 0 <= delta < 1:
            raise InvalidInput.of("/delta", "out-of-range", "delta must be at least 0 and below 1.")
        return PrivacyLoss(epsilon, delta)


@dataclass(frozen=True)
class CreateBudget(Limits):
    """A budget of the table that a dataset was made of."""

    name: str
    dataset: str


@dataclass(frozen=True)
class Seen:
    """A budget as it is shown in lists."""

    budget: Budget
    datasets: tuple[str, ...]
    account: Account


class BudgetService:
    """Budgets of a tenant's tables; setting them needs the scope govern, as further draws do."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def create(self, actor: Actor, request: CreateBudget) -> tuple[Seen, bool]:
        """Give a table a budget, or find the equal one; Conflict if it has another, or more is spent."""
        require(actor, Scope.GOVERN)
        check_name(request.name)
        limits = request.read()
        dataset, people = await self._compared(actor, request.dataset)
        async with self._store.work(actor.tenant) as work:
            subject = people.subject
            await work.draws.of_subject(subject, hold=True)
            await work.resources.described(Kind.DATASET, dataset.id)
            tables = await tables_of(work, {subject: people.subjects})
            known = await work.budgets.of_table(tables.subjects(subject))
            for existing in known:
                if (existing.name, existing.limits) == (request.name, limits):
                    return await _seen(work, existing, tables), False
            if known:
                raise Conflict(
                    f"The table has the budget {known[0].name!r}; a table has one.",
                    "Change the limits of that one.",
                    {"existing": {"kind": "budget", "name": known[0].name, "id": known[0].id}},
                )
            await _require_enough(work, tables.subjects(subject), limits)
            made = await work.budgets.add(request.name, subject, limits)
            await work.audit.record(actor.key_id, "budget.create", made.id, _noted(limits))
            seen = await _seen(work, made, tables)
            await work.commit()
        return seen, True

    async def change(self, actor: Actor, ref: str, limits: Limits) -> Seen:
        """Raise or lower the limits; Conflict with the numbers below what is spent or reserved."""
        require(actor, Scope.GOVERN)
        wanted = limits.read()
        async with self._store.work(actor.tenant) as work:
            subject = (await work.budgets.get(ref)).subject_sha256
            await work.draws.of_subject(subject, hold=True)
            before = await work.budgets.get(ref)
            tables = await tables_of(work)
            if before.limits == wanted:
                return await _seen(work, before, tables)
            await _require_enough(work, tables.subjects(subject), wanted)
            changed = await work.budgets.change(before.id, wanted)
            details = {**_noted(wanted), "before": _noted(before.limits)}
            await work.audit.record(actor.key_id, "budget.change", before.id, details)
            seen = await _seen(work, changed, tables)
            await work.commit()
        return seen

    async def list(
        self,
        actor: Actor,
        *,
        name: str | None = None,
        created: Period = ALWAYS,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Seen]:
        """Newest first."""
        async with self._store.work(actor.tenant) as work:
            page = await work.budgets.list(name=name, limit=limit, cursor=cursor, created=created)
            tables = await tables_of(work)
            of_budgets = [tables.subjects(own.subject_sha256) for own in page.items]
            accounts = await accounts_of(work, set(of_budgets))
            found = [
                Seen(own, tables.names(own.subject_sha256), accounts[table])
                for own, table in zip(page.items, of_budgets, strict=True)
            ]
        return Page(found, page.next_cursor)

    async def ledger(self, actor: Actor, ref: str) -> Ledger:
        """The ledger of a budget's table, also where nothing is stored of that any more."""
        async with self._store.work(actor.tenant) as work:
            budget, tables = await work.budgets.get(ref), await tables_of(work)
            datasets = tables.datasets(budget.subject_sha256)
            told = next((own.id for own in datasets if names_people(own)), None)
            if told is None:
                return await ledger_of_table(work, tables, budget.subject_sha256)
        return await self.ledger_of_dataset(actor, told)

    async def ledger_of_dataset(self, actor: Actor, ref: str) -> Ledger:
        """The ledger of the table that a dataset was made of; NotFound without the dataset."""
        dataset, people = await self._compared(actor, ref)
        async with self._store.work(actor.tenant) as work:
            return await ledger_of(work, dataset, people)

    async def _compared(self, actor: Actor, ref: str) -> tuple[Stored, PeopleInBoth]:
        """A dataset, and which others have some of its people."""
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.described(Kind.DATASET, ref)
        return dataset, await people_in_both(self._store, self._loader, actor.tenant, dataset, None)


async def _seen(work: UnitOfWork, budget: Budget, tables: Tables) -> Seen:
    subject = budget.subject_sha256
    return Seen(budget, tables.names(subject), await account_of(work, tables.subjects(subject)))


async def _require_enough(work: UnitOfWork, subjects: Collection[str], limits: PrivacyLoss) -> None:
    """Conflict if more is spent and reserved than the limits allow."""
    account = await account_of(work, subjects)
    if not account.held.is_within(limits):
        raise Conflict(
            "The limits are below what is spent or reserved already.",
            "Give limits that are no lower: what is spent cannot be taken back.",
            {"sums": sums_told(account, limits)},
        )


def _exact(pointer: str, text: str) -> Fraction:
    if re.fullmatch(LIMIT_PATTERN, text) is None:
        raise InvalidInput.of(
            pointer,
            "not-a-decimal",
            "A limit is a decimal number as text, of at most 4 digits before its point and 60 after it, "
            "maybe with an exponent.",
            'Write it such as "0.5" or "1e-6".',
        )
    return Fraction(text)


def _noted(limits: PrivacyLoss) -> dict[str, str]:
    return {"epsilon": decimal_text(limits.epsilon), "delta": decimal_text(limits.delta)}

"""Budgets of what may be told of a table, and the ledger of what its releases have spent.

A table is what uploads were read as: their contents are known by the hashes that draws of whole records are
counted by, and those that are the same table have one account. A draw reserves what it spends in the
transaction that begins it, and a run in the one that queues it; it is spent in the transaction that stores
the release. A draw that was begun keeps its share for good: whether it could be stored depends on what was
drawn, and is told. A run that ends before it begins to draw gives its share back. All of this follows from
what is kept of draws and runs: there is no second account that could differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from app.domain.mechanisms.privacy_loss import PrivacyLoss, composed
from app.services.releases.draws import Draw, Draws
from app.services.resources import ALWAYS, Page, Period


@dataclass(frozen=True)
class Budget:
    """What all differentially private releases of one table may spend together."""

    id: str
    name: str
    subject_sha256: str
    limits: PrivacyLoss
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True)
class QueuedDraw:
    """What a run that has not ended is to draw; ``name`` is that of its release."""

    subject_sha256: str
    question_sha256: str
    name: str
    loss: PrivacyLoss


class Budgets(Protocol):
    """The tenant's budgets. None is ever taken away."""

    async def add(self, name: str, subject_sha256: str, limits: PrivacyLoss) -> Budget:
        """Keep a budget of a table that has none; Conflict if the name is taken."""

    async def get(self, ref: str) -> Budget:
        """The budget of this id or name; NotFound otherwise."""

    async def of_table(self, subjects: Collection[str]) -> Sequence[Budget]:
        """The budgets of the contents that are one table, the oldest first.

        There are several only where contents turned out to be the same table later: each is to be kept.
        """

    async def list(
        self, *, name: str | None, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> Page[Budget]:
        """Newest first; ``name`` filters by substring."""

    async def change(self, budget_id: str, limits: PrivacyLoss) -> Budget:
        """Give a budget other limits."""

    async def queued(self, subjects: Collection[str]) -> Sequence[QueuedDraw]:
        """What runs are to draw of these contents, whether they have begun to or not."""


class _Work(Protocol):
    draws: Draws
    budgets: Budgets


State = Literal["reserved", "spent"]


@dataclass(frozen=True)
class Entry:
    """A release in the ledger.

    ``release`` is its name, None where none is stored; ``begun_at`` is None before anything is drawn.
    ``least_records`` is how many records it declares that there are, where it declares that.
    """

    release: str | None
    state: State
    loss: PrivacyLoss
    begun_at: datetime | None = None
    least_records: int | None = None


@dataclass(frozen=True)
class Account:
    """What is spent and reserved of a table, by release, the oldest first; what runs will draw comes last.

    ``unknown`` are the draws of whole records that promise nothing, or of which it is not known any more,
    begun ones among them.
    """

    entries: tuple[Entry, ...]
    unknown: tuple[Draw, ...] = ()

    def of(self, state: State) -> PrivacyLoss:
        """What is spent, or reserved."""
        return composed(own.loss for own in self.entries if own.state == state)

    @property
    def held(self) -> PrivacyLoss:
        """What is spent and reserved together."""
        return composed(own.loss for own in self.entries)


async def account_of(work: _Work, subjects: Collection[str], without: Collection[str] = ()) -> Account:
    """The account of a table, known by the subjects of its contents.

    ``without`` are questions whose runs do not count. To decide by it, take the turn at draws before.
    """
    table = tuple(subjects)
    return (await accounts_of(work, [table], without))[table]


async def accounts_of(
    work: _Work, tables: Collection[tuple[str, ...]], without: Collection[str] = ()
) -> Mapping[tuple[str, ...], Account]:
    """The accounts of several tables by their subjects; none is in two of them."""
    own = {subject: table for table in tables for subject in table}
    queued: dict[tuple[str, ...], list[QueuedDraw]] = {table: [] for table in tables}
    draws: dict[tuple[str, ...], list[Draw]] = {table: [] for table in tables}
    # Runs are read first: one that begins its draw or ends in between is seen among the draws.
    for run in await work.budgets.queued(own.keys()):
        queued[own[run.subject_sha256]].append(run)
    for draw in await work.draws.of_subject("", own.keys()):
        draws[own[draw.subject_sha256]].append(draw)
    return {table: _account(queued[table], draws[table], without) for table in tables}


def _account(queued: Sequence[QueuedDraw], draws: Sequence[Draw], without: Collection[str]) -> Account:
    answered = {own.question_sha256 for own in draws if own.is_open or own.release is not None}
    entries = [
        Entry(own.release, "reserved" if own.is_open else "spent", own.loss, own.begun_at, own.least_records)
        for own in draws
        if own.loss is not None
    ]
    waiting = {own.question_sha256: own for own in queued if own.question_sha256 not in {*answered, *without}}
    entries += [Entry(own.name, "reserved", own.loss) for own in waiting.values()]
    return Account(tuple(entries), tuple(own for own in draws if own.loss is None))

"""Budgets of what may be told of a table, and the ledger of what its releases have spent.

A table is the content of an upload, known by the hash that draws of its whole records are counted by. A draw
reserves what it spends in the transaction that begins it, and a run in the one that queues it; it is spent in
the transaction that stores the release. A draw that was begun keeps its share for good: whether it could be
stored depends on what was drawn, and is told. A run that ends before it begins to draw gives its share back.
All of this follows from what is kept of draws and runs: there is no second account that could differ.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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

    question_sha256: str
    name: str
    loss: PrivacyLoss


class Budgets(Protocol):
    """The tenant's budgets. None is ever taken away."""

    async def add(self, name: str, subject_sha256: str, limits: PrivacyLoss) -> Budget:
        """Keep a budget of a table that has none; Conflict if the name is taken."""

    async def get(self, ref: str) -> Budget:
        """The budget of this id or name; NotFound otherwise."""

    async def of_subject(self, subject_sha256: str) -> Budget | None:
        """The budget of a table, if it has one."""

    async def list(
        self, *, name: str | None, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> Page[Budget]:
        """Newest first; ``name`` filters by substring."""

    async def change(self, budget_id: str, limits: PrivacyLoss) -> Budget:
        """Give a budget other limits."""

    async def queued(self, subject_sha256: str) -> Sequence[QueuedDraw]:
        """What runs are to draw of a table, whether they have begun to or not."""


class _Work(Protocol):
    draws: Draws
    budgets: Budgets


State = Literal["reserved", "spent"]


@dataclass(frozen=True)
class Entry:
    """A release in the ledger.

    ``release`` is its name, None where none is stored; ``begun_at`` is None before anything is drawn.
    """

    release: str | None
    state: State
    loss: PrivacyLoss
    begun_at: datetime | None = None


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


async def account_of(work: _Work, subject_sha256: str, without: Collection[str] = ()) -> Account:
    """The account of a table.

    ``without`` are questions whose runs do not count. To decide by it, take the turn at draws before.
    """
    # Runs are read first: one that begins its draw or ends in between is seen among the draws.
    queued = await work.budgets.queued(subject_sha256)
    draws = await work.draws.of_subject(subject_sha256)
    answered = {own.question_sha256 for own in draws if own.is_open or own.release is not None}
    entries = [
        Entry(own.release, "reserved" if own.is_open else "spent", own.loss, own.begun_at)
        for own in draws
        if own.loss is not None
    ]
    waiting = {own.question_sha256: own for own in queued if own.question_sha256 not in {*answered, *without}}
    entries += [Entry(own.name, "reserved", own.loss) for own in waiting.values()]
    return Account(tuple(entries), tuple(own for own in draws if own.loss is None))

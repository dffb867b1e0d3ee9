"""Draws of randomised releases: counted before they are made, made of a sealed secret, and stored once.

A draw begins with a random secret, which is stored encrypted beside the count. All that the draw takes by
chance follows from the secret, so that whoever goes on after an interruption draws the same. The transaction
that stores the bytes destroys the secret: what was drawn can be read from then on, and never be drawn again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from app.domain.mechanisms.privacy_loss import PrivacyLoss
from app.services.resources import NewResource, Stored


@dataclass(frozen=True)
class Draw:
    """One draw, by hashes.

    Attributes
    ----------
    id
        That of its release.
    question_sha256
        Hash of all that was asked for.
    release
        Name of the release; None before the bytes are stored, and once the release is deleted.
    is_stored
        Whether the bytes were stored; until then they can be drawn again, and are the same.
    is_given_up
        Whether its dataset was erased before: then nothing was stored, and nothing ever will be.
    loss
        What it spends if it is differentially private; None if it is not, or that is not known any more.
    subject_sha256
        What it was drawn of.
    least_records
        How many records its release declares that there are; None if it declares none.
    dataset_id
        The dataset that it was drawn from, which may be deleted.
    beside
        Of other contents what draws are counted by that have some of its people.
    is_compared
        Whether all that had been given out by then was compared with it; if not, more may have its people.
    """

    id: str
    question_sha256: str
    begun_at: datetime
    release: str | None = None
    is_stored: bool = False
    is_given_up: bool = False
    loss: PrivacyLoss | None = None
    subject_sha256: str = ""
    least_records: int | None = None
    dataset_id: str = ""
    beside: frozenset[str] = frozenset()
    is_compared: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it was begun and can still be gone on with."""
        return not self.is_stored and not self.is_given_up


@dataclass(frozen=True)
class DrawState:
    """How a draw stands among all that count with it.

    Attributes
    ----------
    number
        1 for the first.
    total
        How many there are by now, withdrawn and deleted ones too.
    withdrawn_at
        When its release was withdrawn; None if it is not.
    is_compared
        Whether it is known of all other draws, earlier and later ones, that none of its people are in them.
    """

    number: int
    total: int
    withdrawn_at: datetime | None
    is_compared: bool = False


class Draws(Protocol):
    """The tenant's draws. None is ever taken out of the count."""

    async def of_subject(
        self, subject_sha256: str, beside: Collection[str] = (), *, hold: bool = False
    ) -> Sequence[Draw]:
        """All draws of the subject, and of those ``beside`` that count with it, the oldest first.

        With ``hold``, for which nothing may have been changed by this work before, nobody else begins one or
        deletes what it would be drawn of until this work ends.
        """

    async def all(self) -> Sequence[Draw]:
        """All draws of the tenant, the oldest first."""

    async def of_release(self, release_id: str, beside: Collection[str] = ()) -> Sequence[Draw]:
        """All draws of the subject of the release, and of those beside, the oldest first."""

    async def begin(
        self,
        subject_sha256: str,
        question_sha256: str,
        dataset_id: str,
        loss: PrivacyLoss | None = None,
        least_records: int | None = None,
        *,
        beside: Collection[str] = (),
        is_compared: bool = False,
    ) -> Draw:
        """Count a draw and seal its secret; to be committed before anything is drawn.

        ``beside`` and ``is_compared`` are as of :class:`Draw`.
        """

    async def keep_counted(self, release: Stored, subject_sha256: str) -> None:
        """Count a release that shows records as they are like a draw of these, for it is being deleted."""

    async def secret(self, draw_id: str) -> bytes:
        """The 32 secret bytes of a draw that was begun and committed.

        NotFound once the bytes are stored, or if the dataset was erased.
        """

    async def store(self, draw_id: str, new: NewResource, payload: bytes) -> tuple[Stored, bool]:
        """Store the release with its bytes and destroy the secret, all in this work's transaction.

        The stored one and False if somebody else was first; NotFound if the release or its dataset was erased
        meanwhile, Conflict if the name is taken, QuotaExceeded if the tenant has too many bytes.
        """

    def read(self, release_id: str) -> AsyncIterator[bytes]:
        """The stored bytes in pieces; NotFound if there are none."""

    async def withdraw(self, release_id: str) -> datetime | None:
        """Note that a release is withdrawn; since when, None if nothing was drawn for it."""

    async def withdrawn(self, question_sha256: str, known_at: datetime) -> datetime | None:
        """When the release was withdrawn that was drawn last for the question before a moment.

        None if it was not. The release may be deleted by now.
        """

    async def states(
        self, release_ids: Collection[str], beside: Mapping[str, Collection[str]] = MappingProxyType({})
    ) -> Mapping[str, DrawState]:
        """How those of the releases stand that something was drawn for.

        ``beside`` are by release the other subjects whose draws count with its own.
        """

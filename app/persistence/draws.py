"""Draws of randomised releases in PostgreSQL, what was drawn under a key of its own each."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, func, insert, select, true, update

from app.domain.errors import Conflict, NotFound
from app.domain.mechanisms.privacy_loss import PrivacyLoss, as_decimal
from app.persistence.encryption import new_data_key, place, seal, unseal
from app.persistence.repository import Context, Repository
from app.persistence.resources import PostgresResources, new_id
from app.persistence.tables import data_keys, draws, release_pieces, resources
from app.persistence.tenant_settings import PostgresOwnTenant
from app.persistence.transactions import off_loop
from app.services.releases.draws import Draw, DrawState
from app.services.resources import Kind, NewResource, Stored

PIECE_BYTES: Final = 4 * 1024**2
SECRET_BYTES: Final = 32


class PostgresDraws(Repository):
    """Implements the port ``Draws``."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._resources = PostgresResources(context)
        self._owner = PostgresOwnTenant(context)

    async def of_subject(
        self, subject_sha256: str, beside: Collection[str] = (), *, hold: bool = False
    ) -> Sequence[Draw]:
        """All draws of the subject and of those beside, the oldest first; see the port."""
        if hold:
            await self._transaction.take_turn_at_draws()
        return await self._where(draws.c.subject_sha256.in_((subject_sha256, *beside)))

    async def all(self) -> Sequence[Draw]:
        """All draws of the tenant, the oldest first."""
        return await self._where(true())

    async def of_release(self, release_id: str, beside: Collection[str] = ()) -> Sequence[Draw]:
        """All draws of the subject of the release and of those beside, the oldest first."""
        drawn = draws.alias("drawn").c
        subject = select(drawn.subject_sha256).where(drawn.id == release_id).scalar_subquery()
        own = draws.c.subject_sha256
        return await self._where((own == subject) | own.in_(beside))

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
        """Count a draw, and seal its secret under the key that its bytes will have."""
        draw = Draw(
            new_id(), question_sha256, self._clock(), loss=loss, subject_sha256=subject_sha256,
            least_records=least_records, dataset_id=dataset_id, beside=frozenset(beside),
            is_compared=is_compared,
        )  # fmt: skip
        key, tenant = new_data_key(), self._transaction.tenant
        await self._transaction.execute(
            insert(data_keys).values(
                tenant_id=tenant, id=draw.id, purpose="release",
                wrapped_key=self._master_key.wrap(key, tenant, draw.id), master_key_id=self._master_key.id,
            )
        )  # fmt: skip
        await self._transaction.execute(
            insert(draws).values(
                tenant_id=tenant, id=draw.id, subject_sha256=subject_sha256, question_sha256=question_sha256,
                dataset_id=dataset_id, begun_at=draw.begun_at,
                least_records=least_records, beside=sorted(beside), is_compared=is_compared,
                **loss_columns(loss),
                sealed=seal(key, secrets.token_bytes(SECRET_BYTES), place(tenant, "draw", draw.id)),
            )
        )  # fmt: skip
        return draw

    async def keep_counted(self, release: Stored, subject_sha256: str) -> None:
        """Count a release without a secret, like a draw whose bytes were stored; see the port."""
        await self._transaction.execute(
            insert(draws).values(
                tenant_id=self._transaction.tenant, id=release.id, subject_sha256=subject_sha256,
                question_sha256=release.sha256, dataset_id=release.uses[0], begun_at=release.created_at,
            )
        )  # fmt: skip

    async def secret(self, draw_id: str) -> bytes:
        """The secret of a draw whose bytes are not stored yet; see the port."""
        sealed = (await self._transaction.execute(_sealed(draw_id))).scalar_one_or_none()
        if sealed is None:
            raise NotFound("draw", draw_id)
        key = await self._vault.data_key(draw_id)
        return unseal(key, sealed, place(self._transaction.tenant, "draw", draw_id))

    async def store(self, draw_id: str, new: NewResource, payload: bytes) -> tuple[Stored, bool]:
        """Store the release and its bytes and destroy the secret; see the port."""
        sealed = (await self._transaction.execute(_sealed(draw_id).with_for_update())).scalar_one_or_none()
        if sealed is None:
            return await self._resources.get(Kind.RELEASE, draw_id), False
        stored, created = await self._resources.add_with_id(draw_id, new)
        if not created:
            raise Conflict(f"The release {new.name!r} was stored meanwhile.", "Choose another name.")
        await self._write(draw_id, payload)
        await self._transaction.execute(update(draws).where(draws.c.id == draw_id).values(sealed=None))
        # How many bytes they are follows from what was drawn.
        await self._owner.admit("stored_bytes", tells_needed=False)
        return stored, True

    async def read(self, release_id: str) -> AsyncIterator[bytes]:
        """Decrypted pieces in order."""
        key = await self._vault.data_key(release_id)
        number = 0
        while True:
            query = select(release_pieces.c.payload).where(
                release_pieces.c.release_id == release_id, release_pieces.c.number == number
            )
            sealed = (await self._transaction.execute(query)).scalar_one_or_none()
            if sealed is None:
                return
            where = place(self._transaction.tenant, "release piece", release_id, number)
            yield await off_loop(len(sealed), lambda s=sealed, w=where: unseal(key, s, w))  # type: ignore[misc]
            number += 1

    async def withdraw(self, release_id: str) -> datetime | None:
        """Note when it was withdrawn, unless it was before."""
        statement = (
            update(draws)
            .where(draws.c.id == release_id, draws.c.sealed.is_(None))
            .values(withdrawn_at=func.coalesce(draws.c.withdrawn_at, self._clock()))
            .returning(draws.c.withdrawn_at)
        )
        found: datetime | None = (await self._transaction.execute(statement)).scalar_one_or_none()
        return found

    async def withdrawn(self, question_sha256: str, known_at: datetime) -> datetime | None:
        """When the last draw for the question by a moment was withdrawn; see the port."""
        # The clocks of two processes may differ, so that an only draw may seem to be of later.
        query = (
            select(draws.c.withdrawn_at)
            .where(draws.c.question_sha256 == question_sha256)
            .order_by(draws.c.begun_at > known_at, draws.c.serial.desc())
            .limit(1)
        )
        found: datetime | None = (await self._transaction.execute(query)).scalar_one_or_none()
        return found

    async def states(
        self, release_ids: Collection[str], beside: Mapping[str, Collection[str]] = MappingProxyType({})
    ) -> Mapping[str, DrawState]:
        """How those of the releases stand that something was drawn for; see the port."""
        own = draws.c
        query = select(own.id, own.withdrawn_at, own.subject_sha256, own.serial, own.is_compared)
        found = (await self._transaction.execute(query.where(own.id.in_(release_ids)))).all()
        subjects = {row.id: {row.subject_sha256, *beside.get(row.id, ())} for row in found}
        counted = {subject for some in subjects.values() for subject in some}
        of_all = select(own.subject_sha256, own.serial, own.is_compared).where(
            own.subject_sha256.in_(counted) | ~own.is_compared
        )
        others = (await self._transaction.execute(of_all)).all()
        return {row.id: _state(row, others, subjects[row.id]) for row in found}

    async def _where(self, condition: ColumnElement[bool]) -> Sequence[Draw]:
        own, release = draws.c, resources.c
        joined = draws.outerjoin(resources, (release.tenant_id == own.tenant_id) & (release.id == own.id))
        is_stored = (own.sealed.is_(None) & own.given_up_at.is_(None)).label("is_stored")
        is_given_up = own.given_up_at.is_not(None).label("is_given_up")
        whole = (own.id, own.subject_sha256, own.question_sha256, own.begun_at, own.dataset_id)
        people = (own.beside, own.is_compared)
        spent = (own.epsilon, own.delta, own.least_records)
        query = (
            select(*whole, *spent, *people, release.name, is_stored, is_given_up)
            .select_from(joined)
            .where(condition)
            .order_by(own.serial)
        )
        return [
            Draw(
                row.id, row.question_sha256, row.begun_at, row.name, row.is_stored, row.is_given_up,
                loss_of_row(row), row.subject_sha256, row.least_records, row.dataset_id,
                frozenset(row.beside), row.is_compared,
            )
            for row in await self._transaction.execute(query)
        ]  # fmt: skip

    async def _write(self, release_id: str, payload: bytes) -> None:
        key, tenant = await self._vault.data_key(release_id), self._transaction.tenant
        for number, start in enumerate(range(0, len(payload), PIECE_BYTES)):
            piece = payload[start : start + PIECE_BYTES]
            where = place(tenant, "release piece", release_id, number)
            sealed = await off_loop(len(piece), lambda p=piece, w=where: seal(key, p, w))  # type: ignore[misc]
            await self._transaction.execute(
                insert(release_pieces).values(
                    tenant_id=tenant, release_id=release_id, number=number, payload=sealed
                )
            )


def loss_columns(loss: PrivacyLoss | None) -> dict[str, Decimal | None]:
    """The columns that hold exact ε and δ; null for none."""
    if loss is None:
        return {"epsilon": None, "delta": None}
    return {"epsilon": as_decimal(loss.epsilon), "delta": as_decimal(loss.delta)}


def loss_of_row(row: Row[Any]) -> PrivacyLoss | None:
    """What these columns of a row hold."""
    return None if row.epsilon is None else PrivacyLoss(Fraction(row.epsilon), Fraction(row.delta))


def _state(row: Row[Any], others: Sequence[Row[Any]], subjects: Collection[str]) -> DrawState:
    """How a draw stands among those of some subjects; ``others`` are these and all that are not compared."""
    counted = [own.serial for own in others if own.subject_sha256 in subjects]
    number = sum(serial <= row.serial for serial in counted)
    # What came before it was compared with it then.
    later = [own for own in others if own.serial > row.serial and own.subject_sha256 not in subjects]
    is_compared = row.is_compared and all(own.is_compared for own in later)
    return DrawState(number, len(counted), row.withdrawn_at, is_compared)


def _sealed(draw_id: str) -> Select[Any]:
    return select(draws.c.sealed).where(draws.c.id == draw_id)

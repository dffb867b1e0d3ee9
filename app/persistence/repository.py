"""What the repositories of one unit of work share: transaction, vault, clock, and lists page by page."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Select, func

from app.domain.errors import InvalidInput, Unavailable
from app.persistence.encryption import MasterKey, place, seal, unseal
from app.persistence.transactions import TenantTransaction, Vault
from app.services.access.tenant_settings import TenantSettings
from app.services.ports import Clock
from app.services.resources import Period


class Cursors:
    """Makes and reads cursors: the last serial number seen, sealed, so that nobody reads or forges it.

    A cursor is good for the same tenant, list and filters only.
    """

    def __init__(self, master_key: MasterKey) -> None:
        self._master_key = master_key

    @cached_property
    def _key(self) -> bytes:
        return self._master_key.derive("list cursors")

    def make(self, serial: int, *listing: str) -> str:
        """The cursor after the row with this serial number."""
        sealed = seal(self._key, json.dumps(serial).encode(), place(*listing))
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def read(self, cursor: str, *listing: str) -> int:
        """The serial number; InvalidInput if the cursor is not one of this list's."""
        try:
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            serial: int = json.loads(unseal(self._key, sealed, place(*listing)))
        except (binascii.Error, ValueError, Unavailable):
            raise InvalidInput.of(
                "/cursor",
                "invalid-cursor",
                "The cursor does not belong to this list with these filters.",
                "Take next_cursor from the page before, or leave it out to begin at the first page.",
            ) from None
        return serial


@dataclass(frozen=True)
class Context:
    """One unit of work: its transaction, what it reads and writes with, and the settings by default."""

    transaction: TenantTransaction
    master_key: MasterKey
    vault: Vault
    cursors: Cursors
    clock: Clock
    defaults: TenantSettings


class Repository:
    """Rows of one tenant within a unit of work; it keeps nothing itself."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._transaction = context.transaction
        self._master_key = context.master_key
        self._vault = context.vault
        self._clock = context.clock

    async def _page(
        self,
        query: Select[Any],
        number: ColumnElement[int],
        at: ColumnElement[Any],
        created: Period,
        limit: int,
        cursor: str | None,
        *listing: str,
    ) -> tuple[Sequence[Any], str | None]:
        """Rows whose time ``at`` is in the period, the greatest ``number`` first, and the next cursor.

        ``listing`` names the list and its filters.
        """
        bounds = (created.since, created.until)
        spelt = "/".join("" if bound is None else bound.isoformat() for bound in bounds)
        whole = (self._transaction.tenant, *listing, spelt)
        if created.since is not None:
            query = query.where(at >= created.since)
        if created.until is not None:
            query = query.where(at < created.until)
        if cursor:
            query = query.where(number < self._context.cursors.read(cursor, *whole))
        query = query.add_columns(number.label("list_number")).order_by(number.desc()).limit(limit + 1)
        rows = (await self._transaction.execute(query)).all()
        more = len(rows) > limit
        following = self._context.cursors.make(rows[limit - 1].list_number, *whole) if more else None
        return rows[:limit], following


def contains(column: ColumnElement[str], part: str) -> ColumnElement[bool]:
    """Whether a text holds another, in whatever case."""
    return func.strpos(func.lower(column), part.lower()) > 0

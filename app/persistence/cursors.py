"""Cursors of lists: the last serial number seen, sealed so that they are opaque and cannot be forged."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from sqlalchemy import ColumnElement, Select

from app.domain.errors import InvalidInput, Unavailable
from app.persistence.encryption import MasterKey, place, seal, unseal
from app.services.resources import Period


class Cursors:
    """Makes and reads cursors; one is good for the same tenant, list and filters only."""

    def __init__(self, master_key: MasterKey) -> None:
        self._key = master_key.derive("list cursors")

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


def in_period(query: Select[Any], column: ColumnElement[Any], period: Period) -> Select[Any]:
    """The query for rows of that period only."""
    if period.since is not None:
        query = query.where(column >= period.since)
    if period.until is not None:
        query = query.where(column < period.until)
    return query


def spelt(period: Period) -> str:
    """The period as a part of what a cursor is good for."""
    return "/".join("" if bound is None else bound.isoformat() for bound in (period.since, period.until))

"""The sessions of the pages that have begun and not ended, by the hash of their id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from app.persistence.transactions import database_errors
from app.services.ports import Clock


class PostgresPageSessions:
    """Implements the port ``LiveSessions`` on an engine of the runtime role; every process sees the same."""

    def __init__(self, engine: AsyncEngine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    async def begin(self, key_prefix: str, session_id: str, ends: datetime) -> None:
        """Note a session of the API key with this prefix; those that are over by now are forgotten."""
        await self._call(
            "SELECT lookup_begin_page_session(:prefix, :id, :at, :ends)",
            {"prefix": key_prefix, "id": _hashed(session_id), "at": self._clock(), "ends": ends},
        )

    async def is_live(self, session_id: str) -> bool:
        """Whether the session has begun and not ended."""
        found = await self._call(
            "SELECT lookup_page_session(:id, :at)", {"id": _hashed(session_id), "at": self._clock()}
        )
        return bool(found)

    async def end(self, session_id: str) -> None:
        """End the session; a second time changes nothing."""
        await self._call("SELECT lookup_end_page_session(:id)", {"id": _hashed(session_id)})

    async def _call(self, statement: str, parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401 - one value
        async with database_errors(), self._engine.begin() as connection:
            return (await connection.execute(text(statement), parameters)).scalar_one()


def _hashed(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode()).digest()

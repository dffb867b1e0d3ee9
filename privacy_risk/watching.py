"""What happened: messages to other services, and the trail of who did what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from privacy_risk.answers import items_in
from privacy_risk.calls import Calls, call, stream
from privacy_risk.periods import period
from privacy_risk.pools import Pool
from privacy_risk.values import Json


class Webhooks(Calls[Pool]):
    """Addresses that are told of verdicts and of runs that have ended."""

    @call
    async def create(self, body: Json) -> Json:
        """A new webhook; its ``secret`` is shown this once."""
        return await self._connection.post(self._path, body)

    @call
    async def all(self) -> Sequence[Json]:
        """All webhooks."""
        return items_in(await self._connection.get_json(self._path))

    @call
    async def get(self, ref: str) -> Json:
        """The webhook."""
        return await self._connection.get_json(f"{self._path}/{ref}")

    @call
    async def test(self, ref: str) -> Json:
        """Send a message that tells of nothing; how it is delivered."""
        return await self._connection.post(f"{self._path}/{ref}/tests")

    @stream
    def deliveries(
        self, ref: str, created_after: datetime | None = None, created_before: datetime | None = None
    ) -> AsyncIterator[Json]:
        """The messages of the last 30 days, or of that time, newest first, and how each stands."""
        created = period(created_after, created_before)
        return self._connection.items(f"{self._path}/{ref}/deliveries", created)

    @call
    async def rotate_secret(self, ref: str, overlap_hours: int = 24) -> Json:
        """A new ``secret``, shown this once; messages carry the old one's signature too for so long."""
        return await self._connection.post(
            f"{self._path}/{ref}/secret-rotations", {"overlap_hours": overlap_hours}
        )

    @call
    async def delete(self, ref: str) -> None:
        """Tell it nothing more."""
        await self._connection.delete(f"{self._path}/{ref}")


class AuditEvents(Calls[Pool]):
    """Who did what, and when."""

    @stream
    def list(
        self,
        action: str | None = None,
        subject: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncIterator[Json]:
        """The events of that time, newest first, asked for page by page as they are needed.

        ``action`` picks those whose action begins so, ``subject`` those on the resource of this id.
        """
        created = period(created_after, created_before)
        return self._connection.items(self._path, {"action": action, "subject": subject, **created})

    @call
    async def verify(self) -> Json:
        """Whether the chain of hashes over the events is unbroken."""
        return await self._connection.get_json(f"{self._path}/verification")

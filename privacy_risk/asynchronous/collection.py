"""What all kinds of named resource have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from privacy_risk.answers import cursor_in, items_in
from privacy_risk.asynchronous.connection import VERSION, AsyncConnection, Parameters
from privacy_risk.periods import period
from privacy_risk.values import Json, Resource, ResourcePage, Run


class AsyncReadable:
    """Get and list resources of one kind; a ``ref`` is an id or a name."""

    def __init__(self, connection: AsyncConnection, path: str) -> None:
        self._connection = connection
        self._path = VERSION + path

    async def get(self, ref: str) -> Resource:
        """The resource."""
        return Resource.from_document(await self._connection.get_json(f"{self._path}/{ref}"))

    async def page(
        self,
        limit: int | None = None,
        cursor: str | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> ResourcePage:
        """Part of the list, newest first; ``name`` filters by part of the name.

        Only what was created from ``created_after`` on, up to but without ``created_before``.
        """
        created = period(created_after, created_before)
        return await self._page(self._path, {"limit": limit, "cursor": cursor, "name": name, **created})

    async def list(
        self,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncIterator[Resource]:
        """All resources of that name and time, newest first, asked for page by page as they are needed."""
        created = period(created_after, created_before)
        async for item in self._connection.items(self._path, {"name": name, **created}):
            yield Resource.from_document(item)

    async def _page(self, path: str, parameters: Parameters) -> ResourcePage:
        document = await self._connection.get_json(path, parameters)
        items = tuple(Resource.from_document(item) for item in items_in(document))
        return ResourcePage(items, cursor_in(document))

    async def _stream(self, path: str, parameters: Parameters) -> AsyncIterator[bytes]:
        async with self._connection.stream(path, parameters) as response:
            async for chunk in response.aiter_bytes():
                yield chunk

    async def _content(self, path: str, parameters: Parameters) -> bytes:
        return b"".join([chunk async for chunk in self._stream(path, parameters)])


class AsyncDeletable(AsyncReadable):
    """Resources that the service makes, to be read and deleted."""

    async def delete(self, ref: str) -> None:
        """Delete the resource; refused while others use it."""
        await self._connection.delete(f"{self._path}/{ref}")


class AsyncCollection(AsyncDeletable):
    """Create, list, get and delete resources of one kind."""

    async def create(self, body: Json) -> Resource:
        """Create the resource, or get the identical one that exists."""
        return Resource.from_document(await self._connection.post(self._path, body))


class AsyncAnswered(AsyncCollection):
    """Questions that are answered directly or, above the direct budget, by a run."""

    async def start_run(self, body: Json) -> Run:
        """Answer in the background, as work above the direct budget must be."""
        return Run.from_document(await self._connection.post(f"{self._path}/runs", body))

    async def plan(self, body: Json) -> Json:
        """What it would take to answer: cost, route and missing inputs; nothing is computed or stored."""
        return await self._connection.post(self._path, body, {"dry_run": True})


class AsyncSearched(AsyncDeletable):
    """Questions that always take a run."""

    async def start_run(self, body: Json) -> Run:
        """Ask; the run's result holds the answer."""
        return Run.from_document(await self._connection.post(self._path, body))

    async def plan(self, body: Json) -> Json:
        """What it would take to answer: cost, route and missing inputs; nothing is computed or stored."""
        return await self._connection.post(self._path, body, {"dry_run": True})

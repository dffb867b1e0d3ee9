"""What all kinds of named resource have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from privacy_risk.answers import cursor_in, items_in
from privacy_risk.calls import Calls, call, stream
from privacy_risk.connection import Parameters, in_background, waiting
from privacy_risk.periods import period
from privacy_risk.pools import Pool
from privacy_risk.runs import OnProgress, answered
from privacy_risk.values import Json, Resource, ResourcePage, Run


class Readable(Calls[Pool]):
    """Get and list resources of one kind; a ``ref`` is an id or a name."""

    @call
    async def get(self, ref: str) -> Resource:
        """The resource."""
        return Resource.from_document(await self._connection.get_json(f"{self._path}/{ref}"))

    @call
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

    @stream
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


class Deletable(Readable[Pool]):
    """Resources that the service makes, to be read and deleted."""

    @call
    async def delete(self, ref: str, with_dependents: bool = False) -> None:
        """Delete the resource; refused while others use it, unless these are to be deleted with it."""
        await self._connection.delete(f"{self._path}/{ref}", {"with_dependents": with_dependents or None})

    @call
    async def dependents(self, ref: str) -> Sequence[Json]:
        """What a deletion with dependents would delete, in its order; nothing is deleted."""
        parameters = {"with_dependents": True, "dry_run": True}
        return items_in(await self._connection.delete(f"{self._path}/{ref}", parameters))


class Evidenced(Readable[Pool]):
    """Resources that there is signed evidence of."""

    @call
    async def evidence(self, ref: str) -> bytes:
        """The signed evidence: a DSSE envelope, to be kept byte by byte."""
        return await self._connection.content(f"{self._path}/{ref}/evidence")

    @call
    async def report(self, ref: str) -> str:
        """The evidence as an HTML page to read or print."""
        return (await self._connection.get(f"{self._path}/{ref}/report")).text


class Collection(Deletable[Pool]):
    """Create, list, get and delete resources of one kind."""

    @call
    async def create(self, body: Json) -> Resource:
        """Create the resource, or get the identical one that exists."""
        return Resource.from_document(await self._connection.post(self._path, body))


class Defined(Collection[Pool]):
    """Resources whose definition may be read again."""

    @call
    async def definition(self, ref: str) -> Json:
        """What was configured when the resource was made."""
        return await self._connection.get_json(f"{self._path}/{ref}/definition")


class Answered(Collection[Pool]):
    """Questions that are answered at once or, if they are large, by a run."""

    @call
    async def create(self, body: Json, wait_seconds: int = 0) -> Resource:
        """Ask, or get the identical question: with its result or, being large, the ``run`` that works on it.

        Such a run is waited for up to ``wait_seconds``.
        """
        headers = waiting(wait_seconds)
        return Resource.from_document(await self._connection.post(self._path, body, headers=headers))

    @call
    async def answer(self, body: Json, on_progress: OnProgress | None = None) -> Resource:
        """Ask, and wait for the result however long it takes; RunFailed if the run comes to nothing."""
        asked = await Answered.create(self, body)
        return await answered(self._connection, self._path, asked, on_progress)

    @call
    async def start_run(self, body: Json, wait_seconds: int = 0) -> Run:
        """Answer in the background, however small the work is.

        As soon as the run has ended, then with its ``result``, or after ``wait_seconds``.
        """
        headers = waiting(wait_seconds)
        return Run.from_document(await self._connection.post(f"{self._path}/runs", body, headers=headers))

    @call
    async def plan(self, body: Json) -> Json:
        """What it would take to answer: cost, route and missing inputs; nothing is computed or stored."""
        return await self._connection.post(f"{self._path}/plans", body)


class Searched(Deletable[Pool]):
    """Questions that always take a run."""

    @call
    async def start_run(self, body: Json, wait_seconds: int = 0) -> Run:
        """Ask; the run's result holds the answer.

        As soon as the run has ended, then with its ``result``, or after ``wait_seconds``. For who waits the
        service does small work at once.
        """
        headers = in_background(wait_seconds)
        return Run.from_document(await self._connection.post(self._path, body, headers=headers))

    @call
    async def plan(self, body: Json) -> Json:
        """What it would take to answer: cost, route and missing inputs; nothing is computed or stored."""
        return await self._connection.post(f"{self._path}/plans", body)

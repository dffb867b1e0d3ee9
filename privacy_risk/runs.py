"""Runs: work in the background, followed to its end."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime

import httpx

from privacy_risk.answers import cursor_in, items_in
from privacy_risk.calls import Calls, call, stream
from privacy_risk.connection import Connection, waiting
from privacy_risk.events import EventParser
from privacy_risk.periods import period
from privacy_risk.pools import Pool
from privacy_risk.problems import RunFailed
from privacy_risk.values import Json, Progress, Resource, Run, RunEvent, RunPage

OnProgress = Callable[[Progress], None]


class Runs(Calls[Pool]):
    """Executions of optimisations and other large work."""

    @call
    async def get(self, run_id: str, wait_seconds: int = 0) -> Run:
        """The run, as soon as it is final or after ``wait_seconds``."""
        document = await self._connection.get_json(f"{self._path}/{run_id}", headers=waiting(wait_seconds))
        return Run.from_document(document)

    @call
    async def page(
        self,
        limit: int | None = None,
        cursor: str | None = None,
        state: str | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> RunPage:
        """Part of the list, newest first; ``state`` picks the runs that are in it.

        ``name`` filters by part of the name of what they work on. Only runs asked for from ``created_after``
        on, up to but without ``created_before``.
        """
        created = period(created_after, created_before)
        parameters = {"limit": limit, "cursor": cursor, "state": state, "name": name, **created}
        document = await self._connection.get_json(self._path, parameters)
        items = tuple(Run.from_document(item) for item in items_in(document))
        return RunPage(items, cursor_in(document))

    @stream
    async def list(
        self,
        state: str | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncIterator[Run]:
        """All runs of that state, name and time, newest first, asked for page by page as they are needed."""
        created = period(created_after, created_before)
        async for item in self._connection.items(self._path, {"state": state, "name": name, **created}):
            yield Run.from_document(item)

    @call
    async def stop(self, run_id: str) -> Run:
        """Ask for the best so far; the run then soon succeeds with it."""
        return Run.from_document(await self._connection.post(f"{self._path}/{run_id}/stop"))

    @call
    async def cancel(self, run_id: str) -> Run:
        """Ask for its end without a result."""
        return Run.from_document(await self._connection.post(f"{self._path}/{run_id}/cancel"))

    @call
    async def result(self, run_id: str) -> Json:
        """What a succeeded run found."""
        return await self._connection.get_json(f"{self._path}/{run_id}/result")

    @call
    async def map(self, run_id: str) -> Json:
        """Risk and utility of the rules that an optimisation looked at."""
        return await self._connection.get_json(f"{self._path}/{run_id}/map")

    @stream
    async def events(self, run_id: str, after: str | None = None) -> AsyncIterator[RunEvent]:
        """The run's events as they happen, from the one after ``after``; ends when the connection does."""
        headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": after})
        parser = EventParser()
        async for line in self._connection.lines(f"{self._path}/{run_id}/events", headers):
            event = parser.take(line)
            if event is not None:
                yield event

    @call
    async def wait(self, run_id: str, on_progress: OnProgress | None = None) -> Run:
        """Wait for the run's end, reporting progress on the way; RunFailed unless it has succeeded.

        Connects again if the stream of events breaks off; a service that stays away ends the wait with
        httpx.TransportError.
        """
        last: str | None = None
        while True:
            # A stream that breaks off says nothing about the run; the run itself does.
            with contextlib.suppress(httpx.TransportError):
                async for event in Runs.events(self, run_id, last):
                    last = event.number
                    if on_progress is not None and event.type == "progress":
                        on_progress(Progress.from_document(event.data))
            run = await Runs.get(self, run_id, wait_seconds=1)
            if run.is_final:
                if run.state != "succeeded":
                    raise RunFailed(run)
                return run


async def answered(
    connection: Connection[Pool], path: str, asked: Resource, on_progress: OnProgress | None
) -> Resource:
    """A question with its result, once its run has ended if it has become one; ``path`` is of its kind."""
    if asked.run is None:
        return asked
    await Runs.wait(Runs(connection, "/runs"), asked.run.id, on_progress)
    return Resource.from_document(await connection.get_json(f"{path}/{asked.id}"))

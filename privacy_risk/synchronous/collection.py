# Made of asynchronous/collection.py by generate_synchronous.py: change that file, not this one.
"""What all kinds of named resource have in common."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from privacy_risk.answers import cursor_in, items_in
from privacy_risk.periods import period
from privacy_risk.synchronous.connection import VERSION, Connection, Parameters
from privacy_risk.values import Json, Resource, ResourcePage, Run


class Readable:
    """Get and list resources of one kind; a ``ref`` is an id or a name."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection = connection
        self._path = VERSION + path

    def get(self, ref: str) -> Resource:
        """The resource."""
        return Resource.from_document(self._connection.get_json(f"{self._path}/{ref}"))

    def page(
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
        return self._page(self._path, {"limit": limit, "cursor": cursor, "name": name, **created})

    def list(
        self,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Iterator[Resource]:
        """All resources of that name and time, newest first, asked for page by page as they are needed."""
        created = period(created_after, created_before)
        for item in self._connection.items(self._path, {"name": name, **created}):
            yield Resource.from_document(item)

    def _page(self, path: str, parameters: Parameters) -> ResourcePage:
        document = self._connection.get_json(path, parameters)
        items = tuple(Resource.from_document(item) for item in items_in(document))
        return ResourcePage(items, cursor_in(document))

    def _stream(self, path: str, parameters: Parameters) -> Iterator[bytes]:
        with self._connection.stream(path, parameters) as response:
            yield from response.iter_bytes()

    def _content(self, path: str, parameters: Parameters) -> bytes:
        return b"".join(list(self._stream(path, parameters)))


class Deletable(Readable):
    """Resources that the service makes, to be read and deleted."""

    def delete(self, ref: str) -> None:
        """Delete the resource; refused while others use it."""
        self._connection.delete(f"{self._path}/{ref}")


class Collection(Deletable):
    """Create, list, get and delete resources of one kind."""

    def create(self, body: Json) -> Resource:
        """Create the resource, or get the identical one that exists."""
        return Resource.from_document(self._connection.post(self._path, body))


class Answered(Collection):
    """Questions that are answered directly or, above the direct budget, by a run."""

    def start_run(self, body: Json) -> Run:
        """Answer in the background, as work above the direct budget must be."""
        return Run.from_document(self._connection.post(f"{self._path}/runs", body))

    def plan(self, body: Json) -> Json:
        """What it would take to answer: cost, route and missing inputs; nothing is computed or stored."""
        return self._connection.post(self._path, body, {"dry_run": True})


class Searched(Deletable):
    """Questions that always take a run."""

    def start_run(self, body: Json) -> Run:
        """Ask; the run's result holds the answer."""
        return Run.from_document(self._connection.post(self._path, body))

    def plan(self, body: Json) -> Json:
        """What it would take to answer: cost, route and missing inputs; nothing is computed or stored."""
        return self._connection.post(self._path, body, {"dry_run": True})

"""The kinds of resource, each with the calls that the service offers for it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import httpx

from app.client.problems import ProblemError, RunFailed, checked
from app.client.values import Progress, Resource, Run, RunEvent

Json = Mapping[str, Any]


class Collection:
    """Create, list, get and delete resources of one kind; a ``ref`` is an id or a name."""

    def __init__(self, http: httpx.Client, path: str) -> None:
        self._http = http
        self._path = path

    def create(self, body: Json) -> Resource:
        """Create the resource, or get the identical one that exists."""
        return Resource.from_document(checked(self._http.post(self._path, json=body)).json())

    def get(self, ref: str) -> Resource:
        """The resource."""
        return Resource.from_document(checked(self._http.get(f"{self._path}/{ref}")).json())

    def list(self, name: str | None = None) -> Iterator[Resource]:
        """All resources, newest first; ``name`` filters by part of the name."""
        parameters = {} if name is None else {"name": name}
        while True:
            page = checked(self._http.get(self._path, params=parameters)).json()
            yield from map(Resource.from_document, page["items"])
            if not page.get("next_cursor"):
                return
            parameters["cursor"] = page["next_cursor"]

    def delete(self, ref: str) -> None:
        """Delete the resource; refused while others use it."""
        checked(self._http.delete(f"{self._path}/{ref}"))

    def _stream(self, path: str, parameters: Mapping[str, str]) -> Iterator[bytes]:
        with self._http.stream("GET", path, params=parameters) as response:
            yield from checked(response).iter_bytes()


class Hierarchies(Collection):
    """Value generalisation hierarchies."""

    def create_from_csv(self, name: str, content: bytes, delimiter: str = ";") -> Resource:
        """Create from the common CSV form: a row per leaf, from the leaf to its most general value."""
        response = self._http.post(
            f"{self._path}/csv",
            params={"name": name, "delimiter": delimiter},
            content=content,
            headers={"Content-Type": "text/csv"},
        )
        return Resource.from_document(checked(response).json())


class Uploads(Collection):
    """Uploaded tables."""

    def create_from(
        self,
        name: str,
        content: bytes | Iterable[bytes],
        format: str = "csv",
        **dialect: str | bool | Sequence[str],
    ) -> Resource:
        """Stream a table; ``dialect``: delimiter, quote, encoding, header, trim, missing."""
        response = self._http.post(
            self._path,
            params={"name": name, "format": format, **dialect},
            content=content,
            headers={"Content-Type": "application/octet-stream"},
            timeout=None,
        )
        return Resource.from_document(checked(response).json())

    def propose_schema(self, ref: str) -> Json:
        """Types and roles that would fit the columns; nothing applies them by itself."""
        return json_object(self._http.get(f"{self._path}/{ref}/proposal"))


class Datasets(Collection):
    """Typed tables to be disclosed."""

    def preview(self, ref: str, limit: int = 10) -> Json:
        """The first rows."""
        return json_object(self._http.get(f"{self._path}/{ref}/preview", params={"limit": limit}))

    def profile(self, ref: str) -> Json:
        """Distinct, missing and unknown values of each attribute."""
        return json_object(self._http.get(f"{self._path}/{ref}/profile"))


class DictionarySets(Collection):
    """Sets of dictionaries of which the attacker has one."""

    def compare(self, dataset: str, smaller: str, larger: str) -> Json:
        """Whether a dictionary's entities are all in another one, as precisely or vaguer."""
        body = {"dataset": dataset, "smaller": smaller, "larger": larger}
        return json_object(self._http.post("/dictionary-orders", json=body))


class Assessments(Collection):
    """Scores of rules."""

    def records(self, ref: str, format: str = "csv") -> Iterator[bytes]:
        """Count, identification probability, loss and utility of every record."""
        return self._stream(f"{self._path}/{ref}/records", {"format": format})

    def start_run(self, body: Json) -> Run:
        """Score in the background, as work above the direct budget must be."""
        return Run.from_document(json_object(self._http.post(f"{self._path}/runs", json=body)))


class Measurements(Collection):
    """Measures of the catalogue, computed."""

    def start_run(self, body: Json) -> Run:
        """Compute in the background, as work above the direct budget must be."""
        return Run.from_document(json_object(self._http.post(f"{self._path}/runs", json=body)))


class Optimisations(Collection):
    """Questions for the best rule; answering one is a run."""

    def start_run(self, body: Json) -> Run:
        """Ask; the run's result holds the answer."""
        return Run.from_document(json_object(self._http.post(self._path, json=body)))


class SequentialDisclosures(Collection):
    """Records that are released one after another."""

    def append(self, ref: str, records: Sequence[Json], rule: Json, idempotency_key: str) -> Json:
        """Judge a batch and add it; the same key again adds nothing and answers the same."""
        return json_object(
            self._http.post(
                f"{self._path}/{ref}/batches",
                json={"records": list(records), "rule": rule},
                headers={"Idempotency-Key": idempotency_key},
            )
        )


class Frontiers(Collection):
    """All best compromises of risk and utility; finding them is a run."""

    def start_run(self, body: Json) -> Run:
        """Ask; the run's result holds the points."""
        return Run.from_document(json_object(self._http.post(self._path, json=body)))

    def picture(self, ref: str) -> str:
        """The points as an SVG document."""
        return checked(self._http.get(f"{self._path}/{ref}/map")).text


class Releases(Collection):
    """Disclosed tables."""

    def data(self, ref: str, format: str = "csv") -> Iterator[bytes]:
        """The released table."""
        return self._stream(f"{self._path}/{ref}/data", {"format": format})


class Runs:
    """Executions of optimisations and large assessments."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def get(self, run_id: str, wait_seconds: int = 0) -> Run:
        """The run, as soon as it is final or after ``wait_seconds``."""
        headers = {"Prefer": f"wait={wait_seconds}"} if wait_seconds else {}
        return Run.from_document(json_object(self._http.get(f"/runs/{run_id}", headers=headers)))

    def stop(self, run_id: str) -> Run:
        """Ask for the best rule so far; the run then soon succeeds with it."""
        return Run.from_document(json_object(self._http.post(f"/runs/{run_id}/stop")))

    def cancel(self, run_id: str) -> Run:
        """Ask for its end without a result."""
        return Run.from_document(json_object(self._http.post(f"/runs/{run_id}/cancel")))

    def result(self, run_id: str) -> Json:
        """What a succeeded run found."""
        return json_object(self._http.get(f"/runs/{run_id}/result"))

    def map(self, run_id: str) -> Json:
        """Risk and utility of the rules that an optimisation looked at."""
        return json_object(self._http.get(f"/runs/{run_id}/map"))

    def events(self, run_id: str, after: str | None = None) -> Iterator[RunEvent]:
        """The run's events as they happen, from the one after ``after``; ends when the connection does."""
        headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": after})
        with self._http.stream("GET", f"/runs/{run_id}/events", headers=headers, timeout=None) as response:
            yield from _parse_events(checked(response).iter_lines())

    def wait(self, run_id: str, on_progress: Callable[[Progress], None] | None = None) -> Run:
        """Wait for the run's end, reporting progress on the way; RunFailed unless it has succeeded.

        Reconnects if the stream of events breaks off.
        """
        last: str | None = None
        while True:
            # A stream that breaks off says nothing about the run; the run itself does.
            with contextlib.suppress(httpx.RemoteProtocolError):
                for event in self.events(run_id, last):
                    last = event.number
                    if on_progress is not None and event.type == "progress":
                        on_progress(Progress.from_document(event.data))
            run = self.get(run_id, wait_seconds=1)
            if run.is_final:
                if run.state != "succeeded":
                    raise RunFailed(run)
                return run


def json_object(response: httpx.Response) -> Json:
    """The JSON object of an answer; ProblemError if it is another thing."""
    document = checked(response).json()
    if not isinstance(document, dict):
        raise ProblemError({"status": response.status_code, "title": "The answer is not a JSON object"})
    return document


def _parse_events(lines: Iterable[str]) -> Iterator[RunEvent]:
    """Server-sent events: fields line by line, an empty line ends an event, a colon starts a comment."""
    number, kind, data = "", "message", list[str]()
    for line in lines:
        if not line:
            if data:
                yield RunEvent(number, kind, json.loads("\n".join(data)))
            kind, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            number = value
        elif field == "event":
            kind = value
        elif field == "data":
            data.append(value)

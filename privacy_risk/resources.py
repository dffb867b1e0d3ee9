"""The kinds of resource from the table to its release, each with the calls that the service offers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from privacy_risk.answers import text_in
from privacy_risk.bodies import Content
from privacy_risk.calls import call, stream
from privacy_risk.collection import (
    Answered,
    Collection,
    Defined,
    Deletable,
    Evidenced,
    Searched,
)
from privacy_risk.connection import VERSION, waiting
from privacy_risk.frames import frame_of, parquet_of
from privacy_risk.pools import Pool
from privacy_risk.runs import Runs
from privacy_risk.sources import ArrowStream, Source
from privacy_risk.values import Json, Resource, ResourcePage, Run

if TYPE_CHECKING:
    import pandas as pd


class Hierarchies(Defined[Pool]):
    """Value generalisation hierarchies."""

    @call
    async def create_from_csv(self, name: str, content: bytes, delimiter: str = ";") -> Resource:
        """Create from the common CSV form: a row per leaf, from the leaf to its most general value."""
        document = await self._connection.post_content(
            f"{self._path}/csv", content, "text/csv", {"name": name, "delimiter": delimiter}
        )
        return Resource.from_document(document)

    @call
    async def tree(
        self, ref: str, node: int | None = None, depth: int | None = None, limit: int | None = None
    ) -> Json:
        """Part of the tree below a node."""
        parameters = {"node": node, "depth": depth, "limit": limit}
        return await self._connection.get_json(f"{self._path}/{ref}/tree", parameters)


class Uploads(Deletable[Pool]):
    """Uploaded tables."""

    @call
    async def create_from(
        self, /, name: str, content: Content, format: str = "csv", **dialect: str | bool | Sequence[str]
    ) -> Resource:
        """Stream a table.

        ``dialect``: delimiter, quote, encoding, header, trim, missing, sheet, leading_zeros.

        Bytes and files are sent again after a failure, an iterable of pieces is sent once; AsyncClient takes
        one that is awaited, too.
        """
        document = await self._connection.post_content(
            self._path, content, "application/octet-stream", {"name": name, "format": format, **dialect}
        )
        return Resource.from_document(document)

    @call
    async def create_from_form(
        self, /, name: str, content: bytes, format: str = "csv", **dialect: str | bool | Sequence[str]
    ) -> Resource:
        """The same as a browser's form sends it."""
        document = await self._connection.post_form(
            f"{self._path}/form", content, {"name": name, "format": format, **dialect}
        )
        return Resource.from_document(document)

    @call
    async def create_from_frame(self, name: str, frame: pd.DataFrame) -> Resource:
        """Upload the columns of a pandas frame, without its index; None and NaN are missing cells.

        The service keeps texts: numbers and dates as pandas holds them, so that a column of codes such as
        ZIP codes must be one of texts in the frame already. Raises ValueError for columns without names.
        """
        return await Uploads.create_from(self, name, parquet_of(frame), "parquet")

    @call
    async def create_from_source(self, name: str, source: Source) -> Resource:
        """Stream the rows of a ``parquet_folder`` or a ``query``, one batch of them in memory at a time.

        After a failure they are read again from the beginning. InvalidArgument for what cannot be read.
        """
        return await Uploads.create_from(self, name, ArrowStream(source), "arrow")

    @call
    async def propose_schema(self, ref: str) -> Json:
        """Types and roles that would fit the columns; nothing applies them by itself."""
        return await self._connection.get_json(f"{self._path}/{ref}/proposal")

    @call
    async def one_row_per_person(self, ref: str, body: Json) -> Resource:
        """A new upload with one row per person, made of one in which they have several."""
        document = await self._connection.post(f"{self._path}/{ref}/one-row-per-person", body)
        return Resource.from_document(document)

    @call
    async def preview(self, ref: str, limit: int = 10) -> Json:
        """The first rows."""
        return await self._connection.get_json(f"{self._path}/{ref}/preview", {"limit": limit})


class Datasets(Collection[Pool]):
    """Typed tables to be disclosed."""

    @call
    async def preview(self, ref: str, limit: int = 10) -> Json:
        """The first rows."""
        return await self._connection.get_json(f"{self._path}/{ref}/preview", {"limit": limit})

    @call
    async def profile(self, ref: str, limit: int | None = None) -> Json:
        """Distinct, missing and unknown values of each attribute."""
        return await self._connection.get_json(f"{self._path}/{ref}/profile", {"limit": limit})

    @call
    async def reading(self, ref: str) -> Json:
        """How its columns and its file are read, as the schema of a policy has it."""
        return await self._connection.get_json(f"{self._path}/{ref}/reading")

    @call
    async def budget(self, ref: str) -> Json:
        """What the differentially private releases of its table spend, and what is left of the budget."""
        return await self._connection.get_json(f"{self._path}/{ref}/budget")

    @call
    async def releases(self, ref: str, limit: int | None = None, cursor: str | None = None) -> ResourcePage:
        """Part of the list of what was released of the dataset, newest first."""
        return await self._page(f"{self._path}/{ref}/releases", {"limit": limit, "cursor": cursor})

    @call
    async def tree(
        self,
        ref: str,
        attribute: str,
        *,
        node: int | None = None,
        depth: int | None = None,
        limit: int | None = None,
        sensitivity: str | None = None,
    ) -> Json:
        """Part of an attribute's hierarchy, with the records and the harm of each node."""
        parameters = {"node": node, "depth": depth, "limit": limit, "sensitivity": sensitivity}
        return await self._connection.get_json(f"{self._path}/{ref}/attributes/{attribute}/tree", parameters)


class DictionarySets(Collection[Pool]):
    """Sets of dictionaries of which the attacker has one."""

    @call
    async def compare(self, dataset: str, smaller: str, larger: str) -> Json:
        """Whether a dictionary's entities are all in another one, as precisely or vaguer."""
        body = {"dataset": dataset, "smaller": smaller, "larger": larger}
        return await self._connection.post(f"{VERSION}/dictionary-orders", body)


class Rules(Defined[Pool]):
    """Disclosure rules."""

    @call
    async def preview(self, body: Json) -> Json:
        """Some records before and after a rule."""
        return await self._connection.post(f"{VERSION}/rule-previews", body)


class Assessments(Answered[Pool], Evidenced[Pool]):
    """Scores of rules."""

    @stream
    def records(self, ref: str, format: str = "csv") -> AsyncIterator[bytes]:
        """Count, identification probability, loss and utility of every record."""
        return self._connection.pieces(f"{self._path}/{ref}/records", {"format": format})

    @call
    async def frame(self, ref: str) -> pd.DataFrame:
        """Count, identification probability, loss and utility of every record, as a pandas frame."""
        return frame_of(await self._connection.content(f"{self._path}/{ref}/records", {"format": "parquet"}))


class Frontiers(Searched[Pool]):
    """All Pareto-optimal rules of risk and utility; finding them is a run."""

    @call
    async def picture(self, ref: str) -> str:
        """The points as an SVG document."""
        return (await self._connection.get(f"{self._path}/{ref}/map")).text


class Releases(Collection[Pool]):
    """Disclosed tables."""

    @call
    async def create(self, body: Json) -> Resource:
        """Create the release, or get the identical one that exists; a draw that is a run is waited for."""
        document = await self._connection.post(self._path, body)
        if "sha256" in document:
            return Resource.from_document(document)
        run = Run.from_document(document)
        await Runs.wait(Runs(self._connection, "/runs"), run.id)
        made = text_in(await Runs.result(Runs(self._connection, "/runs"), run.id), "release")
        return await Releases.get(self, made)

    @call
    async def plan(self, body: Json) -> Json:
        """What a mechanism would make, with what stands in its way; nothing is drawn or stored."""
        return await self._connection.post(f"{self._path}/plans", body)

    @call
    async def preview(self, body: Json) -> Json:
        """What a sample would be worth on average, for who may read the data: not to be published."""
        return await self._connection.post(f"{self._path}/previews", body)

    @call
    async def start_run(self, body: Json, wait_seconds: int = 0) -> Run:
        """Have a run make what a mechanism draws, as draws above the direct budget must be.

        As soon as the run has ended, then with its ``result``, whose ``release`` is the id of the release, or
        after ``wait_seconds``.
        """
        headers = waiting(wait_seconds)
        return Run.from_document(await self._connection.post(f"{self._path}/runs", body, headers=headers))

    @call
    async def withdraw(self, ref: str) -> Resource:
        """Let the table of a release that a mechanism made be given out no more."""
        return Resource.from_document(await self._connection.post(f"{self._path}/{ref}/withdrawal"))

    @call
    async def answers(
        self, ref: str, queries: Sequence[Json], level: float = 0.95, clip: bool = False
    ) -> Json:
        """COUNT queries, ``{"where": [predicate, …]}`` each, answered from the release alone."""
        body = {"queries": tuple(queries), "level": level, "clip": clip}
        return await self._connection.post(f"{self._path}/{ref}/answers", body)

    @stream
    def data(self, ref: str, format: str = "csv") -> AsyncIterator[bytes]:
        """The released table."""
        return self._connection.pieces(f"{self._path}/{ref}/data", {"format": format})

    @call
    async def frame(self, ref: str) -> pd.DataFrame:
        """The released table as a pandas frame of texts; what is suppressed or missing is ``*``."""
        return frame_of(await self._connection.content(f"{self._path}/{ref}/data", {"format": "parquet"}))


class SequentialDisclosures(Collection[Pool]):
    """Records that are released one after another."""

    @call
    async def append(self, ref: str, records: Sequence[Json], rule: Json, idempotency_key: str) -> Json:
        """Judge a batch and add it; the same key again adds nothing and answers the same."""
        body = {"records": tuple(records), "rule": rule}
        return await self._connection.post(
            f"{self._path}/{ref}/batches", body, idempotency_key=idempotency_key
        )

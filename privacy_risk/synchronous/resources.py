# Made of asynchronous/resources.py by generate_synchronous.py: change that file, not this one.
"""The kinds of resource from the table to its release, each with the calls that the service offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from privacy_risk.bodies import Content
from privacy_risk.frames import frame_of, parquet_of
from privacy_risk.synchronous.collection import (
    Answered,
    Collection,
    Deletable,
    Searched,
)
from privacy_risk.synchronous.connection import VERSION
from privacy_risk.values import Json, Resource, ResourcePage

if TYPE_CHECKING:
    import pandas as pd


class Hierarchies(Collection):
    """Value generalisation hierarchies."""

    def create_from_csv(self, name: str, content: bytes, delimiter: str = ";") -> Resource:
        """Create from the common CSV form: a row per leaf, from the leaf to its most general value."""
        document = self._connection.post_content(
            f"{self._path}/csv", content, "text/csv", {"name": name, "delimiter": delimiter}
        )
        return Resource.from_document(document)

    def tree(
        self, ref: str, node: int | None = None, depth: int | None = None, limit: int | None = None
    ) -> Json:
        """Part of the tree below a node."""
        parameters = {"node": node, "depth": depth, "limit": limit}
        return self._connection.get_json(f"{self._path}/{ref}/tree", parameters)


class Uploads(Deletable):
    """Uploaded tables."""

    def create_from(
        self, name: str, content: Content, format: str = "csv", **dialect: str | bool | Sequence[str]
    ) -> Resource:
        """Stream a table; ``dialect``: delimiter, quote, encoding, header, trim, missing.

        Bytes and files are sent again after a failure, an iterable of pieces is sent once.
        """
        document = self._connection.post_content(
            self._path, content, "application/octet-stream", {"name": name, "format": format, **dialect}
        )
        return Resource.from_document(document)

    def create_from_form(
        self, name: str, content: bytes, format: str = "csv", **dialect: str | bool | Sequence[str]
    ) -> Resource:
        """The same as a browser's form sends it."""
        document = self._connection.post_form(
            f"{self._path}/form", content, {"name": name, "format": format, **dialect}
        )
        return Resource.from_document(document)

    def create_from_frame(self, name: str, frame: pd.DataFrame) -> Resource:
        """Upload the columns of a pandas frame, without its index; None and NaN are missing cells.

        The service keeps texts: numbers and dates as pandas holds them, so that a column of codes such as
        ZIP codes must be one of texts in the frame already. Raises ValueError for columns without names.
        """
        return self.create_from(name, parquet_of(frame), "parquet")

    def propose_schema(self, ref: str) -> Json:
        """Types and roles that would fit the columns; nothing applies them by itself."""
        return self._connection.get_json(f"{self._path}/{ref}/proposal")


class Datasets(Collection):
    """Typed tables to be disclosed."""

    def preview(self, ref: str, limit: int = 10) -> Json:
        """The first rows."""
        return self._connection.get_json(f"{self._path}/{ref}/preview", {"limit": limit})

    def profile(self, ref: str, limit: int | None = None) -> Json:
        """Distinct, missing and unknown values of each attribute."""
        return self._connection.get_json(f"{self._path}/{ref}/profile", {"limit": limit})

    def releases(self, ref: str, limit: int | None = None, cursor: str | None = None) -> ResourcePage:
        """Part of the list of what was released of the dataset, newest first."""
        return self._page(f"{self._path}/{ref}/releases", {"limit": limit, "cursor": cursor})

    def tree(
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
        return self._connection.get_json(f"{self._path}/{ref}/attributes/{attribute}/tree", parameters)


class DictionarySets(Collection):
    """Sets of dictionaries of which the attacker has one."""

    def compare(self, dataset: str, smaller: str, larger: str) -> Json:
        """Whether a dictionary's entities are all in another one, as precisely or vaguer."""
        body = {"dataset": dataset, "smaller": smaller, "larger": larger}
        return self._connection.post(f"{VERSION}/dictionary-orders", body)


class Rules(Collection):
    """Disclosure rules."""

    def preview(self, body: Json) -> Json:
        """Some records before and after a rule."""
        return self._connection.post(f"{VERSION}/rule-previews", body)


class Assessments(Answered):
    """Scores of rules."""

    def records(self, ref: str, format: str = "csv") -> Iterator[bytes]:
        """Count, identification probability, loss and utility of every record."""
        yield from self._stream(f"{self._path}/{ref}/records", {"format": format})

    def frame(self, ref: str) -> pd.DataFrame:
        """Count, identification probability, loss and utility of every record, as a pandas frame."""
        return frame_of(self._content(f"{self._path}/{ref}/records", {"format": "parquet"}))

    def evidence(self, ref: str) -> bytes:
        """The signed evidence: a DSSE envelope, to be kept byte by byte."""
        return self._content(f"{self._path}/{ref}/evidence", {})

    def report(self, ref: str) -> str:
        """The evidence as an HTML page to read or print."""
        return (self._connection.get(f"{self._path}/{ref}/report")).text


class Frontiers(Searched):
    """All Pareto-optimal rules of risk and utility; finding them is a run."""

    def picture(self, ref: str) -> str:
        """The points as an SVG document."""
        return (self._connection.get(f"{self._path}/{ref}/map")).text


class Releases(Collection):
    """Disclosed tables."""

    def data(self, ref: str, format: str = "csv") -> Iterator[bytes]:
        """The released table."""
        yield from self._stream(f"{self._path}/{ref}/data", {"format": format})

    def frame(self, ref: str) -> pd.DataFrame:
        """The released table as a pandas frame of texts; what is suppressed or missing is ``*``."""
        return frame_of(self._content(f"{self._path}/{ref}/data", {"format": "parquet"}))


class SequentialDisclosures(Collection):
    """Records that are released one after another."""

    def append(self, ref: str, records: Sequence[Json], rule: Json, idempotency_key: str) -> Json:
        """Judge a batch and add it; the same key again adds nothing and answers the same."""
        body = {"records": tuple(records), "rule": rule}
        return self._connection.post(f"{self._path}/{ref}/batches", body, idempotency_key=idempotency_key)

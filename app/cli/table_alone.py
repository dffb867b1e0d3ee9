"""What a service would answer about one small table, computed in the command's own process.

No database is made and no service is started, which takes several times as long as the measures of a small
table. What is answered here is what the interface answers: the same functions read, encode, measure, search
and write. All else, and everything that would be refused, is a service's to answer (:class:`NotHere`).
"""

from __future__ import annotations

import asyncio
import gc
import json
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import aclosing, contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import httpx

from app.domain.errors import PrivacyRiskError
from privacy_risk import Client

if TYPE_CHECKING:
    from app.domain.models.entry import Measure, MeasureContext
    from app.domain.rules.rule import Rule
    from app.domain.search.full_domain.problem import AnonymityOutcome
    from app.domain.search.least_loss import LeastLossPlan
    from app.domain.tables.table import Table
    from app.services.datasets.dataset_making import DatasetSource
    from app.services.datasets.dataset_profiles import Profile
    from app.services.datasets.ingest.dialect import Dialect
    from app.services.resources import JsonObject, Kind, NewResource, Stored

MOST_BYTES: Final = 32 * 1024**2
"""Larger files are read by a service, which keeps limits of memory and time."""
_MOST_BYTES_OF_SEARCH: Final = 1024**3
_PAUSE_SECONDS: Final = 0.2
"""Between two lines of a search's progress."""


class NotHere(Exception):
    """Raised for what a service has to answer."""


@contextmanager
def client_of_table(*, is_generalised: bool = False) -> Iterator[Client]:
    """A client that is answered in this process, and only about the table that it sends.

    Hierarchies are proposed only for a table that is generalised: looking for them takes time.
    """
    # What is loaded is never garbage, and looking through it takes a sixth of the time.
    gc.disable()
    answers = _Answers(is_generalised)
    try:
        with Client("http://this-process", "none", transport=answers) as client:
            yield client
    finally:
        answers.halted.set()
        gc.enable()


def is_small(path: Path) -> bool:
    """Whether a file is small enough to be looked at here."""
    return path.stat().st_size <= MOST_BYTES


class _Answers(httpx.BaseTransport):
    """Answers the requests of one client about one table, one after another."""

    def __init__(self, is_generalised: bool) -> None:
        self._is_generalised = is_generalised
        self.halted = threading.Event()
        self._pieces: list[bytes] = []
        self._upload: Stored | None = None
        self._hierarchies: dict[str, Stored] = {}
        self._source: DatasetSource | None = None
        self._dataset: Stored | None = None
        self._table: Table | None = None
        self._profile: Profile | None = None
        self._search: _Search | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer; NotHere where it is a service's to give."""
        # Imported here: help and wrong arguments need nothing of it.
        from pydantic import ValidationError

        word, *rest = request.url.path.removeprefix("/v1/").split("/")
        answer = self._known().get((request.method, word, *rest[0 if word == "hierarchies" else 1 :]))
        if answer is None:
            raise NotHere
        try:
            found = answer(request)
        except (PrivacyRiskError, ValidationError) as error:
            raise NotHere from error
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

    def _known(self) -> Mapping[tuple[str, ...], Callable[[httpx.Request], JsonObject | httpx.Response]]:
        return {
            ("GET", "uploads"): self._look_up,
            ("POST", "uploads"): self._read,
            ("GET", "uploads", "proposal"): self._propose,
            ("POST", "hierarchies"): self._define,
            ("POST", "hierarchies", "csv"): self._list_leaves,
            ("POST", "datasets"): self._encode,
            ("GET", "datasets"): lambda _: _shown(self._encoded()[0]),
            ("GET", "datasets", "profile"): self._counted,
            ("GET", "datasets", "reading"): self._reading,
            ("POST", "measurements"): self._measure,
            ("POST", "optimisations"): self._begin_search,
            ("GET", "runs", "events"): self._tell_progress,
            ("GET", "runs"): lambda _: self._searched().run_document(),
            ("GET", "runs", "result"): lambda _: self._searched().result(),
            ("POST", "releases"): self._release,
            ("GET", "releases", "data"): self._write,
        }

    def _look_up(self, request: httpx.Request) -> JsonObject | httpx.Response:
        return httpx.Response(404, json={}) if self._upload is None else _shown(self._upload)

    def _read(self, request: httpx.Request) -> JsonObject:
        from app.services.datasets.ingest.dialect import UploadFormat, UploadLimits, dialect_document
        from app.services.datasets.ingest.intake import Intake
        from app.services.resources import Kind

        parameters = request.url.params
        format_, dialect = UploadFormat(parameters["format"]), _dialect(parameters)
        intake = Intake(format_, dialect, UploadLimits(), hashed=False)

        async def content() -> AsyncIterator[bytes]:
            for piece in request.stream:  # type: ignore[union-attr] # of a client that does not wait
                yield piece

        async def read() -> None:
            async with aclosing(intake.pieces(content())) as pieces:
                async for piece in pieces:
                    self._pieces.append(piece.payload)

        asyncio.run(read())
        summary: dict[str, Any] = {
            "columns": intake.columns,
            "rows": intake.rows,
            "dialect": dialect_document(dialect, format_),
        }
        if intake.remarks.index is not None:
            summary["index"] = intake.remarks.index
        self._upload = _stored(Kind.UPLOAD, parameters["name"], summary)
        return _shown(self._upload)

    def _propose(self, request: httpx.Request) -> JsonObject:
        from app.services.datasets.ingest.dialect import reading_of
        from app.services.datasets.ingest.proposals import proposed_types
        from app.services.fingerprints import plain

        upload = self._sent()
        dialect = reading_of(upload.summary["dialect"])
        proposal = asyncio.run(proposed_types(self._kept, upload.summary, dialect))
        if self._is_generalised:
            from app.services.datasets.ingest.hierarchy_proposals import with_hierarchies

            is_whole = proposal.rows_in_sample == upload.summary["rows"]
            proposal = with_hierarchies(proposal, self._pieces[0], upload.name, dialect, is_whole=is_whole)
            # As it is made: what is shown of it is its document.
            attributes = tuple(replace(own, definition=None) for own in proposal.attributes)
            proposal = replace(proposal, attributes=attributes)
        document: JsonObject = plain(proposal)
        return document

    def _define(self, request: httpx.Request) -> JsonObject:
        from app.domain.hierarchies.hierarchy_definitions import (
            MADE_OF_LEAVES,
            HierarchyDefinition,
            LeafColumn,
            LeafRange,
            LeafValues,
            ParentsDefinition,
            RowsDefinition,
        )
        from app.services.datasets.hierarchy_building import build, hierarchy_resource, rows_per_leaf
        from app.services.datasets.hierarchy_transport import check_labels, labels_of
        from app.services.datasets.ingest.dialect import reading_of
        from app.services.datasets.ingest.pieces import read_piece
        from app.services.datasets.text_columns import columns_of
        from app.services.readers import reader_of

        body = json.loads(request.read())
        document, column = dict(body["definition"]), None
        kind = document.pop("kind")
        if kind in MADE_OF_LEAVES:
            values, range_, source = (document.pop(own, None) for own in ("values", "range", "upload"))
            if [values, range_, source].count(None) != 2:
                raise NotHere
            if source is not None:
                leaves = document["leaves"] = reader_of(LeafColumn).validate_python(source)
                tables = [read_piece(piece, (leaves.column,)) for piece in self._pieces]
                columns = columns_of(tables, reading_of(self._sent().summary["dialect"]))
                column = rows_per_leaf(columns[leaves.column], leaves)
            elif values is not None:
                document["leaves"] = LeafValues(tuple(values))
            else:
                document["leaves"] = reader_of(LeafRange).validate_python(range_)
        types: dict[str, type[HierarchyDefinition]] = {**MADE_OF_LEAVES}
        types |= {ParentsDefinition.kind: ParentsDefinition, RowsDefinition.kind: RowsDefinition}
        if kind not in types:
            raise NotHere
        definition = reader_of(types[kind]).validate_python(document)
        check_labels(definition, labels_of(definition, column))
        return self._defined(hierarchy_resource(body["name"], definition, build(definition, column)))

    def _list_leaves(self, request: httpx.Request) -> JsonObject:
        from app.services.datasets.hierarchy_building import csv_resource

        asked = request.url.params
        return self._defined(csv_resource(asked["name"], request.read().decode(), asked["delimiter"]))

    def _defined(self, new: NewResource) -> JsonObject:
        defined = {key: _in_order(own) for key, own in new.document.items() if key == "definition"}
        self._hierarchies[new.name] = _stored(new.kind, new.name, new.summary, {**new.document, **defined})
        return _shown(self._hierarchies[new.name])

    def _encode(self, request: httpx.Request) -> JsonObject:
        from app.services.datasets.dataset_making import (
            CreateDataset,
            DatasetSource,
            encoded_dataset,
            new_dataset,
        )
        from app.services.datasets.dataset_schema import AttributeDeclaration, DatasetStatus
        from app.services.datasets.ingest.dialect import reading_of
        from app.services.datasets.ingest.pieces import read_piece
        from app.services.datasets.text_columns import columns_of
        from app.services.readers import reader_of
        from app.services.resources import Kind

        body, upload = json.loads(request.read()), self._sent()
        known = {own.name for own in fields(AttributeDeclaration)}
        if any(not own.keys() <= known for own in body["attributes"]):
            raise NotHere
        reader = reader_of(AttributeDeclaration)
        declared = tuple(reader.validate_python(own) for own in body["attributes"])
        asked = CreateDataset(body["name"], upload.name, declared, body.get("rows_are"))
        asked, is_said = asked.of_upload(upload)
        names = tuple(asked.columns_read(upload, is_said=is_said))
        tables = [read_piece(piece, names) for piece in self._pieces]
        columns = columns_of(tables, reading_of(upload.summary["dialect"]))
        trees = {own.name: self._hierarchies[own.hierarchy] for own in declared if own.hierarchy is not None}
        self._source = DatasetSource(asked, is_said, upload, columns, trees)
        encoded, self._table, self._profile = encoded_dataset(self._source)
        new = new_dataset(self._source, encoded, self._table)
        if new.summary["status"] != DatasetStatus.READY:
            raise NotHere
        self._dataset = _stored(Kind.DATASET, new.name, new.summary)
        return _shown(self._dataset)

    def _reading(self, request: httpx.Request) -> JsonObject:
        from app.services.datasets.dataset_making import NOT_READ, reading_document

        if self._source is None:
            raise NotHere
        declared = [own for own in self._source.request.attributes if own.role not in NOT_READ]
        dialect = self._sent().summary["dialect"]
        return reading_document(declared, self._source.stored_hierarchies, dialect)

    def _counted(self, request: httpx.Request) -> JsonObject:
        if self._profile is None:
            raise NotHere
        return self._profile.shown(int(request.url.params["limit"])).to_json()

    def _measure(self, request: httpx.Request) -> JsonObject:
        from app.services.resources import Kind
        from app.services.scoring.measurement_documents import document_of_result, parameters_of

        body = json.loads(request.read())
        asked = body.pop("measure")
        measure = _measure_of(asked.pop("kind"))
        context = self._context(measured_under=body.pop("rule", None))
        if body.keys() != {"name", "dataset"}:
            raise NotHere
        parameters = parameters_of(measure, asked)
        if measure.supports(context, parameters) is not None:
            raise NotHere
        found = measure.compute(context, parameters, lambda _: None)
        result = {"result": document_of_result(measure, found)}
        return _shown(_stored(Kind.MEASUREMENT, body["name"], result))

    def _context(self, *, measured_under: object) -> MeasureContext:
        """What is measured: the table, as it is or under the rule that was found for it."""
        from app.domain.models.entry import MeasureContext
        from app.services.scoring.scoring_options import ScoringOptions

        (_, table), rule, options = self._encoded(), None, ScoringOptions()
        if measured_under is not None:
            if not isinstance(measured_under, str):
                raise NotHere
            rule = self._searched().rule()
        return MeasureContext(
            table=table,
            rule=rule,
            dictionary=None,
            sensitivity=None,
            failure=None,
            utility=options.utility.on(table),
            model=options.risk_model,
            absent_policy=options.absent_policy,
        )

    def _begin_search(self, request: httpx.Request) -> JsonObject:
        from app.domain.models.criteria import CRITERIA
        from app.domain.policies.objectives import objective_of
        from app.domain.search.full_domain.problem import AnonymityProblem, criterion_document
        from app.domain.search.least_loss import least_loss_plan
        from app.domain.search.objectives import MinLoss
        from app.services.readers import reader_of

        body, (_, table) = json.loads(request.read()), self._encoded()
        if body.keys() != {"name", "dataset", "objective"}:
            raise NotHere
        types = {own.kind: own for own in CRITERIA}
        # A document that says no version means the first one, a question the newest.
        asked = [
            criterion_document(reader_of(types[own.pop("kind")]).validate_python(own))
            for own in body["objective"]["privacy"]
        ]
        objective = objective_of({**body["objective"], "privacy": asked}, printed=False)
        if not isinstance(objective, MinLoss):
            raise NotHere
        plan = least_loss_plan(table, AnonymityProblem.of(objective, "table_level"))
        if objective.needs_population or plan.n_bytes > _MOST_BYTES_OF_SEARCH:
            raise NotHere
        gc.freeze()
        gc.enable()  # A search may take long, and leave garbage of its own.
        self._search = _Search(table, plan, self.halted)
        self._search.wait(1.0)
        return self._search.run_document()

    def _tell_progress(self, request: httpx.Request) -> httpx.Response:
        search = self._searched()

        def events() -> Iterator[bytes]:
            while not search.wait(_PAUSE_SECONDS):
                yield f"event: progress\ndata: {json.dumps(search.progress())}\n\n".encode()

        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=events())

    def _release(self, request: httpx.Request) -> JsonObject:
        from app.services.resources import Kind

        body = json.loads(request.read())
        if body.keys() != {"name", "dataset", "rule"}:
            raise NotHere
        return _shown(_stored(Kind.RELEASE, body["name"], {}))

    def _write(self, request: httpx.Request) -> httpx.Response:
        from app.services.releases.released_tables import release_of

        if request.url.params["format"] != "parquet":
            raise NotHere
        # Nobody can draw this order again; that of a service's release comes from a key of its own.
        released = release_of(self._encoded()[1], self._searched().rule()).shuffled(secrets.token_bytes(32))
        return httpx.Response(200, content=b"".join(released.parquet_chunks({})))

    def _encoded(self) -> tuple[Stored, Table]:
        if self._dataset is None or self._table is None:
            raise NotHere
        return self._dataset, self._table

    def _searched(self) -> _Search:
        if self._search is None:
            raise NotHere
        return self._search

    def _sent(self) -> Stored:
        if self._upload is None:
            raise NotHere
        return self._upload

    async def _kept(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


class _Search:
    """A search for the least loss in a thread of its own, so that its progress can be told."""

    def __init__(self, table: Table, plan: LeastLossPlan, halted: threading.Event) -> None:
        from app.domain.search.blocks import carry_out

        self._table, self._plan = table, plan
        self._done = 0
        threads = ThreadPoolExecutor(1)
        self._future: Future[AnonymityOutcome] = threads.submit(carry_out, plan, self._tick, halted.is_set)
        threads.shutdown(wait=False)

    def _tick(self, units: int) -> None:
        self._done = units

    def wait(self, seconds: float) -> bool:
        """Whether it has ended by then."""
        return bool(wait_for([self._future], seconds).done)

    def progress(self) -> JsonObject:
        """How far it is."""
        return {"stage": "searching", "done": self._done, "total": self._plan.units}

    def run_document(self) -> JsonObject:
        """The run that a service would show."""
        has_ended = self._future.done()
        shown: JsonObject = {"id": "search", "state": "succeeded" if has_ended else "running", "attempt": 1}
        return {**shown, "result": self.result()} if has_ended else shown

    def result(self) -> JsonObject:
        """What was found, as it is shown."""
        from app.services.fingerprints import plain
        from app.services.rules.rule_documents import with_rule_in_short

        return _in_order(plain(with_rule_in_short(self._found())))

    def rule(self) -> Rule:
        """The rule that was found."""
        from app.services.rules.rule_documents import rule_of

        return rule_of(self._found()["rule"], self._table)

    def _found(self) -> JsonObject:
        from app.services.searches.least_loss import result_of_anonymity

        return result_of_anonymity(self._future.result(), self._table, self._plan)


def _measure_of(kind: str) -> Measure[Any, Any]:
    """The measure of this name, if it is an analysis in a file of its own; no other is loaded."""
    try:
        measure: Measure[Any, Any] = resolve_name(f"app.domain.analyses.{kind}:{kind.upper()}")
    except (ImportError, AttributeError):
        raise NotHere from None
    return measure


def _dialect(parameters: httpx.QueryParams) -> Dialect:
    """The dialect that the address says."""
    from app.services.datasets.ingest.dialect import Dialect, check_dialect
    from app.services.readers import reader_of

    said: dict[str, Any] = {
        own.name: parameters.get_list(own.name) if own.name == "missing" else parameters[own.name]
        for own in fields(Dialect)
        if own.name in parameters
    }
    if said.get("quote") == "":
        said["quote"] = None
    dialect = reader_of(Dialect).validate_python(said)
    check_dialect(dialect)
    return dialect


def _in_order(document: JsonObject) -> JsonObject:
    """A document with its members in the order in which stores give them back."""
    ordered: JsonObject = json.loads(json.dumps(document, sort_keys=True))
    return ordered


def _stored(kind: Kind, name: str, summary: JsonObject, document: JsonObject | None = None) -> Stored:
    from app.services.resources import Stored

    return Stored(uuid4().hex, kind, name, "", datetime.now(UTC), summary, document)


def _shown(stored: Stored) -> JsonObject:
    """The resource as the interface shows it, as far as profiles look at it."""
    from app.services.fingerprints import plain

    shown: JsonObject = plain({"id": stored.id, "name": stored.name, "sha256": "", **stored.summary})
    return shown

"""The plain values that services and their ports exchange: who asks, what is stored, what refers to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Generic, NewType, TypeVar

from app.domain.errors import Forbidden, InvalidInput

TenantId = NewType("TenantId", str)

JsonObject = dict[str, Any]

T = TypeVar("T")


class Scope(StrEnum):
    """What an API key may do; any valid key may read its tenant's metadata."""

    DATA_READ = "data:read"
    DATA_WRITE = "data:write"
    ASSESS = "assess"
    GOVERN = "govern"
    ADMIN = "admin"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Actor:
    """Who asks: one API key of one tenant, or somebody whom its identity provider vouches for.

    ``key_id`` is the key's id or, of the latter, issuer and subject.
    """

    tenant: TenantId
    key_id: str
    scopes: frozenset[Scope]


class Kind(StrEnum):
    """Kinds of stored resource; the value is also the kind's name in errors and audit events."""

    HIERARCHY = "hierarchy"
    UPLOAD = "upload"
    DATASET = "dataset"
    DICTIONARY = "dictionary"
    DICTIONARY_SET = "dictionary_set"
    SENSITIVITY_PROFILE = "sensitivity_profile"
    RULE = "rule"
    ASSESSMENT = "assessment"
    OPTIMISATION = "optimisation"
    FRONTIER = "frontier"
    MEASUREMENT = "measurement"
    RELEASE = "release"
    DRAW = "draw"
    RELATIONAL_SCHEMA = "relational_schema"
    VIEW_CHECK = "view_check"
    MECHANISM_AUDIT = "mechanism_audit"
    SEQUENTIAL_DISCLOSURE = "sequential_disclosure"
    DISCLOSURE_STEP = "disclosure_step"
    POLICY = "policy"
    EVALUATION = "evaluation"
    WAIVER = "waiver"


WITH_RUNS: Final = (
    Kind.OPTIMISATION,
    Kind.ASSESSMENT,
    Kind.MEASUREMENT,
    Kind.FRONTIER,
    Kind.EVALUATION,
    Kind.DRAW,
    Kind.VIEW_CHECK,
    Kind.MECHANISM_AUDIT,
)
"""The kinds of resource that runs work on."""


@dataclass(frozen=True)
class Stored:
    """One immutable, named resource as the store holds it.

    ``summary`` is small, free of personal data and shown in lists; ``document`` is the canonical
    JSON of what the resource means, kept encrypted and absent from lists. ``sha256`` is the hash
    of everything that gives the resource its meaning, the hashes of what it uses included.
    """

    id: str
    kind: Kind
    name: str
    sha256: str
    created_at: datetime
    summary: JsonObject
    document: JsonObject | None = None
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewResource:
    """A resource to be stored; ``uses`` are the ids of the resources that it is built on.

    ``packed`` is the document as canonical JSON, compressed, where it was made elsewhere: ``document`` is
    then empty, and what was stored is answered without one.
    """

    kind: Kind
    name: str
    sha256: str
    summary: JsonObject
    document: JsonObject
    uses: tuple[str, ...] = ()
    packed: bytes | None = None


@dataclass(frozen=True)
class Period:
    """The time from ``since`` on up to but without ``until``; None: without a bound.

    Periods that share a bound thus share no moment.
    """

    since: datetime | None = None
    until: datetime | None = None


ALWAYS: Final = Period()


@dataclass(frozen=True)
class Page(Generic[T]):
    """Part of a list, newest first; ``next_cursor`` is None on the last page."""

    items: Sequence[T]
    next_cursor: str | None


class RunState(StrEnum):
    """How the work of a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_final(self) -> bool:
        """Whether the work has ended; all that may follow is that its result expires."""
        return self not in (RunState.QUEUED, RunState.RUNNING)


@dataclass(frozen=True)
class Progress:
    """How far a run is: ``done`` of ``total`` units in a named stage, units per second and seconds left."""

    stage: str
    done: int
    total: int
    rate: float | None = None
    remaining_seconds: float | None = None


@dataclass(frozen=True)
class Wishes:
    """What users ask of a run at work: to end without a result, or with the best that it has found."""

    cancel: bool = False
    stop: bool = False


@dataclass(frozen=True)
class Run:
    """The execution of an optimisation or of a large assessment."""

    id: str
    resource_id: str
    resource_kind: Kind
    resource_name: str
    state: RunState
    attempt: int
    input_sha256: str
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    heartbeat_at: datetime | None = None
    progress: Progress | None = None
    cancel_requested: bool = False
    stop_requested: bool = False
    error: JsonObject | None = None
    result_id: str | None = None


@dataclass(frozen=True)
class RunEvent:
    """One entry of a run's event stream; ``number`` grows by one from 1 within a run."""

    run_id: str
    number: int
    type: str
    data: JsonObject
    at: datetime


@dataclass(frozen=True)
class Claim:
    """A worker's right to execute one attempt of a run; writes carry ``attempt`` as fencing value."""

    run_id: str
    tenant: TenantId
    attempt: int


@dataclass(frozen=True)
class LostRun:
    """A run that nobody works on any more, and the number of its last attempt."""

    run_id: str
    attempt: int


@dataclass(frozen=True)
class QueuedRuns:
    """The runs of one kind that are not final, of all tenants together.

    ``oldest_seconds`` is the time since the oldest queued one was asked for, ``estimated_seconds`` the work
    of those queued that have an estimate; both 0 if none is queued.
    """

    kind: Kind
    queued: int = 0
    running: int = 0
    oldest_seconds: float = 0.0
    estimated_seconds: float = 0.0


@dataclass(frozen=True)
class Removed:
    """How much was past its retention: results of runs, runs themselves, uploads that nothing used."""

    results: int
    runs: int
    uploads: int

    def __bool__(self) -> bool:
        """Whether there was anything, and so may be more."""
        return bool(self.results or self.runs or self.uploads)


@dataclass(frozen=True)
class ApiKey:
    """An API key as it may be shown: never its secret."""

    id: str
    tenant: TenantId
    name: str
    prefix: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True)
class Tenant:
    """One customer: the border that no data crosses."""

    id: TenantId
    name: str
    created_at: datetime


@dataclass(frozen=True)
class AuditEvent:
    """Who did what to what, and when; ``sha256`` is of the event and of the one before."""

    number: int
    key_id: str
    key_name: str | None
    action: str
    subject: str
    details: JsonObject
    at: datetime
    sha256: str


@dataclass(frozen=True)
class AuditVerification:
    """Whether a tenant's audit events are those that were written, in their order.

    ``first_broken`` is the number of the first that does not follow from the one before. ``head_sha256``
    stands for all of them: kept elsewhere, it shows whether any were cut off the end.
    """

    events: int
    first_broken: int | None
    head_sha256: str | None


@dataclass(frozen=True)
class IdempotentReply:
    """What the first request with an idempotency key was answered."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Created:
    """What a create answers: the resource, and whether it is new or was there with equal content."""

    resource: Stored
    created: bool


@dataclass(frozen=True)
class DataStream:
    """Bytes produced while they are sent, and how to label them."""

    media_type: str
    filename: str
    chunks: AsyncIterator[bytes]


class DataFormat(StrEnum):
    """Formats that tables leave in."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"


def reference(stored: Stored) -> JsonObject:
    """The reference to a resource."""
    return {"id": stored.id, "name": stored.name, "sha256": stored.sha256}


def document_of(stored: Stored | NewResource) -> JsonObject:
    """The document of a resource that was read with it, or that is to be stored."""
    if stored.document is None:
        raise ValueError("the resource was read without its document")
    return stored.document


def without_names(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """The value with every reference reduced to its hash, which is all of it that has meaning."""
    if isinstance(value, dict):
        if value.keys() == {"id", "name", "sha256"}:
            return value["sha256"]
        return {key: without_names(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_names(item) for item in value]
    return value


def require(actor: Actor, scope: Scope) -> None:
    """Raise Forbidden, naming the scope, unless the actor's key has it."""
    if scope not in actor.scopes:
        raise Forbidden(scope.value)


_NAME: Final = re.compile(r"(?![0-9a-f]{32}$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Not 32 hexadecimal digits: whatever looks like an id is one."""


def check_name(name: str, pointer: str = "/name") -> str:
    """The name if it can be one: 1 to 100 letters, digits, dots, hyphens, underscores; not like an id."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput.of(
            pointer,
            "invalid-name",
            "A name has 1 to 100 characters: ASCII letters, digits, '.', '_' and '-', "
            "the first a letter or digit, and is not 32 hexadecimal digits, as ids are.",
            "Choose another name.",
        )
    return name

"""The one way from a question to its answer, whatever is asked.

A question is planned: what it would cost, whether it is answered at once or by a run, and what is missing.
Then it is answered at once where that is small, or stored with a run that answers it. What was computed
before, by the hash of everything that goes in, is not computed again. A kind of question says what is its
own: what a request means, what computes the answer, and what is stored and shown beside it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from app.domain.errors import (
    Conflict,
    Fault,
    InvalidInput,
    NotFound,
    NotSupported,
    PrivacyRiskError,
    Withdrawn,
    unknown_reference,
)
from app.services.answers import Recalled, SharedAnswer, SharedAnswers
from app.services.datasets.tables import TableLoader
from app.services.gates.evidence_masking import shown_answer, shown_resource
from app.services.named import NamedResources, add_resource, latest_run
from app.services.ports import Store, UnitOfWork
from app.services.recollection import Recollection
from app.services.resources import (
    Actor,
    Claim,
    JsonObject,
    Kind,
    NewResource,
    Run,
    RunState,
    Scope,
    Stored,
    check_name,
    require,
)
from app.services.scoring.scoring_inputs import SourceRefs, missing_inputs, missing_sources

MIB: Final = 1024**2

RUN_BYTES: Final = 8192 * MIB
"""Memory that a run may have, unless an operator says otherwise."""

Route = Literal["direct", "run"]

Q = TypeVar("Q")


class Cost(Protocol):
    """A dataclass of an estimate: these numbers, and others."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seconds(self) -> float:
        """Workload time."""

    @property
    def bytes(self) -> int:
        """Workload memory."""


@dataclass(frozen=True)
class DirectBudget:
    """How much estimated work a direct answer may take."""

    seconds: float = 0.5
    bytes: int = 256 * MIB

    def allows(self, cost: Cost) -> bool:
        """Whether work of this cost is answered at once."""
        return cost.seconds <= self.seconds and cost.bytes <= self.bytes


@dataclass(frozen=True)
class Claimant:
    """Who does runs within the budget at once: its name in the store."""

    budget: DirectBudget
    worker: str


@dataclass(frozen=True)
class Plan:
    """The answer to a dry run: cost and route, or what is missing for the work to be possible."""

    route: Route | None = None
    seconds: float | None = None
    bytes: int | None = None
    engine: str | None = None
    units: int | None = None
    missing: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A question with its result, which is None until a run has brought it, as the actor may see them.

    ``beside`` is what is shown with them, by name; ``created`` says whether asking has stored the question.
    ``run`` is what was started to answer it, if it was too large to be answered at once.
    """

    resource: Stored
    result: JsonObject | None
    beside: JsonObject = field(default_factory=dict)
    created: bool = False
    run: Run | None = None


@dataclass(frozen=True)
class RunStarted:
    """A resource whose work was handed to a run (or was found done: the run has succeeded).

    ``claim`` is for the claimant who is to do the run at once; None: it is another's, or queued, or done.
    """

    resource: Stored
    run: Run
    created: bool
    claim: Claim | None = None


@dataclass(frozen=True)
class Asked(Generic[Q]):
    """A question, how it will be stored, what is stored of it, and what others find who ask the same."""

    question: Q
    new: NewResource
    recalled: Recalled
    shared: SharedAnswer

    @property
    def known(self) -> Stored | None:
        """The question as it is stored, if it is with its answer."""
        stored = self.recalled.stored
        if self.recalled.result is None or stored is None or stored.sha256 != self.new.sha256:
            return None
        return replace(stored, document=self.new.document)


class Request(Protocol):
    """What is asked, maybe under a name."""

    @property
    def name(self) -> str | None:
        """The question's name; without one it is made of the hash."""

    @property
    def refs(self) -> SourceRefs | None:
        """What it is about; None: no dataset."""

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """Where it names other resources, of which kind, and by which id or name."""


class Workload(Protocol):
    """What finds an answer, loaded but not begun."""

    @property
    def cost(self) -> Cost:
        """The estimate; InvalidInput or NotSupported where there can be no answer."""


R = TypeVar("R", bound=Request)
W = TypeVar("W", bound=Workload)


class QuestionService(NamedResources, ABC, Generic[R, Q, W]):
    """Plan questions, store them with a run, and read their answers.

    ``R`` is the request, ``Q`` what it means once everything that it names is found, ``W`` what answers it.
    """

    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(self, store: Store, loader: TableLoader) -> None:
        super().__init__(store)
        self._loader = loader
        self._shared = SharedAnswers()

    async def plan(self, actor: Actor, request: R) -> Plan:
        """Cost, route and missing inputs; computes and stores nothing."""
        self._require_for(actor, request)
        try:
            async with self._store.work(actor.tenant) as work:
                missing = await self._missing(work, request)
            if missing:
                return Plan(missing=missing)
            question, _ = await self._resolve(self._store, actor, request, "direct")
            return await asyncio.to_thread(self._plan, await self._prepare(actor, question))
        except (InvalidInput, NotSupported, NotFound, Withdrawn) as error:
            return Plan(missing=faults_of(error))

    async def create_run(
        self,
        actor: Actor,
        request: R,
        claimant: Claimant | None = None,
        estimate: JsonObject | None = None,
    ) -> RunStarted:
        """Store the question and queue its run, or claim it for who can do it at once, in one transaction.

        If the answer is known from an equal question, the run has succeeded at once. With an ``estimate``
        nothing is loaded to make one; the run is then the claimant's, whatever its size.
        """
        async with self._look_up(actor, request, "run") as asked:
            question, known = asked.question, asked.recalled.result
            if known is None:
                if estimate is None:
                    prepared = await self._prepare(actor, question)
                    estimate = await asyncio.to_thread(self._estimate, prepared)
                    if claimant is not None and not self._is_small_run(prepared, claimant.budget):
                        claimant = None
                self._refuse_as_run(estimate)
            async with self._store.work(actor.tenant) as work:
                stored, created = await add_resource(work, actor, asked.new)
                run, claim = await start_run(work, stored, estimate or {}, claimant)
                if known is not None:
                    await self._complete(work, actor, question, stored, known, run)
                await work.commit()
        return RunStarted(stored, run, created, claim)

    async def view(self, actor: Actor, ref: str) -> Answer:
        """The question with its result, if there is one yet: its own run's, else that of an equal one.

        A run that was stopped keeps its own result, which is not that of an equal question.
        """
        async with self._store.work(actor.tenant) as work:
            stored, result = await work.questions.view(self.kind, ref)
            return await self._answer(work, actor, stored, result)

    @asynccontextmanager
    async def _look_up(self, actor: Actor, request: R, route: Route) -> AsyncIterator[Asked[Q]]:
        """The question and what is stored of it, which is shared with whoever asks the same meanwhile."""
        self._require_for(actor, request)
        if request.name is not None:
            check_name(request.name)
        for faith in (True, False):
            resources = Recollection(self._store, self._loader.memory, faith=faith)
            try:
                question, new = await self._resolve(resources, actor, request, route)
            except PrivacyRiskError:
                if not resources.believed:
                    raise
                continue
            with self._shared.of(actor.tenant, new.sha256) as shared:
                recalled = await self._recall(actor, new, resources.believed)
                if recalled is not None:
                    yield Asked(question, new, recalled, shared)
                    return

    async def _missing(self, work: UnitOfWork, request: R) -> tuple[Fault, ...]:
        """A fault for everything that the request names and that leads nowhere."""
        refs = request.refs
        return (
            *(() if refs is None else await missing_sources(work, refs)),
            *await missing_inputs(work, request.named),
        )

    async def _recall(
        self, actor: Actor, new: NewResource, believed: Mapping[tuple[Kind, str], str | None]
    ) -> Recalled | None:
        async with self._store.work(actor.tenant) as work:
            recalled = await work.questions.recall(self.kind, new.name, new.sha256, believed)
            await self._refuse_again(work, new)
            if recalled is not None and recalled.result is None:
                await self._refuse_in_vain(work, new)
        return recalled

    async def _answer(
        self,
        work: UnitOfWork,
        actor: Actor,
        stored: Stored,
        result: JsonObject | None,
        *,
        created: bool = False,
    ) -> Answer:
        shown = None if result is None else shown_answer(actor, self.kind, result)
        return Answer(shown_resource(actor, stored), shown, await self._beside(work, actor, stored), created)

    @abstractmethod
    async def _resolve(self, store: Store, actor: Actor, request: R, route: Route) -> tuple[Q, NewResource]:
        """What is asked, as the store says, and how it will be stored; InvalidInput if parts do not fit."""

    @abstractmethod
    async def _prepare(self, actor: Actor, question: Q) -> W:
        """What answers the question, loaded; InvalidInput or NotSupported where there can be no answer."""

    @abstractmethod
    def _plan(self, prepared: W) -> Plan:
        """The plan of what can be answered."""

    def _require_for(self, actor: Actor, request: R) -> None:
        """Raise unless the actor may ask this."""
        require(actor, Scope.ASSESS)

    def _estimate(self, prepared: W) -> JsonObject:
        """The estimate that is kept with a run."""
        return asdict(prepared.cost)

    def _is_small_run(self, prepared: W, budget: DirectBudget) -> bool:
        """Whether all that a run would compute is within the budget."""
        return budget.allows(prepared.cost)

    def _refuse_as_run(self, estimate: JsonObject) -> None:
        """Raise if a run may not do the work."""

    async def _refuse_again(self, work: UnitOfWork, new: NewResource) -> None:
        """Raise if it may not be asked, whether or not the answer is known."""

    async def _refuse_in_vain(self, work: UnitOfWork, new: NewResource) -> None:
        """Raise if the answer, which is not known yet, could not be stored."""

    async def _complete(
        self, work: UnitOfWork, actor: Actor, question: Q, stored: Stored, result: JsonObject, run: Run | None
    ) -> None:
        """Store what belongs to a result that is there when the question is stored; ``run`` None: at once."""

    async def _beside(self, work: UnitOfWork, actor: Actor, stored: Stored) -> JsonObject:
        """What is shown with a question and its result."""
        return {}


def require_result(stored: Stored, result: JsonObject | None) -> JsonObject:
    """The result of a question; Conflict while it has none."""
    if result is None:
        raise Conflict(
            f"The {stored.kind.value} {stored.name!r} has no result yet.",
            "Wait for its run to succeed, or start one again.",
        )
    return result


def faults_of(error: PrivacyRiskError) -> tuple[Fault, ...]:
    """Why there can be no answer, as a plan lists it."""
    if isinstance(error, InvalidInput):
        return error.faults
    if isinstance(error, NotFound):
        return (unknown_reference("", error),)
    return (Fault("", error.code, error.message, error.remedy),)


async def start_run(
    work: UnitOfWork, stored: Stored, estimate: JsonObject, claimant: Claimant | None
) -> tuple[Run, Claim | None]:
    """The resource's latest run, or a new one if there is none that works or has worked.

    That is as :func:`new_run` says.
    """
    latest = await latest_run(work, stored)
    if latest is not None and (latest.state is RunState.SUCCEEDED or not latest.state.is_final):
        return latest, None
    return await new_run(work, stored, estimate, claimant)


async def new_run(
    work: UnitOfWork, stored: Stored, estimate: JsonObject, claimant: Claimant | None
) -> tuple[Run, Claim | None]:
    """A run of the resource, queued or claimed for the claimant; it has succeeded if the result is known."""
    run = await work.runs.create(stored, stored.sha256, estimate)
    if run.state.is_final:
        return run, None
    if claimant is None:
        await work.enqueue(run.id)
        return run, None
    # Nobody else knows of it yet.
    return run, await work.runs.claim(run.id, claimant.worker, 0.0)

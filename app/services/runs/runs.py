"""Use cases on runs: follow the work on an optimisation or assessment, stop it, read what it found."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import Conflict, NotFinished, NotFound, NotSupported
from app.services.gates.evidence_masking import shown_answer
from app.services.ports import RunSignals, Store
from app.services.resources import (
    ALWAYS,
    WITH_RUNS,
    Actor,
    JsonObject,
    Kind,
    Period,
    Run,
    RunEvent,
    RunState,
    Scope,
    require,
)
from app.services.rules.rule_documents import with_rule_in_short

SIGNAL_SECONDS: Final = 2.0
"""A waiter looks for itself this often, so that a lost signal delays news but never hides it."""

EVENTS_PER_READ: Final = 100

_WITHOUT_BEST_SO_FAR: Final = {
    Kind.ASSESSMENT: "a score of some of the records bounds nothing.",
    Kind.MEASUREMENT: "a measure of some of the data bounds nothing.",
    Kind.DRAW: "a release is drawn whole or not at all.",
    Kind.MECHANISM_AUDIT: "its error is that of all its tests together.",
}


@dataclass(frozen=True)
class RiskMap:
    """Rules by risk and utility.

    ``points`` have risk, utility and levels (by attribute): all ``rules`` of the lattice where there
    are few, else those that no other rule dominates; none if the solver does not look at them all.
    """

    rules: int
    points: tuple[JsonObject, ...]


class RunService:
    """Follow, stop, cancel and read runs; they are created with the resource whose work they do."""

    def __init__(self, store: Store, signals: RunSignals) -> None:
        self._store = store
        self._signals = signals
        self._ends_waits = False

    def end_waits(self) -> None:
        """Have nobody wait for a run any more, now or later: the process is about to end."""
        self._ends_waits = True

    async def get(self, actor: Actor, run_id: str) -> Run:
        """The run as it stands; NotFound if the tenant has none of this id."""
        async with self._store.work(actor.tenant) as work:
            return await work.runs.get(run_id)

    async def find(self, actor: Actor, ref: str) -> Run:
        """The run of this id, or the latest of what is named so; Conflict if several kinds are."""
        async with self._store.work(actor.tenant) as work:
            with contextlib.suppress(NotFound):
                return await work.runs.get(ref)
            found: list[Run] = []
            for kind in WITH_RUNS:
                with contextlib.suppress(NotFound):
                    resource = await work.resources.get(kind, ref)
                    latest, _ = await work.runs.list(
                        resource_id=resource.id, state=None, limit=1, cursor=None
                    )
                    found += latest
        if len(found) > 1:
            raise Conflict(
                f"Of several kinds something is named {ref!r}.",
                "Name the run by its id.",
                {"candidates": [{"kind": run.resource_kind.value, "id": run.id} for run in found]},
            )
        if not found:
            raise NotFound("run", ref)
        return found[0]

    async def list(
        self,
        actor: Actor,
        *,
        state: RunState | None = None,
        name: str | None = None,
        created: Period = ALWAYS,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[tuple[Run, ...], str | None]:
        """Newest first, and the cursor of the next page; ``name`` is part of that of what a run works on."""
        async with self._store.work(actor.tenant) as work:
            return await work.runs.list(
                resource_id=None, state=state, limit=limit, cursor=cursor, name=name, created=created
            )

    async def wait(self, actor: Actor, run_id: str, seconds: float) -> Run:
        """The run once it is final, or as it stands after ``seconds``, or soon after waits were ended."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            run = await self.get(actor, run_id)
            left = deadline - loop.time()
            if run.state.is_final or left <= 0 or self._ends_waits:
                return run
            await self._signals.wait(run_id, min(left, SIGNAL_SECONDS))

    async def events(self, actor: Actor, run_id: str, after: int = 0) -> AsyncIterator[RunEvent]:
        """Every event numbered above ``after``, as they come, until the run is final and all are told."""
        while True:
            async with self._store.work(actor.tenant) as work:
                # The state is read before the events: a run seen as final has no later event to miss.
                run = await work.runs.get(run_id)
                events: Sequence[RunEvent] = await work.runs.events_after(run_id, after, EVENTS_PER_READ)
            for event in events:
                after = event.number
                yield event
            if events:
                continue
            if run.state.is_final:
                return
            await self._signals.wait(run_id, SIGNAL_SECONDS)

    async def cancel(self, actor: Actor, run_id: str) -> Run:
        """Ask for the run's end: a queued run ends at once, a running one within a second.

        Conflict if the run is final already.
        """
        require(actor, Scope.ASSESS)
        async with self._store.work(actor.tenant) as work:
            run = await work.runs.request_cancel(run_id)
            await work.audit.record(actor.key_id, "run.cancel", run_id, {"resource": run.resource_id})
            await work.commit()
        return run

    async def stop(self, actor: Actor, run_id: str) -> Run:
        """Ask for the best so far: the run soon succeeds with it, and with a bound of what it may miss.

        A run that has succeeded stays as it is. NotSupported if its work has no best so far, Conflict if it
        ended without a result.
        """
        require(actor, Scope.ASSESS)
        async with self._store.work(actor.tenant) as work:
            kind = (await work.runs.get(run_id)).resource_kind
            if kind in _WITHOUT_BEST_SO_FAR:
                raise NotSupported(
                    f"The run is at work on a resource of the kind {kind.value}, which has no best so far: "
                    f"{_WITHOUT_BEST_SO_FAR[kind]}",
                    "Cancel the run, or wait for its end; runs of optimisations, frontiers, evaluations "
                    "and checks of views can be stopped.",
                )
            run, is_news = await work.runs.request_stop(run_id)
            if is_news:
                await work.audit.record(actor.key_id, "run.stop", run_id, {"resource": run.resource_id})
            await work.commit()
        return run

    async def result(self, actor: Actor, run_id: str) -> JsonObject:
        """The result document as the actor may see it; Conflict while there is none, saying why."""
        async with self._store.work(actor.tenant) as work:
            run = await work.runs.get(run_id)
            if run.state is not RunState.SUCCEEDED:
                raise _no_result(run)
            result = await work.runs.result(run_id)
        if run.resource_kind is Kind.OPTIMISATION:
            result = with_rule_in_short(result)
        return shown_answer(actor, run.resource_kind, result)

    async def risk_map(self, actor: Actor, run_id: str) -> RiskMap:
        """The risk–utility map of the rules that an optimisation looked at; Conflict while there is none."""
        document = await self.result(actor, run_id)
        # Points of a record-level frontier are rules too large for a map of levels.
        points = [point for point in document.get("points", ()) if point["levels"] is not None]
        return RiskMap(document.get("rules", 0), tuple(points))


def _no_result(run: Run) -> Conflict:
    if run.state is RunState.EXPIRED:
        message = f"the result of run {run.id} has been removed: its retention has ended"
        remedy = "send the request that made it again: it starts a new run"
    elif run.state.is_final:
        message = f"run {run.id} ended as {run.state.value} and has no result"
        remedy = "create the work again under another name, or read the run's error"
    else:
        message = f"run {run.id} is {run.state.value} and has no result yet"
        return NotFinished(message, "wait for the run", {"state": run.state.value})
    return Conflict(message, remedy, {"state": run.state.value})

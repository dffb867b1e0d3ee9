"""Releases by a mechanism as runs: the question is stored and queued, or the run is named that answers it."""

from __future__ import annotations

import contextlib
from dataclasses import asdict

from app.domain.errors import InvalidInput, MemoryLimitExceeded, NotFound, NotSupported
from app.services.datasets.cell_values import require_to_name_values
from app.services.datasets.tables import TableLoader
from app.services.named import add_resource, all_resources, latest_run
from app.services.ports import Store, UnitOfWork
from app.services.questions import Claimant, RunStarted, new_run
from app.services.releases.begun_draws import in_turn, known_draw, refuse_other_name
from app.services.releases.draw_work import draw_question, release_of_result
from app.services.releases.drawing import Preparation
from app.services.releases.draws import Draw
from app.services.releases.prepared_releases import chosen_in, prepare_release
from app.services.releases.requests import CreateRelease
from app.services.resources import Actor, Kind, Run, RunState, Stored


class DrawRuns:
    """Starts the runs of draws; a run may have ``run_bytes`` of memory."""

    def __init__(self, store: Store, loader: TableLoader, run_bytes: int) -> None:
        self._store = store
        self._loader = loader
        self._run_bytes = run_bytes

    async def create_run(
        self, actor: Actor, request: CreateRelease, claimant: Claimant | None = None
    ) -> RunStarted:
        """Store the question with its run, which is queued or claimed for who can do it at once.

        Nothing is drawn or counted before the run begins. The same question, under any name, is answered by
        the run that there is; another draw of the same data is refused as it is without a run.
        """
        if request.mechanism is None:
            raise InvalidInput.of(
                "/mechanism",
                "missing",
                "A run makes what a mechanism draws; of a release under a rule nothing is computed before "
                "its table is asked for.",
                "Give a mechanism, or make the release without a run.",
            )
        require_to_name_values(actor, chosen_in(request).parameters)

        async def started(prepared: Preparation) -> RunStarted:
            return await self._started(actor, prepared, claimant)

        _, run = await in_turn(
            lambda: prepare_release(self._store, self._loader, actor.tenant, request), started
        )
        return run

    async def _started(self, actor: Actor, prepared: Preparation, claimant: Claimant | None) -> RunStarted:
        prepared.require_feasible()
        cost = prepared.cost
        if cost.bytes > self._run_bytes:
            if prepared.mechanism.hides_records:
                raise NotSupported(
                    "The release would need more memory than a run may have.",
                    "Disclose fewer columns, or have the operator raise the limit.",
                )
            raise MemoryLimitExceeded(cost.bytes, self._run_bytes, asdict(cost))
        if claimant is not None and not claimant.budget.allows(cost):
            claimant = None
        async with self._store.work(actor.tenant) as work:
            known = await known_draw(work, prepared)
            same = await _same_question(work, prepared)
            run = None if same is None else await _run_of(work, same, known)
            if same is not None and run is not None:
                refuse_other_name(prepared.request, same.name)
                return RunStarted(same, run, False)
            question = await _question(work, actor, prepared, same)
            run, claim = await new_run(work, question, prepared.told_cost, claimant)
            await work.commit()
        return RunStarted(question, run, True, claim)


async def _same_question(work: UnitOfWork, prepared: Preparation) -> Stored | None:
    """The question as it was stored before, under whichever name."""
    asked = await all_resources(work, Kind.DRAW, built_on=prepared.dataset.id)
    return next((own for own in asked if own.sha256 in prepared.wordings), None)


async def _question(work: UnitOfWork, actor: Actor, prepared: Preparation, same: Stored | None) -> Stored:
    """The question under the name that is asked for.

    What was asked under this name before gives way: it has come to nothing, or its release is gone. Conflict
    if a run is at work on it.
    """
    name = prepared.request.name
    if same is not None and same.name == name:
        return same
    before = [] if same is None else [same]
    with contextlib.suppress(NotFound):
        before.append(await work.resources.described(Kind.DRAW, name))
    for own in before:
        await work.resources.delete(Kind.DRAW, own.id)
    stored, _ = await add_resource(work, actor, draw_question(prepared, actor.key_id))
    return stored


async def _run_of(work: UnitOfWork, question: Stored, known: Draw | Stored | None) -> Run | None:
    """The run that answers the question: one at work, or the one that made the release; None: a new one."""
    latest = await latest_run(work, question)
    if latest is None:
        return None
    if latest.state is RunState.SUCCEEDED:
        made = release_of_result(await work.runs.result(latest.id))
        return latest if isinstance(known, Stored) and made == known.id else None
    return None if latest.state.is_final else latest

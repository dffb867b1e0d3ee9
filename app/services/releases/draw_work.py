"""A draw as the work of a run: begun once its data are loaded, and stored with the run's end.

The question is stored before; a draw is counted, and its secret sealed, in a transaction that carries the
claim of the run's attempt. Whatever ends an attempt before leaves nothing; after it, each further attempt
draws the same bytes. They are kept nowhere before the transaction that ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.domain.errors import NotFound, NotSupported
from app.domain.search.budget import Halted, never
from app.services.datasets.tables import TableLoader
from app.services.ports import Store, UnitOfWork
from app.services.readers import reader_of
from app.services.releases.begun_draws import begun_draw, in_turn, refuse_other_name
from app.services.releases.drawing import DRAWING_STEPS, Preparation, drawn_release
from app.services.releases.draws import Draw
from app.services.releases.mechanism_manifests import BY_NAME
from app.services.releases.prepared_releases import prepare_release
from app.services.releases.queued_draws import loss_to_keep
from app.services.releases.requests import ChosenMechanism, CreateRelease
from app.services.resources import Claim, JsonObject, Kind, NewResource, Run, Stored, document_of
from app.services.runs.run_execution import Conclusion, Tick, no_tick

RELEASE: Final = "release"
"""Field of a run's result: the id of the release."""


def draw_question(prepared: Preparation, key_id: str) -> NewResource:
    """The question as it is stored for a run to answer, asked with this key."""
    request = prepared.request
    summary = {
        "dataset": prepared.dataset.name,
        "mechanism": prepared.mechanism.name,
        **loss_to_keep(prepared.subject, prepared.loss),
    }
    document = {**prepared.meaning, "has_rule": prepared.rule is not None, "asked_with": key_id}
    return NewResource(Kind.DRAW, request.name, prepared.question, summary, document, prepared.uses)


def _request_of(question: Stored) -> CreateRelease:
    """What was asked for; NotSupported if the mechanism has another meaning by now."""
    document = document_of(question)
    asked = document["mechanism"]
    mechanism = BY_NAME.get(asked["name"])
    if mechanism is None or mechanism.version != asked["version"]:
        raise NotSupported(
            f"The mechanism {asked['name']} was corrected since: version {asked['version']} draws no more.",
            "Ask again.",
        )
    parameters: Any = reader_of(mechanism.parameters).validate_python(asked["parameters"])
    return CreateRelease(
        question.name,
        question.uses[0],
        question.uses[1] if document["has_rule"] else None,
        document["neutralise_formulas"],
        document["order"],
        ChosenMechanism(mechanism.name, parameters),
        document["independent_of_earlier"],
    )


@dataclass(frozen=True, eq=False)
class _Begun:
    """A draw that is to be made: of what, from which secret, asked for with which key."""

    prepared: Preparation
    draw_id: str
    secret: bytes
    key_id: str


class DrawWork:
    """One block, of which nothing is kept before the end; none if the release is there already."""

    time_limit = None
    units = DRAWING_STEPS

    def __init__(self, release_id: str, seconds: float, begun: _Begun | None) -> None:
        self.n_blocks = 0 if begun is None else 1
        self.seconds = seconds
        self._release_id = release_id
        self._begun = begun
        self._made: tuple[NewResource, bytes] | None = None

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """Draw; what was drawn stays in memory."""
        self._made = self._drawn(tick)
        return b""

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The release by its id, which is stored in the transaction that ends the run."""
        result = {RELEASE: self._release_id}
        if self._begun is None:
            return Conclusion(result, reproducible=False)
        begun, made = self._begun, self._made or self._drawn(no_tick)

        async def store(work: UnitOfWork, run: Run) -> None:
            stored, created = await work.draws.store(begun.draw_id, *made)
            if created:
                details = {"sha256": stored.sha256, "mechanism": begun.prepared.mechanism.name}
                await work.audit.record(begun.key_id, "release.create", stored.id, details)

        # The release may be deleted: what answers this run does not answer another one.
        return Conclusion(result, reproducible=False, also=store)

    def _drawn(self, tick: Tick) -> tuple[NewResource, bytes]:
        if self._begun is None:
            raise ValueError("there is nothing to draw")
        if self._begun.prepared.mechanism.hides_records:
            # How fast its steps are done, and what is left of them, would tell of the records.
            tick = no_tick
        return drawn_release(self._begun.prepared, self._begun.secret, tick)


class DrawPreparation:
    """Makes the work of a stored question, and begins its draw; a ``PrepareClaimed`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def __call__(self, claim: Claim, stored: Stored) -> DrawWork:
        """Load what the release rests on, then count the draw and seal its secret.

        Fenced if the claim is outdated: then nothing was begun.
        """
        request = _request_of(stored)

        async def begin(prepared: Preparation) -> Draw | Stored:
            async with self._store.work(claim.tenant) as work:
                # The turn at draws comes before the run's row; nothing is begun unless the claim holds, too.
                found = await begun_draw(work, prepared)
                await work.runs.heartbeat(claim, None)
                await work.commit()
            return found

        prepared, found = await in_turn(
            lambda: prepare_release(self._store, self._loader, claim.tenant, request), begin
        )
        seconds = prepared.told_cost.get("seconds", 0.0)
        if isinstance(found, Stored):
            return DrawWork(found.id, seconds, None)
        async with self._store.work(claim.tenant) as work:
            try:
                secret = await work.draws.secret(found.id)
            except NotFound:  # somebody else has stored it meanwhile, or its dataset was erased
                release = await work.resources.get(Kind.RELEASE, found.id)
                refuse_other_name(request, release.name)
                return DrawWork(release.id, seconds, None)
        # It goes on in the words that it was begun with, which stand in its file.
        begun = prepared.wordings[found.question_sha256]
        key_id: str = document_of(stored)["asked_with"]
        return DrawWork(found.id, seconds, _Begun(begun, found.id, secret, key_id))


def release_of_result(result: JsonObject) -> str:
    """Id of the release that a run has made."""
    release_id: str = result[RELEASE]
    return release_id

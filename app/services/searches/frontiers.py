"""Use cases on frontiers: all Pareto-optimal rules of risk and utility; their work is always a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from app.domain.risk.utility import Utility
from app.domain.search.blocks import FrontierPlan
from app.domain.search.budget import Halted, never
from app.domain.search.plans import plan_frontier
from app.domain.search.problem import Aggregate, FrontierProblem
from app.domain.search.problem import Scope as RuleScope
from app.services.datasets.dataset_schema import DISCLOSED
from app.services.datasets.tables import TableLoader
from app.services.fingerprints import new_resource
from app.services.ports import Store, UnitOfWork
from app.services.questions import RUN_BYTES
from app.services.resources import JsonObject, Kind, NewResource, Stored, TenantId, document_of
from app.services.runs.run_execution import Conclusion
from app.services.scoring.scoring_inputs import SourceRefs, Sources, load_scoring
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.searches import (
    SearchPreparation,
    SearchQuestion,
    SearchService,
    SearchWork,
    warnings_about,
)


@dataclass(frozen=True)
class CreateFrontier:
    """What to draw the frontier of; the answer has at most ``max_points`` points."""

    name: str
    dataset: str
    dictionary: str
    sensitivity: str
    scope: RuleScope = "table_level"
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    aggregate: Aggregate = "average"
    max_points: int = 200

    @property
    def refs(self) -> SourceRefs:
        """What the question is about."""
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure)

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """It names nothing else."""
        return ()


@dataclass(frozen=True)
class FrontierQuestion(SearchQuestion):
    """A frontier, with the problem that it poses."""

    problem: FrontierProblem


class FrontierWork(SearchWork):
    """The work of a run that searches for a frontier."""

    def __init__(self, search: FrontierPlan, utility: Utility) -> None:
        super().__init__(search)
        self._search = search
        self._utility = utility
        self._was_halted = False

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Search one block."""
        block = super().run_block(index, tick, halted)
        self._was_halted = halted()
        return block

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The frontier; its points say their loss of information too, where that is what utility means.

        One that was halted has the points found so far, is not ``complete``, and answers its own run alone.
        """
        document = self._search.combine(blocks).to_document()
        for point in document["points"]:
            loss = None
            if self._utility.is_loss:
                loss = float(self._utility.information_loss(np.array([point["utility"]]))[0])
            point["information_loss"] = loss
        is_all = len(blocks) == self.n_blocks and not self._was_halted
        document["complete"] = document["complete"] and is_all
        return Conclusion(document, reproducible=is_all)


class FrontierPreparation(SearchPreparation[FrontierQuestion]):
    """Makes the work of a frontier; a ``Prepare`` of run execution."""

    async def _question(self, work: UnitOfWork, stored: Stored, sources: Sources) -> FrontierQuestion:
        document = document_of(stored)
        options = ScoringOptions.of(document)
        aggregate = document.get("aggregate", "average")
        problem = _problem(document["scope"], options, aggregate, document["max_points"])
        return FrontierQuestion(stored, sources, options, problem)

    async def work(self, tenant: TenantId, question: FrontierQuestion) -> FrontierWork:
        """Load what the frontier rests on, and plan its search."""
        scoring = await load_scoring(self._loader, tenant, question.sources, question.options)
        context = replace(scoring.context, threads=self._threads)
        search = await asyncio.to_thread(plan_frontier, context, question.problem)
        return FrontierWork(search, scoring.utility)


class FrontierService(SearchService[CreateFrontier, FrontierQuestion]):
    """Pose the question for all Pareto-optimal rules and read the answer."""

    kind: ClassVar[Kind] = Kind.FRONTIER

    def __init__(
        self, store: Store, loader: TableLoader, run_bytes: int = RUN_BYTES, threads: int = 1
    ) -> None:
        super().__init__(store, loader, FrontierPreparation(store, loader, threads), run_bytes)

    async def _ask(
        self, work: UnitOfWork, request: CreateFrontier, sources: Sources
    ) -> tuple[FrontierQuestion, NewResource]:
        options = replace(request.options, attacker_view=sources.view(request.options.attacker_view))
        document: JsonObject = {
            "scope": request.scope,
            **options.document(),
            "max_points": request.max_points,
        }
        if request.aggregate != "average":
            document["aggregate"] = request.aggregate
        new = new_resource(
            self.kind,
            request.name,
            document,
            sources.hashes,
            {
                "aggregate": "average",
                **document,
                **sources.shown(),
                **options.shown(),
                "warnings": warnings_about(sources.dataset, *DISCLOSED),
            },
            {"sources": sources.refs},
            sources.ids,
        )
        problem = _problem(request.scope, options, request.aggregate, request.max_points)
        return FrontierQuestion(new, sources, options, problem), new


def _problem(
    scope: RuleScope, options: ScoringOptions, aggregate: Aggregate, max_points: int
) -> FrontierProblem:
    view = options.attacker_view or "known"
    return FrontierProblem(scope, options.absent_policy, view, aggregate, max_points)

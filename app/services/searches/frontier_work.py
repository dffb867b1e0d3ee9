"""The search for all Pareto-optimal rules of risk and utility as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np

from app.domain.risk.utility import Utility
from app.domain.search.blocks import FrontierPlan
from app.domain.search.plans import plan_frontier
from app.domain.search.problem import FrontierProblem
from app.services.references import document_of
from app.services.resources import JsonObject, TenantId
from app.services.runs.run_execution import Conclusion
from app.services.scoring.scoring_inputs import Sources, load_scoring
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.search_work import Asked, SearchPreparation, SearchWork


def frontier_problem_of(document: JsonObject) -> FrontierProblem:
    """The problem that a frontier's document states; InvalidInput for a number out of range."""
    options = ScoringOptions.of(document)
    return FrontierProblem(
        document["scope"],
        options.absent_policy,
        options.attacker_view or "known",
        document.get("aggregate", "average"),
        document["max_points"],
    )


class FrontierWork(SearchWork):
    """The work of a run that searches for a frontier."""

    def __init__(self, search: FrontierPlan, utility: Utility) -> None:
        super().__init__(search)
        self._search = search
        self._utility = utility

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The frontier; its points say their loss of information too, where that is what utility means."""
        document = self._search.combine(blocks).to_document()
        for point in document["points"]:
            point["information_loss"] = self._loss_at(point["utility"])
        return Conclusion(document)

    def _loss_at(self, utility: float) -> float | None:
        return (
            float(self._utility.information_loss(np.array([utility]))[0]) if self._utility.is_loss else None
        )


class FrontierPreparation(SearchPreparation):
    """Makes the work of a frontier; a ``Prepare`` of run execution."""

    async def work(
        self, tenant: TenantId, asked: Asked, sources: Sources, options: ScoringOptions | None = None
    ) -> FrontierWork:
        """Load what the frontier rests on, and plan its search."""
        document = document_of(asked)
        scoring = await load_scoring(self._loader, tenant, sources, options or ScoringOptions.of(document))
        problem = frontier_problem_of(document)
        search = await asyncio.to_thread(lambda: plan_frontier(scoring.context, problem))
        return FrontierWork(search, scoring.utility)

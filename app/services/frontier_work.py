"""The search for all best compromises of risk and utility as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import numpy as np

from app.domain.search.budget import Halted, never
from app.domain.search.plans import FrontierPlan, plan_frontier
from app.domain.search.problem import FrontierProblem
from app.domain.utility import Utility
from app.services.ports import Store
from app.services.references import document_of
from app.services.resources import JsonObject, Stored, TenantId
from app.services.run_execution import Conclusion
from app.services.scoring_inputs import find_sources, load_scoring, refs_of
from app.services.scoring_options import ScoringOptions
from app.services.tables import TableLoader


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


class FrontierWork:
    """The work of a run that searches for a frontier."""

    time_limit = None

    def __init__(self, search: FrontierPlan, utility: Utility) -> None:
        self._search = search
        self._utility = utility

    @property
    def n_blocks(self) -> int:
        """Blocks of the search."""
        return self._search.n_blocks

    @property
    def units(self) -> int:
        """Rules, or distinct records."""
        return self._search.units

    @property
    def seconds(self) -> float:
        """Estimated time."""
        return self._search.seconds

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Search one block."""
        return self._search.run_block(index, tick)

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


class FrontierPreparation:
    """Makes the work of a stored frontier; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def __call__(self, tenant: TenantId, frontier: Stored) -> FrontierWork:
        """Load what the frontier rests on, and plan its search."""
        document = document_of(frontier)
        async with self._store.work(tenant) as work:
            sources = await find_sources(work, refs_of(frontier))
        scoring = await load_scoring(self._loader, tenant, sources, ScoringOptions.of(document))
        problem = frontier_problem_of(document)
        search = await asyncio.to_thread(lambda: plan_frontier(scoring.context, problem))
        return FrontierWork(search, scoring.utility)

"""Searches as the work of runs: what those for one rule and those for a frontier share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from app.domain.search.blocks import BlockedSearch, SearchCost, cost_of
from app.domain.search.budget import Halted, never
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.resources import NewResource, Stored, TenantId
from app.services.runs.run_execution import Conclusion
from app.services.scoring.scoring_inputs import Sources, find_sources, refs_of
from app.services.scoring.scoring_options import ScoringOptions

Asked = Stored | NewResource
"""A question, whether it is stored yet or not."""


class SearchWork(ABC):
    """The work of a run that searches; ``time_limit`` in seconds halts it."""

    def __init__(self, search: BlockedSearch[object], time_limit: float | None = None) -> None:
        self._blocks = search
        self.time_limit = time_limit

    @property
    def n_blocks(self) -> int:
        """Blocks of the search."""
        return self._blocks.n_blocks

    @property
    def units(self) -> int:
        """Rules, or distinct records."""
        return self._blocks.units

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""
        return self._blocks.seconds

    @property
    def cost(self) -> SearchCost:
        """The estimate."""
        return cost_of(self._blocks)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Search one block."""
        return self._blocks.run_block(index, tick, halted)

    @abstractmethod
    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """What was found."""


class SearchPreparation(ABC):
    """Makes the work of a stored question; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def __call__(self, tenant: TenantId, stored: Stored) -> SearchWork:
        """Load what the question rests on, and plan its search."""
        async with self._store.work(tenant) as work:
            sources = await find_sources(work, refs_of(stored))
        return await self.work(tenant, stored, sources)

    @abstractmethod
    async def work(
        self, tenant: TenantId, asked: Asked, sources: Sources, options: ScoringOptions | None = None
    ) -> SearchWork:
        """The work of a question on its sources, planned but not begun.

        ``options`` as they were sent, defaults that are spelled out included; None: as the document has them.
        """

"""Searches cut in blocks, so that a run can show progress, stop, and go on after a crash.

A block's bytes depend on the instance, the problem and its number alone: not on which blocks ran before, in
which process or in which order. The outcome is a function of all blocks in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.domain.search.budget import Halted, never
from app.domain.search.frontier import FrontierOutcome
from app.domain.search.outcome import Outcome

A_co = TypeVar("A_co", covariant=True)


class BlockedSearch(Protocol[A_co]):
    """A search cut in blocks; ``units`` are rules or distinct records."""

    n_blocks: int
    units: int
    solver: str

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Compute one block; ``tick`` receives how many of its units are done.

        Returns soon after ``halted`` is true, with what it has; the bytes themselves say that it is not all.
        """

    def combine(self, blocks: Mapping[int, bytes]) -> A_co:
        """The answer from the blocks by number.

        Of a search that was halted some may be missing or incomplete: then the best so far, with a bound of
        the optimum.
        """


def carry_out(
    search: BlockedSearch[A_co], tick: Callable[[int], None] = lambda units: None, halted: Halted = never
) -> A_co:
    """The outcome of a search, every block here and now; ``tick`` takes the units done of each block."""
    return search.combine({index: search.run_block(index, tick, halted) for index in range(search.n_blocks)})


SearchPlan = BlockedSearch[Outcome]
"""A search for one rule."""

FrontierPlan = BlockedSearch[FrontierOutcome]
"""A search for the rules that no other dominates."""


@dataclass(frozen=True)
class SearchCost:
    """Estimated seconds and bytes of a search, the solver that would do it, and its units."""

    seconds: float
    bytes: int
    engine: str
    units: int


def cost_of(search: BlockedSearch[object]) -> SearchCost:
    """What a search would cost to carry out."""
    return SearchCost(search.seconds, search.n_bytes, search.solver, search.units)

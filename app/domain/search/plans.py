"""The plan of a search: independent blocks, so that a run can show progress, stop, and go on after a crash.

A block's bytes depend on the instance, the problem and its number alone: not on which blocks ran before, in
which process or in which order. The outcome is a function of all blocks in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, get_args

from app.domain.errors import InvalidInput, NotSupported
from app.domain.search.context import SearchContext
from app.domain.search.outcome import Outcome
from app.domain.search.problem import Problem, Solver
from app.domain.search.record_level import RecordInstance, RecordPlan
from app.domain.search.table_level import TableBranchAndBound, TableEnumeration, TableInstance

RULES_LIMIT = 2_000_000


class SearchPlan(Protocol):
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

    def run_block(self, index: int, tick: Callable[[int], None]) -> bytes:
        """Compute one block; ``tick`` receives how many of its units are done."""

    def combine(self, blocks: Sequence[bytes]) -> Outcome:
        """The outcome from all blocks in their order."""


@dataclass(frozen=True)
class SearchCost:
    """Estimated seconds and bytes of a search, the solver that would do it, and its units."""

    seconds: float
    bytes: int
    engine: str
    units: int


def plan(
    context: SearchContext, problem: Problem, solver: Solver = "auto", max_nodes: int | None = None
) -> SearchPlan:
    """Plan a search.

    ``auto`` enumerates lattices of up to 2,000,000 nodes unless ``max_nodes``, the budget of branch and
    bound in visited boxes, is smaller than that takes. Raises NotSupported if a hierarchy is no tree, or if
    enumeration is asked of a larger lattice; InvalidInput if the absent policy refuses the data.
    """
    _check(solver, max_nodes)
    if problem.scope == "record_level":
        records = RecordInstance(context, problem)
        budgeted = max_nodes is not None and max_nodes < records.n_nodes * records.n_distinct
        return RecordPlan(records, _branches(solver, budgeted), max_nodes)
    table = TableInstance(context, problem)
    too_many = table.scores.n_rules > RULES_LIMIT
    if too_many and solver == "enumeration":
        raise NotSupported(
            f"There are {table.scores.n_rules} table-level rules; at most {RULES_LIMIT} are enumerated.",
            "Use branch_and_bound, with max_nodes if an answer with a bound is enough.",
        )
    budgeted = max_nodes is not None and max_nodes < table.scores.n_rules
    if _branches(solver, budgeted or too_many):
        return TableBranchAndBound(table, max_nodes)
    return TableEnumeration(table)


def estimate(
    context: SearchContext, problem: Problem, solver: Solver = "auto", max_nodes: int | None = None
) -> SearchCost:
    """What :func:`plan` would cost to carry out; raises what it raises."""
    chosen = plan(context, problem, solver, max_nodes)
    return SearchCost(chosen.seconds, chosen.n_bytes, chosen.solver, chosen.units)


def _branches(solver: Solver, needed: bool) -> bool:
    return solver == "branch_and_bound" or (solver == "auto" and needed)


def _check(solver: Solver, max_nodes: int | None) -> None:
    if solver not in get_args(Solver):
        raise InvalidInput.of(
            "/solver", "unknown-choice", f"solver is not one of {', '.join(get_args(Solver))}."
        )
    if max_nodes is not None and max_nodes < 1:
        raise InvalidInput.of("/max_nodes", "out-of-range", "max_nodes must be at least 1.")

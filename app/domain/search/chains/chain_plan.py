"""Record-level rules on lattices too large to be enumerated: every distinct record for itself, as chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.domain.numbers import highest_accepted, lowest_accepted
from app.domain.search.boxes import Levels
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.chains.chain_instance import ChainInstance
from app.domain.search.chains.chain_search import solve
from app.domain.search.chains.chains import ChainLattice, Chains
from app.domain.search.lattice_search import LatticeSolver, search_lattice
from app.domain.search.outcome import Counters, Outcome, least_objective
from app.domain.search.problem import Problem
from app.domain.search.record_blocks import UNSOLVED, RecordBlocks, SolvedRecords
from app.domain.search.selection import INFEASIBLE, OPTIMAL
from app.domain.search.solvers import Aruba, Auto

RECORDS_PER_BLOCK = 50
SECONDS_PER_RECORD = 4e-3
SECONDS_PER_STEP_AND_ENTITY = 6e-11

HALTED = 2
"""Of ``open``: it was not the budget that ended the search of a record."""


class ChainPlan:
    """Searches every distinct record; a block is a range of them.

    ``Auto`` takes the local search with its proof; other solvers ask for one node of a lattice at a time.
    Each record has an equal share of the budget of nodes.
    """

    def __init__(
        self,
        instance: ChainInstance,
        asked: Problem,
        solver: Auto | LatticeSolver,
        budget: Budget = UNLIMITED,
    ) -> None:
        self._instance = instance
        self._asked = asked
        self._problem = asked.in_utility(instance.context.utility)
        self._how = None if isinstance(solver, Auto) else solver
        self.solver = "exchange_search" if self._how is None else solver.name
        self.units = instance.n_distinct
        self._budget = budget.shared_by(self.units)
        self.n_blocks = max(1, math.ceil(self.units / RECORDS_PER_BLOCK))
        k = instance.context.table.n_attributes
        row_type = np.dtype(
            [
                ("levels", "<i2", (k,)), ("code", "<i1"), ("open", "<i1"), ("absent", "<i1"),
                ("bound", "<f8"), ("reach", "<f8"),
                ("visited", "<i8"), ("risks", "<i8"), ("utilities", "<i8"),
            ]
        )  # fmt: skip
        self._blocks = RecordBlocks(self.units, self.n_blocks, row_type)

    @property
    def seconds(self) -> float:
        """Estimated time to search all distinct records."""
        context = self._instance.context
        steps = sum(context.table.heights) * context.dictionary.n_entities
        per_record = SECONDS_PER_RECORD + SECONDS_PER_STEP_AND_ENTITY * steps
        return self._instance.seconds + self.units * per_record

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance's own."""
        return self._instance.n_bytes

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What was found for the block's records, packed; those that a halt leaves out are UNSOLVED."""
        rows = self._blocks.rows(index)
        found = self._blocks.unsolved(len(rows))
        for i, number in enumerate(rows):
            if halted():
                break
            chains = self._instance.chains(number)
            if self._how is None:
                self._exchange(chains, found[i : i + 1], halted)
            else:
                self._search(self._how, chains, found[i : i + 1], halted)
            tick(i + 1)
        return found.tobytes()

    def _exchange(self, chains: Chains, found: npt.NDArray[np.void], halted: Halted) -> None:
        best = solve(chains, self._problem, self._budget, halted)
        self._write(found, best.code, best.levels, best.is_absent)
        found["open"] = HALTED if best.halted else not best.is_proved
        found["bound"], found["reach"] = best.bound, best.reach
        found["visited"], found["risks"] = best.visited, best.risk_evaluations
        found["utilities"] = best.risk_evaluations

    def _search(
        self, how: LatticeSolver, chains: Chains, found: npt.NDArray[np.void], halted: Halted
    ) -> None:
        identity = (0,) * chains.n_attributes
        is_absent = chains.listed(identity) == 0
        risks_nothing = is_absent and chains.own is None
        if risks_nothing and isinstance(how, Aruba):
            # As it is it has risk 0 (Definitions: absent records); the frontier is that of a monotone risk.
            chains = replace(chains, heights=identity)
        lattice = ChainLattice(chains, risks_nothing)
        best = search_lattice(lattice, self._problem, how, self._budget, halted=halted)
        self._write(found, best.code, best.node, is_absent)
        found["open"] = HALTED if best.halted else best.truncated
        found["bound"], found["reach"] = best.bound, best.reach
        found["visited"], found["risks"] = best.visited_nodes, best.risk_evaluations
        found["utilities"] = best.utility_evaluations

    @staticmethod
    def _write(found: npt.NDArray[np.void], code: int, levels: Levels | None, is_absent: bool) -> None:
        found["code"], found["absent"] = code, is_absent
        found["levels"] = -1 if levels is None else np.array(levels)

    # --- the outcome ---------------------------------------------------------------------------------

    def _joined(self, blocks: Mapping[int, bytes]) -> npt.NDArray[np.void]:
        """What was found for every record; of those left out, what is feasible without a search."""
        found = self._blocks.joined(blocks)
        for number in np.flatnonzero(found["code"] == UNSOLVED).tolist():
            self._guess(self._instance.chains(number), found[number : number + 1])
        return found

    def _guess(self, chains: Chains, found: npt.NDArray[np.void]) -> None:
        """Disclose a record as it is where a floor asks for utility, else nothing of it."""
        problem, identity = self._problem, (0,) * chains.n_attributes
        most = chains.utility_of(identity)
        code, found["reach"] = OPTIMAL, most
        levels: Levels | None = chains.heights
        if problem.objective == "min_risk":
            levels = identity
            if most < lowest_accepted(problem.threshold):
                code = INFEASIBLE
            elif math.isinf(chains.risk_of(identity)):
                levels = None
        elif problem.objective == "max_utility":
            found["reach"] = reach = chains.risk_of(chains.heights)
            if reach > highest_accepted(problem.threshold):
                is_absent = chains.own is None and chains.listed(identity) == 0
                code, levels = (OPTIMAL if is_absent else INFEASIBLE), identity
        self._write(found, code, None if code == INFEASIBLE else levels, False)
        found["bound"] = least_objective(problem, self._instance.context.model, most)
        found["open"] = HALTED

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        instance = self._instance
        found = self._joined(blocks)
        solved = SolvedRecords(
            context=instance.context,
            asked=self._asked,
            found=found,
            reach=found["reach"],
            multiplicity=instance.multiplicity,
            mass=instance.mass,
            is_open=bool((found["open"] != 0).any()),
        )
        outcome = solved.outcome(
            self.solver,
            lambda: instance.rule_of(found["levels"]) if (found["levels"] >= 0).all() else None,
            int(instance.multiplicity[found["absent"] != 0].sum()),
            instance.n_nodes,
            Counters(*(int(found[name].sum()) for name in ("visited", "risks", "utilities"))),
        )
        return replace(outcome, complete=not (found["open"] == HALTED).any())

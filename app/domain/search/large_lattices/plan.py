"""Record-level rules on lattices too large to be enumerated: every distinct record for itself, as chains.

The search for one record's rule has four steps.

1. A first rule on a way from ⊥ to the record (:mod:`exchanges`).
2. A local optimum: no exchange of the levels of two attributes improves it (:mod:`exchanges`).
3. The entities near the record, that a node no worse can be consistent with (:mod:`near_bounds`).
4. From these a proof that nothing is better, or a lower bound (:mod:`near_proof`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Levels
from app.domain.counting.calibration import SECONDS_PER_CHAIN_RECORD, SECONDS_PER_CHAIN_STEP_AND_ENTITY
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.large_lattices.chains import ChainInstance, ChainLattice, Chains
from app.domain.search.large_lattices.exchanges import ExchangeSearch, Work, first_rule
from app.domain.search.large_lattices.least_weights import Goal, Rated, Units
from app.domain.search.large_lattices.near_bounds import surroundings
from app.domain.search.large_lattices.near_entities import Steps
from app.domain.search.large_lattices.near_proof import NearProof
from app.domain.search.lattices.search import LatticeSolver, search_lattice
from app.domain.search.outcome import Outcome, least_objective
from app.domain.search.problem import Problem
from app.domain.search.record_rules.blocks import HALTED, UNSOLVED, RecordSearch, write_found
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED
from app.domain.search.solvers import Aruba, Auto

RECORDS_PER_BLOCK = 50


@dataclass(frozen=True)
class Solved:
    """What was found for one record.

    ``code`` as in :mod:`app.domain.search.selection`; ``bound`` of the objective as it is minimised.
    ``is_proved``: no other node is better, by the order of ties. ``is_local``: no exchange improves it.
    ``reach`` as in :class:`~app.domain.search.lattices.branch_and_bound.Found`. ``near`` is the number of
    entities that the bound rests on.
    """

    code: int
    levels: Levels | None
    risk: float
    bound: float
    is_proved: bool
    is_local: bool
    halted: bool
    is_absent: bool
    reach: float
    near: int
    visited: int
    risk_evaluations: int


def solve(chains: Chains, problem: Problem, budget: Budget = UNLIMITED, halted: Halted = never) -> Solved:
    """Solve ``problem``, its threshold a utility, for one record; ``budget`` is for it alone."""
    return _Search(Goal(problem, chains), budget, halted).solve()


class _Search:
    def __init__(self, goal: Goal, budget: Budget, halted: Halted) -> None:
        self._goal = goal
        self._chains = goal.chains
        self._budget = budget
        self._halted = halted
        self._work = Work()
        self._steps = Steps.of(goal.chains)

    def solve(self) -> Solved:
        chains, zero = self._chains, (0,) * self._chains.n_attributes
        listed = chains.listed(zero)
        self._work.evaluated += 1
        if not listed and chains.own is None and (best := self._goal.rate(zero, 0)) is not None:
            # Risk 0 at the greatest utility: nothing comes before it, nor ties with it at lesser levels.
            return self._solved(best, is_proved=True, is_absent=True)
        found = self._infeasible(zero) or self._among_finite()
        return replace(found, is_absent=listed == 0)

    def _infeasible(self, zero: Levels) -> Solved | None:
        objective, chains = self._goal.problem.objective, self._chains
        if (reach := chains.utility_of(zero)) < objective.lowest_utility:
            return self._solved(None, INFEASIBLE, reach=reach)
        if objective.kind == "max_utility":
            reach = chains.risk_of(chains.heights)
            if reach > objective.highest_risk:
                return self._solved(None, INFEASIBLE, reach=reach)
        return None

    def _among_finite(self) -> Solved:
        """Search the nodes of finite weights; the record as it is has someone consistent with it."""
        first, rated = first_rule(self._goal)
        self._work.evaluated += rated
        if first is None:
            # It is of the nodes of finite risk alone.
            low = tuple(self._chains.low.tolist())
            first = self._goal.rate(low, self._chains.count(low))
        if first is None or (math.isinf(first.risk) and not self._is_beyond_numbers(first)):
            return self._solved(None, PROHIBITED)
        units = Units.of_record(self._chains)
        lightest = self._lightest(units)
        if lightest is not None and self._goal.is_better(lightest, first):
            first = lightest
        if math.isinf(first.risk):
            return replace(self._solved(None), bound=0.0, is_proved=False)
        # Improve the first node, and prove or bound what comes of it
        goal = self._goal
        search = ExchangeSearch(goal, self._steps, self._work, self._halted)
        around = surroundings(goal, self._steps, units, first)
        if around.rows is None:
            # With a better node fewer entities are near.
            first, is_local = search.improve(first)
            around = surroundings(goal, self._steps, units, first)
            if around.rows is None:
                return self._solved(first, bound=around.bound, is_local=is_local, near=around.size)
        best, is_local = search.improve(first, around.rows)
        proof = NearProof(goal, units, around.rows, best, self._work).prove(
            around.low, self._budget, self._halted
        )
        if goal.is_better(proof.best, best) and not proof.is_proved:
            best, is_local = search.improve(proof.best, around.rows)
        else:
            best = proof.best
        return self._solved(
            best,
            bound=min(proof.bound, best.first),
            is_proved=proof.is_proved,
            is_local=is_local or proof.is_proved,
            near=around.size,
            halted=proof.halted,
        )

    def _is_beyond_numbers(self, node: Rated) -> bool:
        """Whether finite weights make a Φ that is greater than any number: lighter nodes may not."""
        chains = self._chains
        held = chains.weights[np.arange(chains.n_attributes), np.array(node.levels, dtype=np.int64)]
        return chains.harm.sensitivity.family != "constant" and bool(np.isfinite(held).all())

    def _lightest(self, units: Units) -> Rated | None:
        """The node of least weight that has the utility: best where counts hardly differ."""
        goal = self._goal
        if goal.problem.objective.kind != "min_risk":
            return None
        low = self._chains.low
        budget = units.total(low) - units.needed(goal.problem.objective.threshold)
        if budget < 0:
            return None
        curve = units.least_above(low, budget)
        lost = int(curve.least.argmin())
        levels = curve.first_node(lost, float(curve.least[lost]) * (1 + 1e-14))
        if levels is None:
            return None
        self._work.evaluated += 1
        return goal.rate(levels, self._chains.count(levels))

    def _solved(
        self,
        best: Rated | None,
        code: int = OPTIMAL,
        *,
        bound: float | None = None,
        is_proved: bool = False,
        is_local: bool = False,
        is_absent: bool = False,
        halted: bool = False,
        reach: float = math.nan,
        near: int = 0,
    ) -> Solved:
        if best is None:
            return Solved(
                code, None, math.inf, math.inf, True, False, halted, is_absent, reach, near,
                self._work.visited, self._work.evaluated,
            )  # fmt: skip
        least = best.first if is_proved else (-math.inf if bound is None else bound)
        return Solved(
            code, best.levels, best.risk, least, is_proved, is_local, halted, is_absent, reach, near,
            self._work.visited, self._work.evaluated,
        )  # fmt: skip


class ChainPlan(RecordSearch):
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
        self._how = None if isinstance(solver, Auto) else solver
        self.solver = "exchange_search" if self._how is None else solver.name
        self._budget = budget.shared_by(instance.n_distinct)
        k = instance.context.table.n_attributes
        row_type = np.dtype(
            [
                ("levels", "<i2", (k,)), ("code", "<i1"), ("truncated", "<i1"), ("absent", "<i1"),
                ("bound", "<f8"), ("reach", "<f8"),
                ("visited", "<i8"), ("risks", "<i8"), ("utilities", "<i8"),
            ]
        )  # fmt: skip
        super().__init__(asked, instance, row_type, RECORDS_PER_BLOCK)

    @property
    def seconds(self) -> float:
        """Estimated time to search all distinct records."""
        context = self._instance.context
        steps = sum(context.table.heights) * context.dictionary.n_entities
        per_record = SECONDS_PER_CHAIN_RECORD + SECONDS_PER_CHAIN_STEP_AND_ENTITY * steps
        return self._instance.seconds + self.units * per_record

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance's own."""
        return self._instance.n_bytes

    def _solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        for i, number in enumerate(rows):
            if halted():
                break
            chains = self._instance.chains(number)
            if self._how is None:
                self._exchange(chains, found[i : i + 1], halted)
            else:
                self._search(self._how, chains, found[i : i + 1], halted)
            tick(i + 1)

    def _exchange(self, chains: Chains, found: npt.NDArray[np.void], halted: Halted) -> None:
        best = solve(chains, self._problem, self._budget, halted)
        self._write(found, best.code, best.levels, best.is_absent)
        found["truncated"] = HALTED if best.halted else not best.is_proved
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
        write_found(found, best)

    @staticmethod
    def _write(found: npt.NDArray[np.void], code: int, levels: Levels | None, is_absent: bool) -> None:
        found["code"], found["absent"] = code, is_absent
        found["levels"] = -1 if levels is None else np.array(levels)

    # --- the outcome ---------------------------------------------------------------------------------

    def _guess(self, chains: Chains, found: npt.NDArray[np.void]) -> None:
        """Disclose a record as it is where a floor asks for utility, else nothing of it."""
        problem, identity = self._problem, (0,) * chains.n_attributes
        most = chains.utility_of(identity)
        code, found["reach"] = OPTIMAL, most
        levels: Levels | None = chains.heights
        if problem.objective.kind == "min_risk":
            levels = identity
            if most < problem.objective.lowest_utility:
                code = INFEASIBLE
            elif math.isinf(chains.risk_of(identity)):
                levels = None
        elif problem.objective.kind == "max_utility":
            found["reach"] = reach = chains.risk_of(chains.heights)
            if reach > problem.objective.highest_risk:
                is_absent = chains.own is None and chains.listed(identity) == 0
                code, levels = (OPTIMAL if is_absent else INFEASIBLE), identity
        self._write(found, code, None if code == INFEASIBLE else levels, False)
        found["bound"] = least_objective(problem, self._instance.context.model, most)
        found["truncated"] = HALTED

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        instance = self._instance
        found = self._joined(blocks)
        # Of records left out, what is feasible without a search.
        for number in np.flatnonzero(found["code"] == UNSOLVED).tolist():
            self._guess(instance.chains(number), found[number : number + 1])
        outcome = self._outcome(
            found,
            found["reach"],
            lambda: instance.rule_of(found["levels"]) if (found["levels"] >= 0).all() else None,
            is_open=bool(found["truncated"].any()),
            n_absent=self._records(found["absent"] != 0),
            n_rules=instance.n_nodes,
        )
        return replace(outcome, not_monotone=False, complete=not (found["truncated"] == HALTED).any())

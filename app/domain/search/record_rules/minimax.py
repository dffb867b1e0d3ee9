"""The minimax rule of records over dictionaries (Definitions: unknown dictionaries), exact or bounded.

The greatest mean risk over the dictionaries couples the records: every combination of their nodes is a
candidate where rules are few.

For many records a rule is found, and how far from the best it can be. The sum over records of the greatest
loss over dictionaries is an upper bound of the greatest mean risk, and separable; its best rule stands in for
the minimax rule. The best rule against any one dictionary bounds the minimax from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.counting.calibration import SECONDS_PER_COMBINATION
from app.domain.search.blocks import SearchPlan
from app.domain.search.budget import Halted, HaltedError, never, stop_if
from app.domain.search.context import SearchContext
from app.domain.search.outcome import STATUSES, Bounds, Counters, Outcome, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.record_rules.blocks import unsolved_outcome
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, Criteria
from app.domain.tables.numbers import tie_margin

COMBINATIONS_LIMIT = 10**7
AT_ONCE = 2**18

FOUND = np.dtype([("code", "<i1"), ("ties", "<i8"), ("reach", "<f8"), ("records", "<i8"), ("looked", "<i8")])
Tick = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class _Part:
    """What one record may be disclosed as: nodes (k,), its losses (dictionaries, k) and utility (k,).

    ``reach`` is its greatest utility, before a floor under it is applied.
    """

    nodes: Longs
    losses: Floats
    utility: Floats
    reach: float

    def weighted(self, share: float) -> _Part:
        """The part's contribution to the means; a record of weight 0 contributes nothing."""
        losses = self.losses * share if share else np.zeros_like(self.losses)
        return _Part(self.nodes, losses, self.utility * share, self.reach)


def n_combinations(instance: RecordInstance) -> float:
    """Rules for all records, the product of the sizes of their lattices."""
    return float(np.prod(instance.n_own_nodes(slice(None))[instance.of_record]))


class JointPlan:
    """Looks at every combination of the records' nodes, in one block."""

    n_blocks = 1
    solver = "enumeration"

    def __init__(self, instance: RecordInstance, asked: Problem) -> None:
        self._instance = instance
        self._asked = asked
        self._problem = asked.in_utility(instance.context.utility)
        self._each = asked.objective.kind == "min_risk" and asked.constraint == "per_record"
        self.units = int(n_combinations(instance))

    @property
    def seconds(self) -> float:
        """Estimated time of three passes over the combinations."""
        per_combination = SECONDS_PER_COMBINATION * len(self._instance.exposure.priors)
        return self._instance.seconds(1) + self.units * per_combination

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance and the combinations that are looked at together."""
        return self._instance.n_bytes + 8 * AT_ONCE * (len(self._instance.exposure.priors) + 6)

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """What was found, and the node of each record if there is a rule; nothing if it was halted."""

        def advance(done: int) -> None:
            tick(done)
            stop_if(halted)

        try:
            # The candidates of every record of the table
            instance, problem = self._instance, self._problem
            instance.prepare(range(instance.n_distinct), lambda: advance(0))
            of_distinct = []
            for start in range(0, instance.n_distinct, instance.rows_at_once):
                rows = np.arange(start, min(instance.n_distinct, start + instance.rows_at_once))
                lattices, beyond = instance.evaluate(rows), instance.beyond_top(rows)
                for column in range(len(rows)):
                    utility = lattices.utility[:, column]
                    held = np.ones(len(utility), dtype=bool) if beyond is None else ~beyond[:, column]
                    if self._each:
                        held &= utility >= problem.objective.lowest_utility
                    losses = np.stack([loss[held, column] for loss in lattices.losses])
                    of_distinct.append(
                        _Part(np.flatnonzero(held), losses, utility[held], float(utility.max()))
                    )
            weights = instance.context.table.weights
            shares = np.ones(len(instance.of_record)) if weights is None else weights
            parts = [
                of_distinct[record].weighted(share / instance.context.total_weight)
                for record, share in zip(instance.of_record.tolist(), shares.tolist(), strict=True)
            ]
            short = [part.reach for part in parts if not len(part.nodes)]
            if short:
                found = np.array([(INFEASIBLE, 0, min(short), len(short), 0)], dtype=FOUND)
                return found.tobytes()
            found, place = self._search(parts, advance)
            nodes = [part.nodes[at] for part, at in zip(parts, place, strict=True)]
            return found.tobytes() + np.array(nodes, dtype="<i8").tobytes()
        except HaltedError:
            return b""

    def _search(self, parts: Sequence[_Part], tick: Tick) -> tuple[np.ndarray, Sequence[int]]:
        """The best combination: its value, the best second criterion, then the first of those left."""
        best, reach, done = math.inf, math.inf, 0
        feasible = False
        for _, risk, criteria in self._chunks(parts):
            if criteria.feasible.any():
                feasible = True
                best = min(best, float(criteria.first[criteria.feasible].min()))
            aim = risk if self._problem.objective.kind == "max_utility" else criteria.second
            reach = min(reach, float(aim.min()))
            done += len(risk)
            tick(done)
        if self._problem.objective.kind != "max_utility":
            reach = -reach
        place: Sequence[int] = [0] * len(parts)
        if not feasible or best == math.inf:
            code = PROHIBITED if feasible else INFEASIBLE
            return np.array([(code, 0, reach, len(parts), done)], dtype=FOUND), place
        ties, second = 0, math.inf
        for _, _, criteria in self._chunks(parts):
            tied = criteria.feasible & (criteria.first <= best + tie_margin(best))
            ties += int(tied.sum())
            second = min(second, float(criteria.second[tied].min(initial=math.inf)))
        for first, _, criteria in self._chunks(parts):
            tied = criteria.feasible & (criteria.first <= best + tie_margin(best))
            tied &= criteria.second <= second + tie_margin(second)
            if tied.any():
                at = first + int(tied.argmax())
                place = [int(v) for v in np.unravel_index(at, [len(part.nodes) for part in parts])]
                break
        return np.array([(OPTIMAL, ties, reach, 0, done)], dtype=FOUND), place

    def _chunks(self, parts: Sequence[_Part]) -> Iterator[tuple[int, Floats, Criteria]]:
        """Runs of combinations in lexicographic order: the first one's number, their risks and criteria."""
        split, inner = len(parts), 1
        while split and inner * len(parts[split - 1].nodes) <= AT_ONCE:
            split -= 1
            inner *= len(parts[split].nodes)
        n_dictionaries = len(self._instance.exposure.priors)
        losses, utility = np.zeros((n_dictionaries, 1)), np.zeros(1)
        for part in parts[split:]:
            losses = (losses[:, :, None] + part.losses[:, None, :]).reshape(n_dictionaries, -1)
            utility = (utility[:, None] + part.utility).reshape(-1)
        for number, chosen in enumerate(np.ndindex(*(len(part.nodes) for part in parts[:split]))):
            before, gained = np.zeros((n_dictionaries, 1)), 0.0
            for part, at in zip(parts, chosen, strict=False):
                before = before + part.losses[:, at : at + 1]
                gained += float(part.utility[at])
            risk = (losses + before).max(axis=0)
            criteria = Criteria.of(risk, utility + gained, self._problem.objective)
            if self._each:
                # Every candidate has the least utility; the mean of equal ones may round below it.
                criteria = Criteria(np.ones(len(risk), dtype=bool), criteria.first, criteria.second)
            yield number * inner, risk, criteria

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The minimax rule, or what keeps the records from having one."""
        instance = self._instance
        if not blocks.get(0):
            return unsolved_outcome(instance, self._asked, self._problem, self.solver)
        head = np.frombuffer(blocks[0], dtype=FOUND, count=1)[0]
        code, n = int(head["code"]), int(head["records"])
        outcome = Outcome.of(
            instance.context,
            self._asked,
            self.solver,
            STATUSES[code],
            instance.rule_of(np.frombuffer(blocks[0], dtype="<i8", offset=FOUND.itemsize))
            if code == OPTIMAL
            else None,
            absent=instance.n_absent,
            n_rules=instance.n_nodes,
            counters=Counters(*[int(head["looked"])] * 3),
        )
        if code == INFEASIBLE:
            short = shortfall_of(instance.context, self._asked, float(head["reach"]), n)
            return replace(outcome, shortfall=short)
        return replace(outcome, optimal_rules=int(head["ties"])) if code == OPTIMAL else outcome


class MinimaxPlan:
    """The blocks of the stand-in, then those against each dictionary alone.

    Parameters
    ----------
    stand_in
        The same problem with the view ``worst_case_per_record``.
    alone
        The same problem against each dictionary.
    """

    solver = "worst_case_per_record"

    def __init__(
        self, context: SearchContext, asked: Problem, stand_in: SearchPlan, alone: Sequence[SearchPlan]
    ) -> None:
        self._context = context
        self._asked = asked
        self._problem = asked.in_utility(context.utility)
        self._parts = [stand_in, *alone]
        self.n_blocks = sum(part.n_blocks for part in self._parts)
        self.units = sum(part.units for part in self._parts)

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks of all parts."""
        return sum(part.seconds for part in self._parts)

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the stand-in and every dictionary alone, which live side by side."""
        return sum(part.n_bytes for part in self._parts)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Compute a block of the part that it belongs to."""
        for part in self._parts:
            if index < part.n_blocks:
                return part.run_block(index, tick, halted)
            index -= part.n_blocks
        raise IndexError("there is no such block")

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The stand-in's rule with its true greatest risk, and what no rule can fall below."""
        outcomes, first = [], 0
        for part in self._parts:
            own = range(first, first + part.n_blocks)
            outcomes.append(part.combine({index - first: blocks[index] for index in own if index in blocks}))
            first += part.n_blocks
        stand_in, *alone = outcomes
        counters = Counters(
            sum(outcome.counters.visited_nodes for outcome in outcomes),
            sum(outcome.counters.risk_evaluations for outcome in outcomes),
            sum(outcome.counters.utility_evaluations for outcome in outcomes),
        )
        complete = all(outcome.complete for outcome in outcomes)
        found = replace(
            stand_in,
            problem=self._asked,
            solver=self.solver,
            counters=counters,
            optimal_rules=None,
            records_with_ties=None,
            complete=complete,
        )
        refused = [outcome for outcome in alone if outcome.status == "infeasible"]
        if refused:
            # What one dictionary rules out, the worst of all rules out too.
            worst = max(refused, key=lambda outcome: outcome.shortfall.by if outcome.shortfall else math.inf)
            return replace(found, status="infeasible", rule=None, score=None, shortfall=worst.shortfall)
        if stand_in.status == "prohibited":
            return found
        lower = max(outcome.bounds.lower for outcome in alone if outcome.bounds is not None)
        if stand_in.rule is None:
            return replace(found, status="heuristic", shortfall=None, bounds=Bounds(lower, math.inf))
        found = replace(found, status="optimal").with_rule(self._context, stand_in.rule)
        return found.unless_above(lower)

"""The minimax rule for single records, where rules are few (Definitions: unknown dictionaries).

The greatest mean risk over the dictionaries couples the records: every combination of their nodes is a
candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.numbers import lowest_accepted, tie_margin
from app.domain.search.axes import Floats, Longs
from app.domain.search.budget import Halted, HaltedError, never, stop_if
from app.domain.search.outcome import Counters, Outcome, Status, proven, score, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.records.record_instance import RecordInstance
from app.domain.search.records.unsolved import unsolved_outcome
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, Criteria

COMBINATIONS_LIMIT = 10**7
AT_ONCE = 2**18
SECONDS_PER_COMBINATION = 1e-7
STATUSES: dict[int, Status] = {OPTIMAL: "optimal", INFEASIBLE: "infeasible", PROHIBITED: "prohibited"}

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
    return float(np.prod(instance.n_own_nodes()[instance.of_record]))


class JointPlan:
    """Looks at every combination of the records' nodes, in one block."""

    n_blocks = 1
    solver = "enumeration"

    def __init__(self, instance: RecordInstance, asked: Problem) -> None:
        self._instance = instance
        self._asked = asked
        self._problem = asked.in_utility(instance.context.utility)
        self._each = asked.objective == "min_risk" and asked.constraint == "per_record"
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
            return self._found(advance)
        except HaltedError:
            return b""

    def _found(self, tick: Tick) -> bytes:
        parts = self._parts(tick)
        short = [part.reach for part in parts if not len(part.nodes)]
        if short:
            found = np.array([(INFEASIBLE, 0, min(short), len(short), 0)], dtype=FOUND)
            return found.tobytes()
        found, place = self._search(parts, tick)
        nodes = [part.nodes[at] for part, at in zip(parts, place, strict=True)]
        return found.tobytes() + np.array(nodes, dtype="<i8").tobytes()

    def _parts(self, tick: Tick) -> list[_Part]:
        """The candidates of every record of the table."""
        instance, problem = self._instance, self._problem
        instance.prepare(range(instance.n_distinct), lambda: tick(0))
        of_distinct = []
        for start in range(0, instance.n_distinct, instance.rows_at_once):
            rows = np.arange(start, min(instance.n_distinct, start + instance.rows_at_once))
            lattices, beyond = instance.evaluate(rows), instance.beyond_top(rows)
            for column in range(len(rows)):
                utility = lattices.utility[:, column]
                held = np.ones(len(utility), dtype=bool) if beyond is None else ~beyond[:, column]
                if self._each:
                    held &= utility >= lowest_accepted(problem.threshold)
                losses = np.stack([loss[held, column] for loss in lattices.losses])
                of_distinct.append(_Part(np.flatnonzero(held), losses, utility[held], float(utility.max())))
        weights = instance.context.table.weights
        shares = np.ones(len(instance.of_record)) if weights is None else weights
        return [
            of_distinct[record].weighted(share / instance.context.total_weight)
            for record, share in zip(instance.of_record.tolist(), shares.tolist(), strict=True)
        ]

    def _search(self, parts: Sequence[_Part], tick: Tick) -> tuple[np.ndarray, Sequence[int]]:
        """The best combination: its value, the best second criterion, then the first of those left."""
        best, reach, done = math.inf, math.inf, 0
        feasible = False
        for _, risk, criteria in self._chunks(parts):
            if criteria.feasible.any():
                feasible = True
                best = min(best, float(criteria.first[criteria.feasible].min()))
            aim = risk if self._problem.objective == "max_utility" else criteria.second
            reach = min(reach, float(aim.min()))
            done += len(risk)
            tick(done)
        if self._problem.objective != "max_utility":
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
            criteria = Criteria.of(risk, utility + gained, self._problem)
            if self._each:
                # Every candidate has the least utility; the mean of equal ones may round below it.
                criteria = Criteria(np.ones(len(risk), dtype=bool), criteria.first, criteria.second)
            yield number * inner, risk, criteria

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The minimax rule, or what keeps the records from having one."""
        instance, problem = self._instance, self._problem
        if not blocks.get(0):
            return unsolved_outcome(instance, self._asked, problem, self.solver)
        head = np.frombuffer(blocks[0], dtype=FOUND, count=1)[0]
        code, n = int(head["code"]), int(head["records"])
        rule = scored = objective = bounds = shortfall = None
        if code == OPTIMAL:
            rule = instance.rule_of(np.frombuffer(blocks[0], dtype="<i8", offset=FOUND.itemsize))
            scored, objective = score(instance.context, problem, rule)
            bounds = proven(problem, objective)
        elif code == INFEASIBLE:
            shortfall = shortfall_of(instance.context, self._asked, float(head["reach"]), n)
        return Outcome(
            problem=self._asked,
            solver=self.solver,
            status=STATUSES[code],
            rule=rule,
            score=scored,
            objective=objective,
            optimal_rules=int(head["ties"]) if code == OPTIMAL else None,
            bounds=bounds,
            shortfall=shortfall,
            prohibited_records=0,
            absent=instance.n_absent,
            n_rules=instance.n_nodes,
            counters=Counters(*[int(head["looked"])] * 3),
            risk_map=None,
            attributes=instance.context.table.attributes,
            not_monotone=not instance.context.harm_is_monotone,
        )

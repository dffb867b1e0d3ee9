"""Distinct records cut in blocks, what was found for each of them as packed rows, and what becomes of it.

For records that a search was stopped before, something stands in for the optimum. A few nodes are tried on
all records at once, by the path that scores any rule: every record as it is, all of it suppressed, and what
most of the solved records are disclosed as.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Longs
from app.domain.risk.attackers import View
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, HaltedError, never
from app.domain.search.context import SearchContext
from app.domain.search.lattices.branch_and_bound import Found
from app.domain.search.outcome import (
    Counters,
    Outcome,
    Score,
    Status,
    least_objective,
    score,
    shortfall_of,
)
from app.domain.search.problem import Problem
from app.domain.search.record_rules.choices import Curves
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.selection import INFEASIBLE, PROHIBITED, Criteria
from app.domain.tables.numbers import exact_sum, tie_margins

UNSOLVED = 3
"""Of the field ``code`` beside those of :mod:`selection`: a halt came before the record."""

HALTED = 2
"""Of the field ``truncated``: it was not the budget that ended the search of a record."""

T = TypeVar("T", bound=np.generic)

POPULAR = 4


def block_of(units: int, n_blocks: int, index: int) -> range:
    """The units of one of so many blocks, as even as they can be."""
    return range(units * index // n_blocks, units * (index + 1) // n_blocks)


class DistinctRecords(Protocol):
    """The distinct records of a table: records of each, and their weight (d,)."""

    context: SearchContext
    multiplicity: Longs
    mass: Floats


class RecordSearch(ABC):
    """A search of every distinct record for itself; a block is a range of records, with a row for each.

    ``row_type`` has the fields ``code`` and ``bound``, the least that the record adds to what is minimised.
    Subclasses fill rows in and say what they come to.
    """

    solver: str

    def __init__(
        self, asked: Problem, distinct: DistinctRecords, row_type: np.dtype[np.void], per_block: int
    ) -> None:
        self._asked = asked
        self._problem = asked.in_utility(distinct.context.utility)
        self._distinct = distinct
        self._row_type = row_type
        self.units = len(distinct.multiplicity)
        self.n_blocks = max(1, math.ceil(self.units / per_block))

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What was found for the block's records as packed rows; UNSOLVED where a halt came first."""
        rows = block_of(self.units, self.n_blocks, index)
        found = self._unsolved(len(rows))
        with suppress(HaltedError):
            self._solve(rows, found, tick, halted)
        return found.tobytes()

    @abstractmethod
    def _solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        """Fill in the rows of some records; HaltedError or an early end leaves rows as they are."""

    def _unsolved(self, n_records: int) -> npt.NDArray[np.void]:
        """Rows of records for which nothing was found yet."""
        found = np.zeros(n_records, dtype=self._row_type)
        found["code"] = UNSOLVED
        return found

    def _joined(self, blocks: Mapping[int, bytes]) -> npt.NDArray[np.void]:
        """The rows of all records; UNSOLVED those of blocks that are missing."""
        if len(blocks) == self.n_blocks:
            return np.concatenate(
                [np.frombuffer(blocks[i], dtype=self._row_type) for i in range(self.n_blocks)]
            )
        found = self._unsolved(self.units)
        for index, block in blocks.items():
            rows = block_of(self.units, self.n_blocks, index)
            found[rows.start : rows.stop] = np.frombuffer(block, dtype=self._row_type)
        return found

    def _mean(self, values: Floats) -> float:
        """Mean over the table of what each distinct record has; those of weight 0 contribute nothing."""
        mass = self._distinct.mass
        counted = mass > 0
        return exact_sum(values[counted] * mass[counted]) / self._distinct.context.total_weight

    def _records(self, which: Bools) -> int:
        """Records of the table that some distinct ones stand for."""
        return int(self._distinct.multiplicity[which].sum())

    def _outcome(
        self,
        found: npt.NDArray[np.void],
        reach: Floats,
        rule_of: Callable[[], Rule | None],
        *,
        is_open: bool,
        n_absent: int,
        n_rules: int,
    ) -> Outcome:
        """The rule of all records, or what keeps some of them from having one.

        ``reach`` (d,) is the greatest utility or least risk of those that are infeasible. Where a record's
        optimum is not proved (``is_open``) bounds count.
        """
        context, asked = self._distinct.context, self._asked
        infeasible, prohibited = found["code"] == INFEASIBLE, found["code"] == PROHIBITED
        status: Status = "heuristic" if is_open else "optimal"
        rule = shortfall = None
        if infeasible.any():
            status = "infeasible"
            missed = reach[infeasible]
            worst = float(missed.min() if asked.objective.kind == "min_risk" else missed.max())
            shortfall = shortfall_of(context, asked, worst, self._records(infeasible))
        elif prohibited.any():
            status = "prohibited"
        else:
            rule = rule_of()
        apart = "risks" in (self._row_type.names or ())
        counted = ("visited", "risks", "utilities") if apart else ("visited",) * 3
        counters = Counters(*(int(found[name].sum()) for name in counted))
        outcome = Outcome.of(
            context, asked, self.solver, status, rule, absent=n_absent, n_rules=n_rules, counters=counters
        )
        if rule is not None and is_open:
            outcome = outcome.bounded_by(self._mean(found["bound"]))
        return replace(outcome, shortfall=shortfall, prohibited_records=self._records(prohibited))


def write_found(row: npt.NDArray[np.void], found: Found) -> None:
    """What the search of one record's lattice found, but for the node."""
    row["code"], row["bound"], row["reach"] = found.code, found.bound, found.reach
    row["truncated"] = HALTED if found.halted else found.truncated
    row["visited"], row["risks"] = found.visited_nodes, found.risk_evaluations
    row["utilities"] = found.utility_evaluations


@dataclass(frozen=True, eq=False)
class Tried:
    """Nodes (c,) that were tried on all distinct records: their risks and utilities (c, d)."""

    nodes: Longs
    risk: Floats
    utility: Floats

    @property
    def most_utility(self) -> Floats:
        """Utility of each record as it is."""
        greatest: Floats = self.utility[0]
        return greatest


def popular(nodes: npt.NDArray[np.integer], multiplicity: npt.NDArray[np.integer]) -> list[int]:
    """The nodes that most records have; negative ones are none."""
    held = nodes >= 0
    values, place = np.unique(nodes[held], return_inverse=True)
    records = np.bincount(place.reshape(-1), multiplicity[held], minlength=len(values))
    return [int(v) for v in values[np.argsort(-records, kind="stable")[:POPULAR]]]


def try_on_all(instance: RecordInstance, problem: Problem, more: Sequence[int] = ()) -> Tried:
    """Score the identity, full suppression and ``more`` nodes on every distinct record."""
    nodes = [0, instance.n_nodes - 1, *more]
    n = len(instance.of_record)
    first = np.zeros(instance.n_distinct, dtype=np.int64)
    first[instance.of_record[::-1]] = np.arange(n)[::-1]
    pairs = []
    for node in nodes:
        found, _ = score(instance.context, problem, instance.rule_of(np.full(n, node)))
        risk, utility = per_record(found, problem)
        pairs.append((risk[first], utility[first]))
    risks, utilities = zip(*pairs, strict=True)
    return Tried(np.array(nodes, dtype=np.int64), np.stack(risks), np.stack(utilities))


def per_record(found: Score, problem: Problem) -> tuple[Floats, Floats]:
    """Risk and utility of each record of the table (n,) as a search of single records sees them."""
    if found.in_set is None:
        if found.assessment is None:
            raise ValueError("a rule is scored against one dictionary or several")
        return found.assessment.records.loss, found.assessment.records.utility
    view: View = "bayes" if problem.view == "bayes" else "worst_case_per_record"
    return found.in_set.view(view).loss, found.in_set.assessments[0].records.utility


def bounds_of(instance: RecordInstance, problem: Problem, tried: Tried) -> Floats:
    """What each record's share of the objective, as it is minimised, cannot fall below (d,)."""
    context = instance.context
    lowest = np.array([least_objective(problem, context.model, most) for most in tried.most_utility.tolist()])
    # A harm of failed identification may exceed Φ, and then grows as more are consistent.
    is_sound = context.harm_is_monotone and context.failure is None
    is_sound &= not instance.n_absent and problem.view != "worst_case"
    if problem.objective.kind != "min_risk" or not is_sound:
        return lowest
    # Where somebody is consistent with every original, nothing has less risk than full suppression.
    least: Floats = np.maximum(lowest, tried.risk[1] - tie_margins(tried.risk[1]))
    return least


def hopeful(curves: Curves, at: Longs, tried: Tried, bounds: Floats) -> Curves:
    """The curves with, for the records ``at``, one point that no choice of theirs is better than."""
    keep = np.ones((1, len(at)), dtype=bool)
    return _with_points(
        curves, at, keep, tried.most_utility[None, at], bounds[None, at], tried.nodes[:1, None]
    )


def cautious(curves: Curves, at: Longs, tried: Tried, floor: float | None) -> Curves:
    """The curves with, for the records ``at``, the best of the nodes that were tried on them."""
    risk, utility = tried.risk[:, at], tried.utility[:, at]
    keep = np.isfinite(risk) if floor is None else np.isfinite(risk) & (utility >= floor)
    for i in range(len(risk)):
        for k in range(len(risk)):
            no_worse = keep[k] & (utility[k] >= utility[i]) & (risk[k] <= risk[i])
            is_equal = (utility[k] == utility[i]) & (risk[k] == risk[i])
            keep[i] &= ~(no_worse & (~is_equal | (k < i)))
    order = np.argsort(utility, axis=0, kind="stable")
    ordered = [np.take_along_axis(part, order, axis=0) for part in (utility, risk)]
    return _with_points(
        curves, at, np.take_along_axis(keep, order, axis=0), ordered[0], ordered[1], tried.nodes[order]
    )


def _with_points(
    curves: Curves, at: Longs, keep: Bools, utility: Floats, risk: Floats, node: Longs
) -> Curves:
    """The curves with the kept points (c, len(at)), in their order, for records that had none."""
    lengths = np.diff(curves.starts)
    owner = np.concatenate([np.repeat(np.arange(len(lengths)), lengths), np.repeat(at, keep.sum(axis=0))])
    order = np.argsort(owner, kind="stable")

    def joined(old: npt.NDArray[T], new: npt.NDArray[T]) -> npt.NDArray[T]:
        return np.concatenate([old, np.broadcast_to(new, keep.shape).T[keep.T]])[order]

    reach = curves.reach.copy()
    reach[at] = utility.max(axis=0)
    return Curves(
        np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(lengths)))]).astype(np.int64),
        joined(curves.utility, utility),
        joined(curves.risk, risk),
        joined(curves.node, node),
        reach,
    )


def unsolved_outcome(instance: RecordInstance, asked: Problem, problem: Problem, solver: str) -> Outcome:
    """Of a search that was stopped before it found anything: the better of disclosing all and nothing."""
    context = instance.context
    tried = try_on_all(instance, problem)
    shares = instance.mass / context.total_weight
    counted = instance.mass > 0
    bound = float((bounds_of(instance, problem, tried) * shares)[counted].sum())
    best, chosen = np.inf, None
    reached = [-np.inf]
    for node, utility in zip(tried.nodes.tolist(), tried.utility, strict=True):
        rule = instance.rule_of(np.full(len(instance.of_record), node))
        scored, _ = score(context, problem, rule)
        criteria = Criteria.of(np.array(scored.risk), np.array(scored.utility), problem.objective)
        is_feasible = bool(criteria.feasible)
        if problem.objective.kind == "min_risk" and problem.constraint == "per_record":
            is_feasible = bool((utility >= problem.objective.lowest_utility).all())
        reached.append(float(utility.min()) if problem.constraint == "per_record" else scored.utility)
        if is_feasible and criteria.first < best:
            best, chosen = float(criteria.first), rule
    is_short = max(reached) < problem.objective.lowest_utility
    outcome = Outcome.of(
        context,
        asked,
        solver,
        "infeasible" if is_short else "heuristic",
        chosen,
        absent=instance.n_absent,
        n_rules=instance.n_nodes,
        counters=Counters(*[len(tried.nodes)] * 3),
    )
    if is_short:
        shortfall = shortfall_of(context, asked, max(reached), len(instance.of_record))
        return replace(outcome, shortfall=shortfall, complete=False)
    return replace(outcome.bounded_by(bound), complete=False)

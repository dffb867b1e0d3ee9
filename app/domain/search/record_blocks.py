"""Distinct records cut in blocks, what was found for each of them as packed rows, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.numbers import exact_sum
from app.domain.rules.rule import Rule
from app.domain.search.context import SearchContext
from app.domain.search.outcome import Bounds, Counters, Outcome, Status, proven, score, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, PROHIBITED

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

UNSOLVED = 3
"""Of the field ``code`` beside those of :mod:`selection`: a halt came before the record."""


def block_of(units: int, n_blocks: int, index: int) -> range:
    """The units of one of so many blocks, as even as they can be."""
    return range(units * index // n_blocks, units * (index + 1) // n_blocks)


@dataclass(frozen=True)
class RecordBlocks:
    """The cut of so many records in blocks, each record with a row of ``row_type``, which has a ``code``."""

    units: int
    n_blocks: int
    row_type: np.dtype[np.void]

    def rows(self, index: int) -> range:
        """The records of a block."""
        return block_of(self.units, self.n_blocks, index)

    def unsolved(self, n_records: int) -> npt.NDArray[np.void]:
        """Rows of records for which nothing was found yet."""
        found = np.zeros(n_records, dtype=self.row_type)
        found["code"] = UNSOLVED
        return found

    def joined(self, blocks: Mapping[int, bytes]) -> npt.NDArray[np.void]:
        """The rows of all records; UNSOLVED those of blocks that are missing."""
        found = self.unsolved(self.units)
        for index, block in blocks.items():
            rows = self.rows(index)
            found[rows.start : rows.stop] = np.frombuffer(block, dtype=self.row_type)
        return found


def mean_of_records(context: SearchContext, mass: Floats, values: Floats) -> float:
    """Mean over the table's records of what each distinct one has; those of weight 0 contribute nothing."""
    counted = mass > 0
    return exact_sum(values[counted] * mass[counted]) / context.total_weight


@dataclass(frozen=True, eq=False)
class SolvedRecords:
    """What a search of every distinct record for itself came to.

    Attributes
    ----------
    found
        (d,) rows with the fields ``code`` and ``bound``: the least that the record adds to what is minimised.
    reach
        (d,) the greatest utility or least risk of each, for those that are infeasible.
    multiplicity, mass
        (d,) records of each, and their weight.
    is_open
        Whether a record's optimum is not proved: bounds then count.
    """

    context: SearchContext
    asked: Problem
    found: npt.NDArray[np.void]
    reach: Floats
    multiplicity: Longs
    mass: Floats
    is_open: bool

    def outcome(
        self, solver: str, rule_of: Callable[[], Rule | None], n_absent: int, n_rules: int, counters: Counters
    ) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        context, problem, code = self.context, self.asked.in_utility(self.context.utility), self.found["code"]
        infeasible, prohibited = code == INFEASIBLE, code == PROHIBITED
        status: Status = "heuristic" if self.is_open else "optimal"
        rule = scored = objective = bounds = shortfall = None
        if infeasible.any():
            status = "infeasible"
            reach = self.reach[infeasible]
            worst = float(reach.min() if problem.objective == "min_risk" else reach.max())
            shortfall = shortfall_of(context, self.asked, worst, int(self.multiplicity[infeasible].sum()))
        elif prohibited.any():
            status = "prohibited"
        elif (rule := rule_of()) is not None:
            scored, objective = score(context, problem, rule)
            bounds = proven(problem, objective)
            if self.is_open:
                lower = mean_of_records(context, self.mass, self.found["bound"])
                bounds = Bounds(lower, max(0.0, bounds.lower - lower))
        return Outcome(
            problem=self.asked,
            solver=solver,
            status=status,
            rule=rule,
            score=scored,
            objective=objective,
            bounds=bounds,
            shortfall=shortfall,
            prohibited_records=int(self.multiplicity[prohibited].sum()),
            absent=n_absent,
            n_rules=n_rules,
            counters=counters,
            risk_map=None,
            attributes=context.table.attributes,
        )

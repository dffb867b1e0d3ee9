"""The plan of a search for the rule of least loss under k-anonymity: one block, since it is one sequence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from app.domain.rules import TableRule
from app.domain.search.anonymity.boxes import MOST_STEPS, BoxSearch
from app.domain.search.anonymity.checks import Checks
from app.domain.search.anonymity.class_sizes import KEPT_ROWS, Levels
from app.domain.search.anonymity.lattice import LatticeSearch
from app.domain.search.anonymity.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.outcome import Bounds, Counters, Status
from app.domain.tables import Table

RULES_HELD: Final = 2_000_000
ATTRIBUTES_HELD: Final = 32
BYTES_PER_RULE: Final = 100
STEPS: Final = 0.25
STEPS_SUPPRESSING: Final = 2.0
"""Rules checked per square root of the lattice's rules, without and with suppression: rough experience."""


@dataclass(frozen=True)
class _Found:
    """What a block found.

    ``levels`` is None if no rule is allowed, ``smallest_class`` None if the rule suppresses all records;
    ``bound`` is of the least loss.
    """

    levels: list[int] | None
    loss: float
    suppressed: int
    classes: int
    smallest_class: int | None
    bound: float
    proven: bool
    complete: bool
    visited: int
    counted: int
    evaluated: int


class AnonymityPlan:
    """A search for the rule of least loss; ``units`` are the rules of the lattice.

    Lattices of up to 2,000,000 rules are held in memory and searched until the optimum is proven. Larger
    ones are searched by boxes, which ends of itself after 200,000 steps with the best rule and a bound.
    """

    n_blocks = 1
    solver = "min_loss"

    def __init__(self, table: Table, problem: AnonymityProblem, budget: Budget = UNLIMITED) -> None:
        self._table = table
        self._problem = problem
        self._budget = budget
        self.units = math.prod(height + 1 for height in table.heights)
        for hierarchy in table.hierarchies:
            if hierarchy.height > 1:
                hierarchy.require_tree("A level of an attribute")

    @property
    def _holds_lattice(self) -> bool:
        return self.units <= RULES_HELD and self._table.n_attributes <= ATTRIBUTES_HELD

    @property
    def _steps(self) -> int:
        """Expected steps of the search; at most so many of one by boxes."""
        if self._holds_lattice:
            suppresses = self._problem.suppression_allowed(self._table.n_records) > 0
            steps = math.ceil((STEPS_SUPPRESSING if suppresses else STEPS) * math.sqrt(self.units))
        else:
            steps = MOST_STEPS
        return min(steps, self.units, self._budget.max_nodes or steps)

    @property
    def seconds(self) -> float:
        """Estimated time; of a search by boxes the most it can take."""
        rows, rules = self._table.reduced.size, self.units if self._holds_lattice else 0
        return 2e-3 + 2e-7 * rows + 4e-7 * rules + self._steps * (3e-4 + 1.5e-8 * rows + 2e-9 * rules)

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""
        rows = self._table.reduced.size * (32 * KEPT_ROWS + 128 * self._table.n_attributes)
        return rows + (BYTES_PER_RULE * self.units if self._holds_lattice else 2_000 * self._steps)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, as JSON; ``tick`` takes the rules checked so far."""
        checks = Checks(self._table, self._problem, self._budget, tick, halted)
        top = self._table.heights
        if checks.classes.below(top, checks.k) > checks.allowed:
            return _encoded(_Found(None, 1.0, 0, 0, None, 1.0, True, True, 1, 1, 0))
        search = LatticeSearch(checks) if self._holds_lattice else BoxSearch(checks)
        search.run()
        if checks.found() is None:
            # Halted before a rule was found: the rule that withholds everything is allowed.
            checks.evaluate(top, checks.suppressed(top))
        best = checks.found()
        if best is None:
            raise AssertionError("a rule was evaluated")
        return _encoded(_conclude(checks, best, search.least_open))

    def combine(self, blocks: Mapping[int, bytes]) -> AnonymityOutcome:
        """The best rule and a bound of the least loss; without the block, those known at once."""
        block = blocks[0] if 0 in blocks else self.run_block(0, lambda _: None, lambda: True)
        found = _Found(**json.loads(block))
        none = found.levels is None
        status: Status = "infeasible" if none else "optimal" if found.proven else "heuristic"
        return AnonymityOutcome(
            problem=self._problem,
            solver=self.solver,
            status=status,
            rule=None if found.levels is None else TableRule(tuple(found.levels)),
            loss=None if none else found.loss,
            suppressed_records=None if none else found.suppressed,
            suppression_allowed=self._problem.suppression_allowed(self._table.n_records),
            smallest_class=found.smallest_class,
            classes=None if none else found.classes,
            bounds=None if none else Bounds(found.bound, found.loss - found.bound),
            complete=found.complete,
            n_rules=self.units,
            counters=Counters(found.visited, found.counted, found.evaluated),
            attributes=self._table.attributes,
        )


def _conclude(checks: Checks, best: tuple[Levels, float, int], least_open: float) -> _Found:
    """The best rule with its classes, proven if nothing is open any more."""
    levels, loss, suppressed = best
    proven = math.isinf(least_open)
    classes, smallest = checks.classes.kept(levels, checks.k)
    return _Found(
        levels=list(levels),
        loss=loss,
        suppressed=suppressed,
        classes=classes,
        smallest_class=smallest,
        bound=loss if proven else max(0.0, min(loss, checks.loss.of_sum(least_open))),
        proven=proven,
        complete=not checks.halted,
        visited=checks.visited,
        counted=checks.counted,
        evaluated=checks.evaluated,
    )


def _encoded(found: _Found) -> bytes:
    return json.dumps(asdict(found), sort_keys=True).encode()

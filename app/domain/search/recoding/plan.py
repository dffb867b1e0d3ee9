"""The plan of a search for the recoding of single records that loses least: one block, as it is one sequence.

It begins with the best rule for the whole table. For *local recoding* the records that this rule withholds
get rules of their own, round after round; nothing else changes. For *record-level* rules classes are then
specialised and records moved between classes, from that recoding and from the one that withholds everything,
and the better is improved until no move helps. No answer loses more than the best rule for the table. The
bound is of all recodings (``bound``); only where it is met is the answer called optimal.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np

from app.domain.classes.quasi_part import rule_for
from app.domain.dictionaries import Dictionary
from app.domain.errors import NotSupported
from app.domain.losses.catalogue import loss_of
from app.domain.losses.cells import CellLoss
from app.domain.numbers import tie_margin
from app.domain.rules import Rule, TableRule
from app.domain.search.anonymity.plan import AnonymityPlan
from app.domain.search.anonymity.problem import AnonymityOutcome, AnonymityProblem, Attained
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.outcome import Bounds
from app.domain.search.recoding.alone import MOST_KEPT
from app.domain.search.recoding.bound import LossBound
from app.domain.search.recoding.cells import Bools, Cells
from app.domain.search.recoding.demands import NO_CLASS, Demands
from app.domain.search.recoding.improvement import improve
from app.domain.search.recoding.moves import specialise
from app.domain.search.recoding.recoding import Recoding
from app.domain.search.recoding.rounds import Round, recode_withheld
from app.domain.tables import Table

FEW_RULES: Final = 50_000
"""Lattices of so many rules are searched for the best one before records get levels of their own."""
MOST_BEFORE: Final = 100
"""Rules of a larger lattice that are visited before: enough for a good one."""
STEPS_EXPECTED: Final = 400
"""Batches of moves of a search, roughly: a sweep has one per pair of attributes and per rule joined."""

Levels = tuple[int, ...]


@dataclass(frozen=True)
class _Found:
    """What a block found.

    ``for_table`` is the packed answer of the search for a rule of the whole table. ``steps`` (d, q) are
    packed and None if nothing better than that rule was found; what follows is of them. ``bound`` is of the
    least loss of all recodings, None if there are none.
    """

    for_table: str
    steps: str | None = None
    loss: float = math.inf
    suppressed: int = 0
    classes: int = 0
    smallest_class: int | None = None
    attained: Sequence[float | None] = ()
    rounds: Sequence[tuple[Sequence[int], int]] = ()
    bound: float | None = None
    complete: bool = True
    visited: int = 0


class _Steps:
    """Counts the steps of a search and says when it has to end."""

    def __init__(self, budget: Budget, used: int, tick: Callable[[int], None], halted: Halted) -> None:
        self.visited = used
        self.halted = False
        self._most = math.inf if budget.max_nodes is None else budget.max_nodes
        self._tick = tick
        self._is_halted = halted

    def goes_on(self) -> bool:
        """Count a step, if there may be another one."""
        self.halted = self.halted or self._is_halted()
        if self.halted or self.visited >= self._most:
            return False
        self.visited += 1
        self._tick(self.visited)
        return True


class RecodingPlan:
    """A search for the recoding of single records that loses least; ``units`` are steps, roughly.

    Raises NotSupported for losses that are no sums over cells, for criteria that compare with a population
    and for hierarchies that are no trees.
    """

    n_blocks = 1
    solver = "min_loss"

    def __init__(
        self,
        table: Table,
        problem: AnonymityProblem,
        budget: Budget = UNLIMITED,
        dictionary: Dictionary | None = None,
    ) -> None:
        self._table = table
        self._problem = problem
        self._budget = budget
        self._loss = _cell_loss(table, problem)
        self._for_table = AnonymityPlan(table, problem, _begin_with(table, problem, budget), dictionary)
        self.units = self._for_table.units + STEPS_EXPECTED
        for j in table.quasi_identifiers:
            table.hierarchies[j].require_tree("A level for single records")

    @property
    def seconds(self) -> float:
        """Estimated time."""
        cells = self._table.reduced.size * len(self._table.quasi_identifiers)
        most = self._budget.max_nodes or STEPS_EXPECTED
        return self._for_table.seconds + min(most, STEPS_EXPECTED) * (2e-3 + 6e-8 * cells) + 1e-5 * cells

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""
        cells = self._table.reduced.size * len(self._table.quasi_identifiers)
        return self._for_table.n_bytes + 120 * cells + 8 * MOST_KEPT

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, as JSON; ``tick`` takes the steps made so far."""
        block = self._for_table.run_block(0, tick, halted)
        packed = base64.b64encode(zlib.compress(block)).decode("ascii")
        start = self._for_table.combine({0: block})
        if any(refusal.criterion for refusal in start.refusals):
            # What one class of all records cannot be split into is no recoding either.
            return _encoded(_Found(packed, bound=None))
        steps = _Steps(self._budget, start.counters.visited_nodes, tick, halted)
        search = _Search(self._table, self._problem, self._loss, start, steps)
        return _encoded(search.run(packed, self._budget))

    def combine(self, blocks: Mapping[int, bytes]) -> AnonymityOutcome:
        """The best recoding and a bound of the least loss; without the block, those known at once."""
        block = blocks[0] if 0 in blocks else self.run_block(0, lambda _: None, lambda: True)
        found = _Found(**json.loads(block))
        inner = zlib.decompress(base64.b64decode(found.for_table))
        start = replace(self._for_table.combine({0: inner}), problem=self._problem)
        if found.bound is None or (self._problem.scope == "table_level" and start.status == "infeasible"):
            # Local recoding has nothing to begin with, or there is no recoding at all.
            return start
        counters = replace(start.counters, visited_nodes=found.visited)
        complete = start.complete and found.complete
        start = replace(start, complete=complete, counters=counters, table_level_loss=start.loss)
        if found.steps is None:
            return _bounded(start, start.loss, found.bound)
        outcome = replace(
            start,
            rule=self._rule(found.steps),
            loss=found.loss,
            suppressed_records=found.suppressed,
            smallest_class=found.smallest_class,
            classes=found.classes,
            privacy=tuple(map(Attained, self._problem.privacy, found.attained)),
            refusals=(),
            rounds=tuple((rule_for(self._table, tuple(levels)), records) for levels, records in found.rounds),
        )
        return _bounded(outcome, found.loss, found.bound)

    def withheld(self, levels: Levels) -> Bools:
        """Whose records (n,) a rule for the whole table withholds, if that is the answer."""
        return self._for_table.withheld(levels)

    def _rule(self, packed: str) -> Rule:
        cells = Cells(self._table, self._loss)
        flat = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype="<i2")
        steps = flat.reshape(cells.most.shape, order="F")
        return cells.rule(steps, hides_sensitive=self._problem.suppressed == "excluded")


class _Search:
    """One search, from the best rule for the whole table on."""

    def __init__(
        self,
        table: Table,
        problem: AnonymityProblem,
        loss: CellLoss,
        start: AnonymityOutcome,
        steps: _Steps,
    ) -> None:
        self._problem = problem
        self._start = start
        self._steps = steps
        self._cells = Cells(table, loss)
        self._demands = Demands(table, problem)

    def run(self, packed: str, budget: Budget) -> _Found:
        """The best recoding, with a bound."""
        best, rounds = self._beginning()
        bound = LossBound(self._cells, self._demands)
        bound.raise_by("little", _loss_of(best), self._steps.goes_on)
        if self._problem.scope == "record_level":
            best, rounds = self._specialised(best), []
        bound.raise_by("some", _loss_of(best), self._steps.goes_on)
        if self._problem.scope == "record_level":
            bound.raise_by("much", _loss_of(best), self._steps.goes_on)
            if best is not None:
                improve(best, lambda loss: budget.suffices(loss, bound.least), self._steps.goes_on)
        least = min(bound.least, _loss_of(best))
        found = _Found(packed, bound=least, complete=not self._steps.halted, visited=self._steps.visited)
        return found if best is None else self._described(found, best, rounds)

    def _beginning(self) -> tuple[Recoding | None, list[Round]]:
        """The best rule for the table with what it withholds recoded."""
        if not isinstance(self._start.rule, TableRule):
            return None, []
        levels = tuple(self._start.rule.levels[j] for j in self._cells.attributes)
        steps = self._cells.at_levels(levels)
        classes, n_classes = self._cells.classes(self._cells.codes(steps))
        gone = self._demands.to_withhold(classes.astype(np.int64), n_classes)
        steps[gone] = self._cells.most[gone]
        best = Recoding(self._cells, self._demands, steps)
        # A class that the rule discloses as ⊥ throughout is withheld if records have levels of their own.
        if not best.is_valid:
            return None, []
        return best, recode_withheld(best, self._steps.goes_on)

    def _specialised(self, begun: Recoding | None) -> Recoding | None:
        """The best of what specialising makes of the beginning, and of everything withheld."""
        candidates = [] if begun is None else [begun]
        everything = Recoding(self._cells, self._demands, self._cells.most)
        candidates.append(everything)
        for recoding in candidates:
            specialise(recoding, self._steps.goes_on)
        valid = [recoding for recoding in candidates if recoding.is_valid]
        return min(valid, key=lambda recoding: recoding.loss, default=None)

    def _described(self, found: _Found, best: Recoding, rounds: list[Round]) -> _Found:
        """The recoding, if it loses less than the best rule for the table."""
        least = math.inf if self._start.loss is None else self._start.loss
        loss = best.loss
        if loss >= least - tie_margin(least):
            return found
        of = np.where(self._cells.is_withheld(best.steps), NO_CLASS, best.of)
        remaining = self._demands.judged(of, best.n_classes)
        raw = best.steps.astype("<i2").tobytes("F")
        return replace(
            found,
            steps=base64.b64encode(zlib.compress(raw)).decode("ascii"),
            loss=loss,
            suppressed=best.withheld_records,
            classes=remaining.n_classes,
            smallest_class=int(remaining.sizes.min()) if remaining.n_classes else None,
            attained=[own.attained(remaining) for own in self._problem.privacy],
            rounds=[(own.levels, own.records) for own in rounds],
        )


def _begin_with(table: Table, problem: AnonymityProblem, budget: Budget) -> Budget:
    """What the search for a rule of the whole table may use.

    A search for single records needs a good beginning, half of what it may visit at most, and where proving
    the best takes long no proof.
    """
    if problem.scope == "table_level":
        return budget
    rules = math.prod(table.heights[j] + 1 for j in table.quasi_identifiers)
    half = None if budget.max_nodes is None else max(1, budget.max_nodes // 2)
    if rules <= FEW_RULES:
        return replace(budget, max_nodes=half)
    return replace(budget, max_nodes=min(MOST_BEFORE, half or MOST_BEFORE))


def _loss_of(recoding: Recoding | None) -> float:
    return math.inf if recoding is None else recoding.loss


def _cell_loss(table: Table, problem: AnonymityProblem) -> CellLoss:
    """The problem's loss; NotSupported where it, or a criterion, is not of single records."""
    for criterion in problem.privacy:
        if criterion.needs_population:
            raise NotSupported(
                f"{criterion.kind} compares classes with a population, whose members could be disclosed like "
                "several classes once records have levels of their own.",
                "Ask for a rule for the whole table without local recoding.",
            )
    loss = loss_of(table, problem.loss)
    if not isinstance(loss, CellLoss):
        raise NotSupported(
            f"The loss {problem.loss.kind} is of rules for the whole table, not of single cells.",
            "Choose geometric, arithmetic, precision, non_uniform_entropy or ail.",
        )
    return loss


def _bounded(outcome: AnonymityOutcome, loss: float | None, bound: float) -> AnonymityOutcome:
    """The outcome with a bound of all recodings; optimal if it meets it."""
    if loss is None:
        return replace(outcome, status="heuristic", bounds=Bounds(bound, math.inf), refusals=())
    proven = loss - bound <= tie_margin(loss)
    bounds = Bounds(loss, 0.0) if proven else Bounds(bound, loss - bound)
    return replace(outcome, status="optimal" if proven else "heuristic", bounds=bounds)


def _encoded(found: _Found) -> bytes:
    return json.dumps(asdict(found), sort_keys=True).encode()

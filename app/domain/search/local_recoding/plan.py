"""The plan of a search for the recoding of single records that loses least: one block, as it is one sequence.

It begins with the best rule for the whole table. For *local recoding* the records that this rule suppresses
get rules of their own, round after round; nothing else changes. For *record-level* rules classes are then
specialised and records moved between classes, from that recoding and from the one that suppresses everything,
and the better is improved until no move helps. No answer loses more than the best table-level rule. The bound
is of all recodings; only where it is met is the answer called optimal.

The height, and criteria under which all disclosed records keep to the same levels, leave no choice of levels
to single records: for these the levels of all are searched (``heights``, ``one_rule``).
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Levels
from app.domain.classes.grouping import lacking_records
from app.domain.classes.quasi_part import hidden_further, rule_for, shown_at
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.suppression import own_block
from app.domain.rules.rule import TableRule
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import (
    AnonymityOutcome,
    AnonymityProblem,
    Attained,
    BlockFound,
    told_of,
)
from app.domain.search.local_recoding.bounds import Bound, Work, bound_of
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.class_losses import Height, recoding_loss_of
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.estimates import bytes_of_recoding, seconds_of_recoding, steps_of_moves
from app.domain.search.local_recoding.moves import improve, specialise
from app.domain.search.local_recoding.one_rule import (
    Round,
    best_levels,
    disclose_more,
    least_valid,
    lowest,
    recode_suppressed,
)
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.search.outcome import Bounds
from app.domain.tables.numbers import tie_margin
from app.domain.tables.table import Table

FEW_RULES: Final = 50_000
"""Lattices of so many rules are searched for the best one before records get levels of their own."""
MOST_BEFORE: Final = 100
"""Rules of a larger lattice that are visited before: enough for a good one."""
_HEIGHT: Final = 100
"""The part of the answers to a search for the least height; what is asked of rules has smaller numbers."""
FOR_THE_TABLE: Final = (
    "ask for table_level without local_recoding, where such an attribute is shown as it is or not at all"
)


@dataclass(frozen=True, kw_only=True)
class _Found(BlockFound):
    """What a block found.

    ``for_table`` is the packed answer of the search for a rule of the whole table. ``steps`` (d, q) are
    packed and None if nothing better than that rule was found; what follows is of them. ``bound`` is of the
    least loss of all recodings, None if there are none.
    """

    for_table: str
    steps: str | None = None
    rounds: Sequence[tuple[Sequence[int], int]] = ()
    bound: float | None = None


class RecodingPlan:
    """A search for the recoding of single records that loses least; ``units`` are steps, roughly.

    ``dictionary`` is the population where criteria need one. One that ``is_quick`` does without the sweeps,
    which take twice as long as all before and lower the loss by one or two per cent, and without the dearest
    bound. Raises NotSupported for hierarchies that are no
    trees, and what the search for a rule of the whole table refuses.
    """

    n_blocks = 1
    solver = "min_loss"

    def __init__(
        self,
        table: Table,
        problem: AnonymityProblem,
        budget: Budget = UNLIMITED,
        dictionary: Dictionary | None = None,
        *,
        is_quick: bool = False,
    ) -> None:
        for j in table.quasi_identifiers:
            table.hierarchies[j].require_tree("A level for single records", FOR_THE_TABLE)
        if problem.loss.kind == "kl_divergence":
            for name in table.sensitive:
                table.hierarchies[table.position(name)].require_tree("A divergence", "choose another loss")
        self._whole, self._of_sensitive = table, problem.levels_of_sensitive(table)
        self._table = shown_at(table, self._of_sensitive)
        self._problem = problem
        self._budget = budget
        self._dictionary = dictionary
        self._is_quick = is_quick
        self._loss = cell_loss_of(self._table, problem.loss)
        self._for_table = AnonymityPlan(table, problem, _begin_with(table, problem, budget), dictionary)
        self.answers = self._for_table.answers
        self.units = self._for_table.units + steps_of_moves(table, problem)

    @property
    def seconds(self) -> float:
        """Estimated time."""
        recoding = seconds_of_recoding(self._table, self._problem, self._budget, self._dictionary)
        return self._for_table.seconds + recoding

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""
        return self._for_table.n_bytes + bytes_of_recoding(self._table)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, as JSON; ``tick`` takes the steps made so far."""
        block = self._for_table.run_block(0, tick, halted)
        packed = base64.b64encode(zlib.compress(block)).decode("ascii")
        start = self._for_table.combine({0: block})
        if any(refusal.criterion for refusal in start.refusals):
            # What one class of all records cannot be split into is no recoding either.
            return _Found(for_table=packed, bound=None).encoded()
        course = Course(self._budget, start.counters.visited_nodes, tick, halted, self.answers)
        criteria = ClassCriteria(self._table, self._problem, self._dictionary)
        cells = Cells(self._table, self._loss, overlapping=criteria.overlaps)
        bound = bound_of(
            cells,
            criteria,
            self._problem.loss,
            lambda: course.of(lambda: self._least_height(criteria, start, course)),
        )
        search = _Search(self._problem, cells, criteria, bound, start, course, is_quick=self._is_quick)
        return search.run(packed, self._budget).encoded()

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
            return bounded(start, start.loss, found.bound)
        cells = Cells(self._table, self._loss)
        flat = np.frombuffer(zlib.decompress(base64.b64decode(found.steps)), dtype="<i2")
        steps = flat.reshape(cells.most.shape, order="F")
        everybody, missing = np.ones(cells.size, dtype=bool), self._problem.missing
        left_out = lacking_records(cells.raw, range(cells.n_attributes), missing)
        rule = cells.rule(steps, ~own_block(everybody, left_out, self._problem.suppressed))
        of_sensitive = self._of_sensitive
        outcome = replace(
            start,
            rule=hidden_further(rule, self._whole, of_sensitive),
            loss=found.loss,
            attribute_losses=None,
            suppressed_records=found.suppressed,
            smallest_class=found.smallest_class,
            classes=found.classes,
            privacy=tuple(map(Attained, self._problem.privacy, found.attained)),
            refusals=(),
            rounds=tuple(
                (rule_for(self._table, tuple(levels), of_sensitive), records)
                for levels, records in found.rounds
            ),
        )
        return bounded(outcome, found.loss, found.bound)

    def suppressed_records(self, levels: Levels) -> Bools:
        """Which records (n,) a table-level rule suppresses, if that is the answer."""
        return self._for_table.suppressed_records(levels)

    def _least_height(self, criteria: ClassCriteria, start: AnonymityOutcome, course: Course) -> float:
        """What no recoding is lower than: the lowest table-level rule under what joining never breaks."""
        problem = self._problem
        necessary = criteria.necessary or (KAnonymity(1),)
        limit, rows = problem.suppression_limit, self._table.reduced
        misses = lacking_records(rows.codes, self._table.quasi_identifiers, "excluded")
        lacking = int(rows.counts[misses].sum())
        if problem.missing == "excluded" or not lacking:
            is_answered = problem.suppressed == "excluded" and set(necessary) == set(problem.privacy)
            if is_answered and start.bounds is not None:
                return start.bounds.lower
        else:
            # The rule of its greatest levels suppresses records of which only a recoding shows something.
            limit = min(1.0, limit + lacking / self._table.n_records)
        weaker = AnonymityProblem(necessary, limit, problem.loss, problem.missing, scope=problem.scope)
        plan = AnonymityPlan(self._table, weaker, _begin_with(self._table, weaker, self._budget))
        plan.answers.become_part(self.answers, _HEIGHT, keeps_state=False)
        bounds = plan.combine({0: plan.run_block(0, lambda _: None, lambda: not course.goes_on())}).bounds
        return 0.0 if bounds is None else bounds.lower


class _Search:
    """One search, from the best rule for the whole table on."""

    def __init__(
        self,
        problem: AnonymityProblem,
        cells: Cells,
        criteria: ClassCriteria,
        bound: Bound,
        start: AnonymityOutcome,
        course: Course,
        *,
        is_quick: bool,
    ) -> None:
        self._problem = problem
        self._is_quick = is_quick
        self._cells = cells
        self._criteria = criteria
        self._bound = bound
        self._start = start
        self._course = course
        self._losses = recoding_loss_of(cells, problem.loss)

    def run(self, packed: str, budget: Budget) -> _Found:
        """The best recoding, with a bound."""
        for_records = self._problem.scope == "record_level"
        begun = self._begun()
        if begun is not None:
            self._course.hold(begun)
        best, rounds = (begun, []) if begun is None else (begun, self._rounds(begun))
        self._raise_bound("little", best)
        if for_records:
            best, rounds = self._recoded(best), []
            self._course.hold(*(() if best is None else (best,)))
        self._raise_bound("some", best)
        if for_records and not self._is_quick:
            self._raise_bound("much", best)
            # Single records may be given other levels, and that may lower the loss.
            if best is not None and not (self._criteria.shares_levels or isinstance(self._losses, Height)):
                improve(best, lambda loss: budget.suffices(loss, self._bound.least), self._course)
        loss = math.inf if best is None else self._losses.of(best)
        least = min(self._bound.least, loss)
        course = self._course
        found = _Found(for_table=packed, bound=least, complete=not course.halted, visited=course.visited)
        return found if best is None else self._described(found, best, loss, rounds)

    def _raise_bound(self, work: Work, best: Recoding | None) -> None:
        known = math.inf if best is None else self._course.of(lambda: best.loss)
        self._bound.raise_by(work, known, self._course)

    def _levels(self) -> Levels | None:
        """The levels of the best table-level rule."""
        if not isinstance(self._start.rule, TableRule):
            return None
        return tuple(self._start.rule.levels[j] for j in self._cells.attributes)

    def _begun(self) -> Recoding | None:
        """The best table-level rule; None if there is none, or if it is not allowed of single records."""
        levels = self._levels()
        if levels is None:
            return None
        begun = Recoding.of_rule(self._cells, self._criteria, self._losses, levels)
        # A class that the rule discloses as ⊥ throughout is suppressed if records have levels of their own.
        return begun if begun.is_valid else None

    def _rounds(self, begun: Recoding) -> list[Round]:
        """Recode what the table-level rule suppresses."""
        if not self._criteria.shares_levels:
            return recode_suppressed(begun, self._course)
        levels = self._levels()
        return [] if levels is None else disclose_more(begun, levels, self._course)

    def _recoded(self, begun: Recoding | None) -> Recoding | None:
        """The best recoding found from the beginning and from suppressing everything."""
        everything = Recoding(self._cells, self._criteria, self._losses, self._cells.most)
        if self._criteria.shares_levels:
            return best_levels(begun, self._levels(), everything, self._course)
        if isinstance(self._losses, Height):
            return lowest(begun, everything, self._losses, self._course)
        candidates = [own for own in (begun, everything) if own is not None]
        self._course.hold(*candidates)
        for recoding in candidates:
            specialise(recoding, self._course)
        return least_valid(candidates, self._course)[0]

    def _described(self, found: _Found, best: Recoding, loss: float, rounds: list[Round]) -> _Found:
        """The recoding, if it loses less than the best table-level rule."""
        least = math.inf if self._start.loss is None else self._start.loss
        if loss >= least - tie_margin(least):
            return found
        remaining = self._criteria.judged(best.placed.without_suppressed())
        raw = best.steps.astype("<i2").tobytes("F")
        return replace(
            found,
            steps=base64.b64encode(zlib.compress(raw)).decode("ascii"),
            loss=loss,
            suppressed=best.suppressed_records,
            **told_of(remaining, self._problem.privacy),
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


def bounded(outcome: AnonymityOutcome, loss: float | None, bound: float) -> AnonymityOutcome:
    """The outcome with a bound of all recodings; optimal if it meets it."""
    if loss is None:
        return replace(outcome, status="heuristic", bounds=Bounds(bound, math.inf), refusals=())
    proven = loss - bound <= tie_margin(loss)
    bounds = Bounds(loss, 0.0) if proven else Bounds(bound, loss - bound)
    return replace(outcome, status="optimal" if proven else "heuristic", bounds=bounds)

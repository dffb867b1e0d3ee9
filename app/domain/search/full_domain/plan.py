"""The plan of a search for the rule of least loss: one block, since it is one sequence.

Whom a rule suppresses that somebody states is told by the judge of the searches, where criteria compare its
classes with a population: whom the search that finds the same levels suppresses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from app.domain.arrays import Bools, Levels
from app.domain.classes.quasi_part import rule_for, shown_at
from app.domain.counting.calibration import (
    BYTES_PER_HELD_RULE,
    BYTES_PER_PAIR,
    BYTES_PER_PLACE,
    SECONDS_PER_CHECK,
    SECONDS_PER_CHECK_AND_ROW,
    SECONDS_PER_CHECK_AND_RULE,
    SECONDS_PER_HELD_RULE,
    SECONDS_PER_JUDGED_ROW,
    SECONDS_PER_SEARCH,
    SECONDS_PER_SEARCHED_ROW,
)
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput, NotSupported
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import ClassLoss, SummedLoss
from app.domain.models.class_suppression import ClassSuppression
from app.domain.risk.bayes import PAIRS_AT_ONCE
from app.domain.rules.rule import TableRule
from app.domain.search.answers import Answers, memory_of, memory_of_state
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.full_domain.boxes import MOST_STEPS, BoxSearch
from app.domain.search.full_domain.checks import Asks, Checks, Progress
from app.domain.search.full_domain.class_losses import ClassLossSearch, ClassProgress, GuidedSearch
from app.domain.search.full_domain.class_sizes import KEPT_ROWS
from app.domain.search.full_domain.classes import MOST_KEPT
from app.domain.search.full_domain.estimates import (
    Asked,
    attributes_alike,
    rules_at_boundary,
    seconds_of_ranks,
    seconds_of_suppressing,
    steps_of_classes,
    steps_of_ranks,
    steps_of_sums,
)
from app.domain.search.full_domain.lattice import (
    RankedChecks,
    RankedSearch,
    SumSearch,
    places_of,
)
from app.domain.search.full_domain.minimal_rules import minimal_rules
from app.domain.search.full_domain.problem import (
    AnonymityOutcome,
    AnonymityProblem,
    Attained,
    BlockFound,
    Refusal,
    told_of,
)
from app.domain.search.full_domain.verdicts import Judge
from app.domain.search.outcome import Bounds, Counters, Status
from app.domain.tables.table import Table

RULES_HELD: Final = 2_000_000
ANSWERS_PER_RULE: Final = 4
SUMS_PER_RULE: Final = 2
MORE_WORDS: Final = 3
"""So many answers are kept of a rule, at most; so many of them are sums per attribute and level; and what a
question has beside levels."""
ATTRIBUTES_HELD: Final = 32
TIMES_AT_BOUNDARY: Final = 2.8
"""So many times longer it takes to check a rule that just fails: its classes are as many as there may be."""
STEPS_TRYING: Final = 0.6
"""Rules checked per rule of the lattice to the power 3/4 where a criterion says nothing of others than the
one checked: from a few, if the first ones will do, to all."""


def suppressed_by_population(
    table: Table, rule: TableRule, suppression: ClassSuppression, dictionary: Dictionary
) -> Bools:
    """(n,) records of the classes that fail, and those that are suppressed with them.

    Raises
    ------
    InvalidInput
        A criterion that does not fit the table or the dictionary, at ``/suppress_classes_failing`` and its
        number.
    NotSupported
        δ-presence where a record or an entity has no single tuple of generalised quasi-identifiers.
    """
    problem = AnonymityProblem(
        suppression.failing, 1.0, missing=suppression.missing, suppressed=suppression.suppressed
    )
    try:
        judge = Judge(table, problem, dictionary, order=suppression.order)
    except InvalidInput as error:
        # Where a rule says what an objective says.
        said = [(own, own.pointer.removeprefix("/objective")) for own in error.faults]
        failing = "/suppress_classes_failing"
        raise InvalidInput(
            [replace(own, pointer=at.replace("/privacy", failing, 1)) for own, at in said]
        ) from None
    return suppressed_at(table, judge, rule.levels)


def suppressed_at(table: Table, judge: Judge, levels: tuple[int, ...]) -> Bools:
    """(n,) records that a rule of levels of all attributes suppresses, by the judge of its criteria."""
    remaining = judge.remaining(tuple(levels[j] for j in table.quasi_identifiers))
    gone: Bools = remaining.class_of_group < 0
    return gone[judge.table.reduced.inverse]


@dataclass(frozen=True, kw_only=True)
class _Found(BlockFound):
    """What a block found.

    ``levels`` are those of the quasi-identifiers, None if no rule was found; ``bound`` is of the least loss;
    ``refused`` means that the criteria were refused before any rule was looked at; ``minimal`` are the
    minimal rules, None if they were not asked for or not all of them are known; ``attribute_losses`` are the
    weighted losses of the quasi-identifiers, None where the loss is plain.
    """

    levels: list[int] | None = None
    bound: float = math.inf
    proven: bool = True
    refused: bool = False
    minimal: list[list[int]] | None = None
    attribute_losses: list[float] | None = None
    counted: int = 0
    evaluated: int = 0


Search = ClassLossSearch | GuidedSearch | RankedSearch | SumSearch | BoxSearch


class AnonymityPlan:
    """A search for the rule of least loss; ``units`` are the rules of the lattice.

    Lattices of up to 2,000,000 rules are held in memory and searched until the optimum is proven. Larger
    ones are searched by boxes, which ends of itself after 200,000 steps with the best rule and a bound. So
    does any search with a criterion that says nothing of other rules than the one that is checked.
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
        self.answers = Answers()
        self._of_sensitive = problem.levels_of_sensitive(table)
        self._table = table = shown_at(table, self._of_sensitive)
        self._problem = problem
        self._budget = budget
        self._judge = Judge(table, problem, dictionary)
        if self._judge.tries_rules:
            most = MOST_STEPS if budget.max_nodes is None else min(MOST_STEPS, budget.max_nodes)
            self._budget = replace(budget, max_nodes=most)
        self._quasi = self._judge.table
        self.units = math.prod(height + 1 for height in self._quasi.heights)
        if problem.minimal_rules and not self._holds_lattice:
            raise NotSupported(
                f"Minimal rules are listed of up to {RULES_HELD:,} rules; here are {self.units:,}.",
                "Leave minimal_rules out, or have fewer quasi-identifiers or levels.",
            )
        self._loss = loss_of(table, problem.loss)
        if problem.loss.is_ranked and not self._holds_lattice:
            raise NotSupported(
                f"The aggregate {problem.loss.aggregate} is minimised over up to {RULES_HELD:,} rules; "
                f"here are {self.units:,}.",
                "Choose the aggregate mean or sum, or have fewer quasi-identifiers or levels.",
            )
        if self._judge.chooses and self._judge.allowed and not self._bounds_choices:
            raise NotSupported(
                "With criteria of the whole table it is not known which records are best suppressed for the "
                "aggregates maximum and rank, or for squared errors.",
                "Choose another loss, the aggregate mean or sum, or a suppression limit of 0.",
            )

    def suppressed_records(self, levels: tuple[int, ...]) -> Bools:
        """(n,) records that a rule with these levels of all attributes suppresses."""
        return suppressed_at(self._table, self._judge, levels)

    @property
    def _bounds_choices(self) -> bool:
        """Whether the loss of a rule is bounded over all sets of classes that it may suppress."""
        grows = not isinstance(self._loss, SummedLoss) or self._loss.is_monotone
        return grows and not self._problem.loss.is_ranked

    @property
    def _holds_lattice(self) -> bool:
        return self.units <= RULES_HELD and self._quasi.n_attributes <= ATTRIBUTES_HELD

    @property
    def _places(self) -> int:
        """Places of the keys by which rules are compared: 1 unless it is by a rank."""
        return places_of(self._loss) if isinstance(self._loss, SummedLoss) else 1

    @property
    def _steps(self) -> int:
        """Expected steps of the search; at most so many of one by boxes."""
        if self._judge.tries_rules:
            steps = min(MOST_STEPS, math.ceil(STEPS_TRYING * math.pow(self.units, 0.75)))
        elif self._holds_lattice:
            own, loss = self._asked, self._loss
            if isinstance(loss, ClassLoss):
                steps = math.ceil(steps_of_classes(own, loss.kind))
            elif self._problem.loss.is_ranked:
                steps = math.ceil(steps_of_ranks(own, loss.aggregate))
            else:
                steps = math.ceil(steps_of_sums(own))
        else:
            steps = MOST_STEPS
        return min(steps, self.units, self._budget.max_nodes or steps)

    @cached_property
    def _asked(self) -> Asked:
        judge, privacy = self._judge, self._problem.privacy
        ordered = all(own.merging == "fewer_fail" and not own.table_wide for own in privacy)
        alike, quasi = attributes_alike(self._quasi), self._quasi
        boundary = 0
        if self._holds_lattice and alike == quasi.n_attributes > 1 and not judge.allowed:
            boundary = rules_at_boundary(quasi, self._table.n_records / judge.k)
        return Asked(self.units, self._table.n_records, judge.k, judge.allowed, ordered, alike, boundary)

    @property
    def seconds(self) -> float:
        """Estimated time; of a search by boxes the most it can take."""
        rows, rules = len(self._judge.records.group), self.units if self._holds_lattice else 0
        judging = self._judge.more_seconds
        judging += 0.0 if self._judge.is_plain else SECONDS_PER_JUDGED_ROW * rows
        if self._problem.loss.is_ranked:
            return seconds_of_ranks(self._asked, self._places, self._steps, rows, judging)
        per_rule = (
            SECONDS_PER_CHECK
            + SECONDS_PER_CHECK_AND_ROW * rows
            + SECONDS_PER_CHECK_AND_RULE * rules
            + judging
        )
        if isinstance(self._loss, ClassLoss) and self._judge.allowed:
            per_rule += self._loss.more_seconds
        if self._asked.boundary:
            per_rule *= TIMES_AT_BOUNDARY
        per_rule += seconds_of_suppressing(self._asked, self._problem.loss.kind, rows, rules)
        begun = SECONDS_PER_SEARCH + SECONDS_PER_SEARCHED_ROW * rows + SECONDS_PER_HELD_RULE * rules
        return begun + self._steps * per_rule

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""
        rows = len(self._judge.records.group) * (
            32 * (KEPT_ROWS + MOST_KEPT) + 128 * self._table.n_attributes
        )
        rows += BYTES_PER_PAIR * min(self._judge.pairs, PAIRS_AT_ONCE)
        n_levels = sum(height + 1 for height in self._quasi.heights)
        rows += memory_of(
            ANSWERS_PER_RULE * self._steps,
            self._quasi.n_attributes + MORE_WORDS,
            8 * n_levels * SUMS_PER_RULE // ANSWERS_PER_RULE,
        )
        per_rule = BYTES_PER_HELD_RULE
        if self._problem.loss.is_ranked:
            per_rule += BYTES_PER_PLACE * self._places
        open_ = (self.units, self._places) if self._holds_lattice else (self._steps, self._quasi.n_attributes)
        rows += memory_of_state(9 * math.prod(open_))  # numbers, and whether their rule is open
        return rows + (per_rule * self.units if self._holds_lattice else 2_000 * self._steps)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, as JSON; ``tick`` takes the rules checked so far.

        Once it is found it is kept, for what comes after the block.
        """
        return self.answers.whole((Asks.BLOCK, index), lambda: self._found(tick, halted), halted)

    def _found(self, tick: Callable[[int], None], halted: Halted) -> bytes:
        if self._judge.refusals():
            return _Found(refused=True, minimal=[] if self._problem.minimal_rules else None).encoded()
        # It is kept once it is found, for the search for minimal rules after it.
        best = self.answers.whole((Asks.BEST,), lambda: self._searched(tick, halted).encoded(), halted)
        found = _Found(**json.loads(best))
        if self._problem.minimal_rules and found.complete:
            minimal = minimal_rules(Progress(self._judge, self._budget, tick, halted, self.answers))
            found = replace(found, minimal=None if minimal is None else [list(rule) for rule in minimal])
        return found.encoded()

    def _searched(self, tick: Callable[[int], None], halted: Halted) -> _Found:
        search = self._search(tick, halted)
        search.run()
        progress = search.progress
        if progress.found() is None and progress.halted:
            for levels in self._judge.most_general:
                verdict = progress.check(levels)
                if verdict.allowed:
                    progress.evaluate(levels, verdict)
                    break
        # The best rule with its classes, proven if nothing is open any more
        least_open = search.least_open
        best = progress.found()
        # What the rules that are settled may lose with other sets of suppressed classes is open, too.
        least_open = min(least_open, progress.lower if progress.lower < progress.best else math.inf)
        proven = math.isinf(least_open)
        none = _Found(
            bound=math.inf if proven else max(0.0, least_open),
            proven=proven,
            complete=not progress.halted,
            visited=progress.visited,
            counted=progress.counted,
            evaluated=progress.evaluated,
        )
        if best is None:
            return none
        levels, loss, suppressed = best
        return replace(
            none,
            levels=list(levels),
            loss=loss,
            suppressed=suppressed,
            **told_of(self._judge.remaining(levels), self._problem.privacy),
            bound=loss if proven else max(0.0, min(loss, least_open)),
            attribute_losses=self._losses_by(levels),
        )

    def combine(self, blocks: Mapping[int, bytes]) -> AnonymityOutcome:
        """The best rule and a bound of the least loss; without the block, those known at once."""
        block = blocks[0] if 0 in blocks else self.run_block(0, lambda _: None, lambda: True)
        found = _Found(**json.loads(block))
        none = found.levels is None
        status: Status = ("infeasible" if none else "optimal") if found.proven else "heuristic"
        infeasible = status == "infeasible"
        minimal, by = found.minimal, found.attribute_losses
        return AnonymityOutcome(
            problem=self._problem,
            solver=self.solver,
            status=status,
            rule=None if found.levels is None else self._rule(found.levels),
            loss=None if none else found.loss,
            suppressed_records=None if none else found.suppressed,
            suppression_allowed=self._judge.allowed,
            smallest_class=found.smallest_class,
            classes=None if none else found.classes,
            bounds=None if infeasible else Bounds(found.bound, found.loss - found.bound),
            complete=found.complete,
            n_rules=self.units,
            counters=Counters(found.visited, found.counted, found.evaluated),
            attributes=self._table.attributes,
            privacy=tuple(
                Attained(own, value)
                for own, value in zip(self._problem.privacy, found.attained, strict=False)
            ),
            refusals=self._refusals(found) if infeasible else (),
            withheld_for_missing=0 if none else self._judge.left_out,
            minimal=None if minimal is None else tuple(map(self._rule, minimal)),
            attribute_losses=None if by is None else tuple(zip(self._quasi.attributes, by, strict=True)),
        )

    def _rule(self, levels: Sequence[int]) -> TableRule:
        return rule_for(self._table, tuple(levels), self._of_sensitive)

    def _search(self, tick: Callable[[int], None], halted: Halted) -> Search:
        """The search that fits the loss and the number of rules."""
        loss, how = self._loss, (self._budget, tick, halted, self.answers)
        if isinstance(loss, ClassLoss):
            classes = ClassProgress(self._judge, loss, self._table, *how)
            return ClassLossSearch(classes) if self._holds_lattice else GuidedSearch(classes, self._table)
        if self._problem.loss.is_ranked:
            return RankedSearch(RankedChecks(self._judge, loss, *how))
        checks = Checks(self._judge, loss, *how)
        return SumSearch(checks) if self._holds_lattice else BoxSearch(checks)

    def _refusals(self, found: _Found) -> tuple[Refusal, ...]:
        if found.refused:
            return self._judge.refusals()
        reason = f"No rule meets all criteria together with at most {self._judge.allowed} records suppressed."
        return (Refusal(None, reason),)

    def _losses_by(self, levels: Levels) -> list[float] | None:
        """Weighted losses of the quasi-identifiers under a rule that is allowed."""
        loss, judge = self._loss, self._judge
        if isinstance(loss, ClassLoss) or self._problem.loss.is_plain:
            return None
        added = loss.added(judge.suppressed_values(levels, judge.judge(levels)))
        return list(loss.of_attributes(levels, added))

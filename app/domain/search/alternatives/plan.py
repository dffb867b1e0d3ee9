"""The plan of a comparison: one block per search, so that what is found is kept one by one.

Searches do not look at what others have found, but for that without suppressed records: it is only made where
levels for every record, in the same block, suppress some. A search by records is a quick one, and one of very
many rules ends soon, since several have to be answered in one go: then they prove less.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from app.domain.arrays import Bools, Levels
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import NotSupported
from app.domain.models.criterion import Criterion
from app.domain.search.alternatives.questions import (
    Point,
    Way,
    points_of,
    problem_of,
    problems_of,
    require_columns,
)
from app.domain.search.answers import Answers
from app.domain.search.below_tops import table_below_tops
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.end_levels import table_of_ends
from app.domain.search.full_domain.plan import RULES_HELD
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem, Refusal
from app.domain.search.full_domain.verdicts import Judge
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.search.objectives import Alternatives
from app.domain.search.plans import LeastLossPlan, least_loss_plan
from app.domain.tables.table import Table

MOST_VISITED: Final = 300
"""Rules that a search of more than 2,000,000 visits, unless a budget is asked for."""
MOST_MOVES: Final = 1_000
"""Steps of a search by records, unless a budget is asked for."""

Tick = Callable[[int], None]


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve; ``loss`` and ``suppressed_records`` are None where no rule was found."""

    at: float
    loss: float | None
    suppressed_records: int | None
    is_proven: bool


@dataclass(frozen=True)
class RecordsShort:
    """So many more records would have to be suppressed for a rule that shows every column.

    ``is_least`` if fewer do not suffice; else it is known of one rule that so many do.
    """

    records: int
    is_least: bool


@dataclass(frozen=True)
class Nearest:
    """What could be asked for instead: another limit, or ``criterion`` with the number that is attained."""

    criterion: Criterion | None
    value: float


@dataclass(frozen=True, eq=False)
class AlternativesOutcome:
    """What the searches have found.

    ``found`` has an outcome of each that was made, with or without a rule; ``not_made`` says why others were
    not.
    """

    found: Mapping[Way, AnonymityOutcome]
    not_made: Mapping[Way, str]
    short: RecordsShort | None
    curves: Mapping[str, Sequence[CurvePoint]]
    refusals: Sequence[Refusal]
    nearest: Sequence[Nearest]
    complete: bool


class AlternativesPlan:
    """The searches of a comparison; ``units`` are rules and steps, roughly."""

    solver = "alternatives"

    def __init__(
        self,
        table: Table,
        asked: Alternatives,
        budget: Budget = UNLIMITED,
        dictionary: Dictionary | None = None,
    ) -> None:
        require_columns(asked, [table.attributes[j] for j in table.quasi_identifiers])
        self._table = table
        self._asked = asked
        self._budget = budget
        self._dictionary = dictionary
        self.answers = Answers()
        self._problems = problems_of(asked)
        self._alone: list[Way] = [
            way for way, problem in self._problems.items() if problem.scope == "table_level"
        ]
        self._points = list(points_of(asked, table.n_records))
        self.n_blocks = len(self._alone) + 1 + len(self._points)
        # The others are made when it is their turn, and take as long as these.
        self._first = self._planned(problem_of(asked), 0)
        self._not_by_record: str | None = None
        self._by_record: LeastLossPlan | None = None
        try:
            self._by_record = self._planned(self._problems["levels_per_record"], len(self._alone))
        except NotSupported as error:
            self._not_by_record = str(error)
        records = 0 if self._by_record is None else self._by_record.units
        self.units = self._first.units * (self.n_blocks - 1) + records

    def _planned(self, problem: AnonymityProblem, block: int, part: int = 0) -> LeastLossPlan:
        budget = self._budget
        if problem.scope == "record_level":
            steps = MOST_MOVES if budget.max_nodes is None else budget.max_nodes
            budget = replace(budget, max_nodes=steps)
            plan: LeastLossPlan = RecodingPlan(self._table, problem, budget, self._dictionary, is_quick=True)
        else:
            rules = math.prod(self._table.heights[j] + 1 for j in self._table.quasi_identifiers)
            if rules > RULES_HELD and budget.max_nodes is None:
                budget = replace(budget, max_nodes=MOST_VISITED)
            plan = least_loss_plan(self._table, problem, budget, self._dictionary)
        if plan.answers is not None:
            plan.answers.become_part(self.answers, 1000 * (block + 1) + part)
        return plan

    def suppressed_records(self, levels: Levels) -> Bools:
        """(n,) records that a rule with these levels of all attributes suppresses."""
        return self._first.suppressed_records(levels)

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""
        records = 0.0 if self._by_record is None else 2 * self._by_record.seconds
        return (self.n_blocks - 1) * self._first.seconds + records

    @property
    def n_bytes(self) -> int:
        """Estimated memory: that of two searches, since others are forgotten once they are made."""
        return self._first.n_bytes + (0 if self._by_record is None else self._by_record.n_bytes)

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """What the searches of one block found, as JSON."""
        if index < len(self._alone):
            plan = self._first if index == 0 else self._planned(self._problems[self._alone[index]], index)
            return plan.run_block(0, tick, halted)
        if index == len(self._alone):
            return self._records_block(index, tick, halted)
        point = self._points[index - len(self._alone) - 1]
        if point.problem == self._problems["one_level_per_column"]:
            # The first block has it.
            return b"null"
        plan = self._planned(point.problem, index)
        outcome = plan.combine({0: plan.run_block(0, tick, halted)})
        return json.dumps(_curve_point(point, outcome)).encode()

    def _records_block(self, index: int, tick: Tick, halted: Halted) -> bytes:
        """Levels per record, and the same without suppression unless nobody is suppressed."""
        if self._by_record is None:
            return b"[]"
        block = self._by_record.run_block(0, tick, halted)
        found = [block.decode()]
        outcome = self._by_record.combine({0: block})
        if outcome.rule is None or outcome.suppressed_records:
            done = outcome.counters.visited_nodes
            second = self._planned(self._problems["fewer_suppressed"], index, part=1)
            found.append(second.run_block(0, lambda more: tick(done + more), halted).decode())
        return json.dumps(found).encode()

    def combine(self, blocks: Mapping[int, bytes]) -> AlternativesOutcome:
        """What was found; of a search that was halted what its blocks have."""
        found: dict[Way, AnonymityOutcome] = {}
        not_made: dict[Way, str] = {}
        for index, way in enumerate(self._alone):
            if index in blocks or index == 0:
                plan = self._first if index == 0 else self._planned(self._problems[way], index)
                found[way] = plan.combine({0: blocks[index]} if index in blocks else {})
        by_record = blocks.get(len(self._alone))
        if by_record is not None:
            self._read_records(json.loads(by_record), found, not_made)
        for way in self._problems:
            if way not in found and way not in not_made:
                not_made[way] = "The search was ended before."
        curves = self._curves(blocks, found["one_level_per_column"])
        complete = len(blocks) == self.n_blocks and all(own.complete for own in found.values())
        first = found["one_level_per_column"]
        is_none = all(own.rule is None for own in found.values())
        return AlternativesOutcome(
            found,
            not_made,
            self._short(found),
            curves,
            first.refusals if is_none else (),
            tuple(self._nearest(first, curves)) if is_none else (),
            complete,
        )

    def _read_records(
        self, blocks: Sequence[str], found: dict[Way, AnonymityOutcome], not_made: dict[Way, str]
    ) -> None:
        if self._by_record is None:
            reason = self._not_by_record or ""
            not_made["levels_per_record"] = reason
            plan = self._planned(replace(self._problems["fewer_suppressed"], scope="table_level"), 0, part=2)
            found["fewer_suppressed"] = plan.combine({0: plan.run_block(0, lambda _: None)})
            return
        index = len(self._alone)
        first = found["levels_per_record"] = self._by_record.combine({0: blocks[0].encode()})
        if len(blocks) == 1:
            found["fewer_suppressed"] = first
        else:
            second = self._planned(self._problems["fewer_suppressed"], index, part=1)
            found["fewer_suppressed"] = second.combine({0: blocks[1].encode()})

    def _curves(self, blocks: Mapping[int, bytes], first: AnonymityOutcome) -> dict[str, list[CurvePoint]]:
        curves: dict[str, list[CurvePoint]] = {"suppression": [], "k": []}
        for number, point in enumerate(self._points):
            block = blocks.get(len(self._alone) + 1 + number)
            if block is not None:
                own = json.loads(block) or _curve_point(point, first)
                curves[point.curve].append(CurvePoint(**own))
        return curves

    @cached_property
    def _judge(self) -> Judge:
        """Judges what everything may be suppressed for."""
        problem = replace(problem_of(self._asked), suppression_limit=1.0)
        table = table_of_ends(self._table, self._table.quasi_identifiers)
        return Judge(table, problem, self._dictionary)

    def _short(self, found: Mapping[Way, AnonymityOutcome]) -> RecordsShort | None:
        """How many more records a rule that shows every column takes; None if one is within the limit."""
        own = found.get("every_column_shown")
        if own is None or own.rule is not None:
            return None
        judge = self._judge
        levels = table_below_tops(judge.table).heights
        verdict = judge.judge(levels)
        more = verdict.suppressed - own.suppression_allowed
        if not verdict.allowed or more <= 0:
            return None
        return RecordsShort(more, judge.only_grows)

    def _nearest(
        self, first: AnonymityOutcome, curves: Mapping[str, Sequence[CurvePoint]]
    ) -> Sequence[Nearest]:
        """What would be feasible instead, each alone, as far as it is known."""
        near = [Nearest(None, own.at) for own in curves["suppression"] if own.loss is not None][:1]
        for criterion in self._asked.privacy:
            refused = any(own.criterion == criterion for own in first.refusals)
            attained = self._judge.attained_by_all(criterion) if refused else None
            if attained is not None and math.isfinite(attained):
                near.append(Nearest(criterion, float(attained)))
        return near


def _curve_point(point: Point, outcome: AnonymityOutcome) -> dict[str, Any]:
    proven = outcome.status != "heuristic"
    return dataclasses.asdict(CurvePoint(point.at, outcome.loss, outcome.suppressed_records, proven))

"""The plan of a comparison: one block per search, so that what is found is kept one by one.

Several searches have to be answered in one go. So those by records are quick ones, and those of very many
rules end soon: both prove less than they would alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Annotated, Any, Final, TypeVar

from annotated_types import doc

from app.domain.arrays import Bools, Levels
from app.domain.classes.quasi_part import shown_at
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.alternatives.questions import (
    Way,
    points_of,
    problem_of,
    problems_of,
    weaker_than_likeness,
)
from app.domain.search.answers import Answers
from app.domain.search.below_tops import table_below_tops
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.end_levels import table_of_ends
from app.domain.search.full_domain.plan import RULES_HELD
from app.domain.search.full_domain.problem import AnonymityOutcome, criterion_document
from app.domain.search.full_domain.verdicts import Judge
from app.domain.search.least_loss import LeastLossPlan, least_loss_plan
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.search.objectives import Alternatives
from app.domain.search.outcome import Bounds
from app.domain.tables.table import Table

Q = TypeVar("Q")

MOST_VISITED: Final = 300
"""Rules that a search of more than 2,000,000 visits, unless a budget is asked for."""
MOST_MOVES: Final = 1_000
"""Steps of a search by records, unless a budget is asked for."""


@dataclass(frozen=True)
class CurvePoint:
    """The best rule of one level per column under another limit, or another k."""

    at: Annotated[float, doc("The limit, as a share of the records, or k.")]
    loss: Annotated[float | None, doc("Its loss; null if no rule was found.")]
    suppressed_records: Annotated[int | None, doc("Records that it suppresses.")]
    is_proven: Annotated[bool, doc("Whether no rule loses less, or there is none.")]


@dataclass(frozen=True)
class WeakerPoint:
    """The best rule of one level per column under what β-likeness implies, or under itself."""

    privacy: Annotated[
        tuple[Mapping[str, Any], ...], doc("The criteria of β-likeness, or what stands in their place.")
    ]
    loss: Annotated[float | None, doc("Its loss; null if no rule was found.")]
    suppressed_records: Annotated[int | None, doc("Records that it suppresses.")]
    is_proven: Annotated[bool, doc("Whether no rule loses less, or there is none.")]


@dataclass(frozen=True)
class LossCurves:
    """What protection, and keeping all records, cost."""

    suppression: Annotated[tuple[CurvePoint, ...], doc("By the greatest share that may be suppressed.")]
    k: Annotated[tuple[CurvePoint, ...], doc("By the k of k-anonymity, with the other criteria.")]
    likeness: Annotated[
        tuple[WeakerPoint, ...],
        doc("Under β-likeness if it was asked, by records; then under the ℓ, and the t, that it implies."),
    ] = ()


@dataclass(frozen=True)
class RecordsShort:
    """How many more records would have to be suppressed for one level per column to show every column."""

    records: Annotated[int, doc("So many more records.")]
    is_least: Annotated[bool, doc("Whether fewer do not suffice; else it is only known that so many do.")]


@dataclass(frozen=True)
class NearestFeasible:
    """What alone would do if it were asked for instead."""

    criterion: Annotated[Mapping[str, Any] | None, doc("What to relax; null for the suppression limit.")]
    value: Annotated[float, doc("The limit that does, or what all records together attain of the criterion.")]


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
        self.answers = Answers()
        self._table = table
        self._asked = asked
        self._budget = budget
        self._dictionary = dictionary
        self._ways = problems_of(asked, table)
        self._points = points_of(asked, table.n_records)
        self._weaker = weaker_than_likeness(asked, table)
        points = [problem for curve in self._points.values() for problem in curve.values()]
        points += self._weaker.values()
        self._problems = list(dict.fromkeys([*self._ways.values(), *points]))
        self.n_blocks = len(self._problems)
        # The others are made when it is their turn, and each takes as long as one of these.
        self._first = self._planned(0)
        self._costs: list[LeastLossPlan] = [self._first] * self.n_blocks
        recoded = [place for place, own in enumerate(self._problems) if own.scope == "record_level"]
        for place in recoded:
            self._costs[place] = self._costs[recoded[0]] if place > recoded[0] else self._planned(place)
        self.units = sum(own.units for own in self._costs)

    def _planned(self, block: int) -> LeastLossPlan:
        problem, most = self._problems[block], self._budget.max_nodes
        plan: LeastLossPlan
        if problem.scope == "record_level":
            budget = replace(self._budget, max_nodes=MOST_MOVES if most is None else most)
            plan = RecodingPlan(self._table, problem, budget, self._dictionary, is_quick=True)
        else:
            rules = math.prod(self._table.heights[j] + 1 for j in self._table.quasi_identifiers)
            few = MOST_VISITED if rules > RULES_HELD and most is None else most
            plan = least_loss_plan(
                self._table, problem, replace(self._budget, max_nodes=few), self._dictionary
            )
        if plan.answers is not None:
            plan.answers.become_part(self.answers, block)
        return plan

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""
        return sum(own.seconds for own in self._costs)

    @property
    def n_bytes(self) -> int:
        """Estimated memory: that of two searches, since others are forgotten once they are made."""
        return self._first.n_bytes + max(own.n_bytes for own in self._costs)

    def suppressed_records(self, levels: Levels) -> Bools:
        """(n,) records that a rule with these levels of all attributes suppresses."""
        return self._first.suppressed_records(levels)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What one search found."""
        return self._planned(index).run_block(0, tick, halted)

    def combine(self, blocks: Mapping[int, bytes]) -> AlternativesOutcome:
        """What was found; of a search that was halted what its blocks have."""
        outcomes = {
            self._problems[index]: self._planned(index).combine({0: block}) for index, block in blocks.items()
        }
        # What answers a question answers one that asks for less, of which a search may have ended sooner.
        curve, sizes = self._points.values()
        shown = self._ways["every_column_shown"]
        for stricter, looser in ((shown, self._ways["one_level_per_column"]), *pairwise(curve.values())):
            _take_better(outcomes, looser, stricter)
        found = {way: outcomes[own] for way, own in self._ways.items() if own in outcomes}
        _take_better(found, "levels_per_record", "fewer_suppressed")
        if "levels_per_record" in found and not found["levels_per_record"].suppressed_records:
            _take_better(found, "fewer_suppressed", "levels_per_record")
        for (k, own), other in product(sizes.items(), sizes.values()):
            if other in outcomes and _attained_k(outcomes[other]) >= k:
                _take_better(outcomes, own, other)
        for own in self._weaker.values():
            _take_better(outcomes, own, self._ways["one_level_per_column"])
        by_limit, by_k = (
            tuple(CurvePoint(at, *_told(outcomes[own])) for at, own in points.items() if own in outcomes)
            for points in (curve, sizes)
        )
        weaker = tuple(
            WeakerPoint(tuple(map(criterion_document, own)), *_told(outcomes[problem]))
            for own, problem in self._weaker.items()
            if problem in outcomes
        )
        is_any = any(own.rule is not None for own in found.values())
        return AlternativesOutcome(
            found,
            tuple(way for way in self._ways if way not in found or found[way].rule is None),
            problem_of(self._asked).suppression_allowed(self._table.n_records),
            self._short(found.get("every_column_shown")),
            LossCurves(by_limit, by_k, weaker),
            () if is_any else self._nearest(found.get("one_level_per_column"), by_limit),
            len(blocks) == self.n_blocks and all(own.complete for own in outcomes.values()),
        )

    @cached_property
    def _judge(self) -> Judge:
        """Judges what all records may be suppressed for."""
        problem = problem_of(self._asked)
        table = shown_at(self._table, problem.levels_of_sensitive(self._table))
        table = table_of_ends(table, table.quasi_identifiers)
        return Judge(table, replace(problem, suppression_limit=1.0), self._dictionary)

    def _short(self, own: AnonymityOutcome | None) -> RecordsShort | None:
        """How many more records a rule that shows every column takes; None if one is within the limit."""
        if own is None or own.rule is not None:
            return None
        verdict = self._judge.judge(table_below_tops(self._judge.table).heights)
        more = verdict.suppressed - own.suppression_allowed
        return RecordsShort(more, self._judge.only_grows) if verdict.allowed and more > 0 else None

    def _nearest(
        self, first: AnonymityOutcome | None, curve: Sequence[CurvePoint]
    ) -> tuple[NearestFeasible, ...]:
        """What would be feasible instead, each alone, as far as it is known."""
        near = [NearestFeasible(None, own.at) for own in curve if own.loss is not None][:1]
        for refusal in () if first is None else first.refusals:
            if refusal.criterion is not None:
                attained = self._judge.attained_by_all(refusal.criterion)
                if attained is not None and math.isfinite(attained):
                    near.append(NearestFeasible(criterion_document(refusal.criterion), float(attained)))
        return tuple(near)


@dataclass(frozen=True, eq=False)
class AlternativesOutcome:
    """What the searches have found, with or without a rule; those of ``missing`` have none."""

    found: Mapping[Way, AnonymityOutcome]
    missing: tuple[Way, ...]
    suppression_allowed: int
    short: RecordsShort | None
    curves: LossCurves
    nearest: tuple[NearestFeasible, ...]
    complete: bool


def _take_better(found: dict[Q, AnonymityOutcome], own: Q, other: Q) -> None:
    """Answer one question by the answer to another one that answers it, too, where that loses less."""
    now, better = found.get(own), found.get(other)
    if now is None or better is None or better.loss is None:
        return
    if now.loss is None or better.loss < now.loss:
        lower = 0.0 if now.bounds is None else min(now.bounds.lower, better.loss)
        bounds = Bounds(lower, better.loss - lower)
        found[own] = replace(better, bounds=bounds, status="heuristic" if bounds.gap else "optimal")


def _attained_k(outcome: AnonymityOutcome) -> float:
    """The k that what was found attains; 0 if nothing was."""
    found = (own.value for own in outcome.privacy if own.criterion.kind == KAnonymity.kind)
    return max((own for own in found if own is not None), default=0)


def _told(outcome: AnonymityOutcome) -> tuple[float | None, int | None, bool]:
    return outcome.loss, outcome.suppressed_records, outcome.status != "heuristic"

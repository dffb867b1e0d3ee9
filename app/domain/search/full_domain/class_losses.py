"""Least loss under privacy criteria for losses that depend on the equivalence classes that a rule makes.

Such a loss has no terms to bound it beforehand, but its value without suppression bounds the loss of every
rule that generalises at least as much. So a checked rule says something in both directions: the rules below
it are not allowed if it cannot avoid to suppress too many records, and lose too much if what it loses by
those that they all suppress is too much; those above it lose too much if it loses more than the best rule
does even if nothing is suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.domain.arrays import Bools, Floats, Indices, Levels, Longs
from app.domain.classes.quasi_part import group_of_row
from app.domain.losses.cells import DomainLoss
from app.domain.losses.loss import ClassLoss, LossKind
from app.domain.search.answers import Answers, Arrays
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.full_domain.boxes import BoxSearch
from app.domain.search.full_domain.checks import Asks, Checks, Progress
from app.domain.search.full_domain.open_rules import (
    LatticeSearch,
    LossForecast,
    OpenRules,
    Place,
    count_above,
    count_below,
    rules_below,
)
from app.domain.search.full_domain.verdict import Told, Verdict
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.numbers import TIE_TOLERANCE, tie_margin
from app.domain.tables.table import Table

OF_SIZES: Final[frozenset[LossKind]] = frozenset({"discernibility", "average_class_size"})
"""The losses that depend on nothing but the sizes of classes and the records that are suppressed."""


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes of a rule for losses, those that it suppresses among them (``RuleClasses``)."""

    sizes: Longs
    of_row: Indices


class ClassProgress(Progress):
    """Progress of a search for the least loss of classes."""

    def __init__(
        self,
        judge: Judge,
        loss: ClassLoss,
        table: Table,
        budget: Budget,
        tick: Callable[[int], None],
        halted: Halted = never,
        answers: Answers | None = None,
    ) -> None:
        super().__init__(judge, budget, tick, halted, answers)
        self.loss = loss
        self._counts = judge.table.reduced.counts
        self._counts_pairs = judge.overlaps and loss.kind == "discernibility"
        # What is of the quasi-identifiers' distinct records is wanted of those of all attributes.
        self._group_of_row = group_of_row(table, judge.table)

    def least(self, levels: Levels) -> float:
        """A lower bound for every rule at or above the levels."""
        return self.answers.number_of((Asks.LEAST, *levels), lambda: self._least(levels))

    def _least(self, levels: Levels) -> float:
        if self._counts_pairs:
            # A lower bound of it for every rule at or above the levels
            nobody = np.zeros(len(self._counts), dtype=bool)
            # Who is suppressed counts n times, but others no longer count it, as many as are like it at most.
            matching = self.judge.indistinguishable(levels, nobody)
            spared = np.maximum(2 * matching - int(self._counts.sum()), 0)
            dearest = np.argsort(-spared, kind="stable")
            most = np.minimum(np.cumsum(self._counts[dearest]), self.allowed)
            return self._pairs(levels, nobody) - float(int(spared[dearest] @ np.diff(most, prepend=0)))
        return self.loss.least(levels, *self._classes(levels, self.judge.rows_left_out))

    def least_below(self, levels: Levels) -> float:
        """A lower bound for every rule at or below the levels."""
        if self.judge.overlaps:
            return 0.0
        asked = (Asks.LEAST_BELOW, self.bounds_others, *levels)
        return self.answers.number_of(asked, lambda: self._least_below(levels))

    def _least_below(self, levels: Levels) -> float:
        lost = self.verdict(levels).lost
        rows = self.judge.small_rows(levels) if lost is None else lost
        return self.loss.least_below(*self._classes(levels, rows), self.judge.k)

    def check(self, levels: Levels) -> Told:
        """Judge a rule, and bound what it may lose with other sets of suppressed classes.

        These suppress the necessary classes, and no loss but two falls if more go. One is the divergence: the
        more are spread over all values, the better is one of them reconstructed. The other is discernibility
        where classes overlap: who goes counts n times, but nobody else counts it any more, so that even a
        rule that need suppress nobody may lose less if it does. Both are bounded by what the rule loses with
        anybody suppressed. Where the smallest classes are the best to go for losses that grow with nothing
        but records, the rule's own set is the best.
        """
        told, kind = super().check(levels), self.loss.kind
        if not self.judge.chooses or told.unavoidable > self.allowed:
            return told
        if self._counts_pairs:
            if told.chooses or told.allowed:
                self.note_choice(self.least(levels))
        elif kind == "kl_divergence":
            if told.chooses or told.suppressed:
                self.note_choice(self.least(levels))
        elif told.chooses and not (told.allowed and told.by_size and kind in OF_SIZES):
            self.note_choice(
                self.answers.number_of(
                    (Asks.LOSS_OF_NECESSARY, *levels), lambda: self._loss_of_necessary(levels)
                )
            )
        return told

    def _loss_of_necessary(self, levels: Levels) -> float:
        choice = self.verdict(levels).choice
        if choice is None:
            raise ValueError("the rule has no choice")
        return self._loss(levels, choice.necessary)

    def evaluate(self, levels: Levels, told: Told) -> None:
        """Take an allowed rule as a candidate."""
        loss = self.answers.number_of(
            (Asks.LOSS, *levels),
            lambda: self._loss(levels, self.judge.suppressed_rows(levels, self.verdict(levels))),
        )
        self.note(levels, loss, told.suppressed)

    def _loss(self, levels: Levels, rows: Bools) -> float:
        if self._counts_pairs:
            return self._pairs(levels, rows)
        return self.loss.of(levels, *self._classes(levels, rows))

    def _classes(self, levels: Levels, rows: Bools) -> tuple[_Classes, Bools | None]:
        """The classes of a rule that suppresses some distinct records, and which are of these, if any is."""
        groups = self.judge.classes.classes(levels)
        if not rows.any():
            return self._numbered(groups.of, groups.size), None
        # Who is suppressed for a missing value may be shown like others that are kept.
        of_group = np.where(rows, groups.size + groups.of, groups.of)
        occurs = np.zeros(2 * groups.size, dtype=bool)
        occurs[of_group] = True
        number = np.cumsum(occurs) - 1
        suppressed: Bools = np.flatnonzero(occurs) >= groups.size
        return self._numbered(number[of_group], len(suppressed)), suppressed

    def _pairs(self, levels: Levels, rows: Bools) -> float:
        """Discernibility where classes overlap: kept records times those like them, n per suppressed one."""
        matching, counts = self.judge.indistinguishable(levels, rows), self._counts
        return float(int(counts[~rows] @ matching[~rows]) + int(counts[rows].sum()) * int(counts.sum()))

    def _numbered(self, of_group: Indices, n_classes: int) -> _Classes:
        sizes = np.bincount(of_group, self._counts, n_classes).astype(np.int64)
        return _Classes(sizes, of_group[self._group_of_row])


class ClassLossSearch(LatticeSearch[ClassProgress]):
    """Search for the least loss of classes."""

    def __init__(self, progress: ClassProgress) -> None:
        super().__init__(progress, OpenRules.of_terms([np.zeros(h + 1) for h in progress.table.heights]))
        self._losses = LossForecast(self._forecast.entropies)

    def _begin(self) -> None:
        self._open.bounds[:] = self.progress.least(tuple(0 for _ in self.progress.table.heights))

    def _kept(self) -> tuple[dict[str, Any], Arrays]:
        numbers, arrays = super()._kept()
        return numbers, {**arrays, "losses": self._losses.learnt}

    def _restore(self, numbers: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(numbers, arrays)
        self._losses.learnt = arrays["losses"]

    def _scores(self, lowest: list[int], highest: list[int]) -> Floats:
        log_odds = self._forecast.log_odds(lowest, highest)
        shape = log_odds.shape
        places = self._open.places(lowest, shape)
        forbidden, _ = self._forecast.chances(log_odds)
        below = self._powers[count_below(places, shape).reshape(shape)]
        above = self._powers[count_above(places, shape).reshape(shape)]
        if math.isinf(self.progress.best):
            dear = np.full(shape, 0.5)
        else:
            dear = self._losses.chances_above(self.progress.best, lowest, highest)
        scores = forbidden * below + (1.0 - np.asarray(forbidden)) * dear * above
        # Whatever is open has to be settled in the end, if only by checking it.
        scores.reshape(-1)[places] += 1e-3
        return np.asarray(scores)

    def _check(self, rule: Levels, place: Place, scores: Floats) -> None:
        progress, open_ = self.progress, self._open
        scores[rules_below(place)] *= 0.5
        scores[tuple(slice(at, None) for at in place)] *= 0.5
        verdict = progress.check(rule)
        self._forecast.learn(rule, verdict.unavoidable)
        if verdict.unavoidable > progress.allowed:
            open_.keep(~open_.below(rule))
            return
        least = progress.least(rule)
        self._losses.learn(rule, least)
        if verdict.allowed:
            progress.evaluate(rule, verdict)
        above, below = open_.above(rule), open_.below(rule)
        open_.bounds[above] = np.maximum(open_.bounds[above], least)
        least_below, best = progress.least_below(rule), progress.best
        # Bounds above it belong to rules that are neither better than the best nor tie with it. Sums over
        # classes in other orders differ by rounding of the size of the sum.
        limit = best if math.isinf(best) else best + 2 * tie_margin(best) + TIE_TOLERANCE * abs(best)
        open_.bounds[below] = np.maximum(open_.bounds[below], least_below)
        if least_below > limit:
            self._forecast.learn_forbidden(verdict.unavoidable)
        keep = open_.bounds <= limit
        if verdict.allowed and not verdict.suppressed and not progress.judge.overlaps:
            # What is above it and ties comes after it.
            keep &= ~above
        keep &= ~open_.at(rule)
        open_.keep(keep)


class GuidedSearch:
    """Search of a lattice that is too large to hold: the rules that lose least by their cells are tried.

    The best of them by the loss that was asked for is kept; its lower bound is that of the lowest rule.
    """

    def __init__(self, progress: ClassProgress, table: Table) -> None:
        self.progress = progress
        self.least_open = math.inf
        self._guide = _Guide(progress, DomainLoss(table, "geometric", table.quasi_identifiers))
        self._boxes = BoxSearch(self._guide)

    def run(self) -> None:
        """Try the rules that a search for the least loss of cells finds allowed."""
        self.least_open = self.progress.least(tuple(0 for _ in self.progress.table.heights))
        self._guide.least = self.least_open
        self._boxes.run()
        reached = self.progress.best <= self.least_open + tie_margin(self.least_open)
        found = self.progress.found()
        if (found is None and math.isinf(self._boxes.least_open)) or (
            reached and found is not None and not any(found[0])
        ):
            self.least_open = math.inf


class _Guide(Checks):
    """Checks of a loss of cells that hand every allowed rule on; ``least`` bounds the loss asked for."""

    def __init__(self, progress: ClassProgress, loss: DomainLoss) -> None:
        self._to = progress
        self.least = 0.0
        super().__init__(progress.judge, loss, Budget(), lambda _: None, answers=progress.answers)

    def kept(self) -> dict[str, Any]:
        """What both searches go on from."""
        return {**super().kept(), "to": self._to.kept()}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Be as something else of the kind was when it kept that."""
        super().restore(kept)
        self._to.restore(kept["to"])

    @property
    def visited(self) -> int:
        """Steps of the budget, counted where the answer comes from."""
        return self._to.visited

    @visited.setter
    def visited(self, steps: int) -> None:
        self._to.visited = steps

    def check(self, levels: Levels) -> Told:
        """Judge a rule."""
        return self._to.check(levels)

    def verdict(self, levels: Levels) -> Verdict:
        """All that is known of a rule."""
        return self._to.verdict(levels)

    def evaluate(self, levels: Levels, told: Told) -> None:
        """Take an allowed rule as a candidate of both losses."""
        super().evaluate(levels, told)
        self._to.evaluate(levels, told)

    def goes_on(self, least_sum: float) -> bool:
        """Whether time, nodes and the gap of the loss asked for allow another step."""
        return self._to.may_go_on(self.least)

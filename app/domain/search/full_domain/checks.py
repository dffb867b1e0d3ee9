"""Checking rules against privacy criteria, and what the checked ones say of the others.

Whoever is lost at a rule (see :mod:`~app.domain.search.full_domain.verdicts`) is suppressed by every rule
with no greater level anywhere ("below it"). Hence if a rule cannot avoid to suppress too many records,
neither can those below it, and their loss is at least that of their levels with the lost records suppressed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np

from app.domain.arrays import Floats, Levels
from app.domain.losses.loss import SummedLoss, Sums
from app.domain.search.answers import Answers
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.full_domain.verdict import ChoiceBound, Told, Verdict
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.numbers import tie_margin

ROUNDING: Final = 1e-11
"""More than sums of an attribute's terms in different orders differ by: bounds prune only beyond it."""


_NUMBER: Final = struct.Struct("<d")
_WORDS: Final = struct.Struct("<2i")


class Asks(IntEnum):
    """What is asked of a rule, and what is kept of the search."""

    TOLD = 0
    CHOICE = 1
    ADDED = 2
    ADDED_BELOW = 3
    LEAST = 4
    LEAST_BELOW = 5
    LOSS = 6
    LOSS_OF_NECESSARY = 7
    STATE = 8
    STATE_OF_MINIMAL = 9
    BEST = 10
    BLOCK = 11


class Progress:
    """The best rules of a search so far, and whether it may go on.

    Attributes
    ----------
    best
        The least loss, ∞ before a rule is found.
    least_unproven
        The least loss of a rule that was checked with another set of suppressed classes than its own, ∞ if
        none can be better than what is known.
    counted, evaluated, visited
        Rules whose classes were counted; those of them whose loss was computed; steps of the budget.
    answers
        What is known of rules, whoever found it out: by what an interrupted search knew, another one goes on.
    bounds_others
        Whether checking a rule is to bound the rules that disclose more as sharply as is known.
    """

    bounds_others: bool = True
    _kept_names: tuple[str, ...] = (
        "best", "least_unproven", "counted", "evaluated", "visited", "bounds_others",
    )  # fmt: skip

    def __init__(
        self,
        judge: Judge,
        budget: Budget,
        tick: Callable[[int], None],
        halted: Halted = never,
        answers: Answers | None = None,
    ) -> None:
        self.answers = Answers() if answers is None else answers
        self.judge = judge
        self.table = judge.table
        self.allowed = judge.allowed
        self.best = self.least_unproven = float("inf")
        self.counted = self.evaluated = self.visited = 0
        self.halted = False
        self._budget = budget
        self._tick = tick
        self._is_halted = halted
        self._good: dict[Levels, tuple[float, int]] = {}
        self._last: tuple[Levels, bool, Verdict] | None = None

    def kept(self) -> dict[str, Any]:
        """What a search goes on from, as JSON has it."""
        kept = {name: getattr(self, name) for name in self._kept_names}
        return kept | {"good": [(levels, *found) for levels, found in self._good.items()]}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Be as something else of the kind was when it kept that."""
        for name in self._kept_names:
            setattr(self, name, kept[name])
        self._good = {tuple(levels): (loss, suppressed) for levels, loss, suppressed in kept["good"]}

    def check(self, levels: Levels) -> Told:
        """Judge a rule."""
        self.counted += 1
        self.visited += 1
        self._tick(self.counted)
        asked = (Asks.TOLD, self.bounds_others, *levels)
        return Told.of(self.answers.of(asked, lambda: self.verdict(levels).told.packed()))

    def verdict(self, levels: Levels) -> Verdict:
        """All that is known of a rule; that of the last one is at hand."""
        bounds = self.bounds_others
        if self._last is None or self._last[:2] != (levels, bounds):
            self._last = levels, bounds, self.judge.judge(levels, bounds=bounds)
        return self._last[2]

    def note(self, levels: Levels, loss: float, suppressed: int) -> bool:
        """Take an allowed rule as a candidate; whether it is better than all before."""
        self.evaluated += 1
        better = loss < self.best
        if better:
            self.best = loss
            accepted = loss + tie_margin(loss)
            self._good = {rule: found for rule, found in self._good.items() if found[0] <= accepted}
        if loss <= self.best + tie_margin(self.best):
            self._good[levels] = (loss, suppressed)
        return better

    def note_choice(self, least: float) -> None:
        """Take in that a rule may lose so little with another set of suppressed classes."""
        self.least_unproven = min(self.least_unproven, least)

    @property
    def lower(self) -> float:
        """What the rules that were checked lose at least, with any set of suppressed classes."""
        unsure = self.least_unproven
        return unsure if unsure + ROUNDING * max(1.0, abs(unsure)) < self.best else self.best

    def found(self) -> tuple[Levels, float, int] | None:
        """The best rule so far, the lexicographically smallest of ties, its loss and suppression."""
        if not self._good:
            return None
        levels = min(self._good)
        return levels, *self._good[levels]

    def may_go_on(self, least: float) -> bool:
        """Whether time, nodes and gap allow another step; ``least`` bounds the loss of what is open."""
        self.halted = self.halted or self._is_halted()
        if self.halted or (self._budget.max_nodes is not None and self.visited >= self._budget.max_nodes):
            return False
        return not self._budget.suffices(self.best, min(self.lower, least))


class Checks(Progress):
    """Progress of a search for the least loss that is a sum of terms.

    Attributes
    ----------
    limit
        Sums of terms above it belong to rules that are neither better than the best nor tie with it.
    """

    _kept_names = (*Progress._kept_names, "limit")

    def __init__(
        self,
        judge: Judge,
        loss: SummedLoss,
        budget: Budget,
        tick: Callable[[int], None],
        halted: Halted = never,
        answers: Answers | None = None,
    ) -> None:
        super().__init__(judge, budget, tick, halted, answers)
        self.loss = loss
        reduced = judge.table.reduced
        self._choices = ChoiceBound(loss, reduced.codes, reduced.counts)
        self.limit = float("inf")
        self._relief = loss.relief(self.allowed)
        self._added: tuple[Levels, list[Sums]] | None = None
        self._levels_of = np.cumsum([len(own) for own in loss.uncovered])[:-1]
        # Of whole records whole costs make whole sums.
        self._of_sums = np.result_type(np.int64, *loss.uncovered)

    def check(self, levels: Levels) -> Told:
        """Judge a rule, and bound what it may lose with other sets of suppressed classes."""
        told = super().check(levels)
        if told.chooses:
            known = self.best
            if told.allowed:
                known = min(known, self.loss.of(levels, self.added_by(levels, told)))
            asked = (Asks.CHOICE, *_WORDS.unpack(_NUMBER.pack(known)), *levels)
            self.note_choice(self.answers.number_of(asked, lambda: self._least_choice(levels, known)))
        return told

    def _least_choice(self, levels: Levels, known: float) -> float:
        choice = self.verdict(levels).choice
        if choice is None:
            raise ValueError("the rule has no choice")
        added = self.loss.added(self.judge.classes.values_of(choice.necessary))
        return self._choices.least(levels, added, choice, known)

    def evaluate(self, levels: Levels, told: Told) -> None:
        """Take an allowed rule as a candidate, unless so many suppressed records lose too much, whoever."""
        if not told.small_suppressed and self.best < math.inf:
            least = self.loss.of(levels, self._choices.least_of(levels, told.suppressed))
            if least > self.best + 2 * tie_margin(self.best):
                return
        loss = self.loss.of(levels, self.added_by(levels, told))
        if self.note(levels, loss, told.suppressed):
            self.limit = self.loss.sum_of(loss + tie_margin(loss)) + ROUNDING

    def terms(self, attribute: int, added: Sums | None = None) -> Floats:
        """Lower bounds of what an attribute contributes on its first levels, whoever is suppressed.

        ``added`` is what records add that are suppressed at any rate, on so many levels; None: of nobody, on
        all levels.
        """
        if self._relief is None:
            return self.loss.terms(attribute, 0 if added is None else added)
        relief = self._relief[attribute]
        return self.loss.terms(attribute, relief if added is None else added + relief[: len(added)])

    def floors(self, attribute: int) -> Floats:
        """Lower bounds of what an attribute contributes at or above each of its levels."""
        terms = self.terms(attribute)
        return terms if self._relief is None else np.minimum.accumulate(terms[::-1])[::-1]

    def added_by(self, levels: Levels, told: Told) -> list[Sums]:
        """What an allowed rule's own suppression adds to its loss."""

        def found() -> list[Sums]:
            return self.loss.added(self.judge.suppressed_values(levels, self.verdict(levels)))

        added = self._sums((Asks.ADDED, *levels), found)
        if told.small_suppressed:
            # Whoever is suppressed is lost, too: the same is asked next.
            self._added = levels, added
        return added

    def added_below(self, levels: Levels, told: Told) -> list[Sums]:
        """What suppression adds at least to the loss of this and every more specific rule."""
        if told.small_lost and self._added is not None and self._added[0] == levels:
            return self._added[1]

        def found() -> list[Sums]:
            values = self.judge.lost_values(levels, self.verdict(levels))
            added = self.loss.added(values)
            if not told.more:
                return added
            more = self._choices.least_added(values, told.more)
            return [a + b for a, b in zip(added, more, strict=True)]

        return self._sums((Asks.ADDED_BELOW, self.bounds_others, *levels), found)

    def _sums(self, asked: Levels, find: Callable[[], list[Sums]]) -> list[Sums]:
        """Sums per attribute and level, which are known or found."""
        packed = self.answers.of(asked, lambda: np.concatenate(find()).astype(self._of_sums).tobytes())
        return np.split(np.frombuffer(packed, dtype=self._of_sums), self._levels_of)

    def goes_on(self, least_sum: float) -> bool:
        """Whether another step is allowed; ``least_sum`` bounds the sums of what is open."""
        return self.may_go_on(self.loss.of_sum(least_sum))

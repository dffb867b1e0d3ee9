"""The risks of table-level rules: of all by one walk over the lattice of levels, or of some in any order."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from app.domain.arrays import Bools, Floats
from app.domain.counting.calibration import (
    SECONDS_PER_LATER,
    SECONDS_PER_LATER_ROW,
    SECONDS_PER_RATED_ROW,
    SECONDS_PER_RATING,
    SECONDS_PER_STATE,
    SECONDS_PER_STATE_ROW,
    SECONDS_PER_WALK_ROW,
    SECONDS_PER_WALK_STATE,
)
from app.domain.search.answers import Answers, memory_of
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy
from app.domain.search.table_rules.open_rules import Growth, RuleRisk, least_growth
from app.domain.search.table_rules.partial_walks import (
    MAX_BYTES,
    Late,
    LateLevels,
    StateCache,
    counts_of,
    late_cut,
    states_worth_keeping,
)
from app.domain.search.table_rules.risk_walk import RiskWalk
from app.domain.search.walk import State

CHOSEN = -1
SHARE_OF_ROWS = 0.8
NOT_ALIKE = 0.5
"""Share of the ratings that ask for another state than one before them: most follow one that is alike."""
MIDDLE = 0.5
"""Share of the utility that rules of the middle levels show."""
MADE_AGAIN = 0.2
"""Share of the ratings that ask for a state anew where none can be kept: most follow one that is alike."""
Tick = Callable[[int], None]
_RATING = struct.Struct("<3d")


class RuleScores(ABC):
    """The risks of the table-level rules of one instance.

    ``order`` are the positions of the attributes in the order of the walk, ``shape`` the number of levels of
    each; ``absent`` says which distinct records nobody is consistent with in some dictionary that counts.
    """

    order: list[int]
    shape: tuple[int, ...]
    absent: Bools
    answers: Answers | None = None
    """Where the ratings of single rules are kept; None: nowhere."""

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return math.prod(self.shape)

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """Estimated memory."""

    @property
    @abstractmethod
    def seconds(self) -> float:
        """Estimated time to score all rules."""

    @property
    @abstractmethod
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule of many, in any order."""

    def seconds_of_ratings(self, ratings: float, shown: float = MIDDLE) -> float:
        """Estimated time to rate so many rules, in any order, that show such a share of the utility."""
        return ratings * self.seconds_per_rule

    @property
    @abstractmethod
    def kept_bytes(self) -> int:
        """Estimated memory of what is kept between the ratings of single rules."""

    def answers_bytes(self, ratings: float) -> int:
        """Most memory that so many ratings take which are kept for another attempt."""
        return memory_of(min(ratings, self.n_rules), len(self.shape), _RATING.size)

    @property
    @abstractmethod
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least from rule to finer rule."""

    def to_table_order(self, values: Floats) -> Floats:
        """Array over the lattice in the table's attribute order from values in the order of the walk."""
        return values.reshape(self.shape).transpose(np.argsort(self.order))

    @abstractmethod
    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Risks of all rules whose first ``depth`` levels have a number in [first, last), in walk order.

        Prefixes are numbered in lexicographic order. ``tick`` receives the number of rules scored.
        """

    def rate(self, levels: Sequence[int]) -> RuleRisk:
        """Risk of one rule (levels in the table's order), with what bounds every finer rule's."""
        if self.answers is None:
            return self._rating(levels)
        return RuleRisk(*_RATING.unpack(self.answers.of(levels, lambda: _packed(self._rating(levels)))))

    @abstractmethod
    def _rating(self, levels: Sequence[int]) -> RuleRisk:
        """The same, computed."""


def _packed(rated: RuleRisk) -> bytes:
    return _RATING.pack(rated.risk, rated.bound, rated.slope)


class TableScores(RuleScores):
    """Mean risks of the table-level rules of one instance under one absent policy.

    For the instances, with the parameters, ``order`` and ``absent`` of
    :class:`~app.domain.search.table_rules.risk_walk.RiskWalk`; ``shape`` is the number of levels per
    attribute in its order.
    """

    def __init__(
        self,
        context: SearchContext,
        policy: AbsentPolicy,
        order: Sequence[int] | None = None,
        one_by_one: bool = False,
    ) -> None:
        self._walk = RiskWalk(context, policy, order, one_by_one)
        self.order = self._walk.order
        self.shape = tuple(axis.n_levels for axis in self._walk.axes)
        self.absent = self._walk.absent
        self._states: StateCache[State] = StateCache()

    @cached_property
    def seconds(self) -> float:
        """Estimated time of the whole walk: rows and states, after the attributes are prepared.

        A state has at most as many rows as the first one, and as its combinations of classes times what is
        to come; how far real data stay below is taken from one path through the middle levels.
        """
        prefixes, on_path = np.ones(1), 1.0
        walk, most = self._walk, self._walk.root.n_rows
        state, seconds = walk.root, walk.context.preparing_seconds
        for depth, axis in enumerate(walk.axes):
            size = walk.suffixes[depth].size
            share = state.n_rows / min(on_path * size, most)
            rows = np.minimum(prefixes * size, most) * share
            seconds += axis.n_levels * float((rows * SECONDS_PER_WALK_ROW + SECONDS_PER_WALK_STATE).sum())
            classes = np.array([float(image.n_classes) for image in axis.images])
            prefixes = np.minimum(np.multiply.outer(prefixes, classes).reshape(-1), most)
            middle = (axis.n_levels - 1) // 2
            on_path = min(on_path * classes[middle], most)
            state = walk.advance(walk.thinned(state, depth, middle), depth, middle)
        return seconds

    @property
    def kept_bytes(self) -> int:
        """Estimated bytes of what is kept between the ratings of single rules."""
        return min(MAX_BYTES, round(self._root_bytes * SHARE_OF_ROWS * states_worth_keeping(self.shape)))

    @property
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule of many, in any order: states are shared, later levels kept."""
        return SECONDS_PER_RATING + self._walk.root.n_rows * SECONDS_PER_RATED_ROW

    def seconds_of_ratings(self, ratings: float, shown: float = MIDDLE) -> float:
        """Estimated time to rate so many rules: the more there are the more share a state.

        A state is made for each combination of the earlier levels that is met, and classes for each of the
        later ones. The more the rules show the more rows their states have; those on the way to them have
        about as many as in the middle.
        """
        walk, cut = self._walk, self._late.cut
        states = math.fsum(math.prod(self.shape[:depth]) for depth in range(1, cut + 1))
        later, middle = math.prod(self.shape[cut:]), self._middle_rows
        if shown < MIDDLE:
            rows = 2 * shown * middle
        else:
            rows = middle + (2 * shown - 1) * (walk.root.n_rows - middle)
        per_state = SECONDS_PER_STATE + (middle + rows) / 2 * SECONDS_PER_STATE_ROW
        per_later = SECONDS_PER_LATER + walk.suffixes[cut].size * SECONDS_PER_LATER_ROW
        per_rating = SECONDS_PER_RATING + rows * SECONDS_PER_RATED_ROW
        kept = min(1.0, self.kept_bytes / max(1.0, 2 * states * self._root_bytes * SHARE_OF_ROWS))
        made = _met(states, ratings * NOT_ALIKE)
        made += (ratings - made) * (1.0 - kept) * MADE_AGAIN
        return made * per_state + _met(later, ratings) * per_later + ratings * per_rating

    @cached_property
    def _middle_rows(self) -> int:
        """Rows of the state that the middle levels of the earlier attributes lead to."""
        walk, state = self._walk, self._walk.root
        for depth in range(self._late.cut):
            middle = (self.shape[depth] - 1) // 2
            state = walk.advance(walk.thinned(state, depth, middle), depth, middle)
        return state.n_rows

    @property
    def n_bytes(self) -> int:
        """Estimated bytes of the states that are alive at once."""
        return self._root_bytes * (len(self.shape) + 3)

    @property
    def _root_bytes(self) -> int:
        root = self._walk.root
        return root.n_rows * 8 * (2 + len(root.columns))

    # --- all rules ----------------------------------------------------------------------------------

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Risks of all rules whose first ``depth`` levels have a number in [first, last), in walk order."""
        inner = math.prod(self.shape[depth:])
        found = np.empty((last - first) * inner)
        walk, states = self._walk, [self._walk.root]
        before: tuple[int, ...] = ()
        for number in range(first, last):
            levels = tuple(int(v) for v in np.unravel_index(number, self.shape[:depth])) if depth else ()
            same = next(
                (k for k, (a, b) in enumerate(zip(before, levels, strict=False)) if a != b), len(before)
            )
            del states[same + 1 :]
            for k in range(same, depth):
                thinned = walk.thinned(states[k], k, levels[k])
                states.append(walk.advance(thinned, k, levels[k]))
            before = levels
            at = (number - first) * inner
            self._descend(states[depth], list(levels), found[at : at + inner], tick)
        return found

    def _descend(self, state: State, levels: list[int], found: Floats, tick: Tick) -> None:
        walk, depth = self._walk, len(levels)
        inner = len(found) // self.shape[depth]
        is_last = depth + 1 == len(self.shape)
        for level in range(self.shape[depth]):
            levels.append(level)
            state = walk.generalised(state, depth, level)
            if is_last:
                found[level] = walk.risks(state, levels)[0]
            else:
                part = found[level * inner : (level + 1) * inner]
                self._descend(walk.advance(state, depth, level), levels, part, tick)
            levels.pop()
        if is_last:
            tick(self.shape[depth])

    # --- single rules --------------------------------------------------------------------------------

    def _rating(self, levels: Sequence[int]) -> RuleRisk:
        """Risk of one rule (levels in the table's order), with what bounds every finer rule's."""
        ordered = tuple(levels[j] for j in self.order)
        cut = self._late.cut
        if cut == len(self.order):
            return RuleRisk(*self._walk.risks(self._thinned(ordered), ordered), 0.0)
        return self._rated(self._state(ordered[:cut]), self._late.at(ordered[cut:]), ordered)

    def _rated(self, state: State, late: Late, levels: Sequence[int]) -> RuleRisk:
        """Of the rule with the levels of the state and those of the later attributes: one pass over rows."""
        walk, rest, n = self._walk, state.rest, self._walk.context.total_weight
        is_centred = walk.context.sensitivity.family == "multiplicative_centered"
        entities, records, harm, *infinite = state.columns
        counts = counts_of(state, late, entities)
        if walk.adds_somebody:
            counts = counts + walk.added(levels, self._late.marks[rest])
        # Rows of records whom nobody is consistent with have no count; no other row is without.
        present = counts > 0 if walk.some_absent else None
        if present is None:
            chances = 1.0 / counts
        else:
            chances = np.divide(1.0, counts, out=np.zeros(len(counts)), where=present)
        with np.errstate(over="ignore"):
            if late.weights is not None:
                weights = late.weights.take(rest)
                harm = harm * weights if walk.exponential else harm + records * weights
            if is_centred:
                harm = harm - records
            if present is None:
                losses = harm * chances
            else:
                losses = np.multiply(harm, chances, out=np.zeros(len(counts)), where=present)
        for beyond in infinite:
            losses[(counts > 0) & (beyond > 0)] = math.inf
        if late.infinite is not None:
            losses[(counts > 0) & late.infinite[rest] & (records > 0)] = math.inf
        chances *= records
        risk = bound = float(losses.sum()) / n
        if not walk.all_bounded:
            bounded = walk.bounded[self._late.marks[rest]]
            chances, bound = chances[bounded], float(losses[bounded].sum()) / n
        slope = float(chances.sum()) / n
        if walk.exponential:
            slope = bound + slope if is_centred else bound
        return RuleRisk(risk, bound, slope)

    @cached_property
    def _late(self) -> LateLevels:
        walk = self._walk
        cut = late_cut(walk.axes)
        marks = walk.marks[cut] if cut < len(self.order) else np.empty(0, np.int64)
        return LateLevels(walk.axes, walk.suffixes, cut, marks, walk.exponential, walk.weights)

    @cached_property
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least from rule to finer rule."""
        return least_growth(self._walk.context)

    def _state(self, prefix: tuple[int, ...]) -> State:
        if not prefix:
            return self._walk.root
        found = self._states.get((*prefix, CHOSEN))
        if found is None:
            found = self._walk.advance(self._thinned(prefix), len(prefix) - 1, prefix[-1])
            self._states.put((*prefix, CHOSEN), found, _bytes_of(found))
        return found

    def _thinned(self, prefix: tuple[int, ...]) -> State:
        """The state of all but the last level of a prefix, thinned for that level."""
        before, level = prefix[:-1], prefix[-1]
        if level == 0:
            return self._state(before)
        found = self._states.get(prefix)
        if found is None:
            found = self._walk.generalised(self._thinned((*before, level - 1)), len(before), level)
            self._states.put(prefix, found, _bytes_of(found))
        return found


def _met(combinations: float, rules: float) -> float:
    """How many of the combinations occur among so many rules that are drawn alike."""
    return combinations * -math.expm1(-rules / combinations) if combinations else 0.0


def _bytes_of(state: State) -> int:
    return state.prefix.nbytes + state.rest.nbytes + sum(column.nbytes for column in state.columns)

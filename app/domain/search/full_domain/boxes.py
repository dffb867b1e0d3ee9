"""Least loss under privacy criteria on lattices that are too large to hold in memory.

A *conflict* is a rule that cannot avoid to suppress too many records: neither can any rule below it, hence an
allowed rule has a greater level than the conflict somewhere. Conflicts are grown to be as general as they can
be, which makes few of them exclude much. First a descent and exchanges of one attribute find a good rule.
Then boxes of levels are searched, the one of least bound first: the bound of a box is the loss of its most
specific rule, raised by the cheapest ways out of conflicts that share no attribute. The least bound of the
open boxes is a lower bound of the optimum whenever the search ends.

Pairs of attributes give the first conflicts. Records that are equal in all attributes are equal in two of
them: whoever is in a small class of a pair is in a small class of every rule with the pair at these levels or
finer ones. A table of base counts per pair, with the groups of all levels summed by two products of 0/1
matrices, answers for all levels of the pair together.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Indices, Levels, Longs
from app.domain.search.answers import Arrays, packed_state, unpacked_state
from app.domain.search.full_domain.checks import ROUNDING, Asks, Checks
from app.domain.search.full_domain.class_sizes import ClassSizes
from app.domain.tables.distinct import one_of_each

MOST_GROUPS: Final = 512
"""Attributes are counted from their finest level with at most this many groups on."""

Numbers = npt.NDArray[np.int16]
Box = tuple[float, Levels, Levels]

MOST_STEPS: Final = 200_000
"""Boxes and checked rules after which a search ends of itself: no memory or patience lasts for ever."""


@dataclass(frozen=True, eq=False)
class PairBounds:
    """At least ``suppressed[a, b]`` records are suppressed with ``first`` at level a and ``second`` at b."""

    first: int
    second: int
    suppressed: Longs


@dataclass(frozen=True, eq=False)
class _Axis:
    """Groups of an attribute from level ``finest`` on, as 0/1 rows, level after level from ``starts``."""

    finest: int
    size: int
    rows: Floats
    starts: Indices


def pair_bounds(classes: ClassSizes, heights: Levels, k: int) -> Iterator[PairBounds]:
    """The bounds of all pairs of attributes with more than one group."""
    axes = [_axis(classes, j, height) for j, height in enumerate(heights)]
    for i, j, base in classes.pair_counts(tuple(axis.finest for axis in axes)):
        if axes[i].size > 1 and axes[j].size > 1:
            # Records in classes below ``k``, per level of the two axes
            first, second = axes[i], axes[j]
            small = first.rows @ base @ second.rows.T
            small[small >= k] = 0.0
            sums = np.add.reduceat(np.add.reduceat(small, first.starts, axis=0), second.starts, axis=1)
            found = sums.astype(np.int64)
            levels = [np.maximum(np.arange(heights[a] + 1) - axes[a].finest, 0) for a in (i, j)]
            yield PairBounds(i, j, found[np.ix_(*levels)])


def _axis(classes: ClassSizes, attribute: int, height: int) -> _Axis:
    finest = 0
    while classes.values(attribute, finest).size > MOST_GROUPS:
        finest += 1
    base = classes.values(attribute, finest)
    member = one_of_each(base.of, base.size)
    blocks: list[Floats] = []
    for level in range(finest, height + 1):
        groups = classes.values(attribute, level)
        block = np.zeros((groups.size, base.size))
        block[groups.of[member], np.arange(base.size)] = 1.0
        blocks.append(block)
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    return _Axis(finest, base.size, np.concatenate(blocks), starts)


class Conflicts:
    """Rules below which none is allowed, none below another when they are added."""

    def __init__(self, n_attributes: int) -> None:
        self._rows: Numbers = np.empty((64, n_attributes), dtype=np.int16)
        self._size = 0

    @property
    def rows(self) -> Numbers:
        """(conflicts, attributes) levels of the rules."""
        return self._rows[: self._size]

    @rows.setter
    def rows(self, rows: Numbers) -> None:
        """Take these in the place of all others."""
        self._rows, self._size = rows, len(rows)

    def add(self, levels: Levels) -> None:
        """Keep a rule, and drop those that are below it."""
        kept = self.rows[~(self.rows <= np.array(levels)).all(axis=1)]
        self._size = len(kept) + 1
        if self._size > len(self._rows):
            self._rows = np.empty((2 * self._size, kept.shape[1]), dtype=np.int16)
        self._rows[: len(kept)] = kept
        self._rows[len(kept)] = levels

    def above(self, levels: Levels) -> Numbers:
        """The conflicts that exclude a rule."""
        return self.rows[(self.rows >= np.array(levels)).all(axis=1)]


class Descent:
    """Rules checked one after another on the way to a good one; what they teach is kept."""

    def __init__(self, checks: Checks, goes_on: Callable[[], bool]) -> None:
        self._checks = checks
        self._goes_on = goes_on
        self._terms = [checks.loss.terms(j) for j in range(checks.loss.n_attributes)]
        self.conflicts = Conflicts(len(self._terms))
        self.suppressed: dict[Levels, int] = {}
        self._refused: set[Levels] = set()

    def kept(self) -> dict[str, Any]:
        """What was learnt of rules beside the conflicts, as JSON has it."""
        return {"suppressed": list(self.suppressed.items()), "refused": list(self._refused)}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from what was learnt."""
        self.suppressed = {tuple(levels): records for levels, records in kept["suppressed"]}
        self._refused = {tuple(levels) for levels in kept["refused"]}

    def run(self) -> None:
        """Descend from the most general rule allowed, then exchange; stops early if it may not go on."""
        top = self._checks.table.heights
        start = next(filter(self.is_allowed, self._checks.judge.most_general), None)
        if start is not None:
            self._improve(self._descend(start), top)

    def is_allowed(self, levels: Levels) -> bool:
        """Whether a rule is allowed; one that is becomes a candidate."""
        return levels in self.suppressed or (not self.is_conflict(levels) and levels in self.suppressed)

    def is_conflict(self, levels: Levels) -> bool:
        """Whether neither a rule nor any below it is allowed."""
        if levels in self.suppressed or levels in self._refused:
            return False
        if len(self.conflicts.above(levels)):
            return True
        verdict = self._checks.check(levels)
        if verdict.unavoidable > self._checks.allowed:
            self.conflicts.add(levels)
            return True
        if verdict.allowed:
            self._checks.evaluate(levels, verdict)
            self.suppressed[levels] = verdict.suppressed
        else:
            self._refused.add(levels)
        return False

    def _descend(self, levels: Levels, fixed: int = -1) -> Levels:
        """Lower levels while that is allowed, the dearest first, from an allowed rule."""
        # Who may not be lowered now may not be lowered later: classes only get smaller.
        open_ = {j for j in range(len(levels)) if j != fixed and levels[j]}
        while open_ and self._goes_on():
            dearest = max(
                open_, key=lambda j: (float(self._terms[j][levels[j]] - self._terms[j][levels[j] - 1]), -j)
            )
            lower = with_level(levels, dearest, levels[dearest] - 1)
            if self.is_allowed(lower):
                levels = lower
            if not (levels is lower and levels[dearest]):
                open_.remove(dearest)
        return levels

    def _improve(self, levels: Levels, top: Levels) -> None:
        """Raise one attribute by a level and descend from there, until no attribute helps."""
        improved = True
        while improved:
            improved = False
            for j, height in enumerate(top):
                if levels[j] == height:
                    continue
                if not self._goes_on():
                    return
                before = self._checks.best
                other = self._descend(with_level(levels, j, levels[j] + 1), j)
                if self._checks.best < before:
                    levels, improved = other, True


def with_level(levels: Levels, j: int, level: int) -> Levels:
    """The levels with that of the j-th attribute replaced."""
    return (*levels[:j], level, *levels[j + 1 :])


class BoxSearch:
    """One search; after :meth:`run` ``least_open`` is the least loss that is still open, ∞ if none is."""

    def __init__(self, checks: Checks) -> None:
        self.progress = checks
        self._top = checks.table.heights
        self._terms = [checks.floors(j) for j in range(len(self._top))]
        widest = max(self._top) + 2
        # Beyond the top there is no way out: infinitely dear.
        self._costs = np.full((len(self._top), widest), math.inf)
        for j, terms in enumerate(self._terms):
            self._costs[j, : len(terms)] = terms
        self._descent = Descent(checks, self._goes_on)
        self._conflicts = self._descent.conflicts
        lowest = tuple(0 for _ in self._top)
        self._heap: list[Box] = [(self._base(lowest), lowest, self._top)]

    @property
    def least_open(self) -> float:
        """The least loss that a rule in an open box may have, ∞ if none can be taken any more."""
        if not self._heap or self._heap[0][0] > self.progress.limit:
            return math.inf
        return self.progress.loss.of_sum(self._heap[0][0])

    def run(self) -> None:
        """Find a good rule, then search boxes until none is open or the budget ends.

        An interrupted search is gone on with from where it was.
        """
        answers = self.progress.answers
        kept = answers.state((Asks.STATE,))
        if kept is None:
            self._learn_pairs()
            bound, lo, hi = self._heap[0]
            ways_out, least = self._ways_out(lo, hi, self._conflicts.rows)
            if not np.isfinite(least).all():
                # Even the most general rule suppresses too many.
                self._heap = []
                return
            self._heap[0] = (bound + _disjoint(ways_out, least), lo, hi)
            self._descent.run()
        else:
            self._restore(*unpacked_state(kept))
        while self._heap and self._heap[0][0] <= self.progress.limit and self._goes_on():
            answers.offer((Asks.STATE,), lambda: packed_state(*self._kept()))
            self._open(heapq.heappop(self._heap))

    def _kept(self) -> tuple[dict[str, Any], Arrays]:
        bounds, lowest, highest = zip(*self._heap, strict=True)
        numbers = {"progress": self.progress.kept(), "descent": self._descent.kept()}
        arrays = {
            "bounds": np.array(bounds),
            "lowest": np.array(lowest, dtype=np.int16),
            "highest": np.array(highest, dtype=np.int16),
            "conflicts": self._conflicts.rows,
        }
        return numbers, arrays

    def _restore(self, numbers: Mapping[str, Any], arrays: Arrays) -> None:
        self.progress.restore(numbers["progress"])
        self._descent.restore(numbers["descent"])
        self._conflicts.rows = arrays["conflicts"]
        boxes = (arrays[name].tolist() for name in ("bounds", "lowest", "highest"))
        # The order of a heap is kept with it.
        self._heap = [(bound, tuple(lo), tuple(hi)) for bound, lo, hi in zip(*boxes, strict=True)]

    def _goes_on(self) -> bool:
        return self.progress.visited < MOST_STEPS and self.progress.goes_on(self._heap[0][0])

    def _base(self, levels: Levels) -> float:
        return math.fsum(terms[level] for terms, level in zip(self._terms, levels, strict=True))

    def _learn_pairs(self) -> None:
        judge = self.progress.judge
        if judge.overlaps:
            # Small classes of two attributes may be like others that lack a value.
            return
        for pair in pair_bounds(judge.classes, self._top, judge.k):
            # Pairs grow with the square of the attributes: who asks for an end does not wait for them all.
            if not self._goes_on():
                return
            refuted = pair.suppressed > judge.allowed - judge.left_out
            for level in range(len(refuted)):
                highest = int(np.count_nonzero(refuted[level])) - 1
                next_ = int(np.count_nonzero(refuted[level + 1])) - 1 if level + 1 < len(refuted) else -1
                if highest > next_:
                    conflict = list(self._top)
                    conflict[pair.first], conflict[pair.second] = level, highest
                    self._conflicts.add(tuple(conflict))

    def _open(self, box: Box) -> None:
        """Close a box, raise its bound, or put its parts in its place."""
        self.progress.visited += 1
        bound, lo, hi = box
        conflicts = self._conflicts.above(lo)
        if not len(conflicts):
            self._open_free(box)
            return
        ways_out, least = self._ways_out(lo, hi, conflicts)
        if not np.isfinite(least).all():
            return
        raised = self._base(lo) + _disjoint(ways_out, least)
        if raised > bound + ROUNDING:
            self._push(raised, lo, hi)
            return
        self._branch(box, conflicts[int(np.lexsort((ways_out.sum(axis=1), -least))[0])].tolist())

    def _ways_out(self, lo: Levels, hi: Levels, conflicts: Numbers) -> tuple[Bools, Floats]:
        """In which attributes a box can leave each conflict, and what that costs at least (∞: it cannot)."""
        columns = np.arange(len(lo))
        ways_out = conflicts < np.array(hi)
        costs = self._costs[columns, conflicts + 1] - self._costs[columns, np.array(lo)]
        return ways_out, np.where(ways_out, costs, math.inf).min(axis=1, initial=math.inf)

    def _branch(self, box: Box, conflict: Sequence[int]) -> None:
        """Cut a box into those parts that leave a conflict by a first attribute, each rule in one part."""
        bound, lo, hi = box
        for j, level in enumerate(conflict):
            if level < hi[j]:
                raised = with_level(lo, j, level + 1)
                self._push(max(bound, self._base(raised)), raised, hi)
                hi = with_level(hi, j, level)

    def _open_free(self, box: Box) -> None:
        """Check the most specific rule of a box that no conflict excludes."""
        bound, lo, hi = box
        if self._descent.is_conflict(lo):
            # Growing adds what it finds to the conflicts.
            # Find a conflict above this one in which nothing can be raised, having raised the
            # cheapest first
            levels = lo
            raised = np.array(levels) + 1
            columns = np.arange(len(levels))
            order = np.argsort(
                self._costs[columns, raised] - self._costs[columns, raised - 1], kind="stable"
            ).tolist()
            while order:
                free, count = 0, len(order)
                # The most attributes, from the cheapest on, that can be suppressed altogether.
                while free < count:
                    middle = (free + count + 1) // 2
                    if not self._descent.is_conflict(self._with_suppressed(levels, order[:middle])):
                        count = middle - 1
                    else:
                        free = middle
                levels = self._with_suppressed(levels, order[:free])
                if free == len(order):
                    break
                j = order[free]
                for level in range(self._top[j] - 1, levels[j], -1):
                    if self._descent.is_conflict(with_level(levels, j, level)):
                        levels = with_level(levels, j, level)
                        break
                order = order[free + 1 :]
            self._push(bound, lo, hi)
            return
        if self.progress.loss.is_monotone and self._descent.suppressed.get(lo) == 0:
            # Nothing above it loses less, and what ties comes after it.
            return
        self._branch(box, lo)

    def _push(self, bound: float, lo: Levels, hi: Levels) -> None:
        if bound <= self.progress.limit:
            heapq.heappush(self._heap, (bound, lo, hi))

    def _with_suppressed(self, levels: Levels, attributes: list[int]) -> Levels:
        found = list(levels)
        for j in attributes:
            found[j] = self._top[j]
        return tuple(found)


def _disjoint(ways_out: Bools, least: Floats) -> float:
    """Sum of the least costs of conflicts that share no way out, the dearest first."""
    total = 0.0
    while len(least):
        dearest = int(least.argmax())
        total += float(least[dearest])
        apart = ~(ways_out & ways_out[dearest]).any(axis=1)
        ways_out, least = ways_out[apart], least[apart]
    return total

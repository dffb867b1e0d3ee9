"""Moves that lower the loss of a recoding: specialising classes, exchanges, joining the classes of a rule.

All are looked at for all classes together, by what the loss estimates that each gains (``losses``).
Sweeps of moves improve a recoding until they no longer help.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Indices, Ints, Longs
from app.domain.search.local_recoding.class_criteria import dense, numbered
from app.domain.search.local_recoding.course import Course, HeldArrays
from app.domain.search.local_recoding.losses import TINY, Split, exchanged
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.tables.distinct import one_of_each
from app.domain.tables.masks import rows_without_values

MOST_TAKEN_IN: Final = 2_000
"""Distinct records that look for a class above them at a time, one by one."""

MOST_JOINS: Final = 60
"""Rules whose classes records are offered in one sweep: those of most records."""
LEAST_IMPROVEMENT: Final = 1e-3
"""A sweep that lowers the loss by a smaller share is the last one."""


def specialise(recoding: Recoding, course: Course) -> None:
    """Move down one attribute of each class at a time, the one that gains most, while any gains."""
    front = HeldArrays(active=recoding.movable.copy(), barred=np.zeros(recoding.cells.raw.shape, dtype=bool))
    with course.holding(front):
        active = course.of(lambda: bool(front["active"].any()))
        while active and course.goes_on():
            active = course.of(lambda: _split(recoding, front["active"], front["barred"]))


def _split(recoding: Recoding, active: Bools, barred: Bools) -> bool:
    """Make the best moves down of ``active`` records (d,), unless ``barred`` (d, q); whether any is left.

    Both are changed to what they are for the next moves.
    """
    cells = recoding.cells
    # Classes that others have joined are looked at again as a whole.
    again = np.zeros(recoding.n_classes, dtype=bool)
    again[recoding.of[active]] = True
    rows = np.flatnonzero(again[recoding.of] & recoding.movable)
    best = _best_splits(recoding, rows, barred)
    active[:] = False
    chosen = best.attribute[best.of] >= 0
    active[rows[chosen]] = True
    movers = rows[best.moves]
    attribute = best.attribute[best.of[best.moves]]
    target = recoding.steps[movers]
    target[np.arange(len(movers)), attribute] -= 1
    moved = recoding.move_if_lower(movers, target, strictly=False)
    # Classes that nobody could leave are not split by this attribute again.
    stuck = np.ones(len(best.attribute), dtype=bool)
    place = np.full(cells.size, -1)
    place[rows] = best.of
    stuck[place[moved]] = False
    held = rows[chosen & stuck[best.of]]
    barred[held, best.attribute[place[held]]] = True
    barred[moved] = False
    return bool(active.any())


class _Splits:
    """The best split found so far of each class.

    Attributes
    ----------
    of
        (r,) class of each row.
    attribute
        (C,) attribute of the best split, −1 for none.
    moves
        (r,) rows that move down by it.
    """

    def __init__(self, of: Longs, n_classes: int) -> None:
        self.of = of
        self.attribute = np.full(n_classes, -1, dtype=np.int64)
        self.moves: Bools = np.zeros(len(of), dtype=bool)
        self._gain = np.zeros(n_classes)

    def offer(self, attribute: int, gain: Floats, moves: Bools) -> None:
        """Take the split of each class (C,) whose gain is greater than any before."""
        better = gain > self._gain
        self._gain = np.where(better, gain, self._gain)
        self.attribute[better] = attribute
        self.moves = np.where(better[self.of], moves, self.moves)


def _best_splits(recoding: Recoding, rows: Indices, barred: Bools) -> _Splits:
    """Per class of the rows the attribute whose step down gains most, of those that pass on their own."""
    cells, criteria = recoding.cells, recoding.criteria
    of, n_classes = dense(recoding.of[rows], recoding.n_classes)
    amounts = cells.amounts[rows]
    sizes = np.bincount(of, amounts, n_classes)
    gains = recoding.losses.gains_of_splits(recoding)
    splits = _Splits(of, n_classes)
    alone = np.ones(n_classes, dtype=bool)
    alone[of[~rows_without_values(recoding.codes[rows])]] = False
    for i in range(cells.n_attributes):
        may = np.flatnonzero((recoding.steps[rows, i] > 0) & ~barred[rows, i])
        if not len(may):
            continue
        own = rows[may]
        shown = cells.nodes(i, recoding.steps[own, i] - 1, own)
        groups, n_groups = numbered(of[may] * cells.sizes[i] + shown, n_classes * cells.sizes[i])
        passes = _passes(recoding, own, groups, n_groups, (i, shown))
        moves = np.zeros(len(rows), dtype=bool)
        moves[may] = passes
        gain = gains(Split(i, rows, of, n_classes, may, groups, n_groups, passes))
        moving = np.bincount(of, amounts * moves, n_classes)
        # Who stays behind needs company: so many of the movers will have to stay, too.
        behind = sizes - moving
        short = np.where((behind > 0) & (behind < criteria.least), criteria.least - behind, 0.0)
        short[alone & criteria.may_be_suppressed(behind)] = 0.0
        going = np.where(moving - short >= criteria.least, moving - short, 0.0)
        gain *= going / np.maximum(moving, 1.0)
        splits.offer(i, gain, moves)
    return splits


def _passes(
    recoding: Recoding, rows: Indices, groups: Longs, n_groups: int, instead: tuple[int, Ints]
) -> Bools:
    """(r,) whether the groups of some rows meet the criteria, with other nodes of one attribute."""

    def codes_of(numbers: Longs) -> Ints:
        first = one_of_each(groups, n_groups)[numbers]
        shown = recoding.codes[rows[first]]
        shown[:, instead[0]] = instead[1][first]
        return shown

    placed = recoding.placed_apart(rows, groups, n_groups, codes_of)
    return np.asarray(~recoding.criteria.failing(placed)[groups])


def exchange(recoding: Recoding, up: int, down: int) -> int:
    """Raise one attribute by a step and lower another where that gains; how many records moved."""
    cells, steps = recoding.cells, recoding.steps
    rows = np.flatnonzero((steps[:, up] < cells.most[:, up]) & (steps[:, down] > 0))
    rows = rows[recoding.losses.gains_of_exchange(recoding, rows, up, down) > 0]
    return len(recoding.move_if_lower(rows, exchanged(steps[rows], up, down)))


def join(recoding: Recoding, levels: tuple[int, ...]) -> int:
    """Recode the records by the levels of a table-level rule where that gains; how many moved."""
    cells = recoding.cells
    target = cells.at_levels(levels)
    rows = np.arange(cells.size)
    gain = recoding.losses.gains(recoding, rows, target, range(cells.n_attributes))
    rows = rows[gain > TINY]
    return len(recoding.move_if_lower(rows, target[rows]))


def join_above(recoding: Recoding) -> int:
    """Let suppressed records join the class above them that costs least; how many records moved."""
    cells = recoding.cells
    rows = np.flatnonzero(cells.is_suppressed(recoding.steps) & recoding.movable)[:MOST_TAKEN_IN]
    shown = recoding.codes[one_of_each(recoding.of, recoding.n_classes)]
    shown = np.asfortranarray(shown[~rows_without_values(shown)])
    slopes = cells.slopes(recoding.steps)
    target = recoding.steps[rows]
    for place, row in enumerate(rows.tolist()):
        above = np.arange(len(shown))
        for i in range(cells.n_attributes):
            above = above[cells.is_above(i, row)[shown[above, i]]]
        if len(above):
            paid = sum(slopes[i] * cells.cost_of(i, row, shown[above, i]) for i in range(cells.n_attributes))
            target[place] = cells.steps_up(row, shown[above[np.argmin(paid)]])
    return len(recoding.move_if_lower(rows, target))


def levels_in_use(recoding: Recoding) -> Iterator[tuple[int, ...]]:
    """Levels for the table that classes of the recoding have, those of most records first."""
    cells = recoding.cells
    levels = np.empty(cells.raw.shape, dtype=np.int64)
    for i, tree in enumerate(cells.trees):
        levels[:, i] = tree.height - tree.depth[recoding.codes[:, i]]
    found, inverse = np.unique(levels, axis=0, return_inverse=True)
    records = np.bincount(inverse.reshape(-1), cells.amounts)
    for place in np.argsort(-records, kind="stable"):
        yield tuple(found[place].tolist())


def improve(recoding: Recoding, suffices: Callable[[float], bool], course: Course) -> None:
    """Sweeps of all kinds of moves, until a loss suffices; each move lowers the loss or is not made."""
    before, after = math.inf, course.of(lambda: recoding.loss)
    while before - after > LEAST_IMPROVEMENT * after and not suffices(after) and course.goes_on():
        before = after
        _sweep(recoding, course)
        after = course.of(lambda: recoding.loss)


def _sweep(recoding: Recoding, course: Course) -> None:
    q = range(recoding.cells.n_attributes)
    for up, down in itertools.permutations(q, 2):
        if course.goes_on():
            course.of(partial(exchange, recoding, up, down))
    specialise(recoding, course)
    course.of(lambda: join_above(recoding))
    for levels in course.of(lambda: list(itertools.islice(levels_in_use(recoding), MOST_JOINS))):
        if not course.goes_on():
            return
        course.of(partial(join, recoding, tuple(levels)))
    specialise(recoding, course)

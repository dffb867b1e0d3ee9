"""Rating one table-level rule from the state that some of its levels lead to.

The first attributes of a walk have led to a state; the levels of the later ones say, once for all states,
which rows to come fall into one class and what they add to Φ. A rule is then one pass over the rows of its
state. Many levels and many codes go first, so that few combinations are to come.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.distinct import group, row_keys
from app.domain.search.axes import Axis, Floats, Ints, Longs
from app.domain.search.tables.state_cache import depth_worth_keeping, states_worth_keeping
from app.domain.search.tables.walk_weights import WalkWeights
from app.domain.search.walk import State, Suffix, number_of_run

CELLS_PER_ROW = 30
MOST_CELLS = 2**23
FEW_CELLS = 1024


@dataclass(frozen=True, eq=False)
class Late:
    """What the levels of the later attributes make of the combinations of codes to come.

    Per combination: the number of its class, what it adds to Φ (as a factor in exponential families; None
    for nothing) and whether one of its weights is infinite (None: none is).
    """

    classes: Longs
    n_classes: int
    weights: Floats | None
    infinite: npt.NDArray[np.bool_] | None


class LateLevels:
    """The attributes of a walk from ``cut`` on.

    Parameters
    ----------
    axes, suffixes
        In the order of the walk.
    marks
        Mark of each combination of codes from ``cut`` on.
    exponential
        Whether Φ multiplies exponentials of weights.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        suffixes: Sequence[Suffix],
        cut: int,
        marks: Longs,
        exponential: bool,
        weights: WalkWeights,
    ) -> None:
        self.cut = cut
        self.marks = marks
        self._axes = axes
        self._exponential = exponential
        self._weights = weights
        self._codes: list[Ints] = []
        rest = np.arange(suffixes[cut].size)
        for suffix in suffixes[cut : len(axes)]:
            self._codes.append(suffix.codes[rest])
            rest = suffix.next[rest]
        self._found: OrderedDict[tuple[int, ...], Late] = OrderedDict()
        self._kept = max(16, MOST_CELLS // max(1, suffixes[cut].size))

    def at(self, levels: tuple[int, ...]) -> Late:
        """The combinations at one level per later attribute."""
        found = self._found.pop(levels, None)
        if found is None:
            found = self._make(levels)
        self._found[levels] = found
        if len(self._found) > self._kept:
            self._found.popitem(last=False)
        return found

    def _make(self, levels: tuple[int, ...]) -> Late:
        n = len(self.marks)
        columns, sizes = [], []
        weights: Floats | None = None
        for k, (level, codes) in enumerate(zip(levels, self._codes, strict=True)):
            image = self._axes[self.cut + k].images[level]
            # Codes of the dictionary alone that no record's class holds have a class of their own.
            columns.append(np.where(image.class_of < 0, image.n_classes, image.class_of)[codes])
            sizes.append(image.n_classes + 1)
            if not self._weights.is_free(self.cut + k, level):
                added = self._weights.of(self.cut + k, level, codes, self.marks)
                weights = added if weights is None else weights + added
        first, classes = group(*row_keys(columns, sizes, n))
        infinite = None
        if weights is not None:
            with np.errstate(over="ignore"):
                weights = np.exp(weights) if self._exponential else weights
            infinite = np.isposinf(weights)
            weights = np.where(infinite, 1.0 if self._exponential else 0.0, weights)
        return Late(
            classes.astype(np.int64),
            max(1, len(first)),
            weights,
            infinite if infinite is not None and infinite.any() else None,
        )


def counts_of(state: State, late: Late, entities: Floats) -> Floats:
    """|ρ| per row of a state, 0 where nobody is consistent."""
    keys = state.prefix * late.n_classes
    keys += late.classes.take(state.rest)
    space = state.n_prefixes * late.n_classes
    if space <= CELLS_PER_ROW * len(keys) + FEW_CELLS:
        return _summed(keys, entities, space)
    if (keys[1:] >= keys[:-1]).all():
        return _summed(number_of_run(keys), entities, 0)
    return _summed(group(keys, space)[1].astype(np.int64), entities, 0)


def _summed(numbers: Longs, entities: Floats, size: int) -> Floats:
    totals = np.bincount(numbers, entities, size).astype(np.float64, copy=False)
    found: Floats = totals.take(numbers)
    return found


def late_order(axes: Sequence[Axis]) -> list[int]:
    """The order of a walk that rates rules one by one: many codes first, so that few rows are left later.

    An attribute with dictionary codes that several classes share is among the first, for only a walk takes
    its rows apart.
    """
    positions = range(len(axes))
    shared = [j for j in positions if not all(image.is_function for image in axes[j].images)]
    others = sorted((j for j in positions if j not in shared), key=lambda j: (-axes[j].n_codes, j))
    n_states = math.prod(axes[j].n_levels for j in shared)
    most = states_worth_keeping([axis.n_levels for axis in axes])
    first: list[int] = []
    while others and n_states * axes[others[0]].n_levels <= most:
        first.append(others.pop(0))
        n_states *= axes[first[-1]].n_levels
    return [*first, *shared, *others]


def late_cut(axes: Sequence[Axis]) -> int:
    """How many of the axes, in the order of a walk, have a level in the states that rules are rated from."""
    shared = [k for k, axis in enumerate(axes) if not all(image.is_function for image in axis.images)]
    return max(depth_worth_keeping([axis.n_levels for axis in axes]), shared[-1] + 1 if shared else 0)

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
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.search.axes import Axis
from app.domain.search.walk import State, Suffix, number_of_run
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import group, row_keys

MAX_BYTES = 256 * 1024**2
STATES_PER_ROOT = 2.0

T = TypeVar("T")

CELLS_PER_ROW = 30
MOST_CELLS = 2**23
FEW_CELLS = 1024


class StateCache(Generic[T]):
    """States by the levels that led to them, the least recently used dropped above a number of bytes."""

    def __init__(self) -> None:
        self._bytes = 0
        self._states: dict[tuple[int, ...], tuple[T, int]] = {}

    def get(self, prefix: tuple[int, ...]) -> T | None:
        """The state, None if it is not kept."""
        found = self._states.pop(prefix, None)
        if found is None:
            return None
        self._states[prefix] = found
        return found[0]

    def put(self, prefix: tuple[int, ...], state: T, n_bytes: int) -> None:
        """Keep a state of a size; the last one is kept whatever its size."""
        self._states[prefix] = state, n_bytes
        self._bytes += n_bytes
        while self._bytes > MAX_BYTES and len(self._states) > 1:
            self._bytes -= self._states.pop(next(iter(self._states)))[1]


def states_worth_keeping(shape: Sequence[int]) -> float:
    """How many of the states that precede some rules, asked for in any order, are worth keeping.

    Many states are each used by few rules, few leave much to do for every rule: the square root of the number
    of rules balances the two.
    """
    return STATES_PER_ROOT * math.sqrt(math.prod(shape))


def depth_worth_keeping(shape: Sequence[int]) -> int:
    """How many of the first attributes (with their numbers of levels) such states have a level for."""
    most = states_worth_keeping(shape)
    depth, n_states = 0, 1
    while depth < len(shape) and (depth == 0 or n_states * shape[depth] <= most):
        n_states *= shape[depth]
        depth += 1
    return depth


class WalkWeights:
    """Weights by an attribute's place in a walk, its level and codes.

    Parameters
    ----------
    axes, order
        The axes in the order of the walk, and their attributes' positions in the table.
    group_of_mark
        The weight group that a record's mark stands for.
    """

    def __init__(
        self, sensitivity: Sensitivity, axes: Sequence[Axis], order: Sequence[int], group_of_mark: Ints
    ) -> None:
        self._axes = axes
        self._factors = [sensitivity.factors[:, j][group_of_mark] for j in order]
        self._personal = [not bool(np.isnan(factors).all()) for factors in self._factors]
        nothing = sensitivity.family == "constant"
        self._free = [
            [nothing or not (own.any() or unit.any()) for own, unit in zip(axis.own, axis.unit, strict=True)]
            for axis in axes
        ]

    def is_free(self, depth: int, level: int) -> bool:
        """Whether the level adds nothing for anybody."""
        return self._free[depth][level]

    def is_personal(self, depth: int) -> bool:
        """Whether the weights depend on the records' marks."""
        return self._personal[depth]

    def of(self, depth: int, level: int, codes: Ints, marks: Longs | None) -> Floats:
        """Weights of codes, of records with ``marks``, which are only needed where they are personal."""
        own: Floats = self._axes[depth].own[level][codes]
        if marks is None or not self._personal[depth]:
            return own
        factor, unit = self._factors[depth][marks], self._axes[depth].unit[level][codes]
        with np.errstate(invalid="ignore"):
            scaled = np.where(unit == 0.0, 0.0, factor * unit)
        return np.where(np.isnan(factor), own, scaled)


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
            found = Late(
                classes.astype(np.int64),
                max(1, len(first)),
                weights,
                infinite if infinite is not None and infinite.any() else None,
            )
        self._found[levels] = found
        if len(self._found) > self._kept:
            self._found.popitem(last=False)
        return found


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

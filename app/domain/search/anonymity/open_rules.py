"""The rules of a lattice that a search has not settled yet."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.domain.search.anonymity.class_sizes import Levels
from app.domain.search.canonical import outer_sum

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int16]


class OpenRules:
    """Rules by their levels (attributes, rules), with a lower bound of what each loses."""

    def __init__(self, levels: Numbers, bounds: Floats) -> None:
        self.levels = levels
        self.bounds = bounds

    @classmethod
    def of_terms(cls, terms: Sequence[Floats]) -> OpenRules:
        """All rules of a lattice, bounded by the sum of one term per attribute and level."""
        shape = tuple(len(term) for term in terms)
        levels = np.indices(shape, dtype=np.int16).reshape(len(shape), -1)
        return cls(levels, outer_sum(terms).reshape(-1))

    @property
    def size(self) -> int:
        """Rules that are open."""
        return len(self.bounds)

    @property
    def least(self) -> float:
        """The least bound of an open rule, ∞ if none is open."""
        return float(self.bounds.min()) if self.size else math.inf

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Close all rules that the mask (rules,) leaves out."""
        self.levels, self.bounds = self.levels[:, mask], self.bounds[mask]

    def below(self, levels: Levels) -> npt.NDArray[np.bool_]:
        """Which open rules have no greater level anywhere."""
        return np.asarray((self.levels <= np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def above(self, levels: Levels) -> npt.NDArray[np.bool_]:
        """Which open rules have no smaller level anywhere."""
        return np.asarray((self.levels >= np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def at(self, levels: Levels) -> npt.NDArray[np.bool_]:
        """Which open rule is the one of these levels, if it is open."""
        return np.asarray((self.levels == np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def places(self, lowest: list[int], shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
        """Where the rules are in a box that begins at ``lowest``, flattened."""
        found = np.zeros(self.size, dtype=np.intp)
        for levels, lo, size in zip(self.levels, lowest, shape, strict=True):
            found *= size
            found += levels
            found -= lo
        return found


def count_below(places: npt.NDArray[np.intp], shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """How many rules at these places of a box lie below each rule of it, flattened."""
    counts = np.zeros(math.prod(shape), dtype=np.int32)
    counts[places] = 1
    before = 1
    for size in shape:
        # Adding slices is several times faster than a cumulative sum along a short axis.
        lines = counts.reshape(before, size, -1)
        for level in range(1, size):
            lines[:, level] += lines[:, level - 1]
        before *= size
    return counts


def count_above(places: npt.NDArray[np.intp], shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """How many rules at these places of a box lie above each rule of it, flattened."""
    last = math.prod(shape) - 1
    return count_below(last - places, shape)[::-1]

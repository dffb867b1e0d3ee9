"""Pólya urns by whole numbers: draws of the Dirichlet-multinomial law with no floating-point number.

An urn has n people and U units of prior α; a cell has as many units as its prior is multiples of α. The
person of turn t = 0, 1, … is drawn uniformly from n + U·α + t: a copy of one of the people, the cell of a
unit, or the cell of an earlier turn. The counts have the law of "draw p from Dirichlet(counts + priors), then
as many from p" (Machanavajjhala (2008), algorithm 3).

α = a / q of whole numbers a and q, so that turn t draws a whole number below q·n + U·a + q·t, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints, Longs
from app.domain.mechanisms.exact_noise import uniform_below
from app.domain.mechanisms.mechanism import Bits

LARGEST_BOUND: Final = 2**63
CellsOfUnits = Callable[[Longs, Longs], Longs]
_Words = npt.NDArray[np.uint64]


def is_drawable(n: int, alpha: Fraction, units: int) -> bool:
    """Whether words of 64 bits hold all that the turns of such an urn draw."""
    return n >= 1 and alpha > 0 and 2 * alpha.denominator * n + units * alpha.numerator <= LARGEST_BOUND


@dataclass(frozen=True, eq=False)
class Urns:
    """Urns one after another; ValueError for numbers that no word of 64 bits holds.

    Parameters
    ----------
    sizes
        (p,) people in each, at least 1; as many are drawn.
    priors, scales
        (p,) a and q of each urn, in lowest terms: the prior of a unit is a / q, above 0.
    units
        U of each urn, (p,), or of all.
    """

    sizes: Longs
    priors: Longs
    scales: Longs
    units: Longs | int

    def __post_init__(self) -> None:
        units = np.broadcast_to(self.units, self.sizes.shape)
        columns = (own.tolist() for own in (self.sizes, self.priors, self.scales, units))
        if not all(is_drawable(n, Fraction(a, q), of) for n, a, q, of in {*zip(*columns, strict=True)}):
            raise ValueError("what the turns of an urn draw has to be from 1 to below 2^63")

    def drawn(self, people: Ints, bits: Bits, cells: CellsOfUnits = lambda urns, units: units) -> Ints:
        """(people,) the cells that are drawn, urn by urn, as ``people`` are the cells of theirs.

        ``cells`` takes the numbers of urns and of units in them to the cells of these units.

        Takes about 60 bytes a person meanwhile, and nothing for a cell.
        """
        sizes, scales = self.sizes.astype(np.uint64), self.scales.astype(np.uint64)
        starts = np.cumsum(self.sizes) - self.sizes
        turns = np.arange(len(people)) - np.repeat(starts, self.sizes)
        copies = scales * sizes
        fixed = copies + self.priors.astype(np.uint64) * np.asarray(self.units, dtype=np.uint64)
        scale = np.repeat(scales, self.sizes)
        # (people,) from 0: first the people, then the prior, then the earlier turns
        words = uniform_below(
            len(people), np.repeat(fixed, self.sizes) + scale * turns.astype(np.uint64), bits
        )
        urn: Ints = np.repeat(np.arange(len(sizes), dtype=np.int32), self.sizes)
        found: Ints = np.empty(len(people), dtype=np.int32)
        is_copy, is_turn = words < copies[urn], words >= fixed[urn]
        of_people, of_prior, of_turns = map(np.flatnonzero, (is_copy, ~(is_copy | is_turn), is_turn))
        own = urn[of_people]
        found[of_people] = people[starts[own] + (words[of_people] // scales[own]).astype(np.int64)]
        own = urn[of_prior]
        units = (words[of_prior] - copies[own]) // self.priors.astype(np.uint64)[own]
        found[of_prior] = cells(own.astype(np.int64), units.astype(np.int64))
        own = urn[of_turns]
        earlier = np.arange(len(people))
        earlier[of_turns] = starts[own] + ((words[of_turns] - fixed[own]) // scales[own]).astype(np.int64)
        found[of_turns] = found[_firsts(earlier, of_turns)]
        return found


def _firsts(earlier: Longs, of_turns: Longs) -> Longs:
    """Of each of these turns the one that its chain of earlier ones ends at; halves chains in each round."""
    rising = of_turns
    while len(rising):
        before = earlier[rising]
        above = earlier[before]
        earlier[rising] = above
        rising = rising[above != before]
    return earlier[of_turns]

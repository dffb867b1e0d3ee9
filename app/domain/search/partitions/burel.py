"""BUREL: buckets of sensitive values, sizes of classes, and rows drawn along a Hilbert curve.

Values of similar frequency share a bucket; a class takes from each bucket about in proportion to its size,
and at most the share that the bucket's rarest value may have: then it satisfies β-likeness whichever rows are
taken (Cao and Karras (2012), theorem 1), and rows are chosen by their quasi-identifiers alone. What the paper
leaves open is settled here: shares at a bound pass, halves are rounded down, axes are scaled to their
domains, and the curve is that of Skilling (2004).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Longs, concatenated_ranges
from app.domain.classes.gains import Gains, LikenessBound, exceeding, frequency_bounds
from app.domain.tables.distinct import sort_with_positions, starts_of_runs

Rounding = Literal["half_down", "half_up", "half_even"]
MOST_BITS: Final = 16
WORD: Final = 62
"""Bits of a position on the curve that fit into 64 with sign and differences; longer ones are Python's."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """The bucket of each value (m,), the rarest first; (k,) records of each, and of its rarest value."""

    of_value: Longs
    sizes: Longs
    least: Longs


def bucketise(
    counts: Longs, beta: Fraction, bound: LikenessBound = "enhanced", margin: Fraction = Fraction(0)
) -> Buckets:
    """The fewest buckets among runs of the values in order of frequency, equal ones in theirs.

    Of records (m,) of each value, at least 1; buckets of several leave a ``margin`` of their bound free.
    """
    order = np.argsort(counts, kind="stable")
    ordered, m = counts[order], len(counts)
    sums = np.concatenate([[0], np.cumsum(ordered)])
    last = np.searchsorted(sums, sums[:-1] + _most(ordered, beta, bound, margin), side="right") - 1
    last = np.maximum(last, np.arange(1, m + 1))
    # From which value on a bucket may begin that ends with each
    earliest = np.searchsorted(last, np.arange(1, m + 1)).tolist()
    fewest, begins = [0], []
    for first in earliest:
        # Fewest buckets never fall; of several beginnings the last is taken.
        begin = bisect_right(fewest, fewest[first]) - 1
        begins.append(begin)
        fewest.append(fewest[begin] + 1)
    starts, end = [], m
    while end:
        end = begins[end - 1]
        starts.append(end)
    first = np.array(starts[::-1])
    of_value = np.empty(m, dtype=np.int64)
    of_value[order] = np.repeat(np.arange(len(first)), np.diff(first, append=m))
    return Buckets(of_value, np.add.reduceat(ordered, first), ordered[first])


def _most(counts: Longs, beta: Fraction, bound: LikenessBound, margin: Fraction) -> Longs:
    """(m,) of all records, how many a bucket may have whose rarest value is each."""
    population = int(counts.sum())
    limits = frequency_bounds(counts, population, beta, bound)
    most = np.floor(limits * population * float(1 - margin)).astype(np.int64) + 1
    # Exactly, from one that may be too many on: (x / (1 − margin)) / N ≤ f
    share = 1 - margin
    sizes = np.full(len(counts), population * share.numerator, dtype=object)
    for _ in range(2):
        scaled = Gains(most.astype(object) * share.denominator, sizes, counts, population)
        most -= scaled.exceed(beta, bound)
    return most


def class_sizes(
    buckets: Buckets,
    beta: Fraction,
    bound: LikenessBound = "enhanced",
    rounding: Rounding = "half_down",
    k_min: int = 1,
) -> Longs:
    """(L, k) how many records each class takes of each bucket: halved as long as both halves are eligible."""
    population = int(buckets.sizes.sum())
    limits = frequency_bounds(buckets.least, population, beta, bound)

    def eligible(taken: Longs) -> Bools:
        sizes = taken.sum(axis=1)
        n, k = taken.shape
        shares = Gains(taken.ravel(), sizes.repeat(k), np.tile(buckets.least, n), population)
        above = exceeding(shares, np.tile(limits, n), beta, bound).reshape(n, k).any(axis=1)
        return np.asarray(~above & (sizes >= max(1, k_min)))

    is_even, is_up = rounding == "half_even", rounding == "half_up"
    found, open_ = buckets.sizes[None, :], np.ones(1, dtype=bool)
    while open_.any():
        nodes = found[open_]
        left = np.rint(nodes / 2).astype(np.int64) if is_even else (nodes + is_up) // 2
        halves = np.stack([left, nodes - left], axis=1)
        is_cut = open_.copy()
        is_cut[open_] = eligible(left) & eligible(nodes - left)
        # A class stays where it was, so that leaves come in the order of the tree, left ones first.
        places = np.cumsum(1 + is_cut) - (1 + is_cut)
        found = found.repeat(1 + is_cut, axis=0)
        kept = halves[is_cut[open_]]
        found[places[is_cut]], found[places[is_cut] + 1] = kept[:, 0], kept[:, 1]
        open_ = np.repeat(is_cut, 1 + is_cut)
    return found


def grid(relative: Floats, bits: int) -> Longs:
    """The cells of an axis for shares of the way along it."""
    return np.asarray(np.floor(relative * (2**bits - 1) + 0.5), dtype=np.int64)


def bits_for(n_places: int) -> int:
    """Bits for so many places on the axis that has most."""
    return min(MOST_BITS, max(1, (n_places - 1).bit_length()))


def hilbert(cells: Longs, bits: int) -> npt.NDArray[Any]:
    """(n,) position on the Hilbert curve of cells (q, n) below 2**bits; of more than 62 bits as objects."""
    own: list[Longs] = [column.copy() for column in cells]
    q = len(own)
    if q == 1:
        return own[0]
    for bit in range(bits - 1, 0, -1):
        below = (1 << bit) - 1
        for i in range(q):
            is_set = (own[i] >> bit) & 1 == 1
            swapped = np.where(is_set, 0, (own[0] ^ own[i]) & below)
            own[0] ^= np.where(is_set, below, swapped)
            if i:
                own[i] ^= swapped
    for i in range(1, q):
        own[i] ^= own[i - 1]
    flipped = np.zeros_like(own[0])
    for bit in range(bits - 1, 0, -1):
        flipped ^= np.where((own[-1] >> bit) & 1 == 1, (1 << bit) - 1, 0)
    found: npt.NDArray[Any] = np.zeros(len(flipped), dtype=np.int64 if q * bits <= WORD else object)
    for bit in range(bits - 1, -1, -1):
        for column in own:
            found = found * 2 + (((column ^ flipped) >> bit) & 1)
    return found


class _Bucket:
    """The records of a bucket that are left, in their order along the curve; equal positions are a group.

    Groups are linked in a ring with one more that stands for the end on either side.
    """

    def __init__(self, positions: list[int], first: list[int]) -> None:
        self.positions, self._first = positions, first
        self._low, self._high = first[:-1], first[1:]
        self._end = end = len(positions)
        self._after: list[int] = [*range(1, end + 1), 0]
        self._before: list[int] = [end, *range(end)]
        self._left = first[-1] - first[0]
        self._pool: Longs = np.arange(first[0], first[-1])

    @property
    def least(self) -> int:
        """The first position that is left."""
        return self.positions[self._after[self._end]]

    def drawn(self, uniform: Callable[[], float]) -> int:
        """The position of a record that is left, each as likely as any other."""
        if 2 * self._left < len(self._pool):
            self._pool = concatenated_ranges(np.array(self._low), np.subtract(self._high, self._low))
        while True:
            row = int(self._pool[int(uniform() * len(self._pool))])
            group = bisect_right(self._first, row) - 1
            if self._low[group] <= row < self._high[group]:
                return self.positions[group]

    def take(self, position: int, amount: int, runs: list[tuple[int, int]]) -> None:
        """Take the records nearest to a position, from below where two are; appends their runs."""
        self._left -= amount
        positions, low, high, end = self.positions, self._low, self._high, self._end
        right = self._find(bisect_left(positions, position))
        left = self._before[right]
        while amount:
            is_right = left == end or (
                right != end and positions[right] - position < position - positions[left]
            )
            group = right if is_right else left
            taken = min(amount, high[group] - low[group])
            amount -= taken
            if is_right:
                runs.append((low[group], taken))
                low[group] += taken
            else:
                high[group] -= taken
                runs.append((high[group], taken))
            if low[group] == high[group]:
                before, after = self._before[group], self._after[group]
                self._after[before], self._before[after] = after, before
                left, right = (left, after) if is_right else (before, right)

    def _find(self, group: int) -> int:
        """The first group that is left from this one on; empty ones learn what is after it."""
        after = self._after
        while group != self._end and self._low[group] == self._high[group]:
            following = after[group]
            if following != self._end and self._low[following] == self._high[following]:
                after[group] = after[following]
            group = following
        return group


def retrieve(
    bucket_of: Longs,
    ranks: Longs,
    positions: Sequence[int],
    leaves: Longs,
    random: np.random.Generator | None = None,
    tick: Callable[[int], None] = lambda _: None,
) -> Longs:
    """(n,) the class that each record is taken into, of sizes ``leaves`` (L, k) that use up the buckets.

    ``ranks`` (n,) are those of the records' ``positions`` on the curve, which ascend. ``random`` draws around
    whom classes are made; None: each time the first along the curve. ``tick`` takes how many are taken.
    """
    size = len(positions)
    keys, order = sort_with_positions(bucket_of * size + ranks, leaves.shape[1] * size)
    starts = starts_of_runs(keys)
    groups = np.searchsorted(keys[starts], np.arange(leaves.shape[1] + 1) * size)
    begins = np.append(starts, len(keys)).tolist()
    of_group = (keys[starts] % size).tolist()
    buckets = [
        _Bucket([positions[rank] for rank in of_group[a:b]], begins[a : b + 1])
        for a, b in pairwise(groups.tolist())
    ]
    runs: list[tuple[int, int]] = []
    ends = []
    done = 0
    for leaf in leaves.tolist():
        tick(done)
        done += sum(leaf)
        taking = [(bucket, amount) for bucket, amount in zip(buckets, leaf, strict=True) if amount]
        if random is None:
            seed = min(bucket.least for bucket, _ in taking)
        else:
            seed = taking[int(random.random() * len(taking))][0].drawn(random.random)
        for bucket, amount in taking:
            bucket.take(seed, amount, runs)
        ends.append(len(runs))
    found = np.empty(len(keys), dtype=np.int64)
    firsts, lengths = np.array(runs).T
    of_run = np.repeat(np.arange(len(leaves)), np.diff(ends, prepend=0))
    found[order[concatenated_ranges(firsts, lengths)]] = np.repeat(of_run, lengths)
    return found

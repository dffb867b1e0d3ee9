"""What every class needs that is close to the whole table, or tells little more: records, values, a mixture.

Searches rule out much by these bounds before they look at a distribution. All are safe to 1e-9: rounding
never makes a class that passes look impossible.

A condition on the shares of values, however classes are put together, says how much of a class can pass at
all: classes that pass make a class that passes, whose counts k_i are at most the n_i there are. If shares are
bounded by k_i ≤ s_i · K with K = Σ k_i, the greatest such K is that with Σ min(n_i, s_i · K) = K.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts

SAFE: Final = 1e-9
SIZES_AT_ONCE: Final = 32
MOST_SIZES: Final = 4096
MOST_CELLS: Final = 2_000_000
"""Sizes above are not tried: the least that was not ruled out is a bound all the same."""
ROUNDED: Final = 1e-12
"""Sums of shares are off by less."""
MOST_STEPS: Final = 64
"""Steps towards the records that can pass: all before are bounds, too."""


def least_size(possible: Callable[[Longs], Bools], totals: Longs | Floats) -> int:
    """The least number of records that a class may have, at least 1.

    ``possible`` says of sizes which are not ruled out. Of values with the ``totals`` at most the whole table
    is tried.
    """
    most = min(round(totals.sum()), MOST_SIZES, max(2, MOST_CELLS // len(totals)))
    for start in range(1, most, SIZES_AT_ONCE):
        sizes = np.arange(start, min(start + SIZES_AT_ONCE, most), dtype=np.int64)
        passing = possible(sizes)
        if passing.any():
            return int(sizes[np.argmax(passing)])
    return most


def fills_up(totals: Longs | Floats, shares: Floats) -> Callable[[Longs], Bools]:
    """Sizes that can be filled with no value above its greatest share, for :func:`least_size`."""

    def possible(sizes: Longs) -> Bools:
        room = np.floor(np.multiply.outer(sizes, shares) + SAFE)
        return np.asarray(np.minimum(room, totals).sum(axis=1) >= sizes - SAFE)

    return possible


def fills_between(totals: Longs, factor: float) -> Callable[[Longs], Bools]:
    """Sizes at which every value can have between 1 / factor and factor times its share."""
    shares = totals / totals.sum()

    def possible(sizes: Longs) -> Bools:
        expected = np.multiply.outer(sizes, shares)
        fewest = np.maximum(np.ceil(expected / factor - SAFE), 1)
        most = np.minimum(np.floor(expected * factor + SAFE), totals)
        fits = (fewest <= most).all(axis=1)
        return np.asarray(fits & (fewest.sum(axis=1) <= sizes) & (most.sum(axis=1) >= sizes))

    return possible


def rounds_equally(totals: Longs, distance: float) -> Callable[[Longs], Bools]:
    """Sizes whose best rounding of the shares to whole records is within a distance, ½ Σ |p − q|."""
    population = int(totals.sum())

    def possible(sizes: Longs) -> Bools:
        rest = np.sort(np.multiply.outer(sizes, totals) % population, axis=1)
        left_over = rest.sum(axis=1) // population
        # The largest remainders are rounded up, as many as records are left over; the others move.
        moved = rest.cumsum(axis=1)[np.arange(len(sizes)), len(totals) - 1 - left_over]
        return np.asarray(moved / (sizes * population) <= distance + SAFE)

    return possible


def rounds_in_order(totals: Longs, distance: float) -> Callable[[Longs], Bools]:
    """Sizes whose best whole records are within an ordered distance: each running sum rounded to a record."""
    population, steps = int(totals.sum()), max(1, len(totals) - 1)
    up_to = np.cumsum(totals)[:-1]

    def possible(sizes: Longs) -> Bools:
        rest = np.multiply.outer(sizes, up_to) % population
        moved = np.minimum(rest, population - rest).sum(axis=1)
        return np.asarray(moved / (sizes * (population * steps)) <= distance + SAFE)

    return possible


def least_values(shares: Floats, mass: float) -> int:
    """The least number of different values whose greatest shares add up to a mass (L6), at least 1."""
    reached = np.cumsum(np.sort(shares)[::-1]) >= mass - SAFE
    return int(np.argmax(reached)) + 1 if reached.any() else len(shares)


def least_mass(divergence: float) -> float:
    """The least share of the table whose values a class must have to be within a Jensen–Shannon divergence.

    With the present values' mass s no class is closer than ½ s log2(2s/(1+s)) + ½ log2(2/(1+s)) + ½ (1 − s),
    which falls as s grows.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        present = middle * math.log2(2 * middle / (1 + middle)) + math.log2(2 / (1 + middle))
        low, high = (low, middle) if (present + 1 - middle) / 2 <= divergence + SAFE else (middle, high)
    return low


def greatest_shift(divergence: float) -> float:
    """The largest ½ Σ |p − q| within a Jensen–Shannon divergence, rounded up, at most 1.

    Of all distributions that differ by v, two symmetric ones of two values are nearest (Gilardoni (2006)):
    their divergence is 1 − H((1 − v) / 2), with the entropy H in bits.
    """
    if divergence + SAFE >= 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        x = (1 - middle) / 2
        nearest = 1 + x * math.log2(x) + (1 - x) * math.log2(1 - x)
        low, high = (middle, high) if nearest <= divergence + SAFE else (low, middle)
    return high


def most_passing(counts: SensitiveCounts, shares: Floats, mass: float) -> Longs:
    """(G,) how many records of each class can be in classes that pass, at most.

    Passing classes have Σ min(k_i, s_i · K) ≥ mass · K with the ``shares`` s_i (m,), hence g(K) ≥ mass · K
    with g(K) = Σ min(n_i, s_i · K). As g is concave and g(0) = 0, Newton's steps from the size of the class
    down never go below the greatest such K, and soon reach it. For a mass of 1 no k_i is above s_i · K, and
    whole numbers count: K ≤ M implies K ≤ Σ min(n_i, ⌊s_i · M⌋).
    """
    most = counts.sizes.astype(np.int64)
    open_ = np.flatnonzero(counts.distinct) if mass > SAFE else np.empty(0, dtype=np.intp)
    share, amounts = shares[counts.values], counts.counts
    for _ in range(MOST_STEPS):
        if not len(open_):
            break
        lengths = counts.distinct[open_]
        starts = np.cumsum(lengths) - lengths
        room = share * np.repeat(most[open_], lengths)
        if mass == 1:
            bounds = np.add.reduceat(np.minimum(amounts, np.floor(room + SAFE)), starts)
        else:
            used_up = amounts <= room
            lacking = mass - np.add.reduceat(np.where(used_up, 0.0, share), starts) - ROUNDED
            taken = np.add.reduceat(np.where(used_up, amounts, 0), starts)
            bounds = np.where(lacking > SAFE, taken / np.maximum(lacking, SAFE), np.inf)
        fits = np.floor(np.minimum(bounds * (1 + SAFE) + SAFE, most[open_])).astype(np.int64)
        falls = fits < most[open_]
        most[open_[falls]] = fits[falls]
        entries = np.repeat(falls, lengths)
        open_, share, amounts = open_[falls], share[entries], amounts[entries]
    return most

"""What per-record numbers amount to over a table: mean, extremes, quantiles (Definitions: risk).

All work on distinct rows with the number of records of each, and answer what the records one by one would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Longs
from app.domain.tables.numbers import exact_sum

LOSS_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
COUNT_EDGES = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000, 1_000_000)
LOSS_BINS = 20
SHARE_TOLERANCE = 1e-9
MANY = 50_000
VALUES_AT_ONCE = 2**15
BITS_WITHIN_BIN = 42


@dataclass(frozen=True)
class Histogram:
    """Records per bin. Bin i is [edges[i], edges[i+1]), the last one closed; ``infinite`` are not binned."""

    edges: tuple[float, ...]
    records: tuple[int, ...]
    infinite: int = 0


def mean(values: Floats, records: Longs | Floats) -> float:
    """Mean over records or over record weights, ±∞ if a value that counts is.

    The sum of the products is correctly rounded, hence independent of order; values that do not count may be
    anything.
    """
    held = records > 0
    if not held.all():
        values, records = values[held], records[held]
    total = exact_sum(records) if records.dtype.kind == "f" else int(records.sum())
    return exact_sum(values * records) / total


def quantiles(
    values: Floats, records: Longs | Floats, levels: tuple[float, ...] = LOSS_QUANTILES
) -> dict[float, float]:
    """Per level q the least value that at least the share q of the records, or weights, does not exceed."""
    if len(values) >= MANY and records.dtype.kind == "i" and not bool((values < 0).any()):
        return _quantiles_of_many(values, records.astype(np.int64), levels)
    # Which of equal values comes first says nothing where their records are summed exactly: only zeros of
    # either sign look different, and sums of weights may differ by their order.
    orderless = records.dtype.kind == "i" and not bool(np.signbit(values).any())
    order = np.argsort(values, kind=None if orderless else "stable")
    order = order[records[order] > 0]
    reached = np.cumsum(records[order])
    total = float(reached[-1])
    return {level: float(values[order[np.searchsorted(reached, _rank(level, total))]]) for level in levels}


def _rank(level: float, total: float) -> float:
    return level * total - SHARE_TOLERANCE * max(1.0, total)


def _quantiles_of_many(values: Floats, records: Longs, levels: tuple[float, ...]) -> dict[float, float]:
    """The same for numbers of records and values from 0 on: only values about a quantile are sorted.

    Non-negative doubles are ordered as the integers of their bits; the first of these make the bins.
    """
    bins = (np.abs(values).view(np.int64) >> BITS_WITHIN_BIN).astype(np.int32)
    bins -= bins.min()
    below = np.cumsum(np.bincount(bins, records))
    total = float(below[-1])
    found: dict[float, float] = {}
    for level in levels:
        rank = _rank(level, total)
        number = int(np.searchsorted(below, rank))
        held = np.flatnonzero(bins == number)
        before = below[number - 1] if number else 0.0
        order = held[np.argsort(values[held], kind="stable")]
        found[level] = float(values[order[np.searchsorted(before + np.cumsum(records[order]), rank)]])
    return found


def histogram_of_counts(counts: Longs, records: Longs) -> Histogram:
    """Records by the number of their consistent entities, on fixed edges up to the greatest count."""
    greatest = int(counts.max())
    inner = [edge for edge in COUNT_EDGES if edge <= greatest]
    edges = np.array([*inner, greatest + 1])
    return Histogram(tuple(float(edge) for edge in edges), _per_bin(counts, records, edges, len(inner)))


def histogram_of_losses(losses: Floats, records: Longs) -> Histogram:
    """Records by loss, in equal bins from 0 to the greatest finite loss; of III_raw from the least to 0."""
    finite = np.isfinite(losses)
    infinite = int(records[~finite].sum())
    if not finite.all():
        losses, records = losses[finite], records[finite]
    least, greatest = min(0.0, losses.min(initial=0.0)), max(0.0, losses.max(initial=0.0))
    if least == greatest:
        return Histogram((0.0, 0.0), (int(records.sum()),), infinite)
    edges = np.linspace(least, greatest, LOSS_BINS + 1)
    return Histogram(tuple(edges.tolist()), _per_bin(losses, records, edges, LOSS_BINS), infinite)


def _per_bin(
    values: Longs | Floats, records: Longs, edges: npt.NDArray[np.number], bins: int
) -> tuple[int, ...]:
    """Records of the values of each bin, from the first edge on; the last bin is closed."""
    place = np.zeros(len(values), dtype=np.int64)
    # Few edges, and pieces that stay in the processor's cache: faster than searching among them.
    for start in range(0, len(values), VALUES_AT_ONCE):
        piece = values[start : start + VALUES_AT_ONCE]
        found = np.zeros(len(piece), dtype=np.int8)
        for edge in edges[1:bins].tolist():
            found += piece >= edge
        place[start : start + VALUES_AT_ONCE] = found
    return tuple(np.bincount(place, records, minlength=bins).astype(np.int64).tolist())

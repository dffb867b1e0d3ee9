"""What per-record numbers amount to over a table: mean, extremes, quantiles, histogram (specification 6.2).

All work on distinct rows with the number of records of each, and answer what the records one by one would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.distinct import Longs
from app.domain.numbers import exact_sum
from app.domain.weights import Floats

LOSS_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
COUNT_EDGES = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000, 1_000_000)
LOSS_BINS = 20
SHARE_TOLERANCE = 1e-9


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
    total = exact_sum(records[held]) if records.dtype.kind == "f" else int(records.sum())
    return exact_sum(values[held] * records[held]) / total


def quantiles(
    values: Floats, records: Longs | Floats, levels: tuple[float, ...] = LOSS_QUANTILES
) -> dict[float, float]:
    """Per level q the least value that at least the share q of the records, or weights, does not exceed."""
    order = np.argsort(values, kind="stable")
    order = order[records[order] > 0]
    reached = np.cumsum(records[order])
    total = float(reached[-1])
    found = {}
    for level in levels:
        rank = level * total - SHARE_TOLERANCE * max(1.0, total)
        found[level] = float(values[order[np.searchsorted(reached, rank)]])
    return found


def histogram_of_counts(counts: Longs, records: Longs) -> Histogram:
    """Records by the number of their consistent entities, on fixed edges up to the greatest count."""
    greatest = int(counts.max())
    inner = [edge for edge in COUNT_EDGES if edge <= greatest]
    edges = np.array([*inner, greatest + 1])
    place = np.searchsorted(edges, counts, side="right") - 1
    held = np.bincount(place, records, minlength=len(inner)).astype(np.int64)
    return Histogram(tuple(float(edge) for edge in edges), tuple(held.tolist()))


def histogram_of_losses(losses: Floats, records: Longs, bins: int = LOSS_BINS) -> Histogram:
    """Records by loss, in equal bins from 0 to the greatest finite loss; of III_raw from the least to 0."""
    finite = np.isfinite(losses)
    infinite = int(records[~finite].sum())
    least, greatest = min(0.0, losses[finite].min(initial=0.0)), max(0.0, losses[finite].max(initial=0.0))
    if least == greatest:
        return Histogram((0.0, 0.0), (int(records[finite].sum()),), infinite)
    edges = np.linspace(least, greatest, bins + 1)
    place = np.minimum(np.searchsorted(edges, losses[finite], side="right") - 1, bins - 1)
    held = np.bincount(place, records[finite], minlength=bins).astype(np.int64)
    return Histogram(tuple(edges.tolist()), tuple(held.tolist()), infinite)

"""What a sample of generalised records is worth on average, for who may see the records: it tells of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.mechanisms.generalised_records import Decide, GeneralisedRecords, Score

_ROUNDED_UP = 1 + 1e-9


@dataclass(frozen=True)
class ExpectedValue:
    """Means over all records, of which those that are not sampled count nothing.

    Attributes
    ----------
    rows
        Expected number of rows.
    objective
        Expected objective where generalisations are frequent by their counts without noise: exact.
    error_at_most
        By how much noise can change that at most, up or down.
    best_frequent
        Greatest objective of a release that shows every record as one of these frequent generalisations.
    best
        The same of all its generalisations.
    """

    rows: float
    objective: float
    error_at_most: float
    best_frequent: float
    best: float


def expected_value(
    records: GeneralisedRecords,
    rate: float,
    decide: Decide,
    in_doubt: Callable[[Longs], Floats],
    worth: Score,
    exponent: float,
) -> ExpectedValue:
    """The value where a sampled record is shown as x with a probability proportional to exp(exponent · f(x)).

    ``in_doubt`` are the probabilities that noise decides otherwise on generalisations of so many records.
    Unless it does on any of a record's, that one is shown by the law that ``decide`` leaves; otherwise its
    expected objective is still one between its least and its greatest. That bounds the error.
    """
    mean, best_frequent = _of_frequent(records, decide, worth, exponent)
    number = len(records.codes)
    best, least, doubt = np.full(number, -math.inf), np.full(number, math.inf), np.zeros(number)
    for one in records.frequent(lambda below: np.ones(len(below), dtype=bool)):
        rows, counts = one.of_records()
        found = worth(records.nodes(one.vector, rows), counts)
        best[rows], least[rows] = np.maximum(best[rows], found), np.minimum(least[rows], found)
        if any(one.vector):
            doubt[rows] += in_doubt(counts)
    error = np.minimum(doubt, 1.0) * (best - least)
    size = int(records.counts.sum())

    def average(own: Floats) -> float:
        return float(own @ records.counts) / size

    return ExpectedValue(
        rate * size,
        rate * average(mean),
        rate * average(error) * _ROUNDED_UP,
        average(best_frequent),
        average(best),
    )


def _of_frequent(
    records: GeneralisedRecords, decide: Decide, worth: Score, exponent: float
) -> tuple[Floats, Floats]:
    """(d,) the expected objective of each record that is sampled, and its greatest.

    Sums are kept relative to the greatest exponent so far, so that none overflows.
    """
    number = len(records.codes)
    best = np.full(number, -math.inf)
    weights, sums = np.zeros(number), np.zeros(number)
    for one in records.frequent(decide):
        rows, counts = one.of_records()
        found = worth(records.nodes(one.vector, rows), counts)
        top = np.maximum(best[rows], found)
        shrunk, own = np.exp(exponent * (best[rows] - top)), np.exp(exponent * (found - top))
        weights[rows] = weights[rows] * shrunk + own
        sums[rows] = sums[rows] * shrunk + own * found
        best[rows] = top
    return sums / weights, best

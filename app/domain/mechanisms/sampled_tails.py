"""How probable it is that copies of a sample tell the share of a value in a group far off: exactly.

Of n records, n_x of them with the value, n1 are drawn and k of these have it; o of them show it after uniform
replacement, which is a sum of two binomials; and each is published n div n1 times, some once more. Of samples
whose total is exact so many more show the value as o of n1 give a lot of n mod n1 without replacement
(hypergeometric). As published, coins round each value's part of the sample and the copies of each record, so
that the rows of the group are chance as well. What has a probability below 1e-24 at some step is left out,
which takes at most 1e-15 of what is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import Bound, Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.reconstruction_tails import TIE, Binomials, WholeLaws, far_off, reach_of
from app.domain.mechanisms.count_variances import count_variances

NEGLIGIBLE: Final = 1e-24
EXPONENT: Final = 57.0
"""Of a law what is no more probable than 2·exp(−57) in all is left out."""
CELLS: Final = 1 << 19
SECONDS_PER_CELL: Final = 3e-8
WIDTH: Final = 20.0
"""Standard deviations that the numbers which are not negligible span, about."""


@dataclass(frozen=True)
class SampledShare:
    """What a reader of the copies learns of the share of one value in one group.

    Parameters
    ----------
    sample
        Records drawn of the group, in the mean.
    above_bound
        The probability that the sample is above the bound that it is to keep.
    low, high
        The probabilities that the estimate of the share is too low, and too high, by more than ε of it.
    nothing
        The probability that nothing is published of the group, so that there is no estimate.
    error
        The root of the mean square of (estimate − count) / count, of the records with the value.
    """

    sample: float
    above_bound: float
    low: float
    high: float
    nothing: float
    error: float


SUPPRESSED: Final = SampledShare(0.0, 0.0, 0.0, 0.0, 1.0, 1.0)
"""Where no sample is small enough: the group counts as if nobody was in it."""


def of_exact_sample(amount: int, size: int, sample: int, question: ReconstructionQuestion) -> SampledShare:
    """Of a sample of so many records, rounded so that totals are exact; of all of them plain perturbation.

    Whether the sample keeps its bound is the caller's matter.
    """
    if not sample:
        return SUPPRESSED
    own, one = question.replacement, np.ones(1, dtype=np.int64)
    below, above = (int(far[0]) for far in far_off(amount * one, size * one, own, question.epsilon))
    (times, more), low, high = divmod(size, sample), 0.0, 0.0
    whole, rest = divmod(amount * sample, size)
    for having, chance in ((whole, 1 - rest / size), (whole + 1, rest / size)):
        if not chance:
            continue
        shown, weights = _showing(having, sample, own)
        for some in _parts(len(shown), _width(more)):
            lots = _Lots(shown[some], more, sample)
            copied, weight = times * shown[some][:, None], chance * weights[some]
            low += float(weight @ lots.up_to(below - copied)[:, 0])
            high += float(weight @ lots.from_on(above - copied)[:, 0])
    variance = float(count_variances(amount * one, size * one, sample * one, own)[0])
    return SampledShare(sample, 0.0, low, high, 0.0, math.sqrt(variance) / amount)


def of_coin_sample(
    amounts: Longs,
    place: int,
    limit: float,
    question: ReconstructionQuestion,
    bound: Bound,
    sizing: ReconstructionQuestion | None = None,
) -> SampledShare:
    """Of a sample as published, of ``limit`` records in the mean, less than the group has.

    ``amounts`` (d,) are the records with each of its values, of which the one at ``place`` is estimated.
    ``sizing`` is what the sample is to keep by the bound, if that is not what is asked about estimates.
    """
    size, amount = int(amounts.sum()), int(amounts[place])
    whole, rest = np.divmod(amounts * (limit / size), 1.0)
    own, others = float(rest[place]), coins(np.delete(rest, place))
    least = int(whole.sum())
    low = high = nothing = squares = 0.0
    for more in range(len(others) + 1):
        # The value's own coin is one of those that came up, or none of them is.
        parts = [
            (int(whole[place]) + one, chance * float(others[more - one]))
            for one, chance in ((0, 1 - own), (1, own))
            if 0 <= more - one < len(others)
        ]
        sample, all_parts = least + more, sum(chance for _, chance in parts)
        if all_parts <= NEGLIGIBLE:
            continue
        if not sample:
            nothing, squares = all_parts, squares + all_parts * amount**2
            continue
        far = _of_coin_copies(parts, sample, amount, size, question)
        low, high = low + far[0], high + far[1]
        squares += sum(chance * _square(k, sample, amount, size, question) for k, chance in parts)
    above = max(0.0, 1 - _within(whole.astype(np.int64), rest, sizing or question, bound))
    return SampledShare(limit, above, low, high, nothing, math.sqrt(squares) / amount)


def seconds(distinct: int, size: int, limit: float) -> float:
    """About how long the exact and the coin sample of one group take that has so many different values."""
    sample = min(float(size), limit)
    width = min(sample, WIDTH * math.sqrt(sample))
    totals = 1 + min(distinct, WIDTH * math.sqrt(distinct))
    return SECONDS_PER_CELL * (totals + 4) * (width**2 + 1000)


def coins(chances: Floats) -> Floats:
    """(d + 1,) how probably so many of independent coins come up."""
    found = np.ones(1)
    for chance in chances[(chances > 0) & (chances < 1)].tolist():
        found = np.convolve(found, [1 - chance, chance])
    return np.pad(found, (int(np.count_nonzero(chances >= 1)), int(np.count_nonzero(chances <= 0))))


def _showing(having: int, sample: int, own: UniformReplacement) -> tuple[Longs, Floats]:
    """How many of a sample may show the value that so many of it have, and how probably."""
    kept = Binomials(np.array([having]), own.kept, own.changed, EXPONENT)
    come = Binomials(np.array([sample - having]), own.elsewhere, own.p + own.changed, EXPONENT)
    found = np.convolve(kept.probabilities[0], come.probabilities[0])
    places = np.flatnonzero(found > NEGLIGIBLE)
    return int(kept.first[0] + come.first[0]) + places.astype(np.int64), found[places]


class _Lots(WholeLaws):
    """How many of ``shown`` (k,) records of a sample are among so many drawn without replacement."""

    def __init__(self, shown: Longs, drawn: int, sample: int) -> None:
        self._shown, self._drawn, self._sample = shown[:, None], drawn, sample
        mode = (shown + 1) * (drawn + 1) // (sample + 2)
        part = shown / sample
        # No wider than with replacement (Hoeffding), for which the reach holds.
        reach = reach_of(np.sqrt(drawn * part * (1 - part)), EXPONENT)
        least = np.maximum(0, drawn - (sample - shown))
        super().__init__(
            mode, np.minimum(mode - least, reach), np.minimum(np.minimum(shown, drawn) - mode, reach)
        )

    def _ratio(self, numbers: Longs) -> tuple[Longs, Longs]:
        """Of the probability of each number to that of the one below: as a fraction, 0 beyond the ends."""
        up = np.maximum(self._shown - numbers + 1, 0) * np.maximum(self._drawn - numbers + 1, 0)
        down = np.maximum(numbers, 0) * np.maximum(self._sample - self._shown - self._drawn + numbers, 0)
        return up, down

    def _rising(self, numbers: Longs) -> Floats:
        up, down = self._ratio(numbers)
        return np.asarray(up / np.maximum(down, 1))

    def _falling(self, numbers: Longs) -> Floats:
        up, down = self._ratio(numbers)
        return np.asarray(down / np.maximum(up, 1))


def _of_coin_copies(
    parts: list[tuple[int, float]], sample: int, amount: int, size: int, question: ReconstructionQuestion
) -> tuple[float, float]:
    """How probably estimates are too low and too high, of a sample of so many records.

    ``parts`` are how many of these may have the value, with the probability of both.
    """
    own, share = question.replacement, amount / size
    thresholds = [own.elsewhere + own.p * share * (1 + off) for off in (-question.epsilon, question.epsilon)]
    times, more = divmod(size, sample)
    again, low, high = more / sample, 0.0, 0.0
    shown, weights = _mixed([(_showing(having, sample, own), chance) for having, chance in parts])
    for some in _parts(len(shown), _width(sample)):
        o, weight = shown[some], weights[some]
        mine = Binomials(o, again, 1 - again, EXPONENT)
        others = Binomials(sample - o, again, 1 - again, EXPONENT)
        once_more = mine.first[:, None] + np.arange(mine.probabilities.shape[1])
        published, rows = times * o[:, None] + once_more, times * sample + once_more
        # Too low exactly where all rows, the others' further copies among them, are more than this quotient.
        if thresholds[0] > TIE:
            least = np.floor(published / (thresholds[0] - TIE)).astype(np.int64) + 1 - rows
            low += float(weight @ (mine.probabilities * others.from_on(least)).sum(axis=1))
        most = np.ceil(published / (thresholds[1] + TIE)).astype(np.int64) - 1 - rows
        high += float(weight @ (mine.probabilities * others.up_to(most)).sum(axis=1))
    return low, high


def _mixed(laws: list[tuple[tuple[Longs, Floats], float]]) -> tuple[Longs, Floats]:
    """Numbers that any of some laws may give, and how probably, if each holds with its chance."""
    numbers = np.unique(np.concatenate([shown for (shown, _), _ in laws]))
    found = np.zeros(len(numbers))
    for (shown, weights), chance in laws:
        found[np.searchsorted(numbers, shown)] += chance * weights
    return numbers, found


def _width(trials: int) -> int:
    """At most so many columns a law of so many trials takes."""
    return int(min(trials + 1, 2 * reach_of(np.sqrt(np.array([trials])) / 2, EXPONENT)[0] + 1))


def _square(having: int, sample: int, amount: int, size: int, question: ReconstructionQuestion) -> float:
    """The mean square error of the count, of a sample of which so many have the value."""
    own = question.replacement
    a, c, p = own.kept, own.elsewhere, own.p
    often = size / sample
    rest = (size % sample) / sample
    square = often**2 + rest * (1 - rest)
    kept = square * (a * (1 - 2 * c) + c**2) - (often * p) ** 2
    come = square * (c * (1 - 2 * c) + c**2)
    return (having * kept + (sample - having) * come) / p**2 + (size * having / sample - amount) ** 2


def _within(whole: Longs, rest: Floats, question: ReconstructionQuestion, bound: Bound) -> float:
    """The probability that a sample by coins is within its own bound; nothing at all is."""
    least, d = int(whole.sum()), len(whole)
    found, laws = 0.0, dict[bytes, Floats]()
    for more in range(d + 1):
        sample = np.full(d, max(1, least + more))
        passes = [
            Estimates(np.minimum(own, sample), sample, question.replacement, question.epsilon).within(
                bound, question.delta
            )
            for own in (whole, whole + 1)
        ]
        if not passes[0].all():
            continue
        forced = ~passes[1]
        key = forced.tobytes()
        if key not in laws:
            laws[key] = coins(rest[~forced]) * float(np.prod(1 - rest[forced]))
        if more < len(laws[key]):
            found += float(laws[key][more])
    return min(1.0, found)


def _parts(n: int, width: int) -> Iterator[slice]:
    """Some of n rows of so many columns at a time."""
    at_once = max(1, CELLS // max(1, width))
    for start in range(0, n, at_once):
        yield slice(start, start + at_once)

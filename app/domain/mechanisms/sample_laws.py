"""The exact law of what a sampled generalisation of a small table shows, made of the mechanism's own steps.

Which generalisations are frequent, what each is worth and the whole weights by which one is drawn come of the
code that draws a release; only chance is replaced by all that it can do. An outcome is how many rows each
generalisation, or each of some groups of them, has. All numbers are sums and products of numbers that are not
negative, so that none is off by more than a part that is counted along the way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.mechanisms.exact_choice import whole_weights
from app.domain.mechanisms.generalised_records import Candidates, GeneralisedRecords, Score
from app.domain.mechanisms.noise_law import NoiseLaw

Node = tuple[int, ...]
"""A generalisation by its node of each attribute."""
Reaches = Callable[[int], tuple[float, float]]
"""How probably a generalisation of so many records is decided to be frequent, and that it is not."""
NEGLIGIBLE: Final = 1e-24
"""Frequent sets that are less probable are left out; see :data:`LEFT_OUT`."""
LEFT_OUT: Final = 1e-12
"""What all of them together can change of δ at most, for ε up to 20 and 10 decisions: 2^10 · e^20 · 1e-24."""
_UNIT: Final = 2.0**-53
_LOW_BITS: Final = 42
_SUMS: Final = 400
"""Roundings of what is not counted one by one: of chances, of two mixtures and of sums in pairs."""


@dataclass(frozen=True, eq=False)
class FrequentSet:
    """A set of frequent generalisations, how probable it is, and what they are worth to each record."""

    chance: float
    candidates: Candidates
    members: frozenset[Node]


@dataclass(frozen=True, eq=False)
class SampleSteps:
    """What a sampled generalisation of one table does: all sets that can be frequent, and the coin."""

    records: GeneralisedRecords
    rate: Fraction
    sets: tuple[FrequentSet, ...]

    @property
    def size(self) -> int:
        """Records of the table."""
        return int(self.records.counts.sum())


class _Undecided(Exception):
    def __init__(self, counts: Longs) -> None:
        super().__init__()
        self.counts = counts


def noise_reaches(scale: int, threshold: int) -> Reaches:
    """By two-sided geometric noise of 1/scale, from the threshold on."""
    noise = NoiseLaw(Fraction(1, scale))
    return lambda count: (float(noise.tail(threshold - count)), float(noise.tail(1 - threshold + count)))


def noisy_sets(records: GeneralisedRecords, score: Score, reaches: Reaches) -> Iterator[FrequentSet]:
    """All that can be frequent where each generalisation is decided for itself, from ⊥ down."""
    every = np.arange(len(records.codes))
    scripts: list[tuple[tuple[tuple[bool, ...], ...], float]] = [((), 1.0)]
    while scripts:
        script, chance = scripts.pop()
        answers = iter(script)

        def decide(counts: Longs, answers: Iterator[tuple[bool, ...]] = answers) -> Bools:
            found = next(answers, None)
            if found is None:
                raise _Undecided(counts)
            return np.array(found, dtype=bool)

        try:
            candidates = Candidates.of(records, every, decide, score)
        except _Undecided as more:
            odds = [reaches(int(n)) for n in more.counts]
            for answer in itertools.product((True, False), repeat=len(odds)):
                own = chance * math.prod(
                    yes if is_in else no for is_in, (yes, no) in zip(answer, odds, strict=True)
                )
                if own >= NEGLIGIBLE:
                    scripts.append(((*script, answer), own))
        else:
            yield FrequentSet(chance, candidates, members_of(candidates))


def members_of(candidates: Candidates) -> frozenset[Node]:
    """The frequent generalisations that any record has."""
    return frozenset(
        node
        for row, columns in enumerate(np.isfinite(candidates.scores))
        for node in _shown(candidates, row, np.flatnonzero(columns))
    )


def _shown(candidates: Candidates, row: int, columns: Longs) -> list[Node]:
    nodes = candidates.nodes(np.repeat(row, len(columns)), columns.astype(np.int32))
    return list(zip(*(own.tolist() for own in nodes), strict=True))


def above(records: GeneralisedRecords, row: int) -> list[Node]:
    """All generalisations of one of the records."""
    found = []
    for vector in records.vectors():
        if records.reaching(vector)[row]:
            found.append(tuple(int(own[0]) for own in records.nodes(vector, np.array([row]))))
    return found


def counts_below(records: GeneralisedRecords) -> Mapping[Node, int]:
    """How many records are below each generalisation of any."""
    found: dict[Node, int] = {}
    for row, n in enumerate(records.counts.tolist()):
        for node in above(records, row):
            found[node] = found.get(node, 0) + n
    return found


@dataclass(frozen=True, eq=False)
class Law:
    """How probable each outcome is: one axis per group of generalisations, its place how many rows it has.

    No number is off by more than ``error`` of itself.
    """

    chances: Floats
    error: float


@dataclass(frozen=True)
class Grouping:
    """Which rows are told from which: the axis of each generalisation, and how many rows each may have."""

    axis: Mapping[Node, int]
    shape: tuple[int, ...]

    @property
    def outcomes(self) -> int:
        """Of which the law consists."""
        return math.prod(self.shape)


def grouping(records: GeneralisedRecords, parts: Sequence[Sequence[Node]]) -> Grouping:
    """These groups, with room for all records below any of a group's."""
    axis = {node: at for at, part in enumerate(parts) for node in part}
    most = [1] * len(parts)
    for row, n in enumerate(records.counts.tolist()):
        for at in {axis[node] for node in above(records, row) if node in axis}:
            most[at] += n
    return Grouping(axis, tuple(most))


def law_of(own: FrequentSet, steps: SampleSteps, of: Grouping) -> Law:
    """What is shown where this set is frequent."""
    law, roundings = np.ones((1,) * len(of.shape)), 0
    for row, n in enumerate(steps.records.counts.tolist()):
        options = _options(own.candidates, row, of)
        moves = list(_moves(n, options, steps.rate, len(of.shape)))
        reach = [size + n * (at in options) for at, size in enumerate(law.shape)]
        further = np.zeros(reach)
        for move, chance in moves:
            place = tuple(slice(by, by + size) for by, size in zip(move, law.shape, strict=True))
            further[place] += chance * law
        law, roundings = further, roundings + len(moves) + 2
    whole = np.zeros(of.shape)
    whole[tuple(map(slice, law.shape))] = law
    return Law(whole, (roundings + _SUMS) * _UNIT * 1.01)


def _options(candidates: Candidates, row: int, of: Grouping) -> Mapping[int, Fraction]:
    """Axis → probability that a sampled record is shown so, of the weights that it is drawn by."""
    if not np.isfinite(candidates.scores[row]).any():
        return {}
    high, low = (word[0].tolist() for word in whole_weights(candidates.scores[row : row + 1]))
    columns = np.flatnonzero(np.isfinite(candidates.scores[row]))
    weights = [(high[at] << _LOW_BITS) + low[at] for at in columns.tolist()]
    found: dict[int, Fraction] = {}
    for node, weight in zip(_shown(candidates, row, columns), weights, strict=True):
        axis = of.axis[node]
        found[axis] = found.get(axis, Fraction(0)) + Fraction(weight, sum(weights))
    return found


def _moves(
    n: int, options: Mapping[int, Fraction], rate: Fraction, length: int
) -> Iterator[tuple[tuple[int, ...], float]]:
    """How far n records of one kind move an outcome along all axes, and how probably; rounded once each."""
    axes = sorted(options)
    shares = [rate * options[at] for at in axes]
    shares.append(1 - sum(shares, Fraction(0)))
    common = math.lcm(*(own.denominator for own in shares))
    parts = [own.numerator * (common // own.denominator) for own in shares]
    powers = [list(itertools.accumulate(itertools.repeat(own, n), int.__mul__, initial=1)) for own in parts]
    whole, orders = common**n, list(itertools.accumulate(range(1, n + 1), int.__mul__, initial=1))
    for shown in _sums_up_to(n, len(axes)):
        each = (*shown, n - sum(shown))
        ways = orders[n] // math.prod(orders[k] for k in each)
        chance = ways * math.prod(own[k] for own, k in zip(powers, each, strict=True)) / whole
        move = [0] * length
        for at, k in zip(axes, shown, strict=True):
            move[at] = k
        yield tuple(move), chance


def _sums_up_to(n: int, length: int) -> Iterator[tuple[int, ...]]:
    if not length:
        yield ()
        return
    for first in range(n + 1):
        for rest in _sums_up_to(n - first, length - 1):
            yield first, *rest

"""What neighbours of a sampled generalisation need of δ, exactly, as a whole and part by part.

The parts are those that its guarantee tells. They are checked one by one, since together they leave room: by
the laws of which sets are frequent, of how many rows there are, and of what is shown where a set is frequent
whose generalisations all have the crowd that is told.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.mechanisms.exchange_bounds import SIZE_SLACK
from app.domain.mechanisms.sample_laws import (
    LEFT_OUT,
    FrequentSet,
    Grouping,
    Node,
    SampleSteps,
    counts_below,
    grouping,
    law_of,
)
from app.domain.mechanisms.sampled_constants import SHARE_OF_FREQUENT

MOST_OUTCOMES: Final = 400_000
"""Laws of more outcomes are looked at generalisation by generalisation, beside all other rows."""
_ERRORS: Final = 4
"""Each law is off by its part; the difference of two, where it counts at all, by less than four times it."""


@dataclass(frozen=True)
class SamplePromise:
    """What is promised: ε, δ, the parts that are told of it, and the crowd of a frequent generalisation."""

    epsilon: float
    delta: float
    of_frequent: float
    of_size: float
    of_exchange: float
    crowd: float
    rate: Fraction

    @property
    def epsilon_of_frequent(self) -> float:
        """What of ε pays for which generalisations are frequent."""
        return float(SHARE_OF_FREQUENT) * self.epsilon


@dataclass(frozen=True)
class Need:
    """What two neighbours, or one table, need of δ or of a part of it, and what is promised.

    ``least`` is off by no more than ``error``.
    """

    part: str
    least: float
    promised: float
    error: float

    @property
    def excess(self) -> float:
        """By so much at least more is needed than is promised; below 0 if less is."""
        return self.least - self.error - self.promised

    @property
    def is_refuted(self) -> bool:
        """Whether more is needed than is promised, whatever the error."""
        return self.excess > 0


def needs_of(more: SampleSteps, less: SampleSteps, promise: SamplePromise) -> tuple[Need, ...]:
    """What a table and the same with one record less need; the greater of both orders.

    Needs of δ as a whole, and of each of its parts as the guarantee names them.
    """
    whole, exchange = _of_laws(more, less, promise)
    # Of which sets are frequent at their part of ε, and how often one is that lacks the crowd
    laws = _by_members(more), _by_members(less)
    members = sorted({*laws[0], *laws[1]}, key=sorted)
    one, other = (np.array([law.get(own, 0.0) for own in members]) for law in laws)
    lacking = math.fsum(own.chance for own in more.sets if not _is_crowded(own, more, less, promise))
    # How often more rows are shown than the promise rests on
    every = sorted({node for own in more.sets for node in own.members})
    of = grouping(more.records, [every])
    shown = [(own.chance, law_of(own, more, of)) for own in more.sets]
    most = _most_rows(more, promise)
    least = math.fsum(chance * float(law.chances[most + 1 :].sum()) for chance, law in shown)
    return (
        whole,
        Need(
            "delta_of_frequent_set",
            max(both_orders(one, other, promise.epsilon_of_frequent), lacking),
            promise.of_frequent,
            _error(0.0),
        ),
        Need("delta_of_sample_size", least, promise.of_size, _error(max(law.error for _, law in shown))),
        exchange,
    )


def hockey_stick(one: Floats, other: Floats, epsilon: float) -> float:
    """Σ max(0, P(o) − e^ε·Q(o)) of two laws over the same outcomes."""
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())


def both_orders(one: Floats, other: Floats, epsilon: float) -> float:
    """The greater of the two."""
    return max(hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon))


def _error(of_law: float) -> float:
    return _ERRORS * (of_law + 2.0**-45) + LEFT_OUT


def _by_members(steps: SampleSteps) -> Mapping[frozenset[Node], float]:
    found: dict[frozenset[Node], float] = {}
    for own in steps.sets:
        found[own.members] = found.get(own.members, 0.0) + own.chance
    return found


def _is_crowded(own: FrequentSet, more: SampleSteps, less: SampleSteps, promise: SamplePromise) -> bool:
    """Whether all frequent generalisations of the record that is gone have the crowd without it."""
    with_it, without = counts_below(more.records), counts_below(less.records)
    gone = {node for node, n in with_it.items() if without.get(node, 0) < n}
    return all(without.get(node, 0) >= promise.crowd for node in own.members & gone if any(node))


def _most_rows(more: SampleSteps, promise: SamplePromise) -> int:
    return math.floor((1 + Fraction(SIZE_SLACK)) * promise.rate * more.size)


def _of_laws(more: SampleSteps, less: SampleSteps, promise: SamplePromise) -> tuple[Need, Need]:
    """Of the rows themselves: of all δ, and given a frequent set that has the crowd of its part."""
    whole = exchange = error = 0.0
    for of in _groupings(more):
        total: list[Floats] = [np.zeros(of.shape), np.zeros(of.shape)]
        given: list[dict[frozenset[Node], Floats]] = [{}, {}]
        for at, steps in enumerate((more, less)):
            for own in steps.sets:
                law = law_of(own, steps, of)
                error = max(error, law.error)
                total[at] += own.chance * law.chances
                if _is_crowded(own, more, less, promise):
                    given[at][own.members] = law.chances
        whole = max(whole, both_orders(total[0], total[1], promise.epsilon))
        kept = np.indices(of.shape, sparse=True)
        is_kept = sum(kept[1:], kept[0]) <= _most_rows(more, promise)
        rest = promise.epsilon - promise.epsilon_of_frequent
        for members in given[0].keys() & given[1].keys():
            one, other = (given[at][members] * is_kept for at in (0, 1))
            exchange = max(exchange, both_orders(one, other, rest))
    return (
        Need("delta", whole, promise.delta, _error(error)),
        Need("delta_of_exchange", exchange, promise.of_exchange, _error(error)),
    )


def _groupings(more: SampleSteps) -> Iterator[Grouping]:
    """Every generalisation for itself, if that is not too much; else each beside all others."""
    every = sorted({node for own in more.sets for node in own.members})
    whole = grouping(more.records, [[node] for node in every])
    if whole.outcomes <= MOST_OUTCOMES:
        yield whole
        return
    for node in every:
        yield grouping(more.records, [[node], [other for other in every if other != node]])


def neighbours(counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """A table of so many records of each kind, with all that have one less."""
    for at, n in enumerate(counts):
        if n:
            yield tuple(counts), (*counts[:at], n - 1, *counts[at + 1 :])


def greatest_needs(
    tables: Sequence[Sequence[int]],
    steps_of: Callable[[tuple[int, ...]], SampleSteps],
    promise: SamplePromise,
) -> tuple[Need, ...]:
    """Part by part the greatest need of these tables with all neighbours that have one record less."""
    steps = cache(steps_of)
    return worst_needs(
        [
            needs_of(steps(more), steps(less), promise)
            for more, less in itertools.chain.from_iterable(map(neighbours, tables))
        ]
    )


def worst_needs(found: Sequence[Sequence[Need]]) -> tuple[Need, ...]:
    """Part by part the need that is nearest to what is promised, or farthest above it, whatever the error."""
    return tuple(max(own, key=lambda one: one.excess) for own in zip(*found, strict=True))

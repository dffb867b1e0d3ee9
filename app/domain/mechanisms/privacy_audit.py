"""Trying to refute a promise of differential privacy by drawing: passing proves nothing, failing does.

Of two neighbours many releases are drawn. Half of them choose the event by which they differ most, the other
half count it. By Clopper and Pearson (1934), with both errors and all tests together below a stated one, its
probabilities are bounded, and so is the least ε that could hold beside δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Longs

Draw = Callable[[int], Longs]
"""So many releases: (runs, columns) how often each of the columns' rows is published."""
Event = tuple[str, int | None, int]
"""``at least`` so many, ``none`` of a column; of all rows where that is None."""

_TESTS_OF_A_PAIR: Final = 2
_BOUNDS_OF_COUNTS: Final = 40
ROOM: Final = 1.0
"""By so much what can be found is above ε: then an event of a probability of 1/e, else never, refutes it."""


def proportion_at_least(seen: int, of: int, error: float) -> float:
    """The probability is not below this, but for the error."""
    from scipy.special import betaincinv

    return float(betaincinv(seen, of - seen + 1, error)) if seen else 0.0


def proportion_at_most(seen: int, of: int, error: float) -> float:
    """The probability is not above this, but for the error."""
    from scipy.special import betaincinv

    return float(betaincinv(seen + 1, of - seen, 1.0 - error)) if seen < of else 1.0


def least_epsilon(seen: int, of: int, seen_other: int, of_other: int, delta: float, error: float) -> float:
    """No smaller ε holds beside δ, but for the error, which either bound takes half of."""
    low = proportion_at_least(seen, of, error / 2)
    high = proportion_at_most(seen_other, of_other, error / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def greatest_epsilon(runs: int, delta: float, error: float) -> float:
    """What so many runs find of an event that is certain with one neighbour and never seen of the other."""
    counted = runs - runs // 2
    return least_epsilon(counted, counted, 0, counted, delta, error)


def holds(event: Event, releases: Longs) -> Bools:
    """(runs,) which releases are such."""
    kind, column, bound = event
    counts = releases.sum(axis=1) if column is None else releases[:, column]
    return np.asarray(counts >= bound if kind == "at least" else counts == 0)


def told(event: Event, columns: Sequence[str]) -> str:
    """The event in words."""
    kind, column, bound = event
    what = "rows in all" if column is None else f"rows {columns[column]}"
    return f"{bound} or more {what}" if kind == "at least" else f"no {what}"


@dataclass(frozen=True)
class Neighbours:
    """A hard pair: how it is drawn with a record more, and with that one less."""

    name: str
    columns: tuple[str, ...]
    more: Draw
    less: Draw


@dataclass(frozen=True)
class Refutation:
    """What was found of one pair in one order."""

    pair: str
    order: str
    event: str
    least_epsilon: float
    claimed: float
    attainable: float
    """No ε above this could have been found by so many runs."""

    @property
    def is_refuted(self) -> bool:
        """Whether the promise is broken, but for the stated error."""
        return self.least_epsilon > self.claimed

    @property
    def verdict(self) -> str:
        """Never that it holds: that takes a proof."""
        return f"refuted: ε ≥ {self.least_epsilon:.3f}" if self.is_refuted else "not refuted"


def audited(
    pairs: Sequence[Neighbours], epsilon: float, delta: float, runs: int, error: float
) -> tuple[Refutation, ...]:
    """Every pair in both orders, from so many runs of each table; all tests together err with ``error``.

    ValueError for so few runs that hardly any event could refute ε.
    """
    each = error_of_each(error, len(pairs))
    attainable = greatest_epsilon(runs, delta, each)
    if attainable < epsilon + ROOM:
        raise ValueError(f"{runs} runs cannot find more than ε = {attainable:.3f}; draw more")
    return tuple(found for pair in pairs for found in tested(pair, epsilon, delta, runs, each))


def error_of_each(error: float, pairs: int) -> float:
    """What each test of so many pairs may err with so that all together err with ``error`` (Bonferroni)."""
    return error / (_TESTS_OF_A_PAIR * pairs)


def tested(
    pair: Neighbours, epsilon: float, delta: float, runs: int, each: float
) -> tuple[Refutation, Refutation]:
    """One pair in both orders, from so many runs of each table; each test errs with ``each``."""
    more, less = pair.more(runs), pair.less(runs)
    half, attainable = runs // 2, greatest_epsilon(runs, delta, each)

    def found(order: str, one: Longs, other: Longs) -> Refutation:
        event = _telling(one[:half], other[:half])
        seen, seen_other = (int(holds(event, side[half:]).sum()) for side in (one, other))
        least = least_epsilon(seen, runs - half, seen_other, runs - half, delta, each)
        return Refutation(pair.name, order, told(event, pair.columns), least, epsilon, attainable)

    return found("more over less", more, less), found("less over more", less, more)


def _telling(one: Longs, other: Longs) -> Event:
    """The event that is most more frequent in ``one``, by its lower over its upper bound of 95 %."""

    def ratio(event: Event) -> float:
        seen, seen_other = (int(holds(event, side).sum()) for side in (one, other))
        low = proportion_at_least(seen, len(one), 0.05)
        return low / proportion_at_most(seen_other, len(other), 0.05)

    return max(_events(np.concatenate([one, other])), key=ratio)


def _events(releases: Longs) -> Iterator[Event]:
    for column in (None, *range(releases.shape[1])):
        counts = np.unique(releases.sum(axis=1) if column is None else releases[:, column])
        yield "none", column, 0
        for count in counts[:: max(1, len(counts) // _BOUNDS_OF_COUNTS)]:
            yield "at least", column, int(count)
        yield "at least", column, int(counts[-1])

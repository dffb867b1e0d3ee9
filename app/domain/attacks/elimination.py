"""What one sensitive attribute gives away of another (Machanavajjhala (2008), section 3.4.3).

A class may be diverse in S and in V, each for itself, and yet "S is s", or even only "S is not s", leaves a
single value of V.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Ints, Longs, concatenated_ranges
from app.domain.classes.ratios import as_written, is_below
from app.domain.classes.sensitive_counts import count_values

CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Statement:
    """A statement about S, the value of V that it makes probable, and for how many of how many records."""

    class_: int
    is_negation: bool
    about: int
    value: int
    matching: int
    possible: int

    @property
    def belief(self) -> float:
        """The probability that it gives S being the value: ``matching`` of ``possible`` records."""
        return self.matching / self.possible


@dataclass(frozen=True)
class Elimination:
    """What the strongest statement of each kind does, and who is exposed.

    Attributes
    ----------
    positive, negative
        Strongest statement "S is s" and "S is not s" about a target for which it can be true; None if no
        class allows one.
    exposed
        Records whose own value of V reaches the confidence by at most one statement that is true of them.
    exposed_without
        Records whose own value reaches it without any statement.
    """

    positive: Statement | None
    negative: Statement | None
    exposed: int
    exposed_without: int


@dataclass(frozen=True, eq=False)
class PairCounts:
    """The pairs of values of S and V that occur in each of G classes.

    Attributes
    ----------
    of_class, s, v
        (E,) the class of each entry and its values; every combination at most once, ascending.
    counts
        (E,) how often the pair occurs there, at least 1.
    targets
        (E,) records of the class itself that have it.
    n_classes, n_s, n_v
        Exclusive limits of the three.
    """

    of_class: Longs
    s: Ints
    v: Ints
    counts: Longs
    targets: Longs
    n_classes: int
    n_s: int
    n_v: int


@dataclass(frozen=True, eq=False)
class _Cells:
    """All combinations of a value of S and one of V that occur in the same class, class by class.

    ``both``, ``first`` and ``second`` (c,) count the pair, the value of S and that of V; ``whole`` is the
    class's size, ``targets`` its own records with the pair. ``group`` (c,) numbers a class's values of V.
    """

    class_: Longs
    s: Ints
    v: Ints
    both: Longs
    targets: Longs
    first: Longs
    second: Longs
    whole: Longs
    group: Longs


def eliminate(pairs: PairCounts, confidence: float) -> Elimination:
    """The attack on V by one statement about S; from ``confidence`` on, inclusive, a record is exposed."""
    share, exposed, without = as_written(confidence), 0, 0
    positive: Statement | None = None
    negative: Statement | None = None
    for cells in _blocks(pairs):
        occurs, others = cells.both > 0, cells.whole > cells.first
        rest, left = cells.second - cells.both, cells.whole - cells.first
        positive = _stronger(positive, cells, cells.both, cells.first, occurs, False)
        negative = _stronger(negative, cells, rest, left, others, True)
        told = occurs & ~is_below(cells.both, share, cells.first)
        ruled_out = others & ~is_below(rest, share, left)
        # Statements "S is not s" about a record with s are false: those of its own value do not count.
        true_ones = np.bincount(cells.group, ruled_out)[cells.group] - ruled_out
        # A statement may also make a value less probable that stands out without it.
        alone = ~is_below(cells.second, share, cells.whole)
        exposed += int(cells.targets[told | (true_ones > 0) | alone].sum())
        without += int(cells.targets[alone].sum())
    return Elimination(positive, negative, exposed, without)


def _stronger(
    best: Statement | None, cells: _Cells, matching: Longs, possible: Longs, allowed: Bools, is_negation: bool
) -> Statement | None:
    """The stronger of a statement and the strongest of the cells; of equals the one with more records."""
    places = np.flatnonzero(allowed)
    if not len(places):
        return best
    beliefs = matching[places] / possible[places]
    ties = places[beliefs == beliefs.max()]
    i = int(ties[np.argmax(matching[ties])])
    found = Statement(
        class_=int(cells.class_[i]),
        is_negation=is_negation,
        about=int(cells.s[i]),
        value=int(cells.v[i]),
        matching=int(matching[i]),
        possible=int(possible[i]),
    )
    if best is None or (found.belief, found.matching) > (best.belief, best.matching):
        return found
    return best


def _blocks(pairs: PairCounts) -> Iterator[_Cells]:
    """The cells of all classes, a bounded number at a time, but never less than those of a class."""
    n = pairs.n_classes
    s_starts, s_values, s_counts = count_values(pairs.of_class, pairs.s, pairs.counts, n, pairs.n_s)
    v_starts, v_values, v_counts = count_values(pairs.of_class, pairs.v, pairs.counts, n, pairs.n_v)
    sizes = np.bincount(pairs.of_class, pairs.counts, n).astype(np.int64)
    keys = (pairs.of_class * pairs.n_s + pairs.s) * pairs.n_v + pairs.v
    n_of_s, n_of_v = np.diff(s_starts), np.diff(v_starts)
    ends = np.cumsum(n_of_s * n_of_v)
    start = 0
    while start < n:
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CELLS_AT_ONCE, side="right")))
        # One run of a class's values of V per value of S.
        owner = np.repeat(np.arange(start, stop), n_of_s[start:stop])
        s_entry = np.repeat(np.arange(s_starts[start], s_starts[stop]), n_of_v[owner])
        v_entry = concatenated_ranges(v_starts[:-1][owner], n_of_v[owner])
        class_ = np.repeat(owner, n_of_v[owner])
        wanted = (class_ * pairs.n_s + s_values[s_entry]) * pairs.n_v + v_values[v_entry]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        occurs = keys[place] == wanted
        yield _Cells(
            class_=class_,
            s=s_values[s_entry],
            v=v_values[v_entry],
            both=np.where(occurs, pairs.counts[place], 0),
            targets=np.where(occurs, pairs.targets[place], 0),
            first=s_counts[s_entry],
            second=v_counts[v_entry],
            whole=sizes[class_],
            group=v_entry - int(v_starts[start]),
        )
        start = stop

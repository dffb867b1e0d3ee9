"""Walking a lattice depth-first over attributes: rows are reduced again at every step.

A *state* holds the distinct rows of the table and the dictionary together, once the first attributes have a
level: ``prefix`` numbers the combination of their classes, ``rest`` that of the codes of the attributes to
come, and ``columns`` adds up, per row, the entities of the dictionary and whatever of the table is summed.
Rows shrink fast, so that the many states near the end of the walk are cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.search.axes import Axis, Image
from app.domain.tables.distinct import KEY_LIMIT, group, row_keys, sort_with_positions, starts_of_runs

CELLS_PER_NUMBER = 30
"""Numbers that may be so many times as many are looked up by marks of all of them, a byte each."""

Columns = tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Suffix:
    """Distinct combinations of the codes from one attribute on, in lexicographic order.

    ``codes`` is the code of that attribute, ``next`` the number of the combination of the later ones.
    """

    codes: Ints
    next: Longs

    @property
    def size(self) -> int:
        """Distinct combinations."""
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class GeneralisedSuffix:
    """What is left of the codes from one attribute on once that attribute has at least some level.

    ``of_rest`` takes the numbers of the level below to those of ``suffix``; None if nothing changes.
    ``exact`` if the level's class then says which code it is, in the same order: rows stay apart and sorted.
    """

    suffix: Suffix
    of_rest: Longs | None
    exact: bool


def generalised_suffixes(suffix: Suffix, axis: Axis, later: Suffix) -> tuple[GeneralisedSuffix, ...]:
    """One per level of the axis, from the suffix at which no level is chosen yet."""
    found = [GeneralisedSuffix(suffix, None, _is_exact(suffix, axis.images[0]))]
    for merged, image in zip(axis.merged[1:], axis.images[1:], strict=True):
        keys = merged[suffix.codes].astype(np.int64) * later.size + suffix.next
        distinct, of_rest = np.unique(keys, return_inverse=True)
        if len(distinct) < suffix.size:
            suffix = Suffix((distinct // later.size).astype(np.int32), distinct % later.size)
            found.append(GeneralisedSuffix(suffix, of_rest.astype(np.int64), _is_exact(suffix, image)))
        else:
            found.append(GeneralisedSuffix(suffix, None, _is_exact(suffix, image)))
    return tuple(found)


def _is_exact(suffix: Suffix, image: Image) -> bool:
    codes = np.unique(suffix.codes)
    if not (image.counts[codes] == 1).all():
        return False
    classes = image.classes[image.starts[codes]]
    return bool((np.diff(classes) > 0).all())


@dataclass(frozen=True, eq=False)
class State:
    """Rows in ascending order of (prefix, rest); each of the ``columns`` is float64 (rows,).

    The first column counts entities of the dictionary, the second records of the table.
    """

    prefix: Longs
    n_prefixes: int
    rest: Longs
    columns: Columns

    @property
    def n_rows(self) -> int:
        """Rows that the levels chosen so far still tell apart."""
        return len(self.rest)


@dataclass(frozen=True, eq=False)
class Start:
    """The state before any level is chosen, and where each row that was given went."""

    state: State
    suffixes: tuple[Suffix, ...]
    row_of: Longs


def walk_order(axes: Sequence[Axis], positions: Sequence[int]) -> list[int]:
    """The order in which a walk takes attributes.

    Those with few levels first, so that most states are small; last those with dictionary codes that several
    classes share, whose rows multiply: then few are left, and few of their classes hold records nearby.
    """

    def rank(j: int) -> tuple[bool, int, int, int]:
        shared = not all(image.is_function for image in axes[j].images)
        return shared, axes[j].n_levels, axes[j].n_codes, j

    return sorted(positions, key=rank)


def begin(codes: Sequence[Ints], sizes: Sequence[int], columns: Columns) -> Start:
    """Reduce rows, given as one array of codes per attribute in walk order, with their columns.

    One suffix per attribute, and a last one of size 1 for "nothing to come".
    """
    n_rows = len(columns[0])
    numbers = np.zeros(n_rows, dtype=np.int64)
    size = 1
    suffixes = [Suffix(np.zeros(1, np.int32), np.zeros(1, np.int64))]
    for column, radix in zip(reversed(codes), reversed(sizes), strict=True):
        keys, limit = row_keys((column, numbers), (radix, size), n_rows)
        first, inverse = group(keys, limit)
        suffixes.append(Suffix(column[first].astype(np.int32), numbers[first]))
        numbers, size = inverse.astype(np.int64), len(first)
    totals = sums(columns, numbers, size)
    state = State(np.zeros(size, np.int64), 1, np.arange(size), totals)
    return Start(state, tuple(reversed(suffixes)), numbers)


def expand(state: State, image: Image, codes: Ints, records: Floats) -> tuple[Longs, Longs]:
    """Positions of the rows, once per class that their code belongs to, and the numbers (prefix, class).

    Rows of the dictionary are left out where no record of the table is disclosed in that form: a ⊥ of the
    dictionary is consistent with every value, but only those of records nearby matter.
    """
    counts = image.counts[codes]
    ends = np.cumsum(counts)
    places = np.repeat(image.starts[codes] - (ends - counts), counts)
    places += np.arange(len(places))
    pairs = np.repeat(state.prefix * image.n_classes, counts)
    pairs += image.classes.take(places)
    near = pairs[np.repeat(records > 0, counts)]
    kept = _occur(pairs, near, state.n_prefixes * image.n_classes)
    at = np.repeat(np.arange(len(codes)), counts)
    return at[kept], pairs[kept]


def _occur(numbers: Longs, among: Longs, limit: int) -> Bools:
    """Which of the numbers, all below ``limit``, occur among some of them."""
    if limit <= CELLS_PER_NUMBER * len(numbers):
        marked = np.zeros(limit, dtype=bool)
        marked[among] = True
        return marked.take(numbers)
    wanted = np.unique(among)
    found = np.minimum(np.searchsorted(wanted, numbers), len(wanted) - 1)
    occur: Bools = wanted[found] == numbers
    return occur


def step(
    state: State, image: Image, generalised: GeneralisedSuffix, later: Suffix, columns: Columns | None = None
) -> tuple[State, Longs]:
    """Give the next attribute a level and reduce.

    ``columns`` replaces the state's. Also returns where each row went (for rows of the table; a row of the
    dictionary may go to several places or none, then the entry means nothing).
    """
    suffix = generalised.suffix
    columns = state.columns if columns is None else columns
    codes = suffix.codes[state.rest]
    at: Longs | None = None
    if generalised.exact:
        classes = image.classes[image.starts[codes]]
        dense = number_of_run(state.prefix * image.n_classes + classes)
        n_prefixes = int(dense[-1]) + 1 if len(dense) else 1
        return State(dense, n_prefixes, suffix.next[state.rest], columns), np.arange(state.n_rows)
    if image.is_function and image.is_total:
        pairs, rest = state.prefix * image.n_classes + image.class_of[codes], suffix.next[state.rest]
    else:
        at, pairs = expand(state, image, codes, columns[1])
        rest = suffix.next[state.rest[at]]
        columns = tuple(column[at] for column in columns)
    reduced, moved = _reduce(pairs, state.n_prefixes * image.n_classes, rest, later.size, columns)
    if at is None:
        return reduced, moved
    destinations = np.zeros(state.n_rows, dtype=np.int64)
    destinations[at] = moved
    return reduced, destinations


def thin(state: State, generalised: GeneralisedSuffix) -> State:
    """Forget of the next attribute what the level and those above it do not tell apart."""
    if generalised.of_rest is None:
        return state
    rest = generalised.of_rest[state.rest]
    return _reduce(state.prefix, state.n_prefixes, rest, generalised.suffix.size, state.columns)[0]


def _reduce(
    prefixes: Longs, n_prefixes: int, rest: Longs, n_rests: int, columns: Columns
) -> tuple[State, Longs]:
    """The state of the distinct rows, prefixes renumbered densely, and the row that each row became."""
    limit = n_prefixes * n_rests
    keys = prefixes * n_rests + rest
    if limit > KEY_LIMIT:
        keys, limit = row_keys((prefixes, rest), (n_prefixes, n_rests), len(rest))
    if (keys[1:] >= keys[:-1]).all():
        moved = number_of_run(keys)
        n_rows = int(moved[-1]) + 1 if len(moved) else 0
        if n_rows < len(keys):
            first = starts_of_runs(keys)
            prefixes, rest, columns = prefixes[first], rest[first], sums(columns, moved, n_rows)
    else:
        ordered, order = sort_with_positions(keys, limit)
        numbers = number_of_run(ordered)
        moved = np.empty(len(order), dtype=np.int64)
        moved[order] = numbers
        n_rows = int(numbers[-1]) + 1
        first = order[starts_of_runs(ordered)]
        prefixes, rest, columns = prefixes[first], rest[first], sums(columns, moved, n_rows)
    dense = number_of_run(prefixes)
    return State(dense, int(dense[-1]) + 1 if n_rows else 1, rest, columns), moved


def sums(columns: Sequence[Floats], numbers: Longs, size: int) -> Columns:
    """Each column summed by row number, float64 (size,); a column given twice is summed once."""
    found: dict[int, Floats] = {}
    for column in columns:
        if id(column) not in found:
            total = np.bincount(numbers, weights=column, minlength=size)
            found[id(column)] = total.astype(np.float64, copy=False)
    return tuple(found[id(column)] for column in columns)


def number_of_run(ordered: Longs) -> Longs:
    """Number of the run of equal values, from 0, that each entry of a sorted array belongs to."""
    changes = np.zeros(len(ordered), dtype=np.int64)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:], casting="unsafe")
    return np.cumsum(changes, out=changes)

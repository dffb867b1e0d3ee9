"""Counting by mixed-radix keys: any domain, any number of attributes.

Disclosed rows are taken in groups that disclose the same attributes on the same layers; the dictionary's rows
are taken by which of these cells are ⊥. Within a pair of groups a row is consistent iff its key of classes
equals one of the dictionary row's keys.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.compatibility import NONE, Classes
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.tables.distinct import (
    KEY_LIMIT,
    are_ascending,
    keys_of_numbers,
    row_keys,
    sort_with_positions,
    starts_of_runs,
)

DENSE_CELLS_PER_ROW = 30
ATTRIBUTES_PER_MASK = 62


@dataclass(eq=False)
class DictionaryRows:
    """The distinct rows of a dictionary, split by which cells are ⊥."""

    dictionary: Dictionary

    @cached_property
    def _missing(self) -> list[Longs]:
        """Masks of 62 attributes each: bit i of mask k is set where the cell of attribute 62k + i is ⊥."""
        reduced = self.dictionary.reduced
        n_masks = -(-len(self.dictionary.links) // ATTRIBUTES_PER_MASK)
        masks = [np.zeros(reduced.size, dtype=np.int64) for _ in range(n_masks)]
        for j, link in enumerate(self.dictionary.links):
            if link.everything.any():
                k, bit = divmod(j, ATTRIBUTES_PER_MASK)
                masks[k] |= link.everything[reduced.codes[:, j]].astype(np.int64) << bit
        return masks

    @cached_property
    def has_missing(self) -> bool:
        """Whether some cell of the dictionary is ⊥."""
        return any(bool(mask.any()) for mask in self._missing)

    def patterns(self, disclosed: Sequence[int]) -> Iterator[tuple[list[int], Longs | None]]:
        """Pairs (disclosed attributes that are not ⊥, positions of such rows; None: all rows)."""
        if not self.has_missing:
            yield list(disclosed), None
            return
        places = [divmod(j, ATTRIBUTES_PER_MASK) for j in disclosed]
        relevant = [
            mask & sum(1 << bit for of_mask, bit in places if of_mask == k)
            for k, mask in enumerate(self._missing)
        ]
        numbers = relevant[0]
        if len(relevant) > 1:
            _, numbers = np.unique(np.stack(relevant, axis=1), axis=0, return_inverse=True)
            numbers = numbers.reshape(-1)
        for number in np.unique(numbers).tolist():
            positions = np.flatnonzero(numbers == number)
            pattern = [int(mask[positions[0]]) for mask in relevant]
            narrowing = [
                j for j, (k, bit) in zip(disclosed, places, strict=True) if not pattern[k] >> bit & 1
            ]
            yield narrowing, positions


def count_group(
    rows: DictionaryRows,
    disclosed: Sequence[int],
    node_classes: Sequence[Ints],
    classes: Sequence[Classes],
    n_rows: int,
) -> Longs:
    """Consistent entities of each disclosed row of one group, int64 (n_rows,).

    ``disclosed`` are the positions of the disclosed linked attributes; ``node_classes[i]`` (n_rows,) and
    ``classes[i]`` belong to the i-th of them.
    """
    total = np.zeros(n_rows, dtype=np.int64)
    place = {j: i for i, j in enumerate(disclosed)}
    for narrowing, positions in rows.patterns(disclosed):
        chosen = [place[j] for j in narrowing]
        kinds = [classes[i] for i in chosen]
        wanted, sizes = [node_classes[i] for i in chosen], [kind.size for kind in kinds]
        if positions is None and _have_one_class(kinds) and math.prod(sizes) <= KEY_LIMIT:
            total += _matching_keys(rows.dictionary, narrowing, kinds, wanted, n_rows)
        else:
            entries, weights = _dictionary_entries(rows.dictionary, narrowing, positions, kinds)
            total += _matching(entries, weights, wanted, sizes, n_rows)
    return total


def _have_one_class(classes: Sequence[Classes]) -> bool:
    """Whether there are attributes, and every code of theirs is in one class."""
    return bool(classes) and all(
        kinds.of_code is not None and not (kinds.of_code == NONE).any() for kinds in classes
    )


def _matching_keys(
    dictionary: Dictionary,
    narrowing: Sequence[int],
    classes: Sequence[Classes],
    wanted: Sequence[Ints],
    n_rows: int,
) -> Longs:
    """The same as :func:`_matching` of all rows, each in one class per attribute, without their columns."""
    reduced, counts = dictionary.reduced, np.zeros(n_rows, dtype=np.int64)
    numbers = [kinds.of_code for kinds in classes if kinds.of_code is not None]
    sizes = [kinds.size for kinds in classes]
    keys = keys_of_numbers([reduced.codes[:, j] for j in narrowing], numbers, sizes, reduced.size)
    possible, wanted = _possible(wanted, n_rows)
    asked, limit = row_keys(wanted, sizes, len(wanted[0]))
    counts[possible] = _sums_at(keys, reduced.counts, asked, limit)
    return counts


def _possible(wanted: Sequence[Ints], n_rows: int) -> tuple[Bools | slice, Sequence[Ints]]:
    """Which rows have a class in every column, and their columns."""
    possible = np.ones(n_rows, dtype=bool)
    for column in wanted:
        possible &= column != NONE
    if possible.all():
        return slice(None), wanted
    return possible, [column[possible] for column in wanted]


def _dictionary_entries(
    dictionary: Dictionary,
    narrowing: Sequence[int],
    positions: Longs | None,
    classes: Sequence[Classes],
) -> tuple[list[Ints], Longs]:
    """Columns of classes of the dictionary rows, a row once per combination it is consistent with."""
    reduced = dictionary.reduced
    origin = np.arange(reduced.size) if positions is None else positions
    plain = positions is None
    columns: list[Ints] = []
    for j, kinds in zip(narrowing, classes, strict=True):
        codes = reduced.codes[:, j] if plain else reduced.codes[origin, j]
        if kinds.of_code is not None:
            column = kinds.of_code.take(codes)
            if (column == NONE).any():
                kept = column != NONE
                origin, column = origin[kept], column[kept]
                columns = [earlier[kept] for earlier in columns]
                plain = False
        else:
            lengths = np.diff(kinds.starts)[codes]
            ends = np.cumsum(lengths)
            source = np.repeat(np.arange(len(codes)), lengths)
            offset = np.arange(len(source)) - np.repeat(ends - lengths, lengths)
            column = kinds.members[kinds.starts[codes[source]] + offset]
            origin = origin[source]
            columns = [earlier[source] for earlier in columns]
            plain = False
        columns.append(column)
    weights = reduced.counts if plain else reduced.counts[origin]
    return columns, weights


def _matching(
    columns: Sequence[Ints],
    weights: Longs,
    wanted: Sequence[Ints],
    sizes: Sequence[int],
    n_rows: int,
) -> Longs:
    """Sum of the weights of the entries whose classes equal those of each wanted row."""
    if not columns:
        return np.full(n_rows, int(weights.sum()), dtype=np.int64)
    counts = np.zeros(n_rows, dtype=np.int64)
    n_entries = len(weights)
    if not n_entries:
        return counts
    possible, wanted = _possible(wanted, n_rows)
    both = [np.concatenate([entries, rows]) for entries, rows in zip(columns, wanted, strict=True)]
    keys, limit = row_keys(both, sizes, len(both[0]))
    counts[possible] = _sums_at(keys[:n_entries], weights, keys[n_entries:], limit)
    return counts


def _sums_at(keys: Longs, weights: Longs, wanted: Longs, limit: int) -> Longs:
    """Sum of weights per wanted key; exact, since sums of integers below 2^53 are exact in float64."""
    if limit <= DENSE_CELLS_PER_ROW * (len(keys) + len(wanted)):
        return np.bincount(keys, weights, minlength=limit)[wanted].astype(np.int64)
    if are_ascending(keys):  # as distinct rows are while different ones stay different
        distinct, sums = keys, weights
    else:
        ordered, order = sort_with_positions(keys, limit)
        starts = starts_of_runs(ordered)
        sums = np.add.reduceat(weights[order], starts)
        distinct = ordered[starts]
    if np.array_equal(distinct, wanted):  # as those of a table that is its own dictionary
        return sums
    place = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    return np.where(distinct[place] == wanted, sums[place], 0)

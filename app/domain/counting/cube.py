"""Counting by a dense cube: small domains, any number of rules.

The cube has one axis per linked attribute whose cells are the classes of *all* nodes and one for ⊥. It is
the contraction of the dictionary's own codes with the 0/1 compatibility matrix along every axis, so it
answers every disclosed record at every combination of levels by one gather.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.counting.compatibility import NONE, Compatibility
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.tables.distinct import row_keys

QUICKLY_CLASSIFIED = 200_000


def cube_cells(compatibilities: Sequence[Compatibility], most: int) -> tuple[int, int]:
    """Cells of the largest array held, and of all that are touched, when the cube is made.

    Where nodes are too many to be classified quickly a cube does not pay: its size is then out of bounds.
    """
    sizes = [c.link.n_codes for c in compatibilities]
    cells = math.prod(max(1, size) for size in sizes)
    largest = touched = cells
    if cells > most:
        return largest, touched
    for j, compatibility in enumerate(compatibilities):
        rest = cells // max(1, sizes[j])
        pairs = len(compatibility.link.pairs[0])
        if pairs > QUICKLY_CLASSIFIED:
            return 2 * most + 1, touched
        entries = rest * (pairs + sizes[j])
        sizes[j] = compatibility.of_all_nodes.size + 2
        cells = rest * sizes[j]
        largest, touched = max(largest, entries + cells), touched + entries + cells
    return largest, touched


class Cube:
    """Counts at every combination of nodes of the linked attributes."""

    def __init__(self, dictionary: Dictionary, compatibilities: Sequence[Compatibility]) -> None:
        reduced = dictionary.reduced
        shape = [link.n_codes for link in dictionary.links]
        columns = [reduced.codes[:, j] for j in range(len(shape))]
        keys, _ = row_keys(columns, shape, reduced.size)
        cells = np.bincount(keys, reduced.counts, minlength=math.prod(max(1, size) for size in shape)).astype(
            np.int64
        )
        counts = cells.reshape(shape)
        self._cell_of_node: list[Ints] = []
        for axis, compatibility in enumerate(compatibilities):
            counts, cell_of_node = _contract(counts, axis, compatibility)
            self._cell_of_node.append(cell_of_node)
        self._shape = counts.shape
        self._counts = counts.ravel()

    def count(self, nodes: Ints) -> Longs:
        """Consistent entities of each row of disclosed linked nodes (r, q)."""
        columns = [cells[nodes[:, j]] for j, cells in enumerate(self._cell_of_node)]
        keys, _ = row_keys(columns, self._shape, len(nodes))
        counts: Longs = self._counts[keys]
        return counts


def _contract(counts: Longs, axis: int, compatibility: Compatibility) -> tuple[Longs, Ints]:
    """Replace an axis of codes by one of node classes.

    Position 0 is ⊥ (all codes), position c + 1 class c, and the last the nodes that no code but ⊥ fits.
    """
    classes, link = compatibility.of_all_nodes, compatibility.link
    width = classes.size + 2
    missing = np.flatnonzero(link.everything)
    if classes.of_code is None:
        fitting, members = np.repeat(np.arange(link.n_codes), np.diff(classes.starts)), classes.members
    else:
        fitting = np.flatnonzero(classes.of_code != NONE)
        members = classes.of_code[fitting]
    of_missing = counts.take(missing, axis=axis).sum(axis=axis)
    shape = list(counts.shape)
    shape[axis] = width
    contracted = np.empty(shape, dtype=np.int64)
    moved = np.moveaxis(contracted, axis, 0)
    moved[...] = of_missing
    moved[0] = counts.sum(axis=axis)
    order = np.argsort(members, kind="stable")
    source = np.moveaxis(counts, axis, 0)[fitting[order]]
    if len(source):
        present = members[order]
        first = np.flatnonzero(np.append(True, present[1:] != present[:-1]))
        moved[present[first] + 1] += np.add.reduceat(source, first, axis=0)
    cell_of_node = np.where(classes.of_node >= 0, classes.of_node + 1, width - 1).astype(np.int32)
    cell_of_node[0] = 0
    return contracted, cell_of_node

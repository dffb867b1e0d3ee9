"""Which dictionary codes of one linked attribute a disclosed node is consistent with.

The compatibility matrix (node × code) is kept sparse. Nodes with the same row of it are interchangeable for
counting and share a *class*; a code is consistent with the nodes of a list of classes: one for a leaf cell
against nodes of one level, two for an age against birth years. ⊥ is left out on both sides: it is
consistent with everything, and both engines treat it apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.dictionaries.dictionary import LinkedAttribute
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables.distinct import starts_of_runs

NONE = -1
FEW_CLASSES = 8


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a set of nodes.

    ``of_node`` (nodes,): class of each node of the set, −1 for those without any consistent code.
    ``of_code`` (codes,): the only class per code (−1: none), or None if some code has several; then the
    classes of code c are ``members[starts[c]:starts[c + 1]]``.
    """

    of_node: Ints
    size: int
    of_code: Ints | None
    starts: Longs
    members: Ints

    @cached_property
    def most(self) -> int:
        """The greatest number of classes that a code has."""
        return 1 if self.of_code is not None else int(np.diff(self.starts).max(initial=0))

    def hold(self, classes: Ints, codes: Ints) -> Bools:
        """Per row, whether the class is one of the code's; takes a step for each of :attr:`most`."""
        found: Bools = np.zeros(len(codes), dtype=bool)
        if self.of_code is not None:
            found = self.of_code.take(codes) == classes
            return found
        place, end = self.starts.take(codes), self.starts.take(codes + 1)
        for _ in range(self.most):
            found |= (place < end) & (self.members.take(place, mode="clip") == classes)
            place += 1
        return found


@dataclass(eq=False)
class Compatibility:
    """The compatibility matrix of one linked attribute, with the classes of its levels on demand.

    ``nodes`` are those that the table holds; the classes of a table level are made of what they become.
    """

    link: LinkedAttribute
    nodes: Ints

    def __post_init__(self) -> None:
        self._classes: dict[tuple[str, int], Classes] = {}

    @property
    def most_bytes(self) -> int:
        """Bytes that it may come to keep: keys of its link's pairs, and the classes of every set of nodes.

        Of a tree; where nodes have several parents there may be more pairs.
        """
        link, height = self.link, self.link.hierarchy.height
        pairs = len(link.seed_nodes) * (height + 1)
        sets = 2 * (height + 1) + 1  # levels, depths, and all nodes together
        return 20 * pairs + sets * (4 * link.hierarchy.n_nodes + 12 * (link.n_codes + 1))

    @cached_property
    def _pair_keys(self) -> Longs:
        nodes, codes = self.link.pairs
        return nodes.astype(np.int64) * max(1, self.link.n_codes) + codes

    def fitting(self, node: int) -> Bools:
        """Per code, whether the node is consistent with it."""
        if node == TOP:
            return np.ones(self.link.n_codes, dtype=bool)
        found = self.link.everything.copy()
        nodes, codes = self.link.pairs
        first, last = np.searchsorted(nodes, (node, node + 1))
        found[codes[first:last]] = True
        return found

    def consistent(self, nodes: Ints, codes: Ints, level: int | None = None) -> Bools:
        """Per row, whether the node is consistent with the code.

        ``level`` says that all nodes are what a table level discloses, which saves work.
        """
        passed: Bools = (nodes == TOP) | self.link.everything[codes]
        if passed.all():
            return passed
        classes = None if level is None else self.at_level(level)
        if classes is not None and classes.most <= FEW_CLASSES:
            own = classes.of_node.take(nodes)
            passed |= classes.hold(own, codes) & (own != NONE)
            return passed
        keys = self._pair_keys
        if len(keys):
            wanted = nodes.astype(np.int64) * self.link.n_codes + codes
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            passed |= keys[place] == wanted
        return passed

    def at_level(self, level: int) -> Classes:
        """Classes of the nodes that a table level discloses."""
        return self._cached(("level", level))

    def at_depth(self, depth: int) -> Classes:
        """Classes of the nodes of one depth."""
        return self._cached(("depth", depth))

    @property
    def of_all_nodes(self) -> Classes:
        """Classes of all nodes together."""
        return self._cached(("all", 0))

    def _cached(self, key: tuple[str, int]) -> Classes:
        if key not in self._classes:
            hierarchy = self.link.hierarchy
            chosen = np.zeros(hierarchy.n_nodes, dtype=bool)
            kind, number = key
            if kind == "level":
                chosen[hierarchy.ancestors_at(number)[self.nodes]] = True
            elif kind == "depth":
                chosen[hierarchy.depth == number] = True
            else:
                chosen[:] = True
            self._classes[key] = self._classify(chosen)
        return self._classes[key]

    def _classify(self, chosen: Bools) -> Classes:
        nodes, codes = self.link.pairs
        kept = chosen[nodes]
        nodes, codes = nodes[kept], codes[kept]
        of_node = np.full(len(chosen), NONE, dtype=np.int32)
        present = nodes[starts_of_runs(nodes)]
        if not len(codes) or np.bincount(codes, minlength=1).max() <= 1:
            of_node[present] = np.arange(len(present), dtype=np.int32)
            of_code = np.full(self.link.n_codes, NONE, dtype=np.int32)
            of_code[codes] = of_node[nodes]
            empty = np.empty(0, dtype=np.int32)
            return Classes(of_node, len(present), of_code, np.zeros(1, dtype=np.int64), empty)
        size = _number_equal_rows(nodes, codes, present, of_node)
        keys = np.unique(codes.astype(np.int64) * size + of_node[nodes])
        starts = np.searchsorted(keys, np.arange(self.link.n_codes + 1) * size)
        return Classes(of_node, size, None, starts, (keys % size).astype(np.int32))


def _number_equal_rows(nodes: Ints, codes: Ints, present: Ints, of_node: Ints) -> int:
    """Give nodes with equal code lists one number, in order of first appearance; return how many."""
    bounds = np.append(np.searchsorted(nodes, present), len(nodes)).tolist()
    numbers: dict[bytes, int] = {}
    for i, node in enumerate(present.tolist()):
        row = codes[bounds[i] : bounds[i + 1]].tobytes()
        of_node[node] = numbers.setdefault(row, len(numbers))
    return len(numbers)

"""Value generalisation hierarchies: finite posets of nodes with one top, ⊥ (Definitions: hierarchies).

Nodes are int32 codes in an order in which parents precede children, for trees the depth-first preorder, so
that a tree's node covers the contiguous leaves [leaf_lo, leaf_hi). Code 0 is ⊥, which is at the same time
"missing" and "suppressed".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from app.domain.arrays import Bools, Ints, Longs, concatenated_ranges
from app.domain.errors import NotSupported
from app.domain.hierarchies.cell_formats import is_date, is_number, spelled_otherwise
from app.domain.hierarchies.definitions import (
    TOP as TOP,
)
from app.domain.hierarchies.definitions import (
    TOP_LABEL,
    nodes_from_parents,
    nodes_from_rows,
)
from app.domain.hierarchies.spellings import reading

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A hierarchy; two are equal if their nodes and covering edges are.

    Parameters
    ----------
    labels
        Display label per node; several nodes may share one (a label repeated on the next level).
    parents
        Covering parents per node, all with smaller codes; ``()`` for node 0.
    warnings
        What was repaired when it was built.
    """

    labels: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels or len(self.labels) != len(self.parents) or self.parents[0]:
            raise ValueError("a hierarchy starts with ⊥ and has one tuple of parents per label")
        for code, parents in enumerate(self.parents[1:], start=1):
            if not parents or not all(0 <= parent < code for parent in parents):
                raise ValueError("parents precede their children")

    @classmethod
    def from_parents(
        cls, parents: Mapping[str, Sequence[str | None]], top_label: str = TOP_LABEL, pointer: str = ""
    ) -> Hierarchy:
        """Build it from ``{value: [parents]}`` with ``None`` for ⊥; ``pointer`` prefixes every fault's."""
        return cls(*nodes_from_parents(parents, top_label, pointer))

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]], pointer: str = "") -> Hierarchy:
        """Build it from one row per leaf: the leaf, then its ancestor on each level.

        A node is (level, label). A last column with a single value is ⊥, otherwise ⊥ is added above it.
        """
        return cls(*nodes_from_rows(rows, pointer))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Hierarchy:
        """Inverse of :meth:`to_document`."""
        parents = tuple(tuple(int(p) for p in node) for node in document["parents"])
        return cls(tuple(document["labels"]), parents, tuple(document.get("warnings", ())))

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form, the same for equal hierarchies."""
        return {
            "labels": list(self.labels),
            "parents": [list(node) for node in self.parents],
            "warnings": list(self.warnings),
        }

    @property
    def n_nodes(self) -> int:
        """Nodes, ⊥ and the leaves included."""
        return len(self.labels)

    @cached_property
    def is_tree(self) -> bool:
        """Whether every node but ⊥ has exactly one covering parent."""
        return all(len(node) == 1 for node in self.parents[1:])

    @cached_property
    def parent(self) -> Ints:
        """The one parent per node (⊥ is its own), trees only."""
        self.require_tree("A single parent per value")
        return np.array([0, *(node[0] for node in self.parents[1:])], dtype=np.int32)

    @cached_property
    def depth(self) -> Ints:
        """Covering edges on the longest path up to ⊥, per node."""
        depth = [0] * self.n_nodes
        for code in range(1, self.n_nodes):
            depth[code] = 1 + max(depth[parent] for parent in self.parents[code])
        return np.array(depth, dtype=np.int32)

    @cached_property
    def edges(self) -> tuple[Ints, Ints]:
        """All covering edges as two arrays of nodes: child, parent."""
        children = [code for code, node in enumerate(self.parents) for _ in node]
        parents = [parent for node in self.parents for parent in node]
        return np.array(children, dtype=np.int32), np.array(parents, dtype=np.int32)

    @cached_property
    def height(self) -> int:
        """Covering edges on the longest path from ⊥ to a leaf: the number of levels less one."""
        return int(self.depth.max())

    @property
    def numbers_of_levels(self) -> tuple[int, ...]:
        """What rules call each level of 0..``height``: 0 is as it is, the last one ⊥."""
        return tuple(range(self.height + 1))

    @property
    def level_of_top(self) -> int:
        """The level at which every value is ⊥; above ``height`` only where levels are left out."""
        return self.height

    @cached_property
    def is_leaf(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(nodes,) whether nothing lies below the node."""
        leaf: np.ndarray[Any, np.dtype[np.bool_]] = np.ones(self.n_nodes, dtype=bool)
        leaf[self.edges[1]] = False
        return leaf

    @cached_property
    def leaves(self) -> Ints:
        """Node code per leaf index; a hierarchy of ⊥ alone has ⊥ as its leaf."""
        return np.flatnonzero(self.is_leaf).astype(np.int32)

    @property
    def n_leaves(self) -> int:
        """Leaves: the most specific values there are."""
        return len(self.leaves)

    @cached_property
    def as_read(self) -> Ints:
        """Per node the first leaf, or the first node of its depth, that a person reads as the same value."""
        kinds = np.where(self.is_leaf, UNKNOWN, self.depth).tolist()
        first: dict[tuple[int, str], int] = {}
        keys = enumerate(zip(kinds, map(reading, self.labels), strict=True))
        return np.array([first.setdefault(key, node) for node, key in keys], dtype=np.int32)

    @cached_property
    def has_order(self) -> bool:
        """Whether its leaves stand in an order of numbers or dates, or a declared one: not the alphabet's."""
        leaves = [self.labels[leaf] for leaf in self.leaves.tolist()]
        if self.height > 1 or leaves != sorted(leaves):
            return True
        if all(map(is_number, leaves)):
            return leaves == sorted(leaves, key=float)
        return all(is_date(leaf[:10]) for leaf in leaves)

    @cached_property
    def is_balanced(self) -> bool:
        """Whether every leaf has the same depth, so that levels are domains."""
        return bool((self.depth[self.leaves] == self.height).all())

    @cached_property
    def leaf_ancestors(self) -> tuple[Ints, Ints]:
        """All pairs (leaf index, node above or equal) as two arrays, each pair once."""
        return self.ancestors(self.leaves)

    def ancestors(self, nodes: Ints) -> tuple[Ints, Ints]:
        """All pairs (index into ``nodes``, node above or equal) as two arrays, each pair once."""
        if self.is_tree:
            return self._ancestors_in_tree(nodes)
        up: dict[int, list[int]] = {node: sorted(self.up(node)) for node in set(nodes.tolist())}
        lists = [up[node] for node in nodes.tolist()]
        indices = np.repeat(np.arange(len(lists), dtype=np.int32), [len(above) for above in lists])
        return indices, np.array([node for above in lists for node in above], dtype=np.int32)

    def _ancestors_in_tree(self, nodes: Ints) -> tuple[Ints, Ints]:
        indices = np.arange(len(nodes), dtype=np.int32)
        found = [(indices, nodes)]
        while (inner := nodes != TOP).any():
            indices, nodes = indices[inner], self.parent[nodes[inner]]
            found.append((indices, nodes))
        return np.concatenate([i for i, _ in found]), np.concatenate([n for _, n in found])

    @cached_property
    def leaf_count(self) -> Ints:
        """n(v): distinct leaves below or equal to each node."""
        return np.bincount(self.leaf_ancestors[1], minlength=self.n_nodes).astype(np.int32)

    @cached_property
    def leaf_lo(self) -> Ints:
        """First leaf index that each node covers, trees only."""
        self.require_tree("A contiguous range of leaves per value")
        before: Longs = np.cumsum(self.is_leaf) - self.is_leaf
        return before.astype(np.int32)

    @cached_property
    def leaf_hi(self) -> Ints:
        """One past the last leaf index that each node covers, trees only."""
        upper: Ints = self.leaf_lo + self.leaf_count
        return upper

    @cached_property
    def _leaves_by_node(self) -> tuple[Longs, Ints]:
        indices, nodes = self.leaf_ancestors
        order = np.lexsort((indices, nodes))
        starts = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(nodes, minlength=self.n_nodes), out=starts[1:])
        return starts, indices[order]

    def leaves_of(self, node: int) -> Ints:
        """Ascending leaf indices below or equal to ``node``."""
        if self.is_tree:
            return np.arange(self.leaf_lo[node], self.leaf_hi[node], dtype=np.int32)
        starts, indices = self._leaves_by_node
        return indices[starts[node] : starts[node + 1]]

    def leaves_below(self, nodes: Ints) -> tuple[Longs, Ints]:
        """Leaf indices of several nodes: those of the i-th are ``leaves[starts[i]:starts[i + 1]]``."""
        starts = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(self.leaf_count[nodes], out=starts[1:])
        if self.is_tree:
            return starts, concatenated_ranges(self.leaf_lo[nodes], self.leaf_count[nodes]).astype(np.int32)
        first, indices = self._leaves_by_node
        return starts, indices[concatenated_ranges(first[nodes], self.leaf_count[nodes])]

    def leaves_outside(self, nodes: Ints) -> int:
        """How many leaves lie below none of the nodes."""
        return self.n_leaves - len(np.unique(self.leaves_below(nodes)[1]))

    def up(self, node: int) -> frozenset[int]:
        """The node itself and all its ancestors, ⊥ included."""
        found: set[int] = set()
        open_ = [node]
        while open_:
            current = open_.pop()
            if current not in found:
                found.add(current)
                open_.extend(self.parents[current])
        return frozenset(found)

    def is_above(self, upper: int, lower: int) -> bool:
        """Whether ``lower ⪯ upper``."""
        return upper in self.up(lower)

    def are_above(self, upper: Ints, lower: Ints) -> Bools:
        """Per row, whether ``lower ⪯ upper``."""
        used, where = np.unique(lower, return_inverse=True)
        indices, nodes = self.ancestors(used.astype(np.int32))
        keys = np.sort(indices.astype(np.int64) * self.n_nodes + nodes)
        wanted = where.reshape(-1).astype(np.int64) * self.n_nodes + upper
        if not len(keys):
            return np.zeros(len(wanted), dtype=bool)
        found: Bools = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
        return found

    def least_above(self, nodes: Iterable[int]) -> list[int]:
        """The least nodes above or equal to all of these, ascending: one in a tree, perhaps more in a DAG."""
        common = frozenset.intersection(*map(self.up, nodes))
        ups = {node: self.up(node) for node in common}
        return sorted(v for v in common if not any(v != w and v in ups[w] for w in common))

    @cached_property
    def _codes_by_label(self) -> dict[str | None, int]:
        """Leaf of the label first, else the only inner node of it; ambiguous labels are absent, None is ⊥.

        Nodes that are each all that is in the one above, as bands that two levels have, are one: the lowest.
        """
        inner: dict[str, list[int]] = {}
        found: dict[str | None, int] = {None: TOP}
        for code, (label, leaf) in enumerate(zip(self.labels, self.is_leaf.tolist(), strict=True)):
            if leaf:
                found.setdefault(label, code)
            else:
                inner.setdefault(label, []).append(code)
        children = np.bincount(self.edges[1], minlength=len(self.labels))
        for label, codes in inner.items():
            if all(self.parents[low] == (high,) and children[high] == 1 for high, low in pairwise(codes)):
                found.setdefault(label, codes[-1])
        return found

    def node_of(self, value: str) -> int | None:
        """The leaf with this label, else the only inner node with it, else None.

        A whole number that no node is called is the one that is spelled otherwise: 17100.0 is 17100.
        """
        known = self._codes_by_label
        spellings = (value, *(() if value in known else spelled_otherwise(value)))
        return next((known[own] for own in spellings if own in known), None)

    def encode(self, values: Sequence[str | None]) -> tuple[Ints, set[str]]:
        """Node code per value: missing (None) becomes ⊥, an unknown value −1 and a member of the set."""
        known = self._codes_by_label
        codes = np.fromiter(map(known.get, values, repeat(UNKNOWN)), dtype=np.int32, count=len(values))
        unknown: set[str] = set()
        for i in np.flatnonzero(codes == UNKNOWN).tolist():
            value = str(values[i])
            code = self.node_of(value)
            if code is None:
                unknown.add(value)
            else:
                codes[i] = code
        return codes, unknown

    def require_tree(
        self, what: str, instead: str = "use rules that name the disclosed values per record"
    ) -> None:
        """Raise NotSupported, naming ``what`` needs it and what to do ``instead``, unless it is a tree."""
        if not self.is_tree:
            offender = next(i for i, node in enumerate(self.parents) if len(node) > 1)
            raise NotSupported(
                f"{what} needs a tree, but the value {self.labels[offender]!r} has several parents.",
                f"Give every value one parent, or {instead}.",
            )

    @cached_property
    def _cuts(self) -> tuple[Ints, ...]:
        self.require_tree("A table level")
        current = np.arange(self.n_nodes, dtype=np.int32)
        cuts = [current]
        for cut in range(self.height - 1, -1, -1):
            current = np.where(self.depth[current] > cut, self.parent[current], current)
            cuts.append(current)
        return tuple(cuts)

    def ancestors_at(self, level: int) -> Ints:
        """Per node, what it becomes at a level 0..height: its ancestor at depth min(depth, height − level).

        Level 0 leaves every value as it is, level ``height`` makes it ⊥; those between need a tree (else
        NotSupported).
        """
        if not 0 <= level <= self.height:
            raise ValueError(f"level {level} is outside 0..{self.height}")
        if level == self.height:
            return np.zeros(self.n_nodes, dtype=np.int32)
        if level == 0:
            return np.arange(self.n_nodes, dtype=np.int32)
        return self._cuts[level]

    def values_at(self, level: int) -> int:
        """How many values there are once the leaves are raised to a level, as of :meth:`ancestors_at`."""
        if level not in self._values_at:
            self._values_at[level] = len(np.unique(self.ancestors_at(level)[self.leaves]))
        return self._values_at[level]

    @cached_property
    def _values_at(self) -> dict[int, int]:
        return {}

    def ancestor_steps(self, steps: int) -> Ints:
        """Per node, the node ``steps`` covering edges above it, at most ⊥. Trees only (else NotSupported)."""
        self.require_tree("A number of generalisation steps")
        current = np.arange(self.n_nodes, dtype=np.int32)
        for _ in range(min(steps, self.height)):
            current = self.parent[current]
        return current

    def with_attached(self, values: Sequence[str]) -> Hierarchy:
        """The same hierarchy with unknown values as new leaves directly below ⊥; old codes stay."""
        new = [value for value in dict.fromkeys(values) if self.node_of(value) is None]
        if not new:
            return self
        note = f"{len(new)} values were attached below the top"
        return Hierarchy(
            self.labels + tuple(new), self.parents + ((TOP,),) * len(new), (*self.warnings, note)
        )

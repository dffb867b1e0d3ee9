"""Records joined with records of a second source by an attacker (Definitions: record linkage).

The joined record y∨z holds, per attribute, what y and z say together: the more specific of two comparable
values, else the leaves that both may mean. Such a set need not be a value of the hierarchy (an age against
a year of birth), so sets are added to it as nodes of their own; counting then needs no special case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs, concatenated_ranges
from app.domain.counting.compatibility import Compatibility
from app.domain.counting.counter import MEMORY_CEILING, Counter
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE
from app.domain.tables.table import Table

FailedLink = Literal["zero", "fallback"]

CONFLICT = -1

_MOST_HELD: Final = 4_000_000
"""Numbers of 8 bytes that candidates may keep of what they found."""
_HELD_BESIDE: Final = 30
_HELD_PER_NODE: Final = 8
"""Of these, what keeping one finding takes beside its rows, and for each node of what it is found by."""


@dataclass(frozen=True, eq=False)
class Meets:
    """What disclosed nodes and auxiliary cells of one attribute say together.

    Attributes
    ----------
    hierarchy
        The attribute's hierarchy with a node added per set that is none of its own; the added ones are
        numbered 1..``n_sets``, the others follow in their order.
    cover
        Per node of it the least node of the original hierarchy that covers it, which the weights are of.
    """

    hierarchy: Hierarchy
    cover: Ints
    n_sets: int
    _keys: Longs
    _found: Ints
    _link: LinkedAttribute | None

    def renumbered(self, nodes: Ints) -> Ints:
        """Nodes of the original hierarchy as nodes of the extended one; −1 stays."""
        return np.where(nodes > TOP, nodes + self.n_sets, nodes).astype(np.int32)

    def of(self, nodes: Ints, codes: Ints | None) -> Ints:
        """Node of the extended hierarchy per pair of an original node and a cell, −1 where they conflict.

        ``codes`` are those of the link that the meets were made for; None where the source lacks the
        attribute. A cell ⊥, or one outside the hierarchy against ⊥, adds nothing.
        """
        alone = self.renumbered(nodes)
        if codes is None or self._link is None:
            return alone
        met = np.where(self._link.everything[codes] | (nodes == TOP), alone, CONFLICT).astype(np.int32)
        if len(self._keys):
            wanted = nodes.astype(np.int64) * self._link.n_codes + codes
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            listed = self._keys[place] == wanted
            met[listed] = self._found[place[listed]]
        return met


def meets_of(hierarchy: Hierarchy, link: LinkedAttribute | None, nodes: Ints) -> Meets:
    """The meets of disclosed ``nodes`` with every cell of a link (None: the source lacks the attribute).

    Raises NotSupported for a set of leaves in a DAG that several least values cover: its weight is open.
    """
    if link is None:
        every = np.arange(hierarchy.n_nodes, dtype=np.int32)
        return Meets(hierarchy, every, 0, np.empty(0, np.int64), np.empty(0, np.int32), None)
    pair_nodes, pair_codes, shared = _overlaps(hierarchy, link, nodes)
    # The lower of node and cell per pair that shares leaves, −1 where neither is known to be the
    # lower
    cells = np.full(len(pair_codes), UNKNOWN, np.int32) if link.nodes is None else link.nodes[pair_codes]
    written = cells != UNKNOWN
    within = ~written & (shared == hierarchy.leaf_count[pair_nodes])
    met = np.where(within, pair_nodes, UNKNOWN).astype(np.int32)
    for upper, lower in ((pair_nodes, cells), (cells, pair_nodes)):
        below = written & (met == UNKNOWN)
        below[below] = hierarchy.are_above(upper[below], lower[below])
        met[below] = lower[below]
    sets: dict[bytes, int] = {}
    members: list[Ints] = []
    covers: list[int] = []
    numbers = np.zeros(len(met), dtype=np.int32)
    for pair in np.flatnonzero(met == UNKNOWN).tolist():
        node, code = int(pair_nodes[pair]), int(pair_codes[pair])
        cell = link.leaves[link.starts[code] : link.starts[code + 1]]
        leaves = cell if shared[pair] == len(cell) else np.intersect1d(cell, hierarchy.leaves_of(node))
        cover = _least_cover(hierarchy, leaves)
        if hierarchy.leaf_count[cover] == len(leaves):
            met[pair] = cover
        else:
            numbers[pair] = 1 + sets.setdefault(leaves.tobytes(), len(sets))
            if len(sets) > len(members):
                members.append(leaves)
                covers.append(cover)
    found = np.where(met > TOP, met + len(members), met)
    found = np.where(met == UNKNOWN, numbers, found).astype(np.int32)
    keys = pair_nodes.astype(np.int64) * max(1, link.n_codes) + pair_codes
    cover_of = np.array([TOP, *covers, *range(1, hierarchy.n_nodes)], dtype=np.int32)
    return Meets(_with_sets(hierarchy, members), cover_of, len(members), keys, found, link)


def _overlaps(hierarchy: Hierarchy, link: LinkedAttribute, nodes: Ints) -> tuple[Ints, Ints, Longs]:
    """All pairs (node, code) that share leaves, ordered by both, and how many they share."""
    index, above = hierarchy.leaf_ancestors
    wanted = np.zeros(hierarchy.n_nodes, dtype=bool)
    wanted[nodes] = True
    index, above = index[wanted[above]], above[wanted[above]]
    above = above[np.argsort(index, kind="stable")]
    n_above = np.bincount(index, minlength=hierarchy.n_leaves)
    first = np.cumsum(n_above) - n_above
    repeats = n_above[link.leaves]
    codes = np.repeat(np.arange(link.n_codes), np.diff(link.starts))
    keys = above[concatenated_ranges(first[link.leaves], repeats)].astype(np.int64) * max(1, link.n_codes)
    distinct, shared = np.unique(keys + np.repeat(codes, repeats), return_counts=True)
    width = max(1, link.n_codes)
    return (distinct // width).astype(np.int32), (distinct % width).astype(np.int32), shared


def _least_cover(hierarchy: Hierarchy, leaves: Ints) -> int:
    covers = hierarchy.least_above(hierarchy.leaves[leaves].tolist())
    if len(covers) > 1:
        named = " and ".join(repr(hierarchy.labels[node]) for node in covers[:2])
        raise NotSupported(
            f"Two sources together leave a set of values that both {named} cover: its weight is not defined.",
            "Use a tree for this attribute, or leave it out of the auxiliary source.",
        )
    return covers[0]


def _with_sets(hierarchy: Hierarchy, sets: Sequence[Ints]) -> Hierarchy:
    """The hierarchy with nodes 1..k for sets of leaf indices, above every value within them and below ⊥."""
    if not sets:
        return hierarchy
    k = len(sets)
    above: list[list[int]] = [[] for _ in range(hierarchy.n_nodes)]
    for number, leaves in enumerate(sets, start=1):
        inside = np.zeros(hierarchy.n_leaves, dtype=np.int64)
        inside[leaves] = 1
        index, nodes = hierarchy.leaf_ancestors
        held = np.bincount(nodes, inside[index], minlength=hierarchy.n_nodes)
        for node in np.flatnonzero(held == hierarchy.leaf_count).tolist():
            above[node].append(number)
    shifted = [
        tuple(above[node]) + tuple(p + k if p > TOP else p for p in hierarchy.parents[node])
        for node in range(1, hierarchy.n_nodes)
    ]
    labels = (hierarchy.labels[TOP], *("{…}",) * k, *hierarchy.labels[1:])
    return Hierarchy(labels, ((), *((TOP,),) * k, *shifted))


class Joiner:
    """Joins disclosed rows with auxiliary rows and counts the entities consistent with what results.

    Parameters
    ----------
    table, dictionary
        The table that the rows are of, and the attacker's dictionary θ.
    auxiliary
        The second source, linked to the same hierarchies, with cells as they were written.
    disclosed
        Disclosed rows (r, m) that may be joined: their nodes are prepared.
    """

    def __init__(
        self,
        table: Table,
        dictionary: Dictionary,
        auxiliary: Dictionary,
        disclosed: Ints,
        memory_ceiling: int = MEMORY_CEILING,
    ) -> None:
        links = {link.attribute: link.meaning for link in auxiliary.links}
        self._links = [links.get(attribute) for attribute in table.attributes]
        self._meets = [
            meets_of(hierarchy, link, np.unique(disclosed[:, j]))
            for j, (hierarchy, link) in enumerate(zip(table.hierarchies, self._links, strict=True))
        ]
        extended = Table(
            table.attributes,
            tuple(meets.hierarchy for meets in self._meets),
            np.zeros((1, table.n_attributes), dtype=np.int32),
        )
        self.counter = Counter(extended, self._rehosted(table, dictionary), memory_ceiling)

    def _rehosted(self, table: Table, dictionary: Dictionary) -> Dictionary:
        links = []
        for link in dictionary.links:
            meets = self._meets[table.position(link.attribute)]
            links.append(
                replace(
                    link,
                    hierarchy=meets.hierarchy,
                    seeds=None if link.seeds is None else meets.renumbered(link.seeds),
                    nodes=None if link.nodes is None else meets.renumbered(link.nodes),
                )
            )
        return replace(dictionary, links=tuple(links))

    def join(self, disclosed: Ints, rows: Longs) -> tuple[Ints, Bools]:
        """Rows y∨z (r, m) of nodes of the extended hierarchies, and which pairs conflict.

        ``rows`` are the auxiliary entities z. Cells that conflict are ⊥ in the joined rows.
        """
        joined = np.empty(disclosed.shape, dtype=np.int32, order="F")
        for j, (meets, link) in enumerate(zip(self._meets, self._links, strict=True)):
            joined[:, j] = meets.of(disclosed[:, j], None if link is None else link.column[rows])
        conflicts: Bools = (joined == CONFLICT).any(axis=1)
        joined[joined == CONFLICT] = TOP
        return joined, conflicts

    def alone(self, disclosed: Ints) -> Ints:
        """Disclosed rows (r, m) as rows of nodes of the extended hierarchies."""
        columns = [meets.renumbered(disclosed[:, j]) for j, meets in enumerate(self._meets)]
        return np.stack(columns, axis=1)

    def covers(self, joined: Ints) -> Ints:
        """Per cell the least value of the table's own hierarchy that covers it."""
        return np.stack([meets.cover[joined[:, j]] for j, meets in enumerate(self._meets)], axis=1)

    def own_consistent(self, joined: Ints, own_rows: Longs) -> Bools:
        """Whether each row's own entity, at a row of the dictionary (−1: none), is consistent with it."""
        present = own_rows >= 0
        passed = present.copy()
        for j, compatibility in zip(self.counter.linked, self.counter.compatibilities, strict=True):
            codes = compatibility.link.column[own_rows[present]]
            passed[present] &= compatibility.consistent(joined[present, j], codes)
        return passed


@dataclass(frozen=True, eq=False)
class Links:
    """Possible links, one element each: of which record, to which auxiliary row, p(z|y), P(W=1|y,z)."""

    record: Longs
    row: Longs
    probability: Floats
    correct: Floats

    def sums(self, values: Floats, n: int) -> Floats:
        """Sum of a value per link over the links of each of n records."""
        return np.bincount(self.record, values, minlength=n).astype(np.float64)


def losses_with_links(unlinked: Floats, links: Links, linked: Floats, on_failed_link: FailedLink) -> Floats:
    """Expected loss of each record, float64 (r,): over its links, and unlinked with what probability is left.

    Parameters
    ----------
    unlinked
        ℓ(y) per record.
    linked
        ℓ(y∨z) per link.
    on_failed_link
        What a wrong link does: no harm, or that of the record as it is disclosed.
    """
    n = len(unlinked)
    left = 1.0 - links.sums(links.probability, n)
    if (left < -FEASIBILITY_TOLERANCE).any():
        raise ValueError("the probabilities of a record's links add up to more than 1")
    right = links.probability * links.correct
    expected = links.sums(_weighted(right, linked), n)
    if on_failed_link == "fallback":
        wrong = links.probability * (1.0 - links.correct)
        left = left + links.sums(wrong, n)
    left[left <= FEASIBILITY_TOLERANCE] = 0.0
    return expected + _weighted(left, unlinked)


def _weighted(probability: Floats, values: Floats) -> Floats:
    """Products in which probability 0 outweighs an infinite value."""
    found = np.zeros(len(values))
    np.multiply(probability, values, out=found, where=probability > 0)
    return found


class Candidates:
    """The distinct rows of an auxiliary source, and which of them are consistent with a disclosed row.

    ``entity`` (e,) is an entity of each distinct row and ``copies`` (e,) how many entities share it;
    ``row_of_entity`` (M,) leads back. ``counter`` counts distinct rows, each once.
    """

    def __init__(self, table: Table, auxiliary: Dictionary, memory_ceiling: int = MEMORY_CEILING) -> None:
        links = auxiliary.links
        # A mode may tell apart what cells mean alike, and the other way round.
        columns = [link.column for link in links] + [link.meaning.column for link in links]
        sizes = [link.n_codes for link in links] + [link.meaning.n_codes for link in links]
        rows = distinct_rows(columns, sizes, auxiliary.n_entities)
        self.row_of_entity: Longs = rows.inverse.astype(np.int64)
        self.copies = rows.counts
        self.entity: Longs = np.zeros(rows.size, dtype=np.int64)
        self.entity[rows.inverse[::-1]] = np.arange(auxiliary.n_entities - 1, -1, -1)
        self._codes = [rows.codes[:, i] for i in range(len(links))]
        once = (replace(link, column=codes) for link, codes in zip(links, self._codes, strict=True))
        self.counter = Counter(table, Dictionary(rows.size, tuple(once)), memory_ceiling)
        self._found: dict[tuple[int, ...], Longs] = {}
        self._held = 0
        self._beside = _HELD_BESIDE + _HELD_PER_NODE * len(links)

    @cached_property
    def _alike(self) -> Sequence[Ints]:
        """By linked attribute; only a search needs it, which takes a while for large hierarchies."""
        return [_alike(compatibility) for compatibility in self.counter.compatibilities]

    def bytes_kept(self, meanings: int, rows: int) -> int:
        """What is kept at most, of so many meanings and of so many rows found for them together."""
        return 8 * min(rows + meanings * self._beside, _MOST_HELD)

    def meanings(self, disclosed: Ints) -> int:
        """How many of the disclosed rows (r, m) differ in what is consistent with them."""
        columns = [self._alike[i][disclosed[:, j]] for i, j in enumerate(self.counter.linked)]
        sizes = [int(alike.max(initial=0)) + 1 for alike in self._alike]
        return distinct_rows(columns, sizes, len(disclosed)).size

    def of(self, disclosed: Ints) -> Longs:
        """The distinct rows consistent with one disclosed row (m,), ascending; not to be changed.

        What was found is kept, within bounds, for disclosed rows of the same meaning.
        """
        nodes = disclosed.take(self.counter.linked).tolist()
        meaning = tuple(alike.item(node) for alike, node in zip(self._alike, nodes, strict=True))
        rows = self._found.get(meaning)
        if rows is None:
            rows = self._search(nodes)
            self._keep(meaning, rows)
        return rows

    def _keep(self, meaning: tuple[int, ...], rows: Longs) -> None:
        held = len(rows) + self._beside
        if held > _MOST_HELD:
            return
        if self._held + held > _MOST_HELD:
            self._found, self._held = {}, 0
        self._held += held
        self._found[meaning] = rows

    def _search(self, nodes: Sequence[int]) -> Longs:
        rows: Longs = np.arange(len(self.entity), dtype=np.int64)
        for node, compatibility, codes in zip(nodes, self.counter.compatibilities, self._codes, strict=True):
            if node != TOP:
                rows = rows[compatibility.fitting(node)[codes[rows]]]
        return rows


def _alike(compatibility: Compatibility) -> Ints:
    """Per node a number that nodes have in common with which the same codes are consistent; ⊥ has 0."""
    alike = compatibility.of_all_nodes.of_node + 2
    alike[TOP] = 0
    return alike

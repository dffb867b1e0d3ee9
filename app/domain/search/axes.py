"""One attribute of a search: what its values become level by level, and what scoring can tell apart.

For table-level rules a level is one of the hierarchy's; for single records of a tree it is a number of steps
up. The ancestors of a value in a hierarchy that is no tree have no such order: there its levels number
itself and all its ancestors from the deepest to ⊥, and the lattice of a record is ∏ up(a_j).

On every level the disclosed nodes fall into *classes*: two nodes with the same set of consistent dictionary
codes have the same count whatever the other attributes are. A *code* stands for the values of the table, and
of the dictionary, that no level tells apart: same class, weights and utility on each. A code of the
dictionary belongs to every class that it is consistent with: exactly one where it is a leaf, several where it
is ⊥, a generalised value or the image of a transform. Counting is then a join on equal classes, exact for all
of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.counting.compatibility import Compatibility
from app.domain.counting.threads import in_order
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.search.context import SearchContext
from app.domain.search.problem import Scope
from app.domain.tables.distinct import group, row_keys


def ladder_of(hierarchy: Hierarchy, nodes: Ints, scope: Scope) -> Ints:
    """The node that each of ``nodes`` becomes on each level, int32 (levels, nodes).

    Records whose way up is shorter stay at ⊥. NotSupported for table levels of a hierarchy that is no tree.
    """
    if scope == "record_level" and not hierarchy.is_tree:
        depth = hierarchy.depth.tolist()
        lists = [sorted(hierarchy.up(node), key=lambda v: (-depth[v], v)) for node in nodes.tolist()]
        ladder = np.zeros((max(map(len, lists)), len(lists)), dtype=np.int32)
        for column, ancestors in enumerate(lists):
            ladder[: len(ancestors), column] = ancestors
        return ladder
    raise_to = hierarchy.ancestors_at if scope == "table_level" else hierarchy.ancestor_steps
    return np.stack([raise_to(level)[nodes] for level in range(hierarchy.height + 1)])


def steps_to_top(hierarchy: Hierarchy, nodes: Ints) -> Ints:
    """The level from which on a single record with each of the ``nodes`` discloses ⊥, int32 (nodes,)."""
    if hierarchy.is_tree:
        return hierarchy.depth[nodes]
    return np.array([len(hierarchy.up(node)) - 1 for node in nodes.tolist()], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Image:
    """The classes of one level: code c belongs to ``classes[starts[c]:starts[c + 1]]``.

    Codes of the table belong to exactly one.
    """

    n_classes: int
    starts: Longs
    classes: Ints

    @cached_property
    def counts(self) -> Longs:
        """(codes,) classes that each code belongs to."""
        counts: Longs = np.diff(self.starts)
        return counts

    @cached_property
    def is_function(self) -> bool:
        """Whether no code belongs to several classes."""
        return bool((self.counts <= 1).all())

    @cached_property
    def is_total(self) -> bool:
        """Whether every code belongs to a class."""
        return bool((self.counts >= 1).all())

    @cached_property
    def class_of(self) -> Ints:
        """The class of each code where :attr:`is_function`, −1 for codes without one."""
        found = np.full(len(self.counts), -1, dtype=np.int32)
        found[self.counts == 1] = self.classes
        return found

    @cached_property
    def keeps_order(self) -> bool:
        """Whether rows ordered by code are ordered by class, so that reducing them needs no sort."""
        return self.is_function and self.is_total and bool((np.diff(self.class_of) >= 0).all())


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute: an :class:`Image` per level, and per level and code the weights and the utility.

    ``own`` and ``unit`` (levels, codes) are the table's weight and the weight that a personal factor
    multiplies; ``of_node`` gives the code of each node that occurs in the table, ``of_entry`` that of each
    code of the dictionary (all 0 where the attribute is not linked: there every entity is consistent).
    ``depth`` is, for single records, the number of steps from a code of the table up to ⊥.
    """

    images: tuple[Image, ...]
    own: Floats
    unit: Floats
    utility: Floats
    depth: Floats
    joint: _JointCodes | _SingleClasses
    of_node: Ints
    of_entry: Ints
    linked: bool

    @property
    def n_levels(self) -> int:
        """Levels, from the values as they are to ⊥."""
        return len(self.images)

    @property
    def n_codes(self) -> int:
        """Codes of the table and, where the attribute is linked, of the dictionary."""
        return int(self.own.shape[1])

    @cached_property
    def merged(self) -> tuple[Ints, ...]:
        """Per level, the first code that no level from there on tells apart from a code."""
        return self.joint.merged(np.concatenate([self.own, self.unit]))


def build_axes(context: SearchContext, scope: Scope) -> tuple[Axis, ...]:
    """An axis per attribute of the table; NotSupported for table levels of a hierarchy that is no tree."""
    attributes = range(context.table.n_attributes)
    return tuple(in_order(lambda j: _build_axis(context, j, scope), attributes, context.threads))


def _build_axis(context: SearchContext, j: int, scope: Scope) -> Axis:
    hierarchy, link = context.table.hierarchies[j], context.links[j]
    used = context.table.used_nodes[j]
    ladder = ladder_of(hierarchy, used, scope)
    shape = context.sensitivity.shapes[j]
    own, unit, utility = shape[0][ladder], shape[1][ladder], context.utility.values[j][ladder]
    depth = steps_to_top(hierarchy, used)[None, :].astype(np.float64)
    entries = (
        np.zeros(1, np.int32)
        if link is None
        else np.flatnonzero(np.bincount(link.column, minlength=link.n_codes)).astype(np.int32)
    )
    compatibility = None if link is None else Compatibility(link, used)
    per_level = [_classes_of_level(compatibility, nodes, entries) for nodes in ladder]
    data_classes = np.stack([classes for classes, _ in per_level])
    marks = [data_classes.astype(np.float64), own, unit]
    if scope == "record_level":
        marks += [utility, depth]
        if context.failure is not None:
            marks += list(context.failure.shapes[j][:, ladder])
    # Number of the distinct column that each column equals, by first appearance, and those columns
    rows = np.ascontiguousarray(np.concatenate(marks).T)
    numbers: dict[bytes, int] = {}
    merged = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.int32)
    _, first = np.unique(merged, return_index=True)
    joint = _joint_codes(data_classes[:, first], [sets for _, sets in per_level], len(entries))
    of_node = np.full(hierarchy.n_nodes, -1, dtype=np.int32)
    of_node[used] = joint.of_data[merged]
    of_entry = np.full(1 if link is None else link.n_codes, -1, dtype=np.int32)
    of_entry[entries] = joint.of_entry
    padding = joint.n_codes - len(first)
    spread = [
        np.concatenate([values[:, first], np.zeros((len(values), padding))], axis=1)[:, joint.order]
        for values in (own, unit, utility, depth)
    ]
    return Axis(
        images=joint.images(),
        own=spread[0],
        unit=spread[1],
        utility=spread[2],
        depth=spread[3][0],
        joint=joint,
        of_node=of_node,
        of_entry=of_entry,
        linked=link is not None,
    )


Sets = tuple[Longs, Ints, int]


def _classes_of_level(compatibility: Compatibility | None, nodes: Ints, entries: Ints) -> tuple[Ints, Sets]:
    """Class of each node, and as (starts, classes, number of classes) the classes of each entry."""
    if compatibility is None:
        return np.zeros(len(nodes), np.int32), (np.array([0, 1]), np.zeros(1, np.int32), 1)
    distinct, where = np.unique(nodes, return_inverse=True)
    starts, members = _consistent_entries(compatibility, distinct, entries)
    sizes = np.diff(starts)
    if len(members) == len(np.unique(members)):
        # No entry is shared: nodes differ in class unless nothing is consistent with them.
        is_empty = sizes == 0
        opens = ~is_empty
        opens[is_empty.argmax()] = True
        class_of = (np.cumsum(opens) - 1).astype(np.int32)
        class_of[is_empty] = class_of[is_empty.argmax()]
        by_entry = np.zeros(len(entries) + 1, dtype=np.int64)
        np.cumsum(np.bincount(members, minlength=len(entries)), out=by_entry[1:])
        owner = np.repeat(class_of, sizes)[np.argsort(members)]
        return class_of[where], (by_entry, owner, int(opens.sum()))
    numbers: dict[bytes, int] = {}
    class_of = np.empty(len(distinct), dtype=np.int32)
    first: list[int] = []
    for i, (a, b) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        class_of[i] = numbers.setdefault(members[a:b].tobytes(), len(numbers))
        if len(numbers) > len(first):
            first.append(i)
    sizes = np.diff(starts)[first]
    kept = np.concatenate([np.empty(0, np.int32), *(members[starts[i] : starts[i + 1]] for i in first)])
    owner = np.repeat(np.arange(len(first), dtype=np.int32), sizes)
    order = np.lexsort((owner, kept))
    by_entry = np.zeros(len(entries) + 1, dtype=np.int64)
    np.cumsum(np.bincount(kept, minlength=len(entries)), out=by_entry[1:])
    return class_of[where].astype(np.int32), (by_entry, owner[order], len(first))


def _consistent_entries(compatibility: Compatibility, nodes: Ints, entries: Ints) -> tuple[Longs, Ints]:
    """Positions in ``entries`` of the dictionary's codes consistent with each node, ascending, as lists."""
    place = np.full(compatibility.link.n_codes, -1, dtype=np.int64)
    place[entries] = np.arange(len(entries))
    owners, codes = compatibility.link.pairs
    low = np.searchsorted(owners, nodes)
    covered = np.searchsorted(owners, nodes, side="right") - low
    at = np.repeat(low - (np.cumsum(covered) - covered), covered) + np.arange(int(covered.sum()))
    where, members = np.repeat(np.arange(len(nodes)), covered), place[codes[at]]
    pairs = (where * len(entries) + members)[members >= 0]
    anywhere = np.flatnonzero(compatibility.link.everything[entries])
    free = (np.arange(len(nodes))[:, None] * len(entries) + anywhere).ravel()
    tops = np.flatnonzero(nodes == TOP)
    whole = (tops[:, None] * len(entries) + np.arange(len(entries))).ravel()
    pairs = np.unique(np.concatenate([pairs, free, whole]))
    starts = np.searchsorted(pairs, np.arange(len(nodes) + 1) * len(entries))
    return starts.astype(np.int64), (pairs % max(1, len(entries))).astype(np.int32)


def _joint_codes(data_classes: Ints, sets: Sequence[Sets], n_entries: int) -> _JointCodes | _SingleClasses:
    if all(bool((np.diff(starts) <= 1).all()) for starts, _, _ in sets):
        return _SingleClasses(data_classes, sets)
    return _JointCodes(data_classes, sets, n_entries)


class _SingleClasses:
    """The same numbering as :class:`_JointCodes` where no entry belongs to several classes of a level."""

    def __init__(self, data_classes: Ints, sets: Sequence[Sets]) -> None:
        self._n_classes = [number for _, _, number in sets]
        n_data = data_classes.shape[1]
        rows = []
        for of_data, (starts, classes, _) in zip(data_classes, sets, strict=True):
            of_entries = np.full(len(starts) - 1, -1, dtype=np.int32)
            of_entries[np.diff(starts) == 1] = classes
            rows.append(np.concatenate([of_data, of_entries]))
        keys, limit = row_keys([row + 1 for row in rows], [n + 1 for n in self._n_classes], len(rows[0]))
        first, inverse = group(keys, limit)
        # An entry takes the number of the first code of the table like it, else a new one.
        new = np.sort(first[first >= n_data])
        number = np.empty(len(first), dtype=np.int64)
        number[first < n_data] = first[first < n_data]
        number[first >= n_data] = n_data + np.searchsorted(new, first[first >= n_data])
        kept = np.concatenate([np.arange(n_data), new])
        classes = np.stack(rows)[:, kept]
        self.order = np.lexsort(classes)
        place = np.empty(len(self.order), dtype=np.int32)
        place[self.order] = np.arange(len(self.order), dtype=np.int32)
        self.of_data = place[:n_data]
        self.of_entry = place[number[inverse[n_data:]]]
        self._classes = classes[:, self.order]

    @property
    def n_codes(self) -> int:
        return len(self.order)

    def merged(self, weights: Floats) -> tuple[Ints, ...]:
        n_levels = len(self._n_classes)
        ranks = [np.unique(row, return_inverse=True) for row in weights]
        found = []
        for level in range(n_levels):
            heavy = [*ranks[level:n_levels], *ranks[n_levels + level :]]
            columns = [*(self._classes[level:] + 1), *(rank.reshape(-1) for _, rank in heavy)]
            sizes = [*(n + 1 for n in self._n_classes[level:]), *(len(values) for values, _ in heavy)]
            first, inverse = group(*row_keys(columns, sizes, self.n_codes))
            found.append(first[inverse].astype(np.int32))
        return tuple(found)

    def images(self) -> tuple[Image, ...]:
        found = []
        for classes, n_classes in zip(self._classes, self._n_classes, strict=True):
            starts = np.zeros(self.n_codes + 1, dtype=np.int64)
            np.cumsum(classes >= 0, out=starts[1:])
            found.append(Image(n_classes, starts, classes[classes >= 0].astype(np.int32)))
        return tuple(found)


class _JointCodes:
    """One numbering for the codes of table and dictionary, ordered by class from general to specific.

    Entries whose classes on every level are those of a code of the table share its number.
    """

    def __init__(self, data_classes: Ints, sets: Sequence[Sets], n_entries: int) -> None:
        self._n_classes = [number for _, _, number in sets]
        self._lists: list[tuple[tuple[int, ...], ...]] = []
        numbers: dict[tuple[tuple[int, ...], ...], int] = {}
        for column in data_classes.T.tolist():
            key = tuple((c,) for c in column)
            numbers.setdefault(key, len(self._lists))
            self._lists.append(key)
        of_entry = np.empty(n_entries, dtype=np.int32)
        bounds = [(starts.tolist(), classes.tolist()) for starts, classes, _ in sets]
        for entry in range(n_entries):
            key = tuple(tuple(classes[starts[entry] : starts[entry + 1]]) for starts, classes in bounds)
            if key not in numbers:
                numbers[key] = len(self._lists)
                self._lists.append(key)
            of_entry[entry] = numbers[key]
        self.order = np.array(
            sorted(range(len(self._lists)), key=lambda i: self._lists[i][::-1]), dtype=np.int64
        )
        place = np.empty(len(self.order), dtype=np.int32)
        place[self.order] = np.arange(len(self.order), dtype=np.int32)
        self.of_data = place[: data_classes.shape[1]]
        self.of_entry = place[of_entry]

    @property
    def n_codes(self) -> int:
        return len(self._lists)

    def merged(self, weights: Floats) -> tuple[Ints, ...]:
        """Per level, the first code with the same classes and weights (2 · levels, codes) from there on."""
        n_levels = len(self._n_classes)
        found = []
        for level in range(n_levels):
            heavy = np.concatenate([weights[level:n_levels], weights[n_levels + level :]]).T.tolist()
            first: dict[tuple[object, ...], int] = {}
            found.append(
                [
                    first.setdefault((self._lists[i][level:], tuple(heavy[code])), code)
                    for code, i in enumerate(self.order.tolist())
                ]
            )
        return tuple(np.array(codes, dtype=np.int32) for codes in found)

    def images(self) -> tuple[Image, ...]:
        found = []
        for level, n_classes in enumerate(self._n_classes):
            lists = [self._lists[i][level] for i in self.order.tolist()]
            starts = np.zeros(len(lists) + 1, dtype=np.int64)
            np.cumsum([len(classes) for classes in lists], out=starts[1:])
            flat = [c for classes in lists for c in classes]
            found.append(Image(n_classes, starts, np.array(flat, dtype=np.int32)))
        return tuple(found)

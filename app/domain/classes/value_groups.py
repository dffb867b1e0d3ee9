"""Groups of values that a tree makes, and how often each class has them.

Values are the m values of :class:`SensitiveCounts`, in the depth-first order of their nodes, so that the
values under a node are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy

NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Pairs of a class and a group that it has records of, by class, then by group.

    Attributes
    ----------
    of_class, groups, amounts
        (P,) class and group of each pair, and the records of the class that are in the group.
    """

    of_class: Longs
    groups: Ints
    amounts: Longs


def inner_layers(hierarchy: Hierarchy, nodes: Ints) -> list[Ints]:
    """The inner nodes above values (or equal to them) but for ⊥, by depth: the deepest first.

    Each layer is (m,): the node of its depth above each value, −1 where there is none or where it is a leaf.
    NotSupported unless the hierarchy is a tree.
    """
    hierarchy.require_tree("A group of values per inner value")
    layers = []
    current, depth = nodes, hierarchy.depth
    for level in range(hierarchy.height - 1, 0, -1):
        current = np.where(depth[current] > level, hierarchy.parent[current], current)
        is_inner = (depth[current] == level) & ~hierarchy.is_leaf[current]
        layers.append(np.where(is_inner, current, NO_GROUP).astype(np.int32))
    return layers


def group_counts(counts: SensitiveCounts, group_of_value: Ints) -> GroupCounts:
    """How many records of each class have a value of each group.

    ``group_of_value`` is (m,): the group of each value, −1 for none; the values of a group are neighbours
    but for values of no group.
    """
    groups = group_of_value[counts.values]
    entries = np.flatnonzero(groups != NO_GROUP)
    if not len(entries):
        nothing = np.zeros(0, dtype=np.int64)
        return GroupCounts(nothing, nothing.astype(np.int32), nothing)
    of_class, groups = counts.of_entry[entries], groups[entries]
    starts = np.flatnonzero(
        np.concatenate(([True], (of_class[1:] != of_class[:-1]) | (groups[1:] != groups[:-1])))
    )
    return GroupCounts(of_class[starts], groups[starts], np.add.reduceat(counts.counts[entries], starts))


def in_groups(counts: SensitiveCounts, group_of_value: Ints) -> SensitiveCounts:
    """The counts of groups that part all values, in their order.

    ``group_of_value`` is (m,): the node of each value's group. The values of a group are neighbours.
    """
    first = np.flatnonzero(np.concatenate(([True], group_of_value[1:] != group_of_value[:-1])))
    numbers = (np.searchsorted(first, np.arange(len(group_of_value)), side="right") - 1).astype(np.int32)
    found = group_counts(counts, numbers)
    starts = np.searchsorted(found.of_class, np.arange(counts.n_classes + 1))
    totals = np.add.reduceat(counts.totals, first)
    return SensitiveCounts(starts, found.groups, found.amounts, totals, group_of_value[first])


@dataclass(frozen=True, eq=False)
class TreeGroups:
    """The inner nodes of a tree that put at least two of the values together, and not all of them.

    Of nodes with the same values the lowest stands for all.

    Attributes
    ----------
    nodes
        (K,) node of each group.
    first, last
        (K,) the values of each are those from ``first`` to ``last`` − 1.
    layers
        Per layer (m,) the group of each value, −1 for none: groups of a layer have no values in common.
    """

    nodes: Ints
    first: Longs
    last: Longs
    layers: tuple[Ints, ...]


def tree_groups(hierarchy: Hierarchy, nodes: Ints, wanted: frozenset[int] | None = None) -> TreeGroups:
    """The groups that a tree makes of values.

    ``wanted`` are the inner nodes that count, whatever they put together but everything; None stands for all
    of at least two values. NotSupported unless the hierarchy is a tree.
    """
    fewest = 2 if wanted is None else 1
    spans: dict[tuple[int, int], int] = {}
    layers = []
    for layer in inner_layers(hierarchy, nodes):
        groups = np.full(len(nodes), NO_GROUP, dtype=np.int32)
        found, first, sizes = np.unique(layer, return_index=True, return_counts=True)
        for node, start, size in zip(found.tolist(), first.tolist(), sizes.tolist(), strict=True):
            span = start, start + size
            counts = fewest <= size < len(nodes) and (wanted is None or node in wanted)
            if node != NO_GROUP and counts and span not in spans:
                groups[start : start + size] = len(spans)
                spans[span] = node
        if (groups != NO_GROUP).any():
            layers.append(groups)
    bounds = np.array(list(spans), dtype=np.int64).reshape(-1, 2)
    chosen = np.array(list(spans.values()), dtype=np.int32)
    return TreeGroups(chosen, bounds[:, 0], bounds[:, 1], tuple(layers))


def groups_called(hierarchy: Hierarchy, labels: Sequence[str], pointer: str) -> Ints:
    """The inner nodes of these labels, ⊥ left out; InvalidInput for a label that none has."""
    inner: dict[str, list[int]] = {}
    for node in np.flatnonzero(~hierarchy.is_leaf).tolist():
        if node != TOP:
            inner.setdefault(hierarchy.labels[node], []).append(node)
    for place, label in enumerate(labels):
        if label not in inner:
            raise InvalidInput.of(
                f"{pointer}/{place}",
                "unknown-group",
                f"The sensitive attribute's hierarchy has no group {label!r}.",
                "Name values of the hierarchy that have others below them.",
            )
    return np.array(sorted({node for label in labels for node in inner[label]}), dtype=np.int32)


def groups_apart(hierarchy: Hierarchy, nodes: Ints, labels: Sequence[str], pointer: str) -> Ints:
    """(m,) the node of the group that each value is in, −1 for values in none of the groups called so.

    InvalidInput if one group lies in another, NotSupported unless the hierarchy is a tree.
    """
    hierarchy.require_tree("A group of values", "leave groups out")
    groups = groups_called(hierarchy, labels, pointer)
    if np.isin(hierarchy.ancestors(groups)[1], groups).sum() > len(groups):
        raise InvalidInput.of(
            pointer, "overlapping-groups", "One of the groups lies in another.", "Name one of the two."
        )
    places, above = hierarchy.ancestors(nodes)
    is_group = np.isin(above, groups)
    found = np.full(len(nodes), NO_GROUP, dtype=np.int32)
    found[places[is_group]] = above[is_group]
    return found


def values_replaced(counts: SensitiveCounts, group_of_value: Ints) -> SensitiveCounts:
    """The counts with each value in a group replaced by the group; (m,) as of :func:`groups_apart`."""
    return in_groups(counts, np.where(group_of_value == NO_GROUP, counts.nodes, group_of_value))


def values_and_groups(counts: SensitiveCounts, group_of_value: Ints) -> SensitiveCounts:
    """The counts of the values and, numbered after them, of the groups: a record may count for two.

    Like those of persons they sum up to more than the records, which ``persons`` holds.
    """
    in_group = group_of_value != NO_GROUP
    groups, numbers = np.unique(group_of_value[in_group], return_inverse=True)
    number_of_value = np.full(len(group_of_value), NO_GROUP, dtype=np.int32)
    number_of_value[in_group] = numbers
    found = group_counts(counts, number_of_value)
    of_class = np.concatenate([counts.of_entry, found.of_class])
    values = np.concatenate([counts.values, found.groups + np.int32(counts.n_values)])
    order = np.lexsort((values, of_class))
    totals = np.bincount(numbers, counts.totals[in_group], len(groups)).astype(np.int64)
    return SensitiveCounts(
        counts.starts + np.searchsorted(found.of_class, np.arange(counts.n_classes + 1)),
        values[order],
        np.concatenate([counts.counts, found.amounts])[order],
        np.concatenate([counts.totals, totals]),
        np.concatenate([counts.nodes, groups]),
        (counts.sizes, counts.population),
    )

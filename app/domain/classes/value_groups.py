"""Groups of values that a tree makes, and how often each class has them.

Values are the m values of :class:`SensitiveCounts`, in the depth-first order of their nodes, so that the
values under a node are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.classes.persons import ONE_ROW
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy

ValuesInGroups = Literal["bounded", "free"]

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


def with_groups(
    counts: SensitiveCounts,
    hierarchy: Hierarchy,
    groups: Sequence[str] | None,
    values_in_groups: ValuesInGroups,
    pointer: str,
) -> SensitiveCounts:
    """The counts with groups in place of their values (``free``) or, numbered after all values, beside them.

    Beside them a record counts for two, so that counts sum up to more than the records, as those of persons.
    InvalidInput if one group lies in another, NotSupported where persons are counted and unless the hierarchy
    is a tree.
    """
    if groups is None:
        return counts
    if counts.persons is not None:
        raise NotSupported(
            "Groups of values are not bounded where a person may have several records.",
            f"Leave groups out, or judge a table with {ONE_ROW}.",
        )
    hierarchy.require_tree("A group of values", "leave groups out")
    called = groups_called(hierarchy, groups, pointer)
    if np.isin(hierarchy.ancestors(called)[1], called).sum() > len(called):
        raise InvalidInput.of(pointer, "nested-groups", "One group lies in another.", "Name one of the two.")
    places, above = hierarchy.ancestors(counts.nodes)
    in_group = np.isin(above, called)
    places, above = places[in_group], above[in_group]
    if values_in_groups == "free":
        becomes = counts.nodes.copy()
        becomes[places] = above
        return in_groups(counts, becomes)
    called, numbers = np.unique(above, return_inverse=True)
    group_of_value = np.full(counts.n_values, NO_GROUP, dtype=np.int64)
    group_of_value[places] = numbers + counts.n_values
    groups_of_entries = group_of_value[counts.values]
    twice = groups_of_entries != NO_GROUP
    found = count_values(
        np.concatenate([counts.of_entry, counts.of_entry[twice]]),
        np.concatenate([counts.values, groups_of_entries[twice]]),
        np.concatenate([counts.counts, counts.counts[twice]]),
        counts.n_classes,
        counts.n_values + len(called),
    )
    totals = np.bincount(numbers, counts.totals[places], len(called)).astype(np.int64)
    return SensitiveCounts(
        *found,
        np.concatenate([counts.totals, totals]),
        np.concatenate([counts.nodes, called]),
        (counts.sizes, counts.population),
    )

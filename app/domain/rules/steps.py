"""Steps: how far above a record's own value its disclosed one is.

A level of a full-domain rule is a cut through the whole hierarchy: level l shows every value at its ancestor
of depth ``min(depth, height − l)``, so that a value which is not deeper stays as it is. A step goes from one
record's own value to the next one above it. In a tree whose leaves are all equally deep they are the same
number. In any other the same number of levels discloses more of the values that are less deep.
"""

from __future__ import annotations

from app.domain.arrays import Ints
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy


def steps_between(hierarchy: Hierarchy, original: Ints, disclosed: Ints) -> Ints:
    """Steps (n,) from each node up to the one that is disclosed, which is the same or above it.

    −1 in a hierarchy that is no tree, where steps have no meaning, unless the value is shown as it is. The
    steps of a missing value, which is ⊥, are 0.
    """
    if hierarchy.is_tree:
        climbed: Ints = hierarchy.depth[original] - hierarchy.depth[disclosed]
        return climbed
    steps: Ints = (original != disclosed).astype(original.dtype) * UNKNOWN
    return steps


def labels_shown(hierarchy: Hierarchy, nodes: Ints) -> list[str | None]:
    """The label of every node, None for ⊥."""
    return [None if node == TOP else hierarchy.labels[node] for node in nodes.tolist()]

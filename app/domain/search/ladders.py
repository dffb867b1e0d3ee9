"""What each value of an attribute becomes, level by level.

For table-level rules a level is one of the hierarchy's; for single records of a tree it is a number of steps
up. The ancestors of a value in a hierarchy that is no tree have no such order: there its levels number
itself and all its ancestors from the deepest to ⊥, and the lattice of a record is ∏ up(a_j).
"""

from __future__ import annotations

import numpy as np

from app.domain.distinct import Ints
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.search.problem import Scope


def ladder_of(hierarchy: Hierarchy, nodes: Ints, scope: Scope) -> Ints:
    """The node that each of ``nodes`` becomes on each level, int32 (levels, nodes).

    Records whose way up is shorter stay at ⊥. NotSupported for table levels of a hierarchy that is no tree.
    """
    if scope == "record_level" and not hierarchy.is_tree:
        return _numbered_ancestors(hierarchy, nodes)
    raise_to = hierarchy.ancestors_at if scope == "table_level" else hierarchy.ancestor_steps
    return np.stack([raise_to(level)[nodes] for level in range(hierarchy.height + 1)])


def steps_to_top(hierarchy: Hierarchy, nodes: Ints) -> Ints:
    """The level from which on a single record with each of the ``nodes`` discloses ⊥, int32 (nodes,)."""
    if hierarchy.is_tree:
        return hierarchy.depth[nodes]
    return np.array([len(hierarchy.up(node)) - 1 for node in nodes.tolist()], dtype=np.int32)


def _numbered_ancestors(hierarchy: Hierarchy, nodes: Ints) -> Ints:
    depth = hierarchy.depth.tolist()
    lists = [sorted(hierarchy.up(node), key=lambda v: (-depth[v], v)) for node in nodes.tolist()]
    ladder = np.zeros((max(map(len, lists)), len(lists)), dtype=np.int32)
    for column, ancestors in enumerate(lists):
        ladder[: len(ancestors), column] = ancestors
    return ladder

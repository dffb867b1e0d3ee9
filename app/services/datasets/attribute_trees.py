"""Parts of a hierarchy, for a dataset's attribute with the records below each value and what each weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, MaxLen

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import NotFound
from app.domain.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True)
class CountedNode:
    """One node: its records (at or below it), its weight, its leaves, and the children that are shown.

    ``records`` and ``weight`` are None where they may not be shown; the weight also where no profile is asked
    about.
    """

    node: int
    label: str
    depth: int
    leaves: int
    records: int | None
    weight: float | None
    n_children: int
    children: tuple[CountedNode, ...]


@dataclass(frozen=True)
class Ancestor:
    """A node above."""

    node: Annotated[int, Ge(0), Example(0)]
    """Code of the node; 0 is the top."""
    label: Annotated[str, MaxLen(1_000), Example("*")]
    """Its label."""


@dataclass(frozen=True)
class AttributeTree:
    """Part of the hierarchy of a dataset's attribute."""

    attribute: Annotated[str, MaxLen(1_000), Example("city")]
    """The attribute."""
    height: Annotated[int, Ge(0), Example(4)]
    """Height of the hierarchy."""
    rows: Annotated[int, Ge(0), Example(12)]
    """Records of the dataset."""
    path: Annotated[tuple[Ancestor, ...], MaxLen(1_000)]
    """From the top to above the root."""
    root: CountedNode
    """The node asked for, with what is below it."""


@dataclass(frozen=True)
class Shown:
    """Which part is shown: ``depth`` generations below ``node``, at most ``limit`` children of each."""

    node: int = 0
    depth: int = 2
    limit: int = 50


def attribute_tree(
    attribute: str,
    hierarchy: Hierarchy,
    codes: Ints | None,
    weights: npt.NDArray[np.float64] | None,
    rows: int,
    shown: Shown,
) -> AttributeTree:
    """The part that is asked for; ``codes`` (n,) are the cells, ``weights`` one per node.

    Raises
    ------
    NotFound
        If there is no such node.
    """
    root = counted_nodes(hierarchy, shown, codes, weights)
    return AttributeTree(attribute, hierarchy.height, rows, _path(hierarchy, shown.node), root)


def counted_nodes(
    hierarchy: Hierarchy,
    shown: Shown,
    codes: Ints | None = None,
    weights: npt.NDArray[np.float64] | None = None,
) -> CountedNode:
    """The node that is asked for with what is shown below it; NotFound if there is none."""
    if not 0 <= shown.node < hierarchy.n_nodes:
        raise NotFound("node", str(shown.node))
    records = None if codes is None else records_below(hierarchy, codes)
    child, parent = hierarchy.edges
    order = np.lexsort((child, parent))
    child, parent = child[order], parent[order]

    def counted(code: int, generations: int) -> CountedNode:
        low, high = np.searchsorted(parent, [code, code + 1])
        below = child[low : min(high, low + shown.limit)].tolist() if generations > 0 else []
        return CountedNode(
            node=code,
            label=hierarchy.labels[code],
            depth=int(hierarchy.depth[code]),
            leaves=int(hierarchy.leaf_count[code]),
            records=None if records is None else int(records[code]),
            weight=None if weights is None else float(weights[code]),
            n_children=int(high - low),
            children=tuple(counted(inner, generations - 1) for inner in below),
        )

    return counted(shown.node, shown.depth)


def records_below(hierarchy: Hierarchy, codes: Ints) -> Longs:
    """Records whose cell is the node or below it, per node; the top counts all, missing cells included."""
    own = np.bincount(codes, minlength=hierarchy.n_nodes)
    used = np.flatnonzero(own).astype(np.int32)
    index, above = hierarchy.ancestors(used)
    below: Longs = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    np.add.at(below, above, own[used][index])
    return below


def _path(hierarchy: Hierarchy, node: int) -> tuple[Ancestor, ...]:
    """The nodes above, from the top; where a node has several parents by the first of them."""
    path: list[Ancestor] = []
    while node:
        node = hierarchy.parents[node][0]
        path.append(Ancestor(node, hierarchy.labels[node]))
    return tuple(reversed(path))

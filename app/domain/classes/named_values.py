"""Sensitive values that somebody names by their labels: which values of a table are meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from app.domain.arrays import Bools, Ints
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy


def values_called(hierarchy: Hierarchy, nodes: Ints, labels: Sequence[str], pointer: str) -> Iterator[Bools]:
    """Per label, (m,) which values are meant: a group stands for the values in it.

    One label after the other, because all of many labels together would be a table of labels by values.

    Parameters
    ----------
    nodes
        (m,) node of each value.
    pointer
        Where the labels are, for errors.

    Raises InvalidInput for labels that the hierarchy does not have and repeated ones, before the first one.
    """
    called = _nodes_called(hierarchy, labels, pointer)
    return (_among(hierarchy, [own])[nodes] for own in called)


def any_called(hierarchy: Hierarchy, nodes: Ints, labels: Sequence[str], pointer: str) -> Bools:
    """(m,) which values are meant by some label, or by another spelling of it; as :func:`values_called`."""
    called = _nodes_called(hierarchy, labels, pointer)
    return np.asarray(_among(hierarchy, [*called, *(hierarchy.as_read[own] for own in called)])[nodes])


def harmless_values(hierarchy: Hierarchy, nodes: Ints, labels: Sequence[str], pointer: str) -> Bools:
    """(m,) which values may be disclosed; as :func:`any_called`, and not all there can be may be named."""
    harmless = _among(hierarchy, _nodes_called(hierarchy, labels, pointer))
    if harmless[hierarchy.leaves].all():
        raise InvalidInput.of(
            pointer,
            "everything-harmless",
            "All values of the attribute are named as harmless.",
            "Leave out those that must not be disclosed.",
        )
    return np.asarray(harmless[nodes])


def _among(hierarchy: Hierarchy, called: Sequence[Ints]) -> Bools:
    """(n_nodes,) which nodes are in any of the sets."""
    among = np.zeros(hierarchy.n_nodes, dtype=bool)
    for own in called:
        among[own] = True
    return among


def _nodes_called(hierarchy: Hierarchy, labels: Sequence[str], pointer: str) -> list[Ints]:
    """Per label the nodes at or below one of that label."""
    if not labels:
        return []
    if len(set(labels)) != len(labels):
        raise InvalidInput.of(pointer, "duplicate-value", "A value is named twice.", "Name it once.")
    wanted: dict[str, list[int]] = {label: [] for label in labels}
    for node, label in enumerate(hierarchy.labels):
        if label in wanted:
            wanted[label].append(node)
    below, above = hierarchy.ancestors(np.arange(hierarchy.n_nodes, dtype=np.int32))
    below = below[np.argsort(above, kind="stable")]
    ends = np.cumsum(np.bincount(above, minlength=hierarchy.n_nodes))
    found = []
    for place, (label, own) in enumerate(wanted.items()):
        if not own:
            raise InvalidInput.of(
                f"{pointer}/{place}",
                "unknown-value",
                f"The attribute's hierarchy has no value {label!r}.",
                "Name values or groups of the hierarchy.",
            )
        found.append(np.concatenate([below[ends[node - 1] if node else 0 : ends[node]] for node in own]))
    return found

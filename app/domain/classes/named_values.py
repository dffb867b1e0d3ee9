"""Sensitive values that somebody names by their labels: which values of a table are meant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.distinct import Ints
from app.domain.errors import InvalidInput
from app.domain.hierarchies import Hierarchy


def values_called(hierarchy: Hierarchy, nodes: Ints, labels: Sequence[str], pointer: str) -> list[Bools]:
    """Per label, which values are meant: a group stands for the values in it.

    Parameters
    ----------
    nodes
        (m,) node of each value.
    pointer
        Where the labels are, for errors.

    Raises InvalidInput for labels that the hierarchy does not have and repeated ones.
    """
    return [below[nodes] for below in _nodes_called(hierarchy, labels, pointer)]


def harmless_values(hierarchy: Hierarchy, nodes: Ints, labels: Sequence[str], pointer: str) -> Bools:
    """(m,) which values may be disclosed; as :func:`values_called`, and not all there can be may be named."""
    harmless = np.zeros(hierarchy.n_nodes, dtype=bool)
    for below in _nodes_called(hierarchy, labels, pointer):
        harmless |= below
    if harmless[hierarchy.leaves].all():
        raise InvalidInput.of(
            pointer,
            "everything-harmless",
            "All values of the attribute are named as harmless.",
            "Leave out those that must not be disclosed.",
        )
    return np.asarray(harmless[nodes])


def _nodes_called(hierarchy: Hierarchy, labels: Sequence[str], pointer: str) -> list[Bools]:
    """Per label the nodes at or below one of that label."""
    if not labels:
        return []
    if len(set(labels)) != len(labels):
        raise InvalidInput.of(pointer, "duplicate-value", "A value is named twice.", "Name it once.")
    below, above = hierarchy.ancestors(np.arange(hierarchy.n_nodes, dtype=np.int32))
    found = []
    for place, label in enumerate(labels):
        is_called = np.array([own == label for own in hierarchy.labels])
        if not is_called.any():
            raise InvalidInput.of(
                f"{pointer}/{place}",
                "unknown-value",
                f"The attribute's hierarchy has no value {label!r}.",
                "Name values or groups of the hierarchy.",
            )
        meant = np.zeros(hierarchy.n_nodes, dtype=bool)
        meant[below[is_called[above]]] = True
        found.append(meant)
    return found

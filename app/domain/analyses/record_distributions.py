"""Distributions of records, attributes independent of each other (Definitions: record distributions)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class ProductDistribution:
    """Records whose attributes are independent.

    Per attribute ``nodes`` are those of positive probability, ascending, and ``probabilities`` theirs.
    """

    nodes: tuple[Ints, ...]
    probabilities: tuple[Floats, ...]

    def draw(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw n records, int32 (n, m) of node codes."""
        drawn = np.empty((n, len(self.nodes)), dtype=np.int32, order="F")
        for j, (nodes, probabilities) in enumerate(zip(self.nodes, self.probabilities, strict=True)):
            below = np.cumsum(probabilities)
            # Rounding must not lead past the last node.
            place = np.searchsorted(below / below[-1], rng.random(n), side="right")
            drawn[:, j] = nodes[np.minimum(place, len(nodes) - 1)]
        return drawn


def fitted(
    table: Table, smoothing: float = 0.0, given: Mapping[str, Mapping[str, float]] | None = None
) -> ProductDistribution:
    """The table's own shares of each attribute's values, or given ones.

    Parameters
    ----------
    smoothing
        Added to the count of every leaf, ≥ 0; what is missing or generalised in the table stays possible with
        its count. Records count with their weights, scaled to a mean of 1.
    given
        Attribute → leaf → probability, in place of the table's shares. InvalidInput for names that do not
        exist and for probabilities that are no distribution.
    """
    given = given or {}
    _check(table, given)
    weights = np.ones(table.n_records) if table.weights is None else table.weights / table.weights.mean()
    nodes, probabilities = [], []
    for j, (attribute, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        share = np.zeros(hierarchy.n_nodes)
        if attribute in given:
            for label, probability in given[attribute].items():
                share[_leaf(hierarchy, label)] = probability
        else:
            share += np.bincount(table.codes[:, j], weights, minlength=hierarchy.n_nodes)
            share[hierarchy.leaves] += smoothing
        possible = np.flatnonzero(share > 0).astype(np.int32)
        nodes.append(possible)
        probabilities.append(share[possible] / math.fsum(share[possible].tolist()))
    return ProductDistribution(tuple(nodes), tuple(probabilities))


def _leaf(hierarchy: Hierarchy, label: str) -> int | None:
    node = hierarchy.node_of(label)
    return node if node is not None and hierarchy.is_leaf[node] else None


def _check(table: Table, given: Mapping[str, Mapping[str, float]]) -> None:
    faults = []
    for attribute, shares in given.items():
        pointer = f"/measure/marginals/{attribute}"
        if attribute not in table.attributes:
            known = ", ".join(table.attributes)
            message = f"There is no attribute {attribute!r}."
            faults.append(Fault(pointer, "unknown-attribute", message, f"The attributes are: {known}."))
            continue
        hierarchy = table.hierarchies[table.position(attribute)]
        faults += [
            Fault(
                f"{pointer}/{label}",
                "unknown-value",
                f"{label!r} is no leaf of the hierarchy of {attribute!r}.",
                "Give probabilities of leaves.",
            )
            for label in shares
            if _leaf(hierarchy, label) is None
        ]
        total = math.fsum(shares.values())
        if abs(total - 1.0) > FEASIBILITY_TOLERANCE or any(not value >= 0 for value in shares.values()):
            faults.append(
                Fault(
                    pointer,
                    "no-distribution",
                    f"The probabilities of {attribute!r} add up to {total:g} or are negative.",
                    "They are 0 or more and add up to 1.",
                )
            )
    if faults:
        raise InvalidInput(faults)

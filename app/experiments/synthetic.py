"""Synthetic data: correlated attributes over balanced trees (Definitions: synthetic data).

Only the seed decides what is drawn; a dictionary of fewer entities is a prefix of the larger ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.sensitivity.sensitivity import Family, Overrides, Sensitivity, build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table

BRANCHING = ((3, 4, 4), (2, 3), (4, 3, 5), (3, 3, 2))
ENTITIES = 4000
ZIPF_EXPONENT = 0.8
SHARED_PROBABILITY = 0.3


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Entities, N of them, and the trees of their attributes.

    ``leaves`` int32 (N, k) are node codes, ``weights`` float64 (N, k) the leaf weights of each entity.
    """

    attributes: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    leaves: Ints
    weights: Floats

    @property
    def n_entities(self) -> int:
        """N, each with one leaf per attribute."""
        return len(self.leaves)

    def table(self, n_records: int) -> Table:
        """The first entities as the records to disclose."""
        return Table(self.attributes, self.hierarchies, self.leaves[:n_records], _ids(0, n_records))

    def dictionary(self, first: int, last: int, nodes: Ints | None = None) -> Dictionary:
        """Entities ``first`` to ``last`` as a dictionary; ``nodes`` (N, k) in place of the leaves."""
        shown = (self.leaves if nodes is None else nodes)[first:last]
        links = tuple(
            link_nodes(attribute, hierarchy, shown[:, j])
            for j, (attribute, hierarchy) in enumerate(zip(self.attributes, self.hierarchies, strict=True))
        )
        return Dictionary(len(shown), links, _ids(first, last), comparable_ids=True)

    def sensitivity(self, table: Table, family: Family) -> Sensitivity:
        """Weights per entity and attribute, harmonic above the leaves."""
        groups = np.arange(table.n_records, dtype=np.int32)
        weights = {attribute: LeafWeights(1.0) for attribute in table.attributes}
        return build_sensitivity(table, family, weights, Overrides(groups, self.weights[: table.n_records]))


def generate(
    seed: int, n_entities: int = ENTITIES, branching: Sequence[Sequence[int]] = BRANCHING
) -> Synthetic:
    """Draw entities.

    Each attribute's leaf follows a Zipf law over a random order of the leaves. With probability 0.3 the
    quantile is one that the entity's attributes share, otherwise its own.
    """
    rng = np.random.default_rng(seed)
    hierarchies = tuple(balanced_tree(factors) for factors in branching)
    shared = rng.random(n_entities)
    columns = []
    for hierarchy in hierarchies:
        order = rng.permutation(hierarchy.leaves)
        mass = np.arange(1, len(order) + 1) ** -ZIPF_EXPONENT
        quantile = np.where(rng.random(n_entities) < SHARED_PROBABILITY, shared, rng.random(n_entities))
        place = np.searchsorted(np.cumsum(mass / mass.sum()), quantile, side="right")
        columns.append(order[np.minimum(place, len(order) - 1)])
    weights = rng.random((n_entities, len(hierarchies)))
    names = tuple(f"A{j}" for j in range(1, len(hierarchies) + 1))
    return Synthetic(names, hierarchies, np.stack(columns, axis=1).astype(np.int32), weights)


def balanced_tree(factors: Sequence[int]) -> Hierarchy:
    """A tree whose nodes at depth d have ``factors[d]`` children each."""
    parents: dict[str, list[str | None]] = {}
    level: list[str | None] = [None]
    for factor in factors:
        below: list[str | None] = []
        for parent in level:
            for child in range(1, factor + 1):
                label = str(child) if parent is None else f"{parent}.{child}"
                parents[label] = [parent]
                below.append(label)
        level = below
    return Hierarchy.from_parents(parents)


def _ids(first: int, last: int) -> npt.NDArray[np.object_]:
    return np.arange(first, last).astype(str).astype(object)

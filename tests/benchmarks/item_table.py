"""An item table as the papers had one: seventy attributes of heights 1 to 5, generated (X1, X8)."""

from __future__ import annotations

from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.experiments.synthetic import Synthetic, generate

ATTRIBUTES = 70
ENTITIES = 400_000
BRANCHING = ((8,), (4, 5), (3, 4, 4), (3, 3, 3, 3), (2, 3, 3, 2, 3))
"""Of a tree of each height; the attributes take them in turn."""


def item_table(n_entities: int = ENTITIES, attributes: int = ATTRIBUTES, seed: int = 1) -> Synthetic:
    """Draw the entities of an item table."""
    return generate(seed, n_entities, [BRANCHING[j % len(BRANCHING)] for j in range(attributes)])


def item_context(data: Synthetic, records: int) -> SearchContext:
    """The first records against all entities: personal weights that add up, depth-sum utility."""
    table = data.table(records)
    dictionary = data.dictionary(0, data.n_entities)
    return SearchContext(table, dictionary, data.sensitivity(table, "linear_personal"), build_utility(table))

"""Tables of people whose illness goes with their town and age."""

from __future__ import annotations

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table

TOWNS = Hierarchy.from_rows(
    [("Rome", "Lazio", "*"), ("Ostia", "Lazio", "*"), ("Bari", "South", "*"), ("Lecce", "South", "*")]
)
AGES = Hierarchy.from_rows([("20", "young", "*"), ("30", "young", "*"), ("70", "old", "*")])
ILLNESSES = Hierarchy.from_rows([(own, "*") for own in ("flu", "gout", "asthma", "cough")])


def people(seed, n=60, *, missing=False):
    """People whose illness goes with town and age."""
    rng = np.random.default_rng(seed)
    town, age = rng.integers(0, 4, n), rng.integers(0, 3, n)
    ill = np.where(rng.random(n) < 0.6, (town + age) % 4, rng.integers(0, 4, n))
    codes = np.stack([TOWNS.leaves[town], AGES.leaves[age], ILLNESSES.leaves[ill]], axis=1)
    if missing:
        codes[rng.random(n) < 0.2, 0] = 0
        codes[rng.random(n) < 0.2, 1] = AGES.node_of("young")
    hierarchies = (TOWNS, AGES, ILLNESSES)
    return Table(("town", "age", "ill"), hierarchies, codes, sensitive=frozenset({"ill"}))

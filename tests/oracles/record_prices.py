"""What a record's generalisation costs: hierarchies, criteria and tables."""

from __future__ import annotations

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.tables.table import Table
from tests.oracles.recodings import ILLNESS

LADDER = Hierarchy.from_rows([[f"{i}", f"by two {i // 2}", f"by four {i // 4}", "*"] for i in range(8)])


LONG = Hierarchy.from_parents(
    {"p": ["pq"], "q": ["pq"], "pq": ["all"], "r": ["all"], "s": [None], "all": [None]}
)


CRITERIA = (
    (KAnonymity(2),),
    (KAnonymity(3),),
    (KAnonymity(4),),
    (KAnonymity(2), DistinctLDiversity(l=2)),
    (EntropyLDiversity(l=2),),
    (KAnonymity(3), DistinctLDiversity(l=2)),
)


def table_of(*values):
    codes = [[LADDER.node_of(value), 1] for value in values]
    return Table(
        ("x", "illness"), (LADDER, ILLNESS), np.array(codes, dtype=np.int32), sensitive=frozenset({"illness"})
    )

"""The threshold representation of one record (Definitions: lattice of a record), in every consistency mode.

Consistency is an up-set per attribute: an entity is consistent with a record generalised by x steps iff x is
at least the entity's threshold vector on every attribute.
"""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Ints
from app.domain.counting.compatibility import Compatibility
from app.domain.counting.counter import Counter


def record_thresholds(counter: Counter, row: int) -> Ints:
    """Least steps per entity and attribute (N, m) from which on the entity is consistent with one record.

    0..depth of the record's value: ⊥, the last step, is consistent with everything. NotSupported on
    hierarchies that are no trees.
    """
    table = counter.table
    found = np.zeros((counter.dictionary.n_entities, table.n_attributes), dtype=np.int32)
    for j, compatibility in zip(counter.linked, counter.compatibilities, strict=True):
        found[:, j] = _of_codes(compatibility, int(table.codes[row, j]))[compatibility.link.column]
    return found


def _of_codes(compatibility: Compatibility, node: int) -> Ints:
    """The threshold of each code of one link for a value of the record."""
    hierarchy = compatibility.link.hierarchy
    codes = np.arange(compatibility.link.n_codes, dtype=np.int32)
    found = np.zeros(len(codes), dtype=np.int32)
    for _ in range(int(hierarchy.depth[node])):
        missed = ~compatibility.consistent(np.full(len(codes), node, dtype=np.int32), codes)
        found += missed
        node = int(hierarchy.parent[node])
    return found

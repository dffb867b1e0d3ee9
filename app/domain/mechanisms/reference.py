"""How often values occur in what a reader knows before, as a request writes it: a count per label."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.domain.arrays import Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy


def reference_totals(
    reference: Mapping[CellValue, int], hierarchy: Hierarchy, attribute: str, pointer: str
) -> Longs:
    """(nodes,) how often each occurs; InvalidInput, at the pointer, for a value that there is not."""
    totals: Longs = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    for label, records in reference.items():
        node = hierarchy.node_of(label)
        if node is None:
            raise InvalidInput.of(
                pointer,
                "unknown-value",
                f"The hierarchy of {attribute!r} has no value {str(label)!r}.",
                "Name values of the attribute's hierarchy.",
            )
        totals[node] += records
    return totals

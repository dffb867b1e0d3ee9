"""Of how much use each node of a hierarchy is, as utilities derive it (Definitions: utility)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats
from app.domain.hierarchies.hierarchy import Hierarchy

DerivedUtility = Literal["depth_sum", "inverse_leaves", "log_leaves"]
"""Levels kept, 1 / values covered, nats kept."""

DERIVED_VALUES: Final[Mapping[str, Callable[[Hierarchy], Floats]]] = {
    "depth_sum": lambda own: own.depth.astype(np.float64),
    "inverse_leaves": lambda own: 1.0 / own.leaf_count,
    "log_leaves": lambda own: np.log(own.n_leaves / own.leaf_count),
}
"""Per utility what gives each node (nodes,) its value, at least 0 and never more for a more general node."""

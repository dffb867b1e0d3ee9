"""What an attribute at a level adds to Φ of the records on a walk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.domain.harm.sensitivity import Sensitivity
from app.domain.search.axes import Axis, Floats, Ints, Longs


class WalkWeights:
    """Weights by an attribute's place in a walk, its level and codes.

    Parameters
    ----------
    axes, order
        The axes in the order of the walk, and their attributes' positions in the table.
    group_of_mark
        The weight group that a record's mark stands for.
    """

    def __init__(
        self, sensitivity: Sensitivity, axes: Sequence[Axis], order: Sequence[int], group_of_mark: Ints
    ) -> None:
        self._axes = axes
        self._factors = [sensitivity.factors[:, j][group_of_mark] for j in order]
        self._personal = [not bool(np.isnan(factors).all()) for factors in self._factors]
        nothing = sensitivity.family == "constant"
        self._free = [
            [nothing or not (own.any() or unit.any()) for own, unit in zip(axis.own, axis.unit, strict=True)]
            for axis in axes
        ]

    def is_free(self, depth: int, level: int) -> bool:
        """Whether the level adds nothing for anybody."""
        return self._free[depth][level]

    def is_personal(self, depth: int) -> bool:
        """Whether the weights depend on the records' marks."""
        return self._personal[depth]

    def of(self, depth: int, level: int, codes: Ints, marks: Longs | None) -> Floats:
        """Weights of codes, of records with ``marks``, which are only needed where they are personal."""
        own: Floats = self._axes[depth].own[level][codes]
        if marks is None or not self._personal[depth]:
            return own
        factor, unit = self._factors[depth][marks], self._axes[depth].unit[level][codes]
        with np.errstate(invalid="ignore"):
            scaled = np.where(unit == 0.0, 0.0, factor * unit)
        return np.where(np.isnan(factor), own, scaled)

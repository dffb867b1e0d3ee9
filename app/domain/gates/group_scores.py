"""The score of a group of records: the figures of an assessment, over its records alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.errors import NotSupported
from app.domain.policies.comparison import Value
from app.domain.risk.summaries import mean, quantiles

_QUANTILES: Final = "loss_quantiles."
GROUPED: Final = (
    "risk_average",
    "risk_max",
    "risk_min",
    "utility_average",
    "utility_min",
    "min_consistent",
    "infinite",
    "loss_quantiles",
)
"""The figures that are of records, so that groups have them."""


@dataclass(frozen=True, eq=False)
class RecordFigures:
    """What an assessment says of every record (n,); ``mass`` is its weight, 1 without weights."""

    loss: Floats
    utility: Floats
    counts: Longs
    mass: Floats

    def of(self, members: Bools) -> RecordFigures:
        """Those of some records."""
        return RecordFigures(
            self.loss[members], self.utility[members], self.counts[members], self.mass[members]
        )

    def value(self, figure: str) -> Value:
        """A figure of these records, means and extremes over those of positive weight as assessments have it.

        NotSupported for a figure that is not of records, and for records without any weight.
        """
        counted = self.mass > 0
        if not counted.any():
            raise NotSupported(
                "A group consists of records of weight 0, which have no mean.", "Choose another attribute."
            )
        match figure:
            case "risk_average":
                return mean(self.loss, self.mass)
            case "risk_max":
                return float(self.loss[counted].max())
            case "risk_min":
                return float(self.loss[counted].min())
            case "utility_average":
                return mean(self.utility, self.mass)
            case "utility_min":
                return float(self.utility[counted].min())
            case "min_consistent":
                return int(self.counts.min())
            case "infinite":
                return int(np.count_nonzero(np.isposinf(self.loss)))
        if figure.startswith(_QUANTILES):
            level = float(figure.removeprefix(_QUANTILES))
            return quantiles(self.loss, self.mass, (level,))[level]
        raise NotSupported(
            f"{figure} is no figure of single records, so that groups have none.",
            f"Groups have: {', '.join(GROUPED)}.",
        )

"""Running risk and utility of records disclosed one after another (Definitions: record distributions).

The sums are kept exactly, as whole multiples of the smallest double and its square, so that the figures do
not depend on the order or the cut of the batches and equal those of one batch with all records. Infinite
losses are counted and never lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.domain.arrays import Floats
from app.domain.errors import InvalidInput

_UNIT = 1 << 1074
"""Every finite double is a whole multiple of 2⁻¹⁰⁷⁴."""


@dataclass(frozen=True)
class RunningRisk:
    """What has been disclosed so far.

    ``weight`` is Σw in units of 2⁻¹⁰⁷⁴; ``loss`` and ``utility`` are Σw·ℓ over finite losses and Σw·u in
    units of 2⁻²¹⁴⁸. ``infinite`` counts the infinite losses of positive weight; ``greatest`` is the greatest
    loss of positive weight, ``least_utility`` the least utility of any.
    """

    records: int = 0
    weight: int = 0
    loss: int = 0
    utility: int = 0
    infinite: int = 0
    greatest: float = 0.0
    least_utility: float = math.inf

    @property
    def risk_average(self) -> float | None:
        """Σw·ℓ / Σw, correctly rounded; +∞ from the first infinite loss on; None before any weight."""
        if self.infinite:
            return math.inf
        return _quotient(self.loss, self.weight)

    @property
    def utility_average(self) -> float | None:
        """Σw·u / Σw, correctly rounded; None before any weight."""
        return _quotient(self.utility, self.weight)

    def appended(self, losses: Floats, utilities: Floats, weights: Floats | None = None) -> RunningRisk:
        """The same after more records.

        ``losses`` (r,) are in [0, +∞], ``utilities`` (r,) finite and at least 0, ``weights`` (r,) finite and
        at least 0 (default 1 each): otherwise InvalidInput names the records. A record of weight 0
        contributes nothing but is counted.
        """
        w = [1.0] * len(losses) if weights is None else weights.tolist()
        for name, values, finite in (
            ("loss", losses.tolist(), False), ("utility", utilities.tolist(), True), ("weight", w, True)
        ):  # fmt: skip
            bad = [
                row + 1
                for row, value in enumerate(values)
                if not value >= 0 or (finite and math.isinf(value))
            ]
            if bad:
                shown = ", ".join(map(str, bad[:10]))
                raise InvalidInput.of(
                    f"/{name}",
                    "out-of-range",
                    f"The {name} of {len(bad)} records is not {'a finite number' if finite else 'a number'} "
                    f"of at least 0 (first: {shown}).",
                )
        weight, loss, utility, infinite = self.weight, self.loss, self.utility, self.infinite
        greatest, least = self.greatest, self.least_utility
        for own_loss, own_utility, own_weight in zip(losses.tolist(), utilities.tolist(), w, strict=True):
            if own_weight == 0:
                continue
            scaled = _scaled(own_weight)
            weight += scaled
            utility += scaled * _scaled(own_utility)
            greatest, least = max(greatest, own_loss), min(least, own_utility)
            if math.isinf(own_loss):
                infinite += 1
            else:
                loss += scaled * _scaled(own_loss)
        return RunningRisk(self.records + len(w), weight, loss, utility, infinite, greatest, least)

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form that loses nothing: sums in hexadecimal, reals as C99 writes them."""
        return {
            "records": self.records,
            "weight": f"{self.weight:x}",
            "loss": f"{self.loss:x}",
            "utility": f"{self.utility:x}",
            "infinite": self.infinite,
            "greatest": self.greatest.hex(),
            "least_utility": self.least_utility.hex(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> RunningRisk:
        """Inverse of :meth:`to_document`."""
        return cls(
            document["records"],
            int(document["weight"], 16),
            int(document["loss"], 16),
            int(document["utility"], 16),
            document["infinite"],
            float.fromhex(document["greatest"]),
            float.fromhex(document["least_utility"]),
        )


def _scaled(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator * (_UNIT // denominator)


def _quotient(total: int, weight: int) -> float | None:
    return float(Fraction(total, weight * _UNIT)) if weight else None

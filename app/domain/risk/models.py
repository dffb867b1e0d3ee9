"""Record-level risk models: what a record's Φ and |ρ| amount to (Definitions: risk models)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.errors import InvalidInput
from app.domain.risk.formulas import POINTER, evaluated, names_in, refuse_unless_sampled_conditions_hold
from app.domain.risk.loss import identification_probability, loss

ModelName = Literal["I", "II", "III", "III_raw", "custom"]


@dataclass(frozen=True)
class RiskModel:
    """r(y, θ) = f(Φ(y), |ρ(y, θ)|, N), 0 where ρ is empty.

    Parameters
    ----------
    name
        ``I``: the loss, Φ/|ρ| without a harm of failure. ``II``: 1/|ρ|. ``III``: Φ·ln(N/|ρ|),
        the nats by which the release narrows the candidates, times the sensitivity. ``III_raw``: Φ·ln(1/|ρ|)
        as printed, not monotone and never positive (Definitions: third risk model). ``custom``:
        ``formula``.
    formula
        For ``custom``: see :mod:`app.domain.risk.formulas`. InvalidInput unless it is an expression that
        passes the sampled conditions (Definitions: risk models).
    """

    name: ModelName = "I"
    formula: str | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(ModelName):
            choices = ", ".join(get_args(ModelName))
            raise InvalidInput.of("/risk_model", "unknown-choice", f"The risk model is not one of {choices}.")
        if (self.formula is None) == (self.name == "custom"):
            raise InvalidInput.of(
                POINTER, "formula-misplaced", "The model custom needs a formula; the others take none."
            )
        if self.formula is not None:
            refuse_unless_sampled_conditions_hold(self.formula)

    @property
    def is_monotone(self) -> bool:
        """Whether it is proved that f does not fall as Φ grows and does not rise as |ρ| grows.

        A formula has passed samples only, which is no proof.
        """
        return self.name in ("I", "II", "III")

    @property
    def takes_failure(self) -> bool:
        """Whether a harm of failed identification, Ψ, has a meaning in the model."""
        return self.name == "I"

    @cached_property
    def depends_on_entities(self) -> bool:
        """Whether the number of entities N enters beside |ρ|."""
        return self.name == "III" or (self.formula is not None and "n" in names_in(self.formula))

    def of(
        self,
        counts: Longs | Floats,
        phi: Floats,
        psi: Floats | float | None,
        n_entities: Longs | Floats | float,
    ) -> Floats:
        """Risk per position, float64, broadcast over the arguments; never NaN.

        Values are in [0, +∞], except for ``III_raw``, whose are in [−∞, 0]. Where Φ = ∞ and ρ is not empty
        the risk of I and III is ∞, even if nothing is learnt; of ``custom`` what the formula gives, and ∞ if
        it gives nothing. ``psi`` must be 0 or None unless :attr:`takes_failure`.
        """
        if self.name == "I":
            return loss(counts, phi, 0.0 if psi is None else psi)
        if psi is not None and np.any(psi):
            raise ValueError(f"model {self.name} knows no harm of failed identification")
        if self.name == "II":
            shape = np.broadcast_shapes(np.shape(counts), np.shape(phi))
            return np.broadcast_to(identification_probability(counts), shape).copy()
        count, harm, n = np.broadcast_arrays(
            np.asarray(counts, dtype=np.float64), phi, np.asarray(n_entities, dtype=np.float64)
        )
        risk = np.zeros(count.shape)
        at_stake = (count > 0) & (harm > 0) if self.name != "custom" else count > 0
        risk[at_stake] = self._at(harm[at_stake], count[at_stake], n[at_stake])
        return risk

    def _at(self, phi: Floats, count: Floats, n: Floats) -> Floats:
        """The risk where ρ is not empty."""
        if self.formula is not None:
            return self._by_formula(self.formula, phi, count, n)
        if self.name == "III_raw":
            return 0.0 - _times(phi, np.log(count))
        prohibited = np.isposinf(phi)
        narrowed = np.maximum(np.log(n / count), 0.0)
        found: Floats = np.where(prohibited, np.inf, np.where(prohibited, 0.0, phi) * narrowed)
        return found

    @staticmethod
    def _by_formula(formula: str, phi: Floats, count: Floats, n: Floats) -> Floats:
        value = np.array(evaluated(formula, phi, count, n))
        value[np.isnan(value) & np.isposinf(phi)] = np.inf
        wrong = ~(value >= 0)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise InvalidInput.of(
                POINTER,
                "formula-not-a-risk",
                f"The formula is undefined or negative at "
                f"phi = {phi[i]:g}, count = {count[i]:g}, n = {n[i]:g}.",
                "Change it so that it is at least 0 wherever phi >= 0 and 1 <= count <= n.",
            )
        return value


def _times(a: Floats, b: Floats) -> Floats:
    """The product, with 0·∞ = 0."""
    zero = (a == 0) | (b == 0)
    product: Floats = np.where(zero, 0.0, np.where(zero, 0.0, a) * np.where(zero, 0.0, b))
    return product


MODEL_I = RiskModel()

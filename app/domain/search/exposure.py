"""What single records risk: from counts under each dictionary to one number, and a bound below it.

The bound of a disclosed record y holds for everything more specific that the record may be disclosed as
(Definitions: monotonicity): Φ, Ψ and |ρ| there are known to be no less, no less and no greater than at y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from app.domain.attackers import View
from app.domain.risk.models import RiskModel
from app.domain.search.canonical import loss_of

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Disclosed:
    """Disclosed records, arrays of one shape: ``counts`` |ρ| and ``entities`` N per dictionary, Φ, Ψ."""

    counts: tuple[Floats, ...]
    entities: tuple[Floats | float, ...]
    phi: Floats
    psi: Floats | None


@dataclass(frozen=True)
class Exposure:
    """The risk of records in a view of the attacker; ``priors`` are those of the dictionaries that count."""

    view: View
    model: RiskModel
    priors: tuple[float, ...]

    def losses(self, records: Disclosed) -> tuple[Floats, ...]:
        """The risk of each record under each dictionary."""
        if self.model.name == "I" and records.psi is None:
            return tuple(loss_of(records.phi, counts) for counts in records.counts)
        return tuple(
            self.model.of(counts, records.phi, records.psi, entities)
            for counts, entities in zip(records.counts, records.entities, strict=True)
        )

    def combined(self, losses: Sequence[Floats]) -> Floats:
        """One risk per record from those under each dictionary.

        Expected under the prior, or the greatest: for the worst case of a whole rule that is an upper bound.
        """
        if self.view == "bayes":
            return reduce(np.add, (q * loss for q, loss in zip(self.priors, losses, strict=True)))
        return reduce(np.maximum, losses)

    def risks(self, records: Disclosed) -> Floats:
        """The risk of each record in this view."""
        return self.combined(self.losses(records))

    def bounds(
        self, records: Disclosed, losses: Sequence[Floats], present: Sequence[Bools]
    ) -> tuple[Floats, ...]:
        """Under each dictionary, what no more specific disclosure of a record can fall below.

        ``present``, broadcast over the records, says whether anybody is consistent with the original. Proved
        only where Φ, Ψ and the model are monotone.
        """
        return tuple(
            self._bound(loss, records.phi, records.psi, originals)
            for loss, originals in zip(losses, present, strict=True)
        )

    @staticmethod
    def _bound(loss: Floats, phi: Floats, psi: Floats | None, present: Bools) -> Floats:
        if psi is None:
            return np.where(present, loss, 0.0)
        # With p ∈ [0, 1] the loss lies between Φ and Ψ; it falls with p only where Ψ ≤ Φ.
        return np.where(present, np.where(psi <= phi, loss, phi), np.minimum(phi, psi))

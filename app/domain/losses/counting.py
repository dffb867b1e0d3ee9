"""How cells and attributes count in a loss: weights, suppressed cells, and what is made of it all.

Weights are relative. They are scaled so that their mean is 1, and equal ones change nothing:

* sum: Σ_j w_j · L_j; mean: that over m; geometric mean: Π_j (1 + L_j)^(w_j / m) − 1;
* maximum: max_j w_j · L_j; rank: the w_j · L_j in descending order, compared one after another.

The suppression factor f makes two factors, g = min(1, 2 − 2f) and s = min(1, 2f). A cell that costs c as it
is generalised and t as ⊥ counts g · c, and c + s · (t − c) if its record is suppressed. Searches prune by two
facts that hold with it as they do without (:class:`~app.domain.losses.loss.SummedLoss`):

* Suppressing a record adds s · (t − c) + (1 − g) · c ≥ 0. So a rule loses at least what its levels, or lower
  ones, lose with nobody suppressed, or with anybody whom it suppresses.
* What a suppressed cell counts, s · t + (1 − s) · c, and any other, g · c, never falls when c grows. So a
  more general rule that suppresses the same records loses no less.

Both take that t ≥ c and that c never falls under a more general node. Squared errors are the exception, for
which bounds allow otherwise (``SummedLoss.relief``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from app.domain.arrays import Floats
from app.domain.errors import InvalidInput
from app.domain.losses.loss import Aggregate, LossChoice, LossKind, Sums, pointer_of_weight

OWN: Final[dict[LossKind, Aggregate]] = {"height": "sum", "non_uniform_entropy": "sum"}
"""What is made of the attributes' losses where nothing else is chosen, if it is not their mean."""


@dataclass(frozen=True)
class Counting:
    """How the cells and attributes of a loss count.

    Attributes
    ----------
    weights
        Per attribute, of mean 1; None for all alike.
    generalised, suppressed
        The factors g and s.
    """

    weights: tuple[float, ...] | None = None
    aggregate: Aggregate | None = None
    generalised: float = 1.0
    suppressed: float = 1.0

    @classmethod
    def of(cls, attributes: Sequence[str], choice: LossChoice) -> Self:
        """As it was chosen, for attributes of these names; InvalidInput as ``loss_of`` says."""
        if choice.aggregate == "rank" and len(attributes) < 2:
            raise InvalidInput.of(
                "/objective/loss/aggregate",
                "too-few-attributes",
                "A rank compares the losses of several attributes, and here is one quasi-identifier.",
                "Choose the aggregate mean or sum, which are the same for one attribute.",
            )
        factor = choice.suppression_factor
        return cls(
            _relative(attributes, choice), choice.aggregate, min(1.0, 2 - 2 * factor), min(1.0, 2 * factor)
        )

    @property
    def counts_cells_alike(self) -> bool:
        """Whether suppressed cells count as ⊥ and all others as they cost."""
        return self.generalised == self.suppressed == 1.0

    def aggregate_of(self, kind: LossKind) -> Aggregate:
        """What is made of the attributes' losses of a kind."""
        return self.aggregate or OWN.get(kind, "mean")

    def weighed(self, attribute: int, values: Floats) -> Floats:
        """Values of one attribute times its weight."""
        return values if self.weights is None else values * self.weights[attribute]

    def all_weighed(self, values: Sequence[float]) -> list[float]:
        """A value of each attribute times its weight."""
        if self.weights is None:
            return list(values)
        return [value * weight for value, weight in zip(values, self.weights, strict=True)]

    def kept(self, costs: Sums) -> Sums:
        """What cells count that are generalised."""
        return costs if self.counts_cells_alike else self.generalised * costs

    def uncovered(self, costs: Sums) -> Sums:
        """What suppressing adds to them; ``costs`` are (levels, nodes), those of ⊥ last."""
        if self.counts_cells_alike:
            return np.asarray(costs[-1] - costs)
        return np.asarray(self.suppressed * (costs[-1] - costs) + (1.0 - self.generalised) * costs)

    def combined(self, kind: LossKind, losses: Sequence[float]) -> float:
        """One loss from those of the attributes, as the measure ``information_loss`` tells them."""
        weighed = self.all_weighed(list(map(math.log1p, losses)) if kind == "geometric" else losses)
        match self.aggregate_of(kind):
            case "sum":
                return math.fsum(weighed)
            case "mean":
                mean = math.fsum(weighed) / len(weighed)
                return math.expm1(mean) if kind == "geometric" else mean
            case _:
                return max(weighed)


def _relative(attributes: Sequence[str], choice: LossChoice) -> tuple[float, ...] | None:
    """The weight of each attribute, of mean 1."""
    if not choice.weights:
        return None
    listed = f"These are: {', '.join(attributes)}."
    for name in choice.weights:
        if name not in attributes:
            raise InvalidInput.of(
                f"/objective/loss{pointer_of_weight(name)}",
                "unknown-attribute",
                f"{name!r} is none of the attributes that are generalised.",
                listed,
            )
    weights = [choice.weights.get(name, 1.0) for name in attributes]
    total = math.fsum(weights)
    if total == 0:
        raise InvalidInput.of(
            "/objective/loss/weights",
            "weights-all-0",
            "All attributes have the weight 0, so that no rule would lose anything.",
            f"Give one of them a weight above 0. {listed}",
        )
    return tuple(weight / total * len(weights) for weight in weights)

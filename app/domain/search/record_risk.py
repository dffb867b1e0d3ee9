"""What records risk: one against one dictionary at every node, or any number against all dictionaries.

A single record (Definitions: lattice of a record) holds, for attributes 1..k with heights h, the number of
consistent entities, the sensitivity and the utility of every node of the record's lattice ∏{0..h_j} as arrays
of that shape. Valid for hierarchies that are trees.

Counts under each dictionary become one number, with a bound below it. The bound of a disclosed record y holds
for everything more specific that the record may be disclosed as (Definitions: monotonicity): Φ, Ψ and |ρ|
there are known to be no less, no less and no greater than at y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Levels, Longs
from app.domain.risk.attackers import View
from app.domain.risk.models import RiskModel
from app.domain.search.objectives import ScoredObjective
from app.domain.search.selection import Choice, choose


def outer_sum(terms: Sequence[Floats]) -> Floats:
    """Array over the box whose entry at x is Σ_j terms[j][x_j]."""
    return reduce(np.add.outer, terms, np.zeros(()))


def threshold_histogram(
    thresholds: npt.NDArray[np.integer], heights: Levels, entities: Longs | None = None
) -> npt.NDArray[np.int64]:
    """|ρ(a^x)| at every node x: histogram of the (N, k) threshold vectors, then k cumulative sums.

    ``entities`` (N,) have each vector; None: one each.
    """
    shape = tuple(h + 1 for h in heights)
    cells = (
        np.ravel_multi_index(tuple(thresholds.T), shape) if len(heights) else np.zeros(len(thresholds), int)
    )
    counts = np.bincount(cells, entities, math.prod(shape)).astype(np.int64).reshape(shape)
    for axis in range(len(heights)):
        counts = counts.cumsum(axis=axis)
    return counts


def loss_of(sensitivity: Floats, counts: npt.NDArray[np.integer] | Floats) -> Floats:
    """Φ / |ρ|, and 0 where ρ is empty, even if Φ is infinite (Definitions: loss; Ψ ≡ 0)."""
    shape = np.broadcast_shapes(sensitivity.shape, counts.shape)
    return np.divide(sensitivity, counts, out=np.zeros(shape), where=np.broadcast_to(counts > 0, shape))


@dataclass(frozen=True, eq=False)
class ScoredLattice:
    """A lattice whose nodes were all scored: arrays of shape ∏(h_j + 1).

    ``bounds`` are what no node below a node can fall below in risk.
    """

    scores: Floats
    bounds: Floats
    utilities: Floats

    @property
    def heights(self) -> Levels:
        """h_j, the greatest level per attribute."""
        return tuple(size - 1 for size in self.scores.shape)

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Risk at a node, and what no node below it falls below."""
        return float(self.scores[levels]), float(self.bounds[levels])

    def utility(self, levels: Levels) -> float:
        """Utility at a node."""
        return float(self.utilities[levels])


@dataclass(frozen=True, eq=False)
class CanonicalInstance:
    """One record's lattice: ``counts``, ``sensitivity``, ``utilities`` of shape ∏(h_j + 1).

    Implements the lattice that branch and bound searches. If no entity is consistent with the record as it
    is, generalising can raise its risk: then nothing but 0 bounds the risk of a box from below.
    """

    counts: npt.NDArray[np.int64]
    sensitivity: Floats
    utilities: Floats

    @property
    def heights(self) -> Levels:
        """h_j, the greatest level per attribute."""
        return tuple(size - 1 for size in self.counts.shape)

    @property
    def absent(self) -> bool:
        """Whether no entity is consistent with the unmodified record."""
        return bool(self.counts[(0,) * self.counts.ndim] == 0)

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Φ/|ρ| at a node (0 where ρ is empty), and what no node below it falls below."""
        risk = float(loss_of(self.sensitivity[levels], self.counts[levels]))
        return risk, 0.0 if self.absent else risk

    def utility(self, levels: Levels) -> float:
        """Utility at a node."""
        return float(self.utilities[levels])

    def all_risks(self) -> Floats:
        """Loss at every node, shape ∏(h_j + 1)."""
        return loss_of(self.sensitivity, self.counts)

    def enumerate(self, objective: ScoredObjective) -> tuple[Choice, Levels]:
        """Solve by evaluating every node; the levels of the chosen one."""
        choice = choose(self.all_risks().reshape(-1, 1), self.utilities.reshape(-1, 1), objective)
        node = np.unravel_index(int(choice.node[0]), self.counts.shape)
        return choice, tuple(int(level) for level in node)


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

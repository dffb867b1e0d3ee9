"""A lower bound of the KL divergence of every recoding, from the densest boxes that records may lie in.

Let p_x be the share of the n records with the values x, and q_x what a release lets reconstruct of it: the
mean over records j of 1 / a(v_j) where x is under the nodes v_j that j is disclosed as, with a(v) the number
of values under v, and 0 elsewhere.

*Theorem.* For all t_x > 0, and D_j ≥ Σ_{x under v} (p_x / t_x) / a(v) for all nodes v that j may be disclosed
as, Σ_x p_x ln(p_x / q_x) ≥ Σ_x p_x ln(p_x / t_x) − ln(mean of the D_j).

*Proof.* By concavity Σ_x p_x ln(q_x / t_x) ≤ ln Σ_x p_x q_x / t_x. With q_x as above the sum is the mean over
j of Σ_{x under v_j} (p_x / t_x) / a(v_j), no more than that of the D_j. ∎

A record may be disclosed as ⊥, or as nodes above it under which all records together meet what is necessary
(as in ``alone``). The divergence of some attributes is no more than that of all of them with the sensitive
ones: what is reconstructed of them is the sum over the others, of boxes again. So the attributes are those
of one group, and of these the ones all of whose cells are leaves: then all values under a node are leaves,
and nothing depends on whether a reader knows the level of a cell or that its value was missing.

Any t will do. The first is p; then each t_x is multiplied with the D of who has x, which takes from where
records cannot be as dense as t says and gives to where they can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from app.domain.hierarchies.hierarchy import TOP
from app.domain.losses.kl_boxes import log_areas
from app.domain.losses.loss import Floats, LeafDomain
from app.domain.search.recoding.alone import GoesOn
from app.domain.search.recoding.bound import SLACK, Work, groups_of_attributes, most_levels
from app.domain.search.recoding.cells import Cells
from app.domain.search.recoding.demands import Demands, numbered
from app.domain.search.recoding.sides import Pairs, Side

SWEEPS: Final[Mapping[Work, int]] = {"little": 1, "some": 2, "much": 3}
"""How many t are tried."""


class DivergenceBound:
    """What no recoding diverges less than, in nats.

    Attributes
    ----------
    least
        The bound found so far.
    """

    def __init__(self, cells: Cells, demands: Demands, domain: LeafDomain) -> None:
        self._cells = cells
        self._demands = demands
        self._areas: list[Floats] = []
        self._are_leaves = []
        for i, j in enumerate(cells.attributes):
            hierarchy = cells.table.hierarchies[j]
            records = np.bincount(cells.raw[:, i], cells.amounts, hierarchy.n_nodes).astype(np.int64)
            self._areas.append(log_areas(hierarchy, records, domain))
            self._are_leaves.append(not records[TOP] and bool(hierarchy.is_leaf[records > 0].all()))
        self.least = 0.0

    def raise_by(self, work: Work, best: float, goes_on: GoesOn) -> None:
        """Bound the divergence with so much work; ``best`` is that of a known recoding, ∞ if none is."""
        groups = groups_of_attributes(self._cells, most_levels(self._cells, work))
        own = [i for i in groups[0] if self._are_leaves[i]] if groups else []
        if self._demands.necessary and own:
            densest = _Densest(self._cells, self._demands, own, [self._areas[i] for i in own])
            share = self._cells.amounts / int(self._cells.amounts.sum())
            said = densest.share
            for _ in range(SWEEPS[work]):
                found = densest.over(share / said, goes_on)
                if found is None:
                    break
                given, dense = float(share @ np.log(densest.share / said)), math.log(share @ found)
                self.least = max(self.least, given - dense - SLACK * (1.0 + abs(given) + abs(dense)))
                said = said * found
        self.least = min(self.least, best)


class _Densest:
    """The boxes of some attributes that each record may lie in.

    Attributes
    ----------
    share
        (d,) share of the records that have the values of each distinct record.
    """

    def __init__(
        self, cells: Cells, demands: Demands, attributes: Sequence[int], areas: list[Floats]
    ) -> None:
        self._cells = cells
        self._demands = demands
        middle = len(attributes) // 2
        weights = np.ones((1, len(attributes)))
        self._left = Side(cells, attributes[:middle], weights[:, :middle])
        self._right = Side(cells, attributes[middle:], weights[:, middle:])
        self._of_left, self._of_right = areas[:middle], areas[middle:]
        keys = self._left.of * self._right.size + self._right.of
        of, size = numbered(keys, self._left.size * self._right.size)
        self.share: Floats = (np.bincount(of, cells.amounts, size) / cells.amounts.sum())[of]

    def over(self, weights: Floats, goes_on: GoesOn) -> Floats | None:
        """(d,) the greatest weight of the records in a box per value of the box; None if it has to end."""
        everything = sum(float(own[TOP]) for own in (*self._of_left, *self._of_right))
        found = np.full(self._cells.size, float(weights.sum()) * math.exp(-everything))
        for levels in self._left.rules():
            if not goes_on():
                return None
            pairs = Pairs(self._cells, self._demands, (self._left, levels), self._right)
            area = np.empty(pairs.size)
            area[pairs.of] = self._left.of_nodes(levels, self._of_left)[self._left.of]
            of_pairs = self._of_pairs(
                pairs, area, np.bincount(pairs.of, weights, pairs.size).astype(np.float64)
            )
            np.maximum(found, of_pairs[pairs.of], out=found)
        return found

    def _of_pairs(self, pairs: Pairs, area: Floats, weights: Floats) -> Floats:
        """(p,) the same per pair, at all levels of the right side."""
        found = np.zeros(pairs.size)
        for levels in self._right.rules():
            of, n_groups = pairs.groups(levels)
            inside = np.where(pairs.fit(of, n_groups), np.bincount(of, weights, n_groups), 0.0)[of]
            areas = area + self._right.of_nodes(levels, self._of_right)[pairs.right]
            np.maximum(found, inside * np.exp(-areas), out=found)
        return found

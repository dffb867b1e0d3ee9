"""A lower bound of every recoding: each record disclosed as cheaply as it could be alone.

Who shares a class shares all its nodes, so a class lies among the records under its nodes. A criterion that
stays met when records join a class (``fewer_fail``) and fails of all records under some nodes therefore fails
of every class disclosed as these nodes, in whatever recoding. So each record costs at least what the cheapest
nodes above it do under which the records meet all such criteria. Withheld it costs what ⊥ does everywhere,
which no nodes exceed; and if not even all records together meet the criteria, all are withheld. That records
under the nodes may be needed elsewhere is ignored, which is why this is a bound and not the optimum.

Of disjoint groups of attributes each adds its own bound, for the records under nodes of all attributes are
under those of a group. Fewer groups bound better and take more work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from app.domain.distinct import Longs
from app.domain.losses.loss import Floats
from app.domain.search.recoding.cells import Cells
from app.domain.search.recoding.demands import Demands
from app.domain.search.recoding.sides import Levels, Pairs, Side

GoesOn = Callable[[], bool]


def cheapest_alone(
    cells: Cells, demands: Demands, attributes: Sequence[int], weights: Floats, goes_on: GoesOn
) -> Floats:
    """What the cells of some attributes of each record cost more than as they are, at least.

    Parameters
    ----------
    attributes
        Numbers a of the quasi-identifiers of one group.
    weights
        (w, a) ≥ 0: what the attributes' costs count, each row for a bound of its own.
    goes_on
        Once it says no, nothing is bounded: the answer is 0.

    Returns
    -------
    (w, d) lower bounds per distinct record, up to rounding.
    """
    middle = len(attributes) // 2
    left = Side(cells, attributes[:middle], weights[:, :middle])
    right = Side(cells, attributes[middle:], weights[:, middle:])
    # If no nodes will do, the record is withheld.
    least = left.costs(left.top)[:, left.of] + right.costs(right.top)[:, right.of]
    # The cheap ones first: they leave less to find for the others.
    for levels in sorted(left.rules(), key=lambda own: float(left.costs(own).sum())):
        if not goes_on():
            return np.zeros((len(weights), cells.size))
        paid = left.costs(levels)[:, left.of]
        cheaper = np.flatnonzero((paid < least).any(axis=0))
        if len(cheaper):
            pairs = Pairs(cells, demands, (left, levels), right)
            found = _cheapest(pairs, right, cheaper)[:, pairs.of[cheaper]]
            least[:, cheaper] = np.minimum(least[:, cheaper], paid[:, cheaper] + found)
    return np.asarray(least)


def _cheapest(pairs: Pairs, right: Side, records: Longs) -> Floats:
    """(w, p) what the right side costs at least at levels where the records meet what is necessary.

    Only for the pairs of the given distinct records; ∞ for others.
    """
    asked = np.zeros(pairs.size, dtype=bool)
    asked[pairs.of[records]] = True
    least = np.full((right.n_weights, pairs.size), math.inf)
    enough: list[Levels] = []
    for levels in right.rules():
        if any(all(a <= b for a, b in zip(own, levels, strict=True)) for own in enough):
            # All asked meet the criteria at more specific levels, which cost no more.
            continue
        of, n_groups = pairs.groups(levels)
        fits = pairs.fit(of, n_groups)[of]
        rows = np.flatnonzero(fits & asked)
        least[:, rows] = np.minimum(least[:, rows], right.costs(levels)[:, pairs.right[rows]])
        if not (asked & ~fits).any():
            enough.append(levels)
    return least

"""Choosing for all records at once exactly where utilities have no unit: lists of compromises.

Copy by copy the totals of utility and risk that no other total dominates are kept, as far as the relaxation
allows them to be part of a better answer. The lists may grow without limit; then the relaxation must do.
"""

from __future__ import annotations

import numpy as np

from app.domain.distinct import Longs
from app.domain.numbers import tie_margin
from app.domain.search.records.choices import Choices, Floats
from app.domain.search.records.knapsack import open_choices
from app.domain.search.records.relaxation import Goal, Relaxed

MAX_TOTALS = 10**8
SAME = 1e-15


def solve_by_lists(
    choices: Choices, relaxed: Relaxed, goal: Goal, limit: float, total_weight: float
) -> list[Longs] | None:
    """The best choice of each copy of each item, ascending, from a relaxation that met the ``limit``.

    Among equal answers that of more utility, or of less risk. None if it takes more than 1e8 totals.
    """
    left = open_choices(choices, relaxed, goal, limit)
    held = left.fixed >= 0
    copies = choices.copies[held]
    gain = np.array([float((choices.gain[left.fixed[held]] * copies).sum())])
    harm = np.array([float((choices.harm[left.fixed[held]] * copies).sum())])
    missed = np.zeros(1)
    origins: list[Longs] = []
    n_totals = 0
    for own, losses in left.options:
        n_totals += len(gain) * len(own)
        if n_totals > MAX_TOTALS:
            return None
        gain = (gain[:, None] + choices.gain[own]).reshape(-1)
        harm = (harm[:, None] + choices.harm[own]).reshape(-1)
        missed = (missed[:, None] + losses).reshape(-1)
        kept = _undominated(gain, harm, missed <= left.budget)
        gain, harm, missed = gain[kept], harm[kept], missed[kept]
        origins.append(kept)
    met = np.flatnonzero(gain >= limit if goal == "min_risk" else harm <= limit)
    if not len(met):
        return None
    # Both totals descend along the list.
    at = int(met[-1] if goal == "min_risk" else met[0])
    if goal == "min_risk":
        accepted = harm[at] + tie_margin(float(harm[at]) / total_weight) * total_weight
        at = int(np.flatnonzero(harm <= accepted)[0])
    picks = []
    for origin, (own, _) in zip(reversed(origins), reversed(left.options), strict=True):
        at, pick = divmod(int(origin[at]), len(own))
        picks.append(pick)
    return left.chosen(choices, picks[::-1])


def _undominated(gain: Floats, harm: Floats, allowed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Longs:
    """Positions of the allowed totals that no other dominates, by descending utility."""
    order = np.flatnonzero(allowed)
    order = order[np.lexsort((order, harm[order], -gain[order]))]
    least = np.minimum.accumulate(harm[order])
    keep = np.ones(len(order), dtype=bool)
    # Equal totals that were added in another order differ by rounding.
    keep[1:] = harm[order[1:]] < least[:-1] - SAME * np.abs(least[:-1])
    return order[keep]

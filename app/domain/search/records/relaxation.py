"""Choosing for all records at once by a price of utility: the Lagrangian relaxation of a mean constraint.

At price λ every copy takes the choice of least risk − λ · utility; the choices so taken lie on the lower
convex hull of all pairs of total utility and total risk, and the least value bounds every other choice. One
pass over the steps of the items in ascending order of price visits the whole hull.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.domain.distinct import Longs
from app.domain.search.records.choices import Choices, Steps

Goal = Literal["min_risk", "max_utility"]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the relaxation tells of a problem.

    Attributes
    ----------
    price
        λ at which the constraint is met: the price of the step that meets it.
    value
        L(λ), the least total risk − λ · total utility.
    taken
        Copies that took each step.
    swap
        Item and choice of one more copy that leaves its hull vertex, or None.
    gain, harm
        Total utility and risk of the feasible choice that the steps and the swap make.
    bound
        What the goal, total risk or total utility, cannot be better than.
    """

    price: float
    value: float
    taken: Longs
    swap: tuple[int, int] | None
    gain: float
    harm: float
    bound: float


def relax(choices: Choices, steps: Steps, goal: Goal, limit: float) -> Relaxed | None:
    """Meet a floor under the total utility at little risk, or a cap on the total risk at much utility.

    None if no choice meets the ``limit``.
    """
    copies = choices.copies.astype(np.float64)
    gain = float((choices.gain[choices.least] * copies).sum())
    harm = float((choices.harm[choices.least] * copies).sum())
    if goal == "max_utility" and harm > limit:
        return None
    of_step = copies[steps.item]
    gains = gain + np.concatenate([[0.0], np.cumsum(steps.gain * of_step)])
    harms = harm + np.concatenate([[0.0], np.cumsum(steps.harm * of_step)])
    met = gains >= limit if goal == "min_risk" else harms > limit
    taken = np.zeros(len(steps.item), dtype=np.int64)
    if goal == "min_risk" and met[0]:
        return Relaxed(0.0, harm, taken, None, gain, harm, harm)
    if not met.any():
        if goal == "min_risk":
            return None
        taken[:] = choices.copies[steps.item]
        return Relaxed(0.0, harm, taken, None, float(gains[-1]), float(harms[-1]), float(gains[-1]))
    last = int(met.argmax()) - 1
    taken[:last] = choices.copies[steps.item[:last]]
    return _last_step(choices, steps, goal, limit, taken, last, float(gains[last]), float(harms[last]))


def _last_step(
    choices: Choices,
    steps: Steps,
    goal: Goal,
    limit: float,
    taken: Longs,
    last: int,
    gain: float,
    harm: float,
) -> Relaxed:
    """Take the step that meets the limit with as few, or as many, copies as it takes, and swap one more."""
    price, rise, cost = float(steps.price[last]), float(steps.gain[last]), float(steps.harm[last])
    value = harm - price * gain
    available = int(choices.copies[steps.item[last]])
    whole = int((limit - gain) / rise) if goal == "min_risk" else int((limit - harm) / cost)
    taken[last] = min(max(whole, 0), available - 1)
    gain, harm = gain + taken[last] * rise, harm + taken[last] * cost
    at = vertices(choices, steps, taken)
    if goal == "min_risk":
        bound = value + price * limit
        passed = choices.gain - choices.gain[at] >= limit - gain
        # The rest of the step always suffices, whatever rounding says.
        passed[steps.target[last]] = True
        best = int(np.where(passed, choices.harm - choices.harm[at], np.inf).argmin())
    else:
        bound = (limit - value) / price
        passed = choices.harm - choices.harm[at] <= limit - harm
        best = int(np.where(passed, choices.gain - choices.gain[at], -np.inf).argmax())
    swap = None if best == at[best] else (int(choices.item_of[best]), best)
    gain += float(choices.gain[best] - choices.gain[at[best]])
    harm += float(choices.harm[best] - choices.harm[at[best]])
    return Relaxed(price, value, taken, swap, gain, harm, bound)


def vertices(choices: Choices, steps: Steps, taken: Longs) -> Longs:
    """For each choice, the hull vertex that a copy of its item is at which took the fewest steps."""
    at = choices.least.copy()
    whole = taken == choices.copies[steps.item]
    # Steps of an item are taken in its own order, hence the last whole one leads to the vertex.
    np.maximum.at(at, steps.item[whole], steps.target[whole])
    return at[choices.item_of]


def chosen_by(choices: Choices, steps: Steps, relaxed: Relaxed) -> list[Longs]:
    """The choice of each copy of each item, ascending."""
    sets = [
        np.full(int(n), first, dtype=np.int64) for n, first in zip(choices.copies, choices.least, strict=True)
    ]
    for k in np.flatnonzero(relaxed.taken):
        sets[int(steps.item[k])][: int(relaxed.taken[k])] = steps.target[k]
    if relaxed.swap is not None:
        item, choice = relaxed.swap
        sets[item][-1] = choice
    return [np.sort(one) for one in sets]

"""What each record may be disclosed as, and choosing for all of them by a price of utility.

Of a record's choices only those remain that no other dominates: none that has at least the utility at no more
risk, one of them strictly. What remains rises in both. Records with the same choices and weight are copies of
one item, each of which chooses on its own.

The price of utility is that of the Lagrangian relaxation of a mean constraint. At price λ every copy takes
the choice of least risk − λ · utility; the choices so taken lie on the lower convex hull of all pairs of
total utility and total risk, and the least value bounds every other choice. One pass over the steps of the
items in ascending order of price visits the whole hull.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Longs, concatenated_ranges

SLOPES_AT_ONCE = 2**20

Goal = Literal["min_risk", "max_utility"]


@dataclass(frozen=True, eq=False)
class Curves:
    """The choices of distinct records: those of record i are ``[starts[i], starts[i + 1])``, perhaps none.

    ``utility`` and ``risk`` both strictly ascend within a record; ``node`` is that of the record's lattice.
    ``reach`` is the greatest utility of any node of each record, of infinite risk too.
    """

    starts: Longs
    utility: Floats
    risk: Floats
    node: Longs
    reach: Floats


@dataclass(frozen=True, eq=False)
class Choices:
    """Items with their choices: those of item i are ``[starts[i], starts[i + 1])``, none missing.

    Parameters
    ----------
    utility, risk
        Of each choice for one record, both strictly ascending within an item; risks are finite.
    node
        Node of the record's lattice behind each choice.
    copies, weight
        Per item the number of records, and the weight of each of them, > 0.
    """

    starts: Longs
    utility: Floats
    risk: Floats
    node: Longs
    copies: Longs
    weight: Floats

    @property
    def n_items(self) -> int:
        """Items: distinct records with a choice."""
        return len(self.copies)

    @cached_property
    def item_of(self) -> Longs:
        """Item of each choice."""
        return np.repeat(np.arange(self.n_items), np.diff(self.starts))

    @cached_property
    def gain(self) -> Floats:
        """Weighted utility of each choice, for one copy."""
        return self.utility * self.weight[self.item_of]

    @cached_property
    def harm(self) -> Floats:
        """Weighted risk of each choice, for one copy."""
        return self.risk * self.weight[self.item_of]

    @property
    def least(self) -> Longs:
        """The choice of least risk of each item."""
        return self.starts[:-1]

    @property
    def most(self) -> Longs:
        """The choice of greatest utility of each item."""
        return self.starts[1:] - 1


@dataclass(frozen=True, eq=False)
class Steps:
    """The edges of the items' lower convex hulls, by ascending price; choices ``origin`` → ``target``.

    ``gain`` and ``harm`` are the weighted utility and risk that one copy of the ``item`` adds by the step,
    ``price`` is harm / gain. Steps of one item come in the order of its choices.
    """

    item: Longs
    origin: Longs
    target: Longs
    gain: Floats
    harm: Floats
    price: Floats


def steps_of(choices: Choices) -> Steps:
    """The steps of all items."""
    sizes = np.diff(choices.starts)
    parts = []
    first = 0
    while first < choices.n_items:
        widths = np.maximum.accumulate(sizes[first:])
        fits = int(np.searchsorted(widths * np.arange(1, len(widths) + 1), SLOPES_AT_ONCE, side="right"))
        last = first + max(1, fits)
        parts.append(_edges(choices, first, last))
        first = last
    origin, target = np.concatenate(parts, axis=1)
    gain = choices.gain[target] - choices.gain[origin]
    harm = choices.harm[target] - choices.harm[origin]
    price = harm / gain
    order = np.lexsort((origin, price))
    item = choices.item_of[origin]
    return Steps(item[order], origin[order], target[order], gain[order], harm[order], price[order])


def _edges(choices: Choices, first: int, last: int) -> Longs:
    """Origin and target of the hull's edges of some items, (2, edges): from each vertex the least price."""
    starts, ends = choices.starts[first:last], choices.starts[first + 1 : last + 1]
    width = int((ends - starts).max())
    index = starts[:, None] + np.arange(width)
    inside = index < ends[:, None]
    index = np.minimum(index, ends[:, None] - 1)
    gain, harm = choices.gain[index], choices.harm[index]
    at = np.zeros(len(starts), dtype=np.int64)
    rows = np.arange(len(starts))
    found = []
    while len(rows):
        ahead = inside[rows] & (np.arange(width) > at[:, None])
        going = ahead.any(axis=1)
        rows, at, ahead = rows[going], at[going], ahead[going]
        if not len(rows):
            break
        rise = gain[rows] - gain[rows, at][:, None]
        prices = np.divide(
            harm[rows] - harm[rows, at][:, None], rise, out=np.full(rise.shape, np.inf), where=ahead
        )
        # Of several choices on one line the farthest, so that a step is a whole edge.
        least = prices.min(axis=1, keepdims=True)
        following = width - 1 - (prices <= least)[:, ::-1].argmax(axis=1)
        found.append(np.stack([starts[rows] + at, starts[rows] + following]))
        at = following
    return np.concatenate(found, axis=1) if found else np.empty((2, 0), dtype=np.int64)


def items_of(
    curves: Curves, of_record: npt.NDArray[np.integer], weights: Floats | None
) -> tuple[Choices, Longs]:
    """Items from the choices of distinct records, and the item of each record (n,), −1 where its weight is 0.

    ``of_record`` (n,) is the distinct record of each record of the table; records of weight 0 are no items.
    Every other distinct record must have a choice.
    """
    n = len(of_record)
    levels, level = (
        (np.ones(1), np.zeros(n, np.int64)) if weights is None else np.unique(weights, return_inverse=True)
    )
    keys = of_record.astype(np.int64) * len(levels) + level.reshape(-1)
    keys[levels[level] == 0] = -1
    held, item_of, copies = np.unique(keys, return_inverse=True, return_counts=True)
    item_of = item_of.reshape(-1).astype(np.int64)
    if len(held) and held[0] < 0:
        held, copies, item_of = held[1:], copies[1:], item_of - 1
    records = held // len(levels)
    lengths = np.diff(curves.starts)[records]
    points = concatenated_ranges(curves.starts[:-1][records], lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Choices(
        starts,
        curves.utility[points],
        curves.risk[points],
        curves.node[points],
        copies.astype(np.int64),
        levels[held % len(levels)],
    ), item_of


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

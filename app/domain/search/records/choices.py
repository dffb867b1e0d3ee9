"""What each record may be disclosed as, reduced to the choices that no other of the same record dominates.

A choice has at least the utility of another at no more risk, one of them strictly, or it is left out. What
remains rises in both. Records with the same choices and weight are copies of one item, each of which chooses
on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.distinct import Longs, concatenated_ranges

Floats = npt.NDArray[np.float64]

SLOPES_AT_ONCE = 2**20


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

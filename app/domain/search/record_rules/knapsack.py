"""Choosing for all records at once, by a dynamic programme (Definitions: constraint on the mean).

Utilities must be whole numbers of some unit. The relaxation tells by how much any choice that a better answer
could hold may miss its item's least value of risk − λ · utility; only those are kept, and only totals of
utility that such choices can reach. What is left of a large table is often small.

Where utilities have no unit, lists take the place of the programme. Copy by copy the totals of utility and
risk that no other total dominates are kept, as far as the relaxation allows them to be part of a better
answer. The lists may grow without limit; then the relaxation must do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.search.record_rules.choices import Choices, Goal, Relaxed
from app.domain.tables.numbers import tie_margin

MAX_STEPS = 10**9
MAX_BYTES = 2**31
MOST_UNITS = 10**9
UNITS_TRIED = 60
WHOLE_TOLERANCE = 1e-12
ROUNDING = 1e-11

MAX_TOTALS = 10**8
SAME = 1e-15


@dataclass(frozen=True, eq=False)
class Open:
    """What is left to choose once the relaxation has ruled out what no better answer can hold.

    ``items`` are the items of the copies that have a choice, in order; ``options`` of each of these copies
    the choices by ascending node, and what each misses the copy's least value of risk − λ · utility by. All
    copies together may miss ``budget``. ``fixed`` is the choice of items that have one, −1 of the others.
    """

    items: Longs
    options: list[tuple[Longs, Floats]]
    fixed: Longs
    budget: float

    def chosen(self, choices: Choices, picks: Sequence[int]) -> list[Longs]:
        """The choice of each copy of each item, ascending, from the options picked."""
        found: dict[int, list[int]] = {}
        for item, (own, _), pick in zip(self.items.tolist(), self.options, picks, strict=True):
            found.setdefault(item, []).append(int(own[pick]))
        return [
            np.sort(np.array(found[i], dtype=np.int64))
            if i in found
            else np.full(int(choices.copies[i]), self.fixed[i], dtype=np.int64)
            for i in range(choices.n_items)
        ]


def open_choices(choices: Choices, relaxed: Relaxed, goal: Goal, limit: float) -> Open:
    """The choices that an answer at least as good as the relaxation's may hold."""
    values = choices.harm - relaxed.price * choices.gain
    missed = values - np.minimum.reduceat(values, choices.starts[:-1])[choices.item_of]
    rounding = ROUNDING * max(1.0, abs(relaxed.harm), relaxed.price * relaxed.gain)
    best = relaxed.harm - relaxed.bound
    if goal == "max_utility":
        best = limit - relaxed.price * relaxed.gain - relaxed.value
    budget = max(0.0, best) + rounding
    kept = np.flatnonzero(missed <= budget)
    first = np.searchsorted(choices.item_of[kept], np.arange(choices.n_items + 1))
    single = np.diff(first) == 1
    items = np.flatnonzero(~single)
    options = []
    for i, copies in zip(items.tolist(), choices.copies[items].tolist(), strict=True):
        own = kept[first[i] : first[i + 1]]
        by_node = own[np.argsort(choices.node[own], kind="stable")]
        options += [(by_node, missed[by_node])] * copies
    fixed = np.where(single, kept[first[:-1]], -1)
    return Open(np.repeat(items, choices.copies[items]), options, fixed, budget)


def unit_of(gain: Floats) -> float | None:
    """The greatest unit of which all gains are whole numbers, None if none is found.

    None too if a gain is more than a billion units: no table would hold so many totals, and beyond that a
    double cannot tell whole numbers from others.
    """
    positive = gain[gain > 0]
    if not len(positive):
        return 1.0
    least = float(positive.min())
    for parts in range(1, UNITS_TRIED + 1):
        counts = gain * (parts / least)
        if counts.max() > MOST_UNITS:
            return None
        if (np.abs(counts - np.rint(counts)) <= WHOLE_TOLERANCE * np.maximum(1.0, counts)).all():
            return least / parts
    return None


@dataclass(frozen=True, eq=False)
class _Window:
    """Totals of utility that matter, in units above ``base``, where every open copy adds its least.

    ``added`` is what each option of each open copy adds to that.
    """

    added: list[Longs]
    base: int
    low: int
    high: int


def solve_exactly(
    choices: Choices, relaxed: Relaxed, goal: Goal, limit: float, total_weight: float, unit: float
) -> list[Longs] | None:
    """The best choice of each copy of each item, ascending, from a relaxation that met the ``limit``.

    Utilities must be whole numbers of ``unit``. Among equal answers that of more utility, or of less
    risk; then, item by item, that of the least nodes. None if it takes more than 1e9 steps or 2 GiB.
    """
    left = open_choices(choices, relaxed, goal, limit)
    units = np.rint(choices.gain / unit).astype(np.int64)
    base = int((units[left.fixed] * choices.copies)[left.fixed >= 0].sum())
    added = []
    for own, _ in left.options:
        least = int(units[own].min())
        base += least
        added.append(units[own] - least)
    high = base + sum(int(one.max()) for one in added)
    if goal == "min_risk":
        low = min(math.ceil(limit / unit), round(relaxed.gain / unit))
        # A total beyond the floor costs its price, which the budget limits.
        high = min(high, low + math.floor(min(left.budget / relaxed.price / unit, float(high))))
    else:
        low = round(relaxed.gain / unit)
        high = min(high, max(low, math.floor(relaxed.bound / unit + ROUNDING * low)))
    window = _Window(added, base, low - base, high - base)
    tables = _tables(left, window)
    if tables is None:
        return None
    offset, costs = tables[0]
    totals = offset + np.arange(len(costs))
    harms = relaxed.value + relaxed.price * unit * (window.base + totals) + costs
    allowed = totals >= window.low
    if goal == "min_risk":
        harms = np.where(allowed, harms, np.inf)
        best = float(harms.min())
        accepted = best + tie_margin(best / total_weight) * total_weight
        at = int(np.flatnonzero(harms <= accepted)[-1])
    else:
        capped = np.flatnonzero(allowed & (harms <= limit))
        if not len(capped):
            return None
        at = int(capped[-1])
        best = float(harms[at])
        accepted = min(best + tie_margin(best / total_weight) * total_weight, limit)
    picks = _picks(left, window, tables, offset + at, accepted - float(harms[at]))
    return left.chosen(choices, picks)


Table = tuple[int, Floats]


def _tables(left: Open, window: _Window) -> list[Table] | None:
    """For each copy, the least cost of it and all later ones by their sum of units: (first sum, costs).

    None if that takes too many steps or too much memory.
    """
    tables: list[Table] = [(0, np.zeros(1))]
    before = sum(int(added.max()) for added in window.added)
    steps, n_bytes = 0, 0
    for added, (_, missed) in zip(reversed(window.added), reversed(left.options), strict=True):
        before -= int(added.max())
        offset, costs = tables[-1]
        steps += len(costs) * len(added)
        n_bytes += 8 * (len(costs) + int(added.max()))
        if steps > MAX_STEPS or n_bytes > MAX_BYTES:
            return None
        wide = _convolved(costs, added, missed)
        sums = np.arange(offset, offset + len(wide))
        held = np.flatnonzero((wide <= left.budget) & (sums >= window.low - before) & (sums <= window.high))
        first, last = int(held[0]), int(held[-1]) + 1
        tables.append((offset + first, wide[first:last].copy()))
    return tables[::-1]


def _convolved(costs: Floats, added: Longs, missed: Floats) -> Floats:
    """The least of costs[s − added] + missed over the options of one more copy, by the sum s."""
    wide = np.full(len(costs) + int(added.max()), np.inf)
    for units, cost in zip(added.tolist(), missed.tolist(), strict=True):
        part = wide[units : units + len(costs)]
        np.minimum(part, costs + cost, out=part)
    return wide


def _picks(left: Open, window: _Window, tables: list[Table], total: int, slack: float) -> list[int]:
    """Follow the tables to ``total``, always by the least node that the ``slack`` of the cost allows."""
    offset, costs = tables[0]
    accepted = float(costs[total - offset]) + slack
    spent = 0.0
    picks = []
    for k, (added, (_, missed)) in enumerate(zip(window.added, left.options, strict=True)):
        offset, costs = tables[k + 1]
        rest = total - added - offset
        inside = (rest >= 0) & (rest < len(costs))
        ends = np.where(inside, spent + missed + costs[np.clip(rest, 0, len(costs) - 1)], np.inf)
        pick = int((ends <= max(accepted, float(ends.min()))).argmax())
        spent += float(missed[pick])
        total -= int(added[pick])
        picks.append(pick)
    return picks


def front_steps(choices: Choices, unit: float) -> float:
    """Steps that :func:`whole_front` takes."""
    copies = choices.copies.astype(np.float64)
    spans = np.rint((choices.gain[choices.most] - choices.gain[choices.least]) / unit)
    before = np.cumsum(copies * spans) - copies * spans
    own = np.diff(choices.starts)
    return float((own * copies * (1 + before + spans * (copies - 1) / 2)).sum())


def front_bytes(choices: Choices, unit: float) -> float:
    """Bytes that :func:`whole_front` takes at most: five arrays over all totals."""
    spans = np.rint((choices.gain[choices.most] - choices.gain[choices.least]) / unit)
    return 40.0 * (1.0 + float((choices.copies * spans).sum()))


def whole_front(choices: Choices, unit: float) -> tuple[Floats, Floats]:
    """All total utilities that copies reach together, ascending, with the least total risk of each."""
    units = np.rint(choices.gain / unit).astype(np.int64)
    costs = np.zeros(1)
    base = 0
    for i in range(choices.n_items):
        own = slice(int(choices.starts[i]), int(choices.starts[i + 1]))
        added = units[own] - units[own.start]
        for _ in range(int(choices.copies[i])):
            costs = _convolved(costs, added, choices.harm[own])
            base += int(units[own.start])
    held = np.flatnonzero(np.isfinite(costs))
    totals = (base + held).astype(np.float64) * unit
    return totals, costs[held]


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
        # Positions of the allowed totals that no other dominates, by descending utility
        order = np.flatnonzero(missed <= left.budget)
        order = order[np.lexsort((order, harm[order], -gain[order]))]
        least = np.minimum.accumulate(harm[order])
        keep = np.ones(len(order), dtype=bool)
        # Equal totals that were added in another order differ by rounding.
        keep[1:] = harm[order[1:]] < least[:-1] - SAME * np.abs(least[:-1])
        kept = order[keep]
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

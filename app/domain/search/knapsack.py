"""Choosing for all records at once exactly, by a dynamic programme over the total utility (section 11).

Utilities must be whole numbers of some unit. The relaxation tells by how much any choice that a better answer
could hold may miss its item's least value of risk − λ · utility; only those are kept, and only totals of
utility that such choices can reach. What is left of a large table is often small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.domain.distinct import Longs
from app.domain.numbers import tie_margin
from app.domain.search.choices import Choices, Floats
from app.domain.search.relaxation import Goal, Relaxed

MAX_STEPS = 10**9
MAX_BYTES = 2**31
UNITS_TRIED = 60
WHOLE_TOLERANCE = 1e-12
ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Programme:
    """The copies that have a choice, in the order of their items, and the window of totals that matter.

    ``options`` per copy: choices, what each adds to the total utility in units above the copy's least, and
    what it misses the copy's least value by. ``low`` and ``high`` bound the sum of the former, ``budget``
    that of the latter. ``fixed`` is the choice of items that have one, −1 of those that do not.
    """

    items: Longs
    options: list[tuple[Longs, Longs, Floats]]
    fixed: Longs
    base: int
    low: int
    high: int
    budget: float


def unit_of(gain: Floats) -> float | None:
    """The greatest unit of which all gains are whole numbers, None if none is found."""
    positive = gain[gain > 0]
    if not len(positive):
        return 1.0
    least = float(positive.min())
    for parts in range(1, UNITS_TRIED + 1):
        counts = gain * (parts / least)
        if (np.abs(counts - np.rint(counts)) <= WHOLE_TOLERANCE * np.maximum(1.0, counts)).all():
            return least / parts
    return None


def solve_exactly(
    choices: Choices, relaxed: Relaxed, goal: Goal, limit: float, total_weight: float
) -> list[Longs] | None:
    """The best choice of each copy of each item, ascending, from a relaxation that met the ``limit``.

    Among equal answers (D-2) that of more utility, or of less risk; then, item by item, that of the least
    nodes. None if the utilities have no unit, or if it takes more than 1e9 steps or 2 GiB.
    """
    unit = unit_of(choices.gain)
    if unit is None:
        return None
    programme = _programme(choices, relaxed, goal, limit, unit)
    tables = _tables(programme)
    if tables is None:
        return None
    offset, costs = tables[0]
    totals = programme.base + np.arange(offset, offset + len(costs))
    harms = relaxed.value + relaxed.price * unit * totals + costs
    allowed = totals >= programme.base + programme.low
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
    slack = accepted - float(harms[at])
    return _choices_of(choices, programme, tables, offset + at, slack)


def _programme(choices: Choices, relaxed: Relaxed, goal: Goal, limit: float, unit: float) -> Programme:
    values = choices.harm - relaxed.price * choices.gain
    missed = values - np.minimum.reduceat(values, choices.starts[:-1])[choices.item_of]
    rounding = ROUNDING * max(1.0, abs(relaxed.harm), relaxed.price * relaxed.gain)
    if goal == "min_risk":
        budget = max(0.0, relaxed.harm - relaxed.bound) + rounding
        low = min(math.ceil(limit / unit), round(relaxed.gain / unit))
        high = low + math.floor(budget / relaxed.price / unit) if relaxed.price else None
    else:
        budget = max(0.0, limit - relaxed.price * relaxed.gain - relaxed.value) + rounding
        low = round(relaxed.gain / unit)
        high = max(low, math.floor(relaxed.bound / unit + ROUNDING * low))
    units = np.rint(choices.gain / unit).astype(np.int64)
    kept = np.flatnonzero(missed <= budget)
    item = choices.item_of[kept]
    first = np.searchsorted(item, np.arange(choices.n_items + 1))
    least = units[kept[first[:-1]]]
    base = int((least * choices.copies).sum())
    single = np.diff(first) == 1
    fixed = np.where(single, kept[first[:-1]], -1)
    items = np.flatnonzero(~single)
    options = []
    for i in items.tolist():
        own = kept[first[i] : first[i + 1]]
        by_node = own[np.argsort(choices.node[own], kind="stable")]
        options.append((by_node, units[by_node] - least[i], missed[by_node]))
    most = sum(
        int(added.max()) * int(n) for (_, added, _), n in zip(options, choices.copies[items], strict=True)
    )
    return Programme(
        np.repeat(items, choices.copies[items]),
        [option for option, n in zip(options, choices.copies[items].tolist(), strict=True) for _ in range(n)],
        fixed,
        base,
        low - base,
        most if high is None else min(most, high - base),
        budget,
    )


Table = tuple[int, Floats]


def _tables(programme: Programme) -> list[Table] | None:
    """For each copy, the least cost of it and all later ones by their sum of units: (first sum, costs).

    None if that takes too many steps or too much memory.
    """
    tables: list[Table] = [(0, np.zeros(1))]
    before = sum(int(added.max()) for _, added, _ in programme.options)
    steps, n_bytes = 0, 0
    for _, added, missed in reversed(programme.options):
        before -= int(added.max())
        offset, costs = tables[-1]
        steps += len(costs) * len(added)
        n_bytes += 8 * (len(costs) + int(added.max()))
        if steps > MAX_STEPS or n_bytes > MAX_BYTES:
            return None
        wide = _convolved(costs, added, missed)
        wanted = np.arange(offset, offset + len(wide))
        held = np.flatnonzero(
            (wide <= programme.budget) & (wanted >= programme.low - before) & (wanted <= programme.high)
        )
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


def _choices_of(
    choices: Choices, programme: Programme, tables: list[Table], total: int, slack: float
) -> list[Longs]:
    """Follow the tables to ``total``, always by the least node that the ``slack`` of the cost allows."""
    offset, costs = tables[0]
    accepted = float(costs[total - offset]) + slack
    spent = 0.0
    chosen: dict[int, list[int]] = {}
    for k, (own, added, missed) in enumerate(programme.options):
        offset, costs = tables[k + 1]
        rest = total - added - offset
        inside = (rest >= 0) & (rest < len(costs))
        ends = np.where(inside, spent + missed + costs[np.clip(rest, 0, len(costs) - 1)], np.inf)
        at = int((ends <= max(accepted, float(ends.min()))).argmax())
        spent += float(missed[at])
        total -= int(added[at])
        chosen.setdefault(int(programme.items[k]), []).append(int(own[at]))
    return [
        np.sort(np.array(chosen[i], dtype=np.int64))
        if i in chosen
        else np.full(int(choices.copies[i]), programme.fixed[i], dtype=np.int64)
        for i in range(choices.n_items)
    ]


def front_steps(choices: Choices, unit: float) -> float:
    """Steps that :func:`whole_front` takes."""
    copies = choices.copies.astype(np.float64)
    spans = np.rint((choices.gain[choices.most] - choices.gain[choices.least]) / unit)
    before = np.cumsum(copies * spans) - copies * spans
    own = np.diff(choices.starts)
    return float((own * copies * (1 + before + spans * (copies - 1) / 2)).sum())


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

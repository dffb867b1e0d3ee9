"""How much of a profile to show to an inviter (Fouad (2012), section 7.5; Definitions: recommendations).

A person with a profile shows the inviter each value at a level, from 0, as it is, up to ⊥. The risk of levels
x is Φ(x)/ξ(x): the sensitivity of what is shown over the friends in common with the inviter who are
consistent with it in all attributes (mode ``all``), or in at least one (``any``). The join level of a friend
is, per attribute, the least at which the person's value covers the friend's. The recommendation is the
greatest utility within a cap on risk.

Where nobody is consistent the risk is infinite, whereas searches of rules take it for none: so risk never
rises with a level. Boxes of levels are cut at one end to what the cap allows, at the other to what is useful
enough, and split where more than one node is left; those of many invitations together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Integers, Levels, Longs, concatenated_ranges, firsts_of_greatest
from app.domain.errors import InvalidInput, NotSupported
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.aggregate.objective import maximise_aggregate
from app.domain.search.aggregate.submodular import ClosureMaximiser
from app.domain.search.objectives import AggregateObjective
from app.domain.tables.numbers import highest_accepted, tie_margins

ConsistencyMode = Literal["all", "any"]
MOST_BOXES: Final = 20_000
_CELLS_AT_ONCE: Final = 1 << 21
_BOXES_AT_ONCE: Final = 1024
_PRICES: Final = 5
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Invitations:
    """p invitations to people with m attributes, and their friends in common with the inviters.

    Parameters
    ----------
    weights, utilities
        Sensitivity and utility of each value at each level, (p, m, L), 0 being the value as it is: at least
        0, never rising with the level. Weights may be +∞. Levels above the height repeat that of ⊥.
    heights
        The level of ⊥ for each value, (p, m).
    joins
        Join levels of all friends in common, (n, m), those of the first invitation first.
    friends
        Friends in common of each invitation, (p,).
    """

    weights: Floats
    utilities: Floats
    heights: Longs
    joins: Integers
    friends: Longs
    mode: ConsistencyMode = "all"

    def __post_init__(self) -> None:
        for name in ("weights", "utilities"):
            values = getattr(self, name)
            if not ((values >= 0) & ((values < np.inf) | (name == "weights"))).all():
                words = f"One of the {name} is below 0 or no number."
                raise InvalidInput.of(f"/{name}", "weight-out-of-range", words, "Give numbers of at least 0.")
            if (values[:, :, 1:] > values[:, :, :-1]).any():
                raise InvalidInput.of(
                    f"/{name}", "rises-towards-the-root",
                    f"One of the {name} is greater for a more general value.",
                    "A value that says less must be worth no more and do no more harm.",
                )  # fmt: skip
        if (self.joins < 0).any() or (self.joins > np.repeat(self.heights, self.friends, axis=0)).any():
            raise InvalidInput.of(
                "/joins", "level-out-of-range", "A join level is not from 0 to the height of the value.",
                "0: the person's value covers the friend's as it is; the height: only ⊥ does.",
            )  # fmt: skip

    @cached_property
    def _starts(self) -> Longs:
        return np.cumsum(self.friends) - self.friends

    def cells(self, invitations: Longs) -> Longs:
        """Numbers that one look at each of some invitations works on."""
        return self.weights.shape[1] * (self.friends[invitations] + self.weights.shape[2])

    def friends_of(self, invitations: Longs) -> tuple[Longs, Integers]:
        """The friends in common of some invitations: the place among these of each, and its join levels."""
        lengths = self.friends[invitations]
        rows = concatenated_ranges(self._starts[invitations], lengths)
        return np.repeat(np.arange(len(invitations)), lengths), self.joins[rows]

    def scores(self, invitations: Longs, levels: Longs) -> tuple[Floats, Floats, Longs]:
        """u, Φ and ξ of levels (r, m) of some invitations (r,)."""
        utility, phi, xi = np.empty(len(levels)), np.empty(len(levels)), np.empty(len(levels), dtype=np.int64)
        for part in _parts(self.cells(invitations)):
            some, shown = invitations[part], levels[part]
            utility[part] = _at(self.utilities[some], shown).sum(axis=1)
            phi[part] = _at(self.weights[some], shown).sum(axis=1)
            places, joins = self.friends_of(some)
            covered = joins <= shown[places]
            consistent = covered.all(axis=1) if self.mode == "all" else covered.any(axis=1)
            xi[part] = np.bincount(places[consistent], minlength=len(some))
        return utility, phi, xi


def risks_of(phi: Floats, xi: Integers) -> Floats:
    """Φ/ξ; where nobody is consistent +∞, or 0 if what is shown has no sensitivity."""
    return np.divide(phi, xi, out=np.where(phi > 0, np.inf, 0.0), where=xi > 0)


def _at(values: Floats, levels: Longs) -> Floats:
    """The value of each attribute at its level, (r, m), from (r, m, L)."""
    return np.take_along_axis(values, levels[:, :, None], axis=2)[:, :, 0]


def _summed(places: Longs, joins: Integers, amounts: Bools | Floats, shape: tuple[int, ...]) -> Floats:
    """Per place, attribute and level the sum of the amounts (n, m) of join levels that are at most it."""
    cells = (places[:, None] * shape[1] + np.arange(shape[1])) * shape[2] + joins
    sums = np.bincount(cells.reshape(-1), amounts.reshape(-1), int(np.prod(shape)))
    return sums.reshape(shape).cumsum(axis=2)


def _parts(cells: Longs) -> Iterator[slice]:
    """Slices of rows that have so many cells each, of few enough together."""
    ends, begin = np.cumsum(cells), 0
    while begin < len(cells):
        most = ends[begin] - cells[begin] + _CELLS_AT_ONCE
        end = max(begin + 1, int(np.searchsorted(ends, most, side="right")))
        yield slice(begin, end)
        begin = end


@dataclass(frozen=True, eq=False)
class Recommendations:
    """What is best shown in answer to each invitation: arrays (p,), ``levels`` (p, m).

    ``accepted`` is false where nobody is a friend in common, or where even hiding everything is above the
    cap: then the numbers are those of hiding everything. No levels within the cap have a utility above
    ``bound``. ``boxes`` were looked at in all.
    """

    levels: Longs
    utility: Floats
    phi: Floats
    xi: Longs
    accepted: Bools
    bound: Floats
    boxes: int

    @property
    def risk(self) -> Floats:
        """Φ/ξ, (p,)."""
        return risks_of(self.phi, self.xi)

    @property
    def is_optimal(self) -> Bools:
        """Where the bound proves that nothing is better, (p,)."""
        return self.bound <= self.utility + tie_margins(self.utility)


def recommendations(invitations: Invitations, cap: float, most_boxes: int = MOST_BOXES) -> Recommendations:
    """The greatest u(x) with r(x) ≤ ``cap`` for each invitation; of equal u the least r, then the greatest x.

    The greatest is that of the lexicographic order, so never one that another generalises. Exact for all
    but invitations that need more than ``most_boxes`` boxes, for which ``bound`` says what may be missing.
    """
    if not 0 <= cap < np.inf:
        raise InvalidInput.of("/risk_cap", "out-of-range", "The cap must be finite and at least 0.")
    search = _Search(invitations, highest_accepted(cap), most_boxes)
    search.solve()
    found = search.levels, search.utility, search.phi, search.xi, search.accepted
    return Recommendations(*found, np.maximum(search.bound, search.utility), int(search.looked.sum()))


@dataclass(frozen=True)
class Shown:
    """What showing a profile at some levels does: u, Φ, ξ and r."""

    levels: Levels
    utility: float
    phi: float
    xi: int
    risk: float


@dataclass(frozen=True)
class Recommendation:
    """What to show in answer to one invitation; ``accepted`` and ``bound`` as of :class:`Recommendations`.

    ``more`` is, per attribute, the same with that value one level more detailed, None where it is shown as
    it is.
    """

    shown: Shown
    accepted: bool
    bound: float
    more: tuple[Shown | None, ...]


def recommend(
    weights: Sequence[Floats],
    utilities: Sequence[Floats],
    joins: Integers,
    cap: float,
    mode: ConsistencyMode = "all",
) -> Recommendation:
    """What to show of one profile, as :func:`recommendations` has it.

    ``weights`` and ``utilities`` are an array per attribute, of a value per level from the profile's value up
    to ⊥; ``joins`` (n, m) are the join levels of the n friends in common.
    """
    one = _invitation(weights, utilities, joins, mode)
    found = recommendations(one, cap)
    return recommendation_of(one, found, 0)


def recommendation_of(invitations: Invitations, found: Recommendations, place: int) -> Recommendation:
    """What was found for one of several invitations, and what one level more would do."""
    levels = found.levels[place]
    nearby = np.concatenate([levels[None], levels - np.eye(len(levels), dtype=np.int64)])
    shown, *more = _shown(invitations, place, nearby)
    kept = tuple(one if min(one.levels) >= 0 else None for one in more)
    return Recommendation(shown, bool(found.accepted[place]), float(found.bound[place]), kept)


def _shown(invitations: Invitations, place: int, levels: Longs) -> list[Shown]:
    scores = invitations.scores(np.full(len(levels), place), np.maximum(levels, 0))
    numbers = zip(*(column.tolist() for column in (*scores, risks_of(*scores[1:]))), strict=True)
    return [Shown(tuple(at), *of) for at, of in zip(levels.tolist(), numbers, strict=True)]


def published_optimum(
    weights: Sequence[Floats], utilities: Sequence[Floats], joins: Integers, asked: AggregateObjective
) -> tuple[Shown, float]:
    """The greatest f = λξ/Φ + u^κ, as published, and where: no recommendation (Definitions: recommendations).

    In the mode ``all``. Levels that show nothing sensitive are left out; if all do, f is u^κ. Raises
    NotSupported for a κ that is too great for the minimum cut.
    """
    one = _invitation(weights, utilities, joins, "all")
    best = maximise_aggregate(ChainRecord.of(utilities, weights, joins), asked, ClosureMaximiser)
    if best.levels is None:
        raise NotSupported("All levels have an infinite sensitivity.", "Give ⊥ a finite weight.")
    return _shown(one, 0, np.array([best.levels], dtype=np.int64))[0], best.value


def _invitation(
    weights: Sequence[Floats], utilities: Sequence[Floats], joins: Integers, mode: ConsistencyMode
) -> Invitations:
    heights = np.array([[len(chain) - 1 for chain in weights]])
    if joins.shape[1:] != (len(weights),) or [len(d) for d in utilities] != [len(w) for w in weights]:
        words = "Weights, utilities and join levels are not of the same attributes and levels."
        raise InvalidInput.of(
            "/joins", "shape-mismatch", words, "Give a number per level, a column per attribute."
        )
    w, d = (
        np.stack([np.pad(chain, (0, heights.max() + 1 - len(chain)), "edge") for chain in chains])[None]
        for chains in (weights, utilities)
    )
    return Invitations(w, d, heights, joins, np.array([len(joins)]), mode)


class _Search:
    """The best of each invitation so far, and a stack of boxes lo ≤ x ≤ hi of levels."""

    def __init__(self, invitations: Invitations, limit: float, most_boxes: int) -> None:
        self.asked, self.limit, self.most_boxes = invitations, limit, most_boxes
        everyone, utilities = np.arange(len(invitations.friends)), invitations.utilities
        self.looked = np.zeros(len(everyone), dtype=np.int64)
        self.levels = invitations.heights.copy()
        self.utility, self.phi, self.xi = invitations.scores(everyone, self.levels)
        self.accepted = (invitations.friends > 0) & (risks_of(self.phi, self.xi) <= limit)
        self.bound = self.utility.copy()
        # A level that is as useful as the next one is never shown: that one is at most as risky.
        numbers, tops = np.arange(utilities.shape[2]), self.levels[:, :, None]
        self.distinct = numbers == tops
        self.distinct[:, :, :-1] |= (utilities[:, :, 1:] < utilities[:, :, :-1]) & (numbers[:-1] < tops)

    def solve(self) -> None:
        """Look at boxes until none is left: the last first, so that a search goes down before it goes on."""
        owners = np.flatnonzero(self.accepted)
        boxes = owners, np.zeros_like(self.levels[owners]), self.levels[owners]
        while len(boxes[0]):
            cells = self.asked.cells(boxes[0][: -_BOXES_AT_ONCE - 1 : -1])
            start = len(boxes[0]) - max(1, int((np.cumsum(cells) <= _CELLS_AT_ONCE).sum()))
            owners, lo, hi = (part[start:] for part in boxes)
            reach = _at(self.asked.utilities[owners], lo).sum(axis=1)
            is_left = reach >= self.utility[owners] - 2 * tie_margins(reach)
            children = self._children(owners[is_left], lo[is_left], hi[is_left])
            owners, lo, hi = (
                np.concatenate([old[:start], new]) for old, new in zip(boxes, children, strict=True)
            )
            boxes = owners, lo, hi

    def _children(self, owners: Longs, lo: Longs, hi: Longs) -> tuple[Longs, Longs, Longs]:
        """What is left of boxes after they were looked at and cut, in two parts each."""
        np.add.at(self.looked, owners, 1)
        lo, is_open = self._cut_to_cap(owners, lo, hi)
        owners, lo, hi = owners[is_open], lo[is_open], hi[is_open]
        useful, bound = self._useful(owners, lo, hi)
        is_open = useful.any(axis=2).all(axis=1)
        owners, useful, bound = owners[is_open], useful[is_open], bound[is_open]
        lo, hi = useful.argmax(axis=2), useful.shape[2] - 1 - useful[:, :, ::-1].argmax(axis=2)
        scores = self.asked.scores(owners, lo)
        is_open = risks_of(*scores[1:]) > self.limit
        self._offer(owners[~is_open], lo[~is_open], *(score[~is_open] for score in scores))
        is_open &= (lo < hi).any(axis=1)
        is_left_out = is_open & (self.looked[owners] >= self.most_boxes)
        np.maximum.at(self.bound, owners[is_left_out], bound[is_left_out])
        is_open &= ~is_left_out
        owners, lo, hi = owners[is_open], lo[is_open], hi[is_open]
        utilities, rows = self.asked.utilities[owners], np.arange(len(owners))
        widest = np.where(lo < hi, _at(utilities, lo) - _at(utilities, hi), -1.0).argmax(axis=1)
        ends, begins = hi.copy(), lo.copy()
        ends[rows, widest] = lo[rows, widest]
        begins[rows, widest] += 1
        return np.tile(owners, 2), np.concatenate([begins, lo]), np.concatenate([hi, ends])

    def _cut_to_cap(self, owners: Longs, lo: Longs, hi: Longs) -> tuple[Longs, Bools]:
        """The least levels within the cap while all others are hi, and whether hi is; if so hi is offered."""
        weights = self.asked.weights[owners]
        places, joins = self.asked.friends_of(owners)
        covered = joins <= hi[places]
        amounts = covered.sum(axis=1)
        if self.asked.mode == "all":
            consistent = amounts == covered.shape[1]
            critical = covered & consistent[:, None]
        else:
            consistent, critical = amounts > 0, covered & (amounts == 1)[:, None]
        xi = np.bincount(places[consistent], minlength=len(owners))
        covering = _summed(places, joins, critical, weights.shape)
        left = xi[:, None, None] - covering[:, :, -1:] + covering
        of_hi = _at(weights, hi)
        phi = of_hi.sum(axis=1)
        is_open = risks_of(phi, xi) <= self.limit
        utility = _at(self.asked.utilities[owners], hi).sum(axis=1)
        self._offer(*(part[is_open] for part in (owners, hi, utility, phi, xi)))
        numbers = np.arange(weights.shape[2])
        harm = phi[:, None, None] - of_hi[:, :, None] + weights
        is_allowed = harm <= self.limit * left + _ROUNDING * (1 + phi[:, None, None])
        is_allowed &= self.distinct[owners] & (numbers >= lo[:, :, None])
        return (is_allowed | (numbers == hi[:, :, None])).argmax(axis=2), is_open

    def _useful(self, owners: Longs, lo: Longs, hi: Longs) -> tuple[Bools, Floats]:
        """Levels (r, m, L) of what is within the cap c and no worse than the best so far; a bound on its u.

        ξ(x) is at most the friends whom lo covers, and for each other friend the share of the attributes that
        lo leaves open which x covers (mode ``any``: their number). Hence Σ g_j(x_j) ≤ c·|covered by lo|, g_j
        being the weight less c times these shares, and for every price μ ≥ 0 (Lagrange multiplier)
        u(x) ≤ Σ max_l (d_j(l) − μ·g_j(l)) + μ·c·|covered by lo|. The price is bisected.
        """
        utilities, weights = self.asked.utilities[owners], self.asked.weights[owners]
        places, joins = self.asked.friends_of(owners)
        is_open = joins > lo[places]
        if self.asked.mode == "all":
            inside = (joins <= hi[places]).all(axis=1)
            places, joins, is_open = places[inside], joins[inside], is_open[inside]
            amounts = is_open.sum(axis=1)
            always, shares = amounts == 0, is_open / np.maximum(amounts, 1)[:, None]
        else:
            always = ~is_open.all(axis=1)
            shares = np.where(always[:, None], 0.0, 1.0) * (joins <= hi[places])
        covering = _summed(places, joins, shares, weights.shape)
        free = self.limit * np.bincount(places[always], minlength=len(owners))
        numbers = np.arange(weights.shape[2])
        within = self.distinct[owners] & (numbers >= lo[:, :, None]) & (numbers <= hi[:, :, None])
        costs = np.where(within, weights - self.limit * covering, 0.0)
        gains = np.where(within, utilities, -np.inf)
        spread, dear = ((_at(values, lo) - _at(values, hi)).sum(axis=1) for values in (utilities, costs))
        scale = np.divide(spread, dear, out=np.ones(len(owners)), where=(spread > 0) & (dear > 0))
        low, high, price = np.full(len(owners), -3.0), np.full(len(owners), 3.0), np.zeros(len(owners))
        bound, best = np.full(len(owners), np.inf), self.utility[owners]
        for _ in range(_PRICES):
            values = gains - price[:, None, None] * costs
            chosen = values.argmax(axis=2)
            greatest = _at(values, chosen)
            slack = _ROUNDING * (2 + 2 * best + price * self.limit * (1 + self.asked.friends[owners]))
            found = greatest.sum(axis=1) + price * free + slack
            bound = np.minimum(bound, found)
            within &= values >= (greatest - (found + slack - best)[:, None])[:, :, None]
            is_dear = _at(costs, chosen).sum(axis=1) > free
            middle = (low + high) / 2
            price = scale * np.exp2(middle)
            low, high = np.where(is_dear, middle, low), np.where(is_dear, high, middle)
        return within, bound

    def _offer(self, owners: Longs, levels: Longs, utility: Floats, phi: Floats, xi: Longs) -> None:
        """Take what is better than the best so far, of levels within the cap."""
        before = np.unique(owners)
        owners, levels = np.concatenate([before, owners]), np.concatenate([self.levels[before], levels])
        utility = np.concatenate([self.utility[before], utility])
        phi, xi = np.concatenate([self.phi[before], phi]), np.concatenate([self.xi[before], xi])
        greatest = np.full(len(self.utility), -np.inf)
        np.maximum.at(greatest, owners, utility)
        tied = np.flatnonzero(utility >= greatest[owners] - tie_margins(greatest[owners]))
        risk, least = risks_of(phi, xi), np.full(len(self.utility), np.inf)
        np.minimum.at(least, owners[tied], risk[tied])
        tied = tied[risk[tied] <= least[owners[tied]] + tie_margins(least[owners[tied]])]
        best = tied[firsts_of_greatest(owners[tied], len(self.utility), *levels[tied].T)]
        self.levels[before], self.utility[before] = levels[best], utility[best]
        self.phi[before], self.xi[before] = phi[best], xi[best]

"""How much of a profile to show to an inviter (Fouad (2012), section 7.5; Definitions: recommendations).

A person with a profile shows the inviter each value at a level, from 0, as it is, up to ⊥. The risk of levels
x is Φ(x)/ξ(x): the sensitivity of what is shown over the friends in common with the inviter who are
consistent with it in all attributes. The join level of a friend is, per attribute, the least at which the
person's value covers the friend's. The recommendation is the greatest utility within a cap on risk.

Where nobody is consistent the risk is infinite, whereas searches of rules take it for none: so risk never
rises with a level. Boxes of levels are bounded, cut and split, those of many invitations together.

What the paper has instead is enumerated on small lattices: friends who are consistent in any attribute, and
the objective λξ/Φ + u^κ, under which fewer friends in common mean more disclosure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.arrays import Bools, Floats, Integers, Longs, concatenated_ranges, firsts_of_greatest
from app.domain.catalogue.meanings import FROM_ZERO, LOW_AMOUNT
from app.domain.errors import InvalidInput
from app.domain.tables.numbers import TIE_TOLERANCE, highest_accepted, tie_margins

MOST_BOXES: Final = 20_000
MOST_ANSWERS: Final = 100_000
_CELLS_AT_ONCE: Final = 1 << 21
_BOXES_AT_ONCE: Final = 1024
_PRICES: Final = 5
_DIGITS: Final = 11  # after the point, of a utility or risk that may tie, as a share of the greatest


@dataclass(frozen=True)
class Shown:
    """What showing a profile at some levels does."""

    levels: Annotated[tuple[int, ...], doc("Steps of generalisation per attribute; 0: the value as it is.")]
    utility: Annotated[float, FROM_ZERO, doc("u of what is shown.")]
    sensitivity: Annotated[float, LOW_AMOUNT, doc("Φ of what is shown.")]
    consistent_friends: Annotated[int, doc("ξ: friends in common who are consistent with it.")]
    risk: Annotated[float, LOW_AMOUNT, doc("Φ/ξ; infinite where nobody is consistent.")]
    published: Annotated[float | None, doc("λξ/Φ + u^κ. None: not asked for, or Φ is 0.")] = None


@dataclass(frozen=True)
class PublishedObjective:
    """λ·ξ(x)/Φ(x) + u(x)^κ."""

    trade_off: float
    exponent: int


@dataclass(frozen=True)
class Recommendation:
    """What to show in answer to one invitation."""

    accepted: Annotated[bool, doc("Whether to accept, showing this; else to reject, showing nothing.")]
    common_friends: Annotated[int, doc("Friends in common.")]
    shown: Annotated[Shown, doc("What to show.")]
    utility_bound: Annotated[float, FROM_ZERO, doc("Nothing within the cap has a greater utility.")]
    more: Annotated[tuple[Shown | None, ...], doc("Per attribute, with it one level more detailed.")]


@dataclass(frozen=True, eq=False)
class Invitations:
    """p invitations to people with m attributes, and their friends in common with the inviters.

    ``weights`` and ``utilities`` (p, m, L) are those of each value at each level: at least 0, never rising
    with the level, weights perhaps +∞; levels above ``heights`` (p, m), that of ⊥, repeat it. ``joins`` are
    the join levels (n, m) of the friends in common, of which each invitation has ``friends`` (p,), in order.
    Friends are consistent in all attributes or, with ``in_any``, in at least one. With ``published`` that
    objective is told of all that is shown.
    """

    weights: Floats
    utilities: Floats
    heights: Longs
    joins: Integers
    friends: Longs
    in_any: bool = False
    published: PublishedObjective | None = None

    def __post_init__(self) -> None:
        for name in ("weights", "utilities"):
            values = getattr(self, name)
            if not ((values >= 0) & ((values < np.inf) | (name == "weights"))).all():
                words = f"One of the {name} is below 0 or no number."
                raise InvalidInput.of(f"/{name}", "weight-out-of-range", words, "Give numbers of at least 0.")
            if (values[:, :, 1:] > values[:, :, :-1]).any():
                words = f"One of the {name} is greater for a more general value."
                raise InvalidInput.of(
                    f"/{name}", "rises-towards-the-root", words, "Let none rise with the level."
                )
        if (self.joins < 0).any() or (self.joins > np.repeat(self.heights, self.friends, axis=0)).any():
            words = "A join level is not from 0 to the height of the value."
            raise InvalidInput.of("/joins", "level-out-of-range", words, "The height: only ⊥ is in common.")

    def friends_of(self, invitations: Longs) -> tuple[Longs, Integers]:
        """The friends in common of some invitations: the place among these of each, and its join levels."""
        lengths = self.friends[invitations]
        rows = concatenated_ranges(np.cumsum(self.friends)[invitations] - lengths, lengths)
        return np.repeat(np.arange(len(invitations)), lengths), self.joins[rows]

    def values(self, place: int, levels: Longs, xi: Longs) -> tuple[Floats, Floats, Floats, Floats]:
        """u, Φ, r and λξ/Φ + u^κ of some levels (r, m) of one invitation; NaN where the last is undefined."""
        attributes = np.arange(levels.shape[1])
        phi = self.weights[place, attributes, levels].sum(axis=1)
        utility = self.utilities[place, attributes, levels].sum(axis=1)
        value = np.full(len(levels), np.nan)
        if self.published is not None:
            value[phi > 0] = self.published.trade_off * xi[phi > 0] / phi[phi > 0]
            value += utility**self.published.exponent
        return utility, phi, risks_of(phi, xi), value

    def shown(self, place: int, levels: Longs) -> list[Shown]:
        """What some levels (r, m) of one invitation do."""
        joins = self.friends_of(np.array([place]))[1]
        covers = np.any if self.in_any else np.all
        xi = np.array([covers(joins <= row, axis=1).sum() for row in levels])
        utility, phi, risk, value = (column.tolist() for column in self.values(place, levels, xi))
        told = [None if math.isnan(own) else own for own in value]
        return [
            Shown(tuple(row), *of)
            for row, *of in zip(levels.tolist(), utility, phi, xi.tolist(), risk, told, strict=True)
        ]

    def consistent(self, place: int) -> Longs:
        """ξ of all levels of one invitation, in lexicographic order."""
        joins, sizes = self.friends_of(np.array([place]))[1], self.heights[place] + 1
        xi = np.zeros(sizes, dtype=np.int64)
        np.add.at(xi, tuple(joins.T), 1)
        if not self.in_any:
            for axis in range(xi.ndim):
                xi = xi.cumsum(axis=axis)
            return xi.reshape(-1)
        # All friends but those who are covered in no attribute, whose join levels are all greater.
        for axis in range(xi.ndim):
            from_here = np.flip(np.flip(xi, axis).cumsum(axis=axis), axis)
            xi = from_here - xi
        return len(joins) - xi.reshape(-1)


def risks_of(phi: Floats, xi: Integers) -> Floats:
    """Φ/ξ; where nobody is consistent +∞, or 0 if what is shown has no sensitivity."""
    return np.divide(phi, xi, out=np.where(phi > 0, np.inf, 0.0), where=xi > 0)


@dataclass(frozen=True, eq=False)
class Recommendations:
    """What is best shown in answer to each invitation: arrays (p,), ``levels`` (p, m).

    ``accepted`` is false where nobody is a friend in common, or where even hiding everything is above the
    cap: then the numbers are those of hiding everything. No levels within the cap have a utility above
    ``bound``.
    """

    levels: Longs
    utility: Floats
    risk: Floats
    accepted: Bools
    bound: Floats

    @property
    def is_optimal(self) -> Bools:
        """Where the bound proves that nothing is better, (p,)."""
        return self.bound <= self.utility + tie_margins(self.utility)


def recommendations(invitations: Invitations, cap: float, most_boxes: int = MOST_BOXES) -> Recommendations:
    """The greatest u(x) with r(x) ≤ ``cap`` for each invitation; of equal u the least r, then the greatest x.

    The greatest in lexicographic order, so none that another generalises. Exact for all but invitations that
    need more than ``most_boxes`` boxes, for which ``bound`` says what may be missing.
    """
    if not 0 <= cap < np.inf:
        raise InvalidInput.of("/risk_cap", "out-of-range", "The cap must be finite and at least 0.")
    search = _Search(invitations, highest_accepted(cap), most_boxes)
    search.solve()
    found = search.levels, search.utility, search.risk, search.accepted
    return Recommendations(*found, np.maximum(search.bound, search.utility))


def enumerated(invitations: Invitations, cap: float | None) -> Recommendations:
    """The same as :func:`recommendations`, of all levels; without a cap the greatest published objective.

    That one accepts wherever it shows something. Of equal values the least risk is taken, then the greatest
    levels. InvalidInput for an invitation with more than ``MOST_ANSWERS`` levels.
    """
    sizes = (invitations.heights + 1).prod(axis=1, dtype=float)
    if (sizes > MOST_ANSWERS).any():
        words = f"A profile has {sizes.max():,.0f} answers, of which {MOST_ANSWERS:,} can be enumerated."
        remedy = "Ask for friends consistent in all attributes and for a risk_cap, or leave attributes out."
        raise InvalidInput.of("/pairs", "too-many-answers", words, remedy)
    levels, accepted = invitations.heights.copy(), np.zeros(len(sizes), dtype=bool)
    found = np.empty((2, len(sizes)))
    for place, heights in enumerate(invitations.heights.tolist()):
        nodes = np.indices([height + 1 for height in heights]).reshape(len(heights), -1).T
        utility, _, risk, value = invitations.values(place, nodes, invitations.consistent(place))
        if cap is None:
            greatest, is_asked = value, ~np.isnan(value)
        else:
            greatest, is_asked = utility, risk <= highest_accepted(cap)
            is_asked &= bool(invitations.friends[place])
        best = len(nodes) - 1  # hiding everything
        if is_asked.any():
            most = greatest[is_asked].max()
            is_asked &= greatest >= most - tie_margins(np.array([most]))
            is_asked &= risk <= highest_accepted(float(risk[is_asked].min()))
            best = int(np.flatnonzero(is_asked)[-1])
            accepted[place] = cap is not None or best < len(nodes) - 1
        levels[place], found[:, place] = nodes[best], (utility[best], risk[best])
    return Recommendations(levels, found[0], found[1], accepted, found[0])


def recommend(
    weights: Sequence[Floats], utilities: Sequence[Floats], joins: Integers, cap: float
) -> Recommendation:
    """What to show of one profile, as :func:`recommendations` has it.

    ``weights`` and ``utilities`` are an array per attribute, of a number per level from the profile's value
    up to ⊥; ``joins`` (n, m) are the join levels of the n friends in common.
    """
    heights = np.array([[len(chain) - 1 for chain in weights]])
    w, d = (
        np.stack([np.pad(chain, (0, heights.max() + 1 - len(chain)), "edge") for chain in chains])[None]
        for chains in (weights, utilities)
    )
    one = Invitations(w, d, heights, joins, np.array([len(joins)]))
    return recommendation_of(one, recommendations(one, cap), 0)


def recommendation_of(invitations: Invitations, found: Recommendations, place: int) -> Recommendation:
    """What was found for one of several invitations, and what one level more would do."""
    levels = found.levels[place]
    nearby = np.vstack([levels, np.maximum(levels - np.eye(len(levels), dtype=np.int64), 0)])
    shown, *more = invitations.shown(place, nearby)
    kept = tuple(one if level else None for one, level in zip(more, levels.tolist(), strict=True))
    friends, bound = int(invitations.friends[place]), float(found.bound[place])
    return Recommendation(bool(found.accepted[place]), friends, shown, bound, kept)


class _Search:
    """The best of each invitation so far, and a stack of boxes lo ≤ x ≤ hi of levels."""

    def __init__(self, invitations: Invitations, limit: float, most_boxes: int) -> None:
        self.asked, self.limit, self.most_boxes = invitations, limit, most_boxes
        weights, utilities = invitations.weights, invitations.utilities
        self.looked, self.levels = np.zeros(len(weights), dtype=np.int64), invitations.heights.copy()
        # Friends of the same join levels are one kind, of ``many``: a hub has more friends than kinds.
        inviters = np.repeat(np.arange(len(weights)), invitations.friends)
        order = np.lexsort((*invitations.joins.T, inviters))
        inviters, joins = inviters[order], invitations.joins[order]
        is_first = np.ones(len(joins), dtype=bool)
        is_first[1:] = (inviters[1:] != inviters[:-1]) | (joins[1:] != joins[:-1]).any(axis=1)
        self.joins, self.many = joins[is_first], np.diff(np.flatnonzero(is_first), append=len(joins))
        self.kinds = np.bincount(inviters[is_first], minlength=len(weights))
        self.first_kind = np.cumsum(self.kinds) - self.kinds
        self.scale = np.maximum(1.0, utilities[:, :, 0].sum(axis=1))
        # Hiding everything is consistent with everybody.
        self.utility = _at(utilities, self.levels).sum(axis=1)
        self.risk = risks_of(_at(weights, self.levels).sum(axis=1), invitations.friends)
        self.accepted = (invitations.friends > 0) & (self.risk <= limit)
        self.bound = self.utility.copy()
        # A level that is as useful as the next one is never shown: that one is at most as risky.
        numbers, tops = np.arange(weights.shape[2]), self.levels[:, :, None]
        self.distinct = numbers == tops
        self.distinct[:, :, :-1] |= (utilities[:, :, 1:] < utilities[:, :, :-1]) & (numbers[:-1] < tops)
        self.distinct &= weights < np.inf

    def solve(self) -> None:
        """Look at boxes until none is left: the last first, so that a search goes down before it goes on."""
        owners = np.flatnonzero(self.accepted)
        lo, hi = np.zeros_like(self.levels[owners]), self.levels[owners]
        while len(owners):
            cells = np.cumsum(self.kinds[owners[: -_BOXES_AT_ONCE - 1 : -1]] + self.distinct.shape[2])
            start = len(owners) - max(1, int((cells * lo.shape[1] <= _CELLS_AT_ONCE).sum()))
            parts = self._parts(owners[start:], lo[start:], hi[start:])
            owners, lo, hi = (
                np.concatenate([old[:start], new]) for old, new in zip((owners, lo, hi), parts, strict=True)
            )

    def _parts(self, owners: Longs, lo: Longs, hi: Longs) -> tuple[Longs, Longs, Longs]:
        """What is left of some boxes, in two parts each, after their ends were offered and they were cut.

        ξ(x) is at most ξ(lo), and for each other friend the share of the attributes that lo leaves open which
        x covers. So within the cap c Σ g_j(x_j) ≤ c·ξ(lo), g_j being the weight less c times the shares, and
        at every price μ ≥ 0 (Lagrange multiplier) u(x) ≤ Σ max_l (d_j(l) − μ·g_j(l)) + μ·c·ξ(lo).
        """
        np.add.at(self.looked, owners, 1)
        numbers = np.arange(self.distinct.shape[2])
        useful = self.distinct[owners] & (numbers >= lo[:, :, None]) & (numbers <= hi[:, :, None])
        lo = useful.argmax(axis=2)
        utilities, weights = self.asked.utilities[owners], self.asked.weights[owners]
        kinds = concatenated_ranges(self.first_kind[owners], self.kinds[owners])
        places = np.repeat(np.arange(len(owners)), self.kinds[owners])
        joins, many = self.joins[kinds], self.many[kinds]
        covered, is_open = joins <= hi[places], joins > lo[places]
        consistent, amounts = covered.all(axis=1), is_open.sum(axis=1)
        shares = (is_open & consistent[:, None]) * (many / np.maximum(amounts, 1))[:, None]
        (most, phi_most, xi_most), (least, phi_least, xi_least) = (
            (_at(utilities, end).sum(axis=1), _at(weights, end).sum(axis=1),
             np.bincount(places[which], many[which], len(owners)).astype(np.int64))
            for end, which in ((lo, amounts == 0), (hi, consistent))
        )  # fmt: skip
        risk, risk_of_lo = risks_of(phi_least, xi_least), risks_of(phi_most, xi_most)
        is_left, is_done = risk <= self.limit, risk_of_lo <= self.limit
        self._offer(owners[is_left], hi[is_left], least[is_left], risk[is_left])
        self._offer(owners[is_done], lo[is_done], most[is_done], risk_of_lo[is_done])
        best = self.utility[owners]
        is_left &= ~is_done & (lo < hi).any(axis=1)
        cells = (places[:, None] * joins.shape[1] + np.arange(joins.shape[1])) * weights.shape[2] + joins
        covering = np.bincount(cells.reshape(-1), shares.reshape(-1), weights.size).reshape(weights.shape)
        costs = np.where(useful, weights - self.limit * covering.cumsum(axis=2), 0.0)
        gains, free = np.where(useful, utilities, -np.inf), self.limit * xi_most
        dear = (_at(costs, lo) - _at(costs, hi)).sum(axis=1)
        scale = np.divide(most - least, dear, out=np.ones(len(owners)), where=(most > least) & (dear > 0))
        low, high, price = np.full(len(owners), -3.0), np.full(len(owners), 3.0), np.zeros(len(owners))
        bound = most
        for _ in range(_PRICES):
            values = gains - price[:, None, None] * costs
            chosen = values.argmax(axis=2)
            greatest = _at(values, chosen)
            slack = TIE_TOLERANCE * (2 + 2 * best + price * self.limit * (1 + self.asked.friends[owners]))
            found = greatest.sum(axis=1) + price * free + slack
            bound = np.minimum(bound, found)
            useful &= values >= (greatest - (found + slack - best)[:, None])[:, :, None]
            is_dear, middle = _at(costs, chosen).sum(axis=1) > free, (low + high) / 2
            price = scale * np.exp2(middle)
            low, high = np.where(is_dear, middle, low), np.where(is_dear, high, middle)
        is_left &= useful.any(axis=2).all(axis=1)
        is_late = is_left & (self.looked[owners] >= self.most_boxes)
        np.maximum.at(self.bound, owners[is_late], bound[is_late])
        is_left &= ~is_late
        owners, useful, utilities = owners[is_left], useful[is_left], utilities[is_left]
        lo, hi = useful.argmax(axis=2), useful.shape[2] - 1 - useful[:, :, ::-1].argmax(axis=2)
        rows, widest = np.arange(len(owners)), (_at(utilities, lo) - _at(utilities, hi)).argmax(axis=1)
        begins, ends = lo.copy(), hi.copy()
        begins[rows, widest] += 1
        ends[rows, widest] = lo[rows, widest]
        is_box = (begins <= hi).all(axis=1)
        return (
            np.concatenate([owners[is_box], owners]),
            np.concatenate([begins[is_box], lo]),
            np.concatenate([hi[is_box], ends]),
        )

    def _offer(self, owners: Longs, levels: Longs, utility: Floats, risk: Floats) -> None:
        """Take what is better than the best so far, of levels within the cap."""
        before = np.unique(owners)
        owners, levels = np.concatenate([before, owners]), np.concatenate([self.levels[before], levels])
        utility = np.concatenate([self.utility[before], utility])
        risk = np.concatenate([self.risk[before], risk])
        shares = utility / self.scale[owners], -risk / max(1.0, self.limit)
        keys = *(np.round(share, _DIGITS) for share in shares), *levels.T
        best = firsts_of_greatest(owners, len(self.utility), *keys)
        self.levels[before], self.utility[before], self.risk[before] = levels[best], utility[best], risk[best]


def _at(values: Floats, levels: Longs) -> Floats:
    """The value of each attribute at its level, (r, m), from (r, m, L)."""
    return np.take_along_axis(values, levels[:, :, None], axis=2)[:, :, 0]

"""Who sees which attribute of whom, in how much detail: loss, utility, plans (Fouad (2012), section 7.4).

A plan gives each pair (owner i, recipient j) a level A_ijk of each attribute k, from 0, nothing, to the
height g_k of its hierarchy, everything. Loss Σ f(T_ij) Φ_ik A_ijk and utility Σ Ψ_jk A_ijk are linear: the
problem with a Lagrange multiplier falls apart into cells, the two others are bounded knapsacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Integers, Longs
from app.domain.classes.libraries import Library
from app.domain.errors import InvalidInput, NotSupported

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

PlanLevels = npt.NDArray[np.int16]
Method = Literal["greedy", "exact"]
MOST_EXACT_CELLS: Final = 200_000
_ROUNDING: Final = 1e-12  # share of a cap or a floor
_PROVEN: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Sharing:
    """What sharing costs and brings, of p pairs, n people and K attributes.

    ``owners`` and ``recipients`` are (p,), each pair once, nobody with themselves; ``risk_weights`` (p,) are
    f(T_ij), ``sensitivities`` Φ and ``interests`` Ψ (n, K), all finite and at least 0; ``heights`` (K,) are
    the levels below the root. Utility counts by the interests of the recipient, or ``as_printed`` in the
    paper by those of the owner.
    """

    owners: Integers
    recipients: Integers
    risk_weights: Floats
    sensitivities: Floats
    interests: Floats
    heights: Integers
    as_printed: bool = False

    def __post_init__(self) -> None:
        for name in ("risk_weights", "sensitivities", "interests"):
            if not (((values := getattr(self, name)) >= 0) & (values <= 1e101)).all():
                words = f"One of the {name.replace('_', ' ')} is not from 0 to 1e101."
                raise InvalidInput.of(f"/{name}", "weight-out-of-range", words, "Give numbers of at least 0.")

    @property
    def collectors(self) -> Integers:
        """(p,) whose interests count and whose utility it is."""
        return self.owners if self.as_printed else self.recipients

    def losses(self, attribute: int) -> Floats:
        """(p,) loss of one level of an attribute."""
        return self.risk_weights * np.take(self.sensitivities[:, attribute], self.owners)

    def gains(self, attribute: int) -> Floats:
        """(p,) utility of one level of an attribute."""
        return np.take(self.interests[:, attribute], self.collectors)


@dataclass(frozen=True, eq=False)
class Plan:
    """Levels int16 (p, K), the value that was optimised, and a bound that no plan's value is better than."""

    levels: PlanLevels
    value: float
    bound: float

    @property
    def is_optimal(self) -> bool:
        """Whether the bound proves the plan optimal, up to rounding."""
        return abs(self.value - self.bound) <= _PROVEN * max(abs(self.value), abs(self.bound))


def scores_of(sharing: Sharing, levels: npt.NDArray[np.number]) -> tuple[Floats, Floats]:
    """Loss of each owner and utility of each collector by attribute, (n, K), of a plan (p, K).

    Raises InvalidInput for a level below 0 or above the attribute's height.
    """
    losses, utilities = np.zeros_like(sharing.sensitivities), np.zeros_like(sharing.sensitivities)
    for k, column in enumerate(levels.T):
        if len(column) and not 0 <= column.min() <= column.max() <= sharing.heights[k]:
            raise InvalidInput.of(
                f"/levels/{k}", "level-out-of-range", f"A level is not from 0 to {sharing.heights[k]}.",
                "0 shows nothing; the height of the attribute's hierarchy shows everything.",
            )  # fmt: skip
        losses[:, k] = np.bincount(sharing.owners, sharing.losses(k) * column, len(losses))
        utilities[:, k] = np.bincount(sharing.collectors, sharing.gains(k) * column, len(losses))
    return losses, utilities


def least_trade_off(sharing: Sharing, trade_off: float) -> Plan:
    """A plan of least L − λU, exact: a cell is shown in full where λ times its gain is above its loss."""
    shape = len(sharing.owners), len(sharing.heights)
    levels: PlanLevels = np.zeros(shape, dtype=np.int16, order="F")
    value = 0.0
    for k, height in enumerate(sharing.heights.tolist()):
        saved = trade_off * sharing.gains(k) - sharing.losses(k)
        levels[:, k] = (saved > 0) * height
        value -= float(np.maximum(saved, 0.0).sum()) * height
    return Plan(levels, value, value)


def greatest_utility(sharing: Sharing, cap: float, method: Method = "greedy") -> Plan:
    """A plan of great utility whose loss is at most ``cap``.

    ``greedy`` takes levels by utility per loss while they fit: it lacks less than the utility of one level to
    the linear relaxation, which is the bound. ``exact`` solves the integer programme by HiGHS, and raises
    NotSupported for more than :data:`MOST_EXACT_CELLS`.
    """
    losses, gains, heights = _cells(sharing)
    levels, bound = _knapsack(losses, gains, heights, cap * (1 + _ROUNDING), method)
    value = float((gains * levels).sum())
    return Plan(levels.astype(np.int16).reshape(len(sharing.heights), -1).T, value, max(bound, value))


def least_loss(sharing: Sharing, floor: float, method: Method = "greedy") -> Plan:
    """A plan of small loss whose utility is at least ``floor``; methods as of :func:`greatest_utility`.

    It is the same knapsack, of what is taken back from the plan that shows everything. Raises InvalidInput
    if no plan has so much utility.
    """
    losses, gains, heights = _cells(sharing)
    most = float((gains * heights).sum())
    spare = most - floor + _ROUNDING * most
    if spare < 0:
        raise InvalidInput.of(
            "/utility_floor", "unreachable", f"Even showing everything has no more utility than {most:g}.",
            "Ask for no more than that.",
        )  # fmt: skip
    taken_back, saved = _knapsack(gains, losses, heights, spare, method)
    levels = heights - taken_back
    value = float((losses * levels).sum())
    bound = min(float((losses * heights).sum()) - saved, value)
    return Plan(levels.astype(np.int16).reshape(len(sharing.heights), -1).T, value, bound)


def _cells(sharing: Sharing) -> tuple[Floats, Floats, Longs]:
    """Loss and gain of one level, and height, of each cell, attribute after attribute."""
    attributes = range(len(sharing.heights))
    losses = np.concatenate([sharing.losses(k) for k in attributes])
    gains = np.concatenate([sharing.gains(k) for k in attributes])
    return losses, gains, np.repeat(sharing.heights.astype(np.int64), len(sharing.owners))


def _knapsack(
    costs: Floats, values: Floats, heights: Longs, cap: float, method: Method
) -> tuple[Longs, float]:
    """Levels from 0 to the heights of much value that cost at most ``cap``, and a bound on the greatest."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(values > 0, values / costs, 0.0)
    order = np.argsort(-ratio, kind="stable")[: int((ratio > 0).sum())]
    spent = np.cumsum(costs[order] * heights[order])
    whole = int(np.searchsorted(spent, cap, side="right"))
    taken = np.zeros(len(costs), dtype=np.int64)
    taken[order[:whole]] = heights[order[:whole]]
    left, rest = cap - float(spent[whole - 1] if whole else 0.0), order[whole:]
    bound = float((values * taken).sum()) + (left * float(ratio[rest[0]]) if len(rest) else 0.0)
    for cell in rest[costs[rest] <= left][:10_000].tolist():
        taken[cell] = min(int(left // costs[cell]), int(heights[cell]))
        left -= int(taken[cell]) * float(costs[cell])
    value = float((values * taken).sum())
    if method == "exact" and bound - value > _PROVEN * bound:
        found, proven = _solved(costs, values, heights, cap)
        bound = min(bound, proven)
        if float((values * found).sum()) > value:
            taken = found
    return taken, bound


def _solved(costs: Floats, values: Floats, heights: Longs, cap: float) -> tuple[Longs, float]:
    """The knapsack by HiGHS: levels, all 0 if none within the cap were found, and the bound that it proves.

    HiGHS accepts costs 1e-6 above the cap: then a lower cap is tried once, and the first bound holds.
    """
    if len(costs) > MOST_EXACT_CELLS:
        raise NotSupported(
            f"The plan has {len(costs):,} cells; up to {MOST_EXACT_CELLS:,} are solved exactly.",
            "Choose the greedy method, which states a bound, or share among fewer pairs.",
        )
    cost_scale, value_scale = float(costs.max()), float(values.max())
    bound, levels = np.inf, np.zeros(len(costs), dtype=np.int64)
    for lowered in (cap / cost_scale, cap / cost_scale - 2e-6):
        solved = scipy.optimize.milp(
            -values / value_scale, integrality=np.ones(len(costs)), bounds=scipy.optimize.Bounds(0, heights),
            constraints=scipy.optimize.LinearConstraint(costs[None] / cost_scale, ub=lowered),
            options={"mip_rel_gap": 0.0},
        )  # fmt: skip
        if solved.x is None:
            break
        bound = -float(solved.mip_dual_bound) * value_scale if bound == np.inf else bound
        found = np.rint(solved.x).astype(np.int64)
        if float((costs * found).sum()) <= cap:
            return found, bound
    return levels, bound

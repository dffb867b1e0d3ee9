"""Approx: min r(x) s.t. u(x) ≥ c by convex programmes and rounding, with a certificate.

Source: Fouad (2012), section 5.2.3; Definitions: approximation, guarantee of the approximation, Lovász
extension. A point gives each step (i, s), s = 1..h_i, a number in [0, 1], non-increasing in s: per attribute
an array of length h_i. Its level sets are nodes; the extension of a function is its mean over them.

The published guarantee E[1/r] ≥ 1/(σ₂(1+ε)z*) is false: rounding is conditioned on acceptance, which removes
exactly the general points that carry the candidates. What is kept is what can be proved: the rule's
utility is at least σ₁c, and no rule with u ≥ c has a risk below the certificate's bound. Whether this run met
the published ratio is told for this run, and so is E[1/r] itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Levels
from app.domain.errors import InvalidInput
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.aggregate.programmes import Rows, greatest
from app.domain.search.budget import Halted, never
from app.domain.search.objectives import MinRisk
from app.domain.search.record_risk import CanonicalInstance, outer_sum, threshold_histogram
from app.domain.search.selection import OPTIMAL, PROHIBITED
from app.domain.search.solvers import Approx
from app.domain.tables.numbers import lowest_accepted, tie_margin

Point = tuple[Floats, ...]

TRIALS_LIMIT = 10_000
ROUNDING_OF_BOUND = 1e-9
Rated = tuple[float, float, Levels]
"""Risk, minus utility and levels of a node."""


@dataclass(frozen=True)
class Outcome:
    """A node that rounding gives with a probability above 0."""

    levels: Levels
    probability: float


def point_of(values: Floats, heights: Levels) -> Point:
    """A point from the numbers of all steps, forced into [0, 1] and to fall along each chain."""
    parts = np.split(np.clip(values, 0.0, 1.0), np.cumsum(heights)[:-1])
    return tuple(np.minimum.accumulate(part) for part in parts)


def outcomes(point: Point) -> tuple[Outcome, ...]:
    """The level sets of a point from the most specific to the most general, each with its probability.

    The steps above a uniformly drawn number are taken: each node of the chain of level sets is met with the
    probability of the interval between two numbers.
    """
    cuts = sorted({0.0, 1.0, *(float(v) for part in point for v in part)}, reverse=True)
    return tuple(
        Outcome(tuple(int((part >= above).sum()) for part in point), above - below)
        for above, below in itertools.pairwise(cuts)
    )


def draw(chances: Sequence[Outcome], random: np.random.Generator) -> Levels:
    """One of the outcomes, with its probability."""
    number = random.random()
    for outcome in chances:
        number -= outcome.probability
        if number < 0:
            return outcome.levels
    return chances[-1].levels


@dataclass(frozen=True)
class Approximated:
    """What was found for one record.

    Attributes
    ----------
    levels
        None if the record as it is misses the floor, or every admitted disclosure is prohibited.
    prohibited
        Whether the latter is so.
    lower_bound
        No disclosure with u ≥ c has a lower risk.
    exact
        The disclosure itself has u ≥ c and is proved to be of least risk among those.
    programmes
        Limit τ on Φ and greatest T̂ of each linear programme that was solved, None where it has no point.
    trials
        Roundings that were drawn.
    expected_inverse
        E[1/r] of the algorithm as printed, for the programmes that were solved; None where none was.
    """

    levels: Levels | None
    risk: float
    lower_bound: float
    exact: bool = False
    prohibited: bool = False
    programmes: tuple[tuple[float, float | None], ...] = ()
    trials: int = 0
    expected_inverse: float | None = None

    @property
    def ratio(self) -> float:
        """Risk over the bound; 1 if both are 0, +∞ over a bound of 0."""
        if self.risk == self.lower_bound:
            return 1.0
        return self.risk / self.lower_bound if self.lower_bound > 0 else math.inf

    def met(self, parameters: Approx) -> bool:
        """Whether this run met the ratio that was published for the mean of all."""
        return self.ratio <= parameters.sensitivity_slack * (1 + parameters.epsilon)


def require_acceptance(parameters: Approx, share: float) -> None:
    """InvalidInput unless some rounding is accepted for certain: β = 1 − (1−θ)/(1−θσ₁) − 1/σ₂ > 0.

    ``share`` is θ, the floor as a share of a record's utility as it is; the smallest decides.
    """
    kept = 1.0 - (1.0 - share) / (1.0 - share * parameters.kept_utility) if share < 1.0 else 1.0
    if kept <= 1.0 / parameters.sensitivity_slack:
        least = math.floor(100.0 / kept + 1.0) / 100.0 if kept > 0 else math.inf
        enough = "no sensitivity_slack suffices" if least > 1_000 else f"choose at least {least:g}"
        raise InvalidInput.of(
            "/solver/sensitivity_slack",
            "out-of-range",
            "With this sensitivity_slack, kept_utility and utility floor no rounding need be acceptable.",
            f"For this floor {enough}, or a smaller kept_utility.",
        )


def approximate(
    record: ChainRecord,
    floor: float,
    parameters: Approx,
    random: np.random.Generator | None = None,
    halted: Halted = never,
) -> Approximated:
    """Approximate the disclosure of least risk with a utility of at least ``floor``.

    Somebody must be consistent with the record as it is. ``random`` is needed for the mode ``sampling``.
    A halt leaves the bound of the programmes that were solved: 0, for the others could be below it.
    """
    accepted = lowest_accepted(floor)
    if record.utility((0,) * len(record.heights)) < accepted:
        return Approximated(None, math.inf, math.inf)
    least = record.least_finite
    if least is None or record.utility(least) < accepted:
        return Approximated(None, math.inf, math.inf, prohibited=True)
    simple = _without_programmes(record, least, accepted)
    if simple is not None:
        return simple
    box = record.box(least, record.heights)
    relaxation = _Relaxation(box, accepted)
    solved = _solve_all(relaxation, box, parameters, halted)
    kept_floor = lowest_accepted(parameters.kept_utility * floor)
    accepted_of = [_accepted(box, own, kept_floor, parameters) for own in solved.pool if not halted()]
    # The record as it is, whose utility reaches the floor: what is left where nothing was rounded.
    bottom = (0,) * len(box.heights)
    left: Rated = (box.risk(bottom), -box.utility(bottom), bottom)
    trials, draws = 0, [[(own[0], p) for own, p in accepted] for accepted in accepted_of if accepted]
    if parameters.mode == "sampling" and random is not None:
        found, trials = _sampled(solved.pool, accepted_of, random, halted)
    else:
        found = [rated for accepted in accepted_of for rated, _ in accepted]
    chosen = _best(found or [left])
    if parameters.polish:
        chosen = polished(box, chosen, kept_floor, halted)
    levels = tuple(a + b for a, b in zip(least, chosen, strict=True))
    risk = record.risk(levels)
    expected = expected_inverse(draws or [[(left[0], 1.0)]])
    return Approximated(
        levels, risk, solved.bound, programmes=solved.solved, trials=trials, expected_inverse=expected
    )


def _without_programmes(record: ChainRecord, least: Levels, accepted: float) -> Approximated | None:
    """The optimum where it is plain: no sensitivity within the floor, or nothing but the top to choose."""
    harmless = record.least_harmless
    if harmless is not None and record.utility(harmless) >= accepted:
        return Approximated(harmless, 0.0, 0.0, exact=True)
    top = record.heights
    if record.utility(top) >= accepted or least == top:
        risk = record.risk(top)
        # The least node with the risk of the top: Φ as small and everybody consistent, both from a
        # node on
        lightest = [int(np.argmax(w <= w[-1])) for w in record.weights]
        everybody = record.thresholds.max(axis=0).tolist()
        return Approximated(
            tuple(max(a, b) for a, b in zip(lightest, everybody, strict=True)), risk, risk, exact=True
        )
    return None


@dataclass(frozen=True)
class _Rounded:
    """The level sets of one programme's optimum, and the limit on Φ that they are judged by."""

    chances: tuple[Outcome, ...]
    limit: float


@dataclass(frozen=True)
class _Programmes:
    """What the programmes gave to round, what they certify, and their limits and optima."""

    pool: tuple[_Rounded, ...]
    bound: float
    solved: tuple[tuple[float, float | None], ...]


def _solve_all(relaxation: _Relaxation, box: ChainRecord, parameters: Approx, halted: Halted) -> _Programmes:
    """The programmes for τ_0, τ_1, … up to the greatest Φ; the certificate is min τ_{i−1} / z_i."""
    least, most = least_positive(box), box.phi((0,) * len(box.heights))
    last = math.ceil(math.log(most / least) / math.log1p(parameters.epsilon))
    pool: list[_Rounded] = []
    solved: list[tuple[float, float | None]] = []
    bound, before = math.inf, least
    for i in range(last + 1):
        if halted():
            # What the programmes left out would certify may be anything.
            return _Programmes(tuple(pool), 0.0, tuple(solved))
        limit = least * (1 + parameters.epsilon) ** i
        found = relaxation.solve(limit)
        solved.append((limit, None if found is None else found[1]))
        if found is not None:
            bound = min(bound, before / (found[1] * (1 + ROUNDING_OF_BOUND)))
            pool.append(_Rounded(outcomes(found[0]), limit))
        before = limit
    return _Programmes(tuple(pool), bound, tuple(solved))


def least_positive(record: ChainRecord) -> float:
    """φ_l, the least Φ above 0: one attribute one step below what makes it 0, all others at ⊥."""
    top = record.heights
    at_top = record.phi(top)
    if at_top > 0:
        return at_top
    return min(float(w[w > 0].min()) for w in record.weights if (w > 0).any())


class _Relaxation:
    """max T̂(x̂) s.t. û(x̂) ≥ c, Φ̂(x̂) ≤ τ over x̂ that fall along the chains, as a linear programme."""

    def __init__(self, box: ChainRecord, accepted: float) -> None:
        self._box = box
        n_steps, heights = box.n_steps, box.heights
        first = np.cumsum([0, *heights])[:-1]
        taken = box.thresholds > 0
        several = np.flatnonzero(taken.any(axis=1))
        self._always = int(box.multiplicity[~taken.any(axis=1)].sum())
        steps = (first + box.thresholds - 1)[several]
        owners, attributes = np.nonzero(taken[several])
        upper = np.setdiff1d(np.arange(n_steps), first)
        rises = [np.concatenate([np.empty(0), *(np.diff(c) for c in chains)]) for chains in (
            box.utilities, box.weights)]  # fmt: skip
        n_falls, n_links = len(upper), len(owners)
        columns = np.arange(n_steps)
        self._n_steps, self._gains = n_steps, np.concatenate([np.zeros(n_steps), box.multiplicity[several]])
        bottom = (0,) * len(heights)
        self._rows = np.concatenate(
            [np.zeros(n_steps, int), np.ones(n_steps, int), np.repeat(2 + np.arange(n_falls), 2),
             np.repeat(2 + n_falls + np.arange(n_links), 2)]
        )  # fmt: skip
        self._columns = np.concatenate(
            [columns, columns, np.stack([upper, upper - 1], axis=1).ravel(),
             np.stack([n_steps + owners, steps[owners, attributes]], axis=1).ravel()]
        )  # fmt: skip
        signs = np.tile([1.0, -1.0], n_falls + n_links)
        self._values = np.concatenate([-rises[0], rises[1], signs])
        self._slack = box.utility(bottom) - accepted
        self._phi = box.phi(bottom)
        self._n_rows = 2 + n_falls + n_links

    def solve(self, limit: float) -> tuple[Point, float] | None:
        """An optimal point and what T̂ cannot exceed, for Φ̂ ≤ limit; None if no point meets the limits."""
        limits = np.zeros(self._n_rows)
        limits[0], limits[1] = self._slack, limit + tie_margin(limit) - self._phi
        found = greatest(self._gains, Rows(self._rows, self._columns, self._values, limits))
        if found is None:
            return None
        return point_of(found.point[: self._n_steps], self._box.heights), found.bound + self._always


def _accepted(
    box: ChainRecord, rounded: _Rounded, kept_floor: float, parameters: Approx
) -> list[tuple[Rated, float]]:
    """The level sets of a programme's optimum that are accepted, each with its probability."""
    limit = parameters.sensitivity_slack * rounded.limit
    found = []
    for outcome in rounded.chances:
        utility, phi = box.utility(outcome.levels), box.phi(outcome.levels)
        if utility >= kept_floor and phi <= limit + tie_margin(limit):
            rated = (box.risk(outcome.levels), -utility, outcome.levels)
            found.append((rated, outcome.probability))
    return found


def _sampled(
    pool: Sequence[_Rounded],
    accepted_of: Sequence[Sequence[tuple[Rated, float]]],
    random: np.random.Generator,
    halted: Halted,
) -> tuple[list[Rated], int]:
    """One accepted draw per programme, as printed, with the number of draws.

    A programme of which 10,000 draws are refused is given up.
    """
    found, trials = [], 0
    for rounded, accepted in zip(pool, accepted_of, strict=False):
        rated_of = {rated[-1]: rated for rated, _ in accepted}
        for _ in range(TRIALS_LIMIT):
            if halted():
                break
            trials += 1
            drawn = draw(rounded.chances, random)
            if drawn in rated_of:
                found.append(rated_of[drawn])
                break
    return found, trials


def expected_inverse(draws: Sequence[Sequence[tuple[float, float]]]) -> float:
    """E[1/r] of the least risk r among one draw of each distribution, +∞ if r may be 0.

    ``draws`` have the risks of each with their probabilities, up to a factor. Draws are independent: the
    least risk is above a number with the product of their chances to be.
    """
    totals = [math.fsum(chance for _, chance in own) for own in draws]
    terms, before = [], 1.0
    for risk in sorted({risk for own in draws for risk, _ in own}):
        chances = (math.fsum(p for other, p in own if other > risk) for own in draws)
        above = math.prod(chance / total for chance, total in zip(chances, totals, strict=True))
        if above < before:
            terms.append((before - above) / risk if risk else math.inf)
        before = above
    return math.fsum(terms)


def _best(found: list[Rated]) -> Levels:
    """The best of rated nodes (Definitions: order of ties)."""
    risk = min(one[0] for one in found)
    found = [one for one in found if one[0] <= risk + tie_margin(risk)]
    utility = min(one[1] for one in found)
    return min(one[2] for one in found if one[1] <= utility + tie_margin(utility))


def polished(record: ChainRecord, levels: Levels, kept_floor: float, halted: Halted = never) -> Levels:
    """Generalise step by step, always to the least risk, while the utility allows a step."""
    while not halted():
        steps: list[Rated] = []
        for i, height in enumerate(record.heights):
            if levels[i] < height:
                raised = (*levels[:i], levels[i] + 1, *levels[i + 1 :])
                utility = record.utility(raised)
                if utility >= kept_floor:
                    steps.append((record.risk(raised), -utility, raised))
        if not steps:
            return levels
        levels = _best(steps)
    return levels


def least_risk(record: ChainRecord, floor: float) -> Approximated:
    """The exact optimum, over all nodes of the lattice; what the certificate falls back on."""
    counts = threshold_histogram(record.thresholds, record.heights, record.multiplicity)
    lattice = CanonicalInstance(counts, outer_sum(record.weights) + record.base, outer_sum(record.utilities))
    choice, levels = lattice.enumerate(MinRisk(floor))
    if choice.code[0] != OPTIMAL:
        return Approximated(None, math.inf, math.inf, prohibited=bool(choice.code[0] == PROHIBITED))
    risk = record.risk(levels)
    return Approximated(levels, risk, risk, exact=True)

"""Maximising g_α as a submodular function: by a minimum cut, or by any minimiser of set functions.

The closure form is a maximum closure over the steps of the chains, found by a minimum cut. A node x is the
set of steps (i, s) with s ≤ x_i. An entity's threshold pays λ once all of its steps are taken. Φ·u^κ, written
in "attribute i is still below step s", is a polynomial with coefficients ≥ 0: each of its products is lost as
soon as one of its steps is taken. −αΦ is linear. So g_α is a constant plus the profit of a closed set, and
the least maximiser is the smallest closed set of greatest profit.

A minimiser of any submodular set function (Definitions: ring families) is slower than the minimum cut and
independent of it: it only evaluates g_α. A node x is the set of steps S(x) = {(i, s): s ≤ x_i}. Sets that are
no node take the value of their closure, less what keeps the function supermodular on all subsets and makes
them no better than it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Levels, Longs
from app.domain.errors import NotSupported
from app.domain.search.aggregate.objective import BoxObjective, power
from app.domain.search.aggregate.programmes import least_maximum_closure
from app.domain.search.budget import Halted, never, stop_if
from app.domain.tables.numbers import tie_margin

PRODUCTS_LIMIT = 200_000

Polynomial = dict[tuple[int, ...], float]

Evaluate = Callable[[Longs], Floats]
"""A function of nodes (r, k), for all of them at once."""
Form = Literal["marginals", "penalty"]

CELLS_AT_ONCE = 2**22
ITERATIONS_LIMIT = 20_000
GAP_LIMIT = 1e-9
TRIED_OUT = 10


class ClosureMaximiser:
    """Maximises g_α on one box for any α; the network is built once.

    Raises NotSupported where the expansion of Φ·u^κ may have more than 200,000 products.
    """

    def __init__(self, objective: BoxObjective) -> None:
        self._objective = objective
        record = objective.record
        self._heights = record.heights
        self._first = np.cumsum([0, *self._heights])
        n_steps = record.n_steps
        refuse_products(n_steps, objective.kappa)
        of_step = np.repeat(np.arange(len(self._heights)), self._heights).tolist()
        self._falls = _falls(record.weights, n_steps)
        products = _expanded(objective, self._falls, _falls(record.utilities, n_steps), of_step)
        lost = np.zeros(n_steps)
        many: list[tuple[int, ...]] = []
        for product in products:
            if len(product) == 1:
                lost[product[0]] = products[product]
            elif len(product) > 1:
                many.append(product)
        self._lost = lost
        # What each threshold of several steps pays, and which steps it needs; the others pay the step
        record = self._objective.record
        paid = self._objective.trade_off * record.multiplicity
        taken = record.thresholds > 0
        n_taken = taken.sum(axis=1)
        single, several = np.flatnonzero(n_taken == 1), np.flatnonzero(n_taken > 1)
        steps = self._first[:-1] + record.thresholds - 1
        self._paid = np.bincount(steps[single][taken[single]], paid[single], minlength=n_steps)
        owners = n_steps + np.arange(len(several), dtype=np.int64)
        before: Longs = np.repeat(owners, n_taken[several])
        gains, after = paid[several].astype(np.float64), steps[several][taken[several]]
        first_product = n_steps + len(gains)
        self._others = np.concatenate([gains, [-products[product] for product in many]])
        steps_of_many = [step for product in many for step in product]
        sizes = np.array([len(product) for product in many], dtype=np.int64)
        upper = np.setdiff1d(np.arange(n_steps), self._first[:-1])
        self._before = np.concatenate([before, np.array(steps_of_many, dtype=np.int64), upper])
        self._after = np.concatenate(
            [after, first_product + np.repeat(np.arange(len(many)), sizes), upper - 1]
        )

    def __call__(self, alpha: float) -> Levels:
        """The least node with the greatest g_α.

        Every step costs a little more than it does: together less than half a tie of f on this box.
        """
        record = self._objective.record
        n_steps = len(self._lost)
        little = tie_margin(alpha) * record.phi(record.heights) / (2 * max(1, n_steps))
        of_steps = alpha * self._falls + self._paid - self._lost - little
        chosen = least_maximum_closure(np.concatenate([of_steps, self._others]), self._before, self._after)
        return tuple(
            int(chosen[a:b].sum())
            for a, b in zip(self._first[:-1].tolist(), self._first[1:].tolist(), strict=True)
        )


def n_products(n_steps: int, kappa: int) -> int:
    """How many products the expansion of Φ·u^κ has at most."""
    return math.comb(n_steps + kappa + 1, kappa + 1)


def refuse_products(n_steps: int, kappa: int) -> None:
    """NotSupported where Φ·u^κ may have too many products for a cut."""
    products = n_products(n_steps, kappa)
    if products > PRODUCTS_LIMIT:
        raise NotSupported(
            f"The minimum cut would hold up to {products} products of steps, of at most {PRODUCTS_LIMIT}.",
            "Choose a smaller kappa, fewer attributes or levels, or the method ring_family.",
        )


def _falls(chains: tuple[Floats, ...], n_steps: int) -> Floats:
    """By how much each step lowers its chain's value."""
    return np.concatenate([np.empty(0), *(chain[:-1] - chain[1:] for chain in chains)]).reshape(n_steps)


def _expanded(objective: BoxObjective, falls: Floats, losses: Floats, of_step: list[int]) -> Polynomial:
    """Φ·u^κ as a polynomial in "still below step e", each product as its ascending steps.

    Below both of two steps of one attribute is below the lower of them.
    """
    record = objective.record
    top = record.heights
    product: Polynomial = _linear(record.phi(top), falls)
    utility = _linear(record.utility(top), losses)
    for _ in range(objective.kappa):
        raised: Polynomial = {}
        for steps, coefficient in product.items():
            for factor, other in utility.items():
                key = steps if not factor else _together(steps, factor[0], of_step)
                raised[key] = raised.get(key, 0.0) + coefficient * other
        product = raised
    return product


def _linear(constant: float, falls: Floats) -> Polynomial:
    found: Polynomial = {(): constant}
    for step, fall in enumerate(falls.tolist()):
        if fall:
            found[step,] = fall
    return found


def _together(steps: tuple[int, ...], step: int, of_step: list[int]) -> tuple[int, ...]:
    for place, other in enumerate(steps):
        if of_step[other] == of_step[step]:
            return (*steps[:place], min(other, step), *steps[place + 1 :])
    return tuple(sorted((*steps, step)))


@dataclass(frozen=True, eq=False)
class RingFamily:
    """The steps of chains and a supermodular function of their nodes, as a function of all sets of steps.

    ``marginals`` subtracts c(v) = max(0, g(N_v ∪ {v}) − g(N_v)) for every step that closure adds, N_v the
    largest node without v; ``penalty`` the same K for each, above every gain of one step inside the family
    (Definitions: ring families; for a supermodular g the greatest c(v) is the greatest of them).
    """

    heights: Levels
    evaluate: Evaluate
    form: Form = "marginals"

    @property
    def n_steps(self) -> int:
        """Steps of all chains: the ground set of the function."""
        return sum(self.heights)

    def closure(self, sets: Bools) -> Longs:
        """The least node that holds each of the sets (r, steps), (r, k)."""
        parts = np.split(sets, np.cumsum(self.heights)[:-1], axis=1)
        return np.stack(
            [(part * np.arange(1, part.shape[1] + 1)).max(axis=1, initial=0) for part in parts], axis=1
        ).astype(np.int64)

    def steps_of(self, nodes: Longs) -> Bools:
        """S(x) of each node (r, k), as masks (r, steps)."""
        return np.concatenate(
            [np.arange(1, h + 1) <= nodes[:, i : i + 1] for i, h in enumerate(self.heights)], axis=1
        )

    def costs(self) -> Floats:
        """What each step that closure adds is charged, (steps,)."""
        without = np.repeat(np.array([self.heights], dtype=np.int64), self.n_steps, axis=0)
        attribute = np.repeat(np.arange(len(self.heights)), self.heights)
        step = np.concatenate([np.arange(h) for h in self.heights]) if self.n_steps else np.empty(0, int)
        without[np.arange(self.n_steps), attribute] = step
        within = without.copy()
        within[np.arange(self.n_steps), attribute] += 1
        gains = np.maximum(0.0, self.evaluate(within) - self.evaluate(without))
        if self.form == "penalty":
            return np.full(self.n_steps, gains.max(initial=0.0) + 1.0)
        return gains

    def extended(self, sets: Bools, costs: Floats) -> Floats:
        """ḡ of sets of steps (r, steps)."""
        closures = self.closure(sets)
        added = self.steps_of(closures) & ~sets
        return self.evaluate(closures) - added @ costs


class _Minimiser:
    """The least value of a submodular set function by Fujishige and Wolfe's minimum-norm point.

    Vertices of the base polytope come from the greedy algorithm, which looks at every prefix of an order of
    the elements. Wolfe's gap bounds how far the point is from that of least norm, whose negative elements
    belong to every minimiser and whose positive ones to none: what is certain is settled, and the rest solved
    again on its own scale. Few that stay open are tried out.
    """

    def __init__(self, function: Callable[[Bools], Floats], size: int, margin: float) -> None:
        self._function = function
        self._margin = margin
        self._size = size
        self._met: dict[bytes, tuple[float, Bools]] = {}

    def solve(self) -> Bools:
        """A smallest of the sets met whose value is within the margin of the least.

        Raises ArithmeticError if what bounds the function stays further from the least value found than 1e-9
        of its range.
        """
        taken, free = np.zeros(self._size, dtype=bool), np.arange(self._size)
        empty = first = float(self._look(taken[None, :])[0])
        bound, scale = empty, 1.0
        while len(free):
            empty = float(self._look(taken[None, :])[0])
            point, error, reach = self._least_norm(taken, free, empty)
            scale = max(scale, reach, abs(first))
            bound = empty + float(np.minimum(point, 0.0).sum())
            within, without = point < -error, point > error
            if not (within | without).any():
                break
            taken[free[within]] = True
            free = free[~(within | without)]
        if 0 < len(free) <= TRIED_OUT:
            subsets = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free)) & 1).astype(bool)
            self._look(_extended(taken, free, subsets))
        elif len(free) and self._least - bound > max(self._margin, GAP_LIMIT * scale):
            raise ArithmeticError("the minimum-norm point did not converge")
        tied = [
            (int(chosen.sum()), value, chosen)
            for value, chosen in self._met.values()
            if value <= self._least + self._margin
        ]
        return min(tied, key=lambda one: one[:2])[2]

    @property
    def _least(self) -> float:
        return min(value for value, _ in self._met.values())

    def _look(self, sets: Bools) -> Floats:
        values = self._function(sets)
        for chosen, value in zip(sets, values.tolist(), strict=True):
            self._met[np.packbits(chosen).tobytes()] = value, chosen.copy()
        return values

    def _least_norm(self, taken: Bools, free: Longs, empty: float) -> tuple[Floats, float, float]:
        """The point on the free elements, how far from the true one it can be, and the range of vertices.

        The rest of the elements is in or out as ``taken`` says.
        """

        def vertex(point: Floats) -> Floats:
            """The vertex of the base polytope that is least along the point (greedy algorithm)."""
            order = np.argsort(point, kind="stable")
            prefixes = np.zeros((len(free), len(free)), dtype=bool)
            prefixes[:, order] = np.tril(np.ones((len(free), len(free)), dtype=bool))
            base = np.empty(len(free))
            base[order] = np.diff(self._look(_extended(taken, free, prefixes)), prepend=empty)
            return base

        corners, shares = vertex(np.zeros(len(free)))[None, :], np.ones(1)
        reach, before = float(np.abs(corners[0]).max()), np.inf
        for _ in range(ITERATIONS_LIMIT):
            point = shares @ corners
            corner = vertex(point)
            reach = max(reach, float(np.abs(corner).max()))
            gap = float(point @ point - point @ corner)
            norm = float(point @ point)
            if gap <= 1e-15 * reach * reach or norm >= before:
                break
            before = norm
            corners, shares = _shrunk(np.vstack([corners, corner]), np.append(shares, 0.0))
        return point, float(np.sqrt(max(gap, 0.0))) + 1e-13 * reach, reach


def _extended(taken: Bools, free: Longs, subsets: Bools) -> Bools:
    """What is taken with each of some subsets of the free elements."""
    sets = np.repeat(taken[None, :], len(subsets), axis=0)
    sets[:, free] = subsets
    return sets


def minimise(function: Callable[[Bools], Floats], size: int, margin: float) -> Bools:
    """A smallest of the sets at which a submodular function of masks (r, size) is least, up to a margin."""
    return _Minimiser(function, size, margin).solve()


def _shrunk(corners: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Wolfe's minor cycle: to the point of least norm of an affine hull that lies in its convex hull."""
    while True:
        n = len(corners)
        system = np.ones((n + 1, n + 1))
        system[0, 0] = 0.0
        system[1:, 1:] = corners @ corners.T
        aim = np.linalg.lstsq(system, np.eye(n + 1)[0], rcond=None)[0][1:]
        if (aim >= -1e-12).all():
            kept = aim > 1e-14
            return corners[kept], aim[kept] / aim[kept].sum()
        falling = aim < shares
        reach = float(np.min(shares[falling] / (shares[falling] - aim[falling]), initial=1.0))
        shares = np.maximum(0.0, shares + reach * (aim - shares))
        kept = shares > 1e-14
        if kept.all():
            kept[np.argmin(shares)] = False
        corners, shares = corners[kept], shares[kept] / shares[kept].sum()


class RingFamilyMaximiser:
    """Maximises g_α on one box for any α by minimising −ḡ over all sets of steps.

    Raises HaltedError soon after ``halted`` is true.
    """

    def __init__(self, objective: BoxObjective, form: Form = "marginals", halted: Halted = never) -> None:
        self._objective = objective
        self._form = form
        self._halted = halted

    def __call__(self, alpha: float) -> Levels:
        """The least node found with the greatest g_α, up to half a tie of f on this box."""
        record = self._objective.record
        family = RingFamily(record.heights, lambda nodes: self.lifted(nodes, alpha), self._form)
        costs = family.costs()
        margin = tie_margin(alpha) * record.phi(record.heights) / 2
        found = minimise(lambda sets: -family.extended(sets, costs), family.n_steps, margin)
        return tuple(family.closure(found[None, :])[0].tolist())

    def lifted(self, nodes: Longs, alpha: float) -> Floats:
        """g_α at nodes (r, k)."""
        record, objective = self._objective.record, self._objective
        counts = np.zeros(len(nodes))
        at_once = max(1, CELLS_AT_ONCE // max(1, record.thresholds.size))
        for start in range(0, len(nodes), at_once):
            stop_if(self._halted)
            some = nodes[start : start + at_once]
            within = (record.thresholds[None, :, :] <= some[:, None, :]).all(axis=2)
            counts[start : start + at_once] = within @ record.multiplicity
        phi = np.full(len(nodes), record.base)
        utility = np.zeros(len(nodes))
        for i in range(nodes.shape[1]):
            phi += record.weights[i][nodes[:, i]]
            utility += record.utilities[i][nodes[:, i]]
        gained = np.array([power(u, objective.kappa) for u in utility.tolist()])
        lifted: Floats = objective.trade_off * counts + phi * gained - alpha * phi
        return lifted

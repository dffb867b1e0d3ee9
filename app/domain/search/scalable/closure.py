"""The closure form of g_α: a maximum closure over the steps of the chains, found by a minimum cut.

A node x is the set of steps (i, s) with s ≤ x_i. An entity's threshold pays λ once all of its steps are
taken. Φ·u^κ, written in "attribute i is still below step s", is a polynomial with coefficients ≥ 0: each of
its products is lost as soon as one of its steps is taken. −αΦ is linear. So g_α is a constant plus the profit
of a closed set, and the least maximiser is the smallest closed set of greatest profit.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from app.domain.errors import NotSupported
from app.domain.numbers import tie_margin
from app.domain.search.boxes import Levels
from app.domain.search.scalable.aggregate import AggregateObjective
from app.domain.search.scalable.programmes import least_maximum_closure

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

PRODUCTS_LIMIT = 200_000

Polynomial = dict[tuple[int, ...], float]


class ClosureMaximiser:
    """Maximises g_α on one box for any α; the network is built once.

    Raises NotSupported where the expansion of Φ·u^κ may have more than 200,000 products.
    """

    def __init__(self, objective: AggregateObjective) -> None:
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
        gains, before, after = self._entities(n_steps)
        first_product = n_steps + len(gains)
        self._others = np.concatenate([gains, [-products[product] for product in many]])
        steps_of_many = [step for product in many for step in product]
        sizes = np.array([len(product) for product in many], dtype=np.int64)
        upper = np.setdiff1d(np.arange(n_steps), self._first[:-1])
        self._before = np.concatenate([before, np.array(steps_of_many, dtype=np.int64), upper])
        self._after = np.concatenate(
            [after, first_product + np.repeat(np.arange(len(many)), sizes), upper - 1]
        )

    def _entities(self, n_steps: int) -> tuple[Floats, Longs, Longs]:
        """What each threshold of several steps pays, and which steps it needs; the others pay the step."""
        record = self._objective.record
        paid = self._objective.trade_off * record.multiplicity
        taken = record.thresholds > 0
        n_taken = taken.sum(axis=1)
        single, several = np.flatnonzero(n_taken == 1), np.flatnonzero(n_taken > 1)
        steps = self._first[:-1] + record.thresholds - 1
        self._paid = np.bincount(steps[single][taken[single]], paid[single], minlength=n_steps)
        owners = n_steps + np.arange(len(several), dtype=np.int64)
        before: Longs = np.repeat(owners, n_taken[several])
        return paid[several].astype(np.float64), before, steps[several][taken[several]]

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


def _expanded(objective: AggregateObjective, falls: Floats, losses: Floats, of_step: list[int]) -> Polynomial:
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

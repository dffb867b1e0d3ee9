"""Minimum cuts and linear programmes: the one place of the domain that solves them.

A cut is exact for the capacities as they are rounded to 2⁻⁵⁸ of their sum: flows are integers, pushed in
rounds on the residual network, because scipy's solver holds 32 bits. A linear programme comes with an upper
bound that its dual proves, whatever tolerance it was solved to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.libraries import Library

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

_TOTAL_BITS = 58
_ROUND_BITS = 30
_TOLERANCE = 1e-9
_INFEASIBLE = 2


def least_maximum_closure(profits: Floats, before: Longs, after: Longs) -> Bools:
    """The smallest of the closed sets of greatest profit, as a mask of the elements.

    A set is closed if with ``before[e]`` it holds ``after[e]``, for every pair e. Closed sets of greatest
    profit are closed under intersection, so there is a smallest one: what is left within reach of the source
    once a maximum flow has gone from the profits to the losses (Picard's cut).

    Parameters
    ----------
    profits
        Profit of each element (n,), finite; a loss is negative.
    before, after
        Pairs of elements (p,).
    """
    n = len(profits)
    total = float(np.maximum(profits, 0.0).sum())
    if total == 0.0:
        return np.zeros(n, dtype=bool)
    scale = 2.0 ** (_TOTAL_BITS - np.frexp(total)[1])
    # By how much a loss exceeds the sum of all profits never matters.
    units = np.rint(np.maximum(profits, -2.0 * total) * scale).astype(np.int64)
    endless = int(np.maximum(units, 0).sum()) + 1
    source, sink = n, n + 1
    gains, losses = np.flatnonzero(units > 0), np.flatnonzero(units < 0)
    # The network with an arc back for every arc, of capacity 0 where there is none
    tails = np.concatenate([np.full(len(gains), source), losses, before])
    heads = np.concatenate([gains, np.full(len(losses), sink), after])
    capacities = np.concatenate([units[gains], -units[losses], np.full(len(before), endless)])
    both = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    room = np.concatenate([capacities, np.zeros(len(capacities), dtype=np.int64)])
    residual = scipy.sparse.csr_array((room, both), shape=(n + 2, n + 2))
    residual.sum_duplicates()
    _saturate(residual, source, sink, endless)
    residual.eliminate_zeros()
    reached = scipy.sparse.csgraph.breadth_first_order(residual, source, return_predecessors=False)
    chosen = np.zeros(n + 2, dtype=bool)
    chosen[reached] = True
    return chosen[:n]


def _saturate(residual: scipy.sparse.csr_array, source: int, sink: int, endless: int) -> None:
    """Push a maximum flow through the network, leaving the residual capacities in it.

    Each round solves the network in larger units, of at most 2³⁰ for what can still flow. Rounding down loses
    less than one unit per arc of a cut, which bounds what the next round has to push.
    """
    arcs = max(1, residual.nnz)
    left = endless
    while True:
        shift = max(0, left.bit_length() - _ROUND_BITS)
        scaled = residual.copy()
        scaled.data = np.minimum(residual.data >> shift, 2**_ROUND_BITS).astype(np.int32)
        # One arc before the source bounds the whole flow, which has to fit in 32 bits as well.
        capacity = min(2**_ROUND_BITS, (left >> shift) + 1)
        n = scaled.shape[0]
        data = np.concatenate([scaled.data, np.array([capacity], dtype=np.int32)])
        indices = np.concatenate([scaled.indices, np.array([source], dtype=scaled.indices.dtype)])
        indptr = np.concatenate([scaled.indptr, scaled.indptr[-1:] + 1])
        bounded = scipy.sparse.csr_array((data, indices, indptr), shape=(n + 1, n + 1))
        pushed = scipy.sparse.csgraph.maximum_flow(bounded, residual.shape[0], sink).flow[:-1, :-1]
        # What was pushed, all of it on the pattern, in the order of the pattern's data
        values = scipy.sparse.csr_array(pushed)
        values.sort_indices()
        width = residual.shape[1]
        rows = np.repeat(np.arange(residual.shape[0], dtype=np.int64), np.diff(residual.indptr))
        of_pattern = rows * width + residual.indices
        rows = np.repeat(np.arange(values.shape[0], dtype=np.int64), np.diff(values.indptr))
        found = np.zeros(len(of_pattern), dtype=np.int64)
        found[np.searchsorted(of_pattern, rows * width + values.indices)] = values.data
        residual.data -= found << shift
        if shift == 0:
            return
        left = arcs << shift


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse rows a·x ≤ limit: entry e is ``values[e]`` in row ``rows[e]`` and column ``columns[e]``."""

    rows: Longs
    columns: Longs
    values: Floats
    limits: Floats


@dataclass(frozen=True, eq=False)
class LinearOptimum:
    """An optimal point, its value, and an upper bound that the dual solution proves."""

    point: Floats
    value: float
    bound: float


def greatest(gains: Floats, constraints: Rows) -> LinearOptimum | None:
    """Maximise gains · x over 0 ≤ x ≤ 1 under constraints; None if no x meets them.

    Raises ArithmeticError if the solver ends without an answer.
    """
    shape = (len(constraints.limits), len(gains))
    matrix = scipy.sparse.csr_array(
        (constraints.values, (constraints.rows, constraints.columns)), shape=shape
    )
    tight = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
    found = scipy.optimize.linprog(
        -gains, matrix, constraints.limits, bounds=(0.0, 1.0), method="highs", options=tight
    )
    if found.status == _INFEASIBLE:
        return None
    if found.status:
        raise ArithmeticError(f"the linear programme was not solved: {found.message}")
    # Any prices ≥ 0 bound the optimum: g·x ≤ p·b + Σ max(0, g − pA) for all admitted x.
    prices = np.maximum(0.0, -found.ineqlin.marginals)
    reduced = gains - matrix.T @ prices
    bound = float(prices @ constraints.limits + np.maximum(0.0, reduced).sum())
    return LinearOptimum(np.clip(found.x, 0.0, 1.0), float(-found.fun), bound)

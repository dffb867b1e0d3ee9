"""First rules of one record: nodes along a way from ⊥ to the record as it is.

The way takes the steps in the order of what they cost per utility, the cost being the logarithm of the count
that is lost if attributes were independent plus a share of the weight. |ρ| along it falls, so that one pass
counts all its nodes.
"""

from __future__ import annotations

import math

import numpy as np

from app.domain.counting.bitsets import Words, members_of, size_of
from app.domain.search.chains import Chains, Floats
from app.domain.search.goal import Goal, Rated
from app.domain.search.least_weights import Longs
from app.domain.search.near_rows import NearRows

SHARES = (1.0, 4.0)
"""Parts of the weight in the cost, against the logarithm of the count."""
FEW = 2**9


def way_down(chains: Chains, share: float) -> Longs:
    """Nodes from ⊥ on, each specialising one attribute of the one before, int64 (nodes, k)."""
    levels = chains.top.copy()
    costs = _costs(chains, share)
    moves: list[tuple[float, int, int]] = []
    for j, (low, top) in enumerate(zip(chains.low.tolist(), chains.heights, strict=True)):
        moves += [(slope, j, level) for slope, level in _hull(costs[j], chains.utility[j], low, top)]
    nodes = [levels.copy()]
    # A hull's slopes rise from ⊥ down, so that sorting keeps each attribute's order.
    for _, j, level in sorted(moves, key=lambda move: (move[0], move[1], -move[2])):
        levels[j] = level
        nodes.append(levels.copy())
    return np.array(nodes)


def _costs(chains: Chains, share: float) -> Floats:
    """What each level costs, 0 at ⊥ (k, levels)."""
    whole = float(np.where(np.isfinite(chains.weights[:, 0]), chains.weights[:, 0], 0.0).sum())
    weights = chains.weights - chains.weights[:, -1:]
    costs: Floats = np.where(np.isfinite(weights), weights, 0.0) * (share / whole if whole > 0 else 0.0)
    n = chains.index.n_entities
    for q, j in enumerate(chains.linked):
        for level in range(int(chains.low[j]), chains.heights[j]):
            costs[j, level] += math.log(max(1, n) / max(1, chains.index.size(q, int(chains.nodes[j, level]))))
    return costs


def _hull(costs: Floats, utility: Floats, low: int, top: int) -> list[tuple[float, int]]:
    """Levels on the lower convex hull of cost over utility from ⊥ down, each with the slope to it."""
    found: list[tuple[float, int]] = []
    level = top
    while level > low:
        below = np.arange(low, level)
        gains, prices = utility[below] - utility[level], costs[below] - costs[level]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.where(gains > 0, prices / gains, np.inf)
        at = int(slopes.argmin())
        if not np.isfinite(slopes[at]):
            break
        # Of equal slopes the first is the longest way down.
        level = int(below[at])
        found.append((float(slopes[at]), level))
    if level > low:
        found.append((math.inf, low))
    return found


def counts_along(chains: Chains, nodes: Longs) -> Longs:
    """|ρ| of nodes that each specialise one attribute of the one before, from ⊥ on."""
    counts = np.full(len(nodes), chains.index.n_entities, dtype=np.int64)
    changed = (nodes[1:] != nodes[:-1]).argmax(axis=1) if nodes.shape[1] else np.empty(0, dtype=np.int64)
    linked = {j: q for q, j in enumerate(chains.linked)}
    words: Words | None = None
    done = len(nodes)
    for i, j in enumerate(changed.tolist(), start=1):
        counts[i] = counts[i - 1]
        if j not in linked or not chains.nodes[j, nodes[i, j]]:
            continue
        here = chains.index.of(linked[j], int(chains.nodes[j, nodes[i, j]]))
        words = here if words is None else words & here
        counts[i] = size_of(words)
        if counts[i] <= FEW:
            done = i + 1
            break
    if done < len(nodes) and words is not None:
        thresholds = NearRows.listed(chains, members_of(words))
        first = np.full(len(thresholds), len(nodes), dtype=np.int64)
        for i in range(done, len(nodes)):
            j = int(changed[i - 1])
            lost = thresholds[:, j] > nodes[i, j]
            first[lost] = np.minimum(first[lost], i)
        left = np.bincount(first, minlength=len(nodes) + 1)
        counts[done:] = len(thresholds) - np.cumsum(left)[done : len(nodes)]
    if chains.own is not None:
        counts += (chains.own > nodes).any(axis=1)
    return counts


def first_rule(goal: Goal) -> tuple[Rated | None, int]:
    """The best feasible node of two ways down, None if none is feasible, and the nodes that were rated."""
    chains = goal.chains
    best: Rated | None = None
    rated = 0
    for share in SHARES:
        nodes = way_down(chains, share)
        counts = counts_along(chains, nodes)
        at = np.arange(chains.n_attributes)
        weights = chains.weights[at, nodes].sum(axis=1)
        utility = chains.utility[at, nodes].sum(axis=1)
        criteria = goal.criteria(weights, counts.astype(np.float64), utility)
        rated += len(nodes)
        first = np.where(criteria.feasible, criteria.first, np.inf)
        chosen = int(first.argmin())
        found = goal.rate(tuple(nodes[chosen].tolist()), int(counts[chosen]))
        if found is not None and goal.is_better(found, best):
            best = found
    return best, rated

"""First rules of one record: nodes along a way from ⊥ to the record as it is.

The way takes the steps in the order of what they cost per utility, the cost being the logarithm of the count
that is lost if attributes were independent plus a share of the weight. |ρ| along it falls, so that one pass
counts all its nodes.
"""

from __future__ import annotations

import numpy as np

from app.domain.counting.bitsets import Words, members_of, size_of
from app.domain.search.chains.chains import Chains, Floats
from app.domain.search.chains.goal import Goal, Rated
from app.domain.search.chains.least_weights import Longs
from app.domain.search.chains.near_rows import NearRows

SHARES = (1.0,)
"""Parts of the weight in the cost, against the logarithm of the count."""
FEW = 2**9


def way_down(chains: Chains, share: float) -> Longs:
    """Nodes from ⊥ on, each specialising one attribute of the one before, int64 (nodes, k)."""
    moves = sorted(_hulls(chains, _costs(chains, share)))
    nodes = np.tile(chains.top, (len(moves) + 1, 1))
    # A hull's slopes rise from ⊥ down, so that sorting keeps each attribute's order.
    for i, (_, j, _, level) in enumerate(moves, start=1):
        nodes[i:, j] = level
    return nodes


def _costs(chains: Chains, share: float) -> Floats:
    """What each level costs, 0 at ⊥ (k, levels)."""
    whole = float(np.where(np.isfinite(chains.weights[:, 0]), chains.weights[:, 0], 0.0).sum())
    weights = chains.weights - chains.weights[:, -1:]
    costs = np.where(np.isfinite(weights), weights, 0.0) * (share / whole if whole > 0 else 0.0)
    lost = np.log(max(1, chains.index.n_entities) / np.maximum(1, chains.sizes))
    found: Floats = costs + lost
    return found


def _hulls(chains: Chains, costs: Floats) -> list[tuple[float, int, int, int]]:
    """Steps down the lower convex hull of cost over utility of each attribute.

    Each with its slope, the attribute, its number on the attribute's way, and the level that it leads to.
    """
    found: list[tuple[float, int, int, int]] = []
    at = np.arange(chains.n_attributes)
    every = np.arange(costs.shape[1])
    level = chains.top.copy()
    for number in range(costs.shape[1]):
        open_ = (every >= chains.low[:, None]) & (every < level[:, None])
        gains = chains.utility - chains.utility[at, level][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.where(open_ & (gains > 0), (costs - costs[at, level][:, None]) / gains, np.inf)
        # Of equal slopes the first is the longest way down; steps that gain nothing come last of all.
        below = slopes.argmin(axis=1)
        slope = slopes[at, below]
        below = np.where(np.isfinite(slope), below, chains.low)
        moved = np.flatnonzero(below < level)
        if not len(moved):
            break
        here = zip(slope[moved].tolist(), moved.tolist(), below[moved].tolist(), strict=True)
        found += [(price, j, number, to) for price, j, to in here]
        level[moved] = below[moved]
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
        # When each level is left: an entity is lost where the last of its levels is.
        left_at = np.full((chains.n_attributes, chains.weights.shape[1] + 1), len(nodes))
        for i in range(done, len(nodes)):
            j = int(changed[i - 1])
            left_at[j, nodes[i, j] + 1 : nodes[i - 1, j] + 1] = i
        lost = left_at[np.arange(chains.n_attributes), thresholds].min(axis=1, initial=len(nodes))
        gone = np.bincount(lost, minlength=len(nodes) + 1)
        counts[done:] = len(thresholds) - np.cumsum(gone)[done : len(nodes)]
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

"""The least loss of disclosing q attributes where attributes are independent (Definitions: independence).

With suppress-only rules and Φ4 the loss of a record is (1/N)·∏ s_g over what it discloses, where attributes
are independent between clusters: s_g(S) = e^{Σ w}·N/|ρ_g(S)|, |ρ_g(S)| counting the entities consistent with
the record in the attributes S of cluster g alone. Everything is added up in logarithms; an empty |ρ_g(S)|
makes s_g = 0, whatever the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Floats, Longs

MAX_CLUSTER = 16


@dataclass(frozen=True, eq=False)
class ClusterChoice:
    """The best subset of one cluster's s attributes, per size 0..s and record: arrays (s + 1, r).

    ``subsets`` are numbered by their bits, bit i being the cluster's i-th attribute; ``weight`` is Σ w and
    ``log_share`` ln(|ρ_g|/N), −∞ where no entity is consistent.
    """

    subsets: Longs
    weight: Floats
    log_share: Floats


@dataclass(frozen=True, eq=False)
class LeastLoss:
    """What to disclose at least loss, per number q = 0..m of attributes and record.

    Attributes
    ----------
    disclosed
        bool (m + 1, r, m): which attributes.
    estimated_count
        float64 (m + 1, r): N·∏(|ρ_g|/N), which may be below 1.
    unclamped, clamped
        float64 (m + 1, r): Φ4 divided by that count, and Φ4 times the identification probability
        min(1, 1/count); both 0 where the count is.
    """

    disclosed: Bools
    estimated_count: Floats
    unclamped: Floats
    clamped: Floats


def log_score(weight: Floats, log_share: Floats) -> Floats:
    """Logarithm of s, −∞ where no entity is consistent, even where the weight is infinite."""
    score = np.full(weight.shape, -np.inf)
    np.subtract(weight, log_share, out=score, where=~np.isneginf(log_share))
    return score


def choose_in_cluster(
    n_entities: int, weights: Floats, count_of_subset: Callable[[int], Longs]
) -> ClusterChoice:
    """The best subset per size and record; of equal ones the first in the order of their numbers.

    Parameters
    ----------
    weights
        float64 (s, r): weight of each attribute of the cluster in each record.
    count_of_subset
        Entities consistent with each record (r,) in the attributes of a subset, given by its number.
    """
    size, rows = weights.shape
    best = np.full((size + 1, rows), np.inf)
    empty = np.zeros((size + 1, rows))
    chosen = ClusterChoice(np.full(empty.shape, -1, dtype=np.int64), empty.copy(), empty.copy())
    for subset in range(1 << size):
        members = [i for i in range(size) if subset >> i & 1]
        weight = weights[members].sum(axis=0)
        with np.errstate(divide="ignore"):
            log_share = np.log(count_of_subset(subset) / n_entities)
        score, q = log_score(weight, log_share), len(members)
        better = (score < best[q]) | (chosen.subsets[q] < 0)
        best[q, better] = score[better]
        chosen.subsets[q, better] = subset
        chosen.weight[q, better], chosen.log_share[q, better] = weight[better], log_share[better]
    return chosen


def least_loss(
    n_entities: int, clusters: Sequence[Sequence[int]], choices: Sequence[ClusterChoice]
) -> LeastLoss:
    """Spread q over the clusters at least loss, for every q, by dynamic programming over the clusters.

    ``clusters`` hold the positions of their attributes and partition 0..m−1; ``n_entities`` is N ≥ 1.
    """
    rows = choices[0].weight.shape[1]
    m = sum(len(cluster) for cluster in clusters)
    score = np.full((m + 1, rows), np.inf)
    score[0] = 0.0
    reach, sizes = 0, []
    for cluster, choice in zip(clusters, choices, strict=True):
        score, taken = _add_cluster(score, reach, log_score(choice.weight, choice.log_share))
        reach += len(cluster)
        sizes.append(taken)
    disclosed = np.zeros((m + 1, rows, m), dtype=bool)
    weight, log_share = np.zeros((m + 1, rows)), np.zeros((m + 1, rows))
    every = np.arange(rows)
    for q in range(m + 1):
        left = np.full(rows, q)
        for cluster, choice, taken in zip(
            reversed(clusters), reversed(choices), reversed(sizes), strict=True
        ):
            q_here = taken[left, every]
            left = left - q_here
            weight[q] += choice.weight[q_here, every]
            log_share[q] += choice.log_share[q_here, every]
            for i, attribute in enumerate(cluster):
                disclosed[q, :, attribute] = choice.subsets[q_here, every] >> i & 1
    possible = ~np.isneginf(log_share)
    count = n_entities * np.exp(log_share)
    unclamped, clamped = np.zeros(count.shape), np.zeros(count.shape)
    with np.errstate(over="ignore"):
        unclamped[possible] = np.exp(weight[possible] - log_share[possible]) / n_entities
        clamped[possible] = np.exp(weight[possible]) / np.maximum(count[possible], 1.0)
    return LeastLoss(disclosed, count, unclamped, clamped)


def _add_cluster(score: Floats, reach: int, own: Floats) -> tuple[Floats, Longs]:
    """Least ln ∏ s for 0..m attributes with one more cluster, and how many of them are the cluster's."""
    least = np.full(score.shape, np.inf)
    taken = np.full(score.shape, -1, dtype=np.int64)
    for q_before in range(reach + 1):
        for q_here in range(len(own)):
            q = q_before + q_here
            # Sum of logarithms in which −∞ (no consistent entity) outweighs +∞
            a = score[q_before]
            b = own[q_here]
            together = np.full(a.shape, -np.inf)
            np.add(a, b, out=together, where=~(np.isneginf(a) | np.isneginf(b)))
            better = (together < least[q]) | (taken[q] < 0)
            least[q, better] = together[better]
            taken[q, better] = q_here
    return least, taken

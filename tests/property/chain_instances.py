"""Chain records for the scalable models, from the specification and at random, and plain loops over them."""

from __future__ import annotations

import itertools
import math

import numpy as np

from app.domain.search.scalable.chain_records import ChainRecord

C1_UTILITIES = [np.array([3.0, 2, 1, 0]), np.array([2.0, 1, 0])]
C1_WEIGHTS = [np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.4, 0.2, 0.0])]
C1_THRESHOLDS = np.array([(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0), (3, 2), (3, 2)])
C1 = ChainRecord.of(C1_UTILITIES, C1_WEIGHTS, C1_THRESHOLDS)


def generated(seed, heights, n_entities):
    """The specification's generator G(seed, h, N)."""
    state = seed

    def draw(m):
        nonlocal state
        state = (1103515245 * state + 12345) % 2**31
        return (state // 2**16) % m

    def falling(h, m):
        steps = [draw(m) + 1 for _ in range(h)]
        return np.array([float(sum(steps[s:])) for s in range(h + 1)])

    utilities, weights = [], []
    for h in heights:
        utilities.append(falling(h, 6))
        weights.append(falling(h, 9))
    thresholds = [[0] * len(heights)]
    thresholds += [[draw(h + 1) for h in heights] for _ in range(n_entities - 1)]
    return ChainRecord.of(utilities, weights, np.array(thresholds))


def random_record(rng, attributes=4, height=3, entities=14, infinite=True):
    """Flat stretches, zero weights above and below ⊥, infinite weights, repeated thresholds."""
    heights = rng.integers(0, height + 1, size=rng.integers(1, attributes + 1))
    utilities = [np.sort(rng.integers(0, 5, h + 1))[::-1].astype(float) for h in heights]
    unit = float(rng.choice([1.0, 0.1, 1 / 7]))
    weights = [np.sort(rng.integers(0, 5, h + 1))[::-1] * unit for h in heights]
    for weight in weights:
        if rng.random() < 0.6:
            weight[-1] = 0.0
        if infinite and rng.random() < 0.1:
            weight[: rng.integers(0, len(weight))] = math.inf
    drawn = rng.integers(0, heights + 1, size=(rng.integers(0, entities), len(heights)))
    thresholds = np.concatenate([np.zeros((1, len(heights)), int), drawn])
    return ChainRecord.of(utilities, weights, thresholds)


def nodes_of(record):
    """Every node as levels with T, Φ and u, by loops over entities and attributes."""
    for x in itertools.product(*(range(len(chain)) for chain in record.utilities)):
        count = sum(
            int(n)
            for tau, n in zip(record.thresholds.tolist(), record.multiplicity.tolist(), strict=True)
            if all(t <= level for t, level in zip(tau, x, strict=True))
        )
        phi = record.base + sum(float(w[level]) for w, level in zip(record.weights, x, strict=True))
        utility = sum(float(d[level]) for d, level in zip(record.utilities, x, strict=True))
        yield x, count, phi, utility


def best_by_loops(record, trade_off, kappa=1, policy="exclude", offset=0.0):
    """(levels, f) of the best admitted node: greatest f, then highest utility, then least levels."""
    rated = []
    for x, count, phi, utility in nodes_of(record):
        phi += offset
        if math.isinf(phi):
            continue
        if trade_off == 0:
            rated.append((utility**kappa, utility, x))
        elif phi > 0:
            rated.append((trade_off * count / phi + utility**kappa, utility, x))
        elif policy == "unbounded":
            rated.append((math.inf, utility, x))
    if not rated:
        rated = [(u**kappa, u, x) for x, _, phi, u in nodes_of(record) if phi == 0]
    if not rated:
        return None, -math.inf
    value = max(rated)[0]
    rated = [r for r in rated if r[0] >= value - 1e-12 * max(1.0, abs(value)) or r[0] == value]
    utility = max(r[1] for r in rated)
    return min(r[2] for r in rated if r[1] >= utility - 1e-12 * max(1.0, utility)), value

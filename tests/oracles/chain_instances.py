"""Chain records for the scalable models, from the specification and at random, and plain loops over them."""

from __future__ import annotations

import itertools
import math

import numpy as np

from app.domain.search.aggregate.chain_records import ChainRecord
from tests.oracles import specified_chains
from tests.oracles.specified_chains import C1_THRESHOLDS, C1_UTILITIES, C1_WEIGHTS

C1 = ChainRecord.of(C1_UTILITIES, C1_WEIGHTS, C1_THRESHOLDS)


def generated(seed, heights, n_entities):
    """The record of the specification's generator G(seed, h, N)."""
    return ChainRecord.of(*specified_chains.generated(seed, heights, n_entities))


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

"""Random lattices of rules, and what searches of them are asked."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from app.domain.search.record_risk import ScoredLattice
from tests.oracles.effort import examples


def falling(rng, shape, steps):
    """A random array that never rises along any axis, with many ties."""
    values = rng.integers(0, steps, shape).astype(float)
    for axis in range(len(shape)):
        values = np.flip(np.maximum.accumulate(np.flip(values, axis), axis), axis)
    return values


def random_lattice(rng):
    """Monotone risks and utilities of any kind, sums or not; some risks differ by less than a tie."""
    shape = tuple(int(h) + 1 for h in rng.integers(0, 4, size=rng.integers(1, 5)))
    risk = falling(rng, shape, 5) / 7
    if rng.random() < 0.3:
        risk = risk + np.cumsum(np.ones(risk.size))[::-1].reshape(shape) * 1e-14
    if rng.random() < 0.2:
        risk[risk == risk.max()] = math.inf
    return ScoredLattice(risk, risk, falling(rng, shape, 5))


def frontier_by_hand(utility, floor):
    held = set()
    for x in itertools.product(*(range(size) for size in utility.shape)):
        above = [(*x[:j], x[j] + 1, *x[j + 1 :]) for j, size in enumerate(utility.shape) if x[j] + 1 < size]
        if utility[x] >= floor and any(utility[y] < floor for y in above):
            held.add(x)
    return held


THOROUGH = settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


QUESTIONS = st.one_of(
    st.tuples(st.just("min_risk"), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0])),
    st.tuples(st.just("max_utility"), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0])),
    st.tuples(st.just("lagrangian"), st.sampled_from([0.0, 0.05, 0.1, 0.5])),
)

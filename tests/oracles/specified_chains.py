"""The instances that the specification states for chains: weights, utilities and thresholds as arrays."""

from __future__ import annotations

import numpy as np

C1_UTILITIES = [np.array([3.0, 2, 1, 0]), np.array([2.0, 1, 0])]
C1_WEIGHTS = [np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.4, 0.2, 0.0])]
C1_THRESHOLDS = np.array([(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0), (3, 2), (3, 2)])


def generated(seed, heights, n_entities):
    """Utilities, weights and thresholds of the specification's generator G(seed, h, N)."""
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
    return utilities, weights, np.array(thresholds)

"""The canonical instances of the specification."""

from __future__ import annotations

import numpy as np

from app.domain.search.record_risk import CanonicalInstance, outer_sum, threshold_histogram
from tests.oracles import specified_chains
from tests.oracles.specified_chains import C1_THRESHOLDS, C1_UTILITIES, C1_WEIGHTS


def instance_of(weights, utilities, thresholds):
    """The instance of weights and utilities per level, and of the entities' thresholds (N, k)."""
    counts = threshold_histogram(thresholds, tuple(len(own) - 1 for own in weights))
    return CanonicalInstance(counts, outer_sum(weights), outer_sum(utilities))


C1 = instance_of(C1_WEIGHTS, C1_UTILITIES, C1_THRESHOLDS)


def with_constant_sensitivity(instance):
    """Model II: pure identification."""
    return CanonicalInstance(instance.counts, np.ones(instance.counts.shape), instance.utilities)


def generated(seed, heights, n_entities):
    """The instance of the specification's generator G(seed, h, N)."""
    utilities, weights, thresholds = specified_chains.generated(seed, heights, n_entities)
    return instance_of(weights, utilities, thresholds)

"""The canonical instances of the specification."""

from __future__ import annotations

import numpy as np

from app.domain.search.record_risk import CanonicalInstance
from tests.oracles import specified_chains
from tests.oracles.specified_chains import C1_THRESHOLDS, C1_UTILITIES, C1_WEIGHTS

C1 = CanonicalInstance.from_thresholds(C1_WEIGHTS, C1_UTILITIES, C1_THRESHOLDS)


def with_constant_sensitivity(instance):
    """Model II: pure identification."""
    return CanonicalInstance(instance.counts, np.ones(instance.counts.shape), instance.utilities)


def generated(seed, heights, n_entities):
    """The instance of the specification's generator G(seed, h, N)."""
    utilities, weights, thresholds = specified_chains.generated(seed, heights, n_entities)
    return CanonicalInstance.from_thresholds(weights, utilities, thresholds)

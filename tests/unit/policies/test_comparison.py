"""Values held against thresholds: what is sure to pass, to fail, and to be refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.policies.comparison import holds, margin


@pytest.mark.parametrize(
    ("value", "comparison", "threshold", "passes", "room"),
    [
        (5, "at_least", 5, True, 0.0),
        (4, "at_least", 5, False, -1.0),
        (5, "above", 5, False, -1.0),
        (6, "above", 5, True, 0.0),
        (5, "above", 4.5, True, 0.0),
        (4, "below", 5, True, 0.0),
        (5, "below", 5, False, -1.0),
        (5, "equals", 5, True, 0.0),
        (7, "equals", 5, False, -2.0),
        (0.1 + 5e-10, "at_most", 0.1, True, 0.0),
        (0.1 + 5e-10, "above", 0.1, False, -1e-9),
        (0.1 + 2e-9, "at_most", 0.1, False, -2e-9),
        (0.25, "at_most", 0.5, True, 0.25),
        (math.inf, "at_most", math.inf, True, 0.0),
        (math.inf, "below", math.inf, False, -math.inf),
        (7.0, "below", math.inf, True, math.inf),
        (math.inf, "at_most", 1, False, -math.inf),
        (math.inf, "at_least", 1, True, math.inf),
        (True, "equals", True, True, 0.0),
        (False, "equals", True, False, -1.0),
        (np.int64(5), "at_least", 5, True, 0.0),
        (np.bool_(True), "equals", True, True, 0.0),
    ],
)
def test_a_value_passes_and_has_room_as_said(value, comparison, threshold, passes, room):
    assert holds(value, comparison, threshold) is passes
    assert margin(value, comparison, threshold) == pytest.approx(room, rel=1e-6)


@pytest.mark.parametrize(
    ("value", "comparison", "threshold"),
    [
        (math.nan, "at_most", 1),
        (1.0, "at_most", math.nan),
        (None, "at_most", 1),
        ("5", "at_least", 1),
        (True, "at_least", True),
        (True, "equals", 1),
        (1, "equals", True),
    ],
)
def test_what_cannot_be_compared_never_passes(value, comparison, threshold):
    with pytest.raises(ValueError, match=r"compare|against|asked"):
        holds(value, comparison, threshold)

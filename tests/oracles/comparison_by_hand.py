"""Comparisons of numbers with a tolerance, as the policy language defines them."""

from __future__ import annotations

import math


def by_hand(value: float, comparison: str, threshold: float, tolerance: float) -> bool:
    if math.isinf(value) or math.isinf(threshold):
        tolerance = 0.0
    match comparison:
        case "at_least":
            return value == threshold or value >= threshold - tolerance
        case "at_most":
            return value == threshold or value <= threshold + tolerance
        case "above":
            return not by_hand(value, "at_most", threshold, tolerance)
        case "below":
            return not by_hand(value, "at_least", threshold, tolerance)
        case _:
            return by_hand(value, "at_most", threshold, tolerance) and by_hand(
                value, "at_least", threshold, tolerance
            )

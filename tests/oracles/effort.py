"""How many random instances a property is tried on."""

from __future__ import annotations

import os

EFFORT = float(os.environ.get("PRIVACY_RISK_TEST_EFFORT", "0.15"))
"""Share of the instances that a property asks for."""

LEAST = int(os.environ.get("PRIVACY_RISK_TEST_LEAST", "10"))
"""Instances that every property is tried on at least."""


def examples(wanted: int) -> int:
    """How many of the instances to try."""
    return max(LEAST, round(EFFORT * wanted))

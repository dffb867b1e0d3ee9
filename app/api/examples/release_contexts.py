"""Contexts of releases: one that everybody can have, one for a partner, one under an expert's number."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import Examples

CONTEXTS: Final[Examples] = {
    "partner": {
        "summary": "a partner under contract, whose staff may know somebody in the data",
        "value": {
            "name": "members-for-a-partner",
            "release_model": "non_public",
            "invasion_of_privacy": "medium",
            "controls": "medium",
            "motives_and_capacity": "medium",
            "prevalence": {"value": 0.0005, "reason": "Members per inhabitant of the county, 2025."},
            "breach": {"value": 0.25, "reason": "Breaches reported by organisations of this kind, 2025."},
        },
    },
    "public": {
        "summary": "published for everybody: an attack is certain",
        "value": {"release_model": "public", "invasion_of_privacy": "high"},
    },
    "expert": {
        "summary": "semi-public, with an expert's number for a risk that is very small",
        "value": {
            "release_model": "semi_public",
            "threshold": {"value": 0.04, "reason": "Our expert's determination of 3 May 2026, part 4."},
            "prevalence": {"value": 0.002, "reason": "Disease register, 2025."},
            "breach": {"value": 0.1, "reason": "Assumed: nothing is published on this industry."},
        },
    },
}

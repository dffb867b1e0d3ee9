"""What harm the members would come to."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import bodies

SENSITIVITY_PROFILES: Final = bodies(
    {
        "name": "members-harm",
        "dataset": "members",
        "family": "multiplicative",
        "attributes": {
            "city": {"leaves": 0.3},
            "race": {"leaves": 0.4},
            "birth_date": {"leaves": 0.5},
            "income": {"leaves": 0.75},
        },
    },
    {
        "name": "members-harm-together",
        "dataset": "members",
        "family": "interactions",
        "attributes": {
            "city": {"leaves": 0.3},
            "race": {"leaves": 0.4},
            "birth_date": {"leaves": 0.5},
            "income": {"leaves": 0.75},
        },
        "interactions": {
            "sets": [
                {"attributes": ["city", "birth_date"], "weight": 0.5},
                {"attributes": ["city", "birth_date", "income"], "weight": 1},
            ]
        },
        "normalisation": {"rule": "at_most", "total": 1.5, "mode": "rescale"},
        "unit": "days of trouble",
        "viewpoint": "data_subject",
    },
    {
        "name": "members-harm-added",
        "dataset": "members",
        "family": "linear",
        "attributes": {
            "city": {"leaves": 0.3},
            "race": {"leaves": 0.4},
            "birth_date": {"leaves": 0.5},
            "income": {"leaves": 0.75},
        },
    },
    {
        "name": "members-suspicion",
        "dataset": "members",
        "family": "constant",
        "constant": 0.1,
        "viewpoint": "organisation",
    },
    members_harm="a weight per attribute, less for less exact values",
    members_harm_together="values that do more harm together than apart, and nobody above a total",
    members_harm_added="a weight per attribute, added up: what polynomial algorithms need",
    members_suspicion="the same harm for every record: for Ψ, where the attacker names the wrong person",
)

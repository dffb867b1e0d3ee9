"""What the page of an audit says of the tables that were drawn."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from app.domain.mechanisms.mechanism_audit import AuditedMechanism, hard_pairs
from app.domain.mechanisms.sampled_generalisation import SAMPLED_GENERALISATION, SampledGeneralisation
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.web.visits import Page, rendered

KNOWN = {"dictionary": {"leaf": ("a", "b")}, "trade_off": 0.05}
ASKED = {"epsilon": 1.0, "delta": 0.01, "least_records": 1}


@pytest.mark.parametrize(
    ("mechanism", "asked", "few"),
    [
        (STABILITY_HISTOGRAM, StabilityHistogram(**ASKED, **KNOWN), True),
        (STABILITY_HISTOGRAM, StabilityHistogram(**ASKED), False),
        (
            SAMPLED_GENERALISATION,
            SampledGeneralisation(**ASKED, **KNOWN, sampling_rate=0.1, exponent_range=1.0),
            False,
        ),
    ],
)
def test_few_records_of_a_value_are_told_of_exactly_where_they_were_drawn(mechanism, asked, few):
    pairs = hard_pairs(AuditedMechanism(mechanism, asked, 1.0, 0.01))
    assert ("2 of a" in pairs) == few
    test = {"order": "more over less", "event": "no rows a", "least_epsilon": 0.0, "attainable": 5.0}
    result = {
        "verdict": "not refuted",
        "is_refuted": False,
        "needs": [],
        "tests": [test | {"pair": pair} for pair in pairs],
    }
    audit = {
        "name": "tried",
        "mechanism": mechanism.name,
        "parameters": asdict(asked),
        "epsilon": 1.0,
        "delta": 0.01,
        "runs": 1_000,
        "sha256": "0" * 64,
        "result": result,
    }
    said = bytes(
        rendered(Page("mechanism_audit.html", {"audit": audit, "run": None, "entities": 2})).body
    ).decode()
    assert ("second or third of its value" in said) == few

"""What several draws of the same data rest on together, of which not all are still there."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from app.domain.mechanisms.audit_tables import table_of
from app.domain.mechanisms.privacy_loss import PrivacyLoss
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.services.fingerprints import plain
from app.services.releases.draws import Draw
from app.services.releases.mechanism_manifests import together
from app.services.resources import Kind, Stored

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KNOWN = {"dictionary": {"leaf": ("a", "b")}, "trade_off": 0.05}
GONE = Draw(
    "gone", "0" * 64, NOW, is_stored=True, loss=PrivacyLoss(Fraction(1), Fraction(1, 10**6)), least_records=9
)


def released(**more) -> Stored:
    """The release of a draw of small tables."""
    asked = StabilityHistogram(epsilon=1.0, delta=1e-6, least_records=9, **more)
    guarantees = [
        plain(asdict(own)) for own in STABILITY_HISTOGRAM.plan(table_of((1, 9, 0)), asked).guarantees
    ]
    summary = {"mechanism": {"name": STABILITY_HISTOGRAM.name, "guarantees": guarantees}}
    return Stored("r", Kind.RELEASE, "r", "0" * 64, NOW, summary)


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ([released(), released()], None),
        ([released(**KNOWN), released()], "assumed"),
        ([GONE, released()], "assumed"),
        ([GONE, released(**KNOWN)], "assumed"),
    ],
    ids=["none", "one", "maybe the one that is gone", "maybe both"],
)
def test_that_a_dictionary_is_public_is_assumed_if_any_draw_may_have_had_one(draws, expected):
    rests_on = [(own["id"], own["holds"]) for own in together(draws, {})["hypotheses"]]
    assert dict(rests_on).get("dictionary_is_public") == expected
    assert len(dict(rests_on)) == len(rests_on)

"""Settings of tenants: read strictly, laid over the service's defaults."""

from __future__ import annotations

import pytest

from app.composition.configured import tenant_defaults
from app.domain.errors import InvalidInput
from app.services.access.tenant_settings import DEFAULT, USUAL, TenantSettings, parsed
from app.settings import Settings


def test_texts_are_read_as_numbers_no_limit_or_the_default():
    texts = {"results_days": "90", "stored_bytes": "unlimited", "uploads": "default"}
    assert parsed(texts) == {"results_days": 90, "stored_bytes": None, "uploads": DEFAULT}


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "36501", "9" * 5000, "\u0663", "none", "1_0", " 1"])
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        parsed({"results_days": text})
    assert caught.value.faults[0].pointer == "/results_days"


def test_an_unknown_setting_is_refused_and_the_known_are_named():
    with pytest.raises(InvalidInput) as caught:
        parsed({"datasets_days": "3"})
    assert "results_days" in caught.value.remedy


def test_what_is_not_changed_stays_and_what_a_later_service_knows_is_passed_over():
    settings = USUAL.changed({"results_days": 90, "uploads": DEFAULT, "of_tomorrow": 3})
    assert settings == TenantSettings(results_days=90)


def test_the_environment_gives_the_defaults(monkeypatch):
    assert tenant_defaults(Settings()) == USUAL
    monkeypatch.setenv("PRIVACY_RISK_TENANT_RESULTS_DAYS", "unlimited")
    monkeypatch.setenv("PRIVACY_RISK_TENANT_DATASETS", "7")
    assert tenant_defaults(Settings()) == TenantSettings(results_days=None, datasets=7)


@pytest.mark.parametrize("value", ["0", "36501", "many"])
def test_an_environment_that_makes_no_sense_is_refused(monkeypatch, value):
    monkeypatch.setenv("PRIVACY_RISK_TENANT_RESULTS_DAYS", value)
    with pytest.raises(ValueError, match="tenant_results_days"):
        Settings()

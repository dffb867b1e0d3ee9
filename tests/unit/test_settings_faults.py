"""A setting that is none ends every command with status 2, named and without its value."""

from __future__ import annotations

import sys

import pytest

from app.main import main
from app.settings import Settings


@pytest.mark.parametrize(
    ("variable", "value"), [("PRIVACY_RISK_PORT", "s3cret"), ("PRIVACY_RISK_WEBHOOK_NETWORKS", "s3cret")]
)
def test_a_setting_that_is_none_ends_the_command_with_status_2(variable, value, monkeypatch, capsys):
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "argv", ["privacy-risk", "gate", "policy.yaml"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert variable in (said := capsys.readouterr().err)
    assert value not in said


@pytest.mark.parametrize("variable", ["PRIVACY_RISK_UPLOAD_MAX_CELL_BYTES", "PRIVACY_RISK_UPLOAD_MAX_CELL"])
def test_the_longest_cell_is_set_by_its_name_and_by_the_one_it_had(variable, monkeypatch):
    monkeypatch.setenv(variable, "77")
    assert Settings().upload_max_cell_bytes == 77

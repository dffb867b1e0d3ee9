"""A setting that is none ends every command with status 2, named and without its value."""

from __future__ import annotations

import sys

import pytest

from app.main import main
from app.settings import Settings

POLICY = """\
format: privacy-risk/policy/2
name: small
version: 1
title: Small
schema: {attributes: {city: quasi_identifier}}
assumes: {attacker: Anybody who knows the quasi-identifiers.}
requirements:
- id: alike
  title: Two are alike
  reason: Nobody is alone.
  requirement: {kind: privacy_model, model: {kind: k_anonymity, k: 2}}
"""


@pytest.mark.parametrize(
    "argv", [["doctor"], ["gate", "policy.yaml", "--dataset", "members.csv"]], ids=" ".join
)
@pytest.mark.parametrize("variable", ["PRIVACY_RISK_PORT", "PRIVACY_RISK_WEBHOOK_NETWORKS"])
def test_a_setting_that_is_none_ends_a_command_that_needs_it_with_status_2(
    variable, argv, monkeypatch, capsys, tmp_path
):
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "members.csv").write_text("city\nGary\nGary\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "s3cret")
    monkeypatch.setattr(sys, "argv", ["privacy-risk", *argv])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert variable in (said := capsys.readouterr().err)
    assert "s3cret" not in said


def test_a_small_table_is_measured_whatever_the_settings_of_a_service_are(monkeypatch, capsys, tmp_path):
    (tmp_path / "members.csv").write_text("id,city\n1,Gary\n2,Gary\n")
    monkeypatch.setenv("PRIVACY_RISK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PRIVACY_RISK_PORT", "s3cret")
    monkeypatch.setattr(
        sys, "argv", ["privacy-risk", "profile", str(tmp_path / "members.csv"), "--quasi-identifiers", "city"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize("variable", ["PRIVACY_RISK_UPLOAD_MAX_CELL_BYTES", "PRIVACY_RISK_UPLOAD_MAX_CELL"])
def test_the_longest_cell_is_set_by_its_name_and_by_the_one_it_had(variable, monkeypatch):
    monkeypatch.setenv(variable, "77")
    assert Settings().upload_max_cell_bytes == 77


@pytest.mark.parametrize("address", ["tls://scheduler:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:8786"])
def test_a_cluster_is_talked_to_by_tls_or_on_this_machine(address, monkeypatch):
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    monkeypatch.setenv("PRIVACY_RISK_CLUSTER", address)
    assert Settings().cluster == address


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("tcp://scheduler:8786", "must be an address with tls: personal data travel"),
        ("https://scheduler:8786", "should match pattern"),
        ("tls://scheduler", "should match pattern"),
    ],
)
def test_a_cluster_to_which_data_would_travel_in_clear_is_refused(address, says, monkeypatch):
    monkeypatch.setenv("PRIVACY_RISK_CLUSTER", address)
    with pytest.raises(ValueError, match=says):
        Settings()


def test_a_cluster_needs_dask_where_the_service_runs(monkeypatch):
    monkeypatch.setattr("app.settings.find_spec", lambda name: None)
    monkeypatch.setenv("PRIVACY_RISK_CLUSTER", "tls://scheduler:8786")
    with pytest.raises(ValueError, match=r"privacy-risk\[cluster\]"):
        Settings()

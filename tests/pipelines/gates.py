"""The gate from pytest and from Great Expectations, in an environment that has only the client.

Run by ``run`` in the folder of the release that dbt has made.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import great_expectations as gx
import pandas as pd
import pytest

from privacy_risk.expectations import ExpectTableToPassPrivacyGate

POLICY, ORIGINAL = "gate/policy.yaml", "data/members.csv"
SERVER = os.environ["PRIVACY_RISK_SERVER"]
ASKED = {"server": SERVER, "key": os.environ["PRIVACY_RISK_API_KEY"]}


@pytest.fixture(scope="module")
def original():
    return pd.read_csv(ORIGINAL, dtype=str)


@pytest.fixture(scope="module")
def released(original):
    """Only races that five members have; the release that lies there is the one that was refused."""
    columns = {"city": "*", "race": original["race"], "birth_date": "*", "income": original["income"]}
    frame = pd.DataFrame(columns)
    frame.loc[frame.groupby("race")["race"].transform("size") < 5] = "*"
    return frame.sort_values(["race", "income"]).reset_index(drop=True)


@pytest.fixture(scope="module")
def refused():
    return pd.read_csv("target/members-release.csv", dtype=str)


def test_a_table_that_passes_passes_the_test(privacy_gate, original, released):
    verdict = privacy_gate(POLICY, released, original=original, **ASKED)
    assert verdict.passed
    assert verdict.policy == "members-release@1"


def test_a_table_that_fails_fails_the_test_with_the_reasons(privacy_gate, original, refused):
    with pytest.raises(pytest.fail.Exception, match="Classes of at least 5") as raised:
        privacy_gate(POLICY, refused, original=original, **ASKED)
    assert str(raised.value).startswith("fail: members-release@1")


def expectation(**instead):
    return ExpectTableToPassPrivacyGate(
        **{"policy": POLICY, "original": ORIGINAL, "server": SERVER, **instead}
    )


def batch_of_frame(frame):
    source = gx.get_context(mode="ephemeral").data_sources.add_pandas("frames")
    asset = source.add_dataframe_asset("released")
    return asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": frame})


@pytest.fixture
def batch_of_database(released, tmp_path):
    path = tmp_path / "released.db"
    with closing(sqlite3.connect(path)) as database:
        released.to_sql("released", database, index=False)
    source = gx.get_context(mode="ephemeral").data_sources.add_sqlite(
        "database", connection_string=f"sqlite:///{path}"
    )
    asset = source.add_table_asset("released", table_name="released")
    return asset.add_batch_definition_whole_table("all").get_batch()


def test_an_expectation_is_met_by_what_passes(released):
    result = batch_of_frame(released).validate(expectation())
    assert result.success, result
    assert result.result["observed_value"]["outcome"] == "pass"


def test_the_whole_table_of_a_database_is_judged(batch_of_database):
    assert batch_of_database.validate(expectation()).success


def test_an_expectation_is_not_met_by_what_fails_and_says_why(refused):
    result = batch_of_frame(refused).validate(expectation())
    assert not result.success
    assert any("Classes of at least 5" in reason for reason in result.result["observed_value"]["reasons"])


def test_what_cannot_be_judged_has_not_passed(released):
    result = batch_of_frame(released).validate(expectation(policy="gate/none.yaml"))
    assert not result.success
    assert result.result["observed_value"]["outcome"] == "error"
    assert "no file gate/none.yaml" in result.result["observed_value"]["reasons"][0]


def test_a_suite_keeps_the_expectation_and_no_key(released):
    suite = gx.ExpectationSuite(name="release", expectations=[expectation()])
    stored = str(suite.to_json_dict())
    assert "expect_table_to_pass_privacy_gate" in stored
    assert ASKED["key"] not in stored
    assert batch_of_frame(released).validate(suite).success

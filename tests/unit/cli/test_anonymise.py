"""The command ``anonymise``: what it asks of the functions, and how it says what is wrong."""

from __future__ import annotations

import argparse

import pytest

from app.cli import anonymise
from app.domain.errors import InvalidInput


def arguments(tmp_path, *options, text="zip;sex\n02139;f\n02138;m\n"):
    table = tmp_path / "people.csv"
    table.write_text(text)
    parser = argparse.ArgumentParser()
    anonymise.add_parser(parser.add_subparsers())
    output = tmp_path / "release.csv"
    return parser.parse_args(["anonymise", str(table), "--output", str(output), *options])


def no_service():
    raise AssertionError("a service was started")


@pytest.mark.parametrize(
    ("options", "pointer", "fault"),
    [
        (["--k", "3"], "--k", "The table has 2 rows"),
        (["--k", "2", "--max-suppressed", "2"], "--max-suppressed", "2.0 is out of range"),
        (["--k", "2", "--l", "ill=2"], "--l", "The table has no column 'ill'"),
        (["--k", "2", "--l", "2", "3"], "--l", "'2' names no column"),
        (["--k", "2", "--l", "sex=many"], "--l", "'many' is no number"),
        (["--k", "2", "--beta", "sex=0"], "--beta", "0 is out of range"),
        (["--k", "2", "--beta", "sex=-1"], "--beta", "'-1' is no number"),
        (["--k", "2", "--beta", "sex=nan"], "--beta", "'nan' is no number"),
        (["--k", "2", "--beta", "1000001"], "--beta", "1000001 is out of range"),
        (["--k", "2", "--beta", "9" * 400], "--beta", "inf is out of range"),
        (["--k", "2", "--beta", "ill=2"], "--beta", "The table has no column 'ill'"),
        (["--k", "2", "--beta", "sex=2.00000000000000000001"], "--beta", "is not kept exactly"),
        (["--k", "2", "--quasi-identifiers", "plz"], "--quasi-identifiers", "no column 'plz'"),
        (["--k", "2", "--identifier", "plz"], "--identifier", "no column 'plz'"),
        (["--k", "2", "--hierarchy", "zip"], "--hierarchy", "'zip' names no column"),
        (["--k", "2", "--hierarchy", "plz=x.csv"], "--hierarchy", "no column 'plz'"),
        (["--k", "2", "--save-policy", "/nowhere/policy.yaml"], "--save-policy", "no folder /nowhere"),
        (["--k", "2", "--reason", "sex=Known."], "--reason", "written into a policy"),
        (["--k", "2", "--reason", "Known."], "--reason", "'Known.' names no column"),
        (["--k", "2", "--importance", "zip=-1"], "--importance", "'-1' is no number"),
        (["--k", "2", "--choose", "levels_per_record"], "--choose", "belongs to a comparison"),
        (["--k", "2", "--important", "zip"], "--important", "belongs to a comparison"),
        (["--k", "2", "--compare"], "--choose", "one release that is written"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_the_option_before_a_service_is_started(tmp_path, options, pointer, fault):
    with pytest.raises(InvalidInput) as raised:
        anonymise.run(arguments(tmp_path, *options), no_service)
    (own,) = raised.value.faults
    assert (own.pointer, fault in own.message) == (pointer, True)
    assert own.remedy
    assert not (tmp_path / "release.csv").exists()


def test_a_table_without_rows_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="The table has no rows") as raised:
        anonymise.run(arguments(tmp_path, "--k", "1", text="zip;sex\n"), no_service)
    assert raised.value.faults[0].pointer == str(tmp_path / "people.csv")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("a,a\n1,x\n2,y\n", "--header"),
        ("a,b,\n1,x\n2,y\n", "--delimiter"),
        ("land,n\nDE,1\nNA,2\nFR,3\n", "--missing-marker"),
    ],
)
def test_a_doubt_is_told_by_its_option_before_a_service_is_started(tmp_path, text, option):
    with pytest.raises(InvalidInput) as raised:
        anonymise.run(arguments(tmp_path, "--k", "2", text=text), no_service)
    (own,) = raised.value.faults
    assert (own.pointer, option in own.remedy) == (option, True)
    assert not (tmp_path / "release.csv").exists()


@pytest.mark.parametrize(
    "option", ["--delimiter", "--encoding", "--missing-marker", "--date-format", "--header"]
)
def test_a_table_that_is_described_is_read_as_described(tmp_path, option):
    (tmp_path / "tables.toml").write_text(
        '[dataset]\nname = "people"\nfile = "people.csv"\n[dataset.attributes.zip]\n'
    )
    said = {"--header": "true", "--date-format": "born=dd/mm/yyyy"}.get(option, ",")
    asked = arguments(tmp_path, "--k", "2", "--tables", str(tmp_path / "tables.toml"), option, said)
    with pytest.raises(InvalidInput) as raised:
        anonymise.run(asked, no_service)
    assert (raised.value.faults[0].pointer, raised.value.faults[0].code) == (option, "two-descriptions")


def test_a_number_is_for_all_attributes_or_for_one(tmp_path):
    asked = arguments(tmp_path, "--k", "2", "--l", "3", "--t", "sex=0.25")
    assert anonymise._numbers("--l", asked.l) == 3
    assert anonymise._numbers("--t", asked.t) == {"sex": 0.25}
    assert anonymise._numbers("--t", []) is None

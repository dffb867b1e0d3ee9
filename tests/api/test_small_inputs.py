"""Small inputs that once went wrong, each by the commands: what is right for it is printed, or asked for.

They stand beside the public data sets. Each stands for its whole kind, which tests of its own try.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

DATA = os.environ.get("PRIVACY_RISK_DATA")
CASES = Path(DATA or "") / ".." / "cases"
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA or not CASES.is_dir(), reason="no small inputs beside PRIVACY_RISK_DATA"),
]
PERSONS = ("--rows-are", "persons")
DIAGNOSES = ("--quasi-identifiers", "g", "--sensitive", "colour", *PERSONS)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Files without a folder are written there."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("header-twice", "--header true"),
        ("header-of-numbers", "--header true"),
        ("header-sep-line", "only tells Excel the delimiter"),
        ("header-ends-with-comma", "Column 4 has no name"),
        ("blank-line-inside", "fewer cells in rows 2, 4"),
        ("comment-lines", "begins with #"),
        ("dates-either-way", "--date-format born=dd/mm/yyyy"),
        ("namibia", "--missing-marker"),
        ("lone-carriage-returns", "carriage return alone"),
    ],
)
@pytest.mark.parametrize("asked", [("profile",), ("anonymise", "--k", "5", "-o", "r.csv")])
async def test_where_a_guess_would_change_numbers_it_is_asked_for(console, capsys, file, said, asked):
    assert await console(*asked, CASES / f"{file}.csv", *PERSONS) == 1
    found = capsys.readouterr()
    assert said in found.err
    assert not found.out


@pytest.mark.parametrize(
    ("file", "more", "k", "said"),
    [
        ("visits", (), 1, "Persons are counted, by the column pid: 8 have 15 rows."),
        ("hospital-visits", (), 1, "Persons are counted, by the column patient: 150 have 1,800 rows."),
        ("times-iso", PERSONS, 1, "60 records in 60 classes"),
        ("times-german", PERSONS, 1, "60 records in 60 classes"),
        (
            "missing-markers",
            ("--quasi-identifiers", "grp", *PERSONS),
            1,
            "Read as values, though they often mean that one is missing",
        ),
        ("namibia", ("--missing-marker", "", *PERSONS), 10, "country"),
        ("pandas-index", PERSONS, 1, "it is called index and left out"),
        ("code-after-10000-rows", PERSONS, 8, "10,020 records in 14 classes"),
        ("utf16-without-mark", PERSONS, 1, "utf-16-le"),
        ("every-row-has-a-gap", ("--missing", "excluded", *PERSONS), None, "left out"),
    ],
)
async def test_a_profile_counts_what_the_file_holds(console, capsys, file, more, k, said):
    asked = ("profile", CASES / f"{file}.csv", *more)
    assert await console(*asked) == 0
    assert said in capsys.readouterr().out
    assert await console(*asked, "--json") == 0
    figures = json.loads(capsys.readouterr().out)["result"]["figures"]
    found = [own["value"] for own in figures if (own["measure"], own["name"]) == ("equivalence_classes", "k")]
    assert found == [k]


async def test_values_without_an_order_have_no_ordered_distance(console, capsys):
    for file in ("nominal", "nominal-renamed"):
        assert await console("profile", CASES / f"{file}.csv", *DIAGNOSES, "--json") == 0
        figures = json.loads(capsys.readouterr().out)["result"]["figures"]
        found = {own["name"]: own["value"] for own in figures if own["measure"] == "t_closeness"}
        assert found["t.equal"] == pytest.approx(1 / 3)
        assert "t.ordered" not in found


async def test_what_a_hierarchy_lacks_is_named_with_the_rows_and_the_remedy(console, capsys):
    hierarchy = f"city={CASES / 'hierarchy-lacks-city.hierarchy.csv'}"
    for asked in (("profile",), ("anonymise", "--k", "2", "-o", "r.csv")):
        table = CASES / "hierarchy-lacks-city.csv"
        assert await console(*asked, table, "--hierarchy", hierarchy, *PERSONS) == 1
        said = capsys.readouterr().err
        assert "'city' lacks 1 of the column's values, in row" in said
        assert "Add them to the hierarchy" in said


async def test_the_second_file_of_a_name_is_profiled_as_it_is(console, tmp_path, capsys):
    table = tmp_path / "daily.csv"
    for file, rows in (("daily-first", 4), ("daily-second", 5)):
        table.write_bytes((CASES / f"{file}.csv").read_bytes())
        assert await console("profile", table, *PERSONS) == 0
        assert f"daily.csv: {rows} records" in capsys.readouterr().out


async def test_a_table_that_is_suppressed_as_a_whole_is_called_so(console, capsys, tmp_path):
    asked = ("--quasi-identifiers", "a", "b", "--k", "2", "--max-suppressed", "1", *PERSONS)
    assert await console("anonymise", CASES / "all-unique.csv", *asked, "-o", tmp_path / "r.csv") == 0
    assert "6 records, all suppressed (100.00 %): every cell of the release is *" in capsys.readouterr().out
    assert set((tmp_path / "r.csv").read_text().splitlines()[1:]) == {"*,*"}


async def test_a_described_marker_does_not_make_a_gate_refuse_the_products_own_release(
    console, capsys, tmp_path
):
    tables, release, policy = CASES / "declared-missing.toml", tmp_path / "r.csv", tmp_path / "p.yaml"
    asked = ("--k", "2", "-o", release, "--save-policy", policy)
    assert await console("anonymise", "--tables", tables, *asked) == 0
    assert await console("gate", policy, "--tables", tables, "--release", release) == 0
    assert "PASS" in capsys.readouterr().out

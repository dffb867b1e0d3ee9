"""``judge-synthetic`` and ``judge_synthetic``: what is found, told and refused."""

import json
import random

import pandas as pd
import pytest

import privacy_risk as pr
from app.cli.operations import Operations
from app.cli.program import run


def people(seed, rows=200):
    draw = random.Random(seed)
    return pd.DataFrame(
        {
            "age": [draw.randrange(18, 90) for _ in range(rows)],
            "town": [draw.choice("ABCDEFGH") for _ in range(rows)],
            "job": [draw.choice(("cook", "clerk", "nurse", "smith")) for _ in range(rows)],
            "pay": [draw.randrange(1_000, 9_000) for _ in range(rows)],
        }
    )


@pytest.fixture
def judge(tmp_path, capsys):
    """Judges frames or texts written to files: exit status, what is printed, what is told as an error."""

    def run_judge(original, synthetic, holdout=None, *more):
        paths = []
        for name, own in (("original", original), ("synthetic", synthetic), ("holdout", holdout)):
            path = tmp_path / f"{name}.csv"
            if own is not None:
                path.write_text(own if isinstance(own, str) else own.to_csv(index=False))
                paths.append(str(path))
        options = [] if holdout is None else ["--holdout", paths.pop()]
        command = ["judge-synthetic", *paths, *options, "--seed", "1", "--attacks", "100", *more]
        status = run(command, object.__new__(Operations))
        out, err = capsys.readouterr()
        return status, out, err

    return run_judge


def test_copied_rows_are_told_first_and_the_leak_is_found(judge, tmp_path):
    page = tmp_path / "report.html"
    original = people(1)
    status, out, err = judge(
        original, original.head(100), people(2), "--secret", "job", "--html", str(page)
    )  # fmt: skip
    assert (status, err) == (0, "")
    first, second, *_ = out.splitlines()
    assert first.startswith("100 of 100 synthetic rows equal a row of the original, 100 of them")
    assert second.startswith("The table gives away more about its people than about others: ")
    assert "Assumed: a row is a person, and the rows held out are independent" in out
    html = page.read_text()
    assert first in html
    assert "by the first two principal components of the original" in html
    assert "src=" not in html


def test_an_independent_table_gives_no_leak_and_no_proof(judge):
    status, out, _ = judge(people(1), people(3), people(2))
    assert status == 0
    assert "These attacks found no leak. That is no proof that there is none." in out
    assert "No secret was named, so inference was not attacked." in out


def test_without_rows_held_out_it_is_said_what_cannot_be_told(judge):
    original = people(1)
    _, out, _ = judge(original, original)
    assert "Without rows held out nobody can tell how much of it is a leak" in out


def test_a_program_gets_all_numbers_and_the_same_for_the_same_seed(judge):
    arguments = people(1), people(3), None, "--json", "--secret", "job", "--quasi-identifiers", "town", "job"
    documents = [json.loads(judge(*arguments)[1]) for _ in range(2)]
    assert documents[0] == documents[1]
    assert documents[0]["numeric"] == ["age", "pay"]
    assert documents[0]["records"] == {"original": 200, "synthetic": 200, "holdout": None}
    assert len(documents[0]["rows"]) <= 12


@pytest.mark.parametrize(
    ("synthetic", "holdout", "told"),
    [
        (people(3).drop(columns="town"), None, "synthetic: The synthetic table lacks 'town'."),
        (people(3).assign(more=1), None, "synthetic: The synthetic table has 'more', which the"),
        (people(3).assign(age="old"), None, "synthetic/age: The original has numbers in 'age'"),
        (people(3).head(49), None, "synthetic: The synthetic table has 49 rows; judging needs at least 50."),
        (people(3), people(1).head(50), "holdout: 50 of 50 rows held out equal one row of the original"),
        ("", None, "The file is empty."),
        ("age,town,job,pay\n", None, "The table has no rows"),
        ("age,age,job,pay\n1,2,a,3\n", None, "Columns 1 and 2 are both called 'age'."),
        (f"{people(3).to_csv(index=False)}40,A,cook\n", None, "there are more or fewer cells in row 201"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_with_their_fault(judge, synthetic, holdout, told):
    status, out, err = judge(people(1), synthetic, holdout)
    assert (status, out) == (1, "")
    assert told in err


def test_a_file_in_another_encoding_than_is_said_is_refused_as_an_upload_is(judge, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes(people(3).replace("cook", "köchin").to_csv(index=False).encode("latin-1"))
    command = ["judge-synthetic", str(path), str(path), "--encoding", "utf-8"]
    assert run(command, object.__new__(Operations)) == 1


def test_workbooks_parquet_and_text_are_one_table(tmp_path, capsys):
    frame, documents = people(1), []
    frame.loc[3, "job"] = None
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    frame.to_excel(tmp_path / "people.xlsx", index=False)
    for name in ("people.csv", "people.parquet", "people.xlsx"):
        path = str(tmp_path / name)
        command = ["judge-synthetic", str(tmp_path / "people.csv"), path, "--seed", "1", "--json"]
        assert run(command, object.__new__(Operations)) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert [own["distances"]["copies"]["equal"] for own in documents] == [200] * 3
    assert {tuple(own["numeric"]) for own in documents} == {("age", "pay")}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--secret", "shoe"], "/secrets/0: 'shoe' is not a column"),
        (["--categorical", "shoe"], "--categorical: 'shoe' is not a column"),
        (["--attacks", "0"], "--attacks: attacks must be at least 1."),
        (["--confidence", "nan"], "--confidence: confidence must lie between 0 and 1."),
    ],
)
def test_bad_options_are_refused(judge, options, told):
    status, _, err = judge(people(1), people(3), None, *options)
    assert status == 1
    assert told in err


def test_python_judges_frames_and_paths_and_tells_faults(tmp_path):
    original, path = people(1), tmp_path / "synthetic.csv"
    original.head(100).to_csv(path, index=False)
    found = pr.judge_synthetic(original, path, people(2), secrets=["job"], attacks=50, seed=1)
    assert found.headline[0].startswith("100 of 100 synthetic rows equal a row of the original")
    assert "Copies of rows of the original" in str(found)
    assert found.html.startswith("<!doctype html>")
    assert found.headline[1] in found._repr_html_()
    with pytest.raises(pr.InvalidArgument, match="lacks 'town'") as caught:
        pr.judge_synthetic(original, people(3).drop(columns="town"))
    assert caught.value.argument == "synthetic"
    with pytest.raises(pr.WrongType):
        pr.judge_synthetic(original, 7)


def commuters(seed, rows=100):
    draw = random.Random(seed)
    return pd.DataFrame({own: [draw.choice("ABC") for _ in range(rows)] for own in ("home", "work")})


ZONES = pd.DataFrame({"place": [*"ABC"], "longitude": [0, 1, 2], "latitude": [0.0, 0.0, None]})


def test_distances_between_two_columns_of_places_are_compared(judge, tmp_path):
    ZONES.to_csv(tmp_path / "zones.csv", index=False)
    options = ["--distances", "home", "work", str(tmp_path / "zones.csv")]
    original = commuters(1)
    status, out, err = judge(original, original, None, *options, "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    pairs = document["utility"]["pairs"]
    assert pairs["difference"] == pairs["median_difference"] == 0
    assert pairs["left_out_original"] == (original == "C").any(axis=1).sum()
    assert pairs["unknown_places"] == 1
    (row,) = [own for own in document["rows"] if own[0] == "Pairs to move to other bands of distance"]
    assert row[1] == "0.0%"
    left_out = 2 * pairs["left_out_original"]
    assert row[2].endswith(f"km; left out: {left_out} rows; unlisted places: 1")
    assert "Assumed: a row is a person, a place is a point" in document["headline"][-1]
    found = pr.judge_synthetic(original, commuters(2), attacks=50, distances=("home", "work", ZONES))
    assert 0 < found.document["utility"]["pairs"]["difference"] < 1


def test_places_that_cannot_be_read_are_refused_with_a_remedy(judge, tmp_path):
    rows = commuters(1)
    ZONES.to_csv(tmp_path / "zones.csv", index=False)
    for pair, path, told in (
        (("home", "street"), "zones.csv", "/pair/1: 'street' is not a column"),
        (("home", "work"), "nowhere.csv", "There is no file"),
    ):
        status, _, err = judge(rows, rows, None, "--distances", *pair, str(tmp_path / path))
        assert status == 1
        assert told in err
    with pytest.raises(ValueError, match=r"It shows place, x\."):
        pr.judge_synthetic(rows, rows, distances=("home", "work", ZONES[["place"]].assign(x=1)))

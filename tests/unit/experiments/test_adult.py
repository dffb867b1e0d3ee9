"""The Adult table as readers may have it, what is refused of it, and the stand-in of its shape."""

import json
import os
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from app.cli import program
from app.domain.errors import InvalidInput
from app.experiments.adult import ATTRIBUTES, OCCUPATION, PUBLISHED, RECORDS, SALARY, adult
from app.experiments.report import Effort

DATA = os.environ.get("PRIVACY_RISK_DATA")
ROW = {
    "age": "39", "workclass": "State-gov", "fnlwgt": "77516", "education": "Bachelors", "education-num": "13",
    "marital-status": "Never-married", "occupation": "Adm-clerical", "relationship": "Not-in-family",
    "race": "White", "sex": "Male", "capital-gain": "2174", "capital-loss": "0", "hours-per-week": "40",
    "native-country": "United-States", "salary-class": "<=50K",
}  # fmt: skip


def line(separator=", ", names=tuple(ROW), **changes):
    own = ROW | {name.replace("_", "-"): value for name, value in changes.items()}
    return separator.join(own[name] for name in names)


def table_of(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return adult(Effort(adult=path), 1)


def labels(data, attribute, level=0):
    tree = data.trees[attribute]
    return [tree.labels[node] for node in tree.ancestors_at(level)[data.codes[attribute]].tolist()]


def test_a_file_of_uci_has_no_header_blanks_and_a_point_behind_classes(tmp_path):
    found = table_of(
        tmp_path / "adult.test", "|1x3 Cross validator", line(salary_class="<=50K."), line(age="40"), ""
    )
    assert labels(found, SALARY) == ["<=50K", "<=50K"]
    assert labels(found, "age") == ["39", "40"]
    assert not found.is_published


def test_columns_are_found_by_their_names_in_any_order_and_by_other_names_of_theirs(tmp_path):
    order = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
    header = "Gender;AGE;race;marital.status;education;native_country;workclass;occupation;income"
    found = table_of(
        tmp_path / "own.csv", header, line(";", (*order, SALARY), sex="Female", salary_class=">50K")
    )
    assert labels(found, "sex") == ["Female"]
    assert labels(found, SALARY) == [">50K"]
    assert labels(found, "marital-status") == ["Never-married"]


def test_records_with_a_missing_value_of_the_nine_attributes_are_left_out_and_counted(tmp_path):
    header = ", ".join(ROW)
    lines = [line(), line(occupation="?"), line(native_country="?"), line(fnlwgt="?")]
    found = table_of(tmp_path / "own.csv", header, *lines)
    assert found.n_records == 2
    assert found.name == "Adult, 2 records, 2 with missing values left out"


def test_both_parts_of_a_folder_are_one_table(tmp_path):
    for name, age in (("adult.data", "20"), ("adult.test", "30")):
        (tmp_path / name).write_text(line(age=age) + "\n")
    assert labels(adult(Effort(adult=tmp_path), 1), "age") == ["20", "30"]


@pytest.mark.spec("LD-E26")
def test_levels_are_those_of_the_baseline(tmp_path):
    lines = [line(age=str(age)) for age in (20, 21, 40, 41)]
    found = table_of(tmp_path / "ages", *lines)
    assert [len(set(labels(found, "age", level))) for level in range(5)] == [4, 4, 4, 3, 1]
    schools = [value for group in PUBLISHED["groups"]["education"] for value in group]
    found = table_of(tmp_path / "schools", *(line(education=value) for value in schools))
    first, second = labels(found, "education", 1), labels(found, "education", 2)
    assert [len(set(labels(found, "education", level))) for level in range(4)] == [16, 5, 3, 1]
    merged = {tuple(schools[i] for i in range(16) if second[i] == name) for name in set(second)}
    assert tuple(schools[2:8]) in merged
    assert tuple(schools[13:]) in merged
    assert len(set(first[:2])) == 1


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("", "does not name each of these columns once: age, sex", "Name the columns there: age, sex"),
        ("age,sex\n39,Male\n", "once: race, marital-status", "income"),
        (line(", ", ("age", "sex")) + "\n", "once: age, sex", "the 15 of UCI's adult.data"),
        (", ".join([*ROW, "sex"]) + "\n" + line() + "\n", "once: sex", "Name the columns"),
        (line(age="young") + "\n", "column age has a value", "whole numbers from 1 to 999"),
        (line(education="Kindergarten") + "\n", "column education has a value", "Preschool"),
        (line() + "\n39, State-gov\n", "cannot be read as a table of full lines", "Give a CSV in UTF-8"),
        (line(occupation="?") + "\n", "There are 0 records", "Give more records"),
    ],
)
def test_what_is_no_such_table_is_refused_with_a_remedy(tmp_path, text, said, remedy):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        adult(Effort(adult=path), 1)
    (fault,) = refused.value.faults
    assert fault.pointer == "--adult"
    assert said in fault.message
    assert remedy in fault.remedy
    assert "Kindergarten" not in str(refused.value)
    assert "young" not in str(refused.value)


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_refused(tmp_path):
    (tmp_path / "own.csv").write_bytes(line().encode() + b"\n\xff\xfe\n")
    for path in (tmp_path / "own.csv", tmp_path / "missing.csv", tmp_path):
        with pytest.raises(InvalidInput, match="cannot be read"):
            adult(Effort(adult=path), 1)


def test_too_few_records_for_k_are_refused_before_any_search(tmp_path, capsys):
    (tmp_path / "own.csv").write_text("\n".join([line()] * 49) + "\n")
    assert program.run(["experiment", "L1", "--adult", str(tmp_path / "own.csv")], None) == 1
    assert (
        "There are 49 records without missing values, and the experiment needs 50" in capsys.readouterr().err
    )
    assert program.run(["experiment", "L1", "--records", "2", "--entities", "4"], None) == 1
    assert "--entities" in capsys.readouterr().err


def test_a_refusal_is_the_same_for_the_process_that_asked():
    refused = pickle.loads(pickle.dumps(InvalidInput.of("--adult", "unreadable", "It is none.", "Give one.")))
    assert (str(refused), refused.remedy, refused.faults[0].pointer) == (
        "It is none.",
        "Give one.",
        "--adult",
    )


@pytest.mark.deep
def test_several_experiments_beside_each_other_refuse_a_file_as_one_does(tmp_path, capsys):
    assert program.run(["experiment", "L1", "L2", "--adult", str(tmp_path / "none.csv")], None) == 1
    assert "none.csv cannot be read" in capsys.readouterr().err


def test_an_experiment_runs_on_a_file_of_the_readers_own(tmp_path, capsys):
    rows = [line(age=str(20 + i % 3), sex=("Male", "Female")[i % 2]) for i in range(400)]
    (tmp_path / "own.csv").write_text("\n".join(rows) + "\n")
    assert program.run(["experiment", "L1", "--adult", str(tmp_path / "own.csv"), "--json"], None) == 0
    (report,) = json.loads(capsys.readouterr().out)["experiments"]
    assert report["setting"].startswith("Adult, 400 records")
    assert report["tables"][0]["rows"][0] == [2, 1, 1, 6, 400]


def test_the_stand_in_is_the_same_every_time_and_has_the_published_occupations():
    own, again = (adult(Effort(), 1) for _ in range(2))
    assert own.n_records == RECORDS
    assert all(np.array_equal(own.codes[name], again.codes[name]) for name in ATTRIBUTES)
    assert Counter(labels(own, OCCUPATION)) == PUBLISHED["shares"][OCCUPATION]
    assert not own.is_published
    shares = Counter(labels(own, "sex"))
    assert shares["Male"] / RECORDS == pytest.approx(0.675, abs=0.015)
    assert [own.trees[name].height for name in ATTRIBUTES] == [4, 1, 1, 2, 3, 2, 2, 1, 1]
    assert adult(Effort(entities=40), 1).n_records == 452


@pytest.mark.real_data
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
@pytest.mark.spec("LD-E27")
def test_the_published_table_has_the_domains_and_counts_that_the_source_states():
    found = adult(Effort(adult=Path(DATA or "", "uci-adult-48842")), 1)
    assert found.is_published
    assert [found.trees[name].n_leaves for name in ATTRIBUTES] == [74, 2, 5, 7, 16, 41, 7, 14, 2]
    ages = np.array(list(map(int, labels(found, "age"))))
    assert ((ages > 80) & (ages <= 90)).sum() == 114
    assert ((ages > 30) & (ages <= 40)).sum() == 12_291
    assert Counter(labels(found, OCCUPATION)) == PUBLISHED["shares"][OCCUPATION]
    assert not adult(Effort(adult=Path(DATA or "", "arx-adult", "adult.csv")), 1).is_published

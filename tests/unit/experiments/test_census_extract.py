"""A reader's own census extract, as it is delivered: in columns of fixed width or as a CSV."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from app.cli import program
from app.domain.errors import InvalidInput
from app.experiments.census import census
from app.experiments.census_extract import MOST_CLASSES, read_extract

RECORDS = [(17, 1, 10, 1, 22, 3), (64, 2, 7, 6, 14, 1), (17, 2, 10, 6, 22, 40), (30, 1, 0, 1, 10, 3)]
HEADER = "YEAR,AGE,SEX,EDUC,MARST,CLASSWKR,INCWAGE\n"
CSV = HEADER + "".join("2026," + ",".join(map(str, own)) + "\n" for own in RECORDS)
FIXED = "".join(f"2026{a:>3}{s}{e:>2}{m}{c:>2}{i:>6}\n" for a, s, e, m, c, i in RECORDS)
PLACES = ("age=5-7", "gender=8", "education=9-10", "marital=11", "work=12-13", "salary=14-19")
NODES = [[1, 1, 3, 1, 3, 2], [3, 2, 2, 2, 2, 1], [1, 2, 3, 2, 3, 3], [2, 1, 1, 1, 1, 2]]


def test_values_are_numbered_in_their_order_whichever_form_they_come_in(tmp_path):
    (tmp_path / "own.csv").write_text(CSV)
    (tmp_path / "own.dat.gz").write_bytes(gzip.compress(FIXED.replace("\n", "\r\n").encode()))
    names = ("age=AGE", "gender=SEX", "education=EDUC", "marital=MARST", "work=CLASSWKR", "salary=INCWAGE")
    found = [
        read_extract(tmp_path / "own.csv"),
        read_extract(tmp_path / "own.csv", names),
        read_extract(tmp_path / "own.dat.gz", PLACES),
    ]
    for own in found:
        assert np.stack(own.columns, axis=1).tolist() == NODES
        assert own.sizes == (3, 2, 3, 2, 3, 3)
        assert own.salaries.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize(
    ("text", "columns", "pointer", "said"),
    [
        (CSV.replace(",EDUC,", ",SCHOOL,"), (), "/census", "EDUC"),
        (CSV.replace("64", "sixty"), (), "/census/age", "line 3"),
        (CSV.replace("64", ""), (), "/census/age", "line 3"),
        (CSV + "2026,1\n", (), "/census", "Line 6 has 2 cells"),
        (HEADER, (), "/census", "no records"),
        (FIXED + "2026 17\n", PLACES, "/census", "Line 5 has 7 characters"),
        (FIXED, PLACES[:-1], "/columns", "salary"),
        (FIXED, (*PLACES[:-1], "salary=19-14"), "/columns", "19-14"),
        (FIXED, (*PLACES[:-1], "salary=INCWAGE"), "/columns", "positions"),
        (FIXED, (*PLACES[:-1], "wage=14-19"), "/columns", "wage"),
        (
            HEADER + "".join(f"2026,20,1,1,1,1,{i}\n" for i in range(MOST_CLASSES + 1)),
            (),
            "/census/salary",
            "1,001 values",
        ),
    ],
)
def test_what_is_no_such_extract_is_refused_with_its_place(text, columns, pointer, said, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_extract(path, columns)
    (fault,) = refused.value.faults
    assert fault.pointer == pointer
    assert said in fault.message
    assert "sixty" not in fault.message


ONE = "34,1,2,3,4,50000\n"
FIRST = "AGE,SEX,EDUC,MARST,CLASSWKR,INCWAGE\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("own.csv", (FIRST + "M\xfcller,").encode("latin-1"), "no text in UTF-8"),
        ("own.csv.gz", gzip.compress((FIRST + ONE * 500).encode())[:-20], "it is damaged"),
        ("own.csv", (FIRST + '"' + "9" * 200_000 + '",').encode(), "it is no CSV"),
    ],
    ids=["latin-1", "cut", "huge cell"],
)
def test_what_cannot_be_read_to_its_end_is_refused(name, content, said, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=said) as refused:
        read_extract(path)
    assert refused.value.faults[0].pointer == "/census"
    assert "ller" not in refused.value.faults[0].message


def test_a_mark_of_the_order_of_bytes_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "own.csv"
    path.write_bytes(("\ufeff" + FIRST + ONE).encode())
    assert len(read_extract(path).columns[0]) == 1


@pytest.mark.deep
def test_counts_are_taken_of_the_extract(tmp_path, capsys):
    people = census(3, 4000)
    rows = np.stack(people.columns, axis=1).tolist()
    (tmp_path / "own.csv").write_text(HEADER + "".join("2026," + ",".join(map(str, r)) + "\n" for r in rows))
    own = ["--census", str(tmp_path / "own.csv"), "--seeds", "1"]
    assert program.run(["experiment", "X14", *own], None) == 0
    assert "census extract of 4,000 records" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="is for X14 and B1 to B10"):
        program.run(["experiment", "X7", *own], None)

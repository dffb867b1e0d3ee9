"""What a proposal tells of a file, what it asks about, and what it takes for granted."""

from __future__ import annotations

import gzip
import io
import os
import random
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from app.domain.errors import InvalidInput, TooLarge
from app.domain.hierarchies.cell_formats import CellFormat
from app.services.datasets.ingest.column_types import is_read
from app.services.datasets.ingest.dialect import Dialect
from app.services.datasets.ingest.pieces import PieceWriter
from app.services.datasets.ingest.proposals import propose_dialect, propose_schema, strays_of, with_categories

DATA = os.environ.get("PRIVACY_RISK_DATA")
NUMBERS = b"".join(b"%d,%d,%d\n" % (row % 3, row % 2, row % 2) for row in range(12))
STATES = b"country,sex,income\n" + b"".join(
    b"%s,%s,%d\n" % (land, sex, 1000 + row)
    for row, (land, sex) in enumerate((a, b) for a in (b"DE", b"NA", b"FR", b"IT") for b in (b"m", b"f"))
)


def decided(content: bytes, **said: object) -> list[str]:
    return [own.decides for own in propose_dialect(content, said).doubts]


@pytest.mark.parametrize(
    ("content", "decides", "told"),
    [
        (b"id,value,value,note\n0,0,0,n0\n1,1,1,n1\n", "header", "the name of another column in column 3"),
        (b"2011,2012,2013\n" + NUMBERS, "header", "a number in column 1, 2, 3"),
        (b"0,1,2\n" + NUMBERS, "header", "a number in column 1, 2, 3"),
        (b"age,,zip\n20,f,01000\n21,m,01001\n", "header", "no name in column 2"),
        (b"sep=;\na;b\n1;x\n1;y\n", "header", "only tells Excel the delimiter"),
        (b"# exported, by me\na,b\n1,x\n", "header", "begins with #"),
        (b"city,sex\nBonn,f\nTrier,m\ncity,sex\nBonn,m\n", "header", "further down, too in column 1, 2"),
        (b"age,sex,zip,\n20,f,01000\n21,m,01001\n", "delimiter", "Column 4 has no name"),
        (b"a,b\n1,x\n\n1,y\n", "delimiter", "fewer cells in row 2"),
        (b"a b\n1 x\n2 y\n", "delimiter", "Only one column was found"),
        (b"a;b,c;d\n1;2,3;4\n5;6,7;8\n", "delimiter", "a comma or a semicolon"),
        (STATES, "missing", "NA looks like other values of country"),
        (
            b"size,k\n" + b"".join(b"%d,a\n" % own for own in (-8, *range(9))),
            "missing",
            "-8 stands apart below",
        ),
        (b"rh,k\n+,a\n-,b\n+,a\n", "missing", "- looks like other values of rh"),
    ],
)
def test_a_guess_that_would_change_numbers_is_asked_about(content: bytes, decides: str, told: str) -> None:
    proposal = propose_dialect(content)
    (doubt,) = [own for own in proposal.doubts if own.decides == decides]
    assert told in doubt.sentence
    choices = {"header": False, "delimiter": ",", "missing": ("",)}
    with suppress(InvalidInput):  # as the strict reader says it of what was said
        assert decides not in decided(content, **{decides: choices[decides]})


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,x\n2,y\n",
        b"a;b\n1;x,5\n2;y,6\n",
        "Stra\u00dfe,k\nA,1\n".encode(),
        b"city,value\nvalue,1\nBonn,2\n",
        b"39,State-gov,Bachelors\n50,Private,Bachelors\n38,State-gov,HS-grad\n39,Private,HS-grad\n",
        b"income,k\n?,a\n12,b\n13,a\n",
    ],
)
def test_what_is_plain_is_not_asked_about(content: bytes) -> None:
    assert propose_dialect(content).doubts == ()


def test_records_without_names_are_told_to_be_read_as_such() -> None:
    proposal = propose_dialect(b"39,State-gov\n50,Private\n38,State-gov\n")
    assert (proposal.dialect.header, proposal.rows_in_sample) == (False, 3)
    assert any("read as a record" in note for note in proposal.notes)


@pytest.mark.parametrize("seed", range(20))
def test_what_pandas_writes_with_its_index_has_its_columns_and_its_rows(seed: int) -> None:
    draw = random.Random(seed)
    names = draw.sample(["age", "sex", "city", "index", "income", "born"], draw.randint(1, 5))
    rows = draw.randint(1, 30)
    frame = pd.DataFrame({name: [draw.choice(["v", "w", "x3"]) for _ in range(rows)] for name in names})
    frame.index = pd.Index(draw.choice([range(rows), [f"r{row}" for row in range(rows)], [7] * rows]))
    content = frame.to_csv(sep=draw.choice([",", ";", "\t"])).encode()
    proposal = propose_dialect(content)
    index = "level_0" if "index" in names else "index"
    assert (proposal.columns, proposal.rows_in_sample) == ((index, *names), rows)
    assert (proposal.index, proposal.doubts) == (index, ())
    assert any("as pandas writes an index" in note for note in proposal.notes)


def piece_of(**columns: list[str]) -> bytes:
    writer = PieceWriter(tuple(columns))
    table = pa.table({name: pa.array(own, pa.string()) for name, own in columns.items()})
    return [*writer.add(table), *writer.finish()][0].payload


def test_an_index_is_left_out_of_what_is_released() -> None:
    piece = piece_of(index=["1", "1", "2"], sex=["f", "m", "f"])
    roles = {own.name: own.role for own in propose_schema(piece, index="index").attributes}
    assert roles == {"index": "other", "sex": "quasi_identifier"}


def test_markers_are_missing_among_numbers_and_values_among_texts() -> None:
    both = propose_dialect(b"age,job\nNA,None\n12,clerk\n13,NA\n")
    assert both.dialect.missing == ("", "NA")
    assert both.notes == (
        "Taken for missing values: NA (in age, job).",
        "Read as values, though they often mean that one is missing: None (in job).",
    )
    assert decided(STATES) == ["missing"]
    assert propose_dialect(STATES, {"missing": ("", "NA")}).dialect.missing == ("", "NA")


def test_blanks_are_removed_where_that_merges_no_values() -> None:
    assert propose_dialect(b"a,b\n1, x\n2, y\n").dialect.trim
    kept = propose_dialect(b"a,b\n1, x\n2,x\n")
    assert not kept.dialect.trim
    assert kept.notes == (
        "Some cells begin or end with blanks, which are kept, since values differ in nothing else.",
    )
    assert propose_dialect(b"a,b\n1, 7\n2,7\n").dialect.trim


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised_and_told(encoding: str) -> None:
    proposal = propose_dialect("st\u00e4dt,k\nM\u00fcnchen,a\nK\u00f6ln,b\n".encode(encoding))
    assert (proposal.dialect.encoding, proposal.columns) == (encoding, ("st\u00e4dt", "k"))
    assert proposal.notes == (f"The characters are taken to be encoded in {encoding}.",)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"city,k\rA,x\rB,y\r", "end in a carriage return alone"),
        (b"a,b\n", "a line of names alone"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "compressed by gzip"),
        (b"PAR1\x15" + bytes(600), "a Parquet file"),
    ],
)
def test_a_file_that_is_no_table_of_text_is_called_what_it_is(content: bytes, told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        propose_dialect(content)
    assert told in str(raised.value)


def test_more_columns_than_are_read_are_told() -> None:
    with pytest.raises(TooLarge) as raised:
        propose_dialect(b",".join(b"c%d" % n for n in range(501)) + b"\n" + b",".join([b"1"] * 501) + b"\n")
    assert "more than 500 columns" in raised.value.message


@pytest.mark.parametrize("sign", ["/", "-"])
def test_days_and_months_that_may_change_places_are_asked_about(sign: str) -> None:
    either = [f"01{sign}{month:02}{sign}1980" for month in range(1, 13)]
    (doubt,) = propose_schema(piece_of(born=either)).doubts
    assert (doubt.decides, doubt.column) == ("format", "born")
    assert {*doubt.choices} == {f"dd{sign}mm{sign}yyyy", f"mm{sign}dd{sign}yyyy"}
    assert not propose_schema(piece_of(born=[*either, f"13{sign}01{sign}1980"])).doubts


@pytest.mark.real_data
@pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data")
def test_no_published_table_is_asked_about_but_for_a_marker_among_amounts() -> None:
    asked = {}
    tables = [own for own in Path(DATA or "").rglob("*") if own.suffix in (".csv", ".data")]
    for path in tables:
        if "hierarchy" not in path.name:
            with path.open("rb") as file:
                asked[path.name] = [own.sentence for own in propose_dialect(file.read(1 << 20)).doubts]
    assert len(asked) > 20
    asking = {name: own for name, own in asked.items() if own}
    assert [*asking] == ["sd2011.csv"]  # incomes of -8 among positive ones stand for none
    (sentence,) = asking["sd2011.csv"]
    assert sentence.startswith("-8 stands apart below other numbers of ")


def test_a_table_without_an_index_that_pandas_writes_is_read_as_it_was() -> None:
    frame = pd.DataFrame({"age": [1, 2, 3], "city": ["Bonn", "Ulm", "Bonn"]})
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False)
    proposal = propose_dialect(buffer.getvalue().encode())
    assert (proposal.columns, proposal.index, proposal.notes) == (("age", "city"), None, ())


@pytest.mark.parametrize("seed", range(10))
def test_cells_of_another_type_beyond_the_sample_are_found_as_one_by_one(seed: int) -> None:
    draw = random.Random(seed)
    kinds = {
        "age": (["12", "7.5", "+3", ".5", "1e3"], CellFormat.POINT),
        "born": (["1980-01-31", "1980-1-3"], CellFormat.ISO_DATE),
        "paid": (["1.234,50", "17,00", "5"], CellFormat.DOTS_AND_COMMA),
    }
    whole = {name: [draw.choice(texts) for _ in range(40)] for name, (texts, _) in kinds.items()}
    later = {
        name: [
            draw.choice([*texts, "N", "x7", "1,2,3", ""]) if draw.random() < 0.3 else texts[0]
            for _ in range(40)
        ]
        for name, (texts, _) in kinds.items()
    }
    proposal = propose_schema(piece_of(**whole))
    assert {own.name: own.type for own in proposal.attributes} == {
        "age": "number",
        "born": "date",
        "paid": "number",
    }
    found, rows = strays_of(proposal, piece_of(**later), Dialect())
    formats = {own.name: own.format for own in proposal.attributes}
    expected = {
        name: [
            place
            for place, cell in enumerate(cells)
            if cell and not is_read(cell, formats[name] or kinds[name][1])
        ]
        for name, cells in later.items()
    }
    assert rows == 40
    assert {name: places.tolist() for name, places in found.items()} == {
        n: p for n, p in expected.items() if p
    }
    changed = {own.name: own.type for own in with_categories(proposal, found).attributes}
    assert {name for name, type_ in changed.items() if type_ == "categorical"} == {*found}

"""One form of a CSV file for all files of the same cells: what pandas writes of them."""

from __future__ import annotations

import asyncio
import csv
import gzip
import hashlib
import io
import zlib

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.services.datasets.ingest.canonical_csv import CanonicalCsv
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.intake import Intake
from tests.oracles.effort import examples

LETTERS = st.sampled_from("abé€,;\t|\"' \n=-0")
CELLS = st.text(LETTERS | st.characters(codec="latin-1", exclude_characters="\r\0"),
                max_size=6)  # fmt: skip
"""Without returns: Python before 3.13 writes those without quotes."""


@st.composite
def tables(draw):
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8))
    return [f"c{number}" for number in range(width)], rows


@st.composite
def dialects(draw):
    quote = draw(st.sampled_from("\"'"))
    return (
        Dialect(
            delimiter=draw(st.sampled_from(",;\t|")),
            quote=quote,
            encoding=draw(st.sampled_from(["utf-8", "utf-16", "utf-16-le"])),
            missing=draw(st.sampled_from([("",), ("", "a"), ()])),
            trim=draw(st.booleans()),
        ),
        draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])),
        draw(st.sampled_from(["\n", "\r\n"])),
        draw(st.booleans()),
    )


def written(names, rows, dialect, quoting, end, with_mark):
    out = io.StringIO(newline="")
    writer = csv.writer(
        out, delimiter=dialect.delimiter, quotechar=dialect.quote, quoting=quoting, lineterminator=end
    )
    writer.writerows([names, *rows])
    mark = "\ufeff" if with_mark and dialect.encoding != "utf-16" else ""
    return (mark + out.getvalue()).encode(dialect.encoding)


def canonical(content, dialect=None, step=None):
    out = io.BytesIO()
    reader = CsvReader(dialect or Dialect(), UploadLimits(), CanonicalCsv(out.write))
    for start in range(0, len(content), step or len(content)):
        reader.feed(content[start : start + (step or len(content))])
    reader.finish()
    return out.getvalue()


def by_pandas(names, rows):
    return pd.DataFrame(rows, columns=names, dtype=str).to_csv(index=False).encode()


@given(tables(), dialects())
@settings(max_examples=examples(300))
def test_any_dialect_has_the_bytes_that_pandas_writes(table, how):
    expected = by_pandas(*table)
    found = canonical(written(*table, *how), how[0])
    assert found == expected
    assert canonical(found) == found


@given(tables(), dialects(), st.integers(1, 40))
@settings(max_examples=examples(100))
def test_it_is_the_same_however_the_file_arrives(monkeypatch_blocks, table, how, step):
    assert canonical(written(*table, *how), how[0], step) == by_pandas(*table)


@pytest.fixture(scope="module")
def monkeypatch_blocks():
    """Blocks of a few bytes, so that records are cut everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.services.datasets.ingest.csv_reader.BLOCK_BYTES", 16)
        yield


def test_many_rows_with_a_few_quotes_are_what_pandas_writes():
    rows = [[f"{n % 7}", "x, y" if n % 1000 == 3 else f"t{n}", 'say "it"' if n % 999 == 1 else ""] for n in
            range(60_000)]  # fmt: skip
    table = (["a", "b", "c"], rows)
    for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
        for end in ("\n", "\r\n"):
            assert canonical(written(*table, Dialect(), quoting, end, True)) == by_pandas(*table)


def test_a_cell_with_a_return_is_quoted_and_a_first_cell_with_a_mark_too():
    assert canonical(b'a,b\n"x\ry",1\n') == b'a,b\n"x\ry",1\n'
    assert canonical(b'a;b\n"x\r\ny";1\n', Dialect(delimiter=";")) == b'a,b\n"x\r\ny",1\n'
    marked = canonical('"\ufeffx",1\n'.encode(), Dialect(header=False))
    assert marked == '"\ufeffx",1\n'.encode()
    assert canonical(marked, Dialect(header=False)) == marked


def digests(content, format=UploadFormat.CSV, **dialect):
    async def body():
        yield content

    async def read():
        async for _ in intake.pieces(body()):
            pass

    intake = Intake(format, Dialect(**dialect), UploadLimits())
    asyncio.run(read())
    return intake.content_sha256, intake.canonical_sha256


PLAIN = b"name,zip\nA,1\nB,\n"
CARRIED = {
    "quotes that spell a name": b'"name",zip\nA,"1"\nB,\n',
    "quoted empty cells": b'name,zip\nA,1\nB,""\n',
    "returns": b"name,zip\r\nA,1\nB,\r\n",
    "a mark": b"\xef\xbb\xbf" + PLAIN,
    "no end of the last line": PLAIN[:-1],
    "empty lines at the end": PLAIN + b"\n\r\n\n",
    "semicolons": b"name;zip\nA;1\nB;\n",
}


@pytest.mark.parametrize("content", CARRIED.values(), ids=list(CARRIED))
def test_what_a_csv_file_may_carry_beside_its_cells_is_not_in_its_canonical_digest(content):
    told, canonical_sha256 = digests(content, delimiter=";" if b";" in content else ",")
    assert told == hashlib.sha256(content).hexdigest()
    assert canonical_sha256 == hashlib.sha256(PLAIN).hexdigest()


def gzipped(name):
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=out, mtime=12345) as file:
        file.write(PLAIN)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [gzipped("Alice Miller"), gzip.compress(PLAIN) + gzip.compress(b""), gzip.compress(PLAIN, 1),
     gzip.compress(PLAIN[:9]) + gzip.compress(PLAIN[9:])],
    ids=["a name in the header", "an empty member", "another level", "two members"],
)  # fmt: skip
def test_what_a_gzip_file_may_carry_is_not_in_its_canonical_digest(content):
    assert (digests(content, UploadFormat.CSV_GZ))[1] == hashlib.sha256(PLAIN).hexdigest()


@pytest.mark.parametrize("behind", [b"Alice Miller", b"\0Alice", zlib.compress(b"Alice")])
def test_bytes_behind_a_gzip_member_are_refused(behind):
    with pytest.raises(InvalidInput):
        digests(gzip.compress(PLAIN) + behind, UploadFormat.CSV_GZ)


def test_files_without_a_canonical_form_have_no_such_digest(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": ["1"]}).to_parquet(path)
    assert (digests(path.read_bytes(), UploadFormat.PARQUET))[1] is None

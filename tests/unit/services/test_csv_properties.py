"""The block-wise CSV reader against the standard library's strict parser, on text that is easily misread."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput, TooLarge
from app.services.datasets.csv_columns import read_csv
from app.services.datasets.ingest import csv_reader, csv_records
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.dialect import Dialect, UploadLimits
from app.services.datasets.ingest.pieces import PieceWriter, read_piece
from app.services.datasets.text_columns import TextColumn, columns_of
from tests.oracles.effort import examples

Rows = list[list[str]]

CELLS = st.text(alphabet='ab,"\r\n é⊥', max_size=6)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8)
)


def read(data: bytes, cuts: list[int]) -> Rows:
    """The rows that the reader finds when the bytes arrive cut at these places."""
    reader = CsvReader(Dialect(header=False, missing=()), UploadLimits())
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    tables = [table for a, b in pairwise(places) for table in reader.feed(data[a:b])]
    tables += reader.finish()
    return [
        list(row) for table in tables for row in zip(*(c.to_pylist() for c in table.columns), strict=True)
    ]


@given(TABLES, st.lists(st.integers(0, 200), max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_what_a_csv_writer_writes_is_read_back_however_it_is_cut(
    rows: Rows, cuts: list[int], end: str
) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(rows)
    threshold, csv_reader.BLOCK_BYTES = csv_reader.BLOCK_BYTES, 8  # type: ignore[misc]
    try:
        assert read(text.getvalue().encode(), cuts) == rows
    finally:
        csv_reader.BLOCK_BYTES = threshold  # type: ignore[misc]


@given(st.text(alphabet='ab,"\r\n', min_size=1, max_size=24))
def test_what_is_accepted_is_what_a_strict_parser_reads(text: str) -> None:
    try:
        found = read(text.encode(), [])
    except InvalidInput:
        return
    expected = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    width = len(expected[0]) or 1
    expected = [row for row in expected if row] if width > 1 else [row or [""] for row in expected]
    assert found == expected


@dataclass(frozen=True)
class File:
    """A file, how it is read, and where it is cut on its way."""

    data: bytes
    dialect: Dialect
    limits: UploadLimits
    cuts: tuple[int, ...]

    def tables(self, reader: CsvReader) -> list[Any]:
        places = [0, *sorted(min(cut, len(self.data)) for cut in self.cuts), len(self.data)]
        return [t for a, b in pairwise(places) for t in reader.feed(self.data[a:b])] + reader.finish()

    def outcome(self) -> object:
        """Columns, rows and the numbers of rows of the tables, or all that the refusal says."""
        reader = CsvReader(self.dialect, self.limits)
        try:
            tables = self.tables(reader)
        except (InvalidInput, TooLarge) as error:
            return type(error), vars(error)
        cells = [list(zip(*(c.to_pylist() for c in table.columns), strict=True)) for table in tables]
        return reader.columns, cells


@st.composite
def files(draw: st.DrawFn) -> File:
    """Files of which most are right, or wrong in one place."""
    delimiter = draw(st.sampled_from([",", ";", "\t", "|", "b", " "]))
    quote = draw(st.sampled_from(['"', '"', "'", None]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    width = draw(st.integers(1, 3))
    alphabet = draw(st.sampled_from(["aN", "aN é", "aN\"' ,;é\n", "aN \ufeff⊥"]))
    cell = st.text(alphabet=alphabet, max_size=4)
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), max_size=9))
    if draw(st.booleans()) and quote is not None:
        rows = [[quote + cell.replace(quote, quote * 2) + quote for cell in row] for row in rows]
    lines = [delimiter.join(row) for row in [["p", "q", "r"][:width], *rows]]
    text = end.join(lines) + draw(st.sampled_from(["", end, end + end]))
    wrong = draw(st.sampled_from(["", "", "", "\0", "\r", "\n", "\n\n", '"', delimiter, "\ufeff", "'"]))
    place = draw(st.integers(0, len(text)))
    data = (text[:place] + wrong + text[place:]).encode(encoding, "replace")
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(data)))
        data = data[:place] + b"\xff" + data[place:]
    return File(
        data,
        Dialect(
            delimiter,
            quote,
            encoding,
            draw(st.booleans()),
            draw(st.booleans()),
            draw(st.sampled_from([(), ("",), ("", "N"), ("a",)])),
        ),
        UploadLimits(
            max_rows=draw(st.sampled_from([4, 100])),
            max_columns=draw(st.sampled_from([2, 500])),
            max_cell_bytes=draw(st.sampled_from([5, 1000])),
        ),
        tuple(draw(st.lists(st.integers(0, 80), max_size=6))),
    )


def read_strictly(file: File) -> object:
    """The outcome if no line is taken for plain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "plain_lines", lambda *_: None)
        return file.outcome()


@pytest.mark.parametrize("block", [1, 16, 2**18])
@given(file=files())
@settings(max_examples=examples(300), deadline=None)
def test_plain_lines_are_read_as_every_record_is(block: int, file: File) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BLOCK_BYTES", block)
        assert file.outcome() == read_strictly(file)


@pytest.mark.parametrize(
    "rest",
    [
        b"a,b\nc\0,d\n",
        b"a,b\nc\r,d\n",
        b"\ra,b\n",
        b"a,b\rc,d\n",
        b"a,b\r\r\nc,d\n",
        b"a,b\n\nc,d\n",
        b"\na,b\n",
        b"\r\na,b\n",
        b"a,b\r\n\r\nc,d\r\n",
        b"a,b\r\n\r\n\r\n",
        b"a,b\nc,d\n\n\n",
        b"a,b\n\n\nc,d\n",
        b"a,b\n\xff,d\n",
        b"a,b\n\xc3",
        b'a,b\n"c",d\n',
        b'a,b\nc"c,d\n',
        b"a,b\nc\nd,e\n",
        b"a,b\nc,d,e\n",
        b"a,b\nc,d\ne,f\ng,h\n",
        b"a,b\nccccccc,d\n",
        b"a,b\n" + b"c" * 200,
        b"a,b\nc,d\n" + b"e,f" * 60 + b"\ng,h\n",
    ],
)
def test_what_is_not_plain_is_read_as_every_record_is(rest: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 1)
    limits = UploadLimits(max_rows=3, max_cell_bytes=6, max_columns=20)
    head = b"p,q\n"
    for cuts in ((4,), (4, 8), (4, 9), tuple(range(4, 300, 5))):
        file = File(head + rest, Dialect(), limits, cuts)
        assert file.outcome() == read_strictly(file)
    everything = File(head + rest, Dialect(quote=None, missing=("c",)), UploadLimits(), (4,))
    assert everything.outcome() == read_strictly(everything)


def test_plain_lines_are_not_searched_character_by_character(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    split = csv_records.split

    def watched(text: bytes, *rest: Any) -> Any:
        searched.append(len(text))
        return split(text, *rest)

    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 16)
    monkeypatch.setattr(csv_records, "split", watched)
    for end in ("\n", "\r\n"):
        searched.clear()
        text = end.join(["p,q", *["é,b"] * 100, ""]).encode()
        assert len(read(text, list(range(0, len(text), 20)))) == 101
        assert searched == [20], "the first block, in which the columns are found"


@pytest.mark.parametrize("cell", ["\ufeff", "\ufeffa", '"\ufeffa"'])
def test_marks_within_a_file_are_text_wherever_blocks_begin(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 1)
    text = f"p,q\n{cell},b\n{cell},c\n".encode()
    line = len(f"{cell},b\n".encode())
    kept = cell.strip('"')
    assert read(text, [4, 4 + line]) == [["p", "q"], [kept, "b"], [kept, "c"]]


@given(file=files())
@settings(max_examples=examples(200), deadline=None)
def test_a_file_read_without_a_service_gives_what_its_upload_gives(file: File) -> None:
    assert _columns(lambda: _without_a_service(file)) == _columns(lambda: _by_pieces(file))


def _columns(read_: Callable[[], Mapping[str, TextColumn]]) -> object:
    try:
        found = read_()
    except (InvalidInput, TooLarge) as error:
        return type(error), vars(error)
    return [(name, column.values, column.positions.tolist()) for name, column in found.items()]


def _without_a_service(file: File) -> dict[str, TextColumn]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(file.data)
        return read_csv(path, file.dialect, file.limits)


def _by_pieces(file: File) -> dict[str, TextColumn]:
    reader = CsvReader(file.dialect, file.limits)
    tables = file.tables(reader)
    writer = PieceWriter(reader.columns or ())
    pieces = [piece for table in tables for piece in writer.add(table)] + list(writer.finish())
    return columns_of([read_piece(piece.payload) for piece in pieces], file.dialect)

"""The block-wise CSV reader against the standard library's strict parser, on text that is easily misread."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.services.datasets.ingest import csv_reader
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.dialect import Dialect, UploadLimits

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

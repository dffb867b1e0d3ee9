"""Tables as CSV: every cell as a plain loop writes it, and what is stored reads as what was released."""

from __future__ import annotations

import csv
import io

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.datasets.csv_text import neutralised
from app.services.releases.released_tables import DrawnLines
from app.services.releases.stored_tables import csv_chunks
from tests.oracles.effort import examples

TEXTS = st.text(st.sampled_from("=+-@\t\r\n,\"'aä€😀 \0"), max_size=5)


@st.composite
def tables(draw):
    """Columns of texts, of which one may have several codes, and lines of them."""
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    names = tuple(draw(st.lists(TEXTS, min_size=m, max_size=m, unique=True)))
    labels = tuple(tuple(draw(st.lists(TEXTS, min_size=1, max_size=5))) for _ in range(m))
    codes = [draw(st.lists(st.integers(0, len(own) - 1), min_size=n, max_size=n)) for own in labels]
    order = np.array(draw(st.permutations(range(n))), dtype=np.int32)
    return DrawnLines(names, labels, tuple(np.array(own, dtype=np.int32) for own in codes), order, n)


def rows_of(table: DrawnLines) -> list[tuple[str, ...]]:
    """Names and cells, one after another."""
    lines = zip(*[[own[j] for j in table.order] for own in table.codes], strict=True)
    cells = [tuple(own[j] for own, j in zip(table.labels, line, strict=True)) for line in lines]
    return [table.columns, *cells]


def written(rows: list[tuple[str, ...]], neutralise: bool) -> str:
    """By a loop over cells."""
    lines = ""
    for row in rows:
        fields = []
        for text in row:
            shown = f"'{text}" if neutralise and text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
            needs_quotes = any(mark in shown for mark in ',"\n\r') or (len(row) == 1 and not shown)
            fields.append('"' + shown.replace('"', '""') + '"' if needs_quotes else shown)
        lines += ",".join(fields) + "\n"
    return lines


@settings(max_examples=examples(200), deadline=None)
@given(tables(), st.booleans())
def test_every_text_is_written_as_cell_by_cell(table, neutralise):
    found = b"".join(table.csv_chunks(neutralise_formulas=neutralise)).decode()
    rows = rows_of(table)
    assert found == written(rows, neutralise)
    read = [tuple(row) for row in csv.reader(io.StringIO(found, newline=""))]
    assert read == [tuple(neutralised(text) if neutralise else text for text in row) for row in rows]


@settings(max_examples=examples(50), deadline=None)
@given(tables(), st.booleans())
def test_what_is_stored_is_written_as_what_was_released(table, neutralise):
    parquet = b"".join(table.parquet_chunks({}))
    released = b"".join(table.csv_chunks(neutralise_formulas=neutralise))
    assert b"".join(csv_chunks(parquet, neutralise_formulas=neutralise)) == released

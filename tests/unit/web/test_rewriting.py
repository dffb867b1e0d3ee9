"""Released tables in another way of writing, however the pieces that they come in are cut."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.release_words import file_stem, title_of
from app.web.rewriting import Way, written

pytestmark = pytest.mark.anyio

CELLS = st.text(st.sampled_from(['"', ",", ";", "\n", "a", "é", "€", "*", "'"]), max_size=4)
NOTHING = [{"", "*"}, {"", "*", "any"}]


def told(row: tuple[str, str]) -> bool:
    return row[0] not in NOTHING[0] or row[1] not in NOTHING[1]


async def rewritten(text: bytes, size: int, way: Way, nothing: list[set[str]] | None) -> bytes:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(text), size):
            yield text[start : start + size]

    return b"".join([piece async for piece in written(pieces(), way, nothing)])


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=8),
    size=st.integers(1, 30),
    delimiter=st.sampled_from(";\t|"),
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252"]),
)
async def test_the_rows_are_the_same_in_another_dialect(rows, size, delimiter, encoding):
    table = [("x", "y"), *rows]
    sink = io.StringIO(newline="")
    csv.writer(sink, lineterminator="\n").writerows(table)
    way = Way(delimiter, "'", encoding)
    for nothing in (None, NOTHING):
        text = (await rewritten(sink.getvalue().encode(), size, way, nothing)).decode(encoding)
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar="'"))
        assert [tuple(row) for row in found] == [row for row in table if nothing is None or told(row)]


async def test_a_letter_that_the_encoding_has_not_is_written_as_an_escape():
    assert await rewritten("a\n≥ 5\n".encode(), 100, Way(encoding="latin-1"), None) == b"a\n\\u2265 5\n"


def test_what_nobody_named_is_called_like_its_table():
    unnamed = {"name": "goal-c9da0123456789ab-one-level-per-column", "dataset": "patients"}
    assert (title_of(unnamed), file_stem(unnamed)) == ("release of patients", "patients-release")
    named = {"name": "for-the-ministry", "dataset": "patients"}
    assert (title_of(named), file_stem(named)) == ("for-the-ministry", "patients-for-the-ministry")
    assert file_stem({**named, "name": "patients-2026"}) == "patients-2026"

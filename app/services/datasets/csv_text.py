"""Columns of text as CSV (UTF-8, commas, line feeds), whole blocks of lines at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from app.services.datasets.arrow_arrays import text_array

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
_FORMULA: Final = r"^[=+\-@\t\r]"
_QUOTED_FOR: Final = r'[,"\n\r]'
_COMMA, _LINE_FEED, _QUOTE, _APOSTROPHE, _NOTHING = text_array([",", "\n", '"', "'", ""])


def neutralised(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def csv_header(columns: Sequence[str], *, neutralise_formulas: bool) -> bytes:
    """The names of the columns as the first line."""
    names: list[str] = _fields(text_array(columns), neutralise_formulas, len(columns) == 1).to_pylist()
    return (",".join(names) + "\n").encode()


def csv_fields(columns: Sequence[pa.Array], *, neutralise_formulas: bool) -> list[pa.Array]:
    """The texts of each column of a table as they stand in a line, those of the last one with its end.

    Where a text occurs in many cells it is enough to give it once, and to look each cell up in the answer.
    """
    alone = len(columns) == 1
    fields = [_fields(own, neutralise_formulas, alone) for own in columns]
    return [*fields[:-1], _joined(fields[-1], _LINE_FEED)]


def csv_lines(columns: Sequence[pa.Array]) -> bytes:
    """Lines of cells that :func:`csv_fields` has made."""
    lines: Any = pc.binary_join_element_wise(*columns, _COMMA)
    # They are stored one after another with nothing between them, which is the CSV itself.
    return bytes(lines.buffers()[2]) if len(lines) else b""


def _fields(texts: pa.Array, neutralise_formulas: bool, alone: bool) -> pa.Array:
    """Texts as fields; an empty one that is alone in its line is quoted, for that is no empty line."""
    found: Any = texts.cast(pa.large_string())
    if neutralise_formulas:
        is_formula = pc.match_substring_regex(found, _FORMULA)
        if is_formula.true_count:
            found = pc.if_else(is_formula, _joined(_APOSTROPHE, found), found)
    is_quoted = pc.match_substring_regex(found, _QUOTED_FOR)
    if alone:
        is_quoted = pc.or_(is_quoted, pc.equal(found, _NOTHING))
    if is_quoted.true_count:
        doubled = pc.replace_substring(found, '"', '""')
        found = pc.if_else(is_quoted, _joined(_QUOTE, doubled, _QUOTE), found)
    return found


def _joined(*parts: pa.Array | pa.Scalar) -> pa.Array:
    """Texts one after another, element by element."""
    return pc.binary_join_element_wise(*parts, _NOTHING)

"""Text of policies, files and services as lines that only ever say something.

What others wrote may hold line breaks that begin a line of its own, control characters that a terminal obeys,
marks that turn the direction of writing, and lines that a pipeline's runner takes for its commands.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Final

_MARKS: Final = re.compile(
    "[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
"""What cannot be seen and yet changes what is: marks of direction, invisible signs, controls beyond ASCII.

With them halves of characters, which no file can hold.
"""

_UNSEEN: Final = re.compile(f"[\u0000-\u001f]|{_MARKS.pattern}")
_BREAK: Final = re.compile("\\s*[\t-\r\u001c-\u001e\u0085\u2028\u2029]\\s*")
_COMMAND: Final = re.compile(r"^(\s*)(:(?=:)|#(?=#))")


def plain_line(text: str) -> str:
    """The text on one line: line breaks are spaces, what cannot be seen is its number."""
    inner = text.lstrip(" ")
    joined = _UNSEEN.sub(_escaped, _BREAK.sub(" ", inner))
    return _COMMAND.sub(r"\1\2 ", text[: len(text) - len(inner)] + joined)


def plain_json(document: Any, indent: int | None = None) -> str:  # noqa: ANN401 - any JSON value
    """The document as JSON in which what cannot be seen is escaped, too; that loses nothing."""
    return _MARKS.sub(_escaped, json.dumps(document, indent=indent, ensure_ascii=False)) + "\n"


def plain_lines(text: str) -> str:
    """The text line by line."""
    return "\n".join(plain_line(line) for line in text.splitlines())


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of equally many cells, columns as wide as they must be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def number_text(value: float | str | None) -> str:
    """A number of the service's, which writes infinity as a text; a dash for none."""
    if value is None:
        return "–"
    number = float(value)
    return "∞" if math.isinf(number) else f"{number:.6g}"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"

"""Text of policies, files and services as lines that only ever say something.

What others wrote may hold line breaks that begin a line of its own, control characters that a terminal obeys,
marks that turn the direction of writing, and lines that a pipeline's runner takes for its commands.
"""

from __future__ import annotations

import re
from typing import Final

_UNSEEN: Final = re.compile("[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_BREAK: Final = re.compile("\\s*[\t-\r\u001c-\u001e\u0085\u2028\u2029]\\s*")
_COMMAND: Final = re.compile(r"^(\s*)(:(?=:)|#(?=#))")


def plain_line(text: str) -> str:
    """The text on one line: line breaks are spaces, what cannot be seen is its number."""
    inner = text.lstrip(" ")
    joined = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", _BREAK.sub(" ", inner))
    return _COMMAND.sub(r"\1\2 ", text[: len(text) - len(inner)] + joined)


def plain_lines(text: str) -> str:
    """The text line by line."""
    return "\n".join(plain_line(line) for line in text.splitlines())

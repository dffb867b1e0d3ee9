"""Tables for people: aligned texts for terminals, HTML for notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

Rows = Sequence[Sequence[str]]


def text_table(rows: Rows) -> str:
    """The rows in aligned columns, each line indented by two blanks."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def html_table(rows: Rows) -> str:
    """The rows as an HTML table whose first row is its head."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_list(lines: Iterable[str]) -> str:
    """Sentences as a list; nothing if there are none."""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def number_text(value: float | str | None) -> str:
    """A number of the service's, which writes infinity as a text, in six digits; a dash for none."""
    if value is None:
        return "–"
    number = float(value)
    return "∞" if math.isinf(number) else f"{number:.6g}"

"""What the texts of a finished release file may stand for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from app.domain.hierarchies.cell_formats import spelled_otherwise
from app.domain.rules.release_alignment import Readings
from app.services.datasets.csv_text import FORMULA_STARTS

ASTERISK: Final = "*"
"""What stands for a suppressed cell whatever the hierarchy calls it, beside empty cells."""


def readings_of(
    text: str,
    replaced: Mapping[str, str],
    labels: Collection[str],
    meaning_of: Callable[[str], str | None] = str,
) -> Readings:
    """What a released text may stand for: itself, what the schema replaces it by, or nothing (⊥).

    A whole number that the hierarchy has no label for may be another spelling of one that it has. What the
    hierarchy does not know at all may be written as the dataset's own file is, whose texts mean something.
    """
    plain = [text]
    if text[1:].startswith(FORMULA_STARTS) and text.startswith("'"):
        # An apostrophe that keeps spreadsheets from computing.
        plain.append(text[1:])
    plain += [other for own in plain if own not in labels for other in spelled_otherwise(own)]
    named: list[str | None] = [*plain, *(replaced[own] for own in plain if own in replaced)]
    if not any(own in labels for own in named) and (meant := meaning_of(text)) not in named:
        named.append(meant)
    if None in named:
        return tuple(named)
    return (*named, None) if text in ("", ASTERISK) else tuple(named)

"""The page of docs that shows every promise, what proves it, and what was measured of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.campaign.figures import TOP, Measured
from tests.campaign.promises import GROUPS, TESTS, Promise

PAGE: Final = TOP / "docs" / "reliability.md"
NOT_YET: Final = "not measured yet"

_INTRODUCTION: Final = """\
# Reliability

What the service promises of itself, the tests that prove it, and what a campaign of faults, load and
hostile input measured of it. `python -m tests.campaign` runs the whole campaign against real processes and
writes this page from its figures, which are kept beside it; [testing](testing.md#the-campaign) says how to
run parts of it. Every figure says of which commit it is and when and where it was measured; a plus sign
after the commit means that the product differed from it. A promise that was not kept is marked, and one
that was not measured says so.

The tests assert causes and run with every change; the figures are of the day on which they were measured.
Seconds are longer on a machine that does other work at the same time: its load average, beside the number
of its cores, tells.
"""


def page(figures: Mapping[str, Measured]) -> str:
    """The whole page."""
    lines = [_INTRODUCTION]
    for group in GROUPS:
        lines += [
            f"## {group.title}",
            "",
            "| promise | shown by | figure | measured |",
            "| --- | --- | --- | --- |",
        ]
        lines += [_row(promise, figures.get(promise.id)) for promise in group.promises]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def write(figures: Mapping[str, Measured], place: Path = PAGE) -> None:
    """Write the page."""
    place.write_text(page(figures), encoding="utf-8")


def _row(promise: Promise, figure: Measured | None) -> str:
    shown = [f"`{own.removeprefix('tests/').replace('::', ': ')}`" for own in promise.tests]
    if promise.part != TESTS:
        shown.append(f"campaign: `{promise.part}`")
    said, when = NOT_YET, ""
    if figure is not None:
        said = figure.text if figure.is_kept else f"**not kept**: {figure.text}"
        when = f"{figure.commit}, {figure.date}, {figure.seconds:,} s; {figure.machine}"
    return f"| {promise.says} | {', '.join(shown)} | {_cell(said)} | {when} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

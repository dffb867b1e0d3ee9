"""The page docs/performance.md: what everything took before, what it takes now, and what a peer takes.

``python -m tests.benchmarks.page --before FILE … --now FILE …`` takes reports of ``python -m tests.benchmarks
--json``, keeps their figures in docs/performance and writes the page; a part that no file of a side measures
stays there as it is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.measurement import Measurement
from tests.benchmarks.text import amount, counters_text

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = "performance.md"
FIGURES: Final = "performance"
"""The folder beside the page that holds the figures."""

SIDES: Final = ("before", "now")

PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "requests": (
        "A request",
        "User and system time of the API's processes for one request of one client: the least of five blocks "
        "of 200.",
    ),
    "load": (
        "Many clients",
        "Loads from a process of its own: closed loops, in which every client waits for its answer, and "
        "requests that leave on time whether or not the earlier ones are answered. Times of a kind alone are "
        "processor time of the API; milliseconds by role are processor time for one answer.",
    ),
    "memory": (
        "Memory under load",
        "How the resident memory of the API's processes grows in the second half of a long mixed load, by "
        "least squares; in the first half caches fill.",
    ),
    "runs": (
        "Runs",
        "Waiting for a run beyond what its search takes in one process.",
    ),
    "releases": (
        "Releases by a mechanism",
        "From the request to the table, beside the same table's release under a rule.",
    ),
    "perturbation": (
        "Draws and counts",
        "In one process: values drawn through a matrix, and COUNT queries of the release with their errors.",
    ),
    "private": (
        "Private samples",
        "In one process: plans, counts of all generalisations, draws with exact coins, noise and weights.",
    ),
    "reconstruction": (
        "Reconstruction privacy",
        "In one process: groups tested, released in copies, and the errors of counts expected.",
    ),
    "growth": (
        "How time grows",
        "Seconds at the largest size; the exponent of a power law fitted to all sizes is among the counters.",
    ),
    "views": (
        "Query views",
        "In one process: queries read and pairs decided.",
    ),
    "estimates": (
        "Estimates",
        "What dry runs estimate, as a multiple of the processor time that the work then took.",
    ),
    "starts": (
        "Starts, whole commands, memory at rest",
        "What somebody at a terminal waits for; the import is processor time, memory proportional set size.",
    ),
    "functions": (
        "From a table to its profile and its release",
        "What somebody in Python waits for, beside what they would type with another library.",
    ),
    "library": ("Without a service", "From a file to codes, and the attackers' risks, in one process."),
    "many": ("Seventy attributes", "Single records among 400,000 entities."),
    "scale": ("The case study at full size", "5.7 million members, 9.8 million entities."),
}
"""Parts of the benchmark, in the page's order: heading, and what its figures are."""

_NO_COSTS: Final = {"times", "MiB a minute"}
"""Units of which less is not better, or whose ratio says nothing."""

_COLUMNS: Final = ("Work", "Bar (aim)", "Before", "Now", "Before / now", "Peer", "Counters")

_HEAD: Final = """\
# Performance

What the service's work took before it was made lighter, what it takes now, and what a peer takes for the
same work, where a user would have one. `python -m tests.benchmarks --json` measures it on your machine, too;
`python -m tests.benchmarks.page` writes this page from its reports, whose figures are kept beside it. A
figure that does not keep to its bar is marked. The counters are those of now, or else of before. The machine
had two cores.

Where the processor time of one new assessment goes: a box is as wide as its share, callers are below what
they call.

"""


def merged(reports: Iterable[Mapping[str, Any]]) -> list[Measurement]:
    """The measurements of several reports that the page shows; a later one of a work replaces an earlier."""
    found: dict[tuple[str, str], Measurement] = {}
    for report in reports:
        for own in report["measurements"]:
            one = Measurement(**own)
            if one.part in PARTS:
                found[_key(one)] = one
    return list(found.values())


def rendered(before: Sequence[Measurement], now: Sequence[Measurement], pictures: Sequence[str]) -> str:
    """The page; every work of either side has its row."""
    text = [_HEAD + "".join(f"![{_named(one)}]({FIGURES}/{one})\n" for one in pictures)]
    then, current = {_key(one): one for one in before}, {_key(one): one for one in now}
    for part, (heading, meaning) in PARTS.items():
        works = [key for key in dict.fromkeys([*then, *current]) if key[0] == part]
        if works:
            table = [_COLUMNS, tuple("---" for _ in _COLUMNS)]
            table += [_cells(then.get(key), current.get(key)) for key in works]
            text.append(f"\n## {heading}\n\n{meaning}\n\n")
            text += ["| " + " | ".join(row) + " |\n" for row in table]
    return "".join(text)


def write(docs: Path = DOCS) -> None:
    """Write the page from the figures and pictures that are kept."""
    (docs / PAGE).write_text(kept_page(docs), encoding="utf-8")


def kept_page(docs: Path = DOCS) -> str:
    """The page that the kept figures and pictures make."""
    before, now = (_kept(docs, side) for side in SIDES)
    pictures = [f"assessment-{side}.svg" for side in SIDES]
    return rendered(before, now, [one for one in pictures if (docs / FIGURES / one).exists()])


def main(argv: Sequence[str], docs: Path = DOCS) -> int:
    """Keep the figures of the reports that were named, and write the page; 1 if a report has a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.page", description=__doc__)
    for side in SIDES:
        parser.add_argument(f"--{side}", type=Path, nargs="+", metavar="FILE", help=f"reports of {side}")
    asked = vars(parser.parse_args(argv))
    failed: list[str] = []
    for side in SIDES:
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in asked[side] or []]
        failed += [fault for report in reports for fault in report["failed"]]
        if reports:
            found = merged(reports)
            anew = {one.part for one in found}
            _keep(docs, side, [*(one for one in _kept(docs, side) if one.part not in anew), *found])
    write(docs)
    for fault in failed:
        print(f"failed: {fault}", file=sys.stderr)
    return 1 if failed else 0


def _keep(docs: Path, side: str, found: Sequence[Measurement]) -> None:
    lines = ",\n".join(json.dumps(asdict(one), ensure_ascii=False) for one in found)
    (docs / FIGURES).mkdir(exist_ok=True)
    (docs / FIGURES / f"{side}.json").write_text(f'{{"measurements": [\n{lines}\n]}}\n', encoding="utf-8")


def _kept(docs: Path, side: str) -> list[Measurement]:
    path = docs / FIGURES / f"{side}.json"
    return merged([json.loads(path.read_text(encoding="utf-8"))]) if path.exists() else []


def _key(one: Measurement) -> tuple[str, str]:
    return one.part, f"{one.work}{one.baseline if one.part == 'scale' else ''}"


def _cells(before: Measurement | None, now: Measurement | None) -> tuple[str, ...]:
    shown = now or before
    if shown is None:
        raise ValueError("a row needs a measurement")
    return (
        shown.work,
        f"{shown.bar} ({shown.aim})" if shown.aim else shown.bar,
        _side(before),
        _side(now),
        _gain(before, now),
        ""
        if shown.baseline_value is None
        else f"{shown.baseline} {amount(shown.baseline_value, shown.unit)}",
        counters_text(shown.counters),
    )


def _side(one: Measurement | None) -> str:
    if one is None:
        return ""
    marks = [" **missed**"] * (one.bar_met is False) + [" **wrong**"] * (one.same_result is False)
    unit = "" if one.unit == "s" else f" {one.unit}"
    return f"{amount(one.ours, one.unit)}{unit}{''.join(marks)}"


def _gain(before: Measurement | None, now: Measurement | None) -> str:
    if before is None or now is None or not now.ours or now.unit in _NO_COSTS:
        return ""
    return f"{before.ours / now.ours:.3g}"


def _named(picture: str) -> str:
    return "One assessment " + ("before" if "before" in picture else "now")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

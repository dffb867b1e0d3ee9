"""The tests that prove promises, run once, and how many of each passed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.campaign.figures import TOP, Figure
from tests.campaign.promises import Promise


def proven(promises: Iterable[Promise]) -> Iterator[Figure]:
    """Run the tests of promises whose figure they are."""
    wanted = list(promises)
    places = sorted({place for promise in wanted for place in promise.tests})
    outcomes = _run(places)
    for promise in wanted:
        by_place = {
            place: Counter(outcome for (file, name), outcome in outcomes.items() if _is_of(place, file, name))
            for place in promise.tests
        }
        own = sum(by_place.values(), Counter[str]())
        without = [place for place, found in by_place.items() if not found["passed"]]
        said = (
            ", ".join(f"{number} {outcome}" for outcome, number in sorted(own.items())) or "no test was run"
        )
        none = f"; none passed of {', '.join(without)}" if without else ""
        yield Figure(promise.id, f"tests: {said}{none}", not without and not own["failed"])


def _run(places: list[str]) -> dict[tuple[str, str], str]:
    """File and name → passed, failed or skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", "--all-tiers", "-q", "-n", "2", "-p", "no:cacheprovider",
             f"--junitxml={report}", "-o", "junit_family=xunit1", *places],
            cwd=TOP, check=False,
        )  # fmt: skip
        cases = ElementTree.parse(report).iter("testcase")
        return {(case.get("file", ""), case.get("name", "")): _outcome(case) for case in cases}


def _outcome(case: ElementTree.Element) -> str:
    kinds = {child.tag for child in case}
    return "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"


def _is_of(place: str, file: str, name: str) -> bool:
    path, _, test = place.partition("::")
    return file == path and (not test or name.partition("[")[0] == test)

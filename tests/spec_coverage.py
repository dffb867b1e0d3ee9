"""``pytest -m spec --spec-coverage``: which tests prove which items of the specification.

Fails if an item of a finished part has no test.
"""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

FINISHED = (
    *(f"TV-{n}" for n in range(1, 23)),
    *(f"INV-{n}" for n in range(1, 25)),
    *(f"E-{n}" for n in range(1, 51)),
    *(f"X{n}" for n in range(1, 14)),
    *("FM-3", "FM-4", "FM-5.1"),
    *("LD-D02", "LD-D03", "LD-D04", "LD-D08", "LD-S6", "LD-S7", "LD-E22"),
    *("LD-D01", "LD-E25", "FM-5.4", "FM-5.7", "FM-5.8", "FM-5.9"),
    *("LD-D10", "LD-E26", "LD-E27", "LD-E28", "BL-T7", "BL-T16", "BL-T17", "FM-2"),
    *("LD-D05", "LD-D06", "LD-D07", "LD-S1", "LD-S2", "LD-S3", "LD-S4", "LD-S5", "LD-S8", "LD-S10", "LD-S15"),
    *("LD-E16", "LD-E17", "LD-E18", "LD-E19", "LD-E20", "LD-E21", "LD-E23", "LD-E24", "LD-E29", "LD-14"),
    *("FM-5.3", "FM-5.5"),
    *("BL-T1", "BL-T2", "BL-T9", "BL-T10", "BL-T15", "BL-T20", "BL-L1", "BL-L4", "BL-L6", "BL-L8", "BL-11"),
    *("LD-S9", "FM-5.2", "FM-5.6"),
    *("LD-D09", "LD-D11", "FM-6"),
)
"""TV, INV, E and X are of the decision-theoretic framework, LD of ℓ-diversity, BL of β-likeness, FM of the
field's common models."""


def _place(item: str) -> tuple[str, int, int]:
    """Kind and number of an item such as TV-7, X1, LD-S3 or FM-5.2."""
    found = re.fullmatch(r"(.*?)(\d+)(?:\.(\d+))?", item)
    if found is None:
        raise pytest.UsageError(f"{item!r} is no item of the specification")
    return found[1], int(found[2]), int(found[3] or 0)


class SpecCoverage:
    """Collects the ids of the marker ``spec`` and reports them at the end."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    @property
    def unproven(self) -> list[str]:
        return [item for item in FINISHED if not self.tests[item]]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for test in items:
            for marker in test.iter_markers("spec"):
                for item in marker.args:
                    self.tests[item].append(test.nodeid.partition("[")[0])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("items of the specification")
        for item in sorted({*FINISHED, *self.tests}, key=_place):
            terminalreporter.line(f"{item:8}{', '.join(dict.fromkeys(self.tests[item])) or 'NO TEST'}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unproven and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

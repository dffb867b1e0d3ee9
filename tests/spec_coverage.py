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
    *(f"X{n}" for n in range(1, 15)),
    *(f"B{n}" for n in (*range(1, 8), 9, 10)),
    *(f"R{n}" for n in range(7)),
    *(f"V{n}" for n in range(1, 4)),
    *(f"FM-{n}" for n in (2, 3, 4, 6)),
    *(f"FM-5.{n}" for n in range(1, 10)),
    *(f"LD-D{n:02}" for n in range(1, 12)),
    *(f"LD-S{n}" for n in range(1, 16)),
    *(f"LD-E{n}" for n in range(16, 30)),
    *(f"LD-E{n}" for n in (1, 2, 3, 4, 5, 7)),
    *(f"S{n}" for n in range(1, 8)),
    *(f"L{n}" for n in range(1, 11)),
    "LD-14",
    *(f"BL-L{n}" for n in range(1, 9)),
    # Of T19 two releases of classes together are left out: nothing computes that.
    *(f"BL-T{n}" for n in range(1, 24)),
    "BL-6",
    "BL-11",
    *(f"RP-T{n}" for n in range(1, 16)),
    "DP-5.6",
    *(f"DN-V{n}" for n in range(1, 16)),
    *(f"DN-S{n}" for n in (1, 2, 3, 5, 6, 9, 10, 11, 13, 14, 16, 17)),
    *(f"DN-D{n}" for n in (1, 5, *range(10, 16))),
    *(f"DN-A{n}" for n in range(1, 8)),
    *(f"DN-{n}" for n in ("1.1", "2.2", "3.2", "3.5", "5.2", "5.3", "5.4", "5.5", "6.2", "7.3", "9", "10")),
    *(f"D{n}" for n in range(1, 6)),
    *(f"N{n}" for n in range(1, 5)),
    *(f"QV-{n:02}" for n in range(1, 42)),
    *(f"SQ-{n}" for n in range(1, 14)),
    *(f"PP-T2.{n}" for n in (*range(1, 9), 10, 16, 17)),
    *(f"PP-D{n}" for n in range(1, 13)),
    *(f"PP-E{n}" for n in (*range(1, 8), 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21, 24)),
)
"""TV, INV, E and X are of the decision-theoretic framework, LD of ℓ-diversity, L of its experiments, BL of
β-likeness, RP of reconstruction privacy, DP and DN of differential privacy, D of its experiments, N of those
on networks, FM of the field's common
models; S of the experiments on synthetic data; PP, QV and SQ of the perfect privacy of query views."""


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

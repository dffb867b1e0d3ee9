"""``pytest -m spec --spec-coverage``: which tests prove which items of the specification.

Fails if an item of a finished part has no test.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

FINISHED = (
    *(f"TV-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19)),
    *(f"INV-{n}" for n in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 22, 23)),
    *(f"E-{n}" for n in (*range(1, 18), *range(29, 37), 45, 46, 47)),
)


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
        for item in sorted({*FINISHED, *self.tests}, key=lambda i: (i.split("-")[0], int(i.split("-")[1]))):
            terminalreporter.line(f"{item:7}{', '.join(dict.fromkeys(self.tests[item])) or 'NO TEST'}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unproven and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

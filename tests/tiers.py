"""Which tests are run by what.

A tier is a part of the tests that a plain ``pytest`` leaves out, because it is slow. What is left out is
said at the end. A tier is run by ``-m`` with its name, or by naming its files or folders; ``--all-tiers``
leaves nothing out. `.ci/run` runs every tier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS: dict[str, tuple[str, ...]] = {
    "faults": ("tests/faults", "tests/integration/test_embedded.py"),
    "ui": ("tests/ui",),
    "readme": (
        "tests/readme/test_demonstration.py",
        "tests/api/test_tutorial.py",
        "tests/api/test_pipeline.py",
        "tests/api/test_descriptions.py",
    ),
    "deep": (),
}
"""Tier → the folders and files of which every test belongs to it; others are marked where they stand."""
PROPERTY = "tests/property"
"""Tests that draw more instances with more effort; those that are not deep are in a plain run."""

ON_REAL_DATA = "real_data"
"""Tests that read the public data sets, which not everybody has: a plain run goes without them everywhere."""


def tier_of(path: PurePosixPath) -> str | None:
    """The tier of all tests of a file, given below the checkout."""
    for tier, places in FOLDERS.items():
        if any(path.is_relative_to(place) for place in places):
            return tier
    return None


def left_out(named: Iterable[PurePosixPath]) -> list[str]:
    """The tiers that a run without ``-m`` leaves out, if these files and folders were named for it."""
    asked = {tier_of(path) for path in named}
    return [tier for tier in FOLDERS if tier not in asked]


def closing_line(tests: Counter[str]) -> str:
    """What to say of the numbers of tests left out by tier."""
    parts = ", ".join(f"{tier} ({tests[tier]})" for tier in FOLDERS if tests[tier])
    return f"left out, because they are slow: {parts}; run one by -m and its name, all by --all-tiers"


class Tiers:
    """Marks the tests of the folders, leaves tiers out, and says so."""

    def __init__(self, out: Sequence[str]) -> None:
        self._out = out
        self.tests_left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        for file, tests in groupby(items, attrgetter("path")):
            path = _below_root(file)
            tier, is_property = tier_of(path), path.is_relative_to(PROPERTY)
            for item in tests:
                if tier is not None:
                    item.add_marker(tier)
                elif item.get_closest_marker(ON_REAL_DATA) is not None:
                    item.add_marker("deep")
                if is_property:
                    item.add_marker("property")
                # The report of `.ci/run` counts by it; a test of two tiers counts for the first.
                of_tiers = [("tier", name) for name in FOLDERS if item.get_closest_marker(name)]
                item.user_properties += of_tiers[:1]

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            self.tests_left_out.update(tier for tier in self._out if item.get_closest_marker(tier))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["tests left out"] = dict(self.tests_left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Every worker leaves out the same tests."""
        output = getattr(node, "workeroutput", {})
        self.tests_left_out = Counter(output.get("tests left out", self.tests_left_out))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.tests_left_out.total():
            terminalreporter.line(closing_line(self.tests_left_out))


def _below_root(path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(ROOT).as_posix()) if path.is_relative_to(ROOT) else PurePosixPath()


def install(config: pytest.Config) -> None:
    """Leave the slow tiers out unless the command says otherwise."""
    if not config.option.markexpr and not config.option.all_tiers:
        here = config.invocation_params.dir
        named = [_below_root((here / argument.partition("::")[0]).resolve()) for argument in config.args]
        config.option.markexpr = " and ".join(f"not {tier}" for tier in left_out(named))
    # A worker of xdist is given the expression that the first process has made.
    out = [tier for tier in FOLDERS if f"not {tier}" in config.option.markexpr.split(" and ")]
    config.pluginmanager.register(Tiers(out), "tiers")

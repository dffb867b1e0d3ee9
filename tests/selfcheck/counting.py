"""Counts the random instances on which the product was compared with an oracle, for every entry.

A plugin of pytest: it notes which entries were at work while a test compared an instance. An instance that
the test rejected, and one that failed, do not count. A test that draws its instances in a loop has compared
as many as it made an entry compute.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any, Final

import pytest

from tests.selfcheck.entries import Entry, at_work

INSTANCES: Final = "instances"
TESTS: Final = "tests"
COUNTS_FILE: Final = "PRIVACY_RISK_SELFCHECK_COUNTS"
_TOOL: Final = 4


class Counting:
    """Instances by entry, of this process and of those that run tests for it."""

    def __init__(self) -> None:
        self.counts: Counter[Entry] = Counter()
        self.tests: dict[Entry, Counter[str]] = defaultdict(Counter)
        self._calls: Counter[Entry] = Counter()
        self._watched = at_work()

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        monitoring = sys.monitoring
        monitoring.use_tool_id(_TOOL, "selfcheck")
        monitoring.register_callback(_TOOL, monitoring.events.PY_START, self._begins)
        for code in self._watched:
            monitoring.set_local_events(_TOOL, code, monitoring.events.PY_START)

    def _begins(self, code: CodeType, _: int) -> None:
        frame = sys._getframe(1)
        for says in self._watched[code]:
            if (entry := says(frame)) is not None:
                self._calls[entry] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        compared = [item for item in items if _is_random(item)]
        config.hook.pytest_deselected(items=[item for item in items if not _is_random(item)])
        items[:] = compared
        wrapped: set[int] = set()
        for item in items:
            handle = _hypothesis_of(item)
            if handle is not None and id(handle) not in wrapped:
                wrapped.add(id(handle))
                handle.inner_test = self._counted(handle.inner_test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        before = self.counts.copy()
        self._calls.clear()
        yield
        if _hypothesis_of(item) is None:
            self.counts.update(self._calls)
            self.counts[INSTANCES] += max(self._calls.values(), default=0)
        for entry, number in (self.counts - before).items():
            self.tests[entry][item.nodeid] += number

    def _counted(self, compare: Any) -> Any:
        @functools.wraps(compare)
        def counted(*arguments: Any, **named: Any) -> Any:
            self._calls.clear()
            result = compare(*arguments, **named)
            self.counts[INSTANCES] += 1
            self.counts.update(set(self._calls))
            return result

        return counted

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[INSTANCES] = dict(self.counts)
            output[TESTS] = {entry: dict(tests) for entry, tests in self.tests.items()}
        elif place := os.environ.get(COUNTS_FILE):
            Path(place).write_text(json.dumps({INSTANCES: self.counts, TESTS: self.tests}))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output = getattr(node, "workeroutput", {})
        self.counts.update(output.get(INSTANCES, {}))
        for entry, tests in output.get(TESTS, {}).items():
            self.tests[entry].update(tests)


def _hypothesis_of(item: pytest.Item) -> Any:
    return getattr(getattr(item, "obj", None), "hypothesis", None)


def _is_random(item: pytest.Item) -> bool:
    """Whether a test draws instances: by hypothesis, in a loop over ``examples``, or one by one by a seed."""
    if _hypothesis_of(item) is not None or "seed" in getattr(getattr(item, "callspec", None), "params", {}):
        return True
    code = getattr(getattr(item, "obj", None), "__code__", None)
    return code is not None and "examples" in code.co_names


def pytest_configure(config: pytest.Config) -> None:
    """Count from now on."""
    counting = Counting()
    config.pluginmanager.register(counting, "selfcheck counting")

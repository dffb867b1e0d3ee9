"""Notes which tests call which functions of the product.

A plugin of pytest: ``-p tests.mutation.covering`` with the file in ``COVERING_FILE``. What a test's fixtures
call counts for it. Needs Python 3.12 or newer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any, Final

import pytest

FILE: Final = "COVERING_FILE"
TOP: Final = Path(__file__).parents[2]
_TOOL: Final = 4
_OUTPUT: Final = "covering"


class Covering:
    """Functions, by file and qualified name, with the tests that call them and how long each test takes."""

    def __init__(self) -> None:
        self.tests: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self._called: set[str] = set()
        self._product = f"{TOP / 'app'}{os.sep}"
        sys.monitoring.use_tool_id(_TOOL, "covering")
        sys.monitoring.register_callback(_TOOL, sys.monitoring.events.PY_START, self._begins)
        sys.monitoring.set_events(_TOOL, sys.monitoring.events.PY_START)

    def _begins(self, code: CodeType, _: int) -> object:
        if code.co_filename.startswith(self._product):
            self._called.add(f"{Path(code.co_filename).relative_to(TOP)}::{code.co_qualname}")
        return sys.monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._called.clear()
        sys.monitoring.restart_events()
        began = time.monotonic()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.monotonic() - began
            for function in self._called:
                self.tests[function].add(item.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        found = {
            "tests": {name: sorted(tests) for name, tests in self.tests.items()},
            "seconds": self.seconds,
        }
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = found
        else:
            Path(os.environ[FILE]).write_text(json.dumps(found))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        found = getattr(node, "workeroutput", {}).get(_OUTPUT, {"tests": {}, "seconds": {}})
        self.seconds |= found["seconds"]
        for function, tests in found["tests"].items():
            self.tests[function].update(tests)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Covering(), "covering tests")

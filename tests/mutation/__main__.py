"""Break the product in one place at a time, and say whether the tests notice.

Usage: ``python -m tests.mutation [WORD ...]``: the changes whose text has one of the words, or all of them.
No file is changed: each change is made in the memory of a process of its own. Tests that start processes do
not see it there. Exits 1 unless every change is noticed.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import os
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

from tests.mutation.changes import CHANGES, TOP, files_of, place_of

SECONDS = 600
"""Most processor time that the tests of one change may take, however busy the machine."""
NO_RESULT = 99
"""Of tests that could not be run; those that took longer are ended by a signal."""


def made(place: Path, text: str) -> None:
    """From now on this process imports the product with another text of one file."""
    unchanged = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if Path(path) != place:
            return unchanged(self, fullname)
        return compile(text, path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


class FirstFailure:
    """Writes which test fails to ``noted``; ends a property at its first instance that fails."""

    def __init__(self, noted: int) -> None:
        self._noted = noted

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._noted, f"{report.nodeid}\n".encode())

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        # Imported here, for pytest to rewrite what it asserts.
        from hypothesis import Phase, settings

        suite, phases = settings.get_profile("suite"), (Phase.explicit, Phase.generate)
        settings.register_profile("unshrunk", suite, phases=phases)
        settings.load_profile("unshrunk")


def run_by(tests: Sequence[str], broken: tuple[Path, str] | None, seconds: int = SECONDS) -> tuple[int, str]:
    """pytest's exit status of a child that runs these tests; which of them failed.

    ``broken`` is a file of the product, and the text that it has for the child.
    """
    read, noted = os.pipe()
    child = os.fork()
    if child == 0:
        status = NO_RESULT
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            if broken is not None:
                made(*broken)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                arguments = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
                status = int(pytest.main(arguments, plugins=[FirstFailure(noted)]))
        finally:
            os._exit(status)
    os.close(noted)
    _, left = os.waitpid(child, 0)
    # What the child has started may outlive it and hold the pipe's end open: nothing is waited for.
    os.set_blocking(read, False)
    with os.fdopen(read, "rb") as failed:
        return os.waitstatus_to_exitcode(left), (failed.readline() or b"").decode().strip()


def main() -> int:
    """Make the changes asked for, one after the other."""
    # Imported before the children are made: each would import it.
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}", flush=True)
    wanted = [own for own in CHANGES if not sys.argv[1:] or any(word in own.text for word in sys.argv[1:])]
    unchanged: dict[str, int] = {}
    counted = Counter[str]()
    for change in wanted:
        files = files_of(change)
        place = place_of(change)
        found, test = run_by(files, (place, place.read_text().replace(change.text, change.becomes)))
        if found == pytest.ExitCode.TESTS_FAILED:
            # Only files that pass without the change have noticed it.
            own = " ".join(files)
            if own not in unchanged:
                unchanged[own], _ = run_by(files, None)
            found = found if unchanged[own] == pytest.ExitCode.OK else NO_RESULT
        said = {1: "noticed", 0: "MISSED"}.get(found, "NO RESULT")
        counted[said] += 1
        print(f"{said:9} {place.relative_to(TOP)}: {change.text}  →  {change.becomes}", flush=True)
        if said == "noticed":
            print(f"{'':9} by {test}", flush=True)
    print(", ".join(f"{number} {said}" for said, number in counted.items()))
    return 0 if counted["noticed"] == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())

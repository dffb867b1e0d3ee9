"""The share of random faults that the tests notice, by responsibility of the product.

``python -m tests.mutation.sampled cover COVER`` runs the plain tests once and notes which of them call which
functions. ``python -m tests.mutation.sampled score COVER`` draws faults by a seed, makes each in the memory
of a process, runs the tests that call the function, the quickest first, and says how many were noticed, with
an interval of 95 %. Faults are those of mutmut, which must be installed beside what the tests need. No file
is changed. Needs Python 3.12 or newer.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from scipy.stats import binomtest

from tests.mutation.__main__ import run_by
from tests.mutation.changes import TOP
from tests.mutation.covering import FILE

RESPONSIBILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "suppression": ("app/domain/models/suppression.py", "app/domain/models/class_suppression.py"),
    "models": ("app/domain/models/*.py",),
    "comparison": ("app/domain/policies/*.py",),
    "documents": (
        "app/documents.py",
        "app/services/**/*documents.py",
        "app/api/documents.py",
        "app/api/schemas/derived.py",
    ),
    "gates": ("app/domain/gates/*.py", "app/services/gates/*.py"),
}
"""Responsibility → where it lies; a file belongs to the first that names it."""
MOST_TESTS: Final = 60
MOST_SECONDS: Final = 30
"""Of the tests that are run for one fault: their number, and the seconds that they take without it."""
WITH_DATABASE: Final = ("tests/api/", "tests/integration/")


@dataclass(frozen=True)
class Fault:
    """Another text of one function of the product."""

    responsibility: str
    place: str
    function: str
    line: int
    was: str
    becomes: str
    text: str


@dataclass(frozen=True)
class Tried:
    """A fault and what became of it: the test that noticed it, or none."""

    fault: Fault
    result: str
    by: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.sampled", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cover").add_argument("cover", type=Path)
    score = commands.add_parser("score")
    score.add_argument("cover", type=Path)
    score.add_argument(
        "--faults", type=int, default=300, help="faults to draw, as many of each responsibility"
    )
    score.add_argument("--seed", type=int, default=1)
    score.add_argument("--part", default="1/1", help="which part of them to try, as 1/2: to use two cores")
    score.add_argument("--output", type=Path, help="file for what became of each")
    given = parser.parse_args()
    if given.command == "cover":
        return cover(given.cover)
    drawn = list(sample(given.faults // len(RESPONSIBILITIES), given.seed))
    part, parts = map(int, given.part.split("/"))
    tried = [tell(attempt(fault, json.loads(given.cover.read_text()))) for fault in drawn[part - 1 :: parts]]
    if given.output:
        kept = [asdict(own) | {"fault": asdict(own.fault) | {"text": ""}} for own in tried]
        given.output.write_text(json.dumps(kept, indent=1))
    for name in [*RESPONSIBILITIES, None]:
        results = Counter(own.result for own in tried if name in (None, own.fault.responsibility))
        noticed, of = results["noticed"], results.total()
        low, high = binomtest(noticed, of).proportion_ci(method="wilson") if of else (0, 1)
        print(f"{name or 'all':12} {noticed} of {of} noticed: {low:.1%} to {high:.1%}; {dict(results)}")
    return 0


def cover(place: Path) -> int:
    """Run the plain tests and note which functions each calls; the exit status of pytest."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.covering", "-p", "no:cacheprovider",
        "-n", "logical", "tests",
    ]  # fmt: skip
    own = os.environ | {FILE: str(place.resolve())}
    return subprocess.run(command, cwd=TOP, env=own, check=False).returncode


def sample(each: int, seed: int) -> Iterator[Fault]:
    """So many faults of every responsibility, the same for one seed and one state of the product."""
    from mutmut.mutation.file_mutation import create_mutations

    draw = random.Random(seed)
    taken: set[Path] = set()
    for responsibility, patterns in RESPONSIBILITIES.items():
        files = sorted({path for pattern in patterns for path in TOP.glob(pattern)} - taken)
        taken.update(files)
        found = []
        for path in files:
            module, mutations, *_ = create_mutations(str(path), path.read_text())
            found += [(path, module, mutation) for mutation in mutations]
        draw.shuffle(found)
        made = (fault_of(responsibility, *own) for own in found)
        yield from islice(filter(None, made), each)


def fault_of(responsibility: str, path: Path, module: Any, mutation: Any) -> Fault | None:
    """The fault that a mutation of a parsed file makes; None where it changes nothing within a function."""
    from mutmut.mutation.file_mutation import deep_replace

    code = path.read_text()
    lines = code.splitlines()
    text = deep_replace(module, mutation.original_node, mutation.mutated_node).code
    matcher = difflib.SequenceMatcher(None, lines, text.splitlines(), autojunk=False)
    apart = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    if not apart:
        return None
    _, line, _, first, end = apart[0]
    inside = [own for own in _functions(ast.parse(code), "") if own[0] <= line + 1 <= own[1]]
    if not inside:
        return None
    becomes = "\n".join(text.splitlines()[first:end])
    function = max(inside)[2]
    place = path.relative_to(TOP).as_posix()
    return Fault(responsibility, place, function, line + 1, lines[line], becomes, text)


def _functions(node: ast.AST, name: str) -> Iterator[tuple[int, int, str]]:
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield child.lineno, child.end_lineno or child.lineno, inner
                inner += ".<locals>"
            inner += "."
        yield from _functions(child, inner)


def attempt(fault: Fault, covered: Mapping[str, Any]) -> Tried:
    """Run the tests that call the function with the fault."""
    tests = _chosen(covered["tests"].get(f"{fault.place}::{fault.function}", ()), covered["seconds"])
    if not tests:
        return Tried(fault, "without tests", "")
    status, by = run_by(tests, (TOP / fault.place, fault.text), 10 * MOST_SECONDS)
    if status == pytest.ExitCode.TESTS_FAILED or status < 0:
        return Tried(fault, "noticed", by or "ended by its time")
    # A module that cannot be imported any more is noticed by whatever imports it.
    return Tried(fault, {0: "missed", 2: "noticed", 4: "noticed"}.get(status, "no result"), by)


def _chosen(tests: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """The quickest tests, those without a database first."""
    chosen, left = [], float(MOST_SECONDS)
    for test in sorted(tests, key=lambda own: (own.startswith(WITH_DATABASE), seconds[own], own)):
        left -= seconds[test]
        if chosen and (left < 0 or len(chosen) == MOST_TESTS):
            break
        chosen.append(test)
    return chosen


def tell(tried: Tried) -> Tried:
    """The same, once it is printed."""
    fault = tried.fault
    print(f"{tried.result:14} {fault.place}:{fault.line}: {fault.was.strip()}  →  {fault.becomes.strip()}")
    if tried.by:
        print(f"{'':14} by {tried.by}")
    sys.stdout.flush()
    return tried


if __name__ == "__main__":
    sys.exit(main())

"""Record what the interface answers and the commands print in tests, and compare two such records.

``python -m tests.record run FILE [TESTS …]`` runs tests (default: all of the interface and the command line)
and writes their answers to a compressed file. ``python -m tests.record compare BEFORE AFTER [--again FILE]``
says what has changed: a line for each place of a document, with how often and an example. What differs
between two records of one revision (``--again``), as ids, times and draws do, is left out. Exits 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.record.plugin import FILE

TOP: Final = Path(__file__).parents[2]
TESTS: Final = ("tests/api", "tests/unit/cli", "tests/unit/client")
MASKS: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "‹id›"),
    (re.compile(r"\b[a-z]{2,5}_[0-9A-Za-z]{16,}\b"), "‹id›"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "‹time›"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "‹digits›"),
    (re.compile(r"/tmp/[^\s\"']+"), "‹file›"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms|seconds)\b"), "‹seconds›"),
    (re.compile(r"\b(tenant|key|test)[-_ ][0-9a-f]{8,}\b"), "‹name›"),
)
"""What no two runs have alike."""
ABSENT: Final = "‹absent›"

Key = tuple[str, int]


class Place(NamedTuple):
    """What was asked, and the pointer into its answer, without ids and numbers."""

    asked: str
    pointer: str


class Difference(NamedTuple):
    """Two values of one place."""

    place: Place
    test: str
    before: object
    after: object


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.record", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("file", type=Path)
    run.add_argument("tests", nargs="*", default=TESTS)
    compare = commands.add_parser("compare")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--again", type=Path, help="another record of the revision of BEFORE")
    given = parser.parse_args()
    if given.command == "run":
        return record(given.file, given.tests)
    return tell(given.before, given.after, given.again)


def record(file: Path, tests: list[str]) -> int:
    """Run the tests and write their answers; the exit status of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "answers"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "tests.record.plugin", "-p", "no:cacheprovider",
            "-n", "logical", *tests,
        ]  # fmt: skip
        status = subprocess.run(command, cwd=TOP, env=os.environ | {FILE: str(place)}, check=False).returncode
        found: dict[Key, str] = {}
        for part in sorted(Path(folder).glob("answers*")):
            for line in part.read_text(encoding="utf-8").splitlines():
                answer = json.loads(line)
                found.setdefault((answer["test"], answer["number"]), line)
    with gzip.GzipFile(file, "wb", mtime=0) as written:
        written.writelines(f"{found[key]}\n".encode() for key in sorted(found))
    print(f"{len(found):,} answers of {len({test for test, _ in found}):,} tests in {file}")
    return status


def tell(before: Path, after: Path, again: Path | None) -> int:
    """Print what differs between two records; 1 if anything does."""
    first, second = read(before), read(after)
    unstable = set[Place]() if again is None else {own.place for own in differences(first, read(again))}
    by_place: dict[Place, list[Difference]] = defaultdict(list)
    for own in differences(first, second):
        if own.place not in unstable:
            by_place[own.place].append(own)
    for place, found in sorted(by_place.items()):
        example = found[0]
        print(f"{place.asked} {place.pointer}: {len(found)} ×, as {_short(example.before)} → "
              f"{_short(example.after)} in {example.test}")  # fmt: skip
    compared = len(first.keys() & second.keys())
    print(
        f"{compared:,} answers compared; {len(first.keys() - second.keys()):,} were only before, "
        f"{len(second.keys() - first.keys()):,} are only after; {len(unstable):,} places differ between "
        f"records of one revision; {len(by_place):,} other places differ"
    )
    return 1 if by_place else 0


def read(file: Path) -> Mapping[Key, Mapping[str, Any]]:
    """The answers of a record by test and number."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        answers = [json.loads(line) for line in lines]
    return {(answer["test"], answer["number"]): answer for answer in answers}


def differences(
    before: Mapping[Key, Mapping[str, Any]], after: Mapping[Key, Mapping[str, Any]]
) -> Iterator[Difference]:
    """Where the answers that both have differ."""
    for key in sorted(before.keys() & after.keys()):
        one, other = before[key], after[key]
        asked = re.sub(r"\d+", "0", _masked(one["asked"]).split("?")[0])
        for part in ("asked", "status", "headers", "body"):
            for pointer, left, right in _apart(one[part], other[part], part):
                yield Difference(Place(asked, pointer), key[0], left, right)


def _apart(left: Any, right: Any, pointer: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in {**left, **right}:
            yield from _apart(left.get(name, ABSENT), right.get(name, ABSENT), f"{pointer}/{_masked(name)}")
    elif isinstance(left, list) and isinstance(right, list):
        for one, other in zip_longest(left, right, fillvalue=ABSENT):
            yield from _apart(one, other, f"{pointer}/*")
    elif isinstance(left, str) and isinstance(right, str):
        if _masked(left) != _masked(right):
            yield from _apart_in_text(left, right, pointer)
    elif type(left) is not type(right) or left != right:
        yield pointer, left, right


def _apart_in_text(left: str, right: str, pointer: str) -> Iterator[tuple[str, object, object]]:
    """Where two texts differ: documents that are sent as text by their fields, others by their lines."""
    if pointer.endswith("/payload"):
        yield from _apart(json.loads(b64decode(left)), json.loads(b64decode(right)), pointer)
        return
    for one, other in zip_longest(left.splitlines(), right.splitlines(), fillvalue=ABSENT):
        if _masked(one) != _masked(other):
            yield pointer, one, other


def _masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}…"


if __name__ == "__main__":
    sys.exit(main())

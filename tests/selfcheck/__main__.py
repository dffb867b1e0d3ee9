"""Compare the product with oracles on thousands of random instances.

``python -m tests.selfcheck`` takes about two minutes on two cores. It runs the tests that compare random
instances with ``tests/oracles``, drawn by a new seed; ``--seed`` repeats a run. Entries of a catalogue that
were compared on fewer than 50 instances are compared again, on more of them. Every mismatch is printed
with its instance. Exits 1 if there is one, if there were fewer than 10,000 instances, or if an entry is
still short of 50: a new entry without an oracle is named. Needs Python 3.12 or newer, which can watch
single functions.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.selfcheck.counting import COUNTS_FILE, INSTANCES, TESTS
from tests.selfcheck.entries import catalogued

TOP: Final = Path(__file__).parents[2]
LEAST: Final = 10_000
LEAST_OF_EACH: Final = 50
EFFORT: Final = 0.15
_FLOOR: Final = 10
_MOST_TIMES: Final = 10
_ROUNDS: Final = 6
_MARGIN: Final = 1.2
_ORACLE: Final = re.compile(r"tests\.oracles(?: import|\.(?!effort\b))")
_WITH_ORACLES_OF_THEIR_OWN: Final = ("tests/unit/measures/", "tests/unit/criteria/", "tests/unit/domain/")
_LEFT_OUT: Final = "not deep and not real_data and not faults and not readme and not ui"


@dataclass
class Compared:
    """Instances by entry, those of each test that had the entry compute, and whether nothing differed."""

    counts: Counter[str] = field(default_factory=Counter)
    tests: dict[str, dict[str, int]] = field(default_factory=dict)
    agrees: bool = True


def comparing(top: Path = TOP) -> list[str]:
    """The files of tests that compare random instances with an oracle, below the checkout."""
    found = []
    for path in sorted((top / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(top).as_posix()
        by_hand = _ORACLE.search(text) is not None or place.startswith(_WITH_ORACLES_OF_THEIR_OWN)
        if by_hand and ("@given(" in text or "examples(" in text or '"seed"' in text):
            found.append(place)
    return found


def compare(tests: Sequence[str], seed: int, processes: int, effort: float, least: int) -> Compared:
    """Run these tests, each on ``least`` instances or more."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "counts.json"
        command = [
            sys.executable, "-m", "pytest", "-p", "tests.selfcheck.counting", "-p", "no:cacheprovider", "-q",
            "--no-header", "-n", str(processes), "--dist=worksteal", "-m", _LEFT_OUT,
            f"--hypothesis-seed={seed}", *tests,
        ]  # fmt: skip
        own = {
            COUNTS_FILE: str(place),
            "PRIVACY_RISK_TEST_EFFORT": str(effort),
            "PRIVACY_RISK_TEST_LEAST": str(least),
        }
        status = subprocess.run(command, cwd=TOP, env=os.environ | own, check=False).returncode
        if not place.exists():
            return Compared(agrees=False)
        told = json.loads(place.read_text())
    return Compared(Counter(told[INSTANCES]), told[TESTS], status == 0)


def short_of(counts: Counter[str]) -> dict[str, int]:
    """The entries that were compared too seldom, and on how many instances."""
    return {entry: counts[entry] for entry in catalogued() if counts[entry] < LEAST_OF_EACH}


def again(found: Compared, asked: argparse.Namespace) -> Compared:
    """Compare the entries that are short of instances on more, each by the test that has most of it.

    How many a test has of an entry is chance, so that somewhat more are asked for, and what is still short
    after it is compared again.
    """
    for more in range(1, _ROUNDS + 1):
        tests, times = set(), 1
        for entry, count in short_of(found.counts).items():
            by_test = found.tests.get(entry)
            if by_test:
                most = max(by_test, key=lambda test: (by_test[test], test))
                tests.add(most)
                missing = _MARGIN * (LEAST_OF_EACH - count)
                times = max(times, math.ceil(missing / min(by_test[most], _FLOOR)))
        if not tests:
            break
        floor = _FLOOR * min(times, _MOST_TIMES)
        new = compare(sorted(tests), asked.seed + more, asked.processes, asked.effort, floor)
        found = Compared(found.counts + new.counts, found.tests, found.agrees and new.agrees)
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the comparison; 0 if nothing differs and enough was compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.selfcheck", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="that of an earlier run")
    parser.add_argument(
        "--effort", type=float, default=EFFORT, help="share of the instances of each property"
    )
    parser.add_argument("--processes", type=int, default=2, help="that compare at once")
    parser.add_argument("--json", type=Path, help="file to write the numbers of instances to")
    asked = parser.parse_args(arguments)
    if sys.version_info < (3, 12):
        print("The self-check needs Python 3.12 or newer.", file=sys.stderr)
        return 2
    start = time.monotonic()
    found = again(compare(comparing(), asked.seed, asked.processes, asked.effort, _FLOOR), asked)
    counts, entries = found.counts, catalogued()
    if asked.json is not None:
        asked.json.write_text(json.dumps(counts, indent=1, sort_keys=True))
    short = short_of(counts)
    for entry, count in short.items():
        print(f"{entry}: {count} instances, at least {LEAST_OF_EACH} are needed")
    least = min(entries, key=lambda entry: counts[entry])
    print(
        f"seed {asked.seed}: {counts[INSTANCES]:,} instances, {len(entries)} entries, the fewest "
        f"{counts[least]} of {least}; {time.monotonic() - start:.0f} s"
    )
    if counts[INSTANCES] < LEAST:
        print(f"at least {LEAST:,} instances are needed")
    if found.agrees:
        print("nothing differs from its oracle")
    else:
        print("something differs from its oracle, or the comparison did not come to its end: see above")
    return int(not found.agrees or bool(short) or counts[INSTANCES] < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

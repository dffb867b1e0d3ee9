"""Draws where the processor time of one new assessment goes in the API's process.

``python -m tests.benchmarks.service.flame_picture FILE.svg`` writes the picture; ``--checkout FOLDER`` draws
that of another checkout.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.cli.embedded import temporary_folder
from app.main import operations
from app.settings import Settings
from privacy_risk import Client, Retries
from tests.benchmarks.checkout import run_in
from tests.benchmarks.flame import drawn, folded
from tests.benchmarks.service.commands import PROGRAM, BrokenError, run, served
from tests.benchmarks.service.sample import RECORDS, assessments, load_sample
from tests.benchmarks.service.waiting import until

REQUESTS: Final = 300
_FIRST: Final = 20
"""Requests before those that are looked at: they load what the others find."""

MODULE: Final = "tests.benchmarks.service.flame_picture"


def main(argv: Sequence[str]) -> int:
    """Draw the picture; 0 once it is written."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("picture", type=Path, help="the SVG to write")
    parser.add_argument("--checkout", type=Path, metavar="FOLDER", help="draw the code of another checkout")
    asked = parser.parse_args(argv)
    if asked.checkout is not None:
        return run_in(asked.checkout, MODULE, [str(asked.picture.absolute())])
    with temporary_folder(operations(Settings)) as folder:
        stacks = _sampled(folder)
    title = f"A new assessment, {RECORDS:,} records, {RECORDS:,} entities"
    asked.picture.write_text(drawn(folded(stacks, "request"), title, REQUESTS), encoding="utf-8")
    return 0


def _sampled(folder: Path) -> dict[tuple[str, ...], float]:
    """Seconds by stack of so many new assessments."""
    place, home = folder / "stacks.json", folder / "home"
    program = [sys.executable, "-m", "tests.benchmarks.service.sampled", str(place)]
    with served(home, program) as one:
        key = run([*PROGRAM, "bootstrap", "sampled"], PRIVACY_RISK_HOME=str(home)).output.split()[-1]
        with Client(one.service.base_url, key, retries=Retries(attempts=1)) as client:
            question = load_sample(client, folder)
            questions = assessments(client, question, 1)
            for body in questions[:_FIRST]:
                client.assessments.create(body)
            time.sleep(1.0)
            place.with_suffix(".begin").touch()
            for body in questions[_FIRST : _FIRST + REQUESTS]:
                client.assessments.create(body)
            place.with_suffix(".end").touch()
            if not until(place.exists, 30.0):
                raise BrokenError("the samples were not written")
    return {tuple(stack): seconds for stack, seconds in json.loads(place.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

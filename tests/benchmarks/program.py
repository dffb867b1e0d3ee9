"""How fast this machine does the product's work, beside other tools in the same run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from app.cli.operations import Operations
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.over_http import measure_http
from tests.benchmarks.parts import PARTS, Part, PartFailedError, measurements
from tests.benchmarks.text import lines, markdown_table

HTTP: Final = "http"
"""The part that needs a running service."""


def main(argv: Sequence[str], operations: Callable[[], Operations]) -> int:
    """Measure what is asked for; 1 if a result is wrong or missing.

    ``operations`` gives what starts the service that the part ``http`` measures.
    """
    arguments = _parser().parse_args(argv)
    chosen = set(arguments.only or [*(part.name for part in PARTS), HTTP])
    found: list[Measurement] = []
    not_run: list[str] = []
    failed: list[str] = []
    for part in PARTS:
        if part.name not in chosen:
            continue
        if part.needs is not None and not _has(arguments.data, part.needs):
            not_run.append(
                f"{part.name}: no data (give --data or PRIVACY_RISK_DATA, a folder with {part.needs})"
            )
            continue
        try:
            for measured in _measured(part, arguments.data):
                found.append(measured)
                _tell(measured, arguments)
        except PartFailedError as error:
            failed.append(f"{part.name}: {error}")
    if HTTP in chosen:
        for measured in measure_http(operations()):
            found.append(measured)
            _tell(measured, arguments)
    _end(found, not_run, failed, arguments)
    return 1 if failed or any(measured.same_result is False for measured in found) else 0


def _parser() -> argparse.ArgumentParser:
    parts = "; ".join([*(f"{part.name}: {part.measures}" for part in PARTS), f"{HTTP}: the service"])
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measure the product's work beside the same work done otherwise, in the same run. "
        "Status 1 means that a result was wrong or a part broke off; a missed bar is no failure. "
        f"Parts: {parts}.",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("PRIVACY_RISK_DATA"),
        help="folder of the public data sets (default: PRIVACY_RISK_DATA)",
    )
    parser.add_argument(
        "--only", nargs="+", choices=[*(part.name for part in PARTS), HTTP], help="measure these parts alone"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    form.add_argument("--markdown", action="store_true", help="print the table of the documentation")
    return parser


def _has(data: Path | None, folder: str) -> bool:
    return data is not None and (Path(data) / folder).is_dir()


def _measured(part: Part, data: Path | None) -> Iterator[Measurement]:
    return measurements(part, None if data is None else Path(data))


def _tell(measured: Measurement, arguments: argparse.Namespace) -> None:
    if not (arguments.json or arguments.markdown):
        print("\n".join(lines(measured)), flush=True)


def _end(
    found: list[Measurement], not_run: list[str], failed: list[str], arguments: argparse.Namespace
) -> None:
    if arguments.json:
        report = {"measurements": [asdict(one) for one in found], "not_run": not_run, "failed": failed}
        print(json.dumps(report, ensure_ascii=False))
        return
    if arguments.markdown:
        print("\n".join(markdown_table(found)))
    for reason in not_run:
        print(f"not run: {reason}", file=sys.stderr if arguments.markdown else sys.stdout)
    for reason in failed:
        print(f"failed: {reason}", file=sys.stderr)

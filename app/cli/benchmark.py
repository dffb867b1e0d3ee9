"""``benchmark``: how fast this machine does the product's work, beside pandas in the same run."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from app.cli.measurement import Measurement
from app.cli.operations import Operations


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "benchmark",
        help="measure scoring, searching and uploading beside pandas",
        description="Measure scoring, searching and uploading beside the same work in pandas. Status 1 means "
        "that a result was wrong; a missed bar is no failure.",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("PRIVACY_RISK_DATA"),
        help="folder that holds the folder arx-adult (default: PRIVACY_RISK_DATA)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Measure everything; 1 if a result is wrong."""
    # Imported here: every other command would pay for pandas.
    from app.cli.benchmark_http import measure_http

    measured = [*_core(arguments.data), *measure_http(operations)]
    not_run = [] if arguments.data else ["the core on Adult: no data (give --data or PRIVACY_RISK_DATA)"]
    if arguments.json:
        report = {"measurements": [asdict(measurement) for measurement in measured], "not_run": not_run}
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("\n".join([*_lines(measured), *(f"not run: {reason}" for reason in not_run)]))
    return 1 if any(measurement.same_result is False for measurement in measured) else 0


def _core(data: Path | None) -> list[Measurement]:
    if data is None:
        return []
    from app.experiments.benchmark_core import measure_core

    return [
        Measurement(
            work=found.work,
            bar=found.bar,
            unit="s",
            ours=found.ours_seconds,
            baseline=found.baseline_seconds,
            ratio=found.ratio,
            peak_mib=found.peak_bytes / 2**20,
            same_result=found.same_result,
            detail=found.detail,
        )
        for found in measure_core(data)
    ]


def _lines(measured: Sequence[Measurement]) -> list[str]:
    lines = []
    for found in measured:
        parts = [f"{found.ours:.4g} {found.unit} (bar {found.bar})"]
        if found.baseline is not None and found.ratio is not None:
            parts.append(f"baseline {found.baseline:.4g} {found.unit}, ratio {found.ratio:.3g}")
        if found.peak_mib is not None:
            parts.append(f"+ {found.peak_mib:.0f} MiB")
        if found.same_result is not None:
            parts.append("same result" if found.same_result else "WRONG RESULT")
        lines += [found.work, "    " + ", ".join(parts)]
        if found.detail:
            lines.append("    " + found.detail)
    return lines

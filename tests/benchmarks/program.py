"""How fast this machine does the product's work, beside other tools in the same run."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.cli.operations import Operations
from tests.benchmarks.checkout import run_in
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.parts import PARTS, Part, PartFailedError, measurements
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.text import lines, markdown_table


@dataclass(frozen=True)
class ServicePart:
    """Benchmarks of whole processes, which this one starts."""

    name: str
    measure: Callable[[Asked], Iterable[Measurement]]
    measures: str


def _of(module: str, function: str = "measure") -> Callable[[Asked], Iterable[Measurement]]:
    """What measures a part, loaded with it: another checkout may lack what other parts measure."""

    def measure(asked: Asked) -> Iterable[Measurement]:
        loaded = importlib.import_module(f"tests.benchmarks.{module}")
        found: Iterable[Measurement] = getattr(loaded, function)(asked)
        return found

    return measure


SERVICE_PARTS: Final = (
    ServicePart("http", _of("over_http"), "assessments, uploads, hostile requests"),
    ServicePart("requests", _of("service.per_request"), "processor time of a request"),
    ServicePart("starts", _of("service.starts"), "imports, starts, whole commands, memory at rest"),
    ServicePart(
        "functions",
        _of("service.table_functions"),
        "a table in memory, or a large file, to profile and release",
    ),
    ServicePart("runs", _of("service.run_waits"), "waiting for runs"),
    ServicePart(
        "releases", _of("service.drawn_releases"), "a million records, perturbed and under a rule, over HTTP"
    ),
    ServicePart("estimates", _of("estimates"), "what dry runs estimate, beside what the work takes"),
    ServicePart("load", _of("service.load"), "many clients at once, kinds of requests mixed and alone"),
    ServicePart(
        "memory", _of("service.load", "measure_memory"), "how the API's memory grows under a mixed load"
    ),
)


def main(argv: Sequence[str], operations: Callable[[], Operations]) -> int:
    """Measure what is asked for; 1 if a result is wrong or missing.

    ``operations`` gives what starts the services that some parts measure.
    """
    arguments = _parser().parse_args(argv)
    if arguments.checkout is not None:
        return run_in(arguments.checkout, "tests.benchmarks", _without_checkout(argv, arguments.data))
    chosen = set(arguments.only or _names())
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
    for service_part in SERVICE_PARTS:
        if service_part.name in chosen:
            for measured in service_part.measure(_asked(arguments, operations())):
                found.append(measured)
                _tell(measured, arguments)
    _end(found, not_run, failed, arguments)
    return 1 if failed or any(measured.same_result is False for measured in found) else 0


def _parser() -> argparse.ArgumentParser:
    parts = "; ".join(f"{part.name}: {part.measures}" for part in (*PARTS, *SERVICE_PARTS))
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
    parser.add_argument("--only", nargs="+", choices=_names(), help="measure these parts alone")
    parser.add_argument(
        "--processes",
        type=int,
        default=2,
        help="processes of the API under load, where serve has more than one",
    )
    parser.add_argument("--load-seconds", type=float, default=10.0, help="length of every load (default: 10)")
    parser.add_argument(
        "--memory-seconds",
        type=float,
        default=60.0,
        help="length of the load under which the growth of memory is told (default: 60; 600 tell it well)",
    )
    parser.add_argument(
        "--checkout",
        type=Path,
        metavar="FOLDER",
        help="measure the code of another checkout, such as an earlier commit's, by these benchmarks",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    form.add_argument("--markdown", action="store_true", help="print the table of the documentation")
    return parser


def _names() -> list[str]:
    return [part.name for part in (*PARTS, *SERVICE_PARTS)]


def _without_checkout(argv: Sequence[str], data: Path | None) -> list[str]:
    """The arguments for a run in another folder."""
    others = argparse.ArgumentParser(add_help=False)
    others.add_argument("--checkout")
    others.add_argument("--data")
    _, rest = others.parse_known_args(argv)
    return [*rest, *([] if data is None else ["--data", str(Path(data).absolute())])]


def _asked(arguments: argparse.Namespace, operations: Operations) -> Asked:
    return Asked(
        operations,
        None if arguments.data is None else Path(arguments.data),
        arguments.processes,
        arguments.load_seconds,
        arguments.memory_seconds,
    )


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

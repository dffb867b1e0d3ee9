"""``demo``: the whole journey on an embedded service, with the sample's data or the user's own."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Final

from app.cli.embedded import SERVICE, client_of, temporary_folder
from app.cli.journey import Journey, check_tables, load_journey
from app.cli.operations import Operations, RunningService
from app.cli.progress import Listener, Silent, listener_for
from app.cli.report import json_report, svg_map, text_report
from app.cli.shared_arguments import add_json_argument
from app.cli.table_header import require_described
from app.cli.walk import Walk, Walked
from app.domain.errors import InvalidInput
from app.samples import DEFAULT_ENTITIES, DEFAULT_MEMBERS, JOURNEY

SAMPLE_PREFIX: Final = "demo-"
"""Begins the names of what is made of the sample: without it they are those that the examples of the
interface create, and who tries these out under the same key would be told that they are taken."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "demo",
        description="Start an embedded service (PostgreSQL, API and worker as processes of their own), make "
        "the whole journey over HTTP and stop it again.",
    )
    add_json_argument(parser)
    parser.add_argument("--serve", action="store_true", help="leave the service running afterwards")
    parser.add_argument(
        "--scale", type=_positive, default=1.0, help="size of the sample as a multiple of 20,000 members"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo-output"),
        help="folder for the map and the release (default: demo-output)",
    )
    parser.add_argument(
        "--journey", type=Path, help="a journey file for tables of your own, see docs/demo.md"
    )
    parser.add_argument("--dataset", type=Path, help="table to be disclosed, instead of the journey file's")
    parser.add_argument(
        "--dictionary", type=Path, help="what an attacker knows, instead of the journey file's"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Make the journey; 0 if a rule was found."""
    given = _given(arguments)
    with temporary_folder(operations) as folder:
        journey = given or _of_sample(arguments.scale, folder / "sample")
        start = time.perf_counter()
        service = operations.start_service(folder / SERVICE)
        started = time.perf_counter() - start
        try:
            walked = _walk(arguments, journey, service, started)
            if arguments.serve:
                _serve(arguments, service)
        finally:
            service.stop()
    return 0 if walked.optimum is not None else 1


def _walk(arguments: argparse.Namespace, journey: Journey, service: RunningService, started: float) -> Walked:
    """Make the journey on the running service and report it."""
    listener: Listener = Silent() if arguments.json else listener_for(sys.stdout)
    listener.done("service", started, "PostgreSQL, API and worker are running")
    map_path = arguments.output / "risk-utility-map.svg"
    release_path = arguments.output / f"{journey.dataset.name}-release.csv"
    with client_of(service) as client:
        prefix = "" if arguments.journey is not None else SAMPLE_PREFIX
        walked = Walk(client, journey, release_path, listener, {"service": started}, prefix=prefix).run()
    arguments.output.mkdir(parents=True, exist_ok=True)
    map_path.write_text(svg_map(walked), encoding="utf-8")
    if arguments.json:
        report = json_report(walked, map_path, release_path)
        if arguments.serve:
            report["service"] = {"docs": f"{service.base_url}/docs", "api_key": service.api_key}
        print(json.dumps(report, ensure_ascii=False), flush=True)
    else:
        print("\n" + text_report(walked, map_path, release_path), flush=True)
    return walked


def _serve(arguments: argparse.Namespace, service: RunningService) -> None:
    if not arguments.json:
        print(f"\nSwagger UI  {service.base_url}/docs\nAPI key     {service.api_key}", flush=True)
        print("Ctrl-C stops the service and removes its data.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        service.wait()


def _given(arguments: argparse.Namespace) -> Journey | None:
    """The journey with tables of the user's own, if any; InvalidInput for what can be told to be wrong."""
    if arguments.output.exists() and not arguments.output.is_dir():
        raise InvalidInput.of(
            "--output", "no-folder", f"{arguments.output} is no folder.", "Name one, or a new one."
        )
    if arguments.journey is not None:
        journey = load_journey(arguments.journey, arguments.dataset, arguments.dictionary)
        check_tables((journey.dataset, journey.dictionary, *journey.lookups), journey.attributes)
        require_described(journey.dataset, journey.attributes)
        return journey
    if arguments.dataset is not None or arguments.dictionary is not None:
        raise InvalidInput.of(
            "--journey",
            "missing",
            "Tables of your own need a journey file, which names their columns, hierarchies and links.",
            "Write one (python -m app sample DIRECTORY makes an example) and give it with --journey.",
        )
    return None


def _of_sample(scale: float, folder: Path) -> Journey:
    # Imported here: help and wrong arguments need nothing of it.
    from app.samples.files import write_sample

    write_sample(folder, round(DEFAULT_MEMBERS * scale), round(DEFAULT_ENTITIES * scale))
    return load_journey(folder / JOURNEY)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1000:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1000")
    return value

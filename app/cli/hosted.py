"""``embedded``: a service for the program that starts it, for as long as that keeps the pipe open."""

from __future__ import annotations

import argparse
import json
import sys

from app.cli.embedded import SERVICE, temporary_folder
from app.cli.operations import Operations
from privacy_risk.embedded import COMMAND, STAGES, START_WORKER


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        COMMAND,
        description="Start an embedded service, print its address and its key as one line of JSON, and stop "
        "it when standard input ends. A line `worker` there starts the worker. The functions of privacy_risk "
        "use it; python -m app serve is for people.",
    )
    parser.add_argument(STAGES, action="store_true", help="print how far the start is first, a line each")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Run the service until standard input ends."""
    with temporary_folder(operations) as folder:
        tell = _tell if arguments.stages else lambda _: None
        running = operations.start_service(folder / SERVICE, with_worker=False, tell=tell)
        try:
            print(json.dumps({"base_url": running.base_url, "api_key": running.api_key}), flush=True)
            for line in sys.stdin:
                if line.strip() == START_WORKER:
                    running.start_worker()
        finally:
            running.stop()
    return 0


def _tell(stage: str) -> None:
    print(json.dumps({"stage": stage}), flush=True)

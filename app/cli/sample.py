"""``sample``: the demonstration's files, to look at or to start from."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.operations import Operations
from app.samples import DEFAULT_ENTITIES, DEFAULT_MEMBERS, DEFAULT_PATIENTS, JOURNEY, PATIENTS


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser("sample")
    parser.add_argument("folder", type=Path, help="is made if it does not exist")
    parser.add_argument("--members", type=int, default=DEFAULT_MEMBERS, help="records to disclose")
    parser.add_argument("--entities", type=int, default=DEFAULT_ENTITIES, help="people of the census")
    parser.add_argument(
        "--patients",
        type=int,
        metavar="N",
        help=f"write {PATIENTS} instead: so many records (such as {DEFAULT_PATIENTS}) as a German hospital "
        "exports them, with the faults of such exports",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Write the files."""
    # Imported here: help and wrong arguments need nothing of it.
    from app.samples.files import write_patients, write_sample

    if arguments.patients is not None:
        print(f"The patients are in {write_patients(arguments.folder, arguments.patients)}")
        return 0
    write_sample(arguments.folder, arguments.members, arguments.entities)
    print(f"The journey is described in {arguments.folder / JOURNEY}")
    return 0

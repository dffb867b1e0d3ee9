"""``sample``: the demonstration's files, to look at or to start from."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.operations import Operations
from app.samples.files import JOURNEY, write_sample
from app.samples.members import DEFAULT_ENTITIES, DEFAULT_MEMBERS


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser("sample", help="write the demonstration's files into a folder")
    parser.add_argument("folder", type=Path, help="is made if it does not exist")
    parser.add_argument("--members", type=int, default=DEFAULT_MEMBERS, help="records to disclose")
    parser.add_argument("--entities", type=int, default=DEFAULT_ENTITIES, help="people of the census")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Write the files."""
    write_sample(arguments.folder, arguments.members, arguments.entities)
    print(f"The journey is described in {arguments.folder / JOURNEY}")
    return 0

"""The program: ``privacy-risk COMMAND``, also ``python -m app COMMAND``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final

from app import __version__
from app.cli.operations import Operations

COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "demo": {"demo": "start an embedded service, load data, score a rule, find the optimal one, release it"},
    "describe": {"describe": "propose type, format, role and hierarchy of each column, as a file to edit"},
    "profile": {
        "profile": "measure the risk profile of a table: k-anonymity, ℓ-diversity, t-closeness and others"
    },
    "judge_synthetic": {
        "judge-synthetic": "attack people by a synthetic table, and compare it with the original"
    },
    "anonymise": {"anonymise": "generalise and suppress a table until it meets criteria, at the least loss"},
    "sample": {"sample": "write the demonstration's files into a folder"},
    "gate": {"gate": "judge a release by a policy: exit status 0 pass, 1 fail, 2 error"},
    "policy": {"policy": "check, compare and begin policies of release gates"},
    "reproduce": {
        "reproduce": "compute a report again from its inputs: exit status 0 same, 1 differs, 2 cannot be told"
    },
    "experiment": {"experiment": "list and repeat the papers' experiments, on generated or real data"},
    "cluster_demo": {"cluster-demo": "score rules on a Dask cluster, kill a worker, compare the bytes"},
    "audit": {"audit": "try to refute what a mechanism promises"},
    "verify": {"verify": "check a signed report, offline"},
    "signing_key": {"signing-key": "make the pair of keys with which a pipeline signs its evidence"},
    "hosted": {"embedded": "run a service for the program that starts it, until standard input ends"},
    "operator_commands": {
        "tenant": "show or change a tenant's retention and quotas",
        "serve": "serve the API; without DATABASE_URL also an embedded PostgreSQL and a worker",
        "worker": "work off the queue of runs",
        "migrate": "bring the database's schema up to date",
        "bootstrap": "make a tenant and its administrator's key",
        "doctor": "check role, row-level security, keys, disk and migrations",
        "rotate-keys": "wrap all data and signing keys with the current master key",
        "backup": "write the whole database to a new file",
        "restore": "fill a database without tenants from a backup",
        "purge": "leave nothing of what was deleted in the database's files",
        "openapi": "print the OpenAPI document",
    },
}
"""File → the commands that it declares, in the order in which they are listed, and what is said of each.

They stand here so that a list of them loads none of the files.
"""


def run(argv: Sequence[str], operations: Operations) -> int:
    """Run one command; the exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    arguments = parser_for(argv).parse_args(argv)
    return told(lambda: arguments.run(arguments, operations))


def told(work: Callable[[], int | None]) -> int:
    """Do the work; its exit status (None: 0), with what went wrong told on standard error."""
    try:
        return work() or 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # Imported here: it knows the errors of the client, which most processes never load.
        from app.cli.error_text import EXPECTED, error_text

        if not isinstance(error, EXPECTED):
            raise
        print(f"privacy-risk: {error_text(error)}", file=sys.stderr)
        return 1


def parser_for(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of these arguments: of the command that they name, or of all where they name none."""
    parser = argparse.ArgumentParser(
        prog="privacy-risk",
        description="How much harm a disclosure can do, how useful it still is, and which form is best.",
    )
    parser.add_argument("--version", action="version", version=f"privacy-risk {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    asked = next((word for word in argv if not word.startswith("-")), None)
    for file, names in COMMANDS.items():
        if asked in names:
            import_module(f"app.cli.{file}").add_parser(commands)
            return parser
    for names in COMMANDS.values():
        for name, about in names.items():
            commands.add_parser(name, help=about)
    return parser

"""The program: ``privacy-risk COMMAND``, also ``python -m app COMMAND``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final

from app import __version__
from app.cli.operations import Operations

COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "demo": ("demo",),
    "describe": ("describe",),
    "profile": ("profile",),
    "anonymise": ("anonymise",),
    "sample": ("sample",),
    "gate": ("gate",),
    "policy": ("policy",),
    "reproduce": ("reproduce",),
    "experiment": ("experiment",),
    "audit": ("audit",),
    "verify": ("verify",),
    "signing_key": ("signing-key",),
    "hosted": ("embedded",),
    "operator_commands": (
        "tenant", "serve", "worker", "migrate", "bootstrap", "doctor", "rotate-keys", "backup", "restore",
        "purge", "openapi",
    ),
}  # fmt: skip
"""File → the commands that it declares, in the order in which they are listed."""


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
    named = [file for file, names in COMMANDS.items() if argv[:1] and argv[0] in names]
    for file in named or COMMANDS:
        import_module(f"app.cli.{file}").add_parser(commands)
    return parser

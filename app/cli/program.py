"""The program: ``privacy-risk COMMAND``, also ``python -m app COMMAND``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from app import __version__
from app.cli import (
    demo,
    experiment,
    gate,
    operator_commands,
    policy,
    profile,
    reproduce,
    sample,
    signing_key,
    verify,
)
from app.cli.error_text import told
from app.cli.operations import Operations


def run(argv: Sequence[str], operations: Operations) -> int:
    """Run one command; the exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    return told(lambda: arguments.run(arguments, operations))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="privacy-risk",
        description="How much harm a disclosure can do, how useful it still is, and which form is best.",
    )
    parser.add_argument("--version", action="version", version=f"privacy-risk {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    demo.add_parser(commands)
    profile.add_parser(commands)
    sample.add_parser(commands)
    gate.add_parser(commands)
    policy.add_parser(commands)
    reproduce.add_parser(commands)
    experiment.add_parser(commands)
    verify.add_parser(commands)
    signing_key.add_parser(commands)
    operator_commands.add_parsers(commands)
    return parser

"""``verify``: whether a report is genuine. Needs two files and no service, and starts without the rest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from app.evidence.faults import EvidenceError
from app.evidence.instants import instant_text
from app.evidence.keys import read_keys
from app.evidence.verification import Verified, check_page, verify

GENUINE: Final = 0
NOT_GENUINE: Final = 2
"""Also where nothing can be said, since a file cannot be read: anything but 0 is no reason to trust."""


def main(argv: list[str]) -> int:
    """Run the command by itself; ``argv`` begins after its name."""
    parser = argparse.ArgumentParser(prog="privacy-risk verify", description=_DESCRIPTION)
    _add_arguments(parser)
    return run_verify(parser.parse_args(argv))


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser("verify", help="check a signed report, offline", description=_DESCRIPTION)
    _add_arguments(parser)
    parser.set_defaults(run=lambda arguments, _operations: run_verify(arguments))


_DESCRIPTION: Final = (
    "Whether a report is what a service signed, byte by byte. Exit status 0: it is; 2: it is not, or cannot "
    "be read."
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, help="the signed report, as the service answered it")
    parser.add_argument(
        "--keys", type=Path, required=True, help="the service's public keys (GET /v1/signing-keys)"
    )
    parser.add_argument("--html", type=Path, help="a readable page that must carry the report's hash")


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify and say what was found."""
    try:
        keys = read_keys(arguments.keys.read_bytes())
        verified = verify(arguments.report.read_bytes(), keys)
        if arguments.html is not None:
            check_page(arguments.html.read_text(encoding="utf-8"), verified.sha256)
    except EvidenceError as error:
        print(f"privacy-risk: {error.code}: {error.message} {error.remedy}", file=sys.stderr)
        return NOT_GENUINE
    except UnicodeDecodeError:
        print(f"privacy-risk: {arguments.html} is not a page of UTF-8 text.", file=sys.stderr)
        return NOT_GENUINE
    except OSError as error:
        print(f"privacy-risk: {error}", file=sys.stderr)
        return NOT_GENUINE
    print(_text(verified))
    return GENUINE


def _text(verified: Verified) -> str:
    statement, predicate = verified.statement, verified.statement.predicate
    resource = predicate["resource"]
    result = predicate["result"]
    about = f"{statement.report} {resource['name']!r}"
    if statement.report == "verdict":
        about += f": {result.get('verdict')}"
    until = "now" if verified.key.valid_until is None else instant_text(verified.key.valid_until)
    lines = [
        f"Genuine: {about}",
        f"  sha256  {verified.sha256}",
        f"  issued  {predicate['issued_at']}",
        f"  key     {verified.key.id}",
        f"          in use from {instant_text(verified.key.valid_from)} to {until}",
        "  about",
        *(f"          {subject.sha256}  {subject.name}" for subject in statement.subjects),
    ]
    return "\n".join(lines)

"""``policy``: check, compare and begin policies, all from files and without any service."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.operations import Operations


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with what it can do."""
    parser = commands.add_parser("policy", help="check, compare and begin policies of release gates")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    lint = actions.add_parser(
        "lint",
        help="say what is wrong with a policy, and what is unusual",
        epilog="Status: 0 usable, 1 errors, 2 the file cannot be read.",
    )
    lint.add_argument("file", type=Path, help="policy as YAML, or as JSON if its name ends in .json")
    lint.set_defaults(run=_run, action="lint")
    diff = actions.add_parser(
        "diff",
        help="say what changed between two policies, and whether it is stricter or looser",
        epilog="Status: 0 compared, 1 one of them is no policy, 2 a file cannot be read.",
    )
    diff.add_argument("old", type=Path, help="the policy compared with")
    diff.add_argument("new", type=Path, help="the policy that replaces it")
    diff.set_defaults(run=_run, action="diff")
    start = actions.add_parser("template", help="print a policy to start from, or list them")
    start.add_argument("name", nargs="?", help="the template; without one they are listed")
    start.set_defaults(run=_run, action="template")


def _run(arguments: argparse.Namespace, operations: Operations) -> int:
    # What reads policies knows every measure, which takes a second to load that other commands need not wait.
    from app.cli.policy_actions import ACTIONS

    return ACTIONS[arguments.action](arguments)

"""``policy``: check, compare and begin policies from files; a schema also from a dataset of a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.operations import Operations


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with what it can do."""
    parser = commands.add_parser("policy")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    lint = actions.add_parser(
        "lint",
        help="say what is wrong with a policy, and what is unusual",
        epilog="Status: 0 usable, 1 errors, 2 the file cannot be read.",
    )
    lint.add_argument("file", type=Path, help="policy as YAML, or as JSON if its name ends in .json")
    lint.add_argument(
        "--table", metavar="FILE", type=Path, help="a table to compare the roles of its columns with"
    )
    lint.add_argument("--server", metavar="URL", help="the service that holds the dataset")
    lint.add_argument("--dataset", metavar="NAME", help="a dataset of the server, in the place of a table")
    lint.add_argument(
        "--relational-schema",
        type=Path,
        metavar="FILE",
        help="CREATE TABLE statements that the secrets of the policy are read over",
    )
    lint.add_argument("--json", action="store_true", help="print one JSON document, as the service answers")
    lint.set_defaults(run=_run, action="lint")
    diff = actions.add_parser(
        "diff",
        help="say what changed between two policies, and whether it is stricter or looser",
        epilog="Status: 0 compared, 1 one of them is no policy, 2 a file cannot be read.",
    )
    diff.add_argument("old", type=Path, help="the policy compared with")
    diff.add_argument("new", type=Path, help="the policy that replaces it")
    diff.set_defaults(run=_run, action="diff")
    schema = actions.add_parser(
        "schema",
        help="propose the schema of a policy: a role for every column, each to be confirmed",
        epilog="Status: 0 done, 2 a file cannot be read. Roles that the policy gives already stay.",
    )
    schema.add_argument("file", type=Path, help="the policy, YAML unless its name ends in .json")
    schema.add_argument(
        "table", type=Path, nargs="?", help="CSV, gzipped CSV, Parquet, Arrow or Excel file with the columns"
    )
    schema.add_argument("--server", metavar="URL", help="the service that holds the dataset")
    schema.add_argument("--dataset", metavar="NAME", help="a dataset of the server, in the place of a file")
    schema.add_argument("--write", action="store_true", help="put the schema into the policy, if it is YAML")
    schema.set_defaults(run=_run, action="schema")
    start = actions.add_parser("template", help="print a policy to start from, or list them")
    start.add_argument(
        "name", nargs="?", help="the template, NAME or NAME@VERSION; without one they are listed"
    )
    start.set_defaults(run=_run, action="template")


def _run(arguments: argparse.Namespace, operations: Operations) -> int:
    # What reads policies knows every measure, which takes a second to load that other commands need not wait.
    from app.cli.policy_actions import ACTIONS

    if arguments.action == "schema":
        from app.cli.policy_schema import propose_schema

        return propose_schema(arguments, operations)
    return ACTIONS[arguments.action](arguments, operations)

"""``policy schema``: propose a role for every column of a table, and have each of them confirmed."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.cli.error_text import EXPECTED, error_text
from app.cli.gate_service import service_client
from app.cli.operations import Operations
from app.cli.plain_lines import plain_lines
from app.cli.structured_files import read_structured
from app.cli.table_pieces import table_pieces
from app.documents import written
from app.domain.errors import InvalidInput
from app.domain.policies.schema import PolicySchema, Role
from app.services.datasets.ingest.proposals import propose_schema as proposed_from
from app.services.gates.policy_documents import policy_of
from privacy_risk.release_policy import policy_text

DONE: Final = 0
UNREADABLE: Final = 2

_BLOCK: Final = re.compile(r"^schema:[^\n]*\n(?:[ \t-][^\n]*\n|\n(?=[ \t]))*", re.MULTILINE)
_BEFORE: Final = re.compile(r"^(?=(?:criteria|requirements):)", re.MULTILINE)
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*[A-Za-z0-9_]|[A-Za-z_]")
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def propose_schema(arguments: argparse.Namespace, operations: Operations) -> int:
    """Print the schema, or put it into the policy; nothing is written unless all of it could be read."""
    try:
        return _propose(arguments, operations)
    except EXPECTED as error:
        print(plain_lines(f"privacy-risk: {error_text(error)}"), file=sys.stderr)
        return UNREADABLE


def _propose(arguments: argparse.Namespace, operations: Operations) -> int:
    if (arguments.table is None) == (arguments.dataset is None):
        raise InvalidInput.of(
            "TABLE", "exactly-one", "The columns are those of a file or of a stored dataset.",
            "Give the table's file, or --server with --dataset.",
        )  # fmt: skip
    known = policy_of(read_structured(arguments.file)).schema or PolicySchema({})
    if arguments.table is not None:
        proposed = roles_of_file(arguments.table)
    else:
        with service_client(arguments.server, operations) as client:
            declared = client.datasets.get(arguments.dataset).document["attributes"]
        proposed = {own["name"]: own["role"] for own in declared}
    block = schema_text(merged(known, proposed))
    if not arguments.write:
        print(block, end="")
        return DONE
    text = arguments.file.read_text(encoding="utf-8")
    written, found = (_BLOCK if _BLOCK.search(text) else _BEFORE).subn(lambda _: block, text, count=1)
    if arguments.file.suffix == ".json" or not found:
        raise InvalidInput.of(
            str(arguments.file), "not-yaml", "The schema can only be put into a policy in YAML.",
            "Leave --write out and put it there yourself.",
        )  # fmt: skip
    arguments.file.write_text(written, encoding="utf-8")
    return DONE


def merged(known: PolicySchema, proposed: Mapping[str, Role]) -> PolicySchema:
    """The roles that are known, then those proposed for other columns, all of these to be confirmed.

    Columns that a pattern shuts out already are not proposed anew.
    """
    new = {name: role for name, role in proposed.items() if known.role_of(name) is None}
    if known.rows_are or known.person:
        new = {name: "dropped" if role == "person" else role for name, role in new.items()}
    attributes, to_confirm = {**known.attributes, **new}, (*known.to_confirm, *new)
    return replace(known, attributes=attributes, to_confirm=to_confirm)


def roles_of_file(path: Path) -> dict[str, Role]:
    """A role for every column of a table, as uploads have them proposed.

    What is not to be released, and a second identifier, is proposed to be dropped.
    """
    found: dict[str, Role] = {}
    for own in proposed_from(asyncio.run(_first_piece(path))).attributes:
        is_second = own.role == "identifier" and "identifier" in found.values()
        role: Role = "dropped" if own.role == "other" or is_second else own.role  # type: ignore[assignment]
        found[own.name] = role
    return found


def schema_text(schema: PolicySchema) -> str:
    """The schema as the block of a policy in YAML."""
    return "\n".join(_lines(schema)) + "\n"


def _lines(schema: PolicySchema) -> Iterator[str]:
    yield "schema:"
    yield "  attributes:"
    yield from (f"    {_quoted(name)}: {role}" for name, role in schema.attributes.items())
    if schema.patterns:
        yield "  patterns:"
        yield from (f"    {_quoted(name)}: {role}" for name, role in schema.patterns.items())
    if schema.rows_are:
        yield f"  rows_are: {schema.rows_are}"
    read = written(replace(schema, attributes={}, patterns={}, to_confirm=(), rows_are=None))
    del read["attributes"]
    if read:
        yield from textwrap.indent(policy_text(read), "  ").splitlines()
    if schema.to_confirm:
        yield "  # Look at each of these columns, put its role right, and take its name off this list."
        yield "  to_confirm:"
        yield from (f"    - {_quoted(name)}" for name in schema.to_confirm)


def _quoted(name: str) -> str:
    """The name as YAML reads it back, in single quotes unless it is plain."""
    if _PLAIN.fullmatch(name) and name.lower() not in _WORDS:
        return name
    return "'" + name.replace("'", "''") + "'"


async def _first_piece(path: Path) -> bytes:
    """The first rows of the file as the service would keep them."""
    async with aclosing(table_pieces(path)) as pieces:
        async for piece in pieces:
            return piece
    raise InvalidInput.of(str(path), "empty-file", f"{path} has no columns.", "Give a table.")

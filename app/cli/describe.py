"""``describe``: proposes what the columns of a table are, as a file to edit that the other commands take."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.description import UNSURE, Described, description_text
from app.cli.files import check_output, write_whole
from app.cli.given_tables import given_table
from app.cli.journey import format_of, resource_name
from app.cli.operations import Operations
from app.cli.shared_arguments import add_table_argument, add_workbook_arguments, workbook_said
from app.cli.table_header import TEXT_FORMATS
from app.cli.table_pieces import proposed_dialect, table_pieces
from app.domain.errors import InvalidInput

if TYPE_CHECKING:
    from app.services.datasets.ingest.proposals import SchemaProposal


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "describe",
        description="Look at a table and write what its columns are, each with the reason, into a file that "
        f"a person edits and that profile, anonymise and gate take by --tables. {UNSURE} marks what cannot "
        "be told from the table. No service is started.",
    )
    add_table_argument(parser)
    add_workbook_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("tables.toml"),
        metavar="FILE",
        help="what is written, and must not be there yet (default: tables.toml)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Write the description; 0 once it is written."""
    output: Path = arguments.output
    check_output("--output", output)
    if output.exists():
        raise InvalidInput.of(
            "--output",
            "exists",
            f"{output} is there already, and may have been edited.",
            "Name another file, or remove it.",
        )
    table: Path | None = arguments.table
    file = None if table is None else os.path.relpath(table.resolve(), output.parent.resolve())
    with given_table(arguments, table, None) as given:
        described = asyncio.run(_described(given.path, file, workbook_said(arguments)))
    write_whole(output, description_text(described).encode())
    lines = [
        f"{Path(given.shown).name} → {output}: {described.rows:,} records, "
        f"{len(described.proposal.attributes)} columns",
        f"  quasi-identifiers  {', '.join(described.of('quasi_identifier')) or 'none'}",
        f"  sensitive          {', '.join(described.of('sensitive')) or 'none'}",
        f"  left out           {', '.join(described.of('identifier', 'other')) or 'none'}",
        f"  {UNSURE}             {', '.join(described.unsure) or 'none'}",
        f"Read and edit {output}, then give it as --tables to profile, anonymise and gate.",
    ]
    print("\n".join(lines))
    return 0


async def _described(path: Path, file: str | None, said: Mapping[str, Any]) -> Described:
    """The proposals from the first rows; all rows are counted."""
    # Imported here: help and wrong arguments need nothing of it.
    from app.services.datasets.ingest.hierarchy_proposals import with_hierarchies
    from app.services.datasets.ingest.pieces import read_piece
    from app.services.datasets.ingest.proposals import propose_schema

    name = resource_name(path.name.split(".")[0])
    format_ = format_of(path)
    read = proposed_dialect(path, format_, said)
    dialect = read.dialect
    proposal: SchemaProposal | None = None
    rows = 0
    async with aclosing(table_pieces(path, dialect)) as pieces:
        async for piece in pieces:
            rows += read_piece(piece).num_rows
            if proposal is None:
                # Of tomorrow's table, too: it has other rows.
                proposal = with_hierarchies(
                    propose_schema(piece, dialect, read.index), piece, name, dialect, is_whole=False
                )
                doubts = [own.sentence for own in read.doubts]
                proposal = replace(proposal, notes=(*doubts, *read.notes, *proposal.notes))
    if proposal is None or not rows:
        raise InvalidInput.of("TABLE", "empty", "The table has no rows.", "Describe one that has some.")
    told = dialect if format_ in TEXT_FORMATS or said else None
    return Described(name, file, rows, told, proposal)

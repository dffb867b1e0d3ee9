"""Arguments that mean the same in several commands, declared once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from app.domain.errors import InvalidInput

PERSON_WAYS: Final = "--person COLUMN, --rows-are persons"
TABLE_FORMS: Final = "CSV, gzipped CSV, Parquet, Arrow or Excel file, or a folder of Parquet pieces"


def add_table_argument(parser: argparse.ArgumentParser) -> None:
    """The table that the command is about: a file, a folder, or what a query answers."""
    parser.add_argument("table", type=Path, nargs="?", metavar="TABLE", help=TABLE_FORMS)
    add_query_arguments(parser)


def add_tables_argument(parser: argparse.ArgumentParser) -> None:
    """A description of the table's columns."""
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="FILE",
        help="says what the columns are, as describe writes it; TABLE may be left out if it names its file",
    )


def require_one_description(arguments: argparse.Namespace, options: Sequence[str]) -> None:
    """InvalidInput for an option about columns beside a file that describes them."""
    for name in options:
        if getattr(arguments, name):
            option = f"--{name.replace('_', '-')}"
            raise InvalidInput.of(
                option,
                "two-descriptions",
                f"{arguments.tables} says what the columns are, and how the table is read.",
                f"Say it there, and leave {option} out.",
            )


def add_person_arguments(parser: argparse._ActionsContainer) -> None:
    """What a row is, where no description says it."""
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--person", metavar="COLUMN", help="says whom a row is about: its persons are counted")
    rows.add_argument(
        "--rows-are", choices=("persons",), help="each row is a person, and no column names them"
    )


def add_one_row_arguments(parser: argparse._ActionsContainer) -> None:
    """Whether rows of one person become one before anything else is done; and what a row is."""
    add_person_arguments(parser)
    parser.add_argument(
        "--one-row-per-person",
        nargs="+",
        metavar=("COLUMN", "NAME=HOW"),
        help="first make one row of all that have the same value here, by the most frequent value of each "
        "other column or its first, last, mean or sum",
    )
    parser.add_argument("--person-order", metavar="NAME", help="numbers or ISO dates: what is first and last")


def one_row_of(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """What makes one row per person, as a service takes it; None if nobody asks."""
    if arguments.one_row_per_person is None:
        if arguments.person_order is not None:
            raise InvalidInput.of("--person-order", "needs-person", "It orders the rows of a person.",
                                  "Add --one-row-per-person.")  # fmt: skip
        return None
    if arguments.tables is not None:
        raise InvalidInput.of("--one-row-per-person", "described", "A described table is taken as it is.",
                              "Say what its columns are by options.")  # fmt: skip
    person, *others = arguments.one_row_per_person
    columns = dict(pair("--one-row-per-person", text) for text in others)
    return {"person": person, "columns": columns, "order_by": arguments.person_order}


def pair(option: str, text: str, *, is_first: bool = False) -> tuple[str, str]:
    """Name and value around the last ``=``, or the first where values are prose."""
    name, sign, value = text.partition("=") if is_first else text.rpartition("=")
    if not (name and sign):
        raise InvalidInput.of(option, "malformed", f"{text!r} names no column.", "Write NAME=VALUE.")
    return name, value


def add_query_arguments(parser: argparse._ActionsContainer) -> None:
    """A query instead of a file."""
    parser.add_argument("--query", metavar="SQL", help="instead of a file: what this query answers")
    parser.add_argument(
        "--from",
        dest="address",
        metavar="ADDRESS",
        help="database of the query, such as sqlite:///members.db or postgresql+psycopg://host/name; without "
        "it the one that PRIVACY_RISK_QUERY_ADDRESS names, which keeps passwords off the command line",
    )


READING: Final = ("delimiter", "encoding", "header", "missing_marker", "date_format")
"""Options that say how a file is read, but for its sheet."""


def add_reading_arguments(
    parser: argparse.ArgumentParser, title: str = "reading the file, where the proposal is wrong or in doubt"
) -> argparse._ArgumentGroup:
    """How the table's file is read, where nobody should guess: a group of options."""
    reading = parser.add_argument_group(title)
    reading.add_argument("--delimiter", help="separates cells")
    reading.add_argument("--encoding", help="character encoding")
    reading.add_argument(
        "--header", choices=("true", "false"), help="whether the first line names the columns"
    )
    reading.add_argument(
        "--missing-marker", nargs="+", metavar="TEXT", help="texts that mean a missing value; '': empty cells"
    )
    reading.add_argument(
        "--date-format",
        nargs="+",
        metavar="NAME=FORMAT",
        help="how a column writes dates, such as dd/mm/yyyy",
    )
    return reading


def dialect_said(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parts of a dialect that are said."""
    header = None if arguments.header is None else arguments.header == "true"
    said = {"delimiter": arguments.delimiter, "encoding": arguments.encoding, "header": header,
            "missing": arguments.missing_marker}  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def date_formats_said(arguments: argparse.Namespace) -> dict[str, str]:
    """Column → how it writes dates."""
    return dict(pair("--date-format", own) for own in arguments.date_format or ())


def add_workbook_arguments(parser: argparse._ActionsContainer) -> None:
    """Which sheet of a workbook is read, and how."""
    parser.add_argument("--sheet", metavar="NAME", help="sheet of a workbook that has several")
    parser.add_argument(
        "--leading-zeros",
        choices=("keep", "drop"),
        help="what becomes of zeros that only the format of a workbook's numbers shows, as of 2139 as 02139",
    )


def workbook_said(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parts of a dialect that are said of a workbook."""
    said = {"sheet": arguments.sheet, "leading_zeros": arguments.leading_zeros}
    return {name: value for name, value in said.items() if value is not None}


def add_server_argument(parser: argparse.ArgumentParser) -> None:
    """Which service is asked."""
    parser.add_argument(
        "--server",
        metavar="URL",
        help="ask this service, with the key in PRIVACY_RISK_API_KEY; without it one is started for a while",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Whether a program reads the answer."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

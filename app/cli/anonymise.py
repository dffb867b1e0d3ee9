"""``anonymise``: the rule of least loss for a table's file, and the table under it."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import math
import re
import sys
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.files import check_output, write_whole
from app.cli.given_tables import GivenTable, given_table
from app.cli.journey import format_of
from app.cli.operations import Operations
from app.cli.shared_arguments import (
    PERSON_WAYS,
    READING,
    add_json_argument,
    add_one_row_arguments,
    add_reading_arguments,
    add_server_argument,
    add_table_argument,
    add_tables_argument,
    add_workbook_arguments,
    date_formats_said,
    dialect_said,
    one_row_of,
    pair,
    require_one_description,
    workbook_said,
)
from app.cli.table_alone import NotHere, client_of_table, is_small
from app.cli.table_pieces import proposed_dialect, table_pieces
from app.domain.errors import InvalidInput
from app.domain.policies.reasons import is_reason
from app.services.datasets.ingest.dialect import Dialect
from app.services.fingerprints import plain
from privacy_risk import InvalidArgument, Release
from privacy_risk.anonymisation import KEPT, Criteria, anonymised, check, released, written
from privacy_risk.columns import Said
from privacy_risk.comparison import compared
from privacy_risk.doubts import require_decided
from privacy_risk.loading import one_row
from privacy_risk.persons import IN_PYTHON
from privacy_risk.progress import telling
from privacy_risk.release_policy import with_reasons
from privacy_risk.tables import Table, table_of
from privacy_risk.usual import APART, MAX_SUPPRESSED, OTHERS

if TYPE_CHECKING:
    from app.cli.gate_tables import Tables
    from app.services.datasets.ingest.proposals import DialectProposal


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "anonymise",
        description="Find the rule of least loss under the criteria, and write the table under it. A service "
        "that is running is asked; without one a small table is generalised by the command itself, and for "
        "any other a service is started and stopped again. "
        "What is not said about the columns is taken from the service's proposal, which the answer names.",
    )
    add_table_argument(parser)
    add_tables_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where the release is written, as CSV; needed but for --compare alone",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="print several releases side by side; one of them is written with --choose",
    )
    parser.add_argument("--choose", metavar="ID", help="the one of them that is written to --output")
    _add_criteria(parser)
    _add_columns(parser)
    parser.add_argument(
        "--save-policy", type=Path, metavar="FILE", help="write a gate policy that asks the same"
    )
    parser.add_argument(
        "--reason",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN=TEXT",
        help="why a sensitive column may leave as it is, for the policy: until then verdicts are errors",
    )
    add_workbook_arguments(add_reading_arguments(parser))
    add_server_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def _add_criteria(parser: argparse.ArgumentParser) -> None:
    """What the release must meet, and what its loss weighs."""
    criteria = parser.add_argument_group("criteria")
    criteria.add_argument(
        "--k", type=int, required=True, help="least number of records, or persons, in a class"
    )
    for option, meaning in (
        ("--l", "least number of sensitive values in a class"),
        ("--t", "greatest distance of a class from the table"),
        ("--beta", "greatest relative gain of a sensitive value in a class; 1: twice as likely"),
    ):
        criteria.add_argument(
            option,
            nargs="+",
            default=[],
            metavar="[NAME=]NUMBER",
            help=f"{meaning}, of each or of one attribute",
        )
    criteria.add_argument(
        "--max-suppressed",
        type=float,
        default=MAX_SUPPRESSED,
        metavar="SHARE",
        help=f"of the records: 0 to 1; {MAX_SUPPRESSED} if left out",
    )
    criteria.add_argument(
        "--others",
        choices=OTHERS,
        default=APART,
        help="how other sensitive attributes count in ℓ-diversity: each is judged apart (if left out), or "
        "they split the classes",
    )
    criteria.add_argument(
        "--importance", nargs="+", default=[], metavar="NAME=NUMBER", help="weighs a quasi-identifier's loss"
    )
    criteria.add_argument(
        "--important", nargs="+", default=[], metavar="NAME", help="with --compare: generalised last"
    )


def _add_columns(parser: argparse.ArgumentParser) -> None:
    """What the columns are."""
    columns = parser.add_argument_group("columns")
    for option, meaning in (
        ("--quasi-identifiers", "what others may know of a person; all other columns are left out"),
        ("--sensitive", "what others must not learn"),
        ("--identifier", "what names people or numbers records: left out"),
    ):
        columns.add_argument(option, nargs="+", default=[], metavar="NAME", help=meaning)
    add_one_row_arguments(columns)
    columns.add_argument(
        "--hierarchy", nargs="+", default=[], metavar="NAME=FILE", help="as the command profile takes it"
    )


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Write the release, or print several side by side; 0 once that is done."""
    _check_written(arguments)
    if arguments.output is not None:
        check_output("--output", arguments.output)
    check_output("--save-policy", arguments.save_policy)
    reasons = dict(pair("--reason", own, is_first=True) for own in arguments.reason)
    if reasons and arguments.save_policy is None:
        raise InvalidInput.of("--reason", "no-policy", "It is written into a policy.", "Give --save-policy.")
    try:
        with given_table(arguments, arguments.table, arguments.tables) as given:
            shown = given.shown
            release = _released(arguments, given, operations)
            if release is None:
                return 0
            content = release_file(release.frame, given.tables)
            policy = with_reasons(release.policy, reasons)
    except InvalidArgument as error:
        named = {
            "hierarchies": "--hierarchy",
            "roles": "--identifier",
            "reasons": "--reason",
            "TABLE": "TABLE",
            "missing_markers": "--missing-marker",
            "date_formats": "--date-format",
        }
        option = named.get(error.argument, f"--{error.argument.replace('_', '-')}")
        raise InvalidInput.of(option, "invalid-argument", error.fault, error.remedy) from error
    write_whole(arguments.output, content)
    if arguments.save_policy is not None:
        release.save_policy(arguments.save_policy, reasons=reasons)
        for own in policy.get("not_covered", ()):
            if not is_reason(own["reason"]):
                said = f"no reason why these columns may leave as they are: {', '.join(own['columns'])}"
                way_on = "Verdicts are errors until it gives one: --reason COLUMN=TEXT"
                print(f"{arguments.save_policy} gives {said}. {way_on}.", file=sys.stderr)
    if arguments.json:
        print(json.dumps(_json(shown, arguments, release), ensure_ascii=False))
    else:
        first, _, others = str(release).partition("\n")
        print(first.replace(IN_PYTHON, PERSON_WAYS))
        if arguments.one_row_per_person:
            print(release.notes[1])
        print(f"{Path(shown).name} → {arguments.output}: {others}")
    return 0


def _check_written(arguments: argparse.Namespace) -> None:
    """InvalidInput unless it is said which release is written, and where."""
    for option in ("choose", "important"):
        if getattr(arguments, option) and not arguments.compare:
            raise InvalidInput.of(
                f"--{option}", "not-applicable", "It belongs to a comparison.", "Give --compare."
            )
    is_written = arguments.choose is not None or not arguments.compare
    if is_written and arguments.output is None:
        raise InvalidInput.of("--output", "missing", "There is no file to write to.", "Name one.")
    if not is_written and (arguments.output or arguments.save_policy):
        raise InvalidInput.of(
            "--choose", "missing", "It is one release that is written.", "Name the alternative, by its id."
        )


def _compared(arguments: argparse.Namespace, *asked: Any) -> Release[Any] | None:  # noqa: ANN401 - as released
    """The chosen release of a comparison; without one all of them, printed."""
    comparison = compared(*asked, important=arguments.important)
    if arguments.choose is not None:
        return comparison.release(arguments.choose)
    if arguments.json:
        shown = {"suggested": comparison.suggested, "alternatives": list(comparison.alternatives.values())}
        more = {"curves": comparison.curves, "notes": list(comparison.notes)}
        print(json.dumps(shown | more, ensure_ascii=False))
    else:
        print(str(comparison).replace(IN_PYTHON, PERSON_WAYS))
    return None


def _released(
    arguments: argparse.Namespace, given: GivenTable, operations: Operations
) -> Release[Any] | None:
    answer = partial(_compared, arguments) if arguments.compare else released
    criteria = Criteria(
        arguments.k,
        _numbers("--l", arguments.l),
        _numbers("--t", arguments.t),
        arguments.max_suppressed,
        _pairs("--importance", arguments.importance),
        arguments.others,
        _numbers("--beta", arguments.beta),
    )
    asked = one_row_of(arguments)
    if given.tables is not None:
        require_one_description(
            arguments,
            ("quasi_identifiers", "sensitive", "identifier", "hierarchy", "person", "rows_are", *READING),
        )
        # Imported here: tables that nothing describes need nothing of it.
        from app.cli.described_releases import check_described, described_release
        from app.cli.gate_service import service_client

        check_described(given.tables, criteria)
        with service_client(arguments.server, operations) as client, telling() as tell:
            return described_release(client, given.tables, criteria, tell, answer)
    said = Said(
        arguments.quasi_identifiers,
        tuple(dict.fromkeys((*arguments.sensitive, *criteria.named))),
        dict.fromkeys(arguments.identifier, "identifier"),
        {name: Path(file) for name, file in (pair("--hierarchy", own) for own in arguments.hierarchy)},
        arguments.person,
        arguments.rows_are,
        date_formats_said(arguments),
    )
    format_ = format_of(given.path)
    read = proposed_dialect(given.path, format_, {**dialect_said(arguments), **workbook_said(arguments)})
    require_decided(map(vars, read.doubts))
    if read.index is not None and read.index not in (*said.quasi_identifiers, *said.sensitive):
        said = replace(said, roles={read.index: "other", **said.roles})
    table = asyncio.run(_table(given.path, read))
    check(criteria, said, table)
    is_alone = arguments.server is None and is_small(given.path) and operations.running_service() is None
    if is_alone:
        with suppress(NotHere), client_of_table(is_generalised=True) as client, telling() as tell:
            return anonymised(client, *one_row(client, table, said, asked), criteria, tell, answer)
    # Imported here: a table that is generalised in this process needs nothing of it.
    from app.cli.gate_service import service_client

    with service_client(arguments.server, operations) as client, telling() as tell:
        return anonymised(client, *one_row(client, table, said, asked), criteria, tell, answer)


def release_file(frame: Any, tables: Tables | None) -> bytes:  # noqa: ANN401 - a table of pyarrow
    """The release as CSV, written as a description says; InvalidInput if the encoding cannot write it."""
    # Imported here: help and wrong arguments need nothing of it.
    from pyarrow import csv

    from app.services.datasets.ingest.canonical_csv import CanonicalCsv

    written = {} if tables is None else tables.release
    delimiter = written.get("delimiter", ",")
    sink = io.BytesIO()
    if delimiter == ",":
        canonical = CanonicalCsv(sink.write)
        canonical.header(frame.column_names)
        canonical.cells(frame)
    else:
        csv.write_csv(frame, sink, csv.WriteOptions(delimiter=delimiter))
    encoding = written.get("encoding", "utf-8")
    try:
        return sink.getvalue().decode().encode(encoding)
    except UnicodeEncodeError:
        raise InvalidInput.of(
            "--tables",
            "unwritable",
            f"The release has signs that {encoding} cannot write.",
            'Write encoding = "utf-8" under [release] in the file that describes the table.',
        ) from None


async def _table(path: Path, proposal: DialectProposal) -> Table:
    """The file as the service would read it."""
    # Imported here: help and wrong arguments need nothing of it.
    import pyarrow as pa

    from app.services.datasets.ingest.columns import with_missing
    from app.services.datasets.ingest.pieces import read_piece

    async with aclosing(table_pieces(path, proposal.dialect)) as pieces:
        read = [read_piece(piece) async for piece in pieces]
    texts = [pa.table({name: own[name].cast(pa.large_string()) for name in own.column_names}) for own in read]
    table = table_of(pa.concat_tables([with_missing(own, proposal.dialect) for own in texts]), "TABLE")
    usual, read = plain(Dialect()), plain(proposal.dialect)
    said = {name: own for name, own in read.items() if own != usual[name]}
    return replace(table, notes=(*proposal.notes, *table.notes), file=said)


def _numbers(option: str, texts: Sequence[str]) -> float | dict[str, float] | None:
    """One number for every attribute, or one for each that is named."""
    if len(texts) == 1 and "=" not in texts[0]:
        return _number(option, texts[0])
    return _pairs(option, texts) if texts else None


def _pairs(option: str, texts: Sequence[str]) -> dict[str, float]:
    return {name: _number(option, text) for name, text in (pair(option, own) for own in texts)}


def _number(option: str, text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise InvalidInput.of(option, "malformed", f"{text!r} is no number.", "Write it as 3 or 0.2.")
    number = int(text) if text.isdigit() and len(text) < 16 else float(text)
    if math.isfinite(number) and written(number) != Fraction(text):
        raise InvalidInput.of(option, "too-exact", f"{text} is not kept exactly.", f"Give a number {KEPT}.")
    return number


def _json(shown: str, arguments: argparse.Namespace, release: Release[Any]) -> dict[str, Any]:
    report = release.report
    return {
        "table": shown,
        "output": str(arguments.output),
        "records": report.records,
        "suppressed": report.suppressed,
        "classes": report.classes,
        "smallest_class": report.smallest_class,
        "persons": report.persons,
        "persons_suppressed": report.persons_suppressed,
        "loss": report.loss,
        "gap": report.gap,
        "reached": [{"criterion": own.criterion, "attained": own.attained} for own in report.reached],
        "losses": {own.name: {"level": own.level, "loss": own.loss} for own in report.losses},
        "roles": {own.name: {"role": own.role, "given_by": own.given_by} for own in release.roles},
        "notes": list(release.notes),
        "rule": release.rule,
    }

"""What a gate is asked, as the command line says it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from app.cli.gate_tables import load_tables
from app.cli.given_tables import given_table
from app.cli.given_views import GivenViews, add_view_arguments, given_views
from app.cli.shared_arguments import (
    READING,
    TABLE_FORMS,
    add_person_arguments,
    add_query_arguments,
    add_reading_arguments,
    add_server_argument,
    date_formats_said,
    dialect_said,
)
from app.cli.structured_files import read_structured
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(@[0-9]{1,9})?")
_FILE_SUFFIXES: Final = (".yaml", ".yml", ".json", ".csv", ".gz", ".parquet", ".arrow", ".arrows", ".xlsx")


@dataclass(frozen=True)
class Subject:
    """What is judged: tables and documents of files, or by the names that the server stores them under."""

    dataset: Path | str
    """A file, or the name of a stored dataset; empty: that of the stored release."""
    tables: Path | None
    """The file that describes the columns."""
    rule: Json | str | None
    """A rule's definition, a stored rule's name, or None: the table as it is."""
    release: Path | str | None
    key: str | None
    """The finished release, a file or a stored upload's name, and the column that says which record is which.
    """
    dictionaries: Mapping[str, Path | str]
    """Slot of the policy → a file or a stored dictionary's name."""
    sensitivity: Path | str | None
    failure: Path | str | None
    """What harm a disclosure does, and what harm an attack that fails: a profile's file or a stored one's
    name.
    """
    order: str | None = None
    """``records`` if the release keeps the order of the records and that is meant."""
    dataset_shown: str | None = None
    """What the dataset is called, where its file is one that the command has written."""
    stored_release: str | None = None
    """A release that the server has made, in place of a rule and of a file."""
    original: Path | str | None = None
    holdout: Path | str | None = None
    """Where the dataset is a synthetic table: of what it was made, and records of which it was not."""
    views: GivenViews | None = None
    """Queries that are to be published, in place of all data."""
    person: str | None = None
    rows_are: str | None = None
    dialect: Mapping[str, Any] = field(default_factory=dict)
    date_formats: Mapping[str, str] = field(default_factory=dict)
    """How the dataset's file is read, where no description says it."""
    policy_folder: Path = Path()
    """Where files are that the policy names."""

    @property
    def shown(self) -> str:
        """The views, the release or else the dataset, as they were named."""
        if self.views is not None:
            return self.views.shown
        return str(self.stored_release or self.release or self.dataset_shown or self.dataset)


def add_subject_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options by which a subject is named."""
    subject = parser.add_argument_group("what is judged")
    dataset = subject.add_mutually_exclusive_group()
    dataset.add_argument(
        "--dataset",
        type=Path,
        metavar="FILE",
        help=f"{TABLE_FORMS}; without it the one that --tables names",
    )
    add_query_arguments(subject)
    dataset.add_argument("--dataset-id", metavar="NAME", help="a dataset that the server holds")
    add_person_arguments(subject)
    add_reading_arguments(parser, "reading the dataset's file, without --tables")
    subject.add_argument(
        "--tables", type=Path, metavar="FILE", help="describes columns, hierarchies, links and weights (TOML)"
    )
    form = subject.add_mutually_exclusive_group()
    form.add_argument(
        "--rule", metavar="FILE|NAME", help="disclosure rule, YAML or JSON; without one the table as it is"
    )
    form.add_argument("--release", type=Path, metavar="FILE", help="a finished release instead of a rule")
    form.add_argument(
        "--stored-release", metavar="NAME", help="a release that the server has made, instead of a rule"
    )
    subject.add_argument("--key", metavar="COLUMN", help="column that says which record of it is which")
    subject.add_argument(
        "--order",
        choices=["records"],
        help="the release keeps the order of the dataset's records, and that is meant",
    )
    subject.add_argument(
        "--dictionary",
        action="append",
        default=[],
        metavar="SLOT=FILE|NAME",
        help="what fills a slot of the policy; may be repeated",
    )
    subject.add_argument(
        "--sensitivity", metavar="FILE|NAME", help="how much harm a disclosure does: a profile, YAML or JSON"
    )
    subject.add_argument(
        "--failure", metavar="FILE|NAME", help="how much harm an attack does that fails: a profile, too"
    )
    subject.add_argument(
        "--original", metavar="FILE|NAME", help="the table of which the dataset, a synthetic one, was made"
    )
    subject.add_argument(
        "--holdout", metavar="FILE|NAME", help="records of the same population of which it was not made"
    )
    add_view_arguments(subject)
    add_server_argument(parser)


@contextmanager
def given_subject(arguments: argparse.Namespace) -> Iterator[Subject]:
    """The subject, whose dataset is there for as long as it is asked about.

    Raises InvalidInput for what cannot be read or does not fit together.
    """
    views = given_views(arguments)
    if views is not None:
        yield Subject("", None, None, None, None, {}, None, None, views=views)
        return
    if arguments.dataset_id and (arguments.query or arguments.address):
        raise InvalidInput.of(
            "--query", "two-tables", "--dataset-id names a table already.", "Give one of the two."
        )
    if arguments.dataset_id or not (arguments.dataset or arguments.tables or arguments.query):
        yield subject_of(arguments)
        return
    with given_table(arguments, arguments.dataset, arguments.tables, "--dataset") as given:
        told = argparse.Namespace(**{**vars(arguments), "dataset": given.path})
        yield replace(subject_of(told), dataset_shown=given.shown)


def subject_of(arguments: argparse.Namespace) -> Subject:
    """The subject; InvalidInput for what cannot be read or does not fit together."""
    held = arguments.server is not None
    if not held and arguments.dataset_id:
        raise InvalidInput.of(
            "--dataset-id",
            "needs-server",
            "--dataset-id names what a server holds.",
            "Say which one by --server.",
        )
    if not held and arguments.stored_release:
        raise InvalidInput.of(
            "--stored-release",
            "needs-server",
            "--stored-release names what a server holds.",
            "Say which one by --server.",
        )
    if arguments.stored_release and (arguments.dataset or arguments.tables):
        raise InvalidInput.of(
            "--stored-release", "two-tables", "A stored release is of a stored dataset.",
            "Leave --dataset and --tables out.",
        )  # fmt: skip
    if arguments.dataset_id and arguments.tables:
        raise InvalidInput.of(
            "--tables", "two-descriptions", "A stored dataset has its columns described already.",
            "Leave --tables out, and name what else is stored.",
        )  # fmt: skip
    if arguments.key and not arguments.release:
        raise InvalidInput.of("--key", "needs-release", "--key belongs to a release file.", "Add --release.")
    if arguments.order and not arguments.release:
        raise InvalidInput.of(
            "--order", "needs-release", "--order belongs to a release file.", "Add --release."
        )
    told = next((own for own in ("person", "rows_are", *READING) if getattr(arguments, own)), None)
    if told is not None and (arguments.tables or not arguments.dataset):
        raise InvalidInput.of(
            f"--{told.replace('_', '-')}", "two-descriptions",
            "The columns of the dataset are described already.", "Say there what it is, and how it is read.",
        )  # fmt: skip
    for path in (arguments.dataset, arguments.tables, arguments.release):
        _require_file(path)
    return Subject(
        dataset=_dataset(arguments),
        tables=arguments.tables,
        rule=None if arguments.rule is None else _rule(arguments.rule, held),
        release=arguments.release,
        key=arguments.key,
        dictionaries=_dictionaries(arguments.dictionary, held),
        sensitivity=_file_or_name(arguments.sensitivity, "--sensitivity", held),
        failure=_file_or_name(arguments.failure, "--failure", held),
        original=_file_or_name(arguments.original, "--original", held),
        holdout=_file_or_name(arguments.holdout, "--holdout", held),
        order=arguments.order,
        stored_release=None
        if arguments.stored_release is None
        else checked_name(arguments.stored_release, "--stored-release"),
        person=arguments.person,
        rows_are=arguments.rows_are,
        dialect=dialect_said(arguments),
        date_formats=date_formats_said(arguments),
        policy_folder=Path(arguments.policy or "").parent,
    )


def _file_or_name(text: str | None, option: str, held: bool) -> Path | str | None:
    return None if text is None else file_or_name(text, option, held)


def _dataset(arguments: argparse.Namespace) -> Path | str:
    if arguments.dataset_id:
        return checked_name(arguments.dataset_id, "--dataset-id")
    if arguments.stored_release:
        return ""
    if arguments.dataset is None and arguments.tables is None:
        raise InvalidInput.of(
            "--dataset", "missing", "Nothing says what is judged.",
            "Give --dataset, --dataset-id, or --tables with the dataset's file.",
        )  # fmt: skip
    path: Path = arguments.dataset or load_tables(arguments.tables).dataset.path
    _require_file(path)
    return path


def _require_file(path: Path | None) -> None:
    if path is not None and not path.is_file():
        raise InvalidInput.of(str(path), "unreadable", f"There is no file {path}.")


def policy_of(text: str, held: bool) -> Json | str:
    """The policy's document if the text names a file, else its name on the server."""
    found = file_or_name(text, "POLICY", held)
    return read_structured(found) if isinstance(found, Path) else found


def file_or_name(text: str, option: str, held: bool) -> Path | str:
    """The file if there is one; else a name, where a server holds things and it does not look like a file."""
    path = Path(text)
    if path.is_file():
        return path
    if not held or "/" in text or path.suffix.lower() in _FILE_SUFFIXES:
        remedy = "" if held else "What a server holds is named with --server."
        raise InvalidInput.of(option, "unreadable", f"There is no file {text}.", remedy)
    return checked_name(text, option)


def checked_name(text: str, option: str) -> str:
    """The text, if it can be the name of something stored; InvalidInput otherwise."""
    if not _NAME.fullmatch(text):
        raise InvalidInput.of(
            option, "malformed", f"{text!r} is no name.", "Names hold letters, digits, dots, dashes."
        )
    return text


def _rule(text: str, held: bool) -> Json | str:
    found = file_or_name(text, "--rule", held)
    return read_structured(found) if isinstance(found, Path) else found


def _dictionaries(texts: list[str], held: bool) -> dict[str, Path | str]:
    found: dict[str, Path | str] = {}
    for text in texts:
        slot, _, value = text.partition("=")
        if not slot or not value:
            raise InvalidInput.of(
                "--dictionary", "malformed", f"{text!r} fills no slot.", "Write SLOT=FILE or SLOT=NAME."
            )
        if slot in found:
            raise InvalidInput.of("--dictionary", "repeated", f"The slot {slot} is filled twice.")
        found[slot] = file_or_name(value, "--dictionary", held)
    return found

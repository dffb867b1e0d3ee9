"""What is proposed for a table, written as the file that describes it: for people to read and to edit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.services.datasets.ingest.dialect import Dialect

if TYPE_CHECKING:
    from app.services.datasets.ingest.proposals import AttributeProposal, SchemaProposal

UNSURE: Final = "UNSURE"
_HEAD: Final = """\
# What the columns of the table are, as they look: a person who knows the data has to read it. Edit what is
# wrong; profile, anonymise and gate take the file by --tables.
#
# role       quasi_identifier: others may know it of a person; sensitive: others must not learn it;
#            person: whom a row is about (on_missing = "own_person": who is not named is another person each);
#            weight: how much a record counts; other: not loaded, never released
# type       categorical, text, number or date; format says how numbers and dates are written
# hierarchy  how values are generalised: a definition, or a file "name.csv" with a line per value, from the
#            value to its most general one, separated by semicolons
#
# UNSURE marks what nobody but you can tell.
"""
_USUAL: Final = (Dialect.delimiter, Dialect.quote, Dialect.encoding)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Described:
    """A table and what is proposed for it; ``file`` is how the description names it, None if it has none."""

    name: str
    file: str | None
    rows: int
    dialect: Dialect | None
    proposal: SchemaProposal

    def of(self, *roles: str) -> tuple[str, ...]:
        """The columns in these roles."""
        return tuple(own.name for own in self.proposal.attributes if own.role in roles)

    @property
    def unsure(self) -> tuple[str, ...]:
        """The columns that a person should look at."""
        return tuple(own.name for own in self.proposal.attributes if own.is_unsure)


def description_text(described: Described) -> str:
    """The whole file."""
    return _HEAD + "\n" + "\n".join(_lines(described)) + "\n"


def _lines(described: Described) -> Iterator[str]:
    yield "[dataset]"
    yield f"name = {_value(described.name)}"
    if described.file is None:
        yield '# The table is that of --query; a file would be named here: file = "…"'
    else:
        yield f"file = {_value(described.file)}"
    dialect = described.dialect
    if dialect is not None:
        for name, usual in vars(Dialect()).items():
            given = getattr(dialect, name)
            if given != usual:
                yield f"{name} = {_value('' if given is None else given)}"
    for note in described.proposal.notes:
        yield f"# {UNSURE}: {note}"
    for own in described.proposal.attributes:
        if own.role == "identifier":
            yield _comment(own)
            yield f"identifier = {_value(own.name)}"
    for own in described.proposal.attributes:
        if own.role != "identifier":
            yield ""
            yield from _column_lines(own, described)
    # Releases have commas and UTF-8, whatever was read: labels hold signs of their own.
    if dialect is not None and (dialect.delimiter, dialect.quote, dialect.encoding) != _USUAL:
        yield ""
        yield "[release]"
        yield "# What anonymise writes and gate reads: CSV. Without this section as [dataset] says."
        yield f"delimiter = {_value(_USUAL[0])}"
        yield f"encoding = {_value(_USUAL[2])}"


def _column_lines(own: AttributeProposal, described: Described) -> Iterator[str]:
    yield f"[dataset.attributes.{_key(own.name)}]"
    yield _comment(own)
    yield f"role = {_value(own.role)}"
    sample = described.proposal.rows_in_sample
    values = "1 value" if own.distinct_in_sample == 1 else f"{own.distinct_in_sample:,} different values"
    yield f"# {values}, {own.missing_in_sample:,} cells missing, in the first {sample:,} rows"
    yield f"type = {_value(own.type)}"
    if own.format is not None:
        yield f"format = {_value(own.format.value)}"
    if own.on_unreadable is not None:
        yield f"on_unreadable = {_value(own.on_unreadable.value)}"
    elif own.type in ("number", "date") and described.rows > sample:
        yield f"# In the rows after these, what is no {own.type}"
        yield 'on_unreadable = "missing"'
    if own.hierarchy is not None:
        yield f"# {_line(own.hierarchy_reason or '')}"
        definition = {name: value for name, value in own.hierarchy.items() if name != "upload"}
        yield f"hierarchy = {_value(definition)}"
    elif own.role in ("quasi_identifier", "sensitive"):
        yield f"# No hierarchy, each value is shown or not: {_line(own.hierarchy_reason or '')}"


def _comment(own: AttributeProposal) -> str:
    mark = f"{UNSURE}: " if own.is_unsure else ""
    return f"# {mark}{_line(own.reason)}"


def _line(text: str) -> str:
    """A text of comments, which end with their line and hold no control characters."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _value(text)


def _value(value: Any) -> str:  # noqa: ANN401 - any value of a definition
    """A value in TOML, whose texts are written like those of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(own)}" for name, own in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)

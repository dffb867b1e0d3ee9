"""The declared schema of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from app.domain.errors import Fault, refuse
from app.domain.hierarchies.cell_formats import CellFormat, read_cell
from app.services.resources import Stored, document_of


class AttributeType(StrEnum):
    """What the texts of a column are."""

    CATEGORICAL = "categorical"
    TEXT = "text"
    NUMBER = "number"
    DATE = "date"


class Role(StrEnum):
    """What a column is to the release; quasi-identifiers and sensitive columns are disclosed.

    An identifier has another value in each row. A person column says whom a row is about, and may repeat. A
    column of weights says how much each record counts in mean risk and mean utility.
    """

    IDENTIFIER = "identifier"
    PERSON = "person"
    QUASI_IDENTIFIER = "quasi_identifier"
    SENSITIVE = "sensitive"
    WEIGHT = "weight"
    OTHER = "other"

    @property
    def is_disclosed(self) -> bool:
        """Whether columns of this role have levels, weights and utility, and are released."""
        return self in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


DISCLOSED: Final = tuple(role for role in Role if role.is_disclosed)


def flat_warning(name: str) -> str:
    """What becomes of a column without a hierarchy in a search that may generalise it."""
    return (
        f"{name!r} has no hierarchy: a search can only show its values as they are or suppress them. "
        "Give it a hierarchy to have them generalised instead."
    )


class OnUnknown(StrEnum):
    """What becomes of values that the hierarchy does not hold."""

    REFUSE = "refuse"
    ATTACH = "attach"
    MISSING = "missing"


class OnUnreadable(StrEnum):
    """What becomes of cells that are no number, or no date, as the column writes them."""

    REFUSE = "refuse"
    MISSING = "missing"


OnMissing = Literal["refuse", "own_person"]
"""What becomes of rows that do not say whom they are about."""

RowsAre = Literal["persons"]
"""What each row is where no column names persons, if somebody said so."""


class DatasetStatus(StrEnum):
    """Whether a dataset can be scored."""

    READY = "ready"
    NEEDS_ATTENTION = "needs_attention"


_PLAIN: Final = {AttributeType.NUMBER: CellFormat.POINT, AttributeType.DATE: CellFormat.ISO_TIME}


@dataclass(frozen=True)
class AttributeDeclaration:
    """One column: its type, role, hierarchy (flat if None) and what becomes of unknown values.

    ``map`` replaces cells by values, before anything else is done with them. The other cells of numbers and
    dates are read as ``format`` says, or are plain numbers and ISO dates without one; ``on_unreadable`` says
    what becomes of those that are not. ``on_missing`` says whom empty cells of a person column are about.
    """

    name: str
    type: AttributeType
    role: Role
    hierarchy: str | None = None
    on_unknown: OnUnknown = OnUnknown.REFUSE
    map: Mapping[str, str] = field(default_factory=dict)
    format: CellFormat | None = None
    on_unreadable: OnUnreadable = OnUnreadable.REFUSE
    on_missing: OnMissing = "refuse"

    def meaning_of(self, text: str) -> str | None:
        """What a cell with this text is, as it is replaced or written; itself if neither, None if missing."""
        written = self.format or _PLAIN.get(self.type)
        if text in self.map or written is None:
            return self.map.get(text, text)
        return read_cell(text, written) or (None if self.on_unreadable is OnUnreadable.MISSING else text)


def declarations_of(dataset: Stored) -> tuple[AttributeDeclaration, ...]:
    """The schema of a stored dataset; hierarchies are named by their ids."""
    return tuple(
        AttributeDeclaration(
            attribute["name"],
            AttributeType(attribute["type"]),
            Role(attribute["role"]),
            None if attribute["hierarchy"] is None else attribute["hierarchy"]["id"],
            OnUnknown(attribute["on_unknown"]),
            attribute["map"],
            None if "format" not in attribute else CellFormat(attribute["format"]),
            OnUnreadable(attribute.get("on_unreadable", OnUnreadable.REFUSE)),
            attribute.get("on_missing", "refuse"),
        )
        for attribute in document_of(dataset)["attributes"]
    )


def column_of(role: Role, declarations: Sequence[AttributeDeclaration]) -> str | None:
    """Name of the column of a role that at most one has."""
    return next((d.name for d in declarations if d.role is role), None)


def rows_are_of(dataset: Stored) -> RowsAre | None:
    """What the schema of a stored dataset says that each row is; None if it does not say."""
    said: RowsAre | None = document_of(dataset).get("rows_are")
    return said


def check_schema(
    declarations: Sequence[AttributeDeclaration], upload: Stored, rows_are: RowsAre | None = None
) -> None:
    """Raise InvalidInput with every fault of the schema itself."""
    faults: list[Fault] = []
    seen: set[str] = set()
    for index, declaration in enumerate(declarations):
        faults += _faults_of(f"/attributes/{index}", declaration, upload, declaration.name in seen)
        seen.add(declaration.name)
    for role in (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT):
        places = [i for i, d in enumerate(declarations) if d.role is role]
        faults += [
            Fault(
                f"/attributes/{index}/role",
                f"second-{role.value}",
                f"A dataset has at most one column of the role {role.value}.",
                "Give the other columns the role other.",
            )
            for index in places[1:]
        ]
    if rows_are is not None and (named := column_of(Role.PERSON, declarations)) is not None:
        said = f"The column {named!r} says whom a row is about, and rows_are says that each is a person."
        remedy = "Leave rows_are out, or give the column another role."
        faults.append(Fault("/rows_are", "contradiction", said, remedy))
    if not any(d.role.is_disclosed for d in declarations):
        faults.append(
            Fault(
                "/attributes",
                "nothing-disclosed",
                "No column has the role quasi_identifier or sensitive.",
                "Only these are released and assessed; declare at least one.",
            )
        )
    refuse(faults)


def _faults_of(
    pointer: str, declaration: AttributeDeclaration, upload: Stored, is_second: bool
) -> Iterator[Fault]:
    """What is wrong with one column's declaration."""
    name = declaration.name
    if name not in upload.summary["columns"]:
        yield unknown_column(f"{pointer}/name", name, upload)
    if is_second:
        yield Fault(
            f"{pointer}/name",
            "duplicate-attribute",
            f"The column {name!r} is declared twice.",
            "Declare each column once.",
        )
    if declaration.hierarchy is not None and not declaration.role.is_disclosed:
        yield Fault(
            f"{pointer}/hierarchy",
            "hierarchy-not-used",
            f"The column {name!r} is never released, so it needs no hierarchy.",
            "Leave the hierarchy out, or choose the role quasi_identifier or sensitive.",
        )
    if declaration.role is Role.WEIGHT and declaration.type is not AttributeType.NUMBER:
        yield Fault(
            f"{pointer}/type",
            "weights-are-numbers",
            f"The column {name!r} holds record weights, which are numbers.",
            "Declare the type number.",
        )
    if declaration.on_missing != "refuse" and declaration.role is not Role.PERSON:
        said = f"The column {name!r} does not say whom a row is about."
        remedy = "Leave on_missing out, or choose the role person."
        yield Fault(f"{pointer}/on_missing", "not-a-person-column", said, remedy)
    yield from _faults_of_reading(pointer, declaration)


def _faults_of_reading(pointer: str, declaration: AttributeDeclaration) -> Iterator[Fault]:
    """What is wrong with how the cells are to be read."""
    name, type_, format_ = declaration.name, declaration.type, declaration.format
    is_name = declaration.role in (Role.IDENTIFIER, Role.PERSON)
    is_read = not is_name and type_ in (AttributeType.NUMBER, AttributeType.DATE)
    given = {
        "format": format_ is not None,
        "on_unreadable": declaration.on_unreadable is not OnUnreadable.REFUSE,
    }
    if not is_read:
        for field_name in (own for own, is_given in given.items() if is_given):
            yield Fault(
                f"{pointer}/{field_name}",
                "not-read",
                f"The cells of {name!r} are taken as they are: only numbers and dates are read, and never "
                "those of the identifier or of the persons.",
                f"Leave {field_name} out, or declare the type number or date.",
            )
    elif format_ is not None and format_.is_of_dates is not (type_ is AttributeType.DATE):
        yield Fault(
            f"{pointer}/format",
            "format-of-another-type",
            f"The column {name!r} has the type {type_.value}, and {format_.value!r} does not write one.",
            "Take a format of dates such as dd.mm.yyyy for dates, and one of numbers such as 1.234,56 for "
            "numbers.",
        )


def unknown_column(pointer: str, name: str, upload: Stored) -> Fault:
    """What is said where an upload has no column of this name."""
    columns = upload.summary["columns"]
    more = "." if len(columns) <= 50 else ", …"
    return Fault(
        pointer,
        "unknown-column",
        f"The upload {upload.name!r} has no column {name!r}.",
        "Its columns are: " + ", ".join(columns[:50]) + more,
    )


MOST_WARNINGS: Final = 1000


def few(warnings: Sequence[str]) -> tuple[str, ...]:
    """All of them, or the first ones and how many more there are."""
    if len(warnings) <= MOST_WARNINGS:
        return tuple(warnings)
    more = len(warnings) - MOST_WARNINGS + 1
    return (*warnings[: MOST_WARNINGS - 1], f"There are {more} more warnings.")

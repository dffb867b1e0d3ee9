"""What a policy says of columns: their roles, and which it lets pass unjudged, with the reason.

A schema is exclusive: what it does not name is not released under the policy. A pattern can only shut out,
for a role that lets a column leave is given by name, by somebody who has looked at the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Literal

from annotated_types import Len, MaxLen

from app.domain.catalogue.catalogue_types import ADDED_LATER, ColumnName, Example
from app.domain.errors import InvalidInput

Role = Literal["identifier", "person", "quasi_identifier", "sensitive", "weight", "other", "dropped"]
"""What a column is to the release, as in a dataset's schema; ``dropped`` must not be in it."""

PatternRole = Literal["identifier", "dropped"]
Giver = Literal["policy", "pattern", "dataset"]
"""Who gave a column its role; a dataset's roles are those of whoever described its columns."""

DISCLOSED_ROLES: Final = frozenset({"quasi_identifier", "sensitive"})
USUAL_SINGLED_OUT_SHARE: Final = 0.001


@dataclass(frozen=True)
class ColumnReading:
    """How the cells of a column are read and generalised, as a dataset's attribute declares it.

    ``hierarchy`` is its definition, which takes its leaves from the column of whatever is judged unless it
    names values of its own; or ``{"kind": "file", "file", "sha256"}``, rows in a file beside the policy's.
    """

    type: Literal["categorical", "text", "number", "date"]
    format: Annotated[str, MaxLen(40)] | None = None
    on_unreadable: Literal["refuse", "missing"] | None = None
    on_unknown: Literal["refuse", "attach", "missing"] | None = None
    on_missing: Literal["refuse", "own_person"] | None = None
    map: Annotated[Mapping[str, str], MaxLen(10_000)] | None = None
    hierarchy: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.hierarchy is not None and not isinstance(self.hierarchy.get("kind"), str):
            raise InvalidInput.of(
                "/hierarchy",
                "missing",
                "The hierarchy has no kind.",
                "Give the definition of one.",
            )


@dataclass(frozen=True)
class FileReading:
    """How a file is read where that is not the usual way; a release has the ``missing`` of the table."""

    missing: Annotated[tuple[Annotated[str, MaxLen(1000)], ...], Len(1, 100)] | None = None
    delimiter: Annotated[str, Len(1, 1)] | None = None
    quote: Annotated[str, Len(1, 1)] | None = None
    encoding: Annotated[str, Len(1, 40)] | None = None
    header: bool | None = None
    trim: bool | None = None
    sheet: Annotated[str, Len(1, 100)] | None = None
    leading_zeros: Literal["refuse", "keep", "drop"] | None = None


@dataclass(frozen=True)
class PolicySchema:
    """The role of every column; a disclosed column that it does not name is refused."""

    attributes: Annotated[
        Mapping[ColumnName, Role],
        MaxLen(1000),
        Example({"birth_year": "quasi_identifier", "income": "sensitive"}),
    ]
    """Column → the role that it must have; `dropped` must not be in the release, and one at most is `person`,
    whom a row is about. Empty: a draft, under which every verdict is an error.
    """
    patterns: Annotated[
        Mapping[ColumnName, PatternRole], MaxLen(100), Example({"*name*": "dropped"}), ADDED_LATER
    ] = field(default_factory=dict)
    """Pattern of column names (`*`, `?`, `[abc]`) → a role in which nothing is released."""
    to_confirm: Annotated[tuple[ColumnName, ...], MaxLen(1000), Example([]), ADDED_LATER] = ()
    """Columns whose role nobody has confirmed yet; with any, every verdict is an error."""
    rows_are: Annotated[Literal["persons"] | None, Example("persons")] = None
    """`persons` says that each row is a person; not beside a column with the role `person`."""
    columns: Annotated[Mapping[ColumnName, ColumnReading], MaxLen(1000), ADDED_LATER] = field(
        default_factory=dict
    )
    """How columns are read where commands and packages are given tables and nothing else says it. Stored
    datasets are read as they are described.
    """
    file: Annotated[FileReading, ADDED_LATER] = field(default_factory=FileReading)
    """How the table's file is read."""
    release: Annotated[FileReading, ADDED_LATER] = field(default_factory=FileReading)
    """How the file of a release is read."""

    @property
    def person(self) -> str | None:
        """The column that says whom a row is about."""
        return next((name for name, role in self.attributes.items() if role == "person"), None)

    @property
    def is_draft(self) -> bool:
        """Whether somebody still has to fill it or to confirm its roles: nothing passes under a draft."""
        return not self.attributes or bool(self.to_confirm)

    def role_of(self, column: str) -> tuple[Role, Giver] | None:
        """The role of a column and who gave it; None for one that nothing names."""
        role = self.attributes.get(column)
        if role is not None:
            return role, "policy"
        name = column.casefold()
        found = {given for own, given in self.patterns.items() if fnmatchcase(name, own.casefold())}
        if not found:
            return None
        return ("dropped" if "dropped" in found else "identifier"), "pattern"


@dataclass(frozen=True)
class NotCovered:
    """Columns that may leave although they single people out."""

    columns: Annotated[tuple[ColumnName, ...], Len(1, 1000), Example(["member_id"])]
    """Their names."""
    reason: Annotated[str, MaxLen(2000), Example("Random, and new each time.")]
    """Why they may leave, in words; empty until somebody writes it, and till then verdicts are errors."""

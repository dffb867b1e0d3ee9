"""What the columns of a table are: as the caller says, and where nothing is said as the service proposes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, Literal, cast, get_args

from privacy_risk.arguments import InvalidArgument
from privacy_risk.text_tables import html_table, text_table
from privacy_risk.values import Json

Role = Literal["quasi_identifier", "sensitive", "identifier", "person", "weight", "other"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True)
class Column:
    """One column's role and type, and why; ``hierarchy`` is the definition along which it is generalised.

    ``given_by`` is ``you`` or ``service``. Quasi-identifiers alone have a hierarchy, and a reason for it.
    """

    name: str
    type: str
    role: Role
    given_by: Literal["you", "service"]
    reason: str
    hierarchy: Json | None = None
    hierarchy_reason: str = ""

    @property
    def is_disclosed(self) -> bool:
        """Whether it leaves with a release."""
        return self.role in ("quasi_identifier", "sensitive")


@dataclass(frozen=True, repr=False)
class Roles:
    """The columns of a table in its order, and by name; printed, and shown in notebooks, as a table."""

    columns: tuple[Column, ...]
    rows_are: str | None = None

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def of(self, *roles: Role) -> tuple[str, ...]:
        """The names of the columns in these roles."""
        return tuple(column.name for column in self.columns if column.role in roles)

    def __str__(self) -> str:
        return text_table(list(self._rows()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(list(self._rows()))

    def _rows(self) -> Iterator[Sequence[str]]:
        yield ("column", "role", "said by", "why", "generalised by")
        for own in self.columns:
            yield (own.name, own.role.replace("_", "-"), own.given_by, own.reason, _told(own))


def _told(column: Column) -> str:
    if column.hierarchy is None:
        return ""
    kind = str(column.hierarchy["kind"]).replace("_", " ")
    return f"{kind}: {column.hierarchy_reason}" if column.hierarchy_reason else kind


@dataclass(frozen=True)
class Said:
    """What the caller says of the columns; ``sensitive`` also of those that a criterion names."""

    quasi_identifiers: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, object] = field(default_factory=dict)
    person: str | None = None
    rows_are: str | None = None
    date_formats: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, Json] = field(default_factory=dict)
    """How columns are read, as the schema of a policy has it."""

    def by_column(self, columns: Iterable[str]) -> dict[str, Role]:
        """Column → the role that is said; InvalidArgument for columns and roles that there are not."""
        known = tuple(columns)
        said: dict[str, Role] = {}
        for argument, name, role in self._each():
            require_column(argument, name, known)
            if role not in ROLES:
                raise InvalidArgument(
                    argument, f"{role!r}, of {name!r}, is no role.", f"Roles are {', '.join(ROLES)}."
                )
            if said.setdefault(name, role) != role:
                raise InvalidArgument(
                    argument, f"{name!r} is {role} here and {said[name]} elsewhere.", "Say it once."
                )
        for argument, names in (("hierarchies", self.hierarchies), ("date_formats", self.date_formats)):
            for name in names:
                require_column(argument, name, known)
        return said

    def _each(self) -> Iterator[tuple[str, str, str]]:
        """Argument, column and role of all that is said."""
        listed = (
            ("quasi_identifiers", "quasi_identifier", self.quasi_identifiers),
            ("sensitive", "sensitive", self.sensitive),
        )
        for argument, role, names in listed:
            if isinstance(names, str):
                raise InvalidArgument(
                    argument, f"{names!r} is one text.", f"Give a list of names: [{names!r}]."
                )
            for name in names:
                yield argument, name, role
        for name, role in self.roles.items():
            yield "roles", name, role
        if self.person is not None:
            yield "person", self.person, "person"


def require_column(argument: str, name: object, columns: Sequence[str]) -> None:
    """InvalidArgument if the table has no such column."""
    if name not in columns:
        raise InvalidArgument(
            argument,
            f"The table has no column {name!r}.",
            f"{meant(name, columns)}Its columns are: {', '.join(columns)}.",
        )


def meant(name: object, columns: Sequence[str]) -> str:
    """``Did you mean 'age'? ``: the column whose name is most like it, in whatever case; empty if none is."""
    by_letters = {own.casefold(): own for own in reversed(columns)}
    found = get_close_matches(str(name).casefold(), by_letters, 1)
    return f"Did you mean {by_letters[found[0]]!r}? " if found else ""


def decided(said: Said, proposal: Sequence[Json]) -> Roles:
    """The columns as they are taken.

    What is said wins. Where quasi-identifiers are named, no other column becomes one: what is not named is
    left aside. Otherwise the proposal holds for what is not named, but for a column of persons: that is said.
    """
    given = said.by_column(own["name"] for own in proposal)
    return Roles(tuple(_column(own, given, bool(said.quasi_identifiers)) for own in proposal))


def _column(own: Json, given: Mapping[str, Role], all_named: bool) -> Column:
    name = own["name"]
    if name in given:
        return Column(name, own["type"], given[name], "you", "")
    if all_named:
        return Column(name, own["type"], "other", "you", "not named among the quasi-identifiers")
    role = cast(Role, own["role"] if own["role"] in ROLES and own["role"] != "person" else "other")
    return Column(name, own["type"], role, "service", own["reason"])

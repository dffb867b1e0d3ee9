"""Queries as they are decided, whatever language they are written in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal

from app.domain.views.decision import Method, Reason
from app.domain.views.queries import Query
from app.services.views.column_types import ColumnType

SESSION_WORDS: Final = frozenset({"user", "session_user", "current_user", "system_user", "current_role"})
"""Words of SQL that stand for who asks, unless they are quoted or follow a table's name."""
PairMethod = Literal[Method, "envelope"]
PairReason = Literal[Reason, "NON_CONJUNCTIVE"]


@dataclass(frozen=True)
class Place:
    """Where something stands in a text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class TablePlace(Place):
    """Where FROM names a table."""

    name: str
    """What stands before its columns, as SQL writes it."""
    columns: tuple[str, ...]
    """What its columns are called there, without quotes."""


@dataclass(frozen=True)
class NotExact:
    """An operator by which a query is not conjunctive, and where it stands."""

    operator: str
    place: Place


@dataclass(frozen=True)
class Part:
    """A query whose answer is published, alone or as one of those that an answer consists of."""

    query: Query
    shown: int
    """How many terms of the goal the answer has; the others tell its rows apart."""
    counts: bool
    """Whether the answer says how often each of its rows is found."""
    places: tuple[tuple[TablePlace, ...], ...] = ()
    """Where the subgoals of each rule are written in SQL."""
    types: tuple[ColumnType, ...] = ()
    """Of what is shown, if they are known."""
    written_at: tuple[tuple[Place, ...], ...] = field(default=(), compare=False)
    """Where the subgoals of each rule are written in Datalog; it is no part of what the query means."""

    @property
    def as_shown(self) -> Query:
        """The query with no more in its goal than its answer shows."""
        rules = tuple(replace(rule, goal=rule.goal[: self.shown]) for rule in self.query.rules)
        return replace(self.query, rules=rules)


@dataclass(frozen=True)
class PublishedQuery:
    """The parts that an answer consists of; with ``not_exact``, an envelope of all that it depends on."""

    parts: tuple[Part, ...]
    not_exact: tuple[NotExact, ...] = ()
    head: str = ""
    """Its name, where it is written in Datalog."""
    shows_all: bool = True
    """Whether the parts are all that the answer shows: no computed column, and no count."""

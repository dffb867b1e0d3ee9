"""What a table expression of SQL amounts to: alternatives, each a conjunction of subgoals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from app.domain.views.queries import Atom, Comparison, Constant, Query, Rule, Term, Variable
from app.services.views.column_types import ColumnType
from app.services.views.published import NotExact, Part, TablePlace


@dataclass(frozen=True)
class Field:
    """A column of a table expression; ``is_plain``: it is a column of a relation or a constant."""

    name: str
    type: ColumnType
    may_be_null: bool
    is_plain: bool = True


@dataclass(frozen=True)
class Body:
    """A conjunction, what it shows, and what tells its rows apart."""

    atoms: tuple[Atom, ...] = ()
    places: tuple[TablePlace, ...] = ()
    """Where each subgoal is written."""
    comparisons: tuple[Comparison, ...] = ()
    shown: tuple[Term | None, ...] = ()
    """The term of each field; None: it is computed."""
    identity: tuple[Term, ...] = ()
    """The multiset of rows has one row for each value of these."""

    @property
    def variables(self) -> frozenset[Term]:
        """Of the subgoals."""
        return frozenset(t for atom in self.atoms for t in atom.terms if isinstance(t, Variable))

    def beside(self, other: Body) -> Body:
        """Both, as a join without a condition."""
        return Body(
            self.atoms + other.atoms,
            self.places + other.places,
            self.comparisons + other.comparisons,
            self.shown + other.shown,
            self.identity + other.identity,
        )

    def where(self, condition: Body, values: Mapping[Term, Term]) -> Body:
        """With the subgoals and comparisons of a condition, in which these values are put."""

        def own(term: Term) -> Term:
            return values.get(term, term)

        added = (Comparison(own(c.left), c.operator, own(c.right)) for c in condition.comparisons)
        return replace(
            self,
            atoms=self.atoms + condition.atoms,
            places=self.places + condition.places,
            comparisons=self.comparisons + tuple(added),
        )

    def closed(self) -> Body:
        """Without comparisons that ask for values of another query."""
        known = self.variables
        kept = (
            c
            for c in self.comparisons
            if all(t in known or isinstance(t, Constant) for t in (c.left, c.right))
        )
        return replace(self, comparisons=tuple(kept))


@dataclass(frozen=True)
class Group:
    """Alternatives whose rows are told apart by their identity: one row for each, however often found."""

    bodies: tuple[Body, ...]
    is_set: bool = False
    """Whether rows that are equal in what is shown have been made one (DISTINCT, UNION)."""


@dataclass(frozen=True)
class Rows:
    """A table expression: the sum of its groups.

    If ``reasons`` are given it is something that depends on no rows but those that fit a subgoal of the
    groups or of the extras in some valuation.
    """

    fields: tuple[Field, ...]
    groups: tuple[Group, ...]
    extras: tuple[Body, ...] = ()
    reasons: tuple[NotExact, ...] = ()
    is_sealed: bool = False
    """Whether what it shows is not one row per identity: counts, outer joins, limits."""
    split_by: frozenset[int] = frozenset()
    """Of what is sealed, the fields of which no row with one value depends on those with others."""

    @property
    def is_plain(self) -> bool:
        """Whether it is exactly its groups, row by row."""
        return not self.reasons and not self.is_sealed

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All subgoals that it may depend on."""
        return (*(body for group in self.groups for body in group.bodies), *self.extras)

    def with_bodies(self, change: Callable[[Body], Iterable[Body]]) -> Rows:
        """Each body replaced."""
        changed = (tuple(new for body in own.bodies for new in change(body)) for own in self.groups)
        groups = tuple(replace(own, bodies=new) for own, new in zip(self.groups, changed, strict=True))
        return replace(self, groups=groups)


def joined(parts: Sequence[Rows]) -> Rows:
    """All combinations of their rows."""
    groups = [Group((Body(),))]
    for part in parts:
        groups = [
            Group(
                tuple(a.beside(b) for a, b in product(one.bodies, other.bodies)), one.is_set or other.is_set
            )
            for one, other in product(groups, part.groups)
        ]
    return Rows(
        tuple(own for part in parts for own in part.fields),
        tuple(groups),
        tuple(own for part in parts for own in part.extras),
        tuple(own for part in parts for own in part.reasons),
    )


_EMPTY = Part(Query(()), 0, False, (), ())
"""A query that never has an answer."""


def parts_of(rows: Rows) -> tuple[Part, ...]:
    """What is decided: the groups, or one query that keeps duplicates and may depend on too many rows."""
    if rows.reasons:
        bodies = list(dict.fromkeys(body.closed() for body in rows.bodies))
        rules = tuple(Rule((), body.atoms, body.comparisons) for body in bodies)
        places = tuple(body.places for body in bodies)
        return (Part(Query(rules, keeps_duplicates=True), 0, True, places, ()),) if rules else (_EMPTY,)
    fields = [i for i, field in enumerate(rows.fields) if field.is_plain]
    types = tuple(rows.fields[i].type for i in fields)
    found = tuple(_part(group, fields, types) for group in rows.groups if group.bodies)
    return found or (_EMPTY,)


def _part(group: Group, fields: Sequence[int], types: tuple[ColumnType, ...]) -> Part:
    places = tuple(body.places for body in group.bodies)
    shown = [tuple(body.shown[i] for i in fields) for body in group.bodies]
    is_whole = all(body.variables <= set(body.identity) for body in group.bodies)
    if is_whole and not group.is_set:
        query = Query(tuple(map(_rule, shown, group.bodies)), keeps_duplicates=True)
        return Part(query, len(fields), True, places, types)
    goals = [(*own, *body.identity) for own, body in zip(shown, group.bodies, strict=True)]
    if all(own == body.identity for own, body in zip(shown, group.bodies, strict=True)):
        goals = shown
    elif len(goals) == 1:
        goals = [(*shown[0], *(term for term in group.bodies[0].identity if term not in shown[0]))]
    query = Query(tuple(map(_rule, goals, group.bodies)))
    counts = len(goals[0]) > len(fields) or not group.is_set
    return Part(query, len(fields), counts, places, types)


def _rule(goal: Sequence[Term | None], body: Body) -> Rule:
    return Rule(tuple(term for term in goal if term is not None), body.atoms, body.comparisons)

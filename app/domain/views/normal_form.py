"""Queries in the form that decisions are made on: equalities applied, ranges known, nothing contradictory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from app.domain.views.orders import may_hold
from app.domain.views.queries import Atom, Comparison, Constant, Operator, Query, Rule, Term, Variable
from app.domain.views.ranges import Range, common
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.substitution import Substitution
from app.domain.views.work import Work

_TURNED: Final[Mapping[Operator, Operator]] = {">": "<", ">=": "<="}


@dataclass(frozen=True)
class Disjunct:
    """A conjunctive query that may produce a row. Its variables are those of no other disjunct."""

    goal: tuple[Term, ...]
    body: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...]
    """By ``!=``, ``<`` and ``<=`` only, each with a variable."""
    ranges: Mapping[Term, Range]
    """What each variable may be."""
    may_be_null: frozenset[Term]
    """Variables that may be NULL: written once, in a nullable column, and compared with nothing."""
    rule: int
    """Of the query, from 0."""
    written: tuple[tuple[int, ...], ...]
    """For each row of the body, the subgoals of the rule that it stands for."""


@dataclass(frozen=True)
class NormalQuery:
    """A union of disjuncts; without any it never produces a row."""

    disjuncts: tuple[Disjunct, ...]

    @cached_property
    def is_constant(self) -> bool:
        """Whether its answer depends on no row."""
        return not any(own.body for own in self.disjuncts)

    @cached_property
    def has_comparisons(self) -> bool:
        """Whether any disjunct compares."""
        return any(own.comparisons for own in self.disjuncts)

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations that its answer may depend on."""
        return frozenset(atom.relation for own in self.disjuncts for atom in own.body)

    @property
    def most_variables(self) -> int:
        """Of any disjunct."""
        return max((len(own.ranges) for own in self.disjuncts), default=0)

    @property
    def most_ordered_variables(self) -> int:
        """Of any disjunct, those that may be any number or integer."""
        return max(
            (
                sum(range_.values is None and range_.is_ordered for range_ in own.ranges.values())
                for own in self.disjuncts
            ),
            default=0,
        )


@dataclass(frozen=True)
class Branch:
    """A query whose answer is part of an answer, or all of it: as it is written, and in its normal form."""

    written: Query
    normal: NormalQuery


def branches(query: Query, schema: RelationalSchema, side: str, work: Work) -> tuple[Branch, ...]:
    """The queries whose answers the answer consists of; ``side`` tells the variables of two queries apart.

    A union that keeps duplicates discloses at most what its rules disclose when published one by one; any
    other query is one branch.
    """
    own = (
        [Query((rule,), keeps_duplicates=True) for rule in query.rules] if query.keeps_duplicates else [query]
    )
    return tuple(Branch(part, normalised(part, schema, side, work)) for part in own)


def normalised(query: Query, schema: RelationalSchema, side: str, work: Work) -> NormalQuery:
    """The normal form, whose variables begin with ``side``.

    How often a row is found depends on a row of the instance exactly if the set of all valuations does, so
    that a query that keeps duplicates becomes one with all of its variables in its goal.
    """
    found = []
    for number, rule in enumerate(query.rules):
        work.check()
        own = _renamed(rule, f"{side}{number}.")
        disjunct = _disjunct(own, schema, work, number, whole=query.keeps_duplicates)
        if disjunct is not None:
            found.append(disjunct)
    return NormalQuery(tuple(found))


def _renamed(rule: Rule, prefix: str) -> Rule:
    def own(term: Term) -> Term:
        return Variable(prefix + term.name) if isinstance(term, Variable) else term

    return Rule(
        tuple(map(own, rule.goal)),
        tuple(Atom(atom.relation, tuple(map(own, atom.terms))) for atom in rule.atoms),
        tuple(_turned(Comparison(own(c.left), c.operator, own(c.right))) for c in rule.comparisons),
    )


def _turned(own: Comparison) -> Comparison:
    operator = _TURNED.get(own.operator)
    return own if operator is None else Comparison(own.right, operator, own.left)


def _disjunct(
    rule: Rule, schema: RelationalSchema, work: Work, number: int, *, whole: bool
) -> Disjunct | None:
    """The rule in its normal form; None: it never produces a row."""
    equal = Substitution()
    for own in rule.comparisons:
        if own.operator == "=" and not equal.merge(own.left, own.right):
            return None
    may_be_null = frozenset(_may_be_null(rule, schema))
    ranges = _ranges(rule, schema, equal)
    if ranges is None:
        return None
    for term, range_ in ranges.items():
        if range_.values is not None and len(range_.values) == 1 and term not in may_be_null:
            equal.merge(term, Constant(*range_.values))
    comparisons = [
        own
        for own in dict.fromkeys(equal.comparison(own) for own in rule.comparisons if own.operator != "=")
        if not (own.operator == "<=" and own.left == own.right)
    ]
    if not may_hold(comparisons, lambda term: ranges.get(term, Range()), work):
        return None
    goal = rule.goal
    if whole:
        goal += tuple(dict.fromkeys(t for t, _, _ in rule.occurrences if isinstance(t, Variable)))
    body: dict[Atom, list[int]] = {}
    for place, atom in enumerate(rule.atoms):
        body.setdefault(equal.row(atom), []).append(place)
    return Disjunct(
        equal.terms(goal),
        tuple(body),
        # Of constants all hold by now.
        tuple(
            c for c in comparisons if not isinstance(c.left, Constant) or not isinstance(c.right, Constant)
        ),
        {term: range_ for term, range_ in ranges.items() if equal.of(term) == term},
        may_be_null,
        number,
        tuple(map(tuple, body.values())),
    )


def _may_be_null(rule: Rule, schema: RelationalSchema) -> Iterator[Term]:
    """Variables of the rule as it is written: repeating a subgoal asks for values that equal themselves."""
    times = Counter(term for term, _, _ in rule.occurrences)
    compared = {term for own in rule.comparisons for term in (own.left, own.right)}
    for term, relation, column in rule.occurrences:
        nullable = column in schema.relations[relation].nullable
        if nullable and isinstance(term, Variable) and times[term] == 1 and term not in compared:
            yield term


def _ranges(rule: Rule, schema: RelationalSchema, equal: Substitution) -> dict[Term, Range] | None:
    """What each class of equal variables may be; None: a constant or a class fits nowhere."""
    found = common(
        (equal.of(term), schema.relations[relation].ranges[column])
        for term, relation, column in rule.occurrences
    )
    ranges: dict[Term, Range] = {}
    for term, range_ in found.items():
        if not isinstance(term, Constant):
            ranges[term] = range_
        if range_.is_empty or (isinstance(term, Constant) and term.value not in range_):
            return None
    return ranges

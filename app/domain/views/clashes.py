"""Why no row fits a subgoal of either query: the values that it would need in one column at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final, Literal

from app.domain.views.normal_form import Branch, Disjunct
from app.domain.views.orders import holds, may_hold
from app.domain.views.queries import Atom, Comparison, Constant, Operator, Term, Variable
from app.domain.views.ranges import Cell, Range
from app.domain.views.relational_schema import Positions, RelationalSchema
from app.domain.views.substitution import Substitution, chase
from app.domain.views.work import Work

MOST_LOOKED_AT: Final = 1_000
"""Pairs of subgoals."""
MOST_NAMED: Final = 3
_TURNED: Final[dict[Operator, Operator]] = {"!=": "!=", "<": ">", "<=": ">="}
_ANY: Final = Variable("any")


@dataclass(frozen=True)
class Condition:
    """What a query asks of a column."""

    operator: Operator
    value: Cell


@dataclass(frozen=True)
class Clash:
    """Conditions of the secret and of the view on one column that no value meets."""

    relation: str
    column: int
    secret: Condition
    view: Condition
    of: Literal["row", "block"]
    """Whether one row would have to meet both, or two that a key or dependency ties."""


def clashes(
    secret: Sequence[Branch], view: Sequence[Branch], schema: RelationalSchema, work: Work
) -> tuple[Clash, ...]:
    """The first few clashes of subgoals that read one relation.

    There are others where subgoals exclude each other in another way, such as by the order of two columns.
    """
    found: dict[Clash, None] = {}
    sides = ([_chased(own, schema, work) for own in _disjuncts(side)] for side in (secret, view))
    ones, others = ([own for own in side if own is not None] for side in sides)
    for one, other, a, b, linked in islice(_pairs(ones, others, schema), MOST_LOOKED_AT):
        clash = _clash(one, other, a, b, linked, work)
        if clash is not None:
            found[clash] = None
        if len(found) == MOST_NAMED:
            break
    return tuple(found)


def _disjuncts(branches: Sequence[Branch]) -> Iterator[Disjunct]:
    return (own for branch in branches for own in branch.normal.disjuncts)


def _chased(own: Disjunct, schema: RelationalSchema, work: Work) -> Disjunct | None:
    """With what keys and dependencies make equal; None: they let no row be found."""
    equal = Substitution()
    if not chase([own.body], equal, schema, work):
        return None
    body, comparisons = map(equal.row, own.body), map(equal.comparison, own.comparisons)
    return replace(own, body=tuple(body), comparisons=tuple(comparisons))


def _pairs(
    ones: Sequence[Disjunct], others: Sequence[Disjunct], schema: RelationalSchema
) -> Iterator[tuple[Disjunct, Disjunct, Atom, Atom, Positions]]:
    """Subgoals of one relation, with the columns in which their rows would have to agree."""
    for one, other in product(ones, others):
        for a, b in product(one.body, other.body):
            if a.relation == b.relation:
                for linked in schema.relations[a.relation].links:
                    yield one, other, a, b, linked


def _clash(one: Disjunct, other: Disjunct, a: Atom, b: Atom, linked: Positions, work: Work) -> Clash | None:
    equal = Substitution()
    of: Literal["row", "block"] = "row" if len(linked) == len(a.terms) else "block"
    for column in linked:
        left, right = equal.of(a.terms[column]), equal.of(b.terms[column])
        if isinstance(left, Constant) and isinstance(right, Constant) and left != right:
            return Clash(a.relation, column, _is(left), _is(right), of)
        equal.merge(left, right)
    for column in linked:
        for ours, theirs in product(_asked(one, a.terms[column]), _asked(other, b.terms[column])):
            if not _meet(ours, theirs, one.ranges.get(a.terms[column], Range()), work):
                return Clash(a.relation, column, ours, theirs, of)
    return None


def _is(own: Constant) -> Condition:
    return Condition("=", own.value)


def _asked(own: Disjunct, term: Term) -> Iterable[Condition]:
    """What the query asks of the term alone."""
    if isinstance(term, Constant):
        yield _is(term)
    for asked in own.comparisons:
        for side, to, operator in (
            (asked.left, asked.right, asked.operator),
            (asked.right, asked.left, _TURNED[asked.operator]),
        ):
            if side == term and isinstance(to, Constant):
                yield Condition(operator, to.value)


def _meet(one: Condition, other: Condition, range_: Range, work: Work) -> bool:
    """Whether some value may meet both."""
    for is_, asked in ((one, other), (other, one)):
        if is_.operator == "=":
            return _holds(is_.value, asked)
    both = [_comparison(own) for own in (one, other)]
    return may_hold(both, lambda _: range_, work)


def _holds(value: Cell, asked: Condition) -> bool:
    own = _comparison(asked)
    left, right = (term.value if isinstance(term, Constant) else value for term in (own.left, own.right))
    return holds(left, own.operator, right)


def _comparison(own: Condition) -> Comparison:
    """The condition on any value, by the operators of a normal form."""
    if own.operator in (">", ">="):
        return Comparison(Constant(own.value), "<" if own.operator == ">" else "<=", _ANY)
    return Comparison(_ANY, own.operator, Constant(own.value))

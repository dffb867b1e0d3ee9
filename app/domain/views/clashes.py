"""Why no row fits a subgoal of either query: the values that it would need in one column at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
    Raises OutOfBudget.
    """
    found: dict[Clash, None] = {}
    sides = ([_chased(own, schema, work) for own in _disjuncts(side)] for side in (secret, view))
    ones, others = ([_Side(own, work) for own in side if own is not None] for side in sides)
    # Subgoals of one relation, with the columns in which their rows would have to agree.
    pairs = (
        (one, other, a, b, linked)
        for one, other in product(ones, others)
        for a, b in product(one.disjunct.body, other.disjunct.body)
        if a.relation == b.relation
        for linked in schema.relations[a.relation].links
    )
    for one, other, a, b, linked in islice(pairs, MOST_LOOKED_AT):
        work.step()
        clash = _clash(one, other, a, b, linked, work)
        if clash is not None:
            found[clash] = None
        if len(found) == MOST_NAMED:
            break
    return tuple(found)


def unmeetable(side: Sequence[Branch], schema: RelationalSchema, work: Work) -> tuple[str, ...]:
    """The relations whose keys and dependencies let no instance have all rows that the query asks for.

    Those of which it asks for several rows, if none of its disjuncts can find any; else none.
    Raises OutOfBudget.
    """
    disjuncts = list(_disjuncts(side))
    if any(_chased(own, schema, work) is not None for own in disjuncts):
        return ()
    asked = (Counter(atom.relation for atom in own.body) for own in disjuncts)
    several = {name for own in asked for name, times in own.items() if times > 1}
    return tuple(sorted(name for name in several if schema.relations[name].certain_dependencies))


class _Side:
    """A disjunct, and what it asks of each variable alone: of its bounds only the tightest."""

    def __init__(self, own: Disjunct, work: Work) -> None:
        self.disjunct = own
        self._bounds: dict[Term, dict[Operator, Cell]] = {}
        self._unequal: dict[Term, set[Cell]] = {}
        for asked in own.comparisons:
            work.step()
            if isinstance(asked.right, Constant):
                self._add(asked.left, asked.operator, asked.right.value)
            elif isinstance(asked.left, Constant):
                self._add(asked.right, _TURNED[asked.operator], asked.left.value)

    def _add(self, term: Term, operator: Operator, value: Cell) -> None:
        if operator == "!=":
            self._unequal.setdefault(term, set()).add(value)
            return
        bounds = self._bounds.setdefault(term, {})
        known = bounds.get(operator)
        bounds[operator] = value
        if known is not None and holds(known, "<", value) == (operator in ("<", "<=")):
            bounds[operator] = known

    def asked(self, term: Term, other: Term) -> Iterator[Condition]:
        """What it asks of the term; that it differs from a value only if the other side has this value."""
        if isinstance(term, Constant):
            yield _is(term)
        for operator, value in self._bounds.get(term, {}).items():
            yield Condition(operator, value)
        if isinstance(other, Constant) and other.value in self._unequal.get(term, ()):
            yield Condition("!=", other.value)


def _disjuncts(branches: Sequence[Branch]) -> Iterator[Disjunct]:
    return (own for branch in branches for own in branch.normal.disjuncts)


def _chased(own: Disjunct, schema: RelationalSchema, work: Work) -> Disjunct | None:
    """With what keys and dependencies make equal; None: they let no row be found."""
    equal = Substitution()
    if not chase([own.body], equal, schema, work):
        return None
    body, comparisons = map(equal.row, own.body), map(equal.comparison, own.comparisons)
    return replace(own, body=tuple(body), comparisons=tuple(comparisons))


def _clash(one: _Side, other: _Side, a: Atom, b: Atom, linked: Positions, work: Work) -> Clash | None:
    equal = Substitution()
    of: Literal["row", "block"] = "row" if len(linked) == len(a.terms) else "block"
    for column in linked:
        left, right = equal.of(a.terms[column]), equal.of(b.terms[column])
        if isinstance(left, Constant) and isinstance(right, Constant) and left != right:
            if (left, right) != (a.terms[column], b.terms[column]):
                # A value that another column brings in: the conditions on this one do not show why.
                return None
            return Clash(a.relation, column, _is(left), _is(right), of)
        equal.merge(left, right)
    for column in linked:
        left, right = a.terms[column], b.terms[column]
        for ours, theirs in product(one.asked(left, right), other.asked(right, left)):
            if not _meet(ours, theirs, one.disjunct.ranges.get(left, Range()), work):
                return Clash(a.relation, column, ours, theirs, of)
    return None


def _is(own: Constant) -> Condition:
    return Condition("=", own.value)


def _meet(one: Condition, other: Condition, range_: Range, work: Work) -> bool:
    """Whether some value may meet both."""
    for is_, asked in ((one, other), (other, one)):
        if is_.operator == "=":
            own = _comparison(asked)
            terms = own.left, own.right
            left, right = (term.value if isinstance(term, Constant) else is_.value for term in terms)
            return holds(left, own.operator, right)
    both = [_comparison(own) for own in (one, other)]
    return may_hold(both, lambda _: range_, work)


def _comparison(own: Condition) -> Comparison:
    """The condition on any value, by the operators of a normal form."""
    if own.operator in (">", ">="):
        return Comparison(Constant(own.value), "<" if own.operator == ">" else "<=", _ANY)
    return Comparison(_ANY, own.operator, Constant(own.value))

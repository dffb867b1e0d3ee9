"""Turns a pattern into an instance: each of its variables becomes a value that no query names.

Different variables of one pattern get different values, so that a query that found its goal in the instance
would find it in the pattern. Where a column has no such value left, nothing is frozen, and nothing proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import Final

from app.domain.views.instances import Row, Side, Witness
from app.domain.views.patterns import Hit
from app.domain.views.queries import Constant, Term
from app.domain.views.ranges import Cell, Range, Value
from app.domain.views.stand_ins import StandIns
from app.domain.views.work import Work

Values = Mapping[Term, Cell]
MOST_CHOICES_OF_NULL: Final = 64
MOST_LISTED: Final = 300
"""Variables with listed values: the values are chosen by a recursion as deep."""


def frozen(hit: Hit, stand_ins: StandIns, work: Work) -> Iterator[Witness]:
    """Witnesses to be verified: without NULL, then with NULL for what may be it beside the deciding row."""
    values = _spare_values(hit, stand_ins, work)
    if values is None:
        return
    deciding = {term for row in hit.rows for term in row.terms}
    may_be_null = [term for term in values if term in hit.pattern.null and term not in deciding]
    choices = chain.from_iterable(combinations(may_be_null, n) for n in range(len(may_be_null) + 1))
    for null in islice(choices, MOST_CHOICES_OF_NULL):
        yield witness_of(hit, {**values, **dict.fromkeys(null)})


def witness_of(hit: Hit, values: Values) -> Witness:
    """The two instances of a pattern's values."""
    secret, view = (
        side_of(hit, number, place, values) for number, place in enumerate((hit.secret_place, hit.view_place))
    )
    return Witness(secret, view)


def side_of(hit: Hit, number: int, place: int, values: Values) -> Side:
    """The instance of the secret's body (0) or the view's (1), with the subgoal at ``place`` deciding."""
    own, of = hit.pattern.disjuncts[number], hit.pattern.substitution
    rows = [Row(atom.relation, _cells(of.terms(atom.terms), values)) for atom in own.body]
    deciding = rows[place]
    return Side(deciding, frozenset(rows) - {deciding}, _cells(of.terms(own.goal), values))


def terms_of(hit: Hit, number: int) -> tuple[Term, ...]:
    """The classes of variables of the secret's pattern (0) or the view's (1)."""
    own, of = hit.pattern.disjuncts[number], hit.pattern.substitution
    every = dict.fromkeys(of.of(term) for atom in own.body for term in atom.terms)
    return tuple(term for term in every if not isinstance(term, Constant))


def _cells(terms: Sequence[Term], values: Values) -> tuple[Cell, ...]:
    return tuple(term.value if isinstance(term, Constant) else values[term] for term in terms)


def _spare_values(hit: Hit, stand_ins: StandIns, work: Work) -> dict[Term, Cell] | None:
    """A value for each class: in its range, of no query, different within each pattern."""
    patterns = [frozenset(terms_of(hit, number)) for number in (0, 1)]
    texts, numbers = stand_ins.new_texts(), dict[Range, Iterator[Value]]()
    values: dict[Term, Cell] = {}
    taken_numbers = set[Value]()
    finite: dict[Term, list[Value]] = {}
    for term in dict.fromkeys(term for number in (0, 1) for term in terms_of(hit, number)):
        range_ = hit.pattern.range_of(term)
        if range_.values is None and range_.kind == "any":
            values[term] = next(texts)
        elif range_.values is None:
            own = numbers.setdefault(range_, stand_ins.new_numbers(range_))
            values[term] = number = next(value for value in own if value not in taken_numbers)
            taken_numbers.add(number)
        else:
            finite[term] = [own for own in stand_ins.of(range_) if own not in stand_ins.constants]
    order = sorted(finite, key=lambda term: len(finite[term]))
    if len(order) > MOST_LISTED:
        return None

    def choose(number: int) -> bool:
        if number == len(order):
            return True
        term = order[number]
        rivals = {other for own in patterns if term in own for other in own} & values.keys()
        taken = {values[other] for other in rivals}
        for value in finite[term]:
            work.step()
            if value not in taken:
                values[term] = value
                if choose(number + 1):
                    return True
                del values[term]
        return False

    return values if choose(0) else None

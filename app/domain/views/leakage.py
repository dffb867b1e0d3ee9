"""How much an answer of the view changes what is believed about an answer of the secret, on a small domain.

Advice beside a disclosure, never a part of the verdict: it is the number of one reader, to whom each row
exists with probability 1/2, on one small domain. Other readers and domains may change by more or by less.
Exact: all consistent instances are counted, and nothing is rounded.

Source: Machanavajjhala (2008), sections 2.1 and 3.7 (the largest distance between prior and posterior).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.views.evaluation import supports
from app.domain.views.instances import Row
from app.domain.views.normal_form import Disjunct, NormalQuery
from app.domain.views.orders import holds
from app.domain.views.queries import Atom, Constant, Query, Term
from app.domain.views.ranges import Cell, Range, Value
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.stand_ins import in_order
from app.domain.views.work import Work

MOST_ROWS: Final = 16
"""Rows that may exist: all 65,536 sets of them are tried."""
MOST_CANDIDATES: Final = 5_000
"""Rows over the domain, before those are left out that fit no subgoal."""
MOST_SUPPORTS: Final = 128
"""Ways in which a query may find its rows."""

_Bools = npt.NDArray[np.bool_]
_Longs = npt.NDArray[np.int64]
_Shorts = npt.NDArray[np.int16]
Answer = tuple[tuple[Cell, ...], ...]
"""The rows that an answer lists, each as often as it does."""


@dataclass(frozen=True)
class AnswerPart:
    """A query whose rows are a part of an answer."""

    query: Query
    shown: int
    """Terms of the goal that the answer has; the others tell its rows apart."""
    alternatives: bool
    """Whether rules that keep duplicates find the same rows, rather than rows of their own."""


@dataclass(frozen=True)
class Question:
    """A query as it is answered, and in its normal forms."""

    parts: Sequence[AnswerPart]
    normal: Sequence[NormalQuery]


@dataclass(frozen=True)
class Leakage:
    """The largest change of a belief."""

    prior: Fraction
    """How likely the secret's answer is before anything is seen."""
    posterior: Fraction
    """How likely it is to a reader who has seen the view's answer."""
    secret: Answer
    view: Answer
    domain: Mapping[str, tuple[tuple[Cell, ...], ...]]
    """Per relation the values of each column."""
    rows: int
    """That may exist."""


def leakage_of(
    secret: Question, view: Question, example: Sequence[Row], schema: RelationalSchema, work: Work
) -> Leakage | None:
    """The largest change of belief on the least domain; None: it is too large to try all sets of its rows.

    The domain has all listed values; of other columns it has the values of the example, those that a query
    names for the column and, where one is named, a value that none is (of numbers, one below and one above).
    """
    queries = [*secret.normal, *view.normal]
    domain = _domain(queries, example, schema, work)
    rows = _rows(domain, queries, schema, work)
    if rows is None:
        return None
    consistent = _consistent(rows, schema, work)
    one = _answers(secret, rows, consistent, work)
    other = _answers(view, rows, consistent, work)
    if one is None or other is None:
        return None
    s, v, prior, posterior = _largest(one, other)
    return Leakage(prior, posterior, one.listed(s), other.listed(v), domain, len(rows))


@dataclass(frozen=True)
class _Answers:
    """All answers, numbered in the order of the smallest sets of rows that have them."""

    of_set: _Longs
    """For each consistent set of rows the number of its answer."""
    first: _Longs
    """For each answer a set that has it."""
    times: Mapping[tuple[Cell, ...], _Shorts]
    """Per row how often the answer of each set has it."""

    @property
    def sizes(self) -> _Longs:
        """How many rows each answer has."""
        found = np.zeros(len(self.first), np.int64)
        for count in self.times.values():
            found += count[self.first]
        return found

    def listed(self, number: int) -> Answer:
        """The rows of an answer."""
        place = self.first[number]
        every = (row for row, count in self.times.items() for _ in range(int(count[place])))
        return tuple(sorted(every, key=str))


def _domain(
    queries: Sequence[NormalQuery], example: Sequence[Row], schema: RelationalSchema, work: Work
) -> dict[str, tuple[tuple[Cell, ...], ...]]:
    disjuncts = [own for query in queries for own in query.disjuncts]
    read = dict.fromkeys(atom.relation for own in disjuncts for atom in own.body)
    constants = {value for own in disjuncts for value in _constants(own)}
    known = constants | {cell for row in example for cell in row.cells}
    text = next(own for number in range(1, len(known) + 2) if (own := f"#{number}") not in known)
    found = {}
    for name in sorted(read):
        relation = schema.relations[name]
        columns = []
        for column, range_ in enumerate(relation.ranges):
            named = {value for own in disjuncts for value in _named(own, name, column, work)}
            values = _values(
                range_, named, {row.cells[column] for row in example if row.relation == name}, text
            )
            columns.append((*values, None) if column in relation.nullable else values)
        found[name] = tuple(columns)
    return found


def _values(range_: Range, named: set[Value], seen: set[Cell], text: str) -> tuple[Cell, ...]:
    if range_.values is not None:
        return tuple(sorted(range_.values, key=in_order))
    values: set[Value] = {own for own in (*named, *seen) if own is not None and own in range_}
    if range_.kind == "any":
        values |= set() if values - named else {text}
    else:
        values |= set(_outside([own for own in named if not isinstance(own, str)], values))
    return tuple(sorted(values, key=in_order))


def _outside(named: Sequence[int | Fraction], values: set[Value]) -> Iterator[int]:
    """A number below all that are named and one above, unless the values have them."""
    numbers = [own for own in values if not isinstance(own, str)]
    if not numbers:
        yield 0
    if named and min(numbers) == min(named):
        yield ceil(min(named)) - 1
    if named and max(numbers) == max(named):
        yield floor(max(named)) + 1


def _constants(own: Disjunct) -> Iterator[Value]:
    terms = [term for atom in own.body for term in atom.terms]
    terms += [term for comparison in own.comparisons for term in (comparison.left, comparison.right)]
    yield from (t.value for t in terms if isinstance(t, Constant) and t.value is not None)


def _named(own: Disjunct, relation: str, column: int, work: Work) -> Iterator[Value]:
    """The constants that a disjunct has in a column, or compares it with."""
    work.check()
    terms = {atom.terms[column] for atom in own.body if atom.relation == relation}
    compared: set[Term] = set()
    for comparison in own.comparisons:
        if terms & {comparison.left, comparison.right}:
            compared |= {comparison.left, comparison.right}
    yield from (t.value for t in terms | compared if isinstance(t, Constant) and t.value is not None)


def _rows(
    domain: Mapping[str, tuple[tuple[Cell, ...], ...]],
    queries: Sequence[NormalQuery],
    schema: RelationalSchema,
    work: Work,
) -> list[Row] | None:
    """The rows that may exist; without keys, those that fit no subgoal change no answer and are left out."""
    if sum(prod(map(len, columns)) for columns in domain.values()) > MOST_CANDIDATES:
        return None
    rows = [Row(name, cells) for name, columns in domain.items() for cells in product(*columns)]
    if not any(schema.relations[name].dependencies for name in domain):
        subgoals = [(atom, own) for query in queries for own in query.disjuncts for atom in own.body]
        rows = [row for row in rows if any(_fits(row, atom, own, work) for atom, own in subgoals)]
    return rows if len(rows) <= MOST_ROWS else None


def _fits(row: Row, atom: Atom, own: Disjunct, work: Work) -> bool:
    """Whether the row may be the subgoal: False only if no valuation makes it so."""
    work.check()
    if row.relation != atom.relation:
        return False
    cells: dict[Term, Cell] = {}
    for term, cell in zip(atom.terms, row.cells, strict=True):
        known = term.value if isinstance(term, Constant) else cells.setdefault(term, cell)
        if known != cell:
            return False
    for comparison in own.comparisons:
        sides = [
            term.value if isinstance(term, Constant) else cells[term]
            for term in (comparison.left, comparison.right)
            if isinstance(term, Constant) or term in cells
        ]
        if len(sides) == 2 and not holds(sides[0], comparison.operator, sides[1]):
            return False
    return True


def _consistent(rows: Sequence[Row], schema: RelationalSchema, work: Work) -> _Bools:
    """Which sets of rows keep the keys and dependencies; a set is a number, a row a bit of it."""
    sets = np.arange(2 ** len(rows))
    fine = np.ones(len(sets), dtype=np.bool_)
    for i, one in enumerate(rows):
        for j, other in enumerate(rows[:i]):
            work.check()
            if one.relation == other.relation and any(
                all(one.cells[i] is not None and one.cells[i] == other.cells[i] for i in determining)
                and any(one.cells[i] != other.cells[i] for i in determined)
                for determining, determined in schema.relations[one.relation].dependencies
            ):
                both = 1 << i | 1 << j
                fine &= (sets & both) != both
    return fine


def _answers(question: Question, rows: Sequence[Row], consistent: _Bools, work: Work) -> _Answers | None:
    """All answers; None: there are too many ways to find one."""
    sets = np.flatnonzero(consistent)
    bit = {row: 1 << i for i, row in enumerate(rows)}
    times: dict[tuple[Cell, ...], _Shorts] = {}
    left = MOST_SUPPORTS
    for part in question.parts:
        found: dict[tuple[object, ...], _Bools] = {}
        for number, rule in enumerate(part.query.rules):
            for valuation, needed in supports(rule, rows, work):
                left -= 1
                if left < 0:
                    return None
                goal = tuple(t.value if isinstance(t, Constant) else valuation[t] for t in rule.goal)
                mask = sum(bit[row] for row in needed)
                own: tuple[object, ...] = (goal[: part.shown], goal)
                if part.query.keeps_duplicates:
                    way = frozenset(valuation.items())
                    own = (goal[: part.shown], way, None if part.alternatives else number)
                held = (sets & mask) == mask
                found[own] = found[own] | held if own in found else held
        for (shown, *_), held in found.items():
            row: tuple[Cell, ...] = shown  # type: ignore[assignment] # the first of each is what is shown
            times[row] = times.get(row, np.zeros(len(sets), np.int16)) + held
    ids = np.zeros(len(sets), np.int64)
    for count in times.values():
        work.check()
        ids = np.unique(ids * (int(count.max()) + 1) + count, return_inverse=True)[1].reshape(-1)
    return _Answers(ids, np.unique(ids, return_index=True)[1], times)


def _largest(secret: _Answers, view: _Answers) -> tuple[int, int, Fraction, Fraction]:
    """The answers with the largest distance of posterior from prior; of several, those of the fewest rows.

    Distances are quotients of whole numbers below 2**53: the largest quotient is the largest float.
    """
    total, views = len(secret.of_set), len(view.first)
    by_secret, by_view = np.bincount(secret.of_set), np.bincount(view.of_set)
    codes, joint = np.unique(secret.of_set * views + view.of_set, return_counts=True)
    s, v = codes // views, codes % views
    never = np.array(list(_never_together(s, v, views)), np.int64).reshape(-1, 2)
    s, v = np.append(s, never[:, 0]), np.append(v, never[:, 1])
    joint = np.append(joint, np.zeros(len(never), np.int64))
    change = joint * total - by_secret[s] * by_view[v]
    distance = np.abs(change) / by_view[v]
    best = np.flatnonzero(distance == distance.max())
    sizes = secret.sizes[s[best]] + view.sizes[v[best]]
    i = best[np.lexsort((v[best], s[best], sizes, change[best] < 0))[0]]
    prior = Fraction(int(by_secret[s[i]]), total)
    return int(s[i]), int(v[i]), prior, Fraction(int(joint[i]), int(by_view[v[i]]))


def _never_together(s: _Longs, v: _Longs, views: int) -> Iterator[tuple[int, int]]:
    """For each answer of the secret the first answer of the view that excludes it, if one does."""
    seen: dict[int, set[int]] = {}
    for one, other in zip(s.tolist(), v.tolist(), strict=True):
        seen.setdefault(one, set()).add(other)
    for one, others in seen.items():
        if len(others) < views:
            yield one, next(other for other in range(views) if other not in others)

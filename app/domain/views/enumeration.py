"""Tries all values of a pattern's variables: exact on every domain, and exponential in the variables.

A row decides an answer exactly if some valuation of a disjunct uses it and no disjunct finds the same goal in
the valuation's other rows (each answer has a least set of rows that supports it). So it is enough to try, for
each value of the deciding rows' block, the valuations of the secret and, independently, those of the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.views.freezing import Values, side_of, terms_of, witness_of
from app.domain.views.homomorphism import finds
from app.domain.views.instances import Row, Side, Witness
from app.domain.views.normal_form import NormalQuery
from app.domain.views.orders import holds
from app.domain.views.patterns import Hit
from app.domain.views.queries import Atom, Comparison, Constant, Term
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.stand_ins import StandIns
from app.domain.views.work import Work


@dataclass(frozen=True)
class Enumeration:
    """The exact search for a deciding row."""

    secret: NormalQuery
    view: NormalQuery
    schema: RelationalSchema
    stand_ins: StandIns

    def witnesses(self, hit: Hit, work: Work) -> Iterator[Witness]:
        """All disclosures of a pattern, one for each value of the block; none: there is no disclosure."""
        row = hit.rows[0]
        compared = hit.pattern.compared
        linked = (row.terms[column] for column in hit.candidate.linked)
        terms = dict.fromkeys(term for term in linked if not isinstance(term, Constant))
        # Last those that are compared: they are varied first where the other terms find no values.
        shared = sorted(terms, key=compared.__contains__)
        for values in self._valuations(hit, shared, {}, 0, work):
            secret = self._deciding(hit, 0, values, work)
            if secret is None:
                continue
            view = self._deciding(hit, 1, values, work)
            if view is not None:
                yield witness_of(hit, {**secret, **view})

    def _deciding(self, hit: Hit, number: int, shared: Values, work: Work) -> Values | None:
        """Values with which the row decides the secret (0) or the view (1); None: no such values."""
        own = dict.fromkeys(term for term in terms_of(hit, number) if term not in shared)
        # First those that are compared, each beside one that it is compared with: they fail at once.
        rest = [term for term in hit.pattern.compared if term in own]
        rest += [term for term in own if term not in hit.pattern.compared]
        fresh = self.stand_ins.fresh
        numbers = [fresh.index(own) for own in shared.values() if isinstance(own, str) and own in fresh]
        used = 1 + max(numbers, default=-1)
        query, place = (self.secret, hit.secret_place) if number == 0 else (self.view, hit.view_place)
        for values in self._valuations(hit, rest, shared, used, work):
            side = side_of(hit, number, place, values)
            if (
                self._is_linked(side.deciding, hit)
                and _is_consistent([*side.others, side.deciding], self.schema, work)
                and not _is_found(query, side, work)
            ):
                return values
        return None

    def _is_linked(self, row: Row, hit: Hit) -> bool:
        """Whether the row is the other one, or tied to all with its values in the linked columns."""
        relation = self.schema.relations[row.relation]
        return len(hit.candidate.linked) == len(row.cells) or relation.is_tied(row.cells)

    def _valuations(
        self, hit: Hit, terms: Sequence[Term], values: Values, used: int, work: Work
    ) -> Iterator[Values]:
        """The values extended to the terms, as far as comparisons allow."""
        chosen = dict(values)
        waiting: list[Iterator[tuple[Cell, int]]] = []
        while True:
            if len(waiting) == len(terms):
                yield dict(chosen)
            else:
                waiting.append(self._choices(hit, terms[len(waiting)], used))
            while waiting:
                term = terms[len(waiting) - 1]
                found = self._next_value(hit, term, waiting[-1], chosen, work)
                if found is not None:
                    used = found
                    break
                waiting.pop()
            else:
                return

    def _next_value(
        self, hit: Hit, term: Term, choices: Iterator[tuple[Cell, int]], chosen: dict[Term, Cell], work: Work
    ) -> int | None:
        """Give the term its next value that comparisons allow.

        The answer is how many new texts are in use then; None: no value is left.
        """
        for value, used in choices:
            work.step()
            chosen[term] = value
            if all(_may_hold(own, chosen) for own in hit.pattern.comparisons_of(term)):
                return used
        chosen.pop(term, None)
        return None

    def _choices(self, hit: Hit, term: Term, used: int) -> Iterator[tuple[Cell, int]]:
        """What the term may be, each with the number of new texts that are in use then.

        New texts are interchangeable: a term is tried with those that are in use, and with one more.
        """
        range_ = hit.pattern.range_of(term)
        if range_.values is None and range_.kind == "any":
            for number in range(used, -1, -1):
                yield self.stand_ins.fresh[number], max(used, number + 1)
        for value in self.stand_ins.of(range_):
            yield value, used
        if term in hit.pattern.null:
            yield None, used


def _may_hold(own: Comparison, values: Values) -> bool:
    """Whether the comparison holds, or has a side without a value yet."""
    sides = []
    for term in (own.left, own.right):
        if not isinstance(term, Constant) and term not in values:
            return True
        sides.append(term.value if isinstance(term, Constant) else values[term])
    return holds(sides[0], own.operator, sides[1])


def _is_found(query: NormalQuery, side: Side, work: Work) -> bool:
    """Whether the query finds the answer without the deciding row."""
    rows = [Atom(row.relation, tuple(map(Constant, row.cells))) for row in side.others]
    goal: tuple[Term, ...] = tuple(map(Constant, side.answer))
    return any(
        finds(own, rows, goal, work, may_be_null=lambda it: it == Constant(None), follows=_is_true)
        for own in query.disjuncts
    )


def _is_true(own: Comparison) -> bool:
    sides = [term.value for term in (own.left, own.right) if isinstance(term, Constant)]
    return holds(sides[0], own.operator, sides[1])


def _is_consistent(rows: Sequence[Row], schema: RelationalSchema, work: Work) -> bool:
    """Whether the rows keep the dependencies."""
    for relation in dict.fromkeys(row.relation for row in rows):
        own = [row.cells for row in rows if row.relation == relation]
        for determining, determined in schema.relations[relation].dependencies:
            known: dict[tuple[Cell, ...], tuple[Cell, ...]] = {}
            for cells in own:
                work.check()
                start, end = (tuple(cells[i] for i in columns) for columns in (determining, determined))
                if None not in start and known.setdefault(start, end) != end:
                    return False
    return True

"""Finitely many values that stand for all of a column.

Two values that no query names and that are ordered alike among all others are as good as each other, so that
a few of each such kind suffice: as many as there are variables. Enumeration over them is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from fractions import Fraction
from functools import cached_property
from itertools import count, islice, pairwise
from math import ceil, floor
from typing import Final

from app.domain.views.normal_form import NormalQuery
from app.domain.views.queries import Constant
from app.domain.views.ranges import Range, Value, exact, is_multiple
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.work import OutOfBudget, Work

Number = int | Fraction
MOST_VALUES: Final = 20_000
"""Above that, values are too many to try, and to hold."""
_START: Final = 0


class StandIns:
    """The values to try for the variables of a secret and a view."""

    def __init__(
        self,
        secret: NormalQuery,
        view: NormalQuery,
        schema: RelationalSchema,
        work: Work,
        most_of_a_gap: int | None = None,
    ) -> None:
        """``most_of_a_gap`` numbers between two that are named: too few to prove that nothing is found."""
        self._work = work
        self.constants = frozenset(_constants(secret)) | frozenset(_constants(view))
        relations = [schema.relations[name] for name in secret.relations | view.relations]
        ranges = {range_ for relation in relations for range_ in relation.ranges}
        listed = {value for range_ in ranges for value in range_.values or ()}
        variables = secret.most_variables + view.most_variables
        ordered = secret.most_ordered_variables + view.most_ordered_variables
        self._ordered = ordered if most_of_a_gap is None else min(ordered, most_of_a_gap)
        self._known = self.constants | listed
        self._kinds = {range_.kind for range_ in ranges if range_.values is None}
        self._preferred: dict[Range, tuple[Value, ...]] = {}
        self.fresh = tuple(islice(self.new_texts(), variables))

    @cached_property
    def _of_kinds(self) -> tuple[Set[Number], Set[Number]]:
        """The integers and the numbers to try."""
        ordered, kinds = self._ordered, self._kinds
        numbers = {value for value in self._known if not isinstance(value, str)}
        gaps = (len(numbers) + 1) * (ordered if kinds >= {"integer", "number"} else 1)
        if gaps * ordered > MOST_VALUES:
            raise OutOfBudget
        integers = set(_integers(numbers, ordered, self._work)) if "integer" in kinds else set[Number]()
        dense = set(_dense(numbers | integers, ordered, self._work)) if "number" in kinds else set[Number]()
        return integers | {own for own in numbers if isinstance(own, int)}, dense | integers | numbers

    def new_texts(self) -> Iterator[str]:
        """Texts that nothing names: #1, #2, and so on."""
        return (text for number in count(1) if (text := f"#{number}") not in self._known)

    def new_numbers(self, within: Range) -> Iterator[Number]:
        """Numbers that nothing names: above all that are named, if the range has room there."""
        named = [value for value in self._known if not isinstance(value, str)]
        first, variables = floor(max(named, default=_START)) + 1, len(self.fresh)
        low, high, step = within.limits or (first, first + variables, 1)
        if low <= first <= high - variables:
            return iter(count(first))
        unit = 1 if variables + len(named) <= high else step
        return (own for number in count(1) if (own := exact(Fraction(number * unit))) not in self._known)

    def of(self, range_: Range) -> tuple[Value, ...]:
        """The values to try; those of no query first. A range of ``any`` has the ``fresh`` ones besides."""
        if range_ not in self._preferred:
            values = set(self._members(range_))
            if range_.limits is not None:
                step = range_.limits[2]
                values |= {
                    exact(Fraction(round(own / step) * step))
                    for own in values
                    if not isinstance(own, str) and not is_multiple(own, step)
                }
                values |= set(islice(self.new_numbers(range_), self._ordered))
            # Numbers that the range has not stand for those that are ordered like them, and prove nothing.
            self._preferred[range_] = tuple(
                sorted(values, key=lambda own: (own not in range_, own in self.constants, *in_order(own)))
            )
        return self._preferred[range_]

    def _members(self, range_: Range) -> Set[Value]:
        if range_.values is not None:
            return range_.values
        match range_.kind:
            case "any":
                return self._known | self._of_kinds[1]
            case "number":
                return self._of_kinds[1]
            case "integer":
                return self._of_kinds[0]


def in_order(value: Value) -> tuple[bool, Number, str]:
    """By which values are sorted: numbers before texts."""
    return (True, 0, value) if isinstance(value, str) else (False, value, "")


def _constants(query: NormalQuery) -> Iterator[Value]:
    for own in query.disjuncts:
        terms = [*own.goal, *(term for atom in own.body for term in atom.terms)]
        terms += [term for comparison in own.comparisons for term in (comparison.left, comparison.right)]
        for term in terms:
            if isinstance(term, Constant) and term.value is not None:
                yield term.value


def _integers(numbers: Set[Number], wanted: int, work: Work) -> Iterator[int]:
    """As many whole numbers as are wanted in every gap between the numbers, as far as there are any."""
    marks = sorted(numbers) or [_START]
    yield from (ceil(marks[0]) - 1 - i for i in range(wanted))
    yield from (floor(marks[-1]) + 1 + i for i in range(wanted))
    if not numbers:
        yield _START
    for low, high in pairwise(marks):
        work.check()
        yield from islice((n for n in range(floor(low) + 1, ceil(high))), wanted)


def _dense(numbers: Set[Number], wanted: int, work: Work) -> Iterator[Number]:
    """As many numbers as are wanted in every gap."""
    marks = sorted(numbers) or [_START]
    yield from (marks[0] - 1 - i for i in range(wanted))
    yield from (marks[-1] + 1 + i for i in range(wanted))
    if not numbers:
        yield _START
    for low, high in pairwise(marks):
        work.check()
        step = Fraction(high - low) / (wanted + 1)
        yield from (exact(low + step * (i + 1)) for i in range(wanted))

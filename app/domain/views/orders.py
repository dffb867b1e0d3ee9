"""Whether comparisons can hold together.

Orders are judged by shortest paths: ``x < y`` is an edge, a constant a distance from zero, and a round trip
of negative length a contradiction. Integers are tightened to whole distances. What this finds contradictory
is so; what it takes for possible need not be (several ``!=`` may rule out every integer of a gap), which the
exact enumeration finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Final

from app.domain.views.queries import Comparison, Constant, Operator, Term
from app.domain.views.ranges import Cell, Range
from app.domain.views.work import Work

MOST_TERMS: Final = 24
_MOST_TIGHTENINGS: Final = 20
_Length = tuple[int | Fraction, int]
"""A distance, and -1 if it is not reached itself."""
_ZERO: Final = Constant(0)
_NOWHERE: Final[_Length] = (0, 0)


def holds(left: Cell, operator: Operator, right: Cell) -> bool:
    """Whether a comparison of a normal form is true of two values; of NULL none is."""
    if left is None or right is None:
        return False
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
    if isinstance(left, str) or isinstance(right, str):
        return False
    return left < right if operator == "<" else left <= right


def may_hold(comparisons: Sequence[Comparison], range_of: Callable[[Term], Range], work: Work) -> bool:
    """Whether the comparisons may be true together; False is a proof that they are not."""
    if not all(_may_hold_alone(own) for own in comparisons):
        return False
    unequal = [own for own in comparisons if own.operator == "!="]
    ruled_out: dict[Term, set[Cell]] = {}
    for own in unequal:
        for term, other in ((own.left, own.right), (own.right, own.left)):
            if isinstance(other, Constant) and not isinstance(term, Constant):
                ruled_out.setdefault(term, set()).add(other.value)
    if any(
        (values := range_of(term).values) is not None and values <= out for term, out in ruled_out.items()
    ):
        return False
    terms = {term for own in comparisons for term in (own.left, own.right) if not isinstance(term, Constant)}
    ordered = [term for term in terms if range_of(term).is_ordered]
    if len(ordered) > MOST_TERMS or not ordered:
        return True
    distances = _Distances(ordered, range_of, work)
    for own in comparisons:
        distances.add(own)
    return distances.are_possible(unequal)


def _may_hold_alone(own: Comparison) -> bool:
    if isinstance(own.left, Constant) and isinstance(own.right, Constant):
        return holds(own.left.value, own.operator, own.right.value)
    return own.left != own.right or own.operator in ("=", "<=")


class _Distances:
    """How much one term is at most above another."""

    def __init__(self, terms: Sequence[Term], range_of: Callable[[Term], Range], work: Work) -> None:
        self._terms = dict.fromkeys([_ZERO, *terms])
        self._work = work
        self._whole = {_ZERO, *(term for term in terms if _is_whole(range_of(term)))}
        self._at_most: dict[tuple[Term, Term], _Length] = {}
        for term in terms:
            if values := range_of(term).values:
                numbers = [value for value in values if not isinstance(value, str)]
                self._bound(term, _ZERO, (max(numbers), 0))
                self._bound(_ZERO, term, (-min(numbers), 0))

    def add(self, own: Comparison) -> None:
        """Take a comparison into account, if it is one of orders."""
        self._work.check()
        match own.operator:
            case "<" | "<=":
                low, high = own.left, own.right
            case "=":
                self.add(Comparison(own.left, "<=", own.right))
                low, high = own.right, own.left
            case _:
                return
        strict = -1 if own.operator == "<" else 0
        (low, less), (high, more) = _anchored(low), _anchored(high)
        if low in self._terms and high in self._terms:
            self._bound(low, high, (more - less, strict))

    def are_possible(self, unequal: Sequence[Comparison]) -> bool:
        """Whether the distances may be kept, with these terms unequal."""
        for _ in range(_MOST_TIGHTENINGS):
            if not self._close():
                return False
            if any(self._forced_equal(own) for own in unequal):
                return False
            tightened = [self._tightened(own) for own in unequal]
            if not any(tightened):
                return True
        return True

    def _bound(self, one: Term, other: Term, length: _Length) -> bool:
        """State that ``one`` is at most ``length`` above ``other``; whether that is new."""
        if one in self._whole and other in self._whole:
            length = (ceil(length[0]) - 1 if length[1] else floor(length[0]), 0)
        known = self._at_most.get((one, other))
        if known is not None and known <= length:
            return False
        self._at_most[one, other] = length
        return True

    def _close(self) -> bool:
        """Take ways over others into account; False if one leads back below where it began."""
        for middle, one in product(self._terms, repeat=2):
            self._work.check()
            first = self._at_most.get((one, middle))
            if first is None:
                continue
            for other in self._terms:
                second = self._at_most.get((middle, other))
                if second is not None:
                    self._bound(one, other, (first[0] + second[0], min(first[1], second[1])))
        return all(self._at_most.get((term, term), _NOWHERE) >= _NOWHERE for term in self._terms)

    def _forced_equal(self, own: Comparison) -> bool:
        (one, less), (other, more) = _anchored(own.left), _anchored(own.right)
        gap = more - less
        there, back = self._at_most.get((one, other)), self._at_most.get((other, one))
        return there == (gap, 0) and back == (-gap, 0)

    def _tightened(self, own: Comparison) -> bool:
        """Move the bound of an integer off the constant that it may not be; whether it was on it."""
        moved = False
        for term, constant in ((own.left, own.right), (own.right, own.left)):
            if (
                not isinstance(constant, Constant)
                or isinstance(constant.value, str)
                or term not in self._whole
            ):
                continue
            value = constant.value or 0
            if self._at_most.get((term, _ZERO)) == (value, 0):
                moved |= self._bound(term, _ZERO, (value - 1, 0))
            if self._at_most.get((_ZERO, term)) == (-value, 0):
                moved |= self._bound(_ZERO, term, (-value - 1, 0))
        return moved


def _anchored(term: Term) -> tuple[Term, int | Fraction]:
    """A constant as its distance from zero; texts are at none, and compared with nothing here."""
    if not isinstance(term, Constant):
        return term, 0
    if isinstance(term.value, str) or term.value is None:
        return term, 0
    return _ZERO, term.value


def _is_whole(own: Range) -> bool:
    if own.values is None:
        return own.kind == "integer"
    return all(isinstance(value, int) for value in own.values)

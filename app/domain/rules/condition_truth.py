"""Whether a condition is true, false or unknown of each record (Definitions: conditional rules).

A comparison with ⊥ is unknown. Truths are kept as FALSE < UNKNOWN < TRUE, so that "and" is the lesser, "or"
the greater and "not" the mirrored one.

Numbers are compared by value and exactly (1.50 = 1.5), dates by the calendar, texts by their code points.
Every distinct value is put in its place once; records are then compared by places.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.rules.condition_text import is_date, print_condition, print_operand
from app.domain.rules.conditions import (
    Attribute,
    Comparison,
    Condition,
    Constant,
    Junction,
    Not,
    Operand,
    Operator,
    comparisons_of,
)

ValueType = Literal["number", "date", "text"]
Truths = npt.NDArray[np.uint8]

FALSE: Final = 0
UNKNOWN: Final = 1
TRUE: Final = 2

FAULTS_SHOWN: Final = 50
_BLOCK: Final = 1 << 18
"""Records that are judged at a time: it bounds the memory of deeply nested conditions."""

_ABSENT: Final = -1
_Key = int | Decimal | str
_Sides = npt.NDArray[np.signedinteger]


@dataclass(frozen=True, eq=False)
class Column:
    """A column that conditions may read.

    Parameters
    ----------
    type
        How its values are compared; categories and intervals are texts.
    values
        Texts; None is ⊥. Numbers and dates must be in the form in which datasets hold them.
    positions
        (n,) the index in ``values`` of each record's cell; −1 is the last one.
    """

    type: ValueType
    values: Sequence[str | None]
    positions: Ints

    @cached_property
    def keys(self) -> list[_Key]:
        """What is compared: the distinct values in ascending order."""
        return sorted({key for key in self._key_of_value if key is not None})

    @cached_property
    def ranks(self) -> Ints:
        """Per value the place of its key among :attr:`keys`, −1 for ⊥."""
        place: dict[_Key | None, int] = {key: i for i, key in enumerate(self.keys)}
        place[None] = _ABSENT
        return np.array([place[key] for key in self._key_of_value], dtype=np.int32)

    @cached_property
    def _key_of_value(self) -> Sequence[_Key | None]:
        if self.type != "number":
            return self.values
        return [None if value is None else _number(value) for value in self.values]


def check_condition(condition: Condition, types: Mapping[str, ValueType], pointer: str = "") -> None:
    """Raise InvalidInput with every column that there is not and every comparison of unlike things."""
    faults: list[Fault] = []
    for place, comparison in comparisons_of(condition, pointer):
        unknown = [
            _unknown_attribute(operand, f"{place}/{side}", pointer, types)
            for side, operand in (("left", comparison.left), ("right", comparison.right))
            if isinstance(operand, Attribute) and operand.name not in types
        ]
        faults += unknown or _unlike(comparison, place, pointer, types)
    if faults:
        raise InvalidInput(faults[:FAULTS_SHOWN])


def truths_of(
    conditions: Iterable[Condition], columns: Mapping[str, Column], n_records: int
) -> Iterator[Truths]:
    """For each condition, in their order, (n,) FALSE, UNKNOWN or TRUE per record.

    The conditions must fit the columns' types. What two columns need to be compared is worked out once.
    """
    judge = _Judge(columns)
    for condition in conditions:
        truths = np.empty(n_records, dtype=np.uint8)
        for start in range(0, n_records, _BLOCK):
            block = slice(start, min(start + _BLOCK, n_records))
            truths[block] = judge.truth(condition, block)
        yield truths


class _Judge:
    """Judges blocks of records; what two columns need to be compared is worked out once."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns
        self._merged: dict[tuple[str, str], tuple[Ints, Ints]] = {}

    def truth(self, condition: Condition, block: slice) -> Truths:
        match condition:
            case Comparison():
                return self._compared(condition, block)
            case Not(argument):
                return TRUE - self.truth(argument, block)
            case Junction(connective, (first, *others)):
                join = np.minimum if connective == "and" else np.maximum
                joined = self.truth(first, block)
                for other in others:
                    joined = join(joined, self.truth(other, block))
                return joined
        raise ValueError("a junction joins two or more conditions")

    def _compared(self, comparison: Comparison, block: slice) -> Truths:
        operator = comparison.operator
        match comparison.left, comparison.right:
            case Constant(a), Constant(b):
                holds = _holds(operator, np.array([(a > b) - (a < b)]))  # type: ignore[operator]
                return np.full(block.stop - block.start, TRUE if holds[0] else FALSE, dtype=np.uint8)
            case Attribute(name), Constant(value):
                return _compared_to_constant(self._columns[name], operator, value, block)
            case Constant(value), Attribute(name):
                return _compared_to_constant(self._columns[name], _MIRRORED[operator], value, block)
            case Attribute(name), Attribute(other):
                return self._compared_columns(name, other, operator, block)
        raise ValueError("an operand is a column or a constant")

    def _compared_columns(self, left: str, right: str, operator: Operator, block: slice) -> Truths:
        columns = (self._columns[left], self._columns[right])
        if (left, right) not in self._merged:
            self._merged[left, right] = _merged_ranks(*columns)
        a, b = (
            ranks[column.positions[block]]
            for ranks, column in zip(self._merged[left, right], columns, strict=True)
        )
        return _known(_holds(operator, np.sign(a - b)), (a != _ABSENT) & (b != _ABSENT))


_MIRRORED: Final[Mapping[Operator, Operator]] = {
    "=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip


def _compared_to_constant(column: Column, operator: Operator, value: Decimal | str, block: slice) -> Truths:
    low, high = bisect_left(column.keys, value), bisect_right(column.keys, value)
    ranks = column.ranks[column.positions[block]]
    # −1 below, 0 equal to, 1 above the constant.
    side = (ranks >= high).astype(np.int8) - (ranks < low).astype(np.int8)
    return _known(_holds(operator, side), ranks != _ABSENT)


def _merged_ranks(left: Column, right: Column) -> tuple[Ints, Ints]:
    """Per value of each column its place among the values of both, −1 for ⊥."""
    place = {key: i for i, key in enumerate(sorted({*left.keys, *right.keys}))}
    own = [np.array([*(place[key] for key in c.keys), _ABSENT], dtype=np.int32) for c in (left, right)]
    return own[0][left.ranks], own[1][right.ranks]


_TESTS: Final[Mapping[Operator, Callable[[_Sides, int], Bools]]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip


def _holds(operator: Operator, side: _Sides) -> Bools:
    """Whether the operator holds where the left operand is below (−1), equal (0) or above (1)."""
    return _TESTS[operator](side, 0)


def _known(holds: Bools, known: Bools) -> Truths:
    truths: Truths = np.where(known, np.where(holds, np.uint8(TRUE), np.uint8(FALSE)), np.uint8(UNKNOWN))
    return truths


def _number(text: str) -> int | Decimal:
    return int(text) if text.isdecimal() and len(text) < 19 else Decimal(text)


def _unknown_attribute(operand: Attribute, place: str, pointer: str, types: Mapping[str, ValueType]) -> Fault:
    known = list(types)
    return Fault(
        *_where(operand, place, pointer, "unknown-attribute", f"There is no column {operand.name!r}"),
        f"The dataset's columns are: {', '.join(known[:50])}{', …' if len(known) > 50 else '.'}",
    )


def _unlike(
    comparison: Comparison, place: str, pointer: str, types: Mapping[str, ValueType]
) -> Iterator[Fault]:
    left, right = (_type_of(operand, types) for operand in (comparison.left, comparison.right))
    shown = print_condition(comparison)
    for side, operand, other in (("left", comparison.left, right), ("right", comparison.right, left)):
        if other == "date" and isinstance(operand, Constant) and isinstance(operand.value, str):
            if not is_date(operand.value):
                yield Fault(
                    *_where(
                        operand, f"{place}/{side}", pointer, "not-a-date",
                        f"In {shown} the column of dates is compared with a text that is no date",
                    ),
                    "Write dates like 1975-05-10.",
                )  # fmt: skip
            return
    if left != right:
        yield Fault(
            *_where(
                comparison.right, f"{place}/right", pointer, "incompatible-types",
                f"In {shown} a {left} is compared with a {right}",
            ),
            _remedy(comparison, left, right),
        )  # fmt: skip


def _remedy(comparison: Comparison, left: ValueType, right: ValueType) -> str:
    constants = [o for o in (comparison.left, comparison.right) if isinstance(o, Constant)]
    if len(constants) == 1 and {left, right} == {"number", "text"}:
        (constant,) = constants
        if isinstance(constant.value, Decimal):
            return (
                f"The column holds texts: write '{print_operand(constant)}', or declare the column a number."
            )
        return "The column holds numbers: write a number without quotes."
    return "Compare numbers with numbers, dates with dates and texts with texts, as the schema declares them."


def _where(operand: Operand, place: str, pointer: str, code: str, message: str) -> tuple[str, str, str]:
    """Pointer, code and message: text forms have a character where trees have a pointer."""
    if operand.at is None:
        return place, code, f"{message}."
    return pointer, code, f"{message}, at character {operand.at}."


def _type_of(operand: Operand, types: Mapping[str, ValueType]) -> ValueType:
    if isinstance(operand, Attribute):
        return types[operand.name]
    return "text" if isinstance(operand.value, str) else "number"

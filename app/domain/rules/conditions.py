"""The condition language F of conditional rules, and its JSON form (Definitions: conditional rules).

A condition compares columns and constants and joins comparisons by and, or and not::

    {"op": "and", "args": [
        {"op": ">=", "left": {"attr": "age"}, "right": {"const": 65}},
        {"op": "not", "args": [{"op": "=", "left": {"attr": "city"}, "right": {"const": "Dayton"}}]}]}

Constants are numbers and texts. A text in the form 1975-05-10 is a date where it is compared with a column
of dates, and a text everywhere else. The readable form is in ``condition_text``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, NoReturn, cast, get_args

from app.domain.errors import InvalidInput

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Connective = Literal["and", "or"]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)
CONNECTIVES: Final[tuple[Connective, ...]] = get_args(Connective)

MAX_DEPTH: Final = 50
MAX_COMPARISONS: Final = 1000
MAX_WHOLE_DIGITS: Final = 30
MAX_FRACTION_DIGITS: Final = 15
"""Significant digits of a number that is not whole: any binary double keeps so many exactly."""


@dataclass(frozen=True)
class Attribute:
    """A column by its name; ``at`` is the character, from 1, at which a text form names it."""

    name: str
    at: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Constant:
    """A number or a text; ``at`` as for :class:`Attribute`."""

    value: Decimal | str
    at: int | None = field(default=None, compare=False, repr=False)


Operand = Attribute | Constant


@dataclass(frozen=True)
class Comparison:
    """Two operands compared; unknown as soon as one of them is ⊥."""

    operator: Operator
    left: Operand
    right: Operand


@dataclass(frozen=True)
class Not:
    """The opposite; of unknown it is unknown."""

    argument: Condition


@dataclass(frozen=True)
class Junction:
    """Two or more conditions joined by the same word."""

    connective: Connective
    arguments: tuple[Condition, ...]


Condition = Comparison | Not | Junction


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """The conditions that it is made of, none for a comparison."""
    match condition:
        case Comparison():
            return ()
        case Not(argument):
            return (argument,)
        case Junction(_, arguments):
            return arguments


def comparisons_of(condition: Condition, pointer: str = "") -> Iterator[tuple[str, Comparison]]:
    """Every comparison with its JSON pointer, from left to right."""
    if isinstance(condition, Comparison):
        yield pointer, condition
    for i, part in enumerate(parts_of(condition)):
        yield from comparisons_of(part, f"{pointer}/args/{i}")


def attributes_of(condition: Condition) -> tuple[str, ...]:
    """Names of the columns that it reads, each once, from left to right."""
    operands = (o for _, c in comparisons_of(condition) for o in (c.left, c.right))
    return tuple(dict.fromkeys(o.name for o in operands if isinstance(o, Attribute)))


def require_small(condition: Condition, pointer: str) -> None:
    """Raise InvalidInput if it is nested too deeply or compares too often."""
    level: tuple[Condition, ...] = (condition,)
    depth = comparisons = 0
    while level:
        depth += 1
        comparisons += sum(isinstance(part, Comparison) for part in level)
        if depth > MAX_DEPTH or comparisons > MAX_COMPARISONS:
            raise InvalidInput.of(
                pointer,
                "condition-too-large",
                f"A condition has at most {MAX_COMPARISONS} comparisons, nested at most {MAX_DEPTH} deep.",
                "Split the rule into several statements: their conditions are combined by and.",
            )
        level = tuple(inner for part in level for inner in parts_of(part))


def exact_number(value: Decimal, pointer: str, where: str = "") -> Decimal:
    """The number without needless zeros; InvalidInput if its JSON form could not hold it exactly."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        _refuse_number(pointer, where)
    shown = "".join(map(str, digits)).lstrip("0")
    kept = shown.rstrip("0")
    exponent += len(shown) - len(kept)
    if not kept:
        return Decimal(0)
    whole = exponent >= 0
    if whole and len(kept) + exponent > MAX_WHOLE_DIGITS:
        _refuse_number(pointer, where)
    if not whole and (len(kept) > MAX_FRACTION_DIGITS or exponent < -MAX_WHOLE_DIGITS):
        _refuse_number(pointer, where)
    return Decimal((sign, tuple(map(int, kept)), exponent))


def condition_of_json(document: object, pointer: str = "") -> Condition:
    """The condition of a syntax tree; InvalidInput points to the first place that is none."""
    condition = _condition(document, pointer, MAX_DEPTH)
    require_small(condition, pointer)
    return condition


def condition_to_json(condition: Condition) -> dict[str, Any]:
    """The syntax tree; inverse of :func:`condition_of_json`."""
    if isinstance(condition, Comparison):
        return {
            "op": condition.operator,
            "left": _operand_to_json(condition.left),
            "right": _operand_to_json(condition.right),
        }
    word = condition.connective if isinstance(condition, Junction) else "not"
    return {"op": word, "args": [condition_to_json(part) for part in parts_of(condition)]}


def _refuse_number(pointer: str, where: str) -> NoReturn:
    raise InvalidInput.of(
        pointer,
        "number-too-long",
        f"A number has too many digits{where}.",
        f"Give whole numbers of at most {MAX_WHOLE_DIGITS} digits, others of at most "
        f"{MAX_FRACTION_DIGITS} significant digits.",
    )


def _condition(document: object, pointer: str, levels: int) -> Condition:
    if not isinstance(document, Mapping):
        raise InvalidInput.of(
            pointer,
            "not-a-condition",
            "A condition is an object with the member op.",
            'Write {"op": "=", "left": {"attr": "city"}, "right": {"const": "Dayton"}}, or a text.',
        )
    operator = document.get("op")
    if operator in OPERATORS:
        _require_members(document, {"op", "left", "right"}, pointer)
        left = _operand(document["left"], f"{pointer}/left")
        right = _operand(document["right"], f"{pointer}/right")
        return Comparison(cast(Operator, operator), left, right)
    if operator != "not" and operator not in CONNECTIVES:
        raise InvalidInput.of(
            f"{pointer}/op",
            "unknown-operator",
            "The operator is none of the language.",
            f"The operators are: {', '.join((*CONNECTIVES, 'not', *OPERATORS))}.",
        )
    _require_members(document, {"op", "args"}, pointer)
    parts = _arguments(document["args"], 1 if operator == "not" else None, f"{pointer}/args")
    if not levels:
        raise InvalidInput.of(
            pointer,
            "condition-too-large",
            f"A condition is nested at most {MAX_DEPTH} deep.",
            "Split the rule into several statements: their conditions are combined by and.",
        )
    inner = tuple(_condition(part, f"{pointer}/args/{i}", levels - 1) for i, part in enumerate(parts))
    return Not(inner[0]) if operator == "not" else Junction(cast(Connective, operator), inner)


def _arguments(args: object, exactly: int | None, pointer: str) -> list[object]:
    if not isinstance(args, list) or (len(args) != exactly if exactly else len(args) < 2):
        expected = "one condition" if exactly else "a list of two or more conditions"
        raise InvalidInput.of(
            pointer, "wrong-arguments", f"The member args is {expected}.", f"Give {expected} there."
        )
    return args


def _require_members(document: Mapping[str, object], expected: set[str], pointer: str) -> None:
    if document.keys() != expected:
        raise InvalidInput.of(
            pointer,
            "wrong-members",
            f"With this operator the members are exactly: {', '.join(sorted(expected))}.",
            "Add what is missing and remove what is not listed.",
        )


def _operand(document: object, pointer: str) -> Operand:
    match document:
        case {"attr": str(name), **rest} if not rest:
            return Attribute(name)
        case {"const": bool() | None, **rest} if not rest:
            pass
        case {"const": str(text), **rest} if not rest:
            return Constant(text)
        case {"const": int(whole), **rest} if not rest:
            return Constant(exact_number(Decimal(whole), f"{pointer}/const"))
        case {"const": float(real), **rest} if not rest:
            return Constant(exact_number(Decimal(repr(real)), f"{pointer}/const"))
    raise InvalidInput.of(
        pointer,
        "not-an-operand",
        "An operand is a column or a constant: a number or a text. Nothing can be compared with a missing "
        "value: the answer would always be unknown.",
        'Write {"attr": "city"} or {"const": "Dayton"}.',
    )


def _operand_to_json(operand: Operand) -> dict[str, Any]:
    if isinstance(operand, Attribute):
        return {"attr": operand.name}
    if isinstance(operand.value, str):
        return {"const": operand.value}
    whole = operand.value == operand.value.to_integral_value()
    return {"const": int(operand.value) if whole else float(operand.value)}

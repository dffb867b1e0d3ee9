"""From plain values to the frozen dataclasses of measures, criteria and policies, with every mistake named.

The types say everything that there is to check: fields, defaults, choices, and bounds as ``annotated_types``.
Nothing is converted: a text is no number, a boolean no whole number. What a dataclass checks itself
(``__post_init__``) is checked when its fields are right.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
from collections.abc import Collection, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import annotated_types

from app.domain.errors import Fault, InvalidInput
from app.domain.policies.comparison import Value

T = TypeVar("T")

_INFINITIES: Final = {"inf": math.inf, "Infinity": math.inf, "-inf": -math.inf, "-Infinity": -math.inf}
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MOST_CHOICES: Final = 60


def built(type_: type[T], document: object, pointer: str = "", made: Mapping[str, Any] | None = None) -> T:
    """The dataclass of a plain mapping; InvalidInput with every fault, ``pointer`` being its place.

    ``made`` holds fields that are there already, and which the mapping therefore must not have.
    """
    faults: list[Fault] = []
    value = _dataclass(type_, document, pointer, faults, made or {})
    if faults:
        raise InvalidInput(faults)
    return value  # type: ignore[no-any-return]


def closest(word: str, choices: Collection[str]) -> str:
    """The remedy for a word that is none of the choices: the one that may be meant, and all of them."""
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    meant = f"Did you mean {near[0]!r}? " if near else ""
    listed = sorted(choices)
    rest = f" and {len(listed) - _MOST_CHOICES} more" if len(listed) > _MOST_CHOICES else ""
    return f"{meant}There are: {', '.join(listed[:_MOST_CHOICES])}{rest}."


def joined(pointer: str, part: str | int) -> str:
    """A JSON pointer one step deeper (RFC 6901)."""
    return f"{pointer}/{str(part).replace('~', '~0').replace('/', '~1')}"


def _dataclass(
    type_: type, document: object, pointer: str, faults: list[Fault], made: Mapping[str, Any]
) -> Any:  # noqa: ANN401 - an instance of the type
    if not isinstance(document, Mapping):
        faults.append(_wrong_type(pointer, "an object with named fields"))
        return None
    before = len(faults)
    hints = get_type_hints(type_, include_extras=True)
    fields = {own.name: own for own in dataclasses.fields(type_) if own.name not in made}
    for name in document:
        if name not in fields:
            faults.append(
                Fault(
                    joined(pointer, name), "unknown-field", f"There is no field {name!r} here.",
                    closest(str(name), fields) if fields else "Leave it out.",
                )
            )  # fmt: skip
    values = dict(made)
    for name, own in fields.items():
        if name in document:
            values[name] = _value(hints[name], document[name], joined(pointer, name), faults)
        elif own.default is dataclasses.MISSING and own.default_factory is dataclasses.MISSING:
            faults.append(
                Fault(joined(pointer, name), "missing", f"The field {name} is missing.", "Give it.")
            )
    if len(faults) > before:
        return None
    try:
        return type_(**values)
    except InvalidInput as error:
        faults.extend(dataclasses.replace(own, pointer=_inside(pointer, own.pointer)) for own in error.faults)
        return None


def _inside(pointer: str, found: str) -> str:
    """The place of a fault that a dataclass named by one of its fields, or by where requests have it."""
    for place in ("/measure", "/objective", "/risk_model", "/consistency"):
        found = found.removeprefix(place)
    return pointer + found.rstrip("/")


def _value(hint: Any, value: object, pointer: str, faults: list[Fault]) -> Any:  # noqa: ANN401
    """The value as its type, or None with at least one fault more."""
    limits: list[Any] = []
    while get_origin(hint) is Annotated:
        hint, *own = get_args(hint)
        limits += own
    before = len(faults)
    found = _of_type(hint, value, pointer, faults)
    if found is not None and len(faults) == before:
        _limit(found, limits, pointer, faults)
    return found


def _of_type(hint: Any, value: object, pointer: str, faults: list[Fault]) -> Any:  # noqa: ANN401
    if isinstance(hint, NewType):
        return _value(hint.__supertype__, value, pointer, faults)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == Value:
        return _threshold(value, pointer, faults)
    if origin in (Union, types.UnionType):
        inner = [own for own in arguments if own is not type(None)]
        if value is None and len(inner) < len(arguments):
            return None
        if len(inner) != 1:
            raise TypeError("a union of several types cannot be told apart")
        return _value(inner[0], value, pointer, faults)
    if origin is Literal:
        return _choice(arguments, value, pointer, faults)
    if origin is tuple:
        return _items(arguments[0], value, pointer, faults)
    if origin is Mapping:
        return _members(arguments, value, pointer, faults)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass(hint, value, pointer, faults, {})
    return value if hint is Any else _scalar(hint, value, pointer, faults)


def _scalar(hint: type, value: object, pointer: str, faults: list[Fault]) -> Any:  # noqa: ANN401
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is bool and isinstance(value, bool):
        return value
    if hint is int and is_number and isinstance(value, int):
        return value
    if hint is float and is_number and _is_finite(value):
        return float(value)  # type: ignore[arg-type]
    if hint is str and isinstance(value, str):
        if _UNPRINTABLE.search(value):
            faults.append(
                Fault(pointer, "wrong-characters", "The text holds characters that cannot be printed.")
            )
        return value
    wanted = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}[hint]
    faults.append(_wrong_type(pointer, wanted))
    return None


def _is_finite(value: object) -> bool:
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


def _threshold(value: object, pointer: str, faults: list[Fault]) -> Value | None:
    """A boolean, a finite number (whole ones as such), or infinity, also as the text "inf"."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _INFINITIES:
        return _INFINITIES[value]
    if isinstance(value, float) and math.isinf(value):
        return value
    if isinstance(value, int | float) and _is_finite(value):
        return int(value) if value == int(value) else value
    faults.append(_wrong_type(pointer, 'a number, "inf", true or false'))
    return None


def _choice(choices: tuple[Any, ...], value: object, pointer: str, faults: list[Fault]) -> object:
    if isinstance(value, str) and value in choices:
        return value
    if isinstance(value, str):
        remedy = closest(value, [str(own) for own in choices])
        faults.append(Fault(pointer, "unknown-choice", f"{value!r} is none of the choices.", remedy))
    else:
        faults.append(_wrong_type(pointer, "one of " + ", ".join(map(str, choices))))
    return None


def _items(hint: Any, value: object, pointer: str, faults: list[Fault]) -> tuple[Any, ...] | None:  # noqa: ANN401
    if isinstance(value, str) or not isinstance(value, Sequence):
        faults.append(_wrong_type(pointer, "a list"))
        return None
    return tuple(_value(hint, item, joined(pointer, number), faults) for number, item in enumerate(value))


def _members(
    hints: tuple[Any, ...], value: object, pointer: str, faults: list[Fault]
) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        faults.append(_wrong_type(pointer, "an object with named fields"))
        return None
    found = {}
    for key, item in value.items():
        place = joined(pointer, key)
        _scalar(str, key, place, faults)
        found[key] = _value(hints[1], item, place, faults)
    return found


def _limit(value: Any, limits: Sequence[Any], pointer: str, faults: list[Fault]) -> None:  # noqa: ANN401
    for limit in limits:
        said = _beyond(value, limit)
        if said is not None:
            faults.append(Fault(pointer, *said))
            return


def _beyond(value: Any, limit: Any) -> tuple[str, str] | None:  # noqa: ANN401
    """Code and message if a value is beyond a bound."""
    if isinstance(limit, annotated_types.GroupedMetadata):
        return next((said for own in limit if (said := _beyond(value, own)) is not None), None)
    match limit:
        case annotated_types.Ge(least) if value < least:
            return "out-of-range", f"It must be at least {least}."
        case annotated_types.Gt(below) if value <= below:
            return "out-of-range", f"It must be above {below}."
        case annotated_types.Le(most) if value > most:
            return "out-of-range", f"It must be at most {most}."
        case annotated_types.Lt(above) if value >= above:
            return "out-of-range", f"It must be below {above}."
        case annotated_types.MinLen(least) if len(value) < least:
            return "wrong-length", f"It must have at least {least} {_parts(value)}."
        case annotated_types.MaxLen(most) if len(value) > most:
            return "wrong-length", f"It must have at most {most:,} {_parts(value)}."
    return None


def _parts(value: object) -> str:
    return "characters" if isinstance(value, str) else "entries"


def _wrong_type(pointer: str, wanted: str) -> Fault:
    return Fault(pointer, "wrong-type", f"It must be {wanted}.")

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
)

import annotated_types

from app.domain.catalogue.field_types import field_types
from app.domain.errors import Fault, InvalidInput, joined
from app.domain.policies.comparison import Value

T = TypeVar("T")

_INFINITIES: Final = {"inf": math.inf, "Infinity": math.inf, "-inf": -math.inf, "-Infinity": -math.inf}
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MOST_CHOICES: Final = 60


def built(
    type_: type[T],
    document: object,
    pointer: str = "",
    made: Mapping[str, Any] | None = None,
    *,
    printed: bool = True,
) -> T:
    """The dataclass of a plain mapping; InvalidInput with every fault, ``pointer`` being its place.

    ``made`` holds fields that are there already, and which the mapping therefore must not have; ``printed``
    says that people read the texts, which then hold nothing that cannot be printed.
    """
    reader = _Reader(printed)
    value: T = reader.read(type_, document, pointer, made or {})
    if reader.faults:
        raise InvalidInput(reader.faults)
    return value


def closest(word: str, choices: Collection[str]) -> str:
    """The remedy for a word that is none of the choices: the one that may be meant, and all of them."""
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    meant = f"Did you mean {near[0]!r}? " if near else ""
    listed = sorted(choices)
    rest = f" and {len(listed) - _MOST_CHOICES} more" if len(listed) > _MOST_CHOICES else ""
    return f"{meant}There are: {', '.join(listed[:_MOST_CHOICES])}{rest}."


class _Reader:
    """Reads values by their types and keeps the faults that it finds."""

    def __init__(self, printed: bool) -> None:
        self.faults: list[Fault] = []
        self._printed = printed

    def read(self, type_: type, document: object, pointer: str, made: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if not isinstance(document, Mapping):
            self.faults.append(_wrong_type(pointer, "an object with named fields"))
            return None
        before = len(self.faults)
        hints = field_types(type_)
        fields = {own.name: own for own in dataclasses.fields(type_) if own.name not in made}
        for name in document:
            if name not in fields:
                self.faults.append(
                    Fault(
                        joined(pointer, name), "unknown-field", f"There is no field {name!r} here.",
                        closest(str(name), fields) if fields else "Leave it out.",
                    )
                )  # fmt: skip
        values = dict(made)
        for name, own in fields.items():
            if name in document:
                values[name] = self._value(hints[name], document[name], joined(pointer, name))
            elif own.default is dataclasses.MISSING and own.default_factory is dataclasses.MISSING:
                self.faults.append(
                    Fault(joined(pointer, name), "missing", f"The field {name} is missing.", "Give it.")
                )
        if len(self.faults) > before:
            return None
        try:
            return type_(**values)
        except InvalidInput as error:
            self.faults.extend(
                dataclasses.replace(own, pointer=_inside(pointer, own.pointer)) for own in error.faults
            )
            return None

    def _value(self, hint: Any, value: object, pointer: str) -> Any:  # noqa: ANN401
        """The value as its type, or None with at least one fault more."""
        limits: list[Any] = []
        while get_origin(hint) is Annotated:
            hint, *own = get_args(hint)
            limits += own
        before = len(self.faults)
        found = self._of_type(hint, value, pointer)
        if found is not None and len(self.faults) == before:
            self._limit(found, limits, pointer)
        return found

    def _of_type(self, hint: Any, value: object, pointer: str) -> Any:  # noqa: ANN401
        if isinstance(hint, NewType):
            return self._value(hint.__supertype__, value, pointer)
        origin, arguments = get_origin(hint), get_args(hint)
        if hint == Value:
            return self._threshold(value, pointer)
        if origin in (Union, types.UnionType):
            inner = [own for own in arguments if own is not type(None)]
            if value is None and len(inner) < len(arguments):
                return None
            if len(inner) != 1:
                raise TypeError("a union of several types cannot be told apart")
            return self._value(inner[0], value, pointer)
        if origin is Literal:
            return self._choice(arguments, value, pointer)
        if origin is tuple:
            return self._items(arguments[0], value, pointer)
        if origin is Mapping:
            return self._members(arguments, value, pointer)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self.read(hint, value, pointer, {})
        return value if hint is Any else self._scalar(hint, value, pointer)

    def _scalar(self, hint: type, value: object, pointer: str) -> Any:  # noqa: ANN401
        if hint is bool and isinstance(value, bool):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            if hint is int and isinstance(value, int):
                return value
            if hint is float and _is_finite(value):
                return float(value)
        if hint is str and isinstance(value, str):
            if self._printed and _UNPRINTABLE.search(value):
                self.faults.append(
                    Fault(pointer, "wrong-characters", "The text holds characters that cannot be printed.")
                )
            return value
        wanted = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}[hint]
        self.faults.append(_wrong_type(pointer, wanted))
        return None

    def _threshold(self, value: object, pointer: str) -> Value | None:
        """A boolean, a finite number (whole ones as such), or infinity, also as the text "inf"."""
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in _INFINITIES:
            return _INFINITIES[value]
        if isinstance(value, float) and math.isinf(value):
            return value
        if isinstance(value, int | float) and _is_finite(value):
            return int(value) if value == int(value) else value
        self.faults.append(_wrong_type(pointer, 'a number, "inf", true or false'))
        return None

    def _choice(self, choices: tuple[Any, ...], value: object, pointer: str) -> object:
        if isinstance(value, str) and value in choices:
            return value
        if isinstance(value, str):
            remedy = closest(value, [str(own) for own in choices])
            self.faults.append(Fault(pointer, "unknown-choice", f"{value!r} is none of the choices.", remedy))
        else:
            self.faults.append(_wrong_type(pointer, "one of " + ", ".join(map(str, choices))))
        return None

    def _items(self, hint: Any, value: object, pointer: str) -> tuple[Any, ...] | None:  # noqa: ANN401
        if isinstance(value, str) or not isinstance(value, Sequence):
            self.faults.append(_wrong_type(pointer, "a list"))
            return None
        return tuple(self._value(hint, item, joined(pointer, number)) for number, item in enumerate(value))

    def _members(self, hints: tuple[Any, ...], value: object, pointer: str) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            self.faults.append(_wrong_type(pointer, "an object with named fields"))
            return None
        found = {}
        for key, item in value.items():
            place = joined(pointer, key)
            self._scalar(str, key, place)
            found[key] = self._value(hints[1], item, place)
        return found

    def _limit(self, value: Any, limits: Sequence[Any], pointer: str) -> None:  # noqa: ANN401
        for limit in limits:
            said = _beyond(value, limit)
            if said is not None:
                self.faults.append(Fault(pointer, *said))
                return


def _inside(pointer: str, found: str) -> str:
    """The place of a fault that a dataclass named by one of its fields, or by where requests have it."""
    for place in ("/measure", "/objective", "/risk_model", "/consistency"):
        found = found.removeprefix(place)
    return pointer + found.rstrip("/")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _beyond(value: Any, limit: Any) -> tuple[str, str] | None:  # noqa: ANN401
    """Code and message if a value is beyond a bound."""
    # What is a bound by itself is told by its class: to ask a protocol takes longer than all the rest.
    is_single = isinstance(limit, annotated_types.BaseMetadata)
    if not is_single and isinstance(limit, annotated_types.GroupedMetadata):
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

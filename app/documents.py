"""From plain data to values of annotated frozen dataclasses, and back: read and written in one place.

The types say everything that there is to check: fields, defaults, choices, and bounds as ``annotated_types``.
Nothing is converted: a text is no number, a boolean no whole number. What a dataclass checks itself
(``__post_init__``) is checked when its fields are right. A value is written without what is None, and without
what is :data:`~app.domain.catalogue.catalogue_types.ADDED_LATER` and as usual; bodies of requests are made of
the same types by :mod:`app.api.schemas.derived`.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union, get_args, get_origin

import annotated_types

from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.catalogue.field_types import field_types
from app.domain.errors import Fault, InvalidInput, joined

T = TypeVar("T")

Names = Mapping[type, Mapping[str, str]]
"""Class → field → what documents call it; fields that are not named keep their names."""


@dataclasses.dataclass(frozen=True)
class WithKind:
    """Marks parameters that documents have in one object with their kind, named as the field of the kind."""

    field: str


@dataclasses.dataclass(frozen=True)
class Short:
    """Marks a number that is written without a fraction if it is whole."""


SHORT: Final = Short()

_AS_THEY_ARE: Final[Names] = types.MappingProxyType({})
_INFINITIES: Final = {"inf": math.inf, "-inf": -math.inf, "Infinity": math.inf, "-Infinity": -math.inf}
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MOST_CHOICES: Final = 60


def built(
    type_: type[T],
    document: object,
    pointer: str = "",
    made: Mapping[str, Any] | None = None,
    names: Names = _AS_THEY_ARE,
    *,
    printed: bool = True,
) -> T:
    """The dataclass of a plain mapping; InvalidInput with every fault, ``pointer`` being its place.

    ``made`` holds fields that are there already, and which the mapping therefore must not have; ``printed``
    says that people read the texts, which then hold nothing that cannot be printed.
    """
    reader = _Reader(names, printed)
    value: T = reader.read(type_, document, pointer, made or {})
    if reader.faults:
        raise InvalidInput(reader.faults)
    return value


def read_as(hint: Any, value: object, pointer: str = "") -> Any:  # noqa: ANN401 - any type, and its value
    """A plain value as one of a type such as fields have; InvalidInput with every fault."""
    reader = _Reader(_AS_THEY_ARE, printed=True)
    found = reader.value(hint, value, pointer)
    if reader.faults:
        raise InvalidInput(reader.faults)
    return found


def written(value: Any, names: Names = _AS_THEY_ARE) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """The plain mapping of a dataclass, which :func:`built` reads back; its class's kind comes first."""
    type_: Any = type(value)
    kinds, called = fields_of_kinds(type_), names.get(type_, {})
    document = {"kind": type_.kind} if hasattr(type_, "kind") else {}
    for own in dataclasses.fields(value):
        found, marks = getattr(value, own.name), getattr(field_types(type_)[own.name], "__metadata__", ())
        if found is None or own.name in kinds.values() or (ADDED_LATER in marks and found == usual(own)):
            continue
        if own.name in kinds:
            found = {"kind": found, **getattr(value, kinds[own.name])}
        if SHORT in marks and isinstance(found, float) and found.is_integer():
            found = int(found)
        document[called.get(own.name, own.name)] = _plain(found, names)
    return document


def _plain(value: Any, names: Names) -> Any:  # noqa: ANN401
    if dataclasses.is_dataclass(value):
        return written(value, names)
    if isinstance(value, Mapping):
        return {str(name): _plain(own, names) for name, own in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(own, names) for own in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def usual(field: dataclasses.Field[Any]) -> Any:  # noqa: ANN401 - any value
    """What a field is where it is not given; MISSING if it has to be."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


@cache
def fields_of_kinds(type_: Any) -> Mapping[str, str]:  # noqa: ANN401 - a dataclass
    """Field of a kind → field of the parameters that documents have with it in one object."""
    return {
        mark.field: name
        for name, hint in field_types(type_).items()
        for mark in getattr(hint, "__metadata__", ())
        if isinstance(mark, WithKind)
    }


def closest(word: str, choices: Collection[str]) -> str:
    """The remedy for a word that is none of the choices: the one that may be meant, and all of them."""
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    meant = f"Did you mean {near[0]!r}? " if near else ""
    listed = sorted(choices)
    rest = f" and {len(listed) - _MOST_CHOICES} more" if len(listed) > _MOST_CHOICES else ""
    return f"{meant}There are: {', '.join(listed[:_MOST_CHOICES])}{rest}."


def refuse_out_of_bounds(value: object) -> None:
    """InvalidInput at a number beyond its field's bounds, for what is not made of a document."""
    for name, limits in _bounds(type(value)):  # type: ignore[arg-type] # types are hashable
        number = getattr(value, name)
        said = None if number is None else next(filter(None, (_beyond(number, own) for own in limits)), None)
        if said is not None:
            raise InvalidInput.of(f"/{name}", said[0], said[1].replace("It", name, 1))


@cache
def _bounds(type_: type) -> Sequence[tuple[str, Sequence[Any]]]:
    kinds = annotated_types.Ge | annotated_types.Gt | annotated_types.Le | annotated_types.Lt
    marks = {name: getattr(hint, "__metadata__", ()) for name, hint in field_types(type_).items()}
    found = ((name, [own for own in said if isinstance(own, kinds)]) for name, said in marks.items())
    return [(name, limits) for name, limits in found if limits]


class _Reader:
    """Reads values by their types and keeps the faults that it finds."""

    def __init__(self, names: Names, printed: bool) -> None:
        self.faults: list[Fault] = []
        self._names = names
        self._printed = printed

    def read(self, type_: type, document: object, pointer: str, made: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if not isinstance(document, Mapping):
            self._wrong_type(pointer, "an object with named fields")
            return None
        before = len(self.faults)
        hints, kinds, called = field_types(type_), fields_of_kinds(type_), self._names.get(type_, {})
        fields = {
            called.get(own.name, own.name): own
            for own in dataclasses.fields(type_)
            if own.name not in made and own.name not in kinds.values()
        }
        for name in document:
            if name not in fields:
                remedy = closest(str(name), fields) if fields else "Leave it out."
                self._fault(
                    joined(pointer, name), "unknown-field", f"There is no field {name!r} here.", remedy
                )
        values = dict(made)
        for name, own in fields.items():
            place, hint = joined(pointer, name), hints[own.name]
            if own.name in kinds:
                inside = kinds[own.name]
                values[own.name], values[inside] = self._named(hints[inside], document.get(name), place)
            elif name in document or _by_kind(hint):
                values[own.name] = self.value(hint, document.get(name), place)
            elif usual(own) is dataclasses.MISSING:
                self._fault(place, "missing", f"The field {name} is missing.", "Give it.")
        if len(self.faults) > before:
            return None
        try:
            return type_(**values)
        except InvalidInput as error:
            self.faults.extend(
                dataclasses.replace(own, pointer=_inside(pointer, own.pointer)) for own in error.faults
            )
            return None

    def _fault(self, pointer: str, code: str, message: str, remedy: str = "") -> None:
        self.faults.append(Fault(pointer, code, message, remedy))

    def _wrong_type(self, pointer: str, wanted: str, remedy: str = "") -> None:
        self._fault(pointer, "wrong-type", f"It must be {wanted}.", remedy)

    def _named(self, hint: Any, value: object, pointer: str) -> tuple[Any, Any]:  # noqa: ANN401
        """A kind, and the parameters that are in one object with it."""
        if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
            self._wrong_type(pointer, "an object: its kind, and its parameters", "Give its kind.")
            return None, None
        return value["kind"], self.value(hint, {k: v for k, v in value.items() if k != "kind"}, pointer)

    def value(self, hint: Any, value: object, pointer: str) -> Any:  # noqa: ANN401
        """The value as its type, or None with at least one fault more."""
        limits: list[Any] = []
        while get_origin(hint) is Annotated:
            hint, *own = get_args(hint)
            limits += own
        before = len(self.faults)
        found = self._of_type(hint, value, pointer)
        if found is not None and len(self.faults) == before:
            said = next(filter(None, (_beyond(found, limit) for limit in limits)), None)
            if said is not None:
                self._fault(pointer, *said)
        return found

    def _of_type(self, hint: Any, value: object, pointer: str) -> Any:  # noqa: ANN401
        if isinstance(hint, NewType):
            return self.value(hint.__supertype__, value, pointer)
        origin, arguments = get_origin(hint), get_args(hint)
        if hint == bool | int | float:
            return self._threshold(value, pointer)
        if origin in (Union, types.UnionType):
            inner = [own for own in arguments if own is not type(None)]
            if value is None and len(inner) < len(arguments):
                return None
            if len(inner) == 1:
                return self.value(inner[0], value, pointer)
            return self._of_kind({own.kind: own for own in inner}, value, pointer)
        if origin is Literal:
            return self._choice(arguments, value, pointer)
        if origin is tuple:
            return self._items(arguments[0], value, pointer)
        if origin is Mapping:
            return self._members(arguments, value, pointer)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self.read(hint, value, pointer, {})
        return value if hint is Any else self._scalar(hint, value, pointer)

    def _of_kind(self, kinds: Mapping[str, type], value: object, pointer: str) -> Any:  # noqa: ANN401
        """One of several dataclasses, which the field ``kind`` tells apart."""
        if not isinstance(value, Mapping):
            self._wrong_type(pointer, "an object with the field kind")
            return None
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in kinds:
            remedy = closest(str(kind), kinds)
            self._fault(joined(pointer, "kind"), "unknown-kind", "There is nothing of this kind.", remedy)
            return None
        return self.read(kinds[kind], {k: v for k, v in value.items() if k != "kind"}, pointer, {})

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
                self._fault(pointer, "wrong-characters", "The text holds characters that cannot be printed.")
            return value
        wanted = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}[hint]
        self._wrong_type(pointer, wanted)
        return None

    def _threshold(self, value: object, pointer: str) -> bool | int | float | None:
        """A boolean, a finite number (whole ones as such), or infinity, also as the text "inf"."""
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in _INFINITIES:
            return _INFINITIES[value]
        if isinstance(value, float) and math.isinf(value):
            return value
        if isinstance(value, int | float) and _is_finite(value):
            return int(value) if value == int(value) else value
        self._wrong_type(pointer, 'a number, "inf", true or false')
        return None

    def _choice(self, choices: tuple[Any, ...], value: object, pointer: str) -> object:
        if isinstance(value, str) and value in choices:
            return value
        if isinstance(value, str):
            remedy = closest(value, [str(own) for own in choices])
            self._fault(pointer, "unknown-choice", f"{value!r} is none of the choices.", remedy)
        else:
            self._wrong_type(pointer, "one of " + ", ".join(map(str, choices)))
        return None

    def _items(self, hint: Any, value: object, pointer: str) -> tuple[Any, ...] | None:  # noqa: ANN401
        if isinstance(value, str) or not isinstance(value, Sequence):
            self._wrong_type(pointer, "a list")
            return None
        return tuple(self.value(hint, item, joined(pointer, number)) for number, item in enumerate(value))

    def _members(self, hints: tuple[Any, ...], value: object, pointer: str) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            self._wrong_type(pointer, "an object with named fields")
            return None
        found = {}
        for key, item in value.items():
            place = joined(pointer, key)
            self._scalar(str, key, place)
            found[key] = self.value(hints[1], item, place)
        return found


def _by_kind(hint: Any) -> bool:  # noqa: ANN401 - any type
    """Whether it is one of several dataclasses: what is missing is then an object of the wrong type."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return get_origin(hint) in (Union, types.UnionType) and all(map(dataclasses.is_dataclass, get_args(hint)))


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
    """Code and message if a value is beyond a bound, as NaN is beyond any."""
    # What is a bound by itself is told by its class: to ask a protocol takes longer than all the rest.
    is_single = isinstance(limit, annotated_types.BaseMetadata)
    if not is_single and isinstance(limit, annotated_types.GroupedMetadata):
        return next((said for own in limit if (said := _beyond(value, own)) is not None), None)
    match limit:
        case annotated_types.Ge(least) if not value >= least:
            return "out-of-range", f"It must be at least {least}."
        case annotated_types.Gt(below) if not value > below:
            return "out-of-range", f"It must be above {below}."
        case annotated_types.Le(most) if not value <= most:
            return "out-of-range", f"It must be at most {most}."
        case annotated_types.Lt(above) if not value < above:
            return "out-of-range", f"It must be below {above}."
        case annotated_types.MinLen(least) if len(value) < least:
            return "wrong-length", f"It must have at least {least} {_parts(value)}."
        case annotated_types.MaxLen(most) if len(value) > most:
            return "wrong-length", f"It must have at most {most:,} {_parts(value)}."
    return None


def _parts(value: object) -> str:
    return "characters" if isinstance(value, str) else "entries"

"""The numbers of a result, named by dotted paths: what a policy may set a threshold for.

A path leads through nested parts by the names of their fields; the key of a mapping may hold dots itself
(``loss_quantiles_linked.0.95``). Lists are no numbers: which of their entries is meant nobody could say
before the result is there.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin, get_type_hints

from annotated_types import DocInfo

from app.domain.catalogue.meanings import NOTHING_KNOWN, Meaning, Range

Kind = Literal["whole number", "number", "boolean"]

_KINDS: Final[Mapping[Any, Kind]] = {int: "whole number", float: "number", bool: "boolean"}
_KEY: Final = "<key>"


@dataclass(frozen=True)
class ResultValue:
    """One number or boolean of a result: where it is, what it is, and what it says.

    ``path`` has ``<key>`` where a mapping's key is to be put; ``marks`` are those of its field.
    """

    path: str
    kind: Kind
    meaning: str
    marks: Meaning = NOTHING_KNOWN

    def range(self, options: Mapping[str, Any]) -> Range:
        """What it can be when it is scored with some options."""
        found = self.marks.range or (Range(0.0) if self.kind == "whole number" else Range())
        return Range() if found.of_losses and options.get("risk_model") == "III_raw" else found


def values_of(result: type) -> tuple[ResultValue, ...]:
    """All numbers and booleans of a result's dataclass that a path leads to, in the order of the fields."""
    return tuple(_values(result, ResultValue("", "number", "")))


def found_in(values: tuple[ResultValue, ...], path: str) -> ResultValue | None:
    """The value that a path names, or None."""
    for value in values:
        prefix, key, suffix = value.path.partition(_KEY)
        if path == value.path and not key:
            return value
        long_enough = len(path) > len(prefix) + len(suffix)
        if key and long_enough and path.startswith(prefix) and path.endswith(suffix):
            return value
    return None


def value_at(document: Mapping[str, Any], path: str) -> float | None:
    """What a result's document holds at a path; None where that is null or not there.

    Infinities, which documents write as texts, are numbers again.
    """
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        key, rest = ".".join(parts[:length]), ".".join(parts[length:])
        if key not in document:
            continue
        found = document[key]
        if not rest:
            return _number(found)
        return value_at(found, rest) if isinstance(found, Mapping) else None
    return None


def _number(found: object) -> float | None:
    if found in ("inf", "-inf"):
        return float(found)
    if isinstance(found, bool | int) or (isinstance(found, float) and not math.isnan(found)):
        return found
    return None


def _values(hint: Any, of: ResultValue) -> Iterator[ResultValue]:  # noqa: ANN401
    """The values of a type; ``of`` says what is known from the fields that it is in."""
    while get_origin(hint) is Annotated:
        hint, *said = get_args(hint)
        meaning = next((own.documentation for own in said if isinstance(own, DocInfo)), of.meaning)
        marks = reduce(operator.or_, (own for own in said if isinstance(own, Meaning)), NOTHING_KNOWN)
        of = replace(of, meaning=meaning, marks=marks | of.marks)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        for own in arguments:
            yield from _values(own, of)
    elif hint in _KINDS:
        yield replace(of, kind=_KINDS[hint])
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        for name in (own.name for own in dataclasses.fields(hint)):
            yield from _values(hints[name], replace(of, path=f"{of.path}.{name}" if of.path else name))
    elif origin is Mapping and not isinstance(arguments[0], NewType):
        # Keys that are values of cells would tell who has them.
        yield from _values(arguments[1], replace(of, path=f"{of.path}.{_KEY}"))

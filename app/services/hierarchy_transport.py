"""Definitions of hierarchies on their way to another process: how much they define, and in which form.

They are written and read in slices: one long text would hold up all other threads while it is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final

from app.services.hierarchy_definitions import (
    DatesDefinition,
    FlatDefinition,
    HierarchyDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    LeafSource,
    LeafValues,
    MaskingDefinition,
    OrderedGroupsDefinition,
    ParentsDefinition,
    RowsDefinition,
)

_SLICE: Final = 500
_MOST: Final = 10**9
_RANGE_CHARACTERS: Final = 10
_LONG: Final = frozenset({"leaves", "parents", "rows"})
_KINDS: Final = {
    kind.kind: kind
    for kind in (
        IntervalsDefinition, OrderedGroupsDefinition, MaskingDefinition, DatesDefinition, FlatDefinition,
    )
}  # fmt: skip


def labels_of(definition: HierarchyDefinition, column: Sequence[str] | None) -> int:
    """About how many labels the definition names or makes; ``column`` holds the leaves if an upload does."""
    match definition:
        case ParentsDefinition():
            return sum(1 + len(above) for above in definition.parents.values())
        case RowsDefinition():
            return sum(len(row) for row in definition.rows)
        case MaskingDefinition():
            longest = max(map(len, _leaves(definition.leaves, column)), default=_RANGE_CHARACTERS)
            return _size(definition.leaves, column) * (1 + longest)
        case IntervalsDefinition():
            levels = len(definition.widths)
        case OrderedGroupsDefinition():
            levels = len(definition.group_sizes)
        case DatesDefinition():
            levels = len(definition.levels)
        case FlatDefinition():
            levels = 0
    return _size(definition.leaves, column) * (1 + levels)


def written(definition: HierarchyDefinition, column: Sequence[str] | None) -> Iterator[bytes]:
    """Lines of JSON that ``read`` takes: the small fields, then the values in slices."""
    small = {field.name: getattr(definition, field.name) for field in fields(definition)}
    head = {"kind": definition.kind, "fields": {k: v for k, v in small.items() if k not in _LONG}}
    values: Iterable[Any]
    match definition:
        case ParentsDefinition():
            values = definition.parents.items()
        case RowsDefinition():
            values = definition.rows
        case _:
            values = _leaves(definition.leaves, column)
            if not isinstance(definition.leaves, LeafValues):
                head["source"] = vars(definition.leaves)
    yield json.dumps(head).encode() + b"\n"
    rest = iter(values)
    while part := list(islice(rest, _SLICE)):
        yield json.dumps(part).encode() + b"\n"


def read(lines: Iterable[bytes]) -> tuple[HierarchyDefinition, tuple[str, ...] | None]:
    """The definition that was written, and the upload's column if it takes its leaves from one."""
    rest = iter(lines)
    head = json.loads(next(rest))
    values = chain.from_iterable(map(json.loads, rest))
    small: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in head["fields"].items()
    }
    if head["kind"] == ParentsDefinition.kind:
        return ParentsDefinition({value: tuple(above) for value, above in values}, **small), None
    if head["kind"] == RowsDefinition.kind:
        return RowsDefinition(tuple(tuple(row) for row in values)), None
    source, column = head.get("source"), tuple(values)
    leaves: LeafSource
    if source is None:
        leaves = LeafValues(column)
    elif "upload" in source:
        leaves = LeafColumn(**source)
    else:
        leaves = LeafRange(**source)
    return _KINDS[head["kind"]](leaves=leaves, **small), column


def _leaves(source: LeafSource, column: Sequence[str] | None) -> Sequence[str]:
    match source:
        case LeafValues():
            return source.values
        case LeafColumn():
            return column or ()
        case LeafRange():
            return ()


def _size(source: LeafSource, column: Sequence[str] | None) -> int:
    if not isinstance(source, LeafRange):
        return len(_leaves(source, column))
    try:
        low, high = date.fromisoformat(source.first), date.fromisoformat(source.last)
    except ValueError:
        try:
            size = (Decimal(source.last) - Decimal(source.first)) / Decimal(source.step)
            return max(0, int(min(size, Decimal(_MOST))) + 1)
        except (ArithmeticError, ValueError):
            return 0  # no range at all, which is quickly refused
    return (high - low).days // int(source.step) + 1 if source.step.isdecimal() and int(source.step) else 0

"""Definitions of hierarchies on their way to another process: how much they define, and in which form.

They are written and read in slices: one long text would hold up all other threads while it is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final

from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import MAX_DIGITS
from app.domain.hierarchies.hierarchy_definitions import (
    MADE_OF_LEAVES,
    CodePrefixesDefinition,
    DatesDefinition,
    FlatDefinition,
    FreeBoundsDefinition,
    HierarchyDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    LeafSource,
    LeafValues,
    MaskingDefinition,
    OrderedGroupsDefinition,
    ParentsDefinition,
    RareValuesDefinition,
    RowsDefinition,
)

_MOST_CODED_LEVELS: Final = 3
_SLICE: Final = 500
_MOST: Final = 10**9

MOST_OF_RANGE: Final = 250_000
"""Leaves of a range: every day of seven centuries. A few bytes ask for them, and each costs time."""

MOST_MADE: Final = 1_000_000
"""Labels of a hierarchy over a range: about 3 s of processor time."""

MOST_LABELS: Final = 3_000_000
"""Labels of one over leaves that are listed, or stored in an upload."""

_LONG: Final = frozenset({"leaves", "parents", "rows"})


def labels_of(definition: HierarchyDefinition, column: Mapping[str, int] | None) -> int:
    """About how many labels the definition names or makes; ``column`` holds the leaves if an upload does."""
    match definition:
        case ParentsDefinition():
            return sum(1 + len(above) for above in definition.parents.values())
        case RowsDefinition():
            return sum(len(row) for row in definition.rows)
        case MaskingDefinition():
            return _size(definition.leaves, column) * (1 + _longest(definition.leaves, column))
        case IntervalsDefinition():
            levels = len(definition.widths)
        case FreeBoundsDefinition():
            levels = len(definition.bounds)
        case CodePrefixesDefinition():
            levels = len(definition.lengths)
        case OrderedGroupsDefinition():
            levels = len(definition.group_sizes)
        case DatesDefinition():
            levels = len(definition.levels)
        case FlatDefinition():
            levels = 0
        case RareValuesDefinition():
            levels = 1
        case _:
            levels = _MOST_CODED_LEVELS
    return _size(definition.leaves, column) * (1 + levels)


def check_labels(definition: HierarchyDefinition, labels: int) -> None:
    """Refuse what makes too many labels out of little, before any is made.

    InvalidInput names the field. ``labels`` is what ``labels_of`` says; rows and parents name each label.
    """
    if isinstance(definition, ParentsDefinition | RowsDefinition):
        return
    if isinstance(definition.leaves, LeafRange) and (size := _size(definition.leaves, None)) > MOST_OF_RANGE:
        raise InvalidInput.of(
            "/definition/range/step",
            "too-many-leaves",
            f"The range has {size if size < _MOST else 'far too many'} leaves; {MOST_OF_RANGE} are allowed.",
            "Use a greater step, or a shorter range.",
        )
    most = MOST_MADE if isinstance(definition.leaves, LeafRange) else MOST_LABELS
    if labels > most:
        raise InvalidInput.of(
            "/definition",
            "too-many-labels",
            f"The hierarchy would have about {labels} labels, leaves times levels; at most {most} are made.",
            "Use fewer levels or fewer leaves, or send the rows themselves.",
        )


def written(definition: HierarchyDefinition, column: Mapping[str, int] | None) -> Iterator[bytes]:
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
            if isinstance(definition.leaves, LeafColumn):
                values = (column or {}).items()
            if not isinstance(definition.leaves, LeafValues):
                head["source"] = vars(definition.leaves)
    yield json.dumps(head).encode() + b"\n"
    rest = iter(values)
    while part := list(islice(rest, _SLICE)):
        yield json.dumps(part).encode() + b"\n"


def read(lines: Iterable[bytes]) -> tuple[HierarchyDefinition, Mapping[str, int] | None]:
    """The definition that was written, and rows per leaf if an upload's column holds the leaves."""
    rest = iter(lines)
    head = json.loads(next(rest))
    values = chain.from_iterable(map(json.loads, rest))
    small: dict[str, Any] = {name: _frozen(value) for name, value in head["fields"].items()}
    if head["kind"] == ParentsDefinition.kind:
        return ParentsDefinition({value: tuple(above) for value, above in values}, **small), None
    if head["kind"] == RowsDefinition.kind:
        return RowsDefinition(tuple(tuple(row) for row in values)), None
    source = head.get("source")
    column: dict[str, int] | None = None
    leaves: LeafSource
    if source is None:
        leaves = LeafValues(tuple(values))
    elif "upload" in source:
        # Its values were read by the format.
        leaves, column = LeafColumn(source["upload"], source["column"]), dict(values)
    else:
        leaves = LeafRange(**source)
    return MADE_OF_LEAVES[head["kind"]](leaves=leaves, **small), column


def _frozen(value: Any) -> Any:  # noqa: ANN401 - a field as JSON holds it
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _leaves(source: LeafSource, column: Mapping[str, int] | None) -> Sequence[str]:
    match source:
        case LeafValues():
            return source.values
        case LeafColumn():
            return tuple(column or ())
        case LeafRange():
            return ()


def _longest(source: LeafSource, column: Mapping[str, int] | None) -> int:
    """At least the characters of the longest leaf."""
    if not isinstance(source, LeafRange):
        return max(map(len, _leaves(source, column)), default=0)
    if "e" in f"{source.first}{source.last}{source.step}".lower():
        return 2 * MAX_DIGITS
    return max(len(source.first), len(source.last)) + len(source.step) - 1


def _size(source: LeafSource, column: Mapping[str, int] | None) -> int:
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

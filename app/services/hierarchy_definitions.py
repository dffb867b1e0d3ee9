"""The ways to define a hierarchy, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class LeafValues:
    """The leaves, listed."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class LeafRange:
    """Leaves from ``first`` to ``last`` inclusive: numbers, or dates with ``step`` in days."""

    first: str
    last: str
    step: str = "1"


@dataclass(frozen=True)
class LeafColumn:
    """The distinct non-missing values of an upload's column."""

    upload: str
    column: str


LeafSource = LeafValues | LeafRange | LeafColumn


@dataclass(frozen=True)
class ParentsDefinition:
    """Every value with its parents; the parent None is ⊥."""

    kind: ClassVar[str] = "parents"

    parents: Mapping[str, tuple[str | None, ...]]
    top_label: str = "*"


@dataclass(frozen=True)
class RowsDefinition:
    """The common CSV form: one row per leaf, from the leaf to the most general label."""

    kind: ClassVar[str] = "rows"

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class IntervalsDefinition:
    """Numbers in half-open intervals of the widths given, each a multiple of the one before."""

    kind: ClassVar[str] = "intervals"

    leaves: LeafSource
    widths: tuple[str, ...]
    origin: str = "0"


@dataclass(frozen=True)
class OrderedGroupsDefinition:
    """Neighbours in the order of the leaves, grouped; one size per level, in groups of the level below."""

    kind: ClassVar[str] = "ordered_groups"

    leaves: LeafSource
    group_sizes: tuple[int, ...]


@dataclass(frozen=True)
class MaskingDefinition:
    """One character more masked per level, from the left or from the right."""

    kind: ClassVar[str] = "masking"

    leaves: LeafSource
    side: Literal["left", "right"] = "right"
    char: str = "*"
    pad: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class DatesDefinition:
    """ISO dates truncated to the levels given, finest first."""

    kind: ClassVar[str] = "dates"

    leaves: LeafSource
    levels: tuple[Literal["day", "month", "quarter", "year", "decade"], ...]


@dataclass(frozen=True)
class FlatDefinition:
    """Every value directly below ⊥."""

    kind: ClassVar[str] = "flat"

    leaves: LeafSource


HierarchyDefinition = (
    ParentsDefinition
    | RowsDefinition
    | IntervalsDefinition
    | OrderedGroupsDefinition
    | MaskingDefinition
    | DatesDefinition
    | FlatDefinition
)

"""The ways to define a hierarchy, each described once: bodies are derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.catalogue.catalogue_types import ColumnName, DecimalText, Example, LabelText, UploadRef

MOST_VALUES: Final = 1_000_000
"""Values in one list of a definition; the size of a body bounds them before that."""

Labels = Annotated[tuple[LabelText, ...], Len(1, 100)]
Side = Literal["left", "right"]
Unit = Literal["day", "month", "quarter", "year", "decade"]


@dataclass(frozen=True)
class LeafValues:
    """The leaves, listed."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class LeafRange:
    """Leaves from first to last inclusive: numbers, or dates with the step in days."""

    first: Annotated[str, MaxLen(40), doc("First leaf."), Example("0")]
    last: Annotated[str, MaxLen(40), doc("Last leaf."), Example("150000")]
    step: Annotated[str, MaxLen(40), doc("Distance of neighbours."), Example("1000")] = "1"


@dataclass(frozen=True)
class LeafColumn:
    """Leaves that are the distinct non-missing values of an upload's column."""

    upload: UploadRef
    column: Annotated[ColumnName, doc("Name of the column."), Example("city")]


LeafSource = LeafValues | LeafRange | LeafColumn


@dataclass(frozen=True)
class ParentsDefinition:
    """Every value with the values directly above it."""

    kind: ClassVar[str] = "parents"

    parents: Annotated[
        Mapping[LabelText, Annotated[tuple[LabelText | None, ...], Len(1, 100)]],
        Len(1, MOST_VALUES),
        doc("Value → its parents; null stands for the top."),
        Example({"White": ["European"], "European": [None]}),
    ]
    top_label: Annotated[LabelText, doc("What the top is called where it is shown."), Example("*")] = "*"


@dataclass(frozen=True)
class RowsDefinition:
    """One row per leaf, from the leaf to its most general label: the common CSV form as JSON."""

    kind: ClassVar[str] = "rows"

    rows: Annotated[
        tuple[Labels, ...], Len(1, MOST_VALUES), doc("The rows."), Example([["Lafayette", "Indiana"]])
    ]


@dataclass(frozen=True)
class IntervalsDefinition:
    """Numbers in half-open intervals, `[50000, 60000[`, of widths that are multiples of each other."""

    kind: ClassVar[str] = "intervals"

    leaves: LeafSource
    widths: Annotated[
        tuple[DecimalText, ...], Len(1, 30), doc("Width per level."), Example(["10000", "100000"])
    ]
    origin: Annotated[DecimalText, doc("Where an interval of every width begins."), Example("0")] = "0"


@dataclass(frozen=True)
class OrderedGroupsDefinition:
    """Neighbours in the order of the leaves, grouped."""

    kind: ClassVar[str] = "ordered_groups"

    leaves: LeafSource
    group_sizes: Annotated[
        tuple[Annotated[int, Ge(1), Le(MOST_VALUES)], ...],
        Len(1, 30),
        doc("Per level, how many groups of the level below make one."),
        Example([2, 2]),
    ]


@dataclass(frozen=True)
class MaskingDefinition:
    """One character more masked per level."""

    kind: ClassVar[str] = "masking"

    leaves: LeafSource
    side: Annotated[Side, doc("Where masking begins.")] = "right"
    char: Annotated[str, Len(1, 1), doc("Masks."), Example("*")] = "*"
    pad: Annotated[Side, doc("Where shorter values are filled up.")] = "right"


@dataclass(frozen=True)
class DatesDefinition:
    """ISO dates truncated to the levels given, finest first."""

    kind: ClassVar[str] = "dates"

    leaves: LeafSource
    levels: Annotated[tuple[Unit, ...], Len(1, 5), doc("Levels."), Example(["day", "month", "year"])]


@dataclass(frozen=True)
class FlatDefinition:
    """Every value directly below the top."""

    kind: ClassVar[str] = "flat"

    leaves: LeafSource


MadeOfLeaves = (
    IntervalsDefinition | OrderedGroupsDefinition | MaskingDefinition | DatesDefinition | FlatDefinition
)
HierarchyDefinition = ParentsDefinition | RowsDefinition | MadeOfLeaves

MADE_OF_LEAVES: Final[Mapping[str, type[MadeOfLeaves]]] = {
    own.kind: own
    for own in (
        IntervalsDefinition, OrderedGroupsDefinition, MaskingDefinition, DatesDefinition, FlatDefinition,
    )
}  # fmt: skip
"""Kind of definition → its type, of those that build upon leaves."""

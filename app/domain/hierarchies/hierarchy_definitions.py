"""The ways to define a hierarchy, each described once: bodies are derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.catalogue.catalogue_types import ColumnName, DecimalText, Example, LabelText, UploadRef
from app.domain.hierarchies.cell_formats import CellFormat
from app.domain.hierarchies.code_tables.postcodes import Country
from app.domain.hierarchies.code_tables.vocabularies import Language, VocabularyName

MOST_VALUES: Final = 1_000_000
"""Values in one list of a definition; the size of a body bounds them before that."""

Labels = Annotated[tuple[LabelText, ...], Len(1, 100)]
Side = Literal["left", "right"]
Unit = Literal["second", "minute", "hour", "day", "month", "quarter", "year", "decade"]
DiagnosisSystem = Literal["icd-10", "icd-9-cm"]

Others = Annotated[
    LabelText | None,
    doc("What values that are no such codes are put below; null: they are refused."),
    Example("other"),
]


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
    format: Annotated[
        CellFormat | None,
        doc(
            "How its cells write dates or numbers, as a dataset's attribute declares it: the leaves are "
            "what they mean, and cells that are not written so are left out. Null: the leaves are the cells."
        ),
    ] = None


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
    """ISO dates, or times of days, truncated to the levels given, finest first; finer ones stand below."""

    kind: ClassVar[str] = "dates"

    leaves: LeafSource
    levels: Annotated[tuple[Unit, ...], Len(1, 8), doc("Levels."), Example(["day", "month", "year"])]


@dataclass(frozen=True)
class FlatDefinition:
    """Every value directly below the top."""

    kind: ClassVar[str] = "flat"

    leaves: LeafSource


@dataclass(frozen=True)
class FreeBoundsDefinition:
    """Numbers cut at free bounds: below the first, from each to the next, the last or more."""

    kind: ClassVar[str] = "bounds"

    leaves: LeafSource
    bounds: Annotated[
        tuple[Annotated[tuple[DecimalText, ...], Len(1, 1_000)], ...],
        Len(1, 30),
        doc("Per level, ascending bounds, some of those of the level below."),
        Example([["18", "30", "65", "90"], ["18", "65"]]),
    ]
    labels: Annotated[
        Annotated[tuple[Annotated[tuple[LabelText, ...], Len(2, 1_001)], ...], Len(1, 30)] | None,
        doc("Per level, a label for each part: one more than bounds; null: `[18, 30[` and so on."),
        Example([["minor", "18-29", "30-64", "65-89", "90 or more"], ["minor", "working age", "senior"]]),
    ] = None


@dataclass(frozen=True)
class CodePrefixesDefinition:
    """Codes below their first characters: occupations and industries by digits, and the like."""

    kind: ClassVar[str] = "code_prefixes"

    leaves: LeafSource
    lengths: Annotated[
        tuple[Annotated[int, Ge(1), Le(100)], ...],
        Len(1, 30),
        doc("Per level, how many characters are left, descending; a shorter code stays as it is."),
        Example([3, 2, 1]),
    ]


@dataclass(frozen=True)
class PostcodesDefinition:
    """Postcodes below the areas that their country's begin with: 10115 → 101 → 10 → 1."""

    kind: ClassVar[str] = "postcodes"

    leaves: LeafSource
    country: Annotated[Country, doc("Whose postcodes they are, by ISO 3166-1."), Example("DE")]
    others: Others = None


@dataclass(frozen=True)
class DiagnosesDefinition:
    """Codes of diagnoses below category, block and chapter: I21.4 → I21 → I20-I25 → IX I00-I99."""

    kind: ClassVar[str] = "diagnoses"

    leaves: LeafSource
    system: Annotated[
        DiagnosisSystem, doc("ICD-10 of the WHO, or ICD-9-CM, which has no blocks here."), Example("icd-10")
    ] = "icd-10"
    others: Others = None


@dataclass(frozen=True)
class CountriesDefinition:
    """Countries, by ISO 3166-1 code or English name, below sub-region and region of the United Nations."""

    kind: ClassVar[str] = "countries"

    leaves: LeafSource
    others: Others = None


@dataclass(frozen=True)
class UsStatesDefinition:
    """States of the United States, by code or name, below division and region of the Census Bureau."""

    kind: ClassVar[str] = "us_states"

    leaves: LeafSource
    others: Others = None


@dataclass(frozen=True)
class TimesDefinition:
    """Times of day, 14:35 or 14:35:10, below minute, hour and part of the day."""

    kind: ClassVar[str] = "times"

    leaves: LeafSource
    others: Others = None


@dataclass(frozen=True)
class VocabularyDefinition:
    """Values that tables often have, such as levels of education, below the groups of a vocabulary."""

    kind: ClassVar[str] = "vocabulary"

    leaves: LeafSource
    vocabulary: Annotated[VocabularyName, doc("Which of them."), Example("education")]
    language: Annotated[Language, doc("Of the values and of the groups."), Example("en")] = "en"
    others: Others = None


@dataclass(frozen=True)
class RareValuesDefinition:
    """Values of an upload's column, the rare ones below one label."""

    kind: ClassVar[str] = "rare_values"

    leaves: LeafSource
    at_least: Annotated[
        int, Ge(2), Le(MOST_VALUES), doc("Rows that a value needs to be kept on level 1."), Example(10)
    ]
    other: Annotated[LabelText, doc("What the rare values become."), Example("other")] = "other"


Coded = (
    PostcodesDefinition
    | DiagnosesDefinition
    | CountriesDefinition
    | UsStatesDefinition
    | TimesDefinition
    | VocabularyDefinition
)
"""Definitions that know the structure of their values."""

MadeOfLeaves = (
    IntervalsDefinition
    | FreeBoundsDefinition
    | OrderedGroupsDefinition
    | MaskingDefinition
    | CodePrefixesDefinition
    | DatesDefinition
    | FlatDefinition
    | RareValuesDefinition
    | Coded
)
HierarchyDefinition = ParentsDefinition | RowsDefinition | MadeOfLeaves

MADE_OF_LEAVES: Final[Mapping[str, type[MadeOfLeaves]]] = {
    own.kind: own
    for own in (
        IntervalsDefinition, OrderedGroupsDefinition, MaskingDefinition, DatesDefinition, FlatDefinition,
        FreeBoundsDefinition, CodePrefixesDefinition, PostcodesDefinition, DiagnosesDefinition,
        CountriesDefinition, UsStatesDefinition, TimesDefinition, VocabularyDefinition, RareValuesDefinition,
    )
}  # fmt: skip
"""Kind of definition → its type, of those that build upon leaves."""

"""What entries of all catalogues say of themselves, and the types by which they name what others hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, NewType

from annotated_types import Len, MaxLen

Guarantee = Literal["exact", "bound", "statistical", "heuristic"]
"""What a result is worth: exact, a proven bound, right up to a stated standard error, or a best effort."""

Holds = Literal["yes", "no", "assumed"]


@dataclass(frozen=True)
class Hypothesis:
    """What a claim rests on, whether it holds, and why."""

    id: str
    holds: Holds
    reason: str


QueryLanguage = Literal["datalog", "sql"]
SqlDialect = Literal["postgres"]
"""The dialects of SQL whose comparisons are known."""

Need = Literal["rule", "dictionary", "sensitivity", "comparable_ids", "trees"]

Reads = Literal[
    "records", "classes", "matrix", "matrix_and_prior", "retention", "samples", "rows", "groups", "table"
]  # fmt: skip
"""As what a measure can read a release: rows of which it is known whose record each is, as under a rule; how
many rows have the same quasi-identifiers; the matrix by which a mechanism replaced values, alone or with the
published shares of the values; the one probability with which all values were kept, or that with the copies
of samples; rows of which nobody knows whose they are; that probability, with the groups that values were
drawn for; or any drawn rows, compared as a synthetic table with the dataset that they were drawn of. One of
them is enough."""

DatasetRef = NewType("DatasetRef", str)
DictionaryRef = NewType("DictionaryRef", str)
RuleRef = NewType("RuleRef", str)
UploadRef = NewType("UploadRef", str)
CellValue = NewType("CellValue", str)
"""A value of some record's cell in a result: shown only to those who may read the data."""
RowInQuestion = NewType("RowInQuestion", int)
"""A record that a question singles out by its row: asked only by those who may read the data."""


@dataclass(frozen=True)
class AddedLater:
    """Marks a field that earlier versions did not have: documents leave it out where it has its default."""


ADDED_LATER: Final = AddedLater()


@dataclass(frozen=True)
class DictionaryIf:
    """Marks a parameter with which a dictionary is needed if it has some value."""

    value: object


@dataclass(frozen=True)
class Example:
    """Marks a field with a value that documentation shows of it."""

    value: object


@dataclass(frozen=True)
class Column:
    """Marks a text that names a column."""


@dataclass(frozen=True)
class Label:
    """Marks a text that may be empty: a value, or what is looked up by its name."""


@dataclass(frozen=True)
class Decimal:
    """Marks a text that is a decimal number."""


ColumnName = Annotated[str, Len(1, 1_000), Column()]
LabelText = Annotated[str, MaxLen(1_000), Label()]
DecimalText = Annotated[str, Decimal()]

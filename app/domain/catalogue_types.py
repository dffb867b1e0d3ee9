"""What entries of all catalogues say of themselves, and the types by which they name what others hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NewType

Guarantee = Literal["exact", "bound", "statistical", "heuristic"]
"""What a result is worth: exact, an upper bound, right up to a stated standard error, or a best effort."""

Need = Literal["rule", "dictionary", "sensitivity", "comparable_ids", "trees"]

DatasetRef = NewType("DatasetRef", str)
DictionaryRef = NewType("DictionaryRef", str)
RuleRef = NewType("RuleRef", str)
CellValue = NewType("CellValue", str)
"""A value of some record's cell in a result: shown only to those who may read the data."""
ProbedRow = NewType("ProbedRow", int)
"""A record that a question singles out by its row: asked only by those who may read the data."""


@dataclass(frozen=True)
class AddedLater:
    """Marks a field that earlier versions did not have: documents leave it out where it has its default."""


ADDED_LATER: Final = AddedLater()

"""A requirement that a risk is a proven upper bound of the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from app.domain.policies.condition import Condition, RestsOnAssumptions, Word
from app.domain.policies.findings import Checked


@dataclass(frozen=True)
class BoundCondition(Condition):
    """The risk under the dictionary is a proven upper bound of that under the attacker's own."""

    kind: ClassVar[str] = "bound"
    of_whole = "The bound is about all records together."
    is_scored = True
    quantity = "whether the risk is an upper bound"
    dictionary: Word
    """Slot of the dictionary."""
    may_rest_on_assumptions: RestsOnAssumptions = False

    def check(self, checked: Checked) -> None:
        """Note a slot that there is not."""
        checked.slot(self.dictionary, f"{checked.at}/dictionary")

    def as_strict_as(self, other: Self) -> bool:
        """Whether it rests on no more, under the same dictionary."""
        may_rest = other.may_rest_on_assumptions or not self.may_rest_on_assumptions
        return self.dictionary == other.dictionary and may_rest

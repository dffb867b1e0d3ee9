"""A requirement on what all differentially private releases of a table have spent together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from annotated_types import Ge, Le, Lt

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import joined
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.policies.condition import Condition, RestsOnAssumptions
from app.domain.policies.findings import Checked
from app.domain.policies.guarantee_condition import WEAK, GuaranteeCondition, note_weak
from app.domain.policies.reading import Readable, Reading


@dataclass(frozen=True)
class BudgetCondition(Condition):
    """What all differentially private releases of the table have spent, this one included."""

    kind: ClassVar[str] = "privacy_budget"
    is_certificate: ClassVar[bool] = True
    reads_ledger: ClassVar[bool] = True
    of_whole = "A budget is of the whole table."
    quantity = "whether all releases of the table together are within the limits"
    epsilon: Annotated[float, Ge(0.0001), Le(1000), Example(2)]
    """Most ε of all of them together, the decimal that it is written as."""
    delta: Annotated[float, Ge(0), Lt(1), Example(0.00001)]
    """Most δ of all of them together."""
    may_rest_on_assumptions: RestsOnAssumptions = False

    def check(self, checked: Checked) -> None:
        """Note limits that promise little."""
        for name, most in WEAK.items():
            if getattr(self, name) > most:
                note_weak(joined(checked.at, name), name, most, checked.found)
        if not self.may_rest_on_assumptions:
            checked.found.warn(
                f"{checked.at}/may_rest_on_assumptions", "never-passes",
                "What all releases of a table spend together always rests on what nobody can check: that no "
                "other release tells of the same people.",
                "Say may_rest_on_assumptions: true, if that may be taken for granted.",
            )  # fmt: skip

    def as_strict_as(self, other: Self) -> bool:
        """Whether every release that keeps its limits keeps the other ones, too."""
        may_rest = other.may_rest_on_assumptions or not self.may_rest_on_assumptions
        return self.epsilon <= other.epsilon and self.delta <= other.delta and may_rest

    def reading(self, readable: Readable) -> Reading:
        """That of the guarantee which a release that keeps the limits is sure to have by itself."""
        limits = {name: {"at_most": getattr(self, name)} for name in ("epsilon", "delta")}
        by_itself = GuaranteeCondition(DIFFERENTIAL_PRIVACY, limits, may_rest_on_assumptions=True)
        return by_itself.reading(readable)

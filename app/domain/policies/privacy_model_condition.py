"""A requirement that at most a share of the records fail a privacy model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final, Self, TypeGuard

from app.documents import WithKind
from app.domain.catalogue.catalogue_types import ADDED_LATER, Example
from app.domain.catalogue.meanings import STRICTER_DOWN, Stricter
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import InvalidInput
from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.criterion import Criterion
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.prosecutor_risk import HighestRisk
from app.domain.policies.comparison import model_in_short
from app.domain.policies.condition import Hiding, Parameters, ParametrisedCondition, Share, SlotName
from app.domain.policies.findings import Checked
from app.domain.policies.objectives import criterion_of, marks_of, of_newest_version
from app.domain.policies.reading import (
    NO_COLUMNS,
    NOTHING_READ,
    Readable,
    Reading,
    model_protects,
    values_protected,
)

ASKS_K: Final = frozenset({KAnonymity.kind, AlphaKAnonymity.kind})
"""Privacy models whose k is the least size of classes."""


@dataclass(frozen=True)
class PrivacyModelCondition(ParametrisedCondition):
    """A privacy model that at most a share of the records fail."""

    kind: ClassVar[str] = "privacy_model"
    model: str
    parameters: Annotated[Parameters, WithKind("model"), Example({"kind": "k_anonymity", "k": 5})]
    """The model's `kind` and its parameters, as the objective `min_loss` takes them."""
    failing_share: Share = 0.0
    """Greatest share of records that may fail."""
    dictionary: SlotName = None
    missing: Annotated[Missing, ADDED_LATER] = "own_category"
    """A missing quasi-identifier matches other missing ones (`own_category`), every value
    (`matches_everything`), or the record is to be suppressed (`excluded`): a record that is suppressed for it
    is not counted, one that is released fails. As `min_loss` takes it.
    """
    suppressed: Annotated[Suppressed, ADDED_LATER] = "excluded"
    """Whether only the classes that are released have to meet the model (`excluded`), or the suppressed
    records as one more class as well (`own_block`). As `min_loss` takes it.
    """

    @property
    def typed(self) -> Criterion:
        """The model."""
        return criterion_of(self.model, self.parameters)

    @property
    def meant(self) -> Mapping[str, Any]:
        """A model without a version is of the first."""
        return {"version": 1}

    @property
    def quantity(self) -> str:
        """Of records, which model their classes fail."""
        try:
            return f"in classes that fail {model_in_short(self.typed)}"
        except InvalidInput:
            return f"in classes that fail {self.model.replace('_', ' ')}"

    @property
    def shown_by_fewest_persons(self) -> bool:
        """If fewer persons only ever make classes fail."""
        return self.model in (KAnonymity.kind, HighestRisk.kind)

    @property
    def class_sizes(self) -> Iterable[object]:
        """The model's k."""
        return (self.parameters.get("k"),) if self.model in ASKS_K else ()

    def check(self, checked: Checked) -> None:
        """Note a model that there is not, what it says nothing of, and numbers that ask nothing."""
        found, at = checked.found, checked.at
        checked.check_roles()
        model: Criterion | None = None
        with found.refusals():
            model = criterion_of(self.model, self.parameters, f"{at}/model")
        if model is None:
            checked.slot(self.dictionary, f"{at}/dictionary")
            return
        needs = f"The privacy model {self.model}" if model.needs_population else None
        checked.slot(self.dictionary, f"{at}/dictionary", needs)
        if self.dictionary is not None and needs is None:
            message = f"{self.model} looks at no dictionary."
            found.warn(f"{at}/dictionary", "unused-dictionary", message, "Leave it out.")
        if model.table_wide:
            self._check_table_wide(checked)
        if self.missing == "excluded":
            found.warn(
                f"{at}/missing", "leaves-out",
                "It does not look at records with a missing quasi-identifier: they have to be suppressed.",
                "Leave it out, unless the rule was searched for with this matching.",
            )  # fmt: skip
        if self.failing_share >= 1:
            found.warn(
                f"{at}/failing_share", "always-passes", "All records may fail it.", "Give a share below 1."
            )
        elif self.missing != "excluded" and model.asks_nothing:
            found.warn(
                f"{at}/model", "always-passes", f"Every release meets {self.model} with these numbers.",
                "Ask for more, or leave the requirement out.",
            )  # fmt: skip

    def _check_table_wide(self, checked: Checked) -> None:
        if self.failing_share:
            checked.found.error(
                f"{checked.at}/failing_share", "not-applicable",
                f"{self.model} is about all classes together: no single record fails it.", "Leave it out.",
            )  # fmt: skip
        if checked.scope.groups is not None:
            checked.found.error(
                f"{checked.pointer}/scope/groups", "unsupported-scope",
                f"{self.model} is about all classes together and says nothing of groups.",
                "Leave the scope out.",
            )  # fmt: skip

    def pinned(self, *, as_before: bool) -> Self:
        """It with the model's version, and without what is as usual."""
        parameters = self.parameters if as_before else of_newest_version(self.model, self.parameters)
        return replace(self, parameters=parameters).without_usual()

    def without_values(self, hiding: Hiding) -> Self:
        """It without the values that the model names."""
        masked = hiding.model({"kind": self.model, **self.parameters})
        return replace(self, parameters={name: own for name, own in masked.items() if name != "kind"})

    def as_strict_as(self, other: Self) -> bool:
        """Whether every number that is not the other one's is stricter, and all else alike."""
        alike = ("model", "dictionary", "missing", "suppressed")
        if any(getattr(self, name) != getattr(other, name) for name in alike):
            return False
        asked = {**self.parameters_in_full, "failing_share": self.failing_share}
        less = {**other.parameters_in_full, "failing_share": other.failing_share}
        marks = {"failing_share": (STRICTER_DOWN,), **marks_of(self.model)}
        for name in asked.keys() | less.keys():
            one, least = asked.get(name), less.get(name)
            if one == least:
                continue
            if not _is_number(one) or not _is_number(least):
                return False
            if Stricter(float(one) > float(least)) not in marks.get(name, ()):
                return False
        return True

    def reading(self, readable: Readable) -> Reading:
        """What the model reads, if it lets not everybody fail who is alone."""
        model = self.typed
        if not model_protects(model, readable.columns.worst, self.failing_share):
            return NOTHING_READ
        return reading_of_model(model, readable)


def reading_of_model(model: Criterion, readable: Readable) -> Reading:
    """The columns that classes are of, and the one whose values a privacy model protects."""
    # Of a population the attacker knows only what the dictionary says.
    apart = readable.grouped & readable.carried if model.needs_population else readable.grouped
    values = NO_COLUMNS
    if values_protected(model, readable.columns.worst):
        values = readable.columns.named(getattr(model, "attribute", None))
    return Reading(apart | values, apart if model.tells_apart else NO_COLUMNS)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)

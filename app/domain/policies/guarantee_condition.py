"""A requirement on what a mechanism promises of its release."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal, Self

from app.documents import WithKind
from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput, joined
from app.domain.mechanisms.guarantee_models import ATTRIBUTE, DIFFERENTIAL_PRIVACY, LIKENESS, is_worth
from app.domain.models.criteria import CRITERIA
from app.domain.policies.condition import Condition, Parameters, RestsOnAssumptions
from app.domain.policies.findings import Checked, Findings
from app.domain.policies.guarantee_bounds import GuaranteeBounds, bounds_of
from app.domain.policies.objectives import criterion_of
from app.domain.policies.reading import NOTHING_READ, Readable, Reading, WorstCase, failing_records
from app.domain.policies.thresholds import check_threshold
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE

PromisedStatus = Literal["certified", "as_published", "heuristic"]

WEAK: Final = {"epsilon": 3.0, "delta": 1e-3}
"""Above these numbers differential privacy promises little."""


@dataclass(frozen=True)
class GuaranteeCondition(Condition):
    """What a mechanism promises of its release, as far as it stands."""

    kind: ClassVar[str] = "guarantee"
    is_certificate: ClassVar[bool] = True
    of_whole = "A guarantee is of the whole release."
    quantity = "whether such a guarantee stands"
    model: str
    parameters: Annotated[Parameters, WithKind("model"), Example({"kind": LIKENESS, "beta": {"at_most": 2}})]
    """The privacy model's `kind`, and what is asked of the parameters that guarantees state: bounds of a
    number by the comparisons of thresholds, the least of a choice, and the `attribute` that it is about (left
    out: the only sensitive one).
    """
    status: PromisedStatus = "certified"
    """The least that it must be worth once every hypothesis that is known to fail is counted."""
    may_rest_on_assumptions: RestsOnAssumptions = False

    @property
    def bounds(self) -> GuaranteeBounds:
        """What it asks of the parameters; InvalidInput names what is unknown or written otherwise."""
        return bounds_of(self.model, self.parameters)

    def check(self, checked: Checked) -> None:
        """Note bounds that nothing or everything keeps, and an attribute that is not sensitive."""
        found, at = checked.found, checked.at
        bounds: GuaranteeBounds | None = None
        with found.refusals():
            bounds = bounds_of(self.model, self.parameters, f"{at}/model")
        if bounds is None:
            return
        _check_numbers(bounds, at, found)
        _check_attribute(checked, bounds, f"{at}/model/{ATTRIBUTE}")
        model = bounds.model
        for name, most in WEAK.items() if self.model == DIFFERENTIAL_PRIVACY else ():
            # A number that is missing asks for no privacy at all.
            if bounds.interval(name).greatest > most * (1 + FEASIBILITY_TOLERANCE):
                note_weak(joined(f"{at}/model", name), name, most, found)
        if model.always_assumed and not self.may_rest_on_assumptions:
            found.warn(
                f"{at}/may_rest_on_assumptions", "never-passes",
                f"Every guarantee of {model.name} rests on what nobody can check: "
                f"{', '.join(model.always_assumed)}.",
                "Say may_rest_on_assumptions: true, if these may be taken for granted.",
            )  # fmt: skip

    def pinned(self, *, as_before: bool) -> Self:
        """It with its bounds written in one way."""
        with contextlib.suppress(InvalidInput):
            return replace(self, parameters=self.bounds.document())
        return self

    def as_strict_as(self, other: Self) -> bool:
        """Whether every release that keeps it is sure to keep the other one.

        Both ask for some guarantee: the one that keeps this one keeps the other one then.
        """
        may_rest = other.may_rest_on_assumptions or not self.may_rest_on_assumptions
        try:
            return self.bounds.within(other.bounds) and is_worth(self.status, other.status) and may_rest
        except InvalidInput:
            return False

    def reading(self, readable: Readable) -> Reading:
        """The attribute whose values were drawn, of others nothing is promised; or whole records."""
        columns = readable.columns
        if not self._protects(columns.worst):
            return NOTHING_READ
        bounds = self.bounds
        about = columns.named(bounds.attribute) if bounds.model.is_of_one_attribute else columns.disclosed
        return Reading(about, not_their_own=about)

    def _protects(self, worst: WorstCase | None) -> bool:
        """Whether records that are all alone would not keep the least that the requirement asks for.

        A guarantee of a model that is no criterion of classes protects if some of its numbers, or all where
        none bounds anything alone, is bounded by less than would single out one record of all. InvalidInput
        for a requirement that cannot be understood.
        """
        bounds = self.bounds
        if not bounds.model.is_of_single_records:
            return False
        least = bounds.loosest()
        if self.model not in {own.kind for own in CRITERIA}:
            records = math.inf if worst is None else max(2, worst.alone.table_records())
            below = [least[name] < of(records) for name, of in bounds.model.undone.items()]
            return all(below) if below and bounds.model.needs_all else any(below)
        model = criterion_of(self.model, least)
        if model.asks_nothing:
            return False
        return worst is None or failing_records(model, worst) != 0


def _check_numbers(bounds: GuaranteeBounds, pointer: str, found: Findings) -> None:
    model = bounds.model
    for own in bounds.numbers:
        at = joined(f"{pointer}/model", own.parameter)
        noted = Findings()
        check_threshold(noted, at, model.numbers[own.parameter], own, {})
        lint = noted.lint()
        for note, faults in ((found.error, lint.errors), (found.warn, lint.warnings)):
            for fault in faults:
                note(f"{at}/{own.comparison}", fault.code, fault.message, fault.remedy)
    for name, asked in (bounds.choices or {}).items():
        if asked == model.choices[name][-1]:
            found.warn(
                joined(f"{pointer}/model", name), "always-passes",
                f"Every guarantee has at least this {name}.",
                "Ask for more, or leave it out.",
            )  # fmt: skip
    for name in dict.fromkeys(own.parameter for own in bounds.numbers):
        if bounds.interval(name).is_empty:
            found.error(
                joined(f"{pointer}/model", name), "never-passes", f"No {name} keeps all of these bounds.",
                "Leave one of them out.",
            )  # fmt: skip


def note_weak(place: str, name: str, most: float, found: Findings) -> None:
    """Note a limit that promises little."""
    found.warn(
        place, "weak-guarantee", f"A guarantee with a {name} above {most:g} passes, which promises little.",
        f"Ask for a {name} of at most {most:g}, or less.",
    )  # fmt: skip


def _check_attribute(checked: Checked, bounds: GuaranteeBounds, pointer: str) -> None:
    found, schema, name = checked.found, checked.policy.schema, bounds.attribute
    if schema is None or schema.is_draft:
        return
    sensitive = [attribute for attribute, role in schema.attributes.items() if role == "sensitive"]
    if name is not None and name not in sensitive:
        found.error(
            pointer, "wrong-role", f"By the policy's schema {name!r} is no sensitive attribute.",
            f"Name one of: {', '.join(sensitive)}." if sensitive else "Give the attribute its role.",
        )  # fmt: skip
    elif name is None and bounds.model.is_of_one_attribute and len(sensitive) > 1:
        found.error(
            pointer, "missing", "By the policy's schema several attributes are sensitive.",
            f"Name one of: {', '.join(sensitive)}.",
        )  # fmt: skip

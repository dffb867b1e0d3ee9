"""What can be said without data of a requirement on a guarantee, or on the sum of several."""

from __future__ import annotations

from typing import Final

from app.domain.errors import joined
from app.domain.mechanisms.guarantee_models import ATTRIBUTE, DIFFERENTIAL_PRIVACY, GuaranteeModel
from app.domain.policies.findings import Findings
from app.domain.policies.guarantee_bounds import GuaranteeBounds, bounds_of
from app.domain.policies.policy import BudgetCondition, GuaranteeCondition, MeasureCondition, Policy
from app.domain.policies.thresholds import check_threshold
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE

_WEAK: Final = {"epsilon": 3.0, "delta": 1e-3}
"""Above these numbers differential privacy promises little."""


def check_guarantee(policy: Policy, condition: GuaranteeCondition, pointer: str, found: Findings) -> None:
    """Note what is wrong or unusual in a requirement that is at ``pointer``."""
    bounds: GuaranteeBounds | None = None
    with found.refusals():
        bounds = bounds_of(condition, f"{pointer}/model")
    if bounds is None:
        return
    _check_numbers(bounds, pointer, found)
    _check_attribute(policy, bounds, f"{pointer}/model/{ATTRIBUTE}", found)
    model = bounds.model
    if condition.model == DIFFERENTIAL_PRIVACY:
        _check_privacy(bounds, f"{pointer}/model", found)
    if model.always_assumed and not condition.may_rest_on_assumptions:
        found.warn(
            f"{pointer}/may_rest_on_assumptions", "never-passes",
            f"Every guarantee of {model.name} rests on what nobody can check: "
            f"{', '.join(model.always_assumed)}.",
            "Say may_rest_on_assumptions: true, if these may be taken for granted.",
        )  # fmt: skip


def check_budget(condition: BudgetCondition, pointer: str, found: Findings) -> None:
    """Note limits of a budget that promise little."""
    for name, most in _WEAK.items():
        if getattr(condition, name) > most:
            _note_weak(joined(pointer, name), name, most, found)
    if not condition.may_rest_on_assumptions:
        found.warn(
            f"{pointer}/may_rest_on_assumptions", "never-passes",
            "What all releases of a table spend together always rests on what nobody can check: that no "
            "other release tells of the same people.",
            "Say may_rest_on_assumptions: true, if that may be taken for granted.",
        )  # fmt: skip


def _check_numbers(bounds: GuaranteeBounds, pointer: str, found: Findings) -> None:
    model = bounds.model
    for own in bounds.numbers:
        # A bound is a threshold of the number that the guarantee states.
        stated = MeasureCondition(model.name, {}, own.parameter, own.comparison, own.threshold)
        at = joined(f"{pointer}/model", own.parameter)
        noted = Findings()
        check_threshold(noted, at, model.numbers[own.parameter], stated, {})
        _note_at(noted, f"{at}/{own.comparison}", found)
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


def _check_privacy(bounds: GuaranteeBounds, pointer: str, found: Findings) -> None:
    """Note numbers that ask for little privacy, or for none because they are missing."""
    for name, most in _WEAK.items():
        if bounds.interval(name).greatest > most * (1 + FEASIBILITY_TOLERANCE):
            _note_weak(joined(pointer, name), name, most, found)


def _note_weak(place: str, name: str, most: float, found: Findings) -> None:
    found.warn(
        place, "weak-guarantee", f"A guarantee with a {name} above {most:g} passes, which promises little.",
        f"Ask for a {name} of at most {most:g}, or less.",
    )  # fmt: skip


def _note_at(noted: Findings, place: str, found: Findings) -> None:
    """What was noted of a threshold, at the place where policies write it."""
    told = noted.lint()
    for own in told.errors:
        found.error(place, own.code, own.message, own.remedy)
    for own in told.warnings:
        found.warn(place, own.code, own.message, own.remedy)


def _check_attribute(policy: Policy, bounds: GuaranteeBounds, pointer: str, found: Findings) -> None:
    schema, name = policy.schema, bounds.attribute
    if schema is None or schema.is_draft:
        return
    sensitive = [own for own, role in schema.attributes.items() if role == "sensitive"]
    if name is not None and name not in sensitive:
        found.error(
            pointer, "wrong-role", f"By the policy's schema {name!r} is no sensitive attribute.",
            f"Name one of: {', '.join(sensitive)}." if sensitive else "Give the attribute its role.",
        )  # fmt: skip
    elif name is None and _needs_name(bounds.model, sensitive):
        found.error(
            pointer, "missing", "By the policy's schema several attributes are sensitive.",
            f"Name one of: {', '.join(sensitive)}.",
        )  # fmt: skip


def _needs_name(model: GuaranteeModel, sensitive: list[str]) -> bool:
    return model.is_of_one_attribute and len(sensitive) > 1

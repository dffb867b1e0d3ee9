"""What the pages read in a policy's document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.charts.rule_map import Threshold
from app.web.words import as_number, letter, model_name, number, share, words
from privacy_risk import Json

SIGNS: Final = {"at_least": "≥", "at_most": "≤", "above": ">", "below": "<", "equals": "="}
"""Comparisons as people write them."""


def requirements_of(document: Json) -> list[Json]:
    """The requirements of a policy's document, with what each asks as its ``condition``.

    Format 1 calls them criteria, and what each asks its demand.
    """
    if "criteria" in document:
        return [{**one, "condition": one["demand"]} for one in document["criteria"]]
    return [{**one, "condition": one["requirement"]} for one in document["requirements"]]


def thresholds_of(requirements: Sequence[Json], risk: str) -> tuple[list[Threshold], list[Json]]:
    """The requirements that are lines on a map whose risk is ``risk``, and the others."""
    axes = {risk: "risk", "utility_average": "utility"}
    lines: list[Threshold] = []
    elsewhere: list[Json] = []
    for requirement in requirements:
        condition = requirement["condition"]
        axis = axes.get(condition.get("value")) if condition["kind"] == "score" else None
        if axis is None or requirement.get("scope") or isinstance(condition["threshold"], bool):
            elsewhere.append(requirement)
            continue
        value = as_number(condition["threshold"])
        label = (
            f"{requirement['id']}: {axis} {SIGNS[condition['comparison']]} {number(condition['threshold'])}"
        )
        lines.append(Threshold("risk" if axis == "risk" else "utility", value, label))
    return lines, elsewhere


def condition_in_words(condition: Json) -> str:
    """What a requirement asks, in one line."""
    kind = condition["kind"]
    if kind in ("score", "measure"):
        of = f"{named(condition['measure'])}: " if kind == "measure" else ""
        sign = SIGNS.get(condition["comparison"], words(condition["comparison"]))
        return f"{of}{words(condition['value'])} {sign} {number(condition['threshold'])}"
    if kind == "privacy_model":
        failing = condition.get("failing_share", 0)
        said = [named(condition["model"])]
        if failing:
            said.append(f"but for {share(failing, 1)} of the records")
        said += [
            f"{of} {words(condition[name])}"
            for name, of in (("missing", "missing values:"), ("suppressed", "suppressed records:"))
            if name in condition
        ]
        return ", ".join(said)
    if kind == "guarantee":
        return _guarantee_in_words(condition)
    if kind == "privacy_budget":
        limits = f"ε ≤ {number(condition['epsilon'])}, δ ≤ {number(condition['delta'])}"
        return f"all releases of the table together spend {limits}"
    if kind == "perfect_privacy":
        private = "private if keys are unknown to readers," if condition.get("keys") else "private"
        return f"every view is {private} beside {', '.join(own['id'] for own in condition['secrets'])}"
    if kind == "bound":
        return "the risk is a proven upper bound"
    if kind == "optimum":
        return f"no rule is better by more than {number(condition.get('gap', 0))} of the objective"
    return words(kind)


def _guarantee_in_words(condition: Json) -> str:
    """Which guarantee is asked for, with its bounds: ``a guarantee of β-likeness (β ≤ 2), certified``."""
    model = condition["model"]
    asked = [
        f"{letter(name)} {SIGNS[comparison]} {number(threshold)}"
        for name, own in model.items()
        if isinstance(own, dict)
        for comparison, threshold in own.items()
    ]
    asked += [
        f"{letter(name)} = {own}"
        for name, own in model.items()
        if name != "kind" and not isinstance(own, dict)
    ]
    bounds = f" ({', '.join(asked)})" if asked else ""
    worth = words(condition["status"])
    worth = worth if condition["status"] == "certified" else f"{worth} or better"
    rests = ", which may rest on assumptions" if condition["may_rest_on_assumptions"] else ""
    return f"a guarantee of {model_name(model['kind'])}{bounds}, {worth}{rests}"


def named(asked: Json) -> str:
    """A measure or privacy model with its parameters; those that are not shown to this key are left out."""
    given = {name: value for name, value in asked.items() if name != "kind" and value not in (None, [], {})}
    said = ", ".join(f"{letter(name)} = {_told(value)}" for name, value in given.items())
    name = model_name(asked["kind"])
    return f"{name} ({said})" if said else name


def _told(value: object) -> str:
    """A parameter: a number, a text, or several of them."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_told(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_told(inner) for inner in value)
    return number(value)

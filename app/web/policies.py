"""What the pages read in a policy's document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.charts.rule_map import Threshold
from app.client import Json
from app.web.words import as_number, number, words

SIGNS: Final = {"at_least": "≥", "at_most": "≤", "above": ">", "below": "<", "equals": "="}
"""Comparisons as people write them."""


def thresholds_of(criteria: Sequence[Json], risk: str) -> tuple[list[Threshold], list[Json]]:
    """The criteria that are lines on a map whose risk is ``risk``, and the others."""
    axes = {risk: "risk", "utility_average": "utility"}
    lines: list[Threshold] = []
    elsewhere: list[Json] = []
    for criterion in criteria:
        demand = criterion["demand"]
        axis = axes.get(demand.get("value")) if demand["kind"] == "score" else None
        if axis is None or criterion.get("scope") or isinstance(demand["threshold"], bool):
            elsewhere.append(criterion)
            continue
        value = as_number(demand["threshold"])
        label = f"{criterion['id']}: {axis} {SIGNS[demand['comparison']]} {number(demand['threshold'])}"
        lines.append(Threshold("risk" if axis == "risk" else "utility", value, label))
    return lines, elsewhere


def demand_in_words(demand: Json) -> str:
    """What a criterion demands, in one line."""
    kind = demand["kind"]
    if kind in ("score", "measure"):
        of = f"{words(demand['measure']['kind'])}: " if kind == "measure" else ""
        sign = SIGNS.get(demand["comparison"], words(demand["comparison"]))
        return f"{of}{words(demand['value'])} {sign} {number(demand['threshold'])}"
    if kind == "privacy_model":
        model = {name: value for name, value in demand["model"].items() if name != "kind"}
        said = ", ".join(f"{name} = {number(value)}" for name, value in model.items())
        return f"{words(demand['model']['kind'])} ({said})" if said else words(demand["model"]["kind"])
    if kind == "bound":
        return "the risk is a proven upper bound"
    if kind == "optimum":
        return f"no rule is better by more than {number(demand.get('gap', 0))} of the objective"
    return words(kind)

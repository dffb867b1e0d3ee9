"""What the pages read in a policy's document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.charts.rule_map import Threshold
from app.web.words import as_number, number, words
from privacy_risk import Json

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
        of = f"{named(demand['measure'])}: " if kind == "measure" else ""
        sign = SIGNS.get(demand["comparison"], words(demand["comparison"]))
        return f"{of}{words(demand['value'])} {sign} {number(demand['threshold'])}"
    if kind == "privacy_model":
        share = demand.get("failing_share", 0)
        said = [named(demand["model"])]
        if share:
            said.append(f"but for {number(100 * share)} % of the records")
        said += [
            f"{of} {words(demand[name])}"
            for name, of in (("missing", "missing values:"), ("suppressed", "withheld records:"))
            if name in demand
        ]
        return ", ".join(said)
    if kind == "bound":
        return "the risk is a proven upper bound"
    if kind == "optimum":
        return f"no rule is better by more than {number(demand.get('gap', 0))} of the objective"
    return words(kind)


def named(asked: Json) -> str:
    """A measure or privacy model with its parameters; those that are not shown to this key are left out."""
    given = {name: value for name, value in asked.items() if name != "kind" and value not in (None, [], {})}
    said = ", ".join(f"{name} = {_told(value)}" for name, value in given.items())
    return f"{words(asked['kind'])} ({said})" if said else words(asked["kind"])


def _told(value: object) -> str:
    """A parameter: a number, a text, or several of them."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_told(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_told(inner) for inner in value)
    return number(value)

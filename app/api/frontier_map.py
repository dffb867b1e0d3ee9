"""A frontier as a picture."""

from __future__ import annotations

from typing import Final

from app.charts.series import Series, draw_series
from app.services.resources import JsonObject

KINDS: Final = {
    "proven": "no rule is better in both",
    "hull": "no rule is better in both, there may be others between",
    "heuristic": "the best found, with a bound",
}


def draw_frontier(name: str, result: JsonObject) -> str:
    """The points of a frontier's result by utility and risk, each kind a series of its own."""
    points = result["points"]
    whole = _series("the least risk at a utility", points)
    series = [Series(whole.name, whole.x, whole.y, "step")]
    series += [
        _series(f"{kind}: {meaning}", [point for point in points if point["kind"] == kind])
        for kind, meaning in KINDS.items()
        if any(point["kind"] == kind for point in points)
    ]
    shown = f"{len(points)} of {result['n_points']} points" if len(points) < result["n_points"] else ""
    told = "" if result["complete"] else "there may be further points between them"
    return draw_series(
        f"Risk and utility of the best rules: {name}",
        "Utility (mean of the records)",
        "Risk" if result["aggregate"] == "max" else "Risk (mean of the records)",
        series,
        "; ".join(part for part in (shown, told) if part),
    )


def _series(name: str, points: list[JsonObject]) -> Series:
    x = tuple(float(point["utility"]) for point in points)
    return Series(name, x, tuple(float(point["risk"]) for point in points), "points")

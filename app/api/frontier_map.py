"""A frontier as a picture."""

from __future__ import annotations

from typing import Final

from app.charts.series import Mark, Series, draw_series
from app.services.resources import JsonObject

KINDS: Final = {
    "proven": "proven: none is better in both",
    "hull": "hull: others may lie between",
    "heuristic": "heuristic: best found so far",
}
"""Names of the kinds of point, short enough for a legend."""


def draw_frontier(name: str, result: JsonObject) -> str:
    """The points of a frontier's result by utility and risk, each kind a series of its own."""
    # From the greatest utility down: between two points the least risk is that of the one with more utility.
    points = result["points"][::-1]
    series = [_series("least risk at that utility or more", points, "step")]
    series += [
        _series(name_of_kind, [point for point in points if point["kind"] == kind], "points")
        for kind, name_of_kind in KINDS.items()
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


def _series(name: str, points: list[JsonObject], mark: Mark) -> Series:
    x = tuple(float(point["utility"]) for point in points)
    return Series(name, x, tuple(float(point["risk"]) for point in points), mark)

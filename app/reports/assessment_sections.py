"""What the page of an assessment says beyond its document."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from markupsafe import Markup

from app.charts.bars import draw_bars
from app.charts.drawing import Caption
from app.reports.assumptions import assumptions_of
from app.reports.numbers import number, records
from app.reports.verdict_sections import quantiles

Document = dict[str, Any]


def sections(report: Document) -> Document:
    """The values of the template ``assessment.html``."""
    result: Document = report["result"]
    return {
        "result": result,
        "parameters": report["parameters"],
        "risk_picture": quantiles("risk", "Risk of the records", result),
        "counts": _bars(
            result["histogram"]["counts"],
            "counts",
            "Consistent entities of the records",
            "consistent entities of the record",
        ),
        "losses": _bars(
            result["histogram"]["losses"], "losses", "Records by their risk", "risk of the record"
        ),
        "riskiest": _riskiest(result),
        "assumptions": assumptions_of(report),
        "not_covered": _not_covered(report),
    }


def _bars(histogram: Document | None, place: str, title: str, label: str) -> Markup | None:
    if histogram is None:
        return None
    edges, counts = [float(edge) for edge in histogram["edges"]], histogram["records"]
    bins = zip(pairwise(edges), counts, strict=True)
    parts = [f"from {number(low)} to {number(high)}: {records(n)}" for (low, high), n in bins if n]
    if histogram["infinite"]:
        parts.append(f"infinite: {records(histogram['infinite'])}")
    caption = Caption(place, title, "; ".join(parts))
    return Markup(draw_bars(caption, edges, counts, histogram["infinite"], label))  # noqa: S704 - escaped there


def _riskiest(result: Document) -> list[str]:
    """Sentences about the records at greatest risk, by numbers only."""
    said = []
    counts = result["histogram"]["counts"]
    if counts is not None:
        bins = zip(pairwise(counts["edges"]), counts["records"], strict=True)
        found = next(((int(low), int(high) - 1, n) for (low, high), n in bins if n and low >= 1), None)
        if found is not None:
            low, high, n = found
            people = f"{number(low)}" if low == high else f"{number(low)} to {number(high)}"
            said.append(
                f"Hardest to hide: {records(n)} that fit only {people} of the people in the dictionary."
            )
    if result["k_equivalence"] is not None:
        said.append(
            f"The smallest equivalence class has {records(result['k_equivalence'])}; "
            f"the {records(result['n_records'])} make {number(result['classes'])} groups in all."
        )
    if result["infinite"]:
        said.append(
            f"{records(result['infinite'])} of infinite risk: what they could give away is prohibited."
        )
    if result["absent"]:
        said.append(f"{records(result['absent'])} fit nobody in the dictionary.")
    return said


def _not_covered(report: Document) -> list[str]:
    result, parameters = report["result"], report["parameters"]
    said = [
        "Only the attributes that the rule discloses were assessed, nothing that is published beside them.",
        "Attackers with other knowledge than the named dictionary were not assessed.",
        "What earlier or later releases of the same people give away together was not assessed.",
    ]
    if result.get("bound") is None:
        said.append("Whether this risk bounds that under the attacker's true knowledge was not asked.")
    if result.get("add_self_risk_average") is None and result["absent"]:
        said.append(
            "How the risk would be if every record's own person were known to the attacker cannot be said."
        )
    if parameters.get("failure") is None:
        said.append("The harm of wrong guesses was not assessed: no profile of it was named.")
    return said

"""An assessment: the risk and the use of one rule, in words, numbers and pictures."""

from __future__ import annotations

import asyncio
from typing import Final

from markupsafe import Markup

from app.charts.bars import draw_bars
from app.charts.drawing import Caption
from app.web.rules import ladder, rule_to_preview, sample_of
from app.web.visits import Page, Visit, found
from app.web.words import as_number, heights_of
from privacy_risk import Json

VIEWS: Final = {
    "known": "The attacker has exactly this dictionary.",
    "estimated": "The attacker has something like this dictionary; the numbers are as good as the estimate.",
    "bayes": "The attacker has one of several dictionaries, each with its probability.",
    "worst_case": "The attacker has whichever of several dictionaries is worst for the table.",
    "worst_case_per_record": "The attacker has whichever of several dictionaries is worst for each record.",
}
"""What is assumed of the attacker, in words."""


async def assessment(visit: Visit) -> Page:
    """One assessed rule."""
    document = (await visit.client.assessments.get(visit.ref)).document
    dataset, sample = await asyncio.gather(
        found(visit.client.datasets.get(document["dataset"])),
        sample_of(visit, document["dataset"], rule_to_preview(document["rule"])),
    )
    heights = {} if dataset is None else heights_of(dataset.document)
    run = None if document["result"] else await found(visit.client.runs.get(document["name"]))
    return Page(
        "assessment.html",
        {
            "assessment": document,
            "rule": document["rule"],
            "ladder": ladder(document["rule"].get("levels"), heights),
            "greatest_utility": sum(heights.values()) if document["utility"] == "depth_sum" else None,
            "view": VIEWS[document["attacker_view"]],
            "sample": sample,
            "run": None if run is None else run.document,
            **score(document["result"]),
        },
    )


def score(result: Json | None) -> Json:
    """What a score's part of a page shows; ``result`` is None while a run is at work on it."""
    if result is None:
        return {"result": None, "losses": None, "counts": None}
    histograms = result["histogram"]
    losses = _bars("losses", "Records by expected harm", "expected harm of a record", histograms["losses"])
    counts = _bars(
        "counts",
        "Records by their number of consistent entities",
        "consistent entities of a record",
        histograms.get("counts"),
    )
    return {"result": result, "losses": losses, "counts": counts}


def _bars(id: str, title: str, label: str, histogram: Json | None) -> Json | None:
    if histogram is None:
        return None
    edges = [as_number(edge) for edge in histogram["edges"]]
    rows = [
        {"low": low, "high": high, "records": records}
        for low, high, records in zip(edges, edges[1:], histogram["records"], strict=False)
    ]
    beyond = histogram["infinite"]
    caption = Caption(id, title, f"A bar per range of the {label}; the table below has the numbers.")
    drawn = draw_bars(caption, edges, histogram["records"], beyond, label)
    return {"title": title, "label": label, "rows": rows, "beyond": beyond, "picture": Markup(drawn)}  # noqa: S704

"""A stored rule: what it shows of whom, and what was found out about it."""

from __future__ import annotations

import asyncio

from app.web.data import of_dataset
from app.web.samples import sample_of
from app.web.visits import Page, Visit
from app.web.words import heights_of
from privacy_risk import Json


async def rule(visit: Visit) -> Page:
    """A rule, its scores, and some records before and after it."""
    document = (await visit.client.rules.get(visit.ref)).document
    dataset, assessments, sample = await asyncio.gather(
        visit.client.datasets.get(document["dataset"]),
        of_dataset(visit, "assessments", document["dataset"]),
        sample_of(visit, document["dataset"], document["name"]),
    )
    heights = heights_of(dataset.document)
    return Page(
        "rule.html",
        {
            "rule": document,
            "dataset": document["dataset"],
            "ladder": ladder(document["levels"], heights),
            "assessments": [one for one in assessments if one["rule"].get("name") == document["name"]],
            "sample": sample,
        },
    )


def ladder(levels: Json | None, heights: Json) -> list[Json] | None:
    """Attribute by attribute the level out of how many; None for rules without levels of the table."""
    if levels is None:
        return None
    return [
        {"attribute": name, "level": levels.get(name, 0), "height": height}
        for name, height in heights.items()
    ]

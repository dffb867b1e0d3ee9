"""A stored rule: what it shows of whom, what was found out about it, and records before and after it."""

from __future__ import annotations

import asyncio

from app.web.data import of_dataset
from app.web.visits import Page, Visit, found
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


RECORDS = 12
"""Records of a sample."""

WINDOW = 16 * RECORDS
"""Records that are read for one, of which those that are kept are shown first."""


_BESIDE_LEVELS = (
    "suppress_classes_below",
    "meaning",
    "suppress_classes_failing",
    "dictionary",
    "missing",
    "suppressed",
    "suppression_order",
)


async def sample_of(visit: Visit, dataset: str, rule: str | Json | None) -> Json | None:
    """The records from the query's ``first`` row on, with a cell per column; None if the key may see none.

    A cell is before, after, and how far it was generalised in words.
    """
    if rule is None or not visit.reads_data:
        return None
    first = visit.number("first", 1, least=1)
    start = first - (first - 1) % WINDOW
    body = {"dataset": dataset, "rule": rule, "first": start, "limit": WINDOW}
    preview: Json | None = await found(visit.client.rules.preview(body))
    if preview is None:
        return None
    records = [
        {
            "row": record["row"],
            "cells": [
                {"before": before, "after": after, "mark": _mark(before, after, steps)}
                for before, after, steps in zip(
                    record["before"], record["after"], record["steps"], strict=True
                )
            ],
        }
        for record in sorted(preview["records"], key=_is_suppressed)[first - start :][:RECORDS]
    ]
    last = first + len(records) - 1
    return {
        "columns": preview["columns"],
        "records": records,
        "total": preview["total_rows"],
        "first": first,
        "last": last,
        "previous": max(first - RECORDS, 1) if first > 1 else None,
        "next": last + 1 if last < preview["total_rows"] else None,
    }


def _is_suppressed(record: Json) -> bool:
    return not any(cell is not None for cell in record["after"])


def rule_to_preview(rule: Json) -> str | Json | None:
    """What a preview takes for the rule of an assessment or search, as summaries show it."""
    if rule.get("name"):
        return str(rule["name"])
    if rule.get("levels") is None:
        return None
    asked = {"kind": "table_level", "levels": rule["levels"]}
    for key in _BESIDE_LEVELS:
        if rule.get(key) is not None:
            asked[key] = rule[key]
    if "suppress_classes_below" in asked:
        # What was stored before there was a second meaning says none.
        asked.setdefault("meaning", 1)
    return asked


def _mark(before: str | None, after: str | None, steps: int | None) -> Json:
    """A class for the colour and a word that says the same."""
    if before is None:
        return {"kind": "missing", "word": "missing"}
    if after is None:
        return {"kind": "suppressed", "word": "suppressed"}
    if steps == 0:
        return {"kind": "kept", "word": "as it is"}
    if steps is None:
        return {"kind": "raised-1", "word": "generalised"}
    return {"kind": f"raised-{min(steps, 3)}", "word": f"{steps} up"}

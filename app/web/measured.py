"""Measurements that pages ask for: what was measured once is only read again."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from app.web.visits import Visit
from privacy_risk import Json, ProblemError
from privacy_risk.loading import content_name

_LONGEST_SECONDS: Final = 10
"""So long a page waits for a measurement that is too much for a direct answer."""


async def measured(visit: Visit, body: Json, content: str) -> Json | None:
    """The result; None if the key may not measure, if nothing can be measured so, or if it takes long.

    ``content`` is the hash of what is measured: a measurement's name is made of it, as names may be used
    again for something else.
    """
    named = {"name": content_name("measured", {**body, "content": content}), **body}
    try:
        return dict((await visit.client.measurements.create(named)).document["result"])
    except ProblemError as problem:
        if problem.code == "direct-budget-exceeded":
            run = await visit.client.measurements.start_run(named, wait_seconds=_LONGEST_SECONDS)
            return run.result
        if problem.status in (403, 404, 409, 422):
            return None
        raise


_FIGURES: Final = {
    "k": "Fewest records in an equivalence class (k)",
    "unique_share": "Share of the records that are alone in their class",
    "prosecutor.highest": "Highest re-identification probability",
    "prosecutor.average_per_record": "Mean re-identification probability",
    "distinct_l": "Fewest different values of {} in a class (ℓ)",
    "t.equal": "Greatest distance of {} in a class from the whole table (t)",
}
"""Figures of a profile that are compared, with what they are called."""


async def before_and_after(
    visit: Visit, dataset: Json, rule: Json
) -> tuple[list[dict[str, Any]], Json | None]:
    """Rows of figures of the table as it is and under the rule, and what the rule loses by attribute."""
    body, content = {"dataset": dataset["name"]}, f"{dataset['sha256']} {rule['sha256']}"
    ruled = {**body, "rule": rule["name"]}
    before, after, lost = await asyncio.gather(
        measured(visit, {**body, "measure": {"kind": "privacy_profile"}}, dataset["sha256"]),
        measured(visit, {**ruled, "measure": {"kind": "privacy_profile"}}, content),
        measured(visit, {**ruled, "measure": {"kind": "information_loss"}}, content),
    )
    if before is None or after is None:
        return [], lost
    now = {(own["name"], own["attribute"]): own["value"] for own in after["figures"]}
    rows = [
        {
            "title": _FIGURES[own["name"]].format(own["attribute"]),
            "name": own["name"],
            "before": own["value"],
            "after": now.get((own["name"], own["attribute"])),
            "safer": own["safer"],
        }
        for own in before["figures"]
        if own["name"] in _FIGURES
    ]
    return rows, lost

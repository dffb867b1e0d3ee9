"""Measurements that pages ask for: what was measured once is only read again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.web.goal_terms import CLOSENESS, LIKENESS
from app.web.profiles import WHOLE_PROFILE, is_share
from app.web.visits import Visit
from privacy_risk import Json, ProblemError
from privacy_risk.loading import content_name

WHOLE_LOSS: Final = {"kind": "information_loss"}
"""What a rule loses, by attribute."""

_LONGEST_SECONDS: Final = 10
"""So long a page waits for a measurement that is too much for a direct answer."""


async def answered(visit: Visit, body: Json, content: str) -> Json | None:
    """The result; None if it takes long. What the interface refuses is raised.

    ``content`` is the hash of what is measured: a measurement's name is made of it, as names may be used
    again for something else.
    """
    named = {"name": content_name("measured", {**body, "content": content}), **body}
    found = await visit.client.measurements.create(named, wait_seconds=_LONGEST_SECONDS)
    result: Json | None = found.document["result"]
    return result


async def measured(visit: Visit, body: Json, content: str) -> Json | None:
    """The same; None also if the key may not measure, or if nothing can be measured so."""
    try:
        return await answered(visit, body, content)
    except ProblemError as problem:
        if problem.status in (403, 404, 409, 422):
            return None
        raise


_FIGURES: Final = {
    "k": "Fewest records, or persons, in an equivalence class (k)",
    "unique_share": "Share of the records that are alone in their class",
    "prosecutor.highest": "Highest re-identification probability",
    "prosecutor.average_per_record": "Mean re-identification probability",
    "distinct_l": "Fewest different values of {} in a class (ℓ)",
    "t.equal": "Greatest distance of {} in a class from the whole table (t)",
    "beta_enhanced": "Greatest relative gain on a value of {} in a class (β)",
}
"""Figures of a profile that are compared, with what they are called."""

Figures = Mapping[tuple[str, str | None], float | None]


async def before_and_after(
    visit: Visit, dataset: Json, rule: Json, privacy: Sequence[Json]
) -> tuple[list[dict[str, Any]], Json | None]:
    """Rows of figures of the table as it is and under the rule, and what the rule loses by attribute.

    ``privacy`` are the criteria that were asked for, which decide what is looked at and how.
    """
    content = f"{dataset['sha256']} {rule['sha256']}"
    ruled = {"dataset": dataset["name"], "rule": rule["name"]}
    before, after, lost = await asyncio.gather(
        _figures(visit, {"dataset": dataset["name"]}, dataset["sha256"], privacy),
        _figures(visit, ruled, content, privacy),
        measured(visit, {**ruled, "measure": WHOLE_LOSS}, content),
    )
    rows = [
        {
            "title": _FIGURES[name].format(attribute),
            "name": name,
            "before": value,
            "after": after.get((name, attribute)),
            "is_share": is_share(name),
            "safer": "higher" if name in ("k", "distinct_l") else "lower",
        }
        for (name, attribute), value in before.items()
        if after
    ]
    return rows, lost


async def _figures(visit: Visit, body: Json, content: str, privacy: Sequence[Json]) -> Figures:
    """The figures of one form of the table; none if they cannot be had."""
    kinds = {own["kind"] for own in privacy}
    profile = await measured(visit, {**body, "measure": WHOLE_PROFILE}, content)
    found = {
        (own["name"], own["attribute"]): own["value"]
        for own in (profile or {}).get("figures", ())
        if own["name"] in _FIGURES
        and (own["name"] != "t.equal" or CLOSENESS in kinds)
        and (own["name"] != "beta_enhanced" or LIKENESS in kinds)
    }
    if found and any(own.get("others") == "apart" for own in privacy):
        # The profile judges sensitive attributes together, and these are asked for one by one.
        diverse = {**body, "measure": {"kind": "l_diversity", "others": "apart"}}
        for own in (await measured(visit, diverse, content) or {}).get("attributes", ()):
            found["distinct_l", own["attribute"]] = own["distinct"]["value"]
    return found

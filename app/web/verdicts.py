"""Verdicts and the policies they are passed under."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from app.web.policies import condition_in_words, requirements_of
from app.web.visits import Page, Visit, found
from app.web.words import number
from privacy_risk import Json

SAID = {
    "pass": ("Pass", "Every criterion that can block the release is met or waived."),
    "fail": (
        "Fail",
        "At least one criterion that blocks the release is not met, or a released column is not covered.",
    ),
    "error": (
        "Error",
        "At least one criterion that blocks the release could not be computed, or nobody answers for the "
        "roles of the columns yet: this is not a pass.",
    ),
}
"""What a verdict means."""

MOST_PAIRS: Final = 200
"""Of views, as many as a page shows."""

OUTCOMES = {
    "passed": "met",
    "failed": "not met",
    "waived": "waived",
    "not_computable": "not computable",
}
"""What became of a criterion, in words."""


async def evaluation(visit: Visit) -> Page:
    """A verdict: what decided it, by how much, what would change it, and the evidence."""
    document = (await visit.client.evaluations.get(visit.ref)).document
    result = document.get("result")
    run = None if result else await found(visit.client.runs.get(document["name"]))
    criteria: list[Json] = [
        {
            **one,
            "word": OUTCOMES[one["outcome"]],
            "required": condition_in_words(one["demand"]),
            "found": found_in_words(one),
        }
        for one in ([] if result is None else result["criteria"])
    ]
    return Page(
        "verdict.html",
        {
            "evaluation": document,
            "result": result,
            "run": None if run is None else run.document,
            "said": None if result is None else SAID[result["verdict"]],
            "judged": "" if result is None else _judged(result["subject"]),
            "criteria": criteria,
            "open_pairs": [
                pair
                for one in criteria
                for pair in one.get("pairs") or ()
                if pair["verdict"] in ("DISCLOSES", "UNKNOWN")
            ][:MOST_PAIRS],
            "questions": [] if result is None else await _questions(visit, result["policy"], criteria),
            "changes": [] if result is None else [_change(one) for one in result.get("changes") or ()],
            "evidence": document.get("evidence"),
        },
    )


def _judged(subject: Json) -> str:
    """What was judged: the dataset by its name, or how many views."""
    views = subject.get("views")
    if views is None:
        return str(subject["dataset"])
    return f"{len(views):,} view{'' if len(views) == 1 else 's'}"


async def _questions(visit: Visit, policy: Json, criteria: list[Json]) -> list[Json]:
    """The questions of the policy's outline, each with the criteria that answer it."""
    stored = await found(visit.client.policies.get(f"{policy['name']}@{policy['version']}"))
    outline = [] if stored is None else stored.document["document"].get("outline") or []
    by_id = {one["id"]: one for one in criteria}
    return [
        {**own, "criteria": [by_id[id_] for id_ in own["requirements"] if id_ in by_id]} for own in outline
    ]


def found_in_words(criterion: Json) -> str:
    """The value of a criterion: a share of records is said in records."""
    value, of = criterion.get("value"), (criterion.get("quantity") or {}).get("of_records")
    if value is None or of is None:
        return number(value)
    return f"{round(float(value) * of):,} of {of:,}"


def _change(change: Json) -> Json:
    levels = change.get("levels") or {}
    raised = ", ".join(f"{name} to level {level}" for name, level in levels.items() if level)
    return {**change, "raised": raised or "no attribute"}


async def evidence(visit: Visit) -> Response:
    """The signed evidence of a verdict, as a file."""
    content = await visit.client.evaluations.evidence(visit.ref)
    return _file(visit, content, "evidence.json", "application/vnd.dsse.envelope+json")


async def report(visit: Visit) -> Response:
    """The report of a verdict for people, as a file that needs nothing beside it."""
    content = await visit.client.evaluations.report(visit.ref)
    return _file(visit, content.encode(), "report.html", "text/html")


def _file(visit: Visit, content: bytes, name: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{visit.ref}-{name}"'
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


async def policy(visit: Visit) -> Page:
    """A policy: its requirements with their reasons, and what it assumes about the attacker."""
    document = (await visit.client.policies.get(visit.ref)).document
    inner = document["document"]
    requirements = [
        {**one, "required": condition_in_words(one["condition"])} for one in requirements_of(inner)
    ]
    dataset, rule = visit.asked("dataset") or "DATASET", visit.asked("rule") or "RULE"
    server = str(visit.request.base_url).rstrip("/")
    return Page(
        "policy.html",
        {
            "policy": inner,
            "name": document["name"],
            "requirements": requirements,
            "command": f"privacy-risk gate {document['name']} --server {server} --dataset-id {dataset} "
            f"--rule {rule}",
        },
    )

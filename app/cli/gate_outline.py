"""The questions of a policy's outline, each with what became of the criteria that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from app.cli.gate_verdict import Json, Verdict
from privacy_risk import Client, ProblemError


def outline_of(client: Client, policy: dict[str, Any] | str, verdict: Verdict) -> tuple[Json, ...]:
    """The headings of the policy that was judged by; none where this key may not read a stored one."""
    if isinstance(policy, str):
        try:
            policy = dict(client.policies.get(verdict.policy).document["document"])
        except ProblemError:
            return ()
    return tuple(policy.get("outline") or ())


def questions_of(verdict: Verdict, outline: Sequence[Json]) -> Iterator[str]:
    """A line per question with its source, and one per criterion that answers it."""
    by_id = {criterion.id: criterion for criterion in verdict.criteria}
    for heading in outline:
        yield f"Question  {heading['title']} ({heading['source']})"
        answers = [by_id[id_] for id_ in heading.get("requirements") or () if id_ in by_id]
        for own in answers:
            yield f"  {own.standing:<8} {own.title}"
        if not answers:
            yield "  no criterion of this policy answers it"

"""The page of a verdict that was revoked, or on a release that was withdrawn later."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.web.overview import _FACTS
from app.web.verdicts import evaluation
from app.web.visits import rendered
from tests.unit.reports.documents import verdict_result

pytestmark = pytest.mark.anyio


class Answers:
    """Answers every question about a resource with the same document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._answer = SimpleNamespace(document=document)

    async def get(self, ref: str) -> SimpleNamespace:
        return self._answer


async def page_of(withdrawn_at: str | None, revocation: dict[str, str] | None = None) -> str:
    document = {
        "name": "members-gate",
        "result": verdict_result()
        | {"criteria": [], "coverage": None, "earlier_releases": None, "assumptions": []},
        "evidence": None,
        "release_withdrawn_at": withdrawn_at,
        "revocation": revocation,
    }
    client = SimpleNamespace(evaluations=Answers(document), policies=Answers({"document": {}}))
    page = await evaluation(SimpleNamespace(ref="members-gate", client=client))  # type: ignore[arg-type]
    return bytes(rendered(page).body).decode()


async def test_the_page_of_a_verdict_says_that_its_release_was_withdrawn():
    assert "was withdrawn" not in await page_of(None)
    told = await page_of("2026-11-27T09:30:00Z")
    assert "The release was withdrawn on 27 Nov 2026, 09:30 UTC" in told


async def test_the_page_and_the_list_of_verdicts_say_that_one_was_revoked():
    assert "Revoked" not in await page_of(None)
    revocation = {"revoked_at": "2026-11-27T09:30:00Z", "reason": "The <census> was made up."}
    told = await page_of(None, revocation)
    assert "<strong>Revoked</strong> on 27 Nov 2026, 09:30 UTC: The &lt;census&gt; was made up." in told
    document = {"result": {"verdict": "pass"}, "policy": {"name": "p", "version": 1}, "dataset": "members"}
    assert _FACTS["evaluations"](document) == ["pass", "p@1", "members"]
    listed = _FACTS["evaluations"](document | {"revocation": revocation})
    assert listed == ["pass", "revoked", "p@1", "members"]

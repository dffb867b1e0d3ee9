"""What pages say of searches for the least loss, and of answers that are not kept any more."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from app.services.resources import Actor
from tests.api.service import Api
from tests.ui.conftest import Served
from tests.ui.forms import signed_in

K_ANONYMITY = {"kind": "k_anonymity", "k": 2}
FOUND = {"kind": "min_loss", "privacy": [K_ANONYMITY], "suppression_limit": 0.2}
WEIGHED = FOUND | {"loss": {"kind": "precision", "weights": {"city": 3}, "aggregate": "rank"}}
COMPARED = FOUND | {"kind": "alternatives"}
IMPOSSIBLE = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 41}], "suppression_limit": 0.2}
POLICY = {
    "format": "privacy-risk/policy/1",
    "name": "alike",
    "version": 1,
    "title": "Nobody stands alone",
    "assumes": {"attacker": "Anybody."},
    "criteria": [
        {
            "id": "two", "title": "Two", "reason": "A doubt.",
            "demand": {"kind": "privacy_model", "model": K_ANONYMITY},
        },
    ],
}  # fmt: skip
WAIVER = {
    "name": "for-now", "policy": "alike", "criterion": "two", "datasets": ["example-members"],
    "reason": "Wanted.", "approved_by": "\u202eecila", "until": "2027-01-01",
}  # fmt: skip
DAYS = 366 * 86_400


async def _asked(api: Api, actor: Actor, token: str) -> None:
    """Two searches, a waived verdict, and another one and a score whose results have expired."""
    async with api.client(token) as client:

        async def post(path: str, body: dict[str, object]) -> None:
            answer = await client.post(path, json=body)
            assert answer.is_success, answer.text
            if answer.status_code == 202:
                await api.work_off(answer.json()["id"])

        await post("/v1/example-data", {"members": 40})
        await post("/v1/policies", POLICY)
        judged = {"dataset": "example-members", "rule": "example-proposal"}
        scored = {**judged, "dictionary": "example-census", "sensitivity": "example-harm"}
        await post("/v1/gates/alike/evaluations/runs", {"name": "old", **judged})
        await post("/v1/assessments/runs", {"name": "old-score", **scored})
        api.clock.advance(DAYS)
        await api.registry.apply_retention(actor.tenant, 50)
        api.clock.advance(-DAYS)
        asked = {"found": FOUND, "weighed": WEIGHED, "impossible": IMPOSSIBLE, "compared": COMPARED}
        for name, objective in asked.items():
            await post(
                "/v1/optimisations", {"name": name, "dataset": "example-members", "objective": objective}
            )
        await post("/v1/waivers", WAIVER)
        await post("/v1/gates/alike/evaluations", {"name": "waived", **judged})


@pytest.fixture(scope="module")
def pages(served: Served) -> Iterator[httpx.Client]:
    """What a browser sees that is signed in to a tenant of its own."""
    actor, token = served.do(served.api.tenant_with_key())
    served.do(_asked(served.api, actor, token))
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as client:
        signed_in(client, token)
        yield client


def text_of(pages: httpx.Client, address: str) -> str:
    page = pages.get(address)
    assert page.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


def test_a_search_for_a_weighed_loss_shows_what_each_attribute_loses(pages):
    text = text_of(pages, "/optimisations/weighed")
    assert "precision (aggregate = rank, weights = city: 3)" in text
    assert "What each attribute loses, times its weight" in text
    assert "What each attribute loses" not in text_of(pages, "/optimisations/found")


def test_a_search_for_the_least_loss_shows_what_was_asked_and_attained(pages):
    text = text_of(pages, "/optimisations/found")
    assert "is to meet: k-anonymity (k = 2)" in text
    assert re.search(
        r"Loss [\d.]+ geometric; no rule is below [\d.]+ Suppressed \d+ records, of at most 8", text
    )
    assert re.search(r"Guarantee k-anonymity \(k = 2\) \d+ exact", text)


def test_a_comparison_shows_its_alternatives_and_leads_to_their_rules(pages):
    shown = pages.get("/optimisations/compared").text
    (address,) = re.findall(r'href="(/rules/compared-[a-z-]+)">[^<]*</a> <span class="tag">suggested', shown)
    assert "compared-" in text_of(pages, address)


def test_a_search_without_an_answer_says_why(pages):
    assert "40 records, 1 fewer than one class must have" in text_of(pages, "/optimisations/impossible")


@pytest.mark.parametrize("address", ["/evaluations/old", "/assessments/old-score", "/runs/old"])
def test_a_page_whose_answer_has_expired_does_not_tell_to_wait_for_it(pages, address):
    text = text_of(pages, address)
    assert "has been removed" in text
    assert "is no" not in text


def test_evidence_of_a_verdict_that_has_expired_can_be_had(pages):
    assert "/evaluations/old/evidence" in pages.get("/evaluations/old").text


def test_names_in_a_waiver_turn_round_no_other_words(pages):
    assert "by <bdi>\u202eecila</bdi> until 2027-01-01" in pages.get("/evaluations/waived").text

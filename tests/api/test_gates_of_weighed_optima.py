"""A gate that requires the proven optimum of a weighed loss, on eight people whose optima are by hand.

Two of each city, one of either sex. With equal weights the best 2-anonymous rule shows countries and sexes
(loss (1/3 + 0)/2); where the city weighs five times as much, cities and no sexes (1/3 · 1/2 against
5/3 · 1/3 · 1/2).
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.fixture_f import post
from tests.api.optimisations import found
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

CITIES = {"Rome": "Italy", "Milan": "Italy", "Paris": "France", "Lyon": "France"}
PEOPLE = "city,sex\n" + "".join(f"{city},{sex}\n" for city in CITIES for sex in "fm")
WEIGHED = {"kind": "arithmetic", "weights": {"city": 5}}
NO_SEXES = {"kind": "table_level", "levels": {"city": 0, "sex": 1}}
COUNTRIES = {"kind": "table_level", "levels": {"city": 1, "sex": 0}}


def least(loss: Any) -> dict[str, Any]:
    return {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "loss": loss}


async def begin_with(client: httpx.AsyncClient) -> None:
    """A client whose tenant has the eight people."""
    csv = {"Content-Type": "text/csv"}
    uploaded = await client.post("/v1/uploads?name=people", content=PEOPLE, headers=csv)
    assert uploaded.status_code == 201, uploaded.text
    parents = {city: [country] for city, country in CITIES.items()} | {"Italy": [None], "France": [None]}
    sexes = {"f": [None], "m": [None]}
    for name, own in (("cities", parents), ("sexes", sexes)):
        await post(client, "hierarchies", {"name": name, "definition": {"kind": "parents", "parents": own}})
    attributes = [
        {"name": "city", "type": "categorical", "role": "quasi_identifier", "hierarchy": "cities"},
        {"name": "sex", "type": "categorical", "role": "quasi_identifier", "hierarchy": "sexes"},
    ]
    await post(client, "datasets", {"name": "people", "upload": "people", "attributes": attributes})


@pytest.fixture
def people(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


def policy(loss: Any) -> dict[str, Any]:
    demand = {"kind": "optimum", "objective": least(loss), "scope": "table_level", "gap": 0}
    criterion = {"id": "best", "title": "The best rule", "reason": "For the test.", "demand": demand}
    head = {"format": "privacy-risk/policy/1", "name": "best", "version": 1, "title": "People"}
    return {**head, "assumes": {"attacker": "All"}, "criteria": [criterion]}


async def result_of(client: httpx.AsyncClient, rule: Any) -> dict[str, Any]:
    asked = {"dataset": "people", "rule": rule}
    answer: dict[str, Any] = (await post(client, "gates/best/evaluations", asked))["result"]
    return answer


async def test_a_gate_judges_by_the_weighed_optimum(api, people: httpx.AsyncClient):
    question = {"name": "weighed", "dataset": "people", "objective": least(WEIGHED)}
    best = await found(api, people, question)
    assert (best["status"], best["rule"]["levels"]) == ("optimal", NO_SEXES["levels"])
    assert best["loss"] == pytest.approx(1 / 6)
    plain = await found(api, people, question | {"name": "plain", "objective": least("arithmetic")})
    assert (plain["rule"]["levels"], plain["loss"]) == (COUNTRIES["levels"], pytest.approx(1 / 6))
    await post(people, "policies", policy(WEIGHED))
    for rule in ("weighed", NO_SEXES):
        passed = await result_of(people, rule)
        (own,) = passed["criteria"]
        assert (passed["verdict"], own["outcome"], own["value"]) == ("pass", "passed", 0)
    failed = await result_of(people, "plain")
    (own,) = failed["criteria"]
    assert (failed["verdict"], own["outcome"]) == ("fail", "failed")
    assert own["value"] == pytest.approx((5 / 18 - 1 / 6) / (5 / 18))
    # Both changes that disclose less, nothing of the city or nothing of the sex as well, lose more.
    assert {own["status"] for own in failed["changes"]} == {"none_exists"}


async def test_the_nearest_change_is_the_weighed_optimum(people: httpx.AsyncClient):
    await post(people, "policies", policy(WEIGHED))
    failed = await result_of(people, {"kind": "identity"})
    (own,) = failed["criteria"]
    assert (failed["verdict"], own["outcome"], own["value"]) == ("fail", "failed", "inf")
    for change in failed["changes"]:
        assert (change["status"], change["proven"], change["levels"]) == ("found", True, {"sex": 1})
        assert (await result_of(people, change["rule"]))["verdict"] == "pass"


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"aggregate": "rank"}, "/aggregate"),
        ({"suppression_factor": 0.25}, "/suppression_factor"),
        ({"weights": {"city": -1}}, "/weights/city"),
    ],
)
async def test_a_loss_that_no_release_has_as_a_figure_is_refused(people: httpx.AsyncClient, wrong, pointer):
    refused = problem_of(
        await people.post("/v1/policies", json=policy(WEIGHED | wrong)), 422, "invalid-input"
    )
    assert pointers(refused) == [f"/criteria/0/demand/objective/loss{pointer}"]

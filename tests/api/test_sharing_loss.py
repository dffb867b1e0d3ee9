"""Loss and utility of sharing plans over HTTP: the specification's plan, and bad input."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.networks import dataset, fault_of, measured

pytestmark = pytest.mark.anyio

PLAN = "a,b,k1,k2\n0,1,3,2\n0,2,1,0\n1,0,2,2\n1,2,0,1\n2,0,3,1\n2,1,3,2\n"
TRUST = "a,b,trust\n0,1,2\n1,0,2\n1,2,1\n2,1,1\n"
INTERESTS = "person,k1,k2\n0,1,0.5\n1,0.8,1.2\n2,0.4,2\n"
WEIGHTS = {"k1": {"x": 2, "y": 1, "z": 0.5}, "k2": {"x": 1, "y": 3, "z": 0.5}}


async def made(client: httpx.AsyncClient, path: str, body: Any) -> None:
    answer = await client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 201, answer.text


async def begin_with(client: httpx.AsyncClient) -> None:
    """V10 of the specification: hierarchies of heights 3 and 2, weights by value, plan, trust, interests."""
    sent = {"content": "person,k1,k2\n0,x,x\n1,y,y\n2,z,z\n", "headers": {"Content-Type": "text/csv"}}
    assert (await client.post("/v1/uploads?name=people", **sent)).status_code == 201
    attributes = [{"name": "person", "type": "text", "role": "identifier"}]
    for name, above in (("k1", ["near", "far", "all"]), ("k2", ["near", "all"])):
        rows = [[leaf, *above] for leaf in "xyz"]
        await made(client, "hierarchies", {"name": name, "definition": {"kind": "rows", "rows": rows}})
        own = {"name": name, "type": "categorical", "role": "quasi_identifier", "hierarchy": name}
        attributes.append(own)
    await made(client, "datasets", {"name": "people", "upload": "people", "attributes": attributes})
    for family in ("linear", "multiplicative"):
        weights = {name: {"leaves": own} for name, own in WEIGHTS.items()}
        body = {"name": family, "dataset": "people", "family": family, "attributes": weights}
        await made(client, "sensitivity-profiles", body)
    await dataset(client, "plan", PLAN)
    await dataset(client, "thoughts", TRUST)
    await dataset(client, "interests", INTERESTS, person="identifier")


@pytest.fixture
def network(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def scored(client: httpx.AsyncClient, **asked: Any) -> httpx.Response:
    usual = {"plan": "plan", "sensitivity": "linear", "trust_table": "thoughts", "decreasing": "reciprocal"}
    return await measured(client, "sharing_loss", **{**usual, **asked})


def result_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.is_success, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


@pytest.mark.spec("DN-V10")
async def test_loss_and_utility_are_those_of_the_specification(network: httpx.AsyncClient):
    result = result_of(await scored(network, interests="interests"))
    assert (result["pairs"], result["with_oneself"]) == (6, 0)
    assert (result["loss"], result["utility"]) == (pytest.approx(12.083333, abs=5e-7), pytest.approx(18.5))
    people = {own["id"]: (own["loss"], own["utility"]) for own in result["people"]}
    assert list(people) == ["0", "1", "2"]
    assert [own[0] for own in people.values()] == pytest.approx([4.666667, 4.166667, 3.25], abs=5e-7)
    assert [own[1] for own in people.values()] == pytest.approx([6.5, 9.6, 2.4])
    assert [own["height"] for own in result["attributes"]] == [3, 2]
    assert sum(own["loss"] for own in result["attributes"]) == pytest.approx(result["loss"])
    assert sum(own["utility"] for own in result["attributes"]) == pytest.approx(result["utility"])
    printed = result_of(await scored(network, interests="interests", as_printed=True))
    assert printed["utility"] == pytest.approx(18.6)


async def test_without_interests_every_level_is_worth_the_same(network: httpx.AsyncClient):
    result = result_of(await scored(network))
    assert result["utility"] == 3 + 2 + 1 + 2 + 2 + 1 + 3 + 1 + 3 + 2
    assert [own["utility"] for own in result["attributes"]] == [12, 8]


@pytest.mark.spec("DN-S9")
async def test_what_people_show_themselves_counts_for_nothing(network: httpx.AsyncClient):
    await dataset(network, "own-plan", PLAN + "0,0,3,2\n")
    result = result_of(await scored(network, plan="own-plan"))
    assert (result["pairs"], result["with_oneself"]) == (6, 1)
    assert result["loss"] == pytest.approx(12.083333, abs=5e-7)


async def test_trust_by_common_friends_is_that_of_the_edges(network: httpx.AsyncClient):
    await dataset(network, "edges", "a,b\n0,1\n1,2\n")
    asked = {"trust_table": None, "trust": "common_friends"}
    result = result_of(await scored(network, edges="edges", **asked))
    # Only 0 and 2 have a friend in common: f is 1/2 for these, else 1.
    assert result["loss"] == pytest.approx(8 + 2 / 2 + 8 + 3 + (1.5 + 0.5) / 2 + 2.5)
    place, code, _ = fault_of(await scored(network, **asked))
    assert (place, code) == ("/measure/edges", "missing")


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ("a,b,k1\n0,1,4\n", ("/measure/plan", "not-a-level")),
        ("a,b,k1\n0,1,-1\n", ("/measure/plan", "not-a-level")),
        ("a,b,k1\n0,1,0.5\n", ("/measure/plan", "not-a-level")),
        ("a,b,k1\n0,1,\n", ("/measure/plan", "not-a-number")),
        ("a,b,k1\n0,1,1\n0,1,2\n", ("/measure/plan", "repeated-pair")),
        ("a,b,k1\n0,7,1\n", ("/measure/plan", "unknown-person")),
        ("a,b,k1\n0,1,1\na,b,k1\n", ("/measure/plan", "header-row")),
        ("a,b,shoe\n0,1,1\n", ("/measure/plan", "unknown-attribute")),
    ],
)
async def test_plans_that_are_none_are_refused(network: httpx.AsyncClient, plan, expected):
    await dataset(network, "bad", plan)
    assert fault_of(await scored(network, plan="bad"))[:2] == expected


async def test_interests_of_strangers_or_below_zero_are_refused(network: httpx.AsyncClient):
    await dataset(network, "strange", "person,k1,k2\n9,1,1\n", person="identifier")
    place, code, _ = fault_of(await scored(network, interests="strange"))
    assert (place, code) == ("/measure/interests", "unknown-person")
    await dataset(network, "negative", "person,k1,k2\n0,1,-1\n", person="identifier")
    place, code, _ = fault_of(await scored(network, interests="negative"))
    assert (place, code) == ("/measure/interests", "weight-out-of-range")


async def test_loss_needs_sensitivities_that_add_up(network: httpx.AsyncClient):
    answer = await scored(network, sensitivity="multiplicative")
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/not-supported"), answer.text
    answer = await measured(network, "sharing_loss", plan="plan")
    assert fault_of(answer)[:2] == ("/sensitivity", "missing")

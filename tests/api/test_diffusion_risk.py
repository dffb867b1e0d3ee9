"""How far an item leaks, over HTTP: the specification's path, trust by every rule, and bad input."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.services.resources import Scope
from tests.api.networks import PATH, PEOPLE, TRUST, dataset, fault_of, measured
from tests.api.service import Api

pytestmark = pytest.mark.anyio


async def begin_with(client: httpx.AsyncClient) -> None:
    """A client with four people, the path between them, and what the first of them thinks of all."""
    await dataset(client, "people", PEOPLE, person="identifier")
    await dataset(client, "edges", PATH)
    await dataset(client, "thoughts", TRUST)


@pytest.fixture
def network(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def leaked(client: httpx.AsyncClient, **asked: Any) -> httpx.Response:
    return await measured(client, "diffusion_risk", **{"edges": "edges", "owner": "0", **asked})


def by_person(answer: httpx.Response, field: str) -> dict[str, float]:
    assert answer.is_success, answer.text
    return {own["id"]: own[field] for own in answer.json()["result"]["recipients"]}


@pytest.mark.spec("DN-V9")
async def test_risks_along_the_path_are_those_of_the_specification(network: httpx.AsyncClient):
    asked = {"trust_table": "thoughts", "item_sensitivity": 2.5, "time": 0.8, "kernel": "laplacian"}
    answer = await leaked(network, **asked)
    result = answer.json()["result"]
    assert list(by_person(answer, "risk")) == ["3", "2", "1"]
    assert by_person(answer, "risk") == pytest.approx({"1": 0.825092, "2": 1.449553, "3": 1.941590}, abs=5e-7)
    assert result["risk_kept"] == pytest.approx(0.408766, abs=5e-7)
    exposure = by_person(answer, "exposure")
    assert exposure == pytest.approx({"1": 0.849816, "2": -0.399105, "3": -1.383179}, abs=5e-7)
    assert by_person(answer, "trust") == {"1": 0.5, "2": -0.2, "3": -1.0}
    assert 0 <= result["truncation_error"] < 1e-12
    counts = {key: result[key] for key in ("people", "edges", "loops", "repeated", "without_edges")}
    assert counts == {"people": 4, "edges": 3, "loops": 0, "repeated": 0, "without_edges": 0}
    walked = await leaked(network, **(asked | {"kernel": "random_walk"}))
    assert by_person(walked, "risk") == pytest.approx({"1": 0.754357, "2": 1.457993, "3": 1.941996}, abs=5e-7)
    stepped = await leaked(network, **(asked | {"kernel": "steps", "steps": 2}))
    assert by_person(stepped, "risk") == pytest.approx({"1": 1.09375, "2": 1.125, "3": 1.5625}, abs=5e-7)


async def test_the_neighbourhood_lists_friends_and_theirs_with_the_edges_between_them(
    network: httpx.AsyncClient,
):
    answer = await leaked(network, trust_table="thoughts")
    result = answer.json()["result"]
    risks = by_person(answer, "risk")
    assert result["neighbourhood"] == [
        {"id": "1", "distance": 1, "risk": risks["1"], "trust": 0.5, "friends": ["2"]},
        {"id": "2", "distance": 2, "risk": risks["2"], "trust": -0.2, "friends": ["1"]},
    ]
    assert result["neighbours_left_out"] == 0
    directed = (await leaked(network, directed=True, owner="1")).json()["result"]
    assert [(own["id"], own["friends"]) for own in directed["neighbourhood"]] == [("2", ["3"]), ("3", [])]
    nobody = (await leaked(network, directed=True, owner="3")).json()["result"]
    assert nobody["neighbourhood"] == []


async def test_a_crowded_neighbourhood_lists_the_riskiest_and_counts_the_others(network: httpx.AsyncClient):
    far = "".join(f"1,near {i}\n" for i in range(80))
    await dataset(network, "crowd", f"a,b\n0,1\n0,2\n{far}")
    await dataset(network, "tried", "a,b,trust\n" + "".join(f"0,near {i},{-i / 100}\n" for i in range(80)))
    answer = await leaked(network, edges="crowd", trust_table="tried", most=100)
    result, risks = answer.json()["result"], by_person(answer, "risk")
    listed = [own["id"] for own in result["neighbourhood"]]
    assert (len(listed), result["neighbours_left_out"]) == (60, 22)
    assert set(listed[:2]) == {"1", "2"}
    assert [own["distance"] for own in result["neighbourhood"]] == [1] * 2 + [2] * 58
    assert min(risks[own] for own in listed[2:]) >= max(
        risks[own] for own in set(risks) - set(listed) - {"3"}
    )


async def test_without_time_an_item_stays_where_it_was_given(network: httpx.AsyncClient):
    answer = await leaked(network, time=0, trust="attributes", trust_attributes=["town", "team"])
    assert by_person(answer, "risk") == {"1": 0.0, "2": 1.0, "3": 1.0}
    friends = await leaked(network, time=0, trust="common_friends", decreasing="reciprocal", most=2)
    assert by_person(friends, "trust") == {"1": 0.0, "3": 0.0}
    assert friends.json()["result"]["mean"] == pytest.approx((1 + 0.5 + 1) / 3)


async def test_people_without_profile_or_edges_and_edges_that_say_nothing_are_counted(
    network: httpx.AsyncClient,
):
    await dataset(network, "odd", "a,b\n0,1\n1,0\n1,1\n1,9\n9,9\n")
    answer = await leaked(network, edges="odd")
    result = answer.json()["result"]
    counted = ("people", "without_profile", "without_edges", "edges", "loops", "repeated")
    assert [result[own] for own in counted] == [5, 1, 2, 2, 2, 1]
    assert set(by_person(answer, "risk")) == {"1", "2", "3", "9"}
    # Who has no edges keeps what is given to them; what goes round among others may return to its owner.
    assert by_person(answer, "risk")["2"] == pytest.approx(0.5, abs=1e-12)
    assert by_person(answer, "risk")["1"] < 0.5


async def test_edges_that_are_loops_only_leave_everybody_alone(network: httpx.AsyncClient):
    await dataset(network, "loops", "a,b\n0,0\n1,1\n")
    answer = await leaked(network, edges="loops", time=1000)
    assert list(by_person(answer, "risk").values()) == pytest.approx([0.5] * 3, abs=1e-12)
    assert answer.json()["result"]["edges"] == 0


@pytest.mark.parametrize(
    ("edges", "asked", "expected"),
    [
        ("a,b\n0,1\na,b\n1,2\n", {}, ("/measure/edges", "header-row", "(first rows: 2)")),
        ("a,b\n0,1\n2,\n", {}, ("/measure/edges", "unknown-person", "(first rows: 2)")),
        ("a,b,w\n0,1,1\n1,2,-2\n", {"weight": "w"}, ("/measure/weight", "weight-out-of-range", "rows: 2")),
        ("a,b,w\n0,1,x\n1,2,2\n", {"weight": "w"}, ("/measure/weight", "not-a-number", "rows: 1")),
        ("a,b,w\n0,1,3\n1,0,2\n", {"weight": "w"}, ("/measure/weight", "conflicting-weights", "rows: 2")),
        (
            "a,b,w\n0,1,0.5\n1,2,0.5\n",
            {"weight": "w", "is_leakage": True, "directed": True},
            ("/measure/weight", "leakage-not-one", "2 people"),
        ),
    ],
)
async def test_edges_that_are_none_are_refused(network: httpx.AsyncClient, edges, asked, expected):
    await dataset(network, "bad", edges)
    place, code, words = fault_of(await leaked(network, edges="bad", **asked))
    assert (place, code) == expected[:2]
    assert expected[2] in words


@pytest.mark.parametrize(
    ("asked", "place", "code"),
    [
        ({"time": -1}, "/measure/time", None),
        ({"time": "inf"}, "/measure/time", None),
        ({"steps": -1}, "/measure/steps", None),
        ({"owner": "7"}, "/measure/owner", "unknown-person"),
        ({"source": "x"}, "/measure/source", "unknown-attribute"),
        ({"weight": "w"}, "/measure/weight", "unknown-attribute"),
        ({"trust": "attributes"}, "/measure/trust_attributes", "missing"),
        (
            {"trust": "attributes", "trust_attributes": ["x"]},
            "/measure/trust_attributes",
            "unknown-attribute",
        ),
        (
            {"trust": "common_friends", "owner": "0", "edges": "star"},
            "/measure/decreasing",
            "trust-out-of-range",
        ),
        (
            {"trust_table": "thoughts", "decreasing": "reciprocal"},
            "/measure/decreasing",
            "trust-out-of-range",
        ),
        ({"trust_table": "thoughts", "trust_column": "a b"}, "/measure/trust_column", "unknown-attribute"),
        ({"trust_table": "strangers"}, "/measure/trust_table", "unknown-person"),
        ({"kernel": "laplacian", "directed": True}, "/measure/kernel", "directed-laplacian"),
    ],
)
async def test_questions_that_do_not_fit_name_the_field(network: httpx.AsyncClient, asked, place, code):
    await dataset(network, "star", "a,b\n0,1\n0,2\n0,3\n1,2\n3,1\n")
    await dataset(network, "strangers", "a,b,trust\n0,8,1\n")
    answer = await leaked(network, **asked)
    assert answer.status_code == 422, answer.text
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == place
    assert code in (None, fault["code"])


async def test_profiles_that_name_nobody_or_somebody_twice_are_refused(network: httpx.AsyncClient):
    await dataset(network, "nameless", PEOPLE)
    place, code, _ = fault_of(await measured(network, "diffusion_risk", "nameless", edges="edges", owner="0"))
    assert (place, code) == ("/measure/dataset", "no-identifier")
    await dataset(network, "twice", PEOPLE + "0,Ulm,red\n", person="person")
    answer = await measured(network, "diffusion_risk", "twice", edges="edges", owner="0")
    assert answer.status_code == 422, answer.text
    assert "one record of each person" in answer.text


async def test_only_who_may_read_data_asks_about_an_owner(network: httpx.AsyncClient, api: Api):
    actor = await api.services.tenants.authenticate(network.headers["Authorization"].split()[1])
    key = await api.key_with(actor, *(scope for scope in Scope if scope is not Scope.DATA_READ))
    async with api.client(key) as reader:
        answer = await leaked(reader)
    assert answer.status_code == 403, answer.text

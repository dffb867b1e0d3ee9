"""The best plans over HTTP: the specification's numbers, plans that are sent back, and bad input."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.networks import asked_with_harm, dataset, fault_of, people, result_of

pytestmark = pytest.mark.anyio

TRUST = "a,b,trust\n0,1,2\n1,0,2\n1,2,1\n2,1,1\n"
INTERESTS = "person,k1,k2\n0,1,0.5\n1,0.8,1.2\n2,0.4,2\n"
ALL_PAIRS = "a,b\n0,1\n0,2\n1,0\n1,2\n2,0\n2,1\n"


async def begin_with(client: httpx.AsyncClient) -> None:
    """V10 of the specification: heights 3 and 2, weights by value, stated trust, interests."""
    ladders = {
        name: [[leaf, *above] for leaf in "xyz"]
        for name, above in (("k1", ["near", "far", "all"]), ("k2", ["near", "all"]))
    }
    weights = {"k1": {"leaves": {"x": 2, "y": 1, "z": 0.5}}, "k2": {"leaves": {"x": 1, "y": 3, "z": 0.5}}}
    await people(client, "person,k1,k2\n0,x,x\n1,y,y\n2,z,z\n", ladders, weights)
    await dataset(client, "pairs", ALL_PAIRS)
    await dataset(client, "thoughts", TRUST)
    await dataset(client, "interests", INTERESTS, person="identifier")


@pytest.fixture
def planned(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def plan_of(client: httpx.AsyncClient, **question: Any) -> httpx.Response:
    usual = {
        "pairs": "pairs", "interests": "interests", "trust_table": "thoughts", "decreasing": "reciprocal",
    }  # fmt: skip
    return await asked_with_harm(client, "sharing_plan", **{**usual, **question})


@pytest.mark.spec("DN-V10", "DN-S11")
async def test_the_three_problems_are_solved_as_the_specification_has_them(planned: httpx.AsyncClient):
    least = result_of(await plan_of(planned, trade_off=0.7))
    assert least["plan"] == [
        {"source": a, "target": b, "levels": {"k1": x, "k2": y}}
        for (a, b), x, y in (("01", 0, 2), ("02", 0, 2), ("10", 3, 0), ("20", 3, 0), ("21", 3, 2))
    ]  # fmt: skip
    assert (least["pairs"], least["sharing"], least["is_optimal"]) == (6, 5, True)
    assert (least["loss"], least["utility"]) == (pytest.approx(6.416667, abs=5e-7), pytest.approx(17.2))
    assert least["bound"] == pytest.approx(-5.623333, abs=5e-7)
    capped = result_of(await plan_of(planned, loss_cap=6, method="exact"))
    assert (capped["utility"], capped["bound"]) == (pytest.approx(16.2), pytest.approx(16.2))
    assert capped["loss"] == pytest.approx(5.916667, abs=5e-7)
    floored = result_of(await plan_of(planned, utility_floor=15, method="exact"))
    assert (floored["loss"], floored["is_optimal"]) == (pytest.approx(5.416667, abs=5e-7), True)
    greedy = result_of(await plan_of(planned, loss_cap=6))
    assert greedy["utility"] <= capped["utility"] <= greedy["bound"] + 1e-9


async def test_a_plan_can_be_sent_back_and_costs_what_was_said(planned: httpx.AsyncClient):
    plan = result_of(await plan_of(planned, trade_off=0.7, most=100))
    rows = [
        f"{row['source']},{row['target']},{row['levels']['k1']},{row['levels']['k2']}" for row in plan["plan"]
    ]
    await dataset(planned, "plan", "a,b,k1,k2\n" + "\n".join(rows) + "\n")
    usual = {"interests": "interests", "trust_table": "thoughts", "decreasing": "reciprocal"}
    scored = result_of(await asked_with_harm(planned, "sharing_loss", plan="plan", **usual))
    assert (scored["loss"], scored["utility"]) == pytest.approx((plan["loss"], plan["utility"]))


async def test_a_long_plan_is_listed_in_parts_and_shows_nobodys_trust(planned: httpx.AsyncClient):
    whole = await plan_of(planned, trade_off=0.7)
    parts = [
        result_of(await plan_of(planned, trade_off=0.7, most=2, skip=skip))["plan"] for skip in (0, 2, 4, 6)
    ]
    assert [len(part) for part in parts] == [2, 2, 1, 0]
    assert [row for part in parts for row in part] == result_of(whole)["plan"]
    assert "trust" not in str(result_of(whole))


async def test_without_pairs_everybody_may_share_along_edges(planned: httpx.AsyncClient):
    await dataset(planned, "edges", "a,b\n0,1\n1,0\n1,1\n")
    found = result_of(await plan_of(planned, pairs=None, edges="edges", trade_off=0.7))
    assert found["pairs"] == 2
    assert [(row["source"], row["target"]) for row in found["plan"]] == [("0", "1"), ("1", "0")]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ("/measure/trade_off", "one-of")),
        ({"trade_off": 1, "loss_cap": 1}, ("/measure/trade_off", "one-of")),
        ({"utility_floor": 1e6}, ("/measure/utility_floor", "unreachable")),
        ({"trade_off": 1, "pairs": None}, ("/measure/edges", "missing")),
        ({"trade_off": 1, "decreasing": "linear"}, ("/measure/decreasing", "trust-out-of-range")),
        ({"trade_off": 1, "trust": "common_friends"}, ("/measure/edges", "missing")),
    ],
)
async def test_plans_without_one_answerable_problem_are_refused(planned, changed, expected):
    assert fault_of(await plan_of(planned, **changed))[:2] == expected


@pytest.mark.parametrize("changed", [{"trade_off": -1}, {"loss_cap": -1}, {"trade_off": 1, "skip": -1}])
async def test_numbers_below_their_bounds_are_refused(planned, changed):
    assert fault_of(await plan_of(planned, **changed))[1] == "greater-than-equal"


async def test_pairs_of_strangers_are_refused(planned: httpx.AsyncClient):
    await dataset(planned, "strange", "a,b\n0,9\n")
    assert fault_of(await plan_of(planned, trade_off=1, pairs="strange"))[:2] == (
        "/measure/pairs", "unknown-person",
    )  # fmt: skip

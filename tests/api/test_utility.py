"""Utility over HTTP: every model, weights, values of your own, rounding, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.api.prepared import Prepared
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

ATTRIBUTES = ("city", "race", "birth_date", "income")
QUESTION = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}


@pytest.fixture
async def profiled(api: Any, assessable: Prepared) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose tenant has everything that a score rests on."""
    async with api.client(assessable.token) as client:
        yield client


async def result_of(client: httpx.AsyncClient, utility: Any, *suppressed: str) -> dict[str, Any]:
    rule = {"kind": "suppression", "attributes": list(suppressed)}
    response = await client.post("/v1/assessments", json={**QUESTION, "rule": rule, "utility": utility})
    assert response.status_code in (200, 201), response.text
    found: dict[str, Any] = response.json()["result"]
    return found


async def test_a_name_and_an_object_without_options_are_the_same_utility(profiled):
    body = {**QUESTION, "rule": {"kind": "identity"}, "utility": "log_leaves"}
    first = await profiled.post("/v1/assessments", json=body)
    assert first.status_code == 201
    body["utility"] = {"kind": "log_leaves", "weights": {"city": 1}}
    assert (await profiled.post("/v1/assessments", json=body)).status_code == 200
    assert first.json()["utility"] == "log_leaves"


@pytest.mark.parametrize(
    ("model", "everything", "nothing"),
    [
        ("depth_sum", 13 - 4 / 12, 0.0),
        ("inverse_leaves", 4 - (1 - 1 / 200) / 12, 1 / 8 + 1 / 5 + 1 / 3652 + 1 / 200),
        ("log_leaves", math.log(8 * 5 * 3652 * 200) - math.log(200) / 12, 0.0),
    ],
)
async def test_models_range_from_the_values_as_they_are_to_nothing(profiled, model, everything, nothing):
    """The last of the twelve members has no income."""
    whole = await result_of(profiled, model)
    suppressed = await result_of(profiled, model, *ATTRIBUTES)
    assert whole["utility_average"] == pytest.approx(everything)
    assert suppressed["utility_average"] == pytest.approx(nothing)


@pytest.mark.spec("E-16")
async def test_a_loss_rises_with_what_is_suppressed_and_is_reported_as_a_loss(profiled):
    kept = await result_of(profiled, "info_loss_lm")
    lost = await result_of(profiled, "info_loss_lm", "city")
    assert kept["information_loss_average"] == pytest.approx(1 / 12)
    assert kept["information_loss_max"] == pytest.approx(1)
    assert lost["information_loss_average"] == pytest.approx(1 / 12 + 1)
    assert lost["utility_average"] == pytest.approx(kept["utility_average"] - 1)


async def test_attributes_count_as_much_as_they_are_told(profiled):
    utility = {"kind": "depth_sum", "weights": {"city": 2.5, "income": 0}}
    found = await result_of(profiled, utility)
    assert found["utility_average"] == pytest.approx(2.5 * 4 + 2 + 3)
    assert (await result_of(profiled, utility, "income"))["utility_average"] == found["utility_average"]


RACES = {"White": 3, "Middle Eastern": 3, "Black": 3, "Chinese": 3, "Japanese": 3}
GROUPS = {"European": 1, "African American": 1, "Asian": 1}


async def test_values_of_your_own_are_summed_and_checked(profiled):
    body = {
        "name": "people",
        "upload": "members",
        "attributes": [
            {"name": name, "type": "text", "role": "other"}
            for name in ("member_id", "city", "birth_date", "income")
        ]
        + [{"name": "race", "type": "categorical", "role": "quasi_identifier", "hierarchy": "race"}],
    }
    assert (await profiled.post("/v1/datasets", json=body)).status_code == 201
    harm = {"name": "one", "dataset": "people", "family": "constant", "constant": 1}
    assert (await profiled.post("/v1/sensitivity-profiles", json=harm)).status_code == 201
    link = {"attribute": "race", "column": "race", "hierarchy": "race", "transform": {"kind": "identity"}}
    dictionary = {"name": "races", "upload": "census", "links": [link]}
    assert (await profiled.post("/v1/dictionaries", json=dictionary)).status_code == 201
    question = {"dataset": "people", "dictionary": "races", "sensitivity": "one"}

    async def score(values: dict[str, float], level: int) -> httpx.Response:
        rule = {"kind": "table_level", "levels": {"race": level}}
        utility = {"kind": "custom", "values": {"race": values}}
        return await profiled.post("/v1/assessments", json={**question, "rule": rule, "utility": utility})

    averages = [
        (await score(RACES | GROUPS, level)).json()["result"]["utility_average"] for level in (0, 1, 2)
    ]
    assert averages == [3, 1, 0]
    problem = problem_of(await score(RACES | GROUPS | {"Asian": 9}, 0), 422, "invalid-input")
    assert pointers(problem) == ["/utility/values/race/Asian"] * 2
    problem = problem_of(await score(RACES | {"European": 1, "Asian": 1}, 0), 422, "invalid-input")
    assert pointers(problem) == ["/utility/values/race/African American"]
    problem = problem_of(await score(RACES | GROUPS | {"Martian": 1}, 0), 422, "invalid-input")
    assert pointers(problem) == ["/utility/values/race/Martian"]


@pytest.mark.parametrize(
    ("utility", "where"),
    [
        ("entropy", ["/utility"]),
        ({"kind": "entropy"}, ["/utility/kind"]),
        ({}, ["/utility"]),
        (7, ["/utility"]),
        ({"kind": "depth_sum", "weights": {"colour": 1}}, ["/utility/weights/colour"]),
        ({"kind": "depth_sum", "weights": {"city": -1}}, ["/utility/weights/city"]),
        ({"kind": "depth_sum", "weights": {"city": "inf"}}, ["/utility/weights/city"]),
        ({"kind": "depth_sum", "values": {"race": RACES}}, ["/utility/values"]),
        ({"kind": "custom"}, ["/utility/values"]),
        ({"kind": "custom", "values": {"race": {"White": -1}}}, ["/utility/values/race/White"]),
        ({"kind": "depth_sum", "display_rounding": "up"}, ["/utility/display_rounding"]),
    ],
)
async def test_what_is_wrong_with_a_utility_is_named_where_it_is(profiled, utility, where):
    body = {**QUESTION, "rule": {"kind": "identity"}, "utility": utility}
    response = await profiled.post(
        "/v1/assessments", content=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    assert pointers(problem_of(response, 422, "invalid-input")) == where


@pytest.mark.spec("E-15")
async def test_a_mean_is_rounded_for_display_only(profiled):
    found = await result_of(profiled, {"kind": "depth_sum", "display_rounding": "nearest"})
    assert found["utility_average"] == pytest.approx(13 - 4 / 12)
    assert found["utility_average_displayed"] == 13
    plain = await result_of(profiled, "depth_sum")
    assert plain.get("utility_average_displayed") is None
    assert plain["utility_average"] == found["utility_average"]


@pytest.mark.spec("E-15")
async def test_a_mean_is_rounded_before_the_constraint_only_when_asked_for(api, profiled):
    """Half a level short of the floor: infeasible exactly, feasible rounded."""
    statuses = {}
    for rounded in (False, True):
        utility = {"kind": "depth_sum", "round_before_constraint": rounded}
        body = {
            "name": f"rounded-{rounded}",
            **QUESTION,
            "utility": utility,
            "objective": {"kind": "min_risk", "utility_floor": 13},
        }
        created = await profiled.post("/v1/optimisations", json=body)
        assert created.status_code == 201, created.text
        await api.work_off(created.json()["id"])
        found = (await profiled.get(f"/v1/optimisations/rounded-{rounded}")).json()
        statuses[rounded] = found["result"]["status"]
        assert found["utility"] == (utility if rounded else "depth_sum")
    assert statuses == {False: "infeasible", True: "optimal"}


@pytest.mark.spec("E-16")
async def test_a_cap_on_the_loss_is_a_floor_of_the_utility(api, profiled):
    body = {
        "name": "lossy",
        **QUESTION,
        "utility": "info_loss_lm",
        "objective": {"kind": "min_risk", "loss_cap": 1.5},
    }
    created = await profiled.post("/v1/optimisations", json=body)
    assert created.status_code == 201, created.text
    await api.work_off(created.json()["id"])
    result = (await profiled.get("/v1/optimisations/lossy")).json()["result"]
    assert result["status"] == "optimal"
    score = {**QUESTION, "rule": "lossy", "utility": "info_loss_lm"}
    found = (await profiled.post("/v1/assessments", json=score)).json()["result"]
    assert found["information_loss_average"] <= 1.5 + 1e-9
    assert found["utility_average"] == pytest.approx(4 - found["information_loss_average"])

"""Classes made by BUREL and by median cuts, from the question to a gate on the release."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.fixture_f import post, upload
from tests.api.optimisations import EXAMPLES, found, result_of
from tests.oracles.burel_by_hand import ROWS

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
LIKE = {"kind": "beta_likeness", "beta": 2}
ASKED = {
    "dataset": "points",
    "objective": {"kind": "min_loss", "privacy": [LIKE], "loss": {"kind": "ail", "numeric": ["x", "y"]}},
    "scope": "record_level",
}


async def begin_with(client: httpx.AsyncClient) -> None:
    """The specification's nineteen records, with intervals of 2, 4 and 8 over both numbers."""
    axis = {"kind": "intervals", "range": {"first": "0", "last": "15"}, "widths": ["2", "4", "8"]}
    await post(client, "hierarchies", {"name": "axis", "definition": axis})
    await table(client, "points", [(x, y, f"v{value}") for x, y, value in ROWS])


@pytest.fixture
def points(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def table(
    client: httpx.AsyncClient, name: str, rows: list[tuple[Any, ...]], person: bool = False
) -> None:
    header = ("x", "y", "value", "who") if person else ("x", "y", "value")
    await upload(client, name, header, rows)
    attributes: list[Json] = [
        {"name": own, "type": "categorical", "role": "quasi_identifier", "hierarchy": "axis"} for own in "xy"
    ]
    attributes.append({"name": "value", "type": "categorical", "role": "sensitive"})
    if person:
        attributes.append({"name": "who", "type": "text", "role": "person"})
    await post(client, "datasets", {"name": name, "upload": name, "attributes": attributes})


async def searched(api: Any, client: httpx.AsyncClient, name: str, solver: Any, *privacy: Json) -> Json:
    objective = ASKED["objective"] | {"privacy": list(privacy) or [LIKE]}
    result: Json = await found(api, client, ASKED | {"name": name, "objective": objective, "solver": solver})
    return result


async def test_burel_is_asked_for_released_and_judged(api, points: httpx.AsyncClient):
    solver = {"kind": "burel", "start": "first"}
    dry = (
        await points.post("/v1/optimisations?dry_run=true", json=ASKED | {"name": "like", "solver": solver})
    ).json()
    assert (dry["engine"], dry["units"], dry["missing"]) == ("burel", 19, [])
    result = await searched(api, points, "like", solver)
    assert (result["solver"], result["status"]) == ("burel", "heuristic")
    assert result["partition"] == {"parts": 3, "silent_records": 10, "buckets": 3, "slack_margin": 0}
    assert result["solver_parameters"] == {
        "kind": "burel", "seed": 0, "start": "first", "slack_margin": 0, "rounding": "half_down",
    }  # fmt: skip
    # The classes of the specification's example; its measured β is 11/8.
    assert (result["classes"], result["smallest_class"]) == (3, 4)
    assert result["privacy"][0]["attained"] == 11 / 8
    assert (
        0 <= result["lower_bound"] <= result["loss"] == pytest.approx(result["lower_bound"] + result["gap"])
    )
    assert result["rule"]["kind"] == "record_level"
    loss = {"kind": "information_loss", "numeric": ["x", "y"]}
    measured = await post(
        points, "measurements", {"name": "loss", "dataset": "points", "rule": "like", "measure": loss}
    )
    assert measured["result"]["ail"] == pytest.approx(result["loss"], rel=1e-12)
    release = await post(points, "releases", {"name": "out", "dataset": "points", "rule": "like"})
    assert release["suppressed_records"] == result["suppressed_records"] == 0
    lines = (await points.get("/v1/releases/out/data")).text.splitlines()[1:]
    assert sorted(line.rsplit(",", 1)[1] for line in lines) == sorted(f"v{value}" for _, _, value in ROWS)
    for beta, expected in ((2, "passed"), (1, "failed")):
        demand = {
            "kind": "measure", "measure": {"kind": "beta_likeness"}, "value": "beta_enhanced",
            "comparison": "at_most", "threshold": beta,
        }  # fmt: skip
        policy = {
            "format": "privacy-risk/policy/2", "name": f"gate-{beta}", "version": 1, "title": "Likeness",
            "assumes": {"attacker": "Who finds a person's record."},
            "schema": {"attributes": {**dict.fromkeys("xy", "quasi_identifier"), "value": "sensitive"}},
            "requirements": [{"id": "r", "title": "Like", "reason": "For the test.", "requirement": demand}],
        }  # fmt: skip
        await post(points, "policies", policy)
        verdict = await post(points, f"gates/gate-{beta}/evaluations", {"release": {"name": "out"}})
        (criterion,) = verdict["result"]["criteria"]
        assert (criterion["value"], criterion["outcome"]) == (11 / 8, expected)


async def test_seeds_margins_and_sizes_change_what_burel_makes(api, points: httpx.AsyncClient):
    seeds = [{"kind": "burel", "seed": seed} for seed in (1, 1, 2, 3, 4)]
    losses = [(await searched(api, points, f"s{i}", own))["loss"] for i, own in enumerate(seeds)]
    assert losses[0] == losses[1]
    assert len(set(losses)) > 1
    plain = await searched(api, points, "by-name", "burel")
    auto = await searched(api, points, "auto", {"kind": "burel", "slack_margin": "auto"})
    assert auto["loss"] <= plain["loss"]
    large = await searched(api, points, "large", "burel", LIKE, {"kind": "k_anonymity", "k": 5})
    assert large["smallest_class"] >= 5
    none = await searched(api, points, "none", "burel", LIKE, {"kind": "k_anonymity", "k": 20})
    assert (none["status"], none["rule"]) == ("infeasible", None)
    assert "19 records" in none["infeasible_because"][0]["reason"]


async def test_median_cuts_take_criteria_whose_classes_pass_together(api, points: httpx.AsyncClient):
    like = await searched(api, points, "lmondrian", "mondrian")
    assert like["solver"] == "mondrian"
    assert like["partition"] == {"parts": 4, "silent_records": 0, "buckets": None, "slack_margin": None}
    assert like["privacy"][0]["attained"] == pytest.approx(23 / 15)
    close = {"kind": "t_closeness", "t": 0.3, "distance": "equal"}
    assert (await searched(api, points, "tmondrian", "mondrian", close))["partition"]["parts"] == 3
    few = await searched(api, points, "plain", "mondrian", {"kind": "k_anonymity", "k": 4})
    assert few["smallest_class"] >= 4
    kept = await searched(api, points, "kept", "mondrian", LIKE | {"beta_negative": 0.5})
    assert kept["partition"]["parts"] < 4
    both = await searched(api, points, "both", "mondrian", LIKE, {"kind": "k_anonymity", "k": 6})
    assert both["smallest_class"] >= 6


@pytest.mark.parametrize(
    ("more", "pointer", "remedy"),
    [
        ({"scope": "table_level"}, "/scope", "record_level"),
        ({"budget": {"max_nodes": 5}}, "/budget", "max_nodes"),
        ({"objective": {"suppression_limit": 0.1}}, "/objective/suppression_limit", "suppressed"),
        ({"objective": {"loss": "discernibility"}}, "/objective/loss/kind", "geometric"),
        ({"objective": {"local_recoding": True}}, "/objective/local_recoding", "out"),
        ({"solver": "btda"}, "/solver", "mondrian"),
        ({"solver": {"kind": "burel", "slack_margin": 1}}, "/solver/slack_margin", ""),
        ({"objective": {"privacy": [{"kind": "beta_likeness", "beta": 0}]}}, "/objective/privacy/0/beta", ""),
    ],
)
async def test_what_does_not_go_together_is_named(
    points: httpx.AsyncClient, more: Json, pointer: str, remedy: str
):
    objective = ASKED["objective"] | more.get("objective", {})
    body = ASKED | {"name": "no", "solver": "burel"} | more | {"objective": objective}
    problem = (await points.post("/v1/optimisations", json=body)).json()
    assert problem["status"] == 422, problem
    faults = {own["pointer"]: own.get("remedy") or "" for own in problem["errors"]}
    assert any(at.startswith(pointer) and remedy in own for at, own in faults.items()), faults


@pytest.mark.parametrize(
    ("solver", "privacy", "said"),
    [
        ("burel", [{"kind": "k_anonymity", "k": 2}], "0 criteria"),
        ("burel", [LIKE, LIKE | {"beta": 3}], "2 criteria"),
        ("burel", [LIKE, {"kind": "distinct_l_diversity", "l": 2}], "distinct_l_diversity"),
        ("burel", [LIKE | {"beta_negative": 0.5}], "without groups and beta_negative"),
        ("mondrian", [{"kind": "average_risk", "threshold": 0.2}], ""),
    ],
)
async def test_criteria_that_no_partition_keeps_are_refused(
    points: httpx.AsyncClient, solver: str, privacy: list[Json], said: str
):
    body = ASKED | {"name": "no", "solver": solver, "objective": ASKED["objective"] | {"privacy": privacy}}
    problem = (await points.post("/v1/optimisations", json=body)).json()
    assert problem["status"] == 422, problem
    assert said in str(problem), problem


async def test_tables_without_a_place_for_every_record_are_refused(points: httpx.AsyncClient):
    rows: list[tuple[Any, ...]] = [(x, y, f"v{value}") for x, y, value in ROWS]
    await table(points, "lacking", [(None, 3, "v1"), *rows])
    await table(points, "unsaid", [(1, 3, None), *rows])
    await table(points, "several", [(*own, f"p{i % 5}") for i, own in enumerate(rows)], person=True)
    for name, said in (("lacking", "'x'"), ("unsaid", "'value'"), ("several", "one record of each person")):
        body = ASKED | {"name": "no", "dataset": name, "solver": "burel"}
        problem = (await points.post("/v1/optimisations", json=body)).json()
        assert said in str(problem), problem
        assert problem["remedy"], problem


async def test_one_sensitive_value_and_constant_attributes_are_no_obstacle(api, points: httpx.AsyncClient):
    await table(points, "alike", [(1, y, "v0") for _, y, _ in ROWS])
    for solver in ("burel", "mondrian"):
        body = ASKED | {"name": f"alike-{solver}", "dataset": "alike", "solver": solver}
        result = await found(api, points, body)
        assert result["privacy"][0]["attained"] == 0
    lonely = await found(api, points, body | {"name": "one", "solver": "burel"})
    assert lonely["smallest_class"] == 1
    dry = await points.post("/v1/optimisations?dry_run=true", json=body | {"name": "dry", "solver": "burel"})
    assert "one sensitive value" in dry.json()["notes"][0]


async def test_the_class_of_a_value_that_occurs_once_is_told_before_the_search(
    api, points: httpx.AsyncClient
):
    await table(points, "rare", [(x, y, "rare" if not i else "usual") for i, (x, y, _) in enumerate(ROWS)])
    objective = ASKED["objective"] | {"privacy": [LIKE | {"beta": 1}]}
    body = ASKED | {"name": "rare", "dataset": "rare", "objective": objective, "solver": "burel"}
    dry = await points.post("/v1/optimisations?dry_run=true", json=body)
    # f(1/19) = 2/19: its class has ten records at least.
    assert dry.json()["notes"] == ["A sensitive value occurs once: its class has at least 10 of 19 records."]
    result = await found(api, points, body)
    assert result["privacy"][0]["attained"] <= 1
    assert (await points.post("/v1/optimisations?dry_run=true", json=ASKED | {"name": "d"})).json()[
        "notes"
    ] == []


async def test_solvers_of_other_objectives_do_not_take_partitions(journey: httpx.AsyncClient):
    body = EXAMPLES["members-optimum"] | {"name": "no", "solver": "burel"}
    problem = (await journey.post("/v1/optimisations", json=body)).json()
    assert "min_loss" in str(problem)
    result = await result_of(journey, "like-optimum")
    assert result["status"] in ("heuristic", "optimal")
    assert result["privacy"][0]["attained"] <= 2

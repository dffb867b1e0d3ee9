"""Frontiers of fixture F through the interface: points, prices, options and pictures."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest

from app.api.frontier_map import draw_frontier
from tests.api.fixture_f import post, upload
from tests.api.optimisations import IN_BACKGROUND, few_records, frontier, frontier_question, not_dominated
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio


async def test_the_prices_are_the_slopes_and_the_thinned_frontier_keeps_its_ends(api, fixture):
    whole = await frontier(api, fixture)
    for one, following in itertools.pairwise(whole["points"]):
        slope = (following["risk"] - one["risk"]) / (following["utility"] - one["utility"])
        assert one["price_of_utility"] == pytest.approx(slope)
    assert whole["points"][-1]["price_of_utility"] is None
    few = await frontier(api, fixture, name="few", max_points=3)
    assert (few["n_points"], len(few["points"])) == (whole["n_points"], 3)
    ends = [(p["utility"], p["risk"]) for p in (whole["points"][0], whole["points"][-1])]
    assert [(p["utility"], p["risk"]) for p in (few["points"][0], few["points"][-1])] == ends


R_OF_RECORD = (
    (0, 0.004545, 0.009375, 0.0125, 0.021429, 0.05, 0.108333, 0.21, 0.325, 0.483333),
    (0, 0.004545, 0.009375, 0.0125, 0.021429, 0.06, 0.1375, 0.23125, 0.325, 0.725),
    (0, 0.007576, 0.015625, 0.020833, 0.038889, 0.061111, 0.144444, 0.227778, 0.566667),
)
"""Least risk of each of the first three records at utility 0, 1, … under D1 (TV-11)."""


@pytest.mark.spec("TV-11")
async def test_the_frontier_of_three_records_is_that_of_their_least_risks(api, fixture):
    of = await few_records(fixture, "three", 3)
    result = await frontier(api, fixture, "D1", **of)
    least: dict[int, float] = {}
    for row in itertools.product(*(enumerate(risks) for risks in R_OF_RECORD)):
        total, risk = sum(u for u, _ in row), sum(r for _, r in row)
        least[total] = min(risk, least.get(total, risk))
    expected = not_dominated([(total / 3, risk / 3) for total, risk in least.items()])
    assert result["complete"] is True
    found = [(p["utility"], p["risk"]) for p in result["points"]]
    assert len(found) == len(expected)
    for (u, r), (v, s) in zip(found, expected, strict=True):
        assert (u, r) == (pytest.approx(v), pytest.approx(s, abs=2e-6))
    assert all(p["levels"] is None and p["kind"] in ("proven", "hull") for p in result["points"])


@pytest.mark.deep
@pytest.mark.parametrize(
    "more",
    [
        {"dictionary": "theta"},
        {"dictionary": "theta", "attacker_view": "worst_case"},
        {"dictionary": "theta-without-prior", "attacker_view": "worst_case_per_record",
         "scope": "record_level"},
        {"aggregate": "max"},
        {"attacker_view": "estimated"},
        {"max_points": 5},
    ],
)  # fmt: skip
async def test_every_option_has_an_answer_a_plan_and_a_hash_of_its_own(api, fixture, more):
    dry = (
        await fixture.post("/v1/frontiers", params={"dry_run": True}, json=frontier_question(**more))
    ).json()
    assert dry == (await fixture.post("/v1/frontiers/plans", json=frontier_question(**more))).json()
    assert (dry["route"], dry["missing"]) == ("run", [])
    assert dry["units"] > 0
    plain = await post(fixture, "frontiers", frontier_question(name="plain"))
    result = await frontier(api, fixture, **more)
    risks = [p["risk"] for p in result["points"]]
    utilities = [p["utility"] for p in result["points"]]
    assert risks == sorted(risks)
    assert utilities == sorted(utilities)
    items = (await fixture.get("/v1/frontiers")).json()["items"]
    assert len({item["sha256"] for item in items}) == 2
    assert plain["resource"]["kind"] == "frontier"


async def test_a_default_that_is_spelled_out_is_the_same_question_with_one_run(api, fixture):
    first = await post(fixture, "frontiers", frontier_question())
    spelled = frontier_question(aggregate="average", attacker_view="known", utility={"kind": "depth_sum"})
    again = await fixture.post("/v1/frontiers", json=spelled)
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    await api.work_off(first["id"])
    known = await post(fixture, "frontiers", frontier_question(name="known-already"))
    assert known["state"] == "succeeded"


def test_between_two_points_the_picture_shows_the_risk_of_the_more_useful_one():
    """Whoever needs more than the first point's utility has to take the second's risk."""
    points = [{"utility": u, "risk": r, "kind": "proven", "levels": None} for u, r in ((0, 1.0), (10, 2.0))]
    result = {"points": points, "n_points": 2, "complete": True, "aggregate": "average"}
    picture = ElementTree.fromstring(draw_frontier("two", result))
    places = [
        (float(e.attrib["cx"]), float(e.attrib["cy"]))
        for e in picture.iter()
        if e.tag.endswith("circle") and e.attrib.get("class") == "point"
    ]
    (left, low), (right, high) = sorted(set(places))
    (curve,) = (e.attrib["d"] for e in picture.iter() if e.attrib.get("class") == "curve")
    assert curve == f"M{right:.1f} {high:.1f}H{left:.1f}V{low:.1f}"


async def test_the_picture_has_a_mark_for_every_point(api, fixture):
    problem = problem_of(await fixture.get("/v1/frontiers/all/map"), 404, "not-found")
    assert "frontier" in problem["detail"]
    asked = frontier_question(name="waiting", max_points=7)
    run = (await fixture.post("/v1/frontiers", json=asked, headers=IN_BACKGROUND)).json()
    problem_of(await fixture.get("/v1/frontiers/waiting/map"), 409, "conflict")
    assert (await fixture.get("/v1/frontiers/waiting")).json()["result"] is None
    await api.work_off(run["id"])
    response = await fixture.get("/v1/frontiers/waiting/map")
    assert response.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in response.headers["content-security-policy"]
    picture = ElementTree.fromstring(response.text)
    marks = [e for e in picture.iter() if e.tag.endswith("circle") and "class" in e.attrib]
    result = (await fixture.get("/v1/frontiers/waiting")).json()["result"]
    assert len(marks) >= len(result["points"])
    assert "7 of" in response.text
    levels = (await fixture.get(f"/v1/runs/{run['id']}/map")).json()
    assert len(levels["points"]) == 7


async def test_a_map_of_levels_leaves_out_rules_record_by_record(api, fixture):
    run = await post(fixture, "frontiers", frontier_question(scope="record_level"))
    await api.work_off(run["id"])
    assert (await fixture.get(f"/v1/runs/{run['id']}/map")).json()["points"] == []


async def test_a_frontier_is_deleted_with_its_result(api, fixture):
    await frontier(api, fixture)
    problem_of(await fixture.delete("/v1/dictionaries/D1"), 409, "conflict")
    assert (await fixture.delete("/v1/frontiers/all")).status_code == 204
    problem_of(await fixture.get("/v1/frontiers/all"), 404, "not-found")


@pytest.mark.parametrize(
    ("more", "status", "code", "pointer"),
    [
        ({"max_points": 1}, 422, "invalid-input", "/max_points"),
        ({"max_points": 2001}, 422, "invalid-input", "/max_points"),
        ({"attacker_view": "bayes"}, 422, "invalid-input", "/attacker_view"),
        ({"failure": "personal", "risk_model": "II"}, 422, "invalid-input", "/failure"),
        ({"consistency": {"attributes": {"age": {}}}}, 422, "invalid-input", "/consistency/attributes/age"),
        ({"risk_model": "III_raw"}, 422, "not-supported", None),
        ({"dictionary": "theta", "attacker_view": "worst_case", "scope": "record_level"}, 422,
         "not-supported", None),
        ({"dictionary": "nobody"}, 422, "invalid-input", "/dictionary"),
    ],
)  # fmt: skip
async def test_what_does_not_fit_together_is_refused_and_listed_by_a_dry_run(
    fixture, more, status, code, pointer
):
    problem = problem_of(await fixture.post("/v1/frontiers", json=frontier_question(**more)), status, code)
    if pointer is not None:
        assert pointers(problem) == [pointer]
    if pointer != "/max_points":
        dry = (
            await fixture.post("/v1/frontiers", params={"dry_run": True}, json=frontier_question(**more))
        ).json()
        assert dry["route"] is None
        assert len(dry["missing"]) == 1
    assert (await fixture.get("/v1/frontiers")).json()["items"] == []


async def test_an_attribute_whose_values_have_several_parents_keeps_two_levels(api, client):
    parents = {"north": [None], "coast": [None], "Oslo": ["north", "coast"], "Rome": ["coast"]}
    await post(
        client, "hierarchies", {"name": "places", "definition": {"kind": "parents", "parents": parents}}
    )
    await upload(client, "T", ("place",), [("Oslo",), ("Rome",), ("Rome",)])
    attribute = {"name": "place", "type": "categorical", "role": "quasi_identifier", "hierarchy": "places"}
    await post(client, "datasets", {"name": "T", "upload": "T", "attributes": [attribute]})
    await post(client, "dictionaries", {"name": "D1", "from_dataset": "T"})
    harm = {"name": "personal", "dataset": "T", "family": "linear", "attributes": {"place": {"leaves": 1}}}
    await post(client, "sensitivity-profiles", harm)
    result = await frontier(api, client)
    assert (result["rules"], [own["levels"] for own in result["points"]]) == (2, [{"place": 2}, {"place": 0}])
    # One of one and two of two who are in that place: (1 + 1/2 + 1/2) / 3.
    assert [own["risk"] for own in result["points"]] == pytest.approx([0, 2 / 3])
    asked = frontier_question(
        name="best", objective={"kind": "min_risk", "utility_floor": 0}, scope="table_level"
    )
    run = await post(client, "optimisations", asked)
    await api.work_off(run["id"])
    best = (await client.get("/v1/optimisations/best")).json()["result"]
    assert (best["status"], best["rule"]["levels"]) == ("optimal", {"place": 2})

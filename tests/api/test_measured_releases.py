"""Measurements of stored releases: those of a rule, and those that a mechanism made."""

from __future__ import annotations

import math
from typing import Any

import httpx
import psycopg
import pytest

from app.domain.errors import Withdrawn
from tests.api.drawn_people import SAMPLED, UNIFORM, asked, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

CLASSES = {"kind": "equivalence_classes", "k": 2}


async def measured(client: httpx.AsyncClient, measure: dict[str, Any] = CLASSES, **of: Any) -> dict[str, Any]:
    response = await client.post("/v1/measurements", json={"measure": measure, **of})
    assert response.status_code in (200, 201), response.text
    found: dict[str, Any] = response.json()
    return found


async def drawn(client: httpx.AsyncClient) -> dict[str, Any]:
    await people(client)
    return await made(client.post("/v1/releases", json=asked()))


async def under_a_rule(client: httpx.AsyncClient, name: str = "ruled", **rule: Any) -> None:
    """A release of the same people under a rule of the same name."""
    rule = rule or {"kind": "suppression", "attributes": ["town"]}
    await made(client.post("/v1/rules", json={"name": name, "dataset": "people", "rule": rule}))
    await made(client.post("/v1/releases", json={"name": name, "dataset": "people", "rule": name}))


async def test_a_release_under_a_rule_is_measured_like_its_rule(client: httpx.AsyncClient):
    await people(client)
    await under_a_rule(client, kind="table_level", levels={}, suppress_classes_below=40)
    for measure in (CLASSES, {"kind": "beta_likeness"}, {"kind": "anonymity"}):
        of_rule = await measured(client, measure, dataset="people", rule="ruled")
        of_release = await measured(client, measure, release="ruled")
        assert of_release["result"] == of_rule["result"]
        assert of_release["rule"] == of_rule["rule"]
        assert (of_rule["release"], of_release["release"]) == (None, "ruled")
        assert (of_release["dataset"], of_release["name"] == of_rule["name"]) == ("people", False)
    assert of_release["result"]["k_equivalence"] == 60


async def test_the_classes_of_a_drawn_release_are_those_of_its_rows(client: httpx.AsyncClient):
    await drawn(client)
    found = await measured(client, release="drawn")
    assert (found["release"], found["rule"], found["dataset"]) == ("drawn", None, "people")
    assert (found["result"]["k"], found["result"]["judged"]["classes"]) == (30, 2)
    beside = await measured(client, dataset="people", release="drawn")
    assert beside["id"] == found["id"]


async def test_what_was_drawn_is_measured_by_its_matrix_and_its_rows(client: httpx.AsyncClient):
    manifest = await drawn(client)
    published = manifest["mechanism"]["published"]
    # Of three values alike at β = 2 a row is kept with X = f/(…) and any other comes of Y.
    x, y = (own[0] for own in (published["retention"], published["elsewhere"]))
    belief = (x + y) / (x + 3 * y)
    found = (await measured(client, {"kind": "beta_likeness", "beta": 2}, release="drawn"))["result"]
    assert found["beta_basic"] == pytest.approx(3 * belief - 1)
    assert (found["is_met"], found["reference"], found["judged"]["records"]) == (True, "published", 60)
    assert found["worst"]["exposed"]["records"] == found["worst"]["with_value"]
    attack = (await measured(client, {"kind": "skewness_attack", "gain": 0.5}, release="drawn"))["result"]
    assert attack["success_rate"] == pytest.approx(belief)
    assert attack["records_exposed"] == 60
    loss = (await measured(client, {"kind": "information_loss"}, release="drawn"))["result"]
    assert (loss["geometric"], loss["kl_divergence"]) == (0, None)
    assert loss["expected_retention"] == pytest.approx(x + y)
    queries = {"kind": "query_accuracy", "queries": 20, "predicates": 1, "selectivity": 0.3}
    counts = (await measured(client, queries, release="drawn"))["result"]
    assert (counts["attribute"], counts["answered"] + counts["dropped"]) == ("illness", 20)
    assert counts["baseline_error"] == pytest.approx(0, abs=1e-9)
    # In one of seven draws most counts are met exactly, by chance.
    assert counts["median_error"] >= 0
    assert counts["median_standard_error"] > 0
    assert counts == (await measured(client, queries, release="drawn"))["result"]


async def test_an_attacker_who_knows_the_people_is_told_about(client: httpx.AsyncClient):
    await drawn(client)
    await made(client.post("/v1/dictionaries", json={"name": "knows-all", "from_dataset": "people"}))
    body = {"release": "drawn", "dictionary": "knows-all"}
    found = (await measured(client, {"kind": "posterior_beliefs"}, **body))["result"]
    # What is known of each town is what is known of all: a row tells no more than the guarantee allows.
    assert found["records_with_number"] == 60
    assert 1 < found["greatest_ratio"] <= 3 * (1 - math.log(1 / 3)) / 3 + 1e-9


async def test_groups_of_a_drawn_release_are_reconstructed_from_its_rows_for_who_may_read_them(
    api: Api, client: httpx.AsyncClient
):
    await people(client)
    await made(client.post("/v1/releases", json=asked(mechanism=UNIFORM)))
    await made(client.post("/v1/dictionaries", json={"name": "knows-all", "from_dataset": "people"}))
    body = {"release": "drawn", "dictionary": "knows-all"}
    found = (await measured(client, {"kind": "micro_reconstruction"}, **body))["result"]
    assert (found["p"], found["groups"], found["records"]) == (0.25, 2, 60)
    assert (found["sought"]["of_own_group"], found["sought"]["persons"]) == (60, 60)
    lines = (await client.get("/v1/releases/drawn/data?format=csv")).text.splitlines()[1:]
    for group in found["worst"]:
        assert (group["records"], group["persons"]) == (30, 30)
        for value in group["values"]:
            assert value["shown"] == lines.count(f"{group['shows'][0]},{value['value']}")
            assert value["estimated"] == pytest.approx((value["shown"] / 30 - 0.25) / 0.25)
    refused = await client.post(
        "/v1/measurements", json={"release": "drawn", "measure": {"kind": "scale_attack"}}
    )
    assert "copies none" in problem_of(refused, 422, "not-supported")["detail"]
    token = (await made(client.post("/v1/api-keys", json={"name": "blind", "scopes": ["assess"]})))["token"]
    async with api.client(token) as blind:
        answer = await blind.post(
            "/v1/measurements", json=body | {"measure": {"kind": "micro_reconstruction"}}
        )
        assert answer.json()["result"]["groups"] == 2
        assert not any(own in answer.text for own in ("flu", "asthma", "gout", "Rome", "Bari"))


async def test_copies_of_samples_are_read_in_a_stored_release(client: httpx.AsyncClient):
    """Of 30 records 6 are sampled at most, whatever they show; as published some 14 of three values alike,
    of which chance decides whether their counts fit two copies better than others.
    """
    await people(client)
    paper = {"epsilon": 1.0, "mode": "paper", "accept_known_leak": True}
    for name, more in (("fixed", {"epsilon": 1.0}), ("paper", paper)):
        mechanism = SAMPLED | more
        body = asked(name, mechanism=mechanism, independent_of_earlier=name == "paper")
        await made(client.post("/v1/releases", json=body))
        found = (await measured(client, {"kind": "scale_attack"}, release=name))["result"]
        assert (found["mode"], found["groups"]) == ("balanced_fixed" if name == "fixed" else "paper", 2)
        assert found["groups_told"] == 0 or name == "paper"
        reconstructed = (await measured(client, {"kind": "micro_reconstruction"}, release=name))["result"]
        assert (reconstructed["groups_exposed"] is None) == (name == "paper")
        assert reconstructed["worst"][0]["values"][0]["believed"] is None
        queries = {"kind": "query_accuracy", "queries": 20, "predicates": 1, "selectivity": 0.3}
        counts = (await measured(client, queries, release=name))["result"]
        assert (counts["attribute"], counts["answered"]) == ("illness", 20)
        # By chance at least half of the counts may be met exactly.
        assert counts["median_error"] >= 0
        errors = {counts["median_standard_error"], counts["within_intervals"]}
        assert (None in errors) == (name == "paper") == ("not told" in (counts["without_errors"] or ""))
    assert "published in copies" in reconstructed["standard_errors"]


async def test_a_dataset_without_quasi_identifiers_is_measured_as_one_group(client: httpx.AsyncClient):
    await people(client, town="other")
    await made(client.post("/v1/releases", json=asked(mechanism=SAMPLED | {"epsilon": 1.0})))
    for kind in ("micro_reconstruction", "scale_attack"):
        found = (await measured(client, {"kind": kind}, release="drawn"))["result"]
        assert (found["groups"], found["quasi_identifiers"]) == (1, [])
    quotients = {"kind": "ratio_attack", "rate": 0.1}
    answer = await made(client.post("/v1/measurements", json={"dataset": "people", "measure": quotients}))
    assert (answer["result"]["groups"], answer["result"]["records"]) == (1, 60)


async def test_values_of_cells_are_shown_to_who_may_read_them(api: Api, client: httpx.AsyncClient):
    await drawn(client)
    token = (await made(client.post("/v1/api-keys", json={"name": "blind", "scopes": ["assess"]})))["token"]
    async with api.client(token) as blind:
        for kind in ("beta_likeness", "skewness_attack"):
            body = {"release": "drawn", "measure": {"kind": kind}}
            answer = await blind.post("/v1/measurements", json=body)
            assert answer.status_code == 201, answer.text
            assert not any(illness in answer.text for illness in ("flu", "asthma", "gout"))
    again = await measured(client, {"kind": "beta_likeness"}, release="drawn")
    assert again["result"]["worst"]["value"] in ("flu", "asthma", "gout")


async def test_another_attribute_than_the_one_drawn_is_refused(client: httpx.AsyncClient):
    await drawn(client)
    for measure, reason in (
        ({"kind": "beta_likeness", "attribute": "town"}, "only 'illness' was drawn"),
        ({**CLASSES, "quasi_identifiers": ["town", "illness"]}, "'illness' is among the quasi-identifiers"),
    ):
        body = {"release": "drawn", "measure": measure}
        problem = problem_of(await client.post("/v1/measurements", json=body), 422, "not-supported")
        assert reason in problem["detail"]
    body = {"release": "drawn", "measure": {"kind": "beta_likeness", "attribute": "absent"}}
    problem = problem_of(await client.post("/v1/measurements", json=body), 422, "invalid-input")
    assert problem["errors"][0]["pointer"] == "/measure/attribute"


async def test_what_does_not_fit_together_is_refused_with_the_field(client: httpx.AsyncClient):
    await drawn(client)
    await under_a_rule(client)
    await people(client, "others", "people", town="sensitive")
    for of, pointer, code in (
        ({"release": "drawn", "rule": "ruled"}, "/rule", "rule-beside-release"),
        ({"release": "drawn", "rule": {"kind": "identity"}}, "/rule", "rule-beside-release"),
        ({}, "/dataset", "missing"),
        ({"release": "drawn", "dataset": "others"}, "/dataset", "other-dataset"),
    ):
        body = {"measure": CLASSES, **of}
        for path in ("", "/runs"):
            problem = problem_of(
                await client.post(f"/v1/measurements{path}", json=body), 422, "invalid-input"
            )
            assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [(pointer, code)]
    plan = await client.post("/v1/measurements/plans", json=body)
    assert [(own["pointer"], own["code"]) for own in plan.json()["missing"]] == [
        ("/dataset", "other-dataset")
    ]
    absent = {"measure": CLASSES, "release": "absent", "dataset": "nobody"}
    problem_of(await client.post("/v1/measurements", json=absent), 422, "invalid-input")
    missing = (await client.post("/v1/measurements/plans", json=absent)).json()["missing"]
    assert [own["pointer"] for own in missing] == ["/release", "/dataset"]


async def test_a_measure_of_records_refuses_a_drawn_release_with_the_reason(client: httpx.AsyncClient):
    await drawn(client)
    body = {"release": "drawn", "measure": {"kind": "anonymity"}}
    problem = problem_of(await client.post("/v1/measurements", json=body), 422, "not-supported")
    assert "nobody can tell whose a row is that the mechanism perturbation made" in problem["detail"]
    catalogue = (await client.get("/v1/catalogue")).json()["measures"]
    reads = {own["name"]: own["reads"] for own in catalogue}
    assert (reads["anonymity"], reads["equivalence_classes"]) == (["records"], ["classes", "records"])
    plan = (await client.post("/v1/measurements/plans", json=body)).json()
    assert [own["code"] for own in plan["missing"]] == ["not-supported"]


async def test_a_run_measures_what_is_stored(client: httpx.AsyncClient):
    await drawn(client)
    run = await client.post(
        "/v1/measurements/runs", json={"release": "drawn", "measure": CLASSES}, headers={"Prefer": "wait=20"}
    )
    assert run.json()["state"] == "succeeded", run.text
    again = await measured(client, release="drawn")
    assert again["result"]["k"] == 30


async def test_a_measurement_stays_with_its_release_and_leaves_before_it(
    client: httpx.AsyncClient, database_urls: Any
):
    await drawn(client)
    await under_a_rule(client)
    by_draw = await measured(client, release="drawn", name="by-draw")
    by_rule = await measured(client, release="ruled", name="by-rule")
    for release, user, measurement in (("drawn", "by-draw", by_draw), ("ruled", "by-rule", by_rule)):
        problem = problem_of(await client.delete(f"/v1/releases/{release}"), 409, "conflict")
        assert problem["details"]["users"] == [
            {"kind": "measurement", "name": user, "href": f"/v1/measurements/{user}"}
        ]
        assert (await client.delete(f"/v1/measurements/{measurement['id']}")).status_code == 204
        assert (await client.delete(f"/v1/releases/{release}")).status_code == 204
    hashes = [by_draw["sha256"], by_rule["sha256"]]
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT count(*) FROM results WHERE input_sha256 = ANY(%s)"
        assert connection.execute(query, [hashes]).fetchone() == (0,)
    problem_of(
        await client.post("/v1/measurements", json={"release": "drawn", "measure": CLASSES}),
        422,
        "invalid-input",
    )
    assert (await client.delete("/v1/rules/ruled")).status_code == 204
    assert (await client.delete("/v1/datasets/people")).status_code == 204


async def test_the_same_question_of_another_release_is_another_question(client: httpx.AsyncClient):
    await drawn(client)
    await made(client.post("/v1/releases", json=asked("second", independent_of_earlier=True)))
    await under_a_rule(client, "as-it-is", kind="identity")
    found = [await measured(client, release=name) for name in ("drawn", "second", "as-it-is")]
    found.append(await measured(client, dataset="people", rule="as-it-is"))
    assert len({own["sha256"] for own in found}) == 4
    # A name can come to lead to another draw of the same question.
    for path in (f"measurements/{found[1]['id']}", "releases/second"):
        assert (await client.delete(f"/v1/{path}")).status_code == 204
    body = asked("second", independent_of_earlier=True)
    anew = await made(client.post("/v1/releases", json=body))
    assert (await measured(client, release="second"))["sha256"] != found[1]["sha256"]
    assert anew["mechanism"]["draw"] == 3


async def test_a_plan_of_query_accuracy_tells_what_its_creation_would_refuse(client: httpx.AsyncClient):
    await drawn(client)
    for more, pointer in (
        ({"predicates": 2}, "/measure/predicates"),
        ({"attribute": "town"}, "/measure/attribute"),
    ):
        body = {"release": "drawn", "measure": {"kind": "query_accuracy", "predicates": 1, **more}}
        refused = problem_of(await client.post("/v1/measurements", json=body), 422, "invalid-input")
        plan = (await client.post("/v1/measurements/plans", json=body)).json()
        told = [
            [(own["pointer"], own["code"]) for own in faults]
            for faults in (refused["errors"], plan["missing"])
        ]
        assert told[0] == told[1]
        assert told[0][0][0] == pointer


async def test_no_measure_tells_the_rows_of_a_release_that_was_withdrawn(api: Api, client: httpx.AsyncClient):
    await drawn(client)
    rows = {"kind": "group_inference", "least_records": 1}
    before = await measured(client, rows, name="before", release="drawn")
    run = await client.post("/v1/measurements/runs", json={"release": "drawn", "measure": {**rows, "top": 3}})
    assert (await client.post("/v1/releases/drawn/withdrawal")).status_code == 200
    for measure in (rows, CLASSES, {"kind": "beta_likeness"}):
        body = {"release": "drawn", "measure": measure}
        for path in ("", "/runs"):
            problem_of(await client.post(f"/v1/measurements{path}", json=body), 410, "withdrawn")
        plan = (await client.post("/v1/measurements/plans", json=body)).json()
        assert [own["code"] for own in plan["missing"]] == ["withdrawn"]
    with pytest.raises(Withdrawn):
        await api.work_off(run.json()["id"])
    # What was told while it was given out stays.
    assert (await client.get("/v1/measurements/before")).json()["result"] == before["result"]


async def test_nobody_measures_another_tenants_release(
    api: Api, client: httpx.AsyncClient, other_client: Any
):
    await drawn(client)
    body = {"release": "drawn", "measure": CLASSES}
    problem_of(await other_client.post("/v1/measurements", json=body), 422, "invalid-input")


async def test_values_are_handed_out_within_the_classes_of_a_rule_and_not_of_a_draw(
    client: httpx.AsyncClient,
):
    await drawn(client)
    await under_a_rule(client)
    body = {"kind": "definetti_attack", "starts": 2, "seed": 1}
    found = (await measured(client, body, release="ruled"))["result"]
    # Nobody tells 30 from one town or the other by illnesses that are the same in both.
    assert (found["records"], found["judged"]["classes"]) == (60, 1)
    assert (found["success_random"], found["success_before"]) == pytest.approx((1 / 3, 1 / 3))
    assert found["success_rate"] == pytest.approx(1 / 3, abs=0.15)
    assert len(found["rounds"]) == 2
    refused = problem_of(
        await client.post("/v1/measurements", json={"release": "drawn", "measure": body}),
        422,
        "not-supported",
    )
    assert "under a rule" in refused["remedy"]
    likeness = {"kind": "beta_likeness", "beta_negative": 0.5}
    refused = problem_of(
        await client.post("/v1/measurements", json={"release": "drawn", "measure": likeness}),
        422,
        "not-supported",
    )
    assert "beta_negative" in refused["remedy"]


async def test_random_shares_of_known_people_are_asked_of_a_release(client: httpx.AsyncClient):
    await people(client)
    await under_a_rule(client)
    body = {"kind": "background_knowledge_attack", "known_share": 0.9, "known_draws": 5}
    found = (await measured(client, body, release="ruled"))["result"]["corruption"]
    assert (found["known_records"], len(found["quantiles"])) == (54, 5)
    assert 1 / 3 <= found["quantiles"][0] <= found["mean_belief"] <= found["quantiles"][-1] <= 1
    before = (await measured(client, {"kind": "background_knowledge_attack"}, release="ruled"))["result"]
    assert before["corruption"] is None

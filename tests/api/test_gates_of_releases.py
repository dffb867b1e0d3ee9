"""Gates on stored releases: by a rule, and by a mechanism whose guarantees are judged as they stand."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any

import httpx
import pytest

from app.evidence.canonical import instant_text
from app.evidence.envelope import opened
from app.evidence.keys import read_keys
from app.evidence.statement import statement_of
from app.evidence.verification import check_page, verify
from tests.api.drawn_people import PERTURBED, SAMPLED, UNIFORM, asked, data, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
ALL = {"name": "all", "dataset": "people", "rule": {"kind": "identity"}}
STATED = {"attributes": {"town": "quasi_identifier", "illness": "sensitive"}}


def promised(beta: Json | None = None, **more: Any) -> Json:
    own = {key: more.pop(key) for key in ("bound", "attribute") if key in more}
    bounds = {} if beta is None else {"beta": beta}
    demand = {"kind": "guarantee", "model": {"kind": "beta_likeness", **bounds, **own}}
    return {"may_rest_on_assumptions": True, **demand, **more}


def at_least(
    value: str, threshold: Any, kind: str = "equivalence_classes", comparison: str = "at_least"
) -> Json:
    return {
        "kind": "measure",
        "measure": {"kind": kind},
        "value": value,
        "comparison": comparison,
        "threshold": threshold,
    }


TOWNS_TOGETHER = at_least("k", 30)
RARE = {"not_covered": [{"columns": ["illness"], "reason": "Nobody outside the study knows an illness."}]}
"""Illnesses that fewer people have than share a town."""


async def gate(client: httpx.AsyncClient, name: str, *demands: Json, **more: Any) -> str:
    """A stored policy with these blocking requirements, numbered from 0."""
    policy = {
        "format": "privacy-risk/policy/2", "name": name, "version": 1, "title": "Of releases",
        "assumes": {"attacker": "Who finds a person's record."}, "schema": STATED,
        "requirements": [
            {"id": str(number), "title": "It holds", "reason": "For the test.", "requirement": demand}
            for number, demand in enumerate(demands)
        ],
        **more,
    }  # fmt: skip
    await made(client.post("/v1/policies", json=policy))
    return f"/v1/gates/{name}/evaluations"


async def verdict(client: httpx.AsyncClient, gate: str, name: str = "drawn", **more: Any) -> Json:
    answer = await client.post(gate, json={"release": {"name": name}, **more})
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()["result"]
    return found


async def drawn(client: httpx.AsyncClient, **more: Any) -> None:
    await people(client)
    await made(client.post("/v1/releases", json=asked(**more)))


async def test_a_release_that_keeps_its_guarantee_passes(client: httpx.AsyncClient):
    await drawn(client)
    own = await gate(client, "p", promised({"at_most": 2}, bound="enhanced"), TOWNS_TOGETHER)
    result = await verdict(client, own)
    assert result["verdict"] == "pass"
    guarantee, classes = result["criteria"]
    manifest = (await client.get("/v1/releases/drawn")).json()
    assert guarantee["promised"] == manifest["mechanism"]["guarantees"][0]
    assert "prior is common" in guarantee["explanation"]
    assert (classes["value"], classes["worst"]) == (30, None)
    assert result["subject"]["rule"] is None
    assert result["subject"]["release"]["name"] == "drawn"
    assert (result["subject"]["order"], result["earlier_releases"]["total"]) == ("shuffled", 0)
    columns = {column["name"]: column["judged_by"] for column in result["coverage"]["columns"]}
    assert columns == {"town": ["1"], "illness": ["0"]}


@pytest.mark.parametrize(
    ("mechanism", "model", "within", "beyond"),
    [
        (UNIFORM, {"kind": "amplification"}, {"gamma": {"at_most": 3}}, {"gamma": {"at_most": 1.5}}),
        (SAMPLED, {"kind": "reconstruction_bound"}, {"p": {"at_most": 0.5}}, {"delta": {"at_least": 0.9}}),
    ],
    ids=["uniform", "sampled"],
)
async def test_the_guarantee_of_each_mechanism_can_be_asked_for(
    client: httpx.AsyncClient, mechanism: Json, model: Json, within: Json, beyond: Json
):
    await drawn(client, mechanism=mechanism)
    for name, bounds, outcome in (("within", within, "passed"), ("beyond", beyond, "failed")):
        # What a source claims of a bound is no proof of an error.
        status = {"status": "as_published"} if model["kind"] == "reconstruction_bound" else {}
        demand = promised() | {"model": model | bounds} | status
        excused = [{"columns": ["illness"], "reason": "The test is about the guarantee."}]
        own = await gate(client, name, demand, TOWNS_TOGETHER, not_covered=excused)
        result = await verdict(client, own)
        assert [found["outcome"] for found in result["criteria"]] == [outcome, "passed"]


async def test_a_measure_reads_the_matrix_and_covers_what_was_drawn(client: httpx.AsyncClient):
    await drawn(client)
    likeness = at_least("beta_enhanced", 2, "beta_likeness", "at_most")
    own = await gate(client, "p", likeness, TOWNS_TOGETHER, **RARE)
    result = await verdict(client, own)
    measured = {"dataset": "people", "release": "drawn", "measure": {"kind": "beta_likeness"}}
    found = (await made(client.post("/v1/measurements", json=measured)))["result"]
    assert result["verdict"] == "pass"
    assert result["criteria"][0]["value"] == pytest.approx(found["beta_enhanced"])
    columns = {column["name"]: column["judged_by"] for column in result["coverage"]["columns"]}
    assert columns == {"town": ["1"], "illness": ["0"]}


async def test_quasi_identifiers_that_stand_as_they_are_need_a_requirement_of_their_own(client):
    text = (
        "town,illness\n" + "".join(f"T{n},{'flu' if n % 2 else 'gout'}\n" for n in range(40)) + "T40,asthma\n"
    )
    headers = {"Content-Type": "text/csv"}
    await made(client.post("/v1/uploads?name=alone", content=text, headers=headers))
    await people(client, "people", "alone")
    await made(client.post("/v1/releases", json=asked()))
    result = await verdict(client, await gate(client, "p", promised({"at_most": 2})))
    assert [own["outcome"] for own in result["criteria"]] == ["passed"]
    assert (result["verdict"], result["coverage"]["outcome"]) == ("fail", "not_covered")
    (uncovered,) = result["coverage"]["uncovered"]
    # What was drawn finds nobody, be it shown once or not at all.
    assert (uncovered["columns"], uncovered["why"]) == (["town"], "singles_out")
    alone = await verdict(client, await gate(client, "classes", promised({"at_most": 2}), TOWNS_TOGETHER))
    assert [own["outcome"] for own in alone["criteria"]] == ["passed", "failed"]
    excused = [{"columns": ["town"], "reason": "Everybody knows who takes part."}]
    own = await gate(client, "excused", promised({"at_most": 2}), not_covered=excused)
    assert (await verdict(client, own))["verdict"] == "pass"
    # A guarantee that everybody keeps answers for nothing.
    lax = await gate(client, "lax", promised({"at_most": 1_000_000}), not_covered=excused)
    (illness,) = [
        column
        for column in (await verdict(client, lax))["coverage"]["columns"]
        if column["name"] == "illness"
    ]
    assert illness["judged_by"] == []


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (promised({"at_most": 1}), "β is 2; it must be at most 1"),
        (promised({"below": 2}), "it must be below 2"),
        (
            promised({"at_most": 2}, may_rest_on_assumptions=False),
            "which the policy does not allow: prior is",
        ),
    ],
)
async def test_what_a_guarantee_lacks_is_said(client: httpx.AsyncClient, demand: Json, said: str):
    await drawn(client)
    result = await verdict(client, await gate(client, "p", demand))
    (found,) = result["criteria"]
    assert (result["verdict"], found["outcome"], found["value"]) == ("fail", "failed", False)
    assert said in found["explanation"]
    assert found["promised"]["standing"] == "certified"
    assert result["changes"] == []


async def test_a_release_under_a_rule_that_shows_the_values_takes_the_guarantee_away(client):
    await drawn(client)
    own = await gate(client, "p", promised({"at_most": 2}))
    body = {"name": "first", "release": {"name": "drawn"}}
    first = await made(client.post(own, json=body))
    assert first["result"]["verdict"] == "pass"
    await made(client.post("/v1/rules", json=ALL))
    await made(client.post("/v1/releases", json={"name": "open", "dataset": "people", "rule": "all"}))
    # It is another question by now, and the answer is another one.
    problem_of(await client.post(own, json=body), 409, "conflict")
    later = await made(client.post(own, json=body | {"name": "later"}))
    (found,) = later["result"]["criteria"]
    assert (later["result"]["verdict"], found["promised"]["standing"]) == ("fail", "none")
    assert "not shown otherwise does not hold: 1 stored releases" in found["explanation"]
    assert {own["id"]: own["holds"] for own in found["hypotheses"]}["not_shown_otherwise"] == "no"
    assert (await client.get("/v1/evaluations/first")).json()["result"] == first["result"]


async def test_of_several_draws_what_they_promise_together_is_left(client: httpx.AsyncClient):
    await drawn(client)
    more = asked("more", mechanism=PERTURBED | {"beta": 1}, independent_of_earlier=True)
    await made(client.post("/v1/releases", json=more))
    together = (await client.get("/v1/releases/drawn")).json()["mechanism"]["together"]
    lax = await gate(client, "lax", promised({"at_most": together["parameters"]["beta"]}))
    found = (await verdict(client, lax))["criteria"][0]
    assert (found["outcome"], found["promised"]["parameters"]) == ("passed", together["parameters"])
    strict = await gate(client, "strict", promised({"at_most": 2}, bound="enhanced"))
    (failed,) = (await verdict(client, strict))["criteria"]
    assert failed["outcome"] == "failed"
    await client.delete("/v1/releases/more")
    gone = await verdict(client, lax)
    assert "drawn once does not hold: 2 draws" in gone["criteria"][0]["explanation"]


async def test_draws_by_two_mechanisms_keep_the_product_of_their_odds_until_one_is_gone(
    client: httpx.AsyncClient,
):
    await drawn(client)
    await made(
        client.post("/v1/releases", json=asked("more", mechanism=UNIFORM, independent_of_earlier=True))
    )
    gamma = (await client.get("/v1/releases/more")).json()["mechanism"]["together"]["parameters"]["gamma"]
    model = {"kind": "amplification", "gamma": {"at_most": gamma}}
    demand = {"kind": "guarantee", "model": model, "may_rest_on_assumptions": True}
    own = await gate(client, "p", demand)
    assert (await verdict(client, own))["criteria"][0]["outcome"] == "passed"
    stricter = {**demand, "model": {"kind": "amplification", "gamma": {"at_most": gamma * 0.99}}}
    below = await gate(client, "below", stricter)
    assert (await verdict(client, below))["criteria"][0]["outcome"] == "failed"
    await client.delete("/v1/releases/more")
    (gone,) = (await verdict(client, own))["criteria"]
    assert (gone["outcome"], gone["promised"]["standing"]) == ("failed", "none")
    assert gone["explanation"].startswith("Nothing is known of what 2 draws of 'illness' tell together")
    assert "matrices known does not hold" in gone["explanation"]


async def test_a_policy_asks_for_differential_privacy_with_a_tiny_delta(client: httpx.AsyncClient):
    private = {"kind": "stability_histogram", "epsilon": 5, "delta": 1e-10, "least_records": 60}
    await drawn(client, mechanism=private)

    def demand(epsilon: float, delta: float) -> Json:
        model = {
            "kind": "differential_privacy",
            "epsilon": {"at_most": epsilon},
            "delta": {"at_most": delta},
        }
        return {"kind": "guarantee", "model": model, "may_rest_on_assumptions": True}

    own = await gate(client, "p", demand(5, 1e-10), demand(5, 1e-11), demand(4, 1e-10))
    result = await verdict(client, own)
    assert [criterion["outcome"] for criterion in result["criteria"]] == ["passed", "failed", "failed"]
    # How many records there are is secret: neither verdict, report nor signed evidence tells it.
    released = (await client.get("/v1/releases/drawn")).json()
    assert result["subject"]["records"] is None
    assert result["subject"]["release"]["records"] == released["rows"]
    body = {"name": "e", "release": {"name": "drawn"}}
    assert (await client.post(own, json=body)).status_code == 201
    statement = json.loads((await client.get("/v1/evaluations/e/evidence")).content)["payload"]
    assert b'"records":null' in base64.b64decode(statement)
    report = (await client.get("/v1/evaluations/e/report")).text
    assert "of whose records the number is not told" in report
    assert f"{released['rows']} rows of noisy counts" in report
    assert "δ is 1e-10; it must be at most 1e-11" in result["criteria"][1]["explanation"]


async def test_what_cannot_be_read_of_it_is_an_error_and_never_passes(client: httpx.AsyncClient):
    await drawn(client)
    unreadable = [
        {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
        at_least("is_t_close", True, "t_closeness", "equals"),
    ]
    own = await gate(client, "p", promised({"at_most": 2}), *unreadable)
    result = await verdict(client, own)
    assert result["verdict"] == "error"
    assert [found["outcome"] for found in result["criteria"]] == [
        "passed",
        "not_computable",
        "not_computable",
    ]
    for found in result["criteria"][1:]:
        assert "nobody can tell whose a row is" in found["error"]["message"]
        assert found["error"]["remedy"]
    plan = (await client.post(f"{own}/plans", json={"release": {"name": "drawn"}})).json()
    assert [found["error"] is None for found in plan["criteria"]] == [True, False, False]


async def test_a_rules_release_means_its_rule_and_promises_nothing(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/rules", json=ALL))
    await made(client.post("/v1/releases", json={"name": "open", "dataset": "people", "rule": "all"}))
    in_order = {"name": "ordered", "dataset": "people", "rule": "all", "order": "records"}
    await made(client.post("/v1/releases", json=in_order))
    model = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 30}}
    own = await gate(client, "p", model, **RARE)
    result = await verdict(client, own, "open")
    answer = await client.post(own, json={"dataset": "people", "rule": "all"})
    plainly = answer.json()["result"]
    assert (result["verdict"], result["criteria"]) == ("pass", plainly["criteria"])
    assert result["subject"]["rule_sha256"] == plainly["subject"]["rule_sha256"]
    assert result["subject"]["release"]["mechanism"] is None
    assert [one["name"] for one in result["earlier_releases"]["releases"]] == ["ordered"]
    ordered = await verdict(client, own, "ordered")
    assert (ordered["subject"]["order"], ordered["subject"]["order_chosen"]) == ("records", True)
    asking = await gate(client, "asking", promised({"at_most": 2}))
    for more in ({"release": {"name": "open"}}, {"dataset": "people", "rule": "all"}):
        found = (await client.post(asking, json=more)).json()["result"]
        assert found["verdict"] == "error"
        assert "no mechanism promises anything" in found["criteria"][0]["error"]["message"]


async def test_a_release_that_is_not_to_be_had_is_refused_with_the_reason(
    api: Api, client: httpx.AsyncClient
):
    await drawn(client)
    await people(client, "others", "people")
    own = await gate(client, "p", promised({"at_most": 2}))
    problem_of(await client.post(own, json={"release": {"name": "nobodys"}}), 422, "invalid-input")
    other = problem_of(
        await client.post(own, json={"dataset": "others", "release": {"name": "drawn"}}), 422, "invalid-input"
    )
    assert other["errors"][0]["pointer"] == "/release/name"
    upload_alone = {"release": {"upload": "people"}}
    for release in ({"name": "drawn", "upload": "people"}, {"name": "drawn", "key": "town"}, {}):
        problem_of(
            await client.post(own, json={"dataset": "people", "release": release}), 422, "invalid-input"
        )
    problem_of(await client.post(own, json=upload_alone), 422, "invalid-input")
    _, token = await api.tenant_with_key()
    async with api.client(token) as stranger:
        there = await gate(stranger, "p", promised({"at_most": 2}))
        problem_of(await stranger.post(there, json={"release": {"name": "drawn"}}), 422, "invalid-input")
    await client.post("/v1/releases/drawn/withdrawal")
    refused = problem_of(await client.post(own, json={"release": {"name": "drawn"}}), 410, "withdrawn")
    assert "was withdrawn on" in refused["detail"]
    plan = (await client.post(f"{own}/plans", json={"release": {"name": "drawn"}})).json()
    assert [fault["code"] for fault in plan["missing"]] == ["withdrawn"]
    assert (await client.get("/v1/evaluations")).json()["items"] == []


async def test_the_evidence_signs_the_guarantee_and_names_the_table(client: httpx.AsyncClient):
    await drawn(client)
    own = await gate(client, "p", promised({"at_most": 2}), TOWNS_TOGETHER)
    evaluation = await made(client.post(own, json={"name": "e", "release": {"name": "drawn"}}))
    envelope = (await client.get("/v1/evaluations/e/evidence")).content
    statement = statement_of(opened(envelope).content)
    stated = statement.predicate
    assert stated["result"]["criteria"][0]["promised"] == evaluation["result"]["criteria"][0]["promised"]
    assert "drawn_once" in {found["id"] for found in stated["hypotheses"]}
    assert (stated["parameters"]["release"], stated["parameters"]["rule"]) == ({"name": "drawn"}, None)
    assert "release" in {one["role"] for one in stated["inputs"]}
    files = {one.name: one.sha256 for one in statement.subjects}
    report = (await client.get("/v1/evaluations/e/report")).text
    assert "made by the mechanism perturbation" in report
    assert "no value becomes more than 3 times as likely" in report
    assert files["file/drawn"] == sha256(await data(client)).hexdigest()
    problem_of(await client.delete("/v1/releases/drawn"), 409, "conflict")


async def test_of_a_release_that_is_withdrawn_later_verdict_and_evidence_say_so(client: httpx.AsyncClient):
    await drawn(client)
    own = await gate(client, "p", promised({"at_most": 2}), TOWNS_TOGETHER)
    before = await made(client.post(own, json={"name": "e", "release": {"name": "drawn"}}))
    signed = (await client.get("/v1/evaluations/e/evidence")).content
    withdrawn_at = (await client.post("/v1/releases/drawn/withdrawal")).json()["withdrawn_at"]
    after = (await client.get("/v1/evaluations/e")).json()
    assert before["release_withdrawn_at"] is None
    assert after == before | {"release_withdrawn_at": withdrawn_at}
    handed_out = (await client.get("/v1/evaluations/e/evidence")).content
    assert handed_out == (await client.get(f"/v1/evidence/{before['evidence']['id']}")).content
    assert json.loads(signed).items() < json.loads(handed_out).items()
    verified = verify(handed_out, read_keys((await client.get("/v1/signing-keys")).content))
    assert verified.withdrawal is not None
    assert instant_text(verified.withdrawal.withdrawn_at)[:19] == withdrawn_at[:19]
    assert verified.sha256 == before["evidence"]["sha256"]
    page = (await client.get("/v1/evaluations/e/report")).text
    assert "The release was withdrawn on" in page
    check_page(page, verified.sha256)
    # Evidence outlives what it is about, and so does what became of that.
    for what in ("evaluations/e", "releases/drawn"):
        assert (await client.delete(f"/v1/{what}")).status_code == 204
    await client.post("/v1/signing-keys")
    kept = (await client.get("/v1/evidence/e")).content
    keys = read_keys((await client.get("/v1/signing-keys")).content)
    assert verify(kept, keys).withdrawal is not None
    assert verify(handed_out, keys).withdrawal is not None


async def test_a_run_judges_the_guarantees_of_when_it_was_asked_for(api: Api, client: httpx.AsyncClient):
    await drawn(client)
    own = await gate(client, "p", promised({"at_most": 2}), TOWNS_TOGETHER, **RARE)
    body = {"name": "by-run", "release": {"name": "drawn"}}
    started = await client.post(f"{own}/runs", json=body)
    assert started.status_code == 202, started.text
    await made(client.post("/v1/rules", json=ALL))
    await made(client.post("/v1/releases", json={"name": "open", "dataset": "people", "rule": "all"}))
    await api.work_off(started.json()["id"])
    result = (await client.get("/v1/evaluations/by-run")).json()["result"]
    assert result["verdict"] == "pass"
    assert (await verdict(client, own))["verdict"] == "fail"

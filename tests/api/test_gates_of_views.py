"""Gates over HTTP that judge views by a policy of secrets: a yes is a proof, and everything else is none."""

from __future__ import annotations

import base64
import hashlib
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import httpx
import markupsafe
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.cli.gate_question import Subject
from app.cli.given_views import GivenView, GivenViews, given_views
from app.cli.structured_files import read_structured
from app.cli.unchanged_views import earlier_of
from app.domain.errors import InvalidInput
from app.evidence.canonical import canonical_json
from app.evidence.envelope import opened
from app.evidence.private_keys import resealed
from app.evidence.statement import statement_of
from app.services.resources import Scope
from tests.api.gates_of_views import CANCER, SCHEMA, asked, gate, judged, policy, secret
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

FLU = {"id": "flu", "query": "SELECT pid FROM diagnosis WHERE diagnosis = 'flu'"}
WARDS = {"id": "wards", "query": "SELECT ward\nFROM diagnosis"}
LIKE = {"id": "like", "query": "SELECT pid FROM diagnosis WHERE diagnosis LIKE 'c%'"}


async def faults(client: httpx.AsyncClient, at: str, body: dict[str, Any]) -> list[dict[str, str]]:
    return problem_of(await client.post(at, json=body), 422, "invalid-input")["errors"]


async def test_private_views_pass_and_their_evidence_says_what_was_judged(client: httpx.AsyncClient):
    at = await gate(client, "views-pass")
    found = await judged(client, at, FLU)
    result = found["result"]
    assert (result["verdict"], found["dataset"], found["views"]) == ("pass", None, 1)
    (criterion,) = result["criteria"]
    assert (criterion["outcome"], criterion["value"], criterion["threshold"]) == ("passed", 0, 0)
    assert [own["verdict"] for own in criterion["pairs"]] == ["PRIVATE"]
    envelope = (await client.get(f"/v1/evaluations/{found['name']}/evidence")).content
    statement = statement_of(opened(envelope).content)
    roles = {own["role"] for own in statement.predicate["inputs"]}
    assert roles == {"relational_schema", "view", "policy"}
    hashes = {own.name: own.sha256 for own in statement.subjects}
    assert hashes["file/flu"] == hashlib.sha256(FLU["query"].encode()).hexdigest()
    page = await client.get(f"/v1/evaluations/{found['name']}/report")
    assert page.status_code == 200
    assert "Passed" in page.text
    for said in (
        "1 view",
        "<dt>View</dt><dd>flu<br>",
        "The views keep",
        "reproduce report.json --relational-schema",
    ):
        assert said in page.text


async def test_a_disclosure_fails_with_its_witness(client: httpx.AsyncClient):
    at = await gate(client, "views-fail")
    found = await judged(client, at, FLU, WARDS)
    result = found["result"]
    assert result["verdict"] == "fail"
    (criterion,) = result["criteria"]
    assert (criterion["outcome"], criterion["value"], criterion["margin"]) == ("failed", 1, -1)
    assert "wards beside cancer" in criterion["explanation"]
    (open_,) = [own for own in criterion["pairs"] if own["verdict"] != "PRIVATE"]
    assert open_["witness"]["view"]["places"] == [{"line": 2, "column": 6}]
    assert open_["witness"]["secret"]["deciding_row"]["values"]["diagnosis"] == "cancer"
    change = open_["nearest_change"]
    (step,) = change["steps"]
    assert (change["status"], step["line"]) == ("found", 2)
    changed = {**WARDS, "query": f"{WARDS['query']} WHERE {step['condition']}"}
    assert (await judged(client, at, FLU, changed))["result"]["verdict"] == "pass"
    page = (await client.get(f"/v1/evaluations/{found['name']}/report")).text
    assert f"<strong>To pass:</strong> {markupsafe.escape(change['explanation'])}" in page


async def test_what_is_not_decided_is_an_error_that_no_waiver_lets_pass(client: httpx.AsyncClient):
    at = await gate(client, "views-unknown")
    result = (await judged(client, at, FLU, LIKE))["result"]
    assert (result["verdict"], result["criteria"][0]["outcome"]) == ("error", "not_computable")
    assert "like beside cancer" in result["criteria"][0]["error"]["message"]
    await waive(client, "views-unknown", "views-unknown-all", any_content=True)
    assert (await judged(client, at, FLU, LIKE))["result"]["verdict"] == "error"
    # A disclosure may be waived; beside it, what is not decided still is not known.
    assert (await judged(client, at, WARDS))["result"]["verdict"] == "pass"
    assert (await judged(client, at, WARDS, LIKE))["result"]["verdict"] == "error"


async def waive(client: httpx.AsyncClient, policy: str, name: str, **more: Any) -> None:
    made = await client.post(
        "/v1/waivers",
        json={
            "name": name, "policy": policy, "criterion": "secrets", "reason": "Wards are on the door.",
            "approved_by": "A. Officer", "until": "2999-12-31", **more,
        },
    )  # fmt: skip
    assert made.status_code == 201, made.text


async def test_a_waiver_is_for_the_views_that_were_looked_at(client: httpx.AsyncClient):
    at = await gate(client, "views-waived")
    failed = (await judged(client, at, WARDS))["result"]
    assert failed["verdict"] == "fail"
    await waive(client, "views-waived", "views-waiver", views=failed["subject"]["views_sha256"])
    result = (await judged(client, at, WARDS))["result"]
    assert (result["verdict"], result["criteria"][0]["outcome"]) == ("pass", "waived")
    other = (await judged(client, at, {**WARDS, "query": "SELECT ward, pid FROM diagnosis"}))["result"]
    assert other["verdict"] == "fail"
    assert other["criteria"][0]["waiver"]["lapse"] == "other_content"
    more = (await judged(client, at, WARDS, FLU))["result"]
    assert more["verdict"] == "fail"


async def test_one_pair_is_waived_by_a_requirement_and_an_evaluation_of_its_own(client: httpx.AsyncClient):
    document = policy("views-pair")
    (first,) = document["requirements"]
    condition = first["requirement"] | {"secrets": [secret("SELECT ward FROM diagnosis", "ward-list")]}
    document["requirements"].append(first | {"id": "of-wards", "requirement": condition})
    assert (await client.post("/v1/policies", json=document)).status_code == 201
    at = "/v1/gates/views-pair/evaluations"
    alone = (await judged(client, at, WARDS))["result"]
    await waive(client, "views-pair", "views-one-pair", views=alone["subject"]["views_sha256"])
    result = (await judged(client, at, WARDS))["result"]
    # The other secret of the same view, and the same secret beside other views, are judged as before.
    assert [own["outcome"] for own in result["criteria"]] == ["waived", "failed"]
    assert result["verdict"] == "fail"
    assert (await judged(client, at, WARDS, FLU))["result"]["criteria"][0]["outcome"] == "failed"


async def test_a_secret_that_depends_on_no_row_protects_nothing(client: httpx.AsyncClient):
    empty = secret("SELECT pid FROM diagnosis WHERE diagnosis = 'a' AND diagnosis = 'b'")
    at = await gate(client, "views-empty", empty)
    result = (await judged(client, at, FLU))["result"]
    assert (result["verdict"], result["criteria"][0]["error"]["code"]) == ("error", "constant-secret")


async def test_a_stored_schema_is_named_and_kept_with_what_is_judged(api, client: httpx.AsyncClient):
    made = await client.post("/v1/relational-schemas", json={"name": "clinic", **SCHEMA})
    assert made.status_code == 201, made.text
    at = await gate(client, "views-stored")
    found = await judged(client, at, FLU, WARDS, schema="clinic")
    result = found["result"]
    by_text = (await judged(client, at, FLU, WARDS))["result"]
    assert result["criteria"] == by_text["criteria"]
    assert result["subject"]["relational_schema_sha256"] == made.json()["sha256"]
    # What was judged is kept with the evaluation: a run reads it from there.
    run = await client.post(f"{at}/runs", json=asked(FLU, schema="clinic"))
    assert run.status_code == 202, run.text
    assert (await client.delete("/v1/relational-schemas/clinic")).status_code == 204
    await api.work_off(run.json()["id"])
    by_run = (await client.get(f"/v1/evaluations/{run.json()['resource']['name']}")).json()["result"]
    assert by_run["verdict"] == "pass"
    assert by_run["subject"]["relational_schema_sha256"] == made.json()["sha256"]
    missing = await client.post(at, json=asked(FLU, schema="clinic"))
    problem_of(missing, 422, "invalid-input")
    one = {"id": "Diagnosis", "query": FLU["query"]}
    assert (await client.post("/v1/relational-schemas", json={"name": "clinic", **SCHEMA})).status_code == 201
    (table,) = await faults(client, at, asked(one, schema="clinic"))
    assert table["code"] == "named-as-table"


async def test_foreign_keys_leave_it_undecided_unless_they_are_ignored(client: httpx.AsyncClient):
    schema = {
        "sql": "CREATE TABLE person (id integer PRIMARY KEY); "
        "CREATE TABLE visit (id integer NOT NULL REFERENCES person (id));"
    }
    one = secret("SELECT DISTINCT 1 FROM person WHERE id = 1")
    view = {"id": "visits", "query": "SELECT id FROM visit"}
    at = await gate(client, "views-linked", one)
    assert (await judged(client, at, view, schema=schema))["result"]["verdict"] == "error"
    at = await gate(client, "views-ignored", one, ignore_foreign_keys=True)
    result = (await judged(client, at, view, schema=schema))["result"]
    assert result["verdict"] == "pass"
    assert any("foreign keys" in own.lower() for own in result["assumptions"])


async def test_what_makes_no_sense_is_refused_and_never_passes(client: httpx.AsyncClient):
    at = await gate(client, "views-refused")
    for body in ({"relational_schema": SCHEMA, "views": []}, {"views": [FLU]}, asked(FLU) | {"dataset": "x"}):
        assert (await client.post(at, json=body)).status_code == 422
    (twice,) = await faults(client, at, asked(FLU, FLU))
    assert (twice["pointer"], twice["code"]) == ("/views/1/id", "duplicate-id")
    (unread,) = await faults(client, at, asked(FLU, {"id": "two", "query": "SELECT 1;\nSELECT 2"}))
    assert (unread["pointer"], unread["code"]) == ("/views/1/query", "several-statements")
    assert "Line 2, column 1" in unread["message"]
    (table,) = await faults(client, at, asked({"id": "Diagnosis", "query": FLU["query"]}))
    assert (table["pointer"], table["code"]) == ("/views/0/id", "named-as-table")
    (of_secret,) = await faults(
        client, at, asked(FLU, schema={"sql": "CREATE TABLE diagnosis (pid integer, diagnosis text);"})
    )
    assert of_secret["pointer"] == "path/policy"
    assert "'cancer'" in of_secret["message"]
    none = {"name": "no-such", "relational_schema": SCHEMA, "views": [FLU]}
    assert (await client.post("/v1/gates/no-such/evaluations", json=none)).status_code == 404


async def test_policies_of_data_and_of_views_judge_nothing_of_each_other(journey: httpx.AsyncClient):
    (of_data,) = await faults(journey, "/v1/gates/members-release/evaluations", asked(FLU))
    assert of_data["code"] == "other-subject"
    at = await gate(journey, "views-only")
    body = {"dataset": "members", "rule": {"kind": "identity"}}
    (of_views,) = await faults(journey, at, body)
    assert of_views["code"] == "other-subject"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"secrets": [secret("SELECT FROM WHERE")]}, "sql-syntax"),
        ({"secrets": [secret("DELETE FROM diagnosis")]}, "not-a-query"),
        ({"secrets": [secret("SELECT 1")]}, "constant-secret"),
        ({"language": "datalog", "secrets": [secret("S(1) :- true.")]}, "constant-secret"),
        ({"language": "datalog", "secrets": [secret("S(x) :- R(x")]}, "datalog-syntax"),
        ({"secrets": [secret(), secret()]}, "duplicate"),
        ({"secrets": []}, "wrong-length"),
        ({"dialect": "oracle"}, "unknown-choice"),
        ({"budget": 3}, "unknown-field"),
        ({"secrets": [{"id": "a", "query": CANCER}]}, "missing"),
    ],
)
async def test_lint_says_what_is_wrong_with_a_secret(client: httpx.AsyncClient, change, code):
    document = policy("linted")
    document["requirements"][0]["requirement"] |= change
    found = (await client.post("/v1/policies/lint", json=document)).json()
    assert code in [own["code"] for own in found["errors"]], found
    assert (await client.post("/v1/policies", json=document)).status_code == 422


async def test_lint_refuses_a_policy_of_two_subjects(client: httpx.AsyncClient):
    document = policy("mixed") | {"schema": {"attributes": {"a": "sensitive"}}}
    document["requirements"].append(
        {"id": "k", "title": "k", "reason": "k",
         "requirement": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 5}}}
    )  # fmt: skip
    found = (await client.post("/v1/policies/lint", json=document)).json()
    assert [own["pointer"] for own in found["errors"] if own["code"] == "mixed-subjects"] == [
        "/requirements/1/requirement", "/schema"
    ]  # fmt: skip
    clean = (await client.post("/v1/policies/lint", json=policy("clean"))).json()
    assert (clean["errors"], clean["warnings"]) == ([], [])


@pytest.mark.parametrize(
    ("change", "effect"),
    [
        ({"secrets": [secret(), secret("SELECT ward FROM diagnosis", "wards")]}, "stricter"),
        ({"ignore_foreign_keys": True}, "looser"),
        ({"secrets": [secret("SELECT ward FROM diagnosis", "wards")]}, "different"),
        ({"secrets": [{**secret(), "id": "renamed", "reason": "Another."}]}, "none"),
    ],
)
async def test_a_difference_says_which_policy_is_stricter(client: httpx.AsyncClient, change, effect):
    name = f"views-diff-{effect}"
    await gate(client, name)
    document = policy(name) | {"version": 2}
    document["requirements"][0]["requirement"] |= change
    assert (await client.post("/v1/policies", json=document)).status_code == 201
    found = (await client.get(f"/v1/policies/{name}/diff")).json()
    assert found["effect"] == effect


async def test_only_what_the_gates_own_key_has_signed_spares_a_view_that_is_unchanged(
    client: httpx.AsyncClient, tmp_path: Path
):
    at = await gate(client, "views-since")
    found = await judged(client, at, FLU, WARDS, LIKE)
    envelope = (await client.get(f"/v1/evaluations/{found['name']}/evidence")).content
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    statement = statement_of(opened(envelope).content)
    path = tmp_path / "evidence.json"
    path.write_bytes(resealed(statement, key)[0])
    earlier = earlier_of(path, key, None)
    assert earlier is not None
    # What disclosed something, or was not decided, is never spared; nor is a text that has changed.
    assert set(earlier.private) == {"flu"}
    assert [own["id"] for own in earlier.unchanged(subject(FLU, WARDS, LIKE))] == ["flu"]
    assert earlier.unchanged(subject({**FLU, "query": FLU["query"] + " "}, WARDS)) == []
    assert earlier.unchanged(subject({**FLU, "id": "flu2"}, WARDS)) == []
    assert earlier.unchanged(subject(FLU)) == []
    assert earlier.has_basis_of(envelope)
    for name, schema in (
        ("views-since-2", SCHEMA),
        ("views-since", {"sql": SCHEMA["sql"] + " CREATE TABLE extra (id integer)"}),
    ):
        again = at if name == "views-since" else await gate(client, name, ignore_foreign_keys=True)
        changed = await judged(client, again, FLU, schema=schema)
        assert not earlier.has_basis_of(
            (await client.get(f"/v1/evaluations/{changed['name']}/evidence")).content
        )
    altered = json.loads(path.read_bytes())
    altered["payload"] = base64.b64encode(
        base64.b64decode(altered["payload"]).replace(b'"DISCLOSES"', b'"PRIVATE"')
    ).decode()
    written = tmp_path / "altered.json"
    written.write_bytes(canonical_json(altered))
    for file, by, server in (
        (path, other, None), (path, None, None), (path, key, "http://x"), (written, key, None)
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            earlier_of(file, by, server)
    temporary = tmp_path / "temporary.json"
    temporary.write_bytes(resealed(statement, None)[0])
    with pytest.raises(InvalidInput):
        earlier_of(temporary, key, None)
    # The service's own evidence is of no key that the gate has.
    temporary.write_bytes(envelope)
    with pytest.raises(InvalidInput):
        earlier_of(temporary, key, None)


def subject(*views: dict[str, str]) -> Subject:
    named = tuple(GivenView(own["id"], own["query"], f"{own['id']}.sql") for own in views)
    given = GivenViews("views", SCHEMA, "schema.sql", named)
    return Subject("", None, None, None, None, {}, None, None, views=given)


async def test_the_dbt_project_of_the_docs_discloses_by_its_list_of_wards(client: httpx.AsyncClient):
    folder = Path(__file__).parents[2] / "docs/pipelines/warehouse"
    named = Namespace(
        views=str(folder / "target/manifest.json"), relational_schema=str(folder / "schema.sql"), catalog=None
    )
    given = given_views(named)
    assert given is not None
    document = read_structured(folder / "policy.yaml")
    assert (await client.post("/v1/policies", json=document)).status_code == 201
    answer = await client.post("/v1/gates/cancer-register/evaluations", json=given.body)
    (criterion,) = answer.json()["result"]["criteria"]
    verdicts = {own["view"]: own["verdict"] for own in criterion["pairs"]}
    assert verdicts == {
        "warehouse.infections": "PRIVATE",
        "warehouse.infected_wards": "PRIVATE",
        "warehouse.wards": "DISCLOSES",
    }


async def test_secrets_are_shown_to_who_may_write_checks_or_read_data(api):
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        found = await judged(client, await gate(client, "views-hidden"), WARDS)
    shown = {}
    for scope in (Scope.ASSESS, Scope.DATA_READ, Scope.GOVERN):
        async with api.client(await api.key_with(actor, scope)) as client:
            shown[scope] = (await client.get(f"/v1/evaluations/{found['id']}")).json()["result"]
    assert shown[Scope.ASSESS] == shown[Scope.DATA_READ] == found["result"]
    (criterion,) = shown[Scope.GOVERN]["criteria"]
    assert "cancer'" not in json.dumps(criterion)
    assert "nearest_change" not in criterion["pairs"][0]
    assert criterion["demand"]["secrets"][0] == {**secret(), "query": None}
    assert [own["verdict"] for own in criterion["pairs"]] == ["DISCLOSES"]

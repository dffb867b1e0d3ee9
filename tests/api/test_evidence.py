"""Evidence over HTTP: verified by whoever has the keys, without a value, outliving what it is about."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import secrets
from datetime import timedelta

import httpx
import pytest

from app.api.examples.gates import EVALUATIONS, NAME
from app.evidence.envelope import MEDIA_TYPE, opened
from app.evidence.faults import OutsideKeyValidity
from app.evidence.keys import PublicKey, read_keys
from app.evidence.statement import Subject
from app.evidence.verification import check_page, verify
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

EVIDENCE = "/v1/assessments/proposal-score/evidence"


async def keys_of(client: httpx.AsyncClient):
    return read_keys((await client.get("/v1/signing-keys")).content)


async def test_an_assessments_report_verifies_and_says_what_was_found(journey: httpx.AsyncClient):
    answer = await journey.get(EVIDENCE)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    verified = verify(answer.content, await keys_of(journey))
    assessment = (await journey.get("/v1/assessments/proposal-score")).json()
    said = verified.statement.predicate
    assert said["resource"] == {key: assessment[key] for key in ("name", "sha256")}
    for key in ("risk_average", "risk_max", "loss_quantiles", "min_consistent", "monotone"):
        assert said["result"][key] == assessment["result"][key], key
    hashes = {(own["role"], own["slot"]): own["sha256"] for own in said["inputs"]}
    for role, address in (
        ("dataset", "datasets/members"),
        ("rule", "rules/proposal"),
        ("upload", "uploads/members"),
        ("sensitivity", f"sensitivity-profiles/{assessment['sensitivity']}"),
    ):
        assert hashes[role, None] == (await journey.get(f"/v1/{address}")).json()["sha256"]
    for attribute, name in (("city", "city"), ("birth_date", "birth-date")):
        stored = (await journey.get(f"/v1/hierarchies/{name}")).json()
        assert hashes["hierarchy", attribute] == stored["sha256"]
    assert (
        hashes["dictionary", "dictionary"] == (await journey.get("/v1/dictionaries/census")).json()["sha256"]
    )
    assert {own["id"]: own["holds"] for own in said["hypotheses"]}["phi_monotone"] == "yes"


async def test_a_verdict_names_who_asked_and_the_release_file_by_its_bytes(journey: httpx.AsyncClient):
    made = {"name": "to-be-proven", "dataset": "members", "rule": "proposal"}
    assert (await journey.post("/v1/releases", json=made)).status_code == 201
    table = (await journey.get("/v1/releases/to-be-proven/data")).content
    raw = (await journey.get("/v1/uploads/members")).json()
    uploaded = await journey.post(
        "/v1/uploads?name=proven", content=table, headers={"Content-Type": "text/csv"}
    )
    assert uploaded.status_code == 201, uploaded.text
    question = {key: own for key, own in EVALUATIONS[NAME]["value"].items() if key not in ("name", "rule")}
    answer = await journey.post(
        "/v1/gates/members-release/evaluations",
        json={**question, "name": "proven", "release": {"upload": "proven"}},
    )
    assert answer.status_code == 201, answer.text
    report = (await journey.get("/v1/evaluations/proven/evidence")).content
    verified = verify(report, await keys_of(journey))
    assert verified.proves_origin
    sha256 = hashlib.sha256(table).hexdigest()
    assert verified.statement.subjects[-2:] == (
        Subject("file/proven", sha256),
        Subject("canonical/proven", sha256),
    )
    said = verified.statement.predicate
    assert said["files"] == [
        {"role": "dataset", "name": "members", "sha256": raw["content_sha256"],
         "canonical_sha256": raw["canonical_sha256"]},
        {"role": "release", "name": "proven", "sha256": sha256, "canonical_sha256": sha256},
    ]  # fmt: skip
    mine = (await journey.get("/v1/api-keys/current")).json()
    assert said["asked_by"] == {"kind": "key", "id": mine["id"], "name": mine["name"]}
    page = (await journey.get("/v1/evaluations/proven/report")).text
    assert f"the key “{mine['name']}” ({mine['id']})" in page
    assert sha256 in page
    score = verify((await journey.get(EVIDENCE)).content, await keys_of(journey)).statement.predicate
    assert score["asked_by"] == said["asked_by"]
    assert [own["role"] for own in score["files"]] == ["dataset"]


async def test_a_release_file_in_another_dialect_is_judged_alike_and_both_digests_are_named(
    journey: httpx.AsyncClient,
):
    made = {"name": "to-be-written", "dataset": "members", "rule": "proposal"}
    assert (await journey.post("/v1/releases", json=made)).status_code == 201
    table = (await journey.get("/v1/releases/to-be-written/data")).content
    rows = [*csv.reader(io.StringIO(table.decode()))]
    text = io.StringIO()
    csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL).writerows(rows)
    packed = io.BytesIO()
    with gzip.GzipFile("A. Person", "wb", fileobj=packed) as file:
        file.write(b"\xef\xbb\xbf" + text.getvalue().encode())
    question = {key: own for key, own in EVALUATIONS[NAME]["value"].items() if key not in ("name", "rule")}
    found = {}
    for name, content, asked in (
        ("plain", table, ""),
        ("odd", packed.getvalue(), "&delimiter=;&format=csv.gz"),
    ):
        uploaded = await journey.post(f"/v1/uploads?name={name}-bytes{asked}", content=content)
        assert uploaded.status_code == 201, uploaded.text
        assert uploaded.json()["canonical_sha256"] == hashlib.sha256(table).hexdigest()
        body = {**question, "name": f"{name}-judged", "release": {"upload": f"{name}-bytes"}}
        assert (await journey.post("/v1/gates/members-release/evaluations", json=body)).status_code == 201
        report = (await journey.get(f"/v1/evaluations/{name}-judged/evidence")).content
        statement = verify(report, await keys_of(journey)).statement
        canonical = hashlib.sha256(table).hexdigest()
        judged = hashlib.sha256(content).hexdigest()
        assert statement.files == {judged: canonical, canonical: canonical}
        assert statement.predicate["files"][1]["canonical_sha256"] == canonical
        page = (await journey.get(f"/v1/evaluations/{name}-judged/report")).text
        assert ("in canonical form" in page) == (judged != canonical)
        found[name] = [own["outcome"] for own in statement.predicate["result"]["criteria"]]
    assert found["plain"] == found["odd"]


async def test_a_report_is_the_same_ever_after(journey: httpx.AsyncClient):
    first = await journey.get(EVIDENCE)
    assert (await journey.get(EVIDENCE)).content == first.content
    for ref in (first.headers["content-location"].rsplit("/", 1)[-1], "proposal-score"):
        assert (await journey.get(f"/v1/evidence/{ref}")).content == first.content
    listed = (await journey.get("/v1/evidence", params={"name": "proposal"})).json()["items"]
    assert [own["about"]["name"] for own in listed] == ["proposal-score"]
    assert listed[0]["sha256"] == verify(first.content, await keys_of(journey)).sha256


async def test_the_page_belongs_to_the_report_and_may_do_nothing(journey: httpx.AsyncClient):
    report = await journey.get(EVIDENCE)
    page = await journey.get("/v1/assessments/proposal-score/report")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    check_page(page.text, verify(report.content, await keys_of(journey)).sha256)
    assert (await journey.get("/v1/evidence/proposal-score/report")).text == page.text


async def test_evidence_outlives_the_dataset(journey: httpx.AsyncClient):
    """Everything is erased in the journey's own order; the report still verifies."""
    report = await journey.get(EVIDENCE)
    location = report.headers["content-location"]
    name = f"again-{secrets.token_hex(3)}"
    body = {"name": name, "dataset": "members", "rule": "proposal", "dictionary": "census"}
    body["sensitivity"] = (await journey.get("/v1/assessments/proposal-score")).json()["sensitivity"]
    assert (await journey.post("/v1/assessments", json=body)).status_code == 201
    other = (await journey.get(f"/v1/assessments/{name}/evidence")).content
    assert other != report.content
    for deleted in (name, "proposal-score"):
        assert (await journey.delete(f"/v1/assessments/{deleted}")).status_code == 204
        problem_of(await journey.get(f"/v1/assessments/{deleted}/evidence"), 404, "not-found")
    kept = await journey.get(location)
    assert kept.content == report.content
    assert verify(kept.content, await keys_of(journey))
    assert (await journey.get(f"/v1/evidence/{name}")).content == other


async def test_a_rotated_key_still_verifies_what_it_signed(journey: httpx.AsyncClient):
    report = (await journey.get(EVIDENCE)).content
    before = await keys_of(journey)
    (current,) = (key for key in before.values() if key.valid_until is None)
    fresh = (await journey.post("/v1/signing-keys")).json()
    keys = await keys_of(journey)
    assert set(keys) == {*before, fresh["id"]}
    assert keys[current.id].valid_until == keys[fresh["id"]].valid_from
    verified = verify(report, keys)
    assert verified.key.id in before
    late = PublicKey(verified.key.raw, verified.statement.issued_at + timedelta(microseconds=1))
    with pytest.raises(OutsideKeyValidity):
        verify(report, {late.id: late})


async def test_only_an_administrator_rotates_keys(api, client: httpx.AsyncClient):
    body = {"name": "pipeline", "scopes": ["assess"]}
    token = (await client.post("/v1/api-keys", json=body)).json()["token"]
    async with api.client(token) as pipeline:
        problem_of(await pipeline.post("/v1/signing-keys"), 403, "forbidden")
        assert (await pipeline.get("/v1/signing-keys")).status_code == 200


async def test_the_first_look_at_the_keys_makes_one(client: httpx.AsyncClient, other_client):
    (key,) = (await keys_of(client)).values()
    assert list(await keys_of(client)) == [key.id]
    assert key.id not in await keys_of(other_client)


async def people_marked(client: httpx.AsyncClient) -> str:
    """A dataset, a dictionary and a profile with a marker in all cells and labels; the marker."""
    mark = f"marker{secrets.token_hex(6)}"
    rows = [[f"{mark}-{city}", f"{mark}-north" if city < 2 else f"{mark}-south", "*"] for city in range(4)]
    people = "\n".join(f"{mark}-id{i},{mark}-{i % 4},{mark}-ill{i % 2}" for i in range(12))
    city = {"name": "city", "definition": {"kind": "rows", "rows": rows}}
    made = [
        await client.post("/v1/hierarchies", json=city),
        await client.post(
            "/v1/uploads?name=people",
            content=f"id,city,illness\n{people}\n",
            headers={"Content-Type": "text/csv"},
        ),
        await client.post("/v1/datasets", json={
            "name": "people", "upload": "people", "attributes": [
                {"name": "id", "type": "text", "role": "identifier"},
                {"name": "city", "type": "categorical", "role": "quasi_identifier", "hierarchy": "city"},
                {"name": "illness", "type": "categorical", "role": "sensitive"},
            ]}),
        await client.post("/v1/dictionaries", json={"name": "themselves", "from_dataset": "people"}),
        await client.post("/v1/sensitivity-profiles", json={
            "name": "harm", "dataset": "people", "family": "linear", "attributes": {
                "city": {"leaves": 0.3}, "illness": {"leaves": {f"{mark}-ill0": 3, f"{mark}-ill1": 1}}}}),
    ]  # fmt: skip
    for answer in made:
        assert answer.status_code == 201, answer.text
    return mark


async def test_nothing_of_the_data_is_in_the_evidence(client: httpx.AsyncClient):
    """A marker in cells, in a hierarchy and in what parameters name occurs nowhere in report or page."""
    mark = await people_marked(client)
    labels = [f"{mark}-{city}" for city in (0, 1, 2, 3, "north", "south")]
    made = await client.post("/v1/assessments", json={
        "name": "score", "dataset": "people", "dictionary": "themselves", "sensitivity": "harm",
        "rule": {"kind": "table_level", "levels": {"city": 1, "illness": 0}, "suppress_classes_failing": [
            {"kind": "alpha_k_anonymity", "k": 2, "alpha": 0.9, "values": [f"{mark}-ill1"]}]},
        "utility": {"kind": "custom", "values": {
            "city": dict.fromkeys(labels, 1), "illness": {f"{mark}-ill0": 1, f"{mark}-ill1": 2}}},
    })  # fmt: skip
    assert made.status_code == 201, made.text
    report = (await client.get("/v1/assessments/score/evidence")).content
    page = (await client.get("/v1/assessments/score/report")).text
    said = json.loads(opened(report).content)
    assert said["predicate"]["parameters"]["rule"]["suppress_classes_failing"][0]["values"] == [None]
    assert mark not in opened(report).content.decode()
    assert mark not in page
    assert verify(report, await keys_of(client))


def criteria_that_name(*values: str):
    model = {"kind": "alpha_k_anonymity", "k": 2, "alpha": 0.9, "values": list(values)}
    measure = {"kind": "alpha_k_anonymity", "values": list(values)}
    share = {"comparison": "at_most", "threshold": 0.1, "value": "alpha"}
    score = {"value": "risk_max", "comparison": "at_most", "threshold": 0.1, "dictionary": "register"}
    return [
        {"id": "by-city", "demand": {"kind": "score", **score}, "scope": {"groups": "city"}},
        {"id": "model", "demand": {"kind": "privacy_model", "model": model}},
        {"id": "measure", "demand": {"kind": "measure", "measure": measure, **share}},
    ]


async def test_nothing_of_the_data_is_in_the_evidence_of_a_verdict(client: httpx.AsyncClient):
    """Groups by a cell's value, and criteria that name values, in the policy and in the rule."""
    mark = await people_marked(client)
    policy = {
        "format": "privacy-risk/policy/1", "name": "strict", "version": 1, "title": "Strict",
        "assumes": {"attacker": "A neighbour."}, "dictionaries": [{"name": "register"}],
        "criteria": [
            {"title": "T", "reason": "R", **own} for own in criteria_that_name(f"{mark}-ill1")
        ],
    }  # fmt: skip
    made = await client.post("/v1/policies", json=policy)
    assert made.status_code == 201, made.text
    question = {
        "name": "gate", "dataset": "people", "sensitivity": "harm",
        "dictionaries": {"register": "themselves"},
        "rule": {"kind": "table_level", "levels": {"city": 0, "illness": 0}, "suppress_classes_failing": [
            {"kind": "alpha_k_anonymity", "k": 2, "alpha": 0.9, "values": [f"{mark}-ill1"]}]},
    }  # fmt: skip
    verdict = await client.post("/v1/gates/strict/evaluations", json=question)
    assert verdict.status_code == 201, verdict.text
    assert mark in verdict.text, "who may read the data sees the groups"
    report = (await client.get("/v1/evaluations/gate/evidence")).content
    said = verify(report, await keys_of(client)).statement.predicate
    assert said["result"]["verdict"] == verdict.json()["result"]["verdict"]
    assert verdict.json()["evidence"]["sha256"] == verify(report, await keys_of(client)).sha256
    assert {part["group"]["value"] for part in said["result"]["criteria"][0]["parts"]} == {None}
    assert mark not in opened(report).content.decode()
    assert mark not in (await client.get("/v1/evaluations/gate/report")).text

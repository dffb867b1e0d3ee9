"""A verdict can be revoked, and a policy's name is used once, whatever is deleted and however it is asked."""

from __future__ import annotations

import copy
import hashlib
import json

import httpx
import pytest

from app.api.examples.gates import EVALUATIONS, NAME, RUN_NAME, VIEWS_NAME, WAIVERS
from app.api.examples.policies import RELEASE
from app.cli import verify
from app.evidence.envelope import opened
from app.services.resources import Scope
from privacy_risk import ClientError
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

GATE = "/v1/gates/members-release/evaluations"
QUESTION = {key: value for key, value in EVALUATIONS[NAME]["value"].items() if key != "name"}
REASON = {"reason": "The census held people who were made up."}


async def revoked(client: httpx.AsyncClient, ref: str = NAME) -> dict:
    answer = await client.post(f"/v1/evaluations/{ref}/revocation", json=REASON)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_revoked_verdict_says_so_wherever_it_is_read(journey):
    before = (await journey.get(f"/v1/evaluations/{NAME}")).json()
    assert before["revocation"] is None
    found = await revoked(journey)
    assert found["revocation"]["reason"] == REASON["reason"]
    assert found == before | {"revocation": found["revocation"]}
    assert (await journey.get(f"/v1/evaluations/{NAME}")).json() == found
    listed = {}
    for flag in ("true", "false"):
        page = (await journey.get(f"/v1/evaluations?revoked={flag}&limit=200")).json()["items"]
        listed[flag] = {own["name"]: own["revocation"] for own in page}
    assert listed["true"][NAME] == found["revocation"]
    assert NAME not in listed["false"]
    assert set(listed["false"].values()) <= {None}
    whole = (await journey.get("/v1/evaluations?limit=200")).json()["items"]
    assert {own["name"] for own in whole} == listed["true"].keys() | listed["false"].keys()


async def test_evidence_stays_as_it_was_signed_and_does_not_stand_any_more(journey):
    content = (await journey.get(f"/v1/evaluations/{NAME}/evidence")).content
    sha256 = opened(content).sha256
    for ref in (sha256, NAME):
        assert (await journey.get(f"/v1/evidence/{ref}/standing")).json()["revocation"] is None
    found = await revoked(journey)
    standing = (await journey.get(f"/v1/evidence/{sha256}/standing")).json()
    assert (standing["sha256"], standing["revocation"]) == (sha256, found["revocation"])
    assert (await journey.get(f"/v1/evaluations/{NAME}/evidence")).content == content
    page = (await journey.get(f"/v1/evaluations/{NAME}/report")).text
    assert f"stands no more: {REASON['reason']}" in page
    evidence = (await journey.get(f"/v1/evidence?name={NAME}")).json()["items"]
    assert {own["revocation"]["reason"] for own in evidence} == {REASON["reason"]}
    await journey.delete(f"/v1/evaluations/{NAME}")
    assert (await journey.get(f"/v1/evidence/{sha256}/standing")).json() == standing
    problem_of(await journey.get(f"/v1/evidence/{'0' * 64}/standing"), 404, "not-found")


async def test_the_same_asked_again_is_refused_however_it_is_asked(api, journey):
    """By the same name, another one, none, a run; with a waiver more; once all of it is deleted."""
    await journey.delete(f"/v1/waivers/{next(iter(WAIVERS))}")
    again = await journey.post(GATE, json=EVALUATIONS[NAME]["value"])
    assert (again.status_code, again.json()["revocation"]) == (200, None)
    await revoked(journey)
    by_run = (await journey.get(f"/v1/evaluations/{RUN_NAME}")).json()
    assert by_run["revocation"]["reason"] == REASON["reason"]

    async def refused() -> None:
        for name in ({"name": NAME}, {"name": "other"}, {}):
            for address in (GATE, f"{GATE}/runs"):
                problem = problem_of(await journey.post(address, json=QUESTION | name), 409, "conflict")
                assert REASON["reason"] in problem["detail"]

    await refused()
    (waiver,) = (own["value"] for own in WAIVERS.values())
    assert (await journey.post("/v1/waivers", json=waiver)).status_code == 201
    await refused()
    for name in (NAME, RUN_NAME):
        assert (await journey.delete(f"/v1/evaluations/{name}")).status_code == 204
    await refused()
    other = copy.deepcopy(RELEASE) | {"version": 2, "title": "Another one"}
    assert (await journey.post("/v1/policies", json=other)).status_code == 201
    asked = await journey.post("/v1/gates/members-release@2/evaluations", json=QUESTION)
    assert asked.status_code == 201, asked.text
    assert asked.json()["revocation"] is None


async def test_revoking_takes_govern_a_reason_and_a_verdict_and_is_done_once(api, journey):
    actor = await api.services.tenants.authenticate(journey.headers["Authorization"].split()[1])
    scopes = [own for own in Scope if own not in (Scope.GOVERN, Scope.OPERATOR)]
    async with api.client(await api.key_with(actor, *scopes)) as assessor:
        problem_of(await assessor.post(f"/v1/evaluations/{NAME}/revocation", json=REASON), 403, "forbidden")
    address = f"/v1/evaluations/{NAME}/revocation"
    for reason in (" ", ".", "\u3164"):
        problem = problem_of(await journey.post(address, json={"reason": reason}), 422, "invalid-input")
        assert pointers(problem) == ["/reason"]
    problem_of(await journey.post("/v1/evaluations/nothing/revocation", json=REASON), 404, "not-found")
    other = copy.deepcopy(RELEASE) | {"version": 2, "title": "Another one"}
    await journey.post("/v1/policies", json=other)
    queued = QUESTION | {"name": "queued"}
    started = await journey.post("/v1/gates/members-release@2/evaluations/runs", json=queued)
    assert started.json()["state"] == "queued", started.text
    problem_of(await journey.post("/v1/evaluations/queued/revocation", json=REASON), 409, "conflict")
    first = await revoked(journey)
    again = await journey.post(address, json={"reason": "Another reason."})
    assert (again.status_code, again.json()) == (200, first)
    asked = f"/v1/audit-events?action=evaluation.revoke&subject={first['id']}"
    events = (await journey.get(asked)).json()["items"]
    assert [(own["subject"], own["details"]["verdict"]) for own in events] == [(first["id"], "fail")]


async def test_webhooks_are_told_once_of_a_revoked_verdict_without_the_reason(api, journey):
    hook = {"name": "told", "url": "https://hooks.example.org/x", "events": ["evaluation.revoked"]}
    assert (await journey.post("/v1/webhooks", json=hook)).status_code == 201
    for _ in range(2):
        found = await revoked(journey)
    actor = await api.services.tenants.authenticate(journey.headers["Authorization"].split()[1])
    async with api.store.work(actor.tenant) as work:
        (delivery,), _ = await work.webhooks.deliveries("told", 10, None)
        message = json.loads((await work.webhooks.message(delivery.id)).body)
    assert message["type"] == "evaluation.revoked"
    assert message["data"]["evaluation"] == {"id": found["id"], "name": NAME}
    assert message["data"]["evidence"] == found["evidence"]["id"]
    assert REASON["reason"] not in json.dumps(message)


async def test_views_are_revoked_like_releases(journey):
    question = EVALUATIONS[VIEWS_NAME]["value"]
    assert (await journey.get(f"/v1/evaluations/{VIEWS_NAME}")).json()["revocation"] is not None, (
        "the example"
    )
    for address in ("", "/runs"):
        asked = question | {"name": "views-again"}
        problem_of(
            await journey.post(f"/v1/gates/hospital-views/evaluations{address}", json=asked), 409, "conflict"
        )


async def test_another_tenant_is_told_nothing_of_a_revocation(journey, other_client):
    found = await revoked(journey)
    sha256 = found["evidence"]["sha256"]
    problem_of(await other_client.get(f"/v1/evidence/{sha256}/standing"), 404, "not-found")
    assert (await other_client.get("/v1/evaluations?revoked=true")).json()["items"] == []


async def test_a_used_name_of_a_policy_is_never_another_policy(client):
    """Not while it is there, nor once it is deleted; the identical document may come back."""
    policy = copy.deepcopy(RELEASE) | {"name": "once"}
    other = policy | {"title": "Something else"}
    assert (await client.post("/v1/policies", json=policy)).status_code == 201
    problem_of(await client.post("/v1/policies", json=other), 409, "conflict")
    for _ in range(2):
        assert (await client.delete("/v1/policies/once@1")).status_code == 204
        problem = problem_of(await client.post("/v1/policies", json=other), 409, "conflict")
        assert "is or was of other content" in problem["detail"]
        assert (await client.post("/v1/policies", json=policy)).status_code == 201
    await client.delete("/v1/policies/once@1")
    assert (await client.post("/v1/policies", json=other | {"version": 2})).status_code == 201


@pytest.mark.parametrize("version", [1, 2])
async def test_a_policy_of_before_comes_back_as_what_it_was(client, version):
    """Its document, which leaves open what is checked, means what it meant when it was stored first."""
    policy = copy.deepcopy(RELEASE) | {"name": "before"}
    first = await client.post("/v1/policies", json=policy | {"coverage_version": version})
    assert first.status_code == 201
    again = await client.post("/v1/policies", json=policy)
    assert (again.status_code, again.json()["sha256"]) == (200, first.json()["sha256"])
    await client.delete("/v1/policies/before@1")
    again = await client.post("/v1/policies", json=policy)
    assert (again.status_code, again.json()["sha256"]) == (201, first.json()["sha256"])


async def test_names_of_policies_are_each_tenants_own(client, other_client):
    for own, title in ((client, "One"), (other_client, "Another")):
        policy = copy.deepcopy(RELEASE) | {"name": "shared", "title": title}
        assert (await own.post("/v1/policies", json=policy)).status_code == 201


async def test_verify_asks_the_service_by_the_hash_of_the_report(journey, tmp_path, monkeypatch, capsys):
    """0 while it stands, 1 with day and reason once it is revoked, 2 where nobody can say."""
    report, keys = tmp_path / "evidence.json", tmp_path / "keys.json"
    report.write_bytes((await journey.get(f"/v1/evaluations/{NAME}/evidence")).content)
    keys.write_bytes((await journey.get("/v1/signing-keys")).content)
    sha256 = hashlib.sha256(report.read_bytes()).hexdigest()
    answers: list[object] = [(await journey.get(f"/v1/evidence/{sha256}/standing")).json()]
    await revoked(journey)
    answers.append((await journey.get(f"/v1/evidence/{sha256}/standing")).json())
    answers.append(ClientError("no such evidence"))

    class Service:
        """Answers what the service has said."""

        def __init__(self, server: str, key: str) -> None:
            assert (server, key) == ("https://service", "secret")
            self.evidence = self

        def __enter__(self) -> Service:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def standing(self, ref: str) -> object:
            assert ref == sha256
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    monkeypatch.setattr("privacy_risk.Client", Service)
    argv = [str(report), "--keys", str(keys)]
    online = [*argv, "--online", "--server", "https://service"]
    assert verify.main(online) == 2, "no key"
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "secret")
    assert verify.main([*argv, "--online"]) == 2, "no server"
    capsys.readouterr()
    assert [verify.main(online) for _ in range(3)] == [0, 1, 2]
    said = capsys.readouterr().err
    assert (
        f"revoked on {(await journey.get(f'/v1/evaluations/{NAME}')).json()['revocation']['revoked_at'][:10]}"
        in said
    )
    assert REASON["reason"] in said
    assert "does not say whether" in said
    assert verify.main(argv) == 0

"""What evidence says and what it must not: values named anywhere are gone, everything else is there."""

from __future__ import annotations

import json

import pytest

from app.domain.errors import Conflict
from app.evidence.canonical import sha256_of_bytes
from app.evidence.envelope import opened
from app.evidence.statement import Subject, statement_of
from app.evidence.verification import verify
from app.services.gates.evidence import Attested, EvidenceIssuer, find
from app.services.gates.evidence_masking import masked_policy, masked_verdict
from app.services.gates.evidence_service import issue_assessment
from app.services.gates.evidence_values import EvidenceFile, EvidenceInput
from app.services.resources import Kind, NewResource
from tests.unit.reports.documents import verdict_result
from tests.unit.services.memory_store import NOW, MemoryStore

pytestmark = pytest.mark.anyio

MARK = "marker-4711"


def policy(**demands):
    criteria = [
        {"id": name, "title": name, "reason": "why", "severity": "block", "demand": demand}
        for name, demand in demands.items()
    ]
    return {
        "format": "privacy-risk/policy/1", "name": "p", "version": 1, "title": "P",
        "assumes": {"attacker": "someone", "options": {"utility": {
            "kind": "custom", "values": {"city": {MARK: 1.0}}, "weights": {"city": 2.0}}}},
        "criteria": criteria,
    }  # fmt: skip


NAMING = {
    "a measure": {
        "kind": "measure", "value": "alpha", "comparison": "at_most", "threshold": 0.5, "version": 1,
        "measure": {"kind": "alpha_k_anonymity", "k": 2, "values": [MARK], "alpha": 0.5},
    },
    "a model": {"kind": "privacy_model", "model": {"kind": "alpha_k_anonymity", "k": 2, "values": [MARK]}},
    "an objective": {"kind": "optimum", "gap": 0.0, "objective": {"kind": "min_loss", "privacy": [
        {"kind": "alpha_k_anonymity", "k": 2, "values": [MARK]}]}},
    "an unknown measure": {"kind": "measure", "measure": {"kind": "of-the-future", "names": [MARK]}},
    "an unknown model": {"kind": "privacy_model", "model": {"kind": "of-the-future", "names": [MARK]}},
}  # fmt: skip


@pytest.mark.parametrize("demand", NAMING.values(), ids=NAMING)
def test_values_that_a_policy_names_are_left_out(demand):
    given = policy(criterion=demand)
    assert MARK in json.dumps(given)
    shown = masked_policy(given)
    assert MARK not in json.dumps(shown)
    assert shown["criteria"][0]["demand"].keys() == demand.keys()
    assert shown["assumes"]["options"]["utility"]["weights"] == {"city": 2.0}
    assert len(shown["assumes"]["options"]["utility"]["values"]["city"]["sha256"]) == 64


def test_values_in_a_verdict_are_left_out_and_nothing_else():
    plain = verdict_result()
    result = verdict_result()
    groups = [part["group"] for own in result["criteria"] for part in own["parts"] if part["group"]]
    for group in groups:
        group["value"] = MARK
    result["changes"][0]["rule"] = {"kind": "at_least", "levels": {"city": 2}, "rule": {"where": MARK}}
    result["changes"][1]["rule"] = {"kind": "table_level", "suppress_classes_failing": [
        {"kind": "alpha_k_anonymity", "k": 2, "values": [MARK]}]}  # fmt: skip
    result["subject"]["rule"] = {**result["subject"]["rule"], "suppress_classes_failing": [
        {"kind": "alpha_k_anonymity", "k": 2, "values": [MARK]}]}  # fmt: skip
    shown = masked_verdict(result)
    assert MARK not in json.dumps(shown)
    assert shown["changes"][0]["rule"] == {"kind": "at_least", "levels": {"city": 2}}
    assert masked_verdict(plain) == plain
    assert MARK in json.dumps(result), "what is stored keeps its values"


async def stored(work, name="gate"):
    new = NewResource(Kind.EVALUATION, name, "a" * 64, {}, {})
    return (await work.resources.add(new))[0]


async def issue(work, resource, **more):
    inputs = [
        EvidenceInput("dataset", "members", "d" * 64),
        EvidenceInput("dictionary", "census", "c" * 64, "one"),
        EvidenceInput("dictionary", "census", "c" * 64, "two"),
        EvidenceInput("policy", "p@1", "b" * 64),
    ]
    parameters = {"dataset": "members", "rule": None, "options": policy()["assumes"]["options"]}
    arguments = {"result": verdict_result(), "inputs": inputs, "parameters": parameters, **more}
    attested = Attested(report="verdict", resource=resource, **arguments)
    return await EvidenceIssuer(lambda: NOW).issue(work, attested)


async def test_evidence_is_issued_once_and_verifies():
    async with MemoryStore().work("t") as work:
        resource = await stored(work)
        assert await find(work, resource.id) is None
        ref = await issue(work, resource, policy=policy(), measures={"k_map": 1}, seeds={"x": 7})
        assert await issue(work, resource, seeds={"x": 8}) == ref == await find(work, resource.id)
        report = (await work.evidence.get(ref.id)).envelope
        keys = {key.id: key for key in await work.signing_keys.list()}
    verified = verify(report, keys)
    assert (verified.sha256, sha256_of_bytes(report)) == (ref.sha256, ref.sha256)
    said = verified.statement.predicate
    assert said["resource"] == {"name": "gate", "sha256": "a" * 64}
    assert (said["measures"], said["seeds"]) == ({"k_map": 1}, {"x": 7})
    assert said["service"]["libraries"]["numpy"]
    assert said["result"]["verdict"] == "fail"
    assert MARK not in opened(report).content.decode()


async def test_evidence_says_who_asked_in_which_files_it_came_and_that_a_service_signed():
    async with MemoryStore().work("t") as work:
        resource, other = await stored(work), await stored(work, "other")
        await work.audit.record("key-1", "evaluation.create", resource.id, {})
        await work.audit.record("key-2", "evaluation.delete", resource.id, {})
        await work.audit.record("key-3", "evaluation.create", other.id, {})
        files = [EvidenceFile("dataset", "raw", "1" * 64), EvidenceFile("release", "out", "2" * 64)]
        statements = []
        for own in (resource, await stored(work, "unheard-of")):
            ref = await issue(work, own, files=files)
            statements.append(statement_of(opened((await work.evidence.get(ref.id)).envelope).content))
    said, unknown = (one.predicate for one in statements)
    assert said["asked_by"] == {"kind": "key", "id": "key-1", "name": "name of key-1"}
    assert unknown["asked_by"] is None
    assert said["signed_by"] == "service"
    assert [own["name"] for own in said["files"]] == ["raw", "out"]
    assert [own for own in statements[0].subjects if own.name.startswith("file/")] == [
        Subject("file/out", "2" * 64)
    ]


async def test_subjects_have_names_of_their_own():
    async with MemoryStore().work("t") as work:
        ref = await issue(work, await stored(work))
        report = (await work.evidence.get(ref.id)).envelope
        keys = {key.id: key for key in await work.signing_keys.list()}
    names = [subject.name for subject in verify(report, keys).statement.subjects]
    assert names == ["dataset/members", "dictionary/census#2", "dictionary/census#3"]


async def test_a_clock_behind_the_key_does_not_make_the_report_precede_it():
    async with MemoryStore().work("t") as work:
        resource = await stored(work)
        for _ in range(5):
            key = await work.signing_keys.rotate()
        assert key.valid_from > NOW
        ref = await issue(work, resource)
        report = (await work.evidence.get(ref.id)).envelope
        keys = {own.id: own for own in await work.signing_keys.list()}
    assert verify(report, keys).statement.issued_at == key.valid_from


async def test_an_assessment_without_a_result_has_no_evidence():
    async with MemoryStore().work("t") as work:
        new = NewResource(Kind.ASSESSMENT, "score", "a" * 64, {}, {})
        assessment, _ = await work.resources.add(new)
        with pytest.raises(Conflict, match="no result yet"):
            await issue_assessment(work, EvidenceIssuer(lambda: NOW), assessment)
        assert await work.signing_keys.list() == []

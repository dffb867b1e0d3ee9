"""Waivers over HTTP: what they are for, and that nothing else inherits them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.evidence.envelope import opened
from app.evidence.statement import statement_of
from app.services.gates import waivers
from tests.api.problem_documents import pointers, problem_of
from tests.conftest import FixedClock

pytestmark = pytest.mark.anyio

POLICY: dict[str, Any] = {
    "format": "privacy-risk/policy/1", "name": "bound", "version": 1, "title": "All alike",
    "assumes": {"attacker": "Anybody."}, "dictionaries": [],
    "not_covered": [{"columns": ["town"], "reason": "Which waivers count is what is tested."}],
    "criteria": [
        {
            "id": "k", "title": "Nobody alone", "reason": "Chosen for the test.",
            "demand": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
        }
    ],
}  # fmt: skip

WAIVER = {
    "name": "seen", "policy": "bound", "criterion": "k", "datasets": ["towns"], "reason": "Looked at.",
    "approved_by": "A. Officer", "until": "2030-01-01",
}  # fmt: skip

CSV = {"Content-Type": "text/csv"}


@pytest.fixture
async def gated(client: httpx.AsyncClient, once: Callable[[str], bool]) -> httpx.AsyncClient:
    """A client with the policy and a dataset that fails it."""
    if not once("gated"):
        return client
    assert (await client.post("/v1/policies", json=POLICY)).status_code == 201
    await towns(client, "a", "Salem", "Stowe")
    return client


async def towns(client: httpx.AsyncClient, upload: str, *values: str) -> dict[str, Any]:
    """The dataset ``towns`` with these values in its only column."""
    table = "\n".join(("town", *values))
    assert (await client.post(f"/v1/uploads?name={upload}", content=table, headers=CSV)).status_code == 201
    declared = [{"name": "town", "type": "categorical", "role": "quasi_identifier"}]
    made = await client.post("/v1/datasets", json={"name": "towns", "upload": upload, "attributes": declared})
    assert made.status_code == 201, made.text
    dataset: dict[str, Any] = made.json()
    return dataset


async def judged(client: httpx.AsyncClient, name: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Verdict, criterion and result of the table as it is."""
    body = {"name": name, "dataset": "towns", "rule": {"kind": "identity"}}
    answer = await client.post("/v1/gates/bound/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result["verdict"], result["criteria"][0], result


@pytest.mark.parametrize("reason", [".", "- -", "\u200b", "\u3164"])
async def test_a_waiver_needs_a_reason_in_words(gated: httpx.AsyncClient, unchanged: None, reason: str):
    refused = problem_of(
        await gated.post("/v1/waivers", json=WAIVER | {"reason": reason}), 422, "invalid-input"
    )
    assert pointers(refused) == ["/reason"]


async def test_other_data_under_the_name_do_not_inherit_it(gated: httpx.AsyncClient):
    first = (await gated.get("/v1/datasets/towns")).json()
    by_id = WAIVER | {"datasets": ["towns", first["id"]]}
    granted = (await gated.post("/v1/waivers", json=by_id)).json()
    assert (granted["datasets"], granted["contents"]) == (["towns"], {"towns": first["sha256"]})
    assert (await gated.post("/v1/waivers", json=WAIVER)).status_code == 200
    verdict, found, _ = await judged(gated, "first")
    assert (verdict, found["waiver"]["dataset_sha256"]) == ("pass", first["sha256"])
    evidence = (await gated.get("/v1/evaluations/first/evidence")).content
    (stated,) = statement_of(opened(evidence).content).predicate["result"]["criteria"]
    assert stated["waiver"] == found["waiver"]

    assert (await gated.delete("/v1/evaluations/first")).status_code == 204
    assert (await gated.delete("/v1/datasets/towns")).status_code == 204
    second = await towns(gated, "b", "Salem", "Stowe", "Ripton")
    verdict, found, result = await judged(gated, "second")
    assert (verdict, found["outcome"]) == ("fail", "failed")
    assert (found["waiver"]["in_force"], found["waiver"]["lapse"]) == (False, "other_content")
    assert (found["waiver"]["dataset_sha256"], second["sha256"]) != (second["sha256"], first["sha256"])
    assert any("other data" in warning for warning in result["warnings"])
    assert "(for other data: no waiver)" in (await gated.get("/v1/evaluations/second/report")).text
    # The same request means other data now.
    problem_of(await gated.post("/v1/waivers", json=WAIVER), 409, "conflict")

    # A waiver of the old content comes back with it.
    assert (await gated.delete("/v1/evaluations/second")).status_code == 204
    assert (await gated.delete("/v1/datasets/towns")).status_code == 204
    await towns(gated, "c", "Salem", "Stowe")
    assert (await judged(gated, "third"))[0] == "pass"


async def test_later_data_are_meant_only_where_that_is_said(gated: httpx.AsyncClient):
    later = WAIVER | {"datasets": ["towns", "none-yet"], "any_content": True}
    granted = (await gated.post("/v1/waivers", json=later)).json()
    assert (granted["datasets"], granted["contents"]) == (["none-yet", "towns"], None)
    assert (await gated.delete("/v1/datasets/towns")).status_code == 204
    await towns(gated, "b", "Salem", "Stowe", "Ripton")
    verdict, found, _ = await judged(gated, "later")
    assert (verdict, found["outcome"], found["waiver"]["dataset_sha256"]) == ("pass", "waived", None)


async def test_one_that_counts_goes_before_one_for_other_data(gated: httpx.AsyncClient):
    assert (await gated.post("/v1/waivers", json=WAIVER | {"until": "2031-01-01"})).status_code == 201
    assert (await gated.delete("/v1/datasets/towns")).status_code == 204
    await towns(gated, "b", "Salem", "Stowe", "Ripton")
    assert (await judged(gated, "before"))[0] == "fail"
    assert (await gated.post("/v1/waivers", json=WAIVER | {"name": "renewed"})).status_code == 201
    verdict, found, _ = await judged(gated, "after")
    assert (verdict, found["waiver"]["name"]) == ("pass", "renewed")


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"datasets": ["towns", "town"]}, "/datasets/1"), ({"datasets": None}, "/any_content")],
)
async def test_what_is_not_there_cannot_have_been_looked_at(
    gated: httpx.AsyncClient, unchanged: None, changes, pointer
):
    refused = await gated.post("/v1/waivers", json=WAIVER | changes)
    assert pointers(problem_of(refused, 422, "invalid-input")) == [pointer]
    problem_of(await gated.get("/v1/waivers/seen"), 404, "not-found")


@pytest.mark.parametrize(("until", "status"), [("2026-11-19", 422), ("2026-11-20", 201)])
async def test_it_may_be_granted_for_the_rest_of_today_but_not_for_a_day_that_is_past(
    gated: httpx.AsyncClient, clock: FixedClock, until: str, status: int
):
    """A waiver counts up to and including its last day."""
    assert clock().date().isoformat() == "2026-11-20"
    answer = await gated.post("/v1/waivers", json=WAIVER | {"until": until})
    assert answer.status_code == status
    if status == 422:
        assert pointers(problem_of(answer, 422, "invalid-input")) == ["/until"]
    assert (await judged(gated, "today"))[0] == ("pass" if status == 201 else "fail")


@pytest.mark.parametrize("changes", [{"policy": "other"}, {"datasets": ["villages"], "any_content": True}])
async def test_of_another_policy_or_another_dataset_it_says_nothing(gated: httpx.AsyncClient, changes):
    assert (await gated.post("/v1/policies", json=POLICY | {"name": "other"})).status_code == 201
    assert (await gated.post("/v1/waivers", json=WAIVER | changes)).status_code == 201
    verdict, found, _ = await judged(gated, "first")
    assert (verdict, found["outcome"], found["waiver"]) == ("fail", "failed", None)


async def version(client: httpx.AsyncClient, number: int, k: int, **more: Any) -> dict[str, Any]:
    """A version of the policy whose criterion asks for k."""
    (criterion,) = POLICY["criteria"]
    demand = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": k}}
    body = POLICY | {"version": number, "criteria": [criterion | {"demand": demand} | more]}
    made = await client.post("/v1/policies", json=body)
    assert made.status_code == 201, made.text
    stored: dict[str, Any] = made.json()
    return stored


async def test_a_version_that_asks_for_something_else_does_not_inherit_it(gated: httpx.AsyncClient):
    granted = (await gated.post("/v1/waivers", json=WAIVER)).json()
    assert (granted["policy"], granted["policy_version"]) == ("bound", 1)
    verdict, found, _ = await judged(gated, "first")
    assert (verdict, found["waiver"]["criterion_sha256"]) == ("pass", granted["criterion_sha256"])

    # Another version that asks for the same inherits it, and the same request means the same.
    await version(gated, 2, 2)
    assert (await judged(gated, "second"))[0] == "pass"
    assert (await gated.post("/v1/waivers", json=WAIVER)).status_code == 200

    await version(gated, 3, 3)
    verdict, found, result = await judged(gated, "third")
    assert (verdict, found["outcome"]) == ("fail", "failed")
    assert (found["waiver"]["in_force"], found["waiver"]["lapse"]) == (False, "other_criterion")
    assert any("another criterion under this id" in warning for warning in result["warnings"])
    assert "(for another criterion: no waiver)" in (await gated.get("/v1/evaluations/third/report")).text
    problem_of(await gated.post("/v1/waivers", json=WAIVER), 409, "conflict")
    # What was judged before is still judged so under the version of then.
    body = {"name": "again", "dataset": "towns", "rule": {"kind": "identity"}}
    again = await gated.post("/v1/gates/bound@2/evaluations", json=body)
    assert again.json()["result"]["verdict"] == "pass"


async def test_the_version_that_was_looked_at_may_be_named(gated: httpx.AsyncClient):
    await version(gated, 2, 3)
    granted = (await gated.post("/v1/waivers", json=WAIVER | {"policy": "bound@1"})).json()
    assert (granted["policy"], granted["policy_version"]) == ("bound", 1)
    assert (await judged(gated, "highest"))[0] == "fail"
    newer = WAIVER | {"name": "newer", "policy": "bound"}
    assert (await gated.post("/v1/waivers", json=newer)).json()["policy_version"] == 2
    verdict, found, _ = await judged(gated, "granted")
    assert (verdict, found["waiver"]["name"]) == ("pass", "newer")
    refused = await gated.post("/v1/waivers", json=WAIVER | {"name": "none", "criterion": "l"})
    assert pointers(problem_of(refused, 422, "invalid-input")) == ["/criterion"]
    refused = await gated.post("/v1/waivers", json=WAIVER | {"name": "none", "policy": "bound@3"})
    problem_of(refused, 422, "invalid-input")


@pytest.mark.parametrize(("minutes", "verdict"), [(-1, "pass"), (1, "fail")])
async def test_waivers_of_before_criteria_were_recorded_are_for_versions_that_were_there(
    gated: httpx.AsyncClient, monkeypatch, minutes, verdict
):
    assert (await gated.post("/v1/waivers", json=WAIVER)).status_code == 201
    await version(gated, 2, 3)
    read, later = waivers.all_resources, timedelta(minutes=minutes)

    async def of_before(work, kind):
        stored = await read(work, kind)
        unsaid = [{k: v for k, v in own.summary.items() if k != "criterion_sha256"} for own in stored]
        return [
            dataclasses.replace(own, summary=summary, created_at=own.created_at - later)
            for own, summary in zip(stored, unsaid, strict=True)
        ]

    monkeypatch.setattr(waivers, "all_resources", of_before)
    assert (await judged(gated, "old"))[0] == verdict


@pytest.mark.parametrize(("days", "verdict"), [(-1, "pass"), (1, "fail")])
@pytest.mark.parametrize("datasets", [["towns"], None])
async def test_waivers_of_before_contents_were_recorded_are_for_what_was_there(
    gated: httpx.AsyncClient, monkeypatch, datasets, days, verdict
):
    """They hold names only; a dataset that is newer than the waiver was not looked at."""
    assert (await gated.post("/v1/waivers", json=WAIVER)).status_code == 201
    read = waivers.all_resources

    async def of_before(work, kind):
        return [_by_name_only(stored, datasets, timedelta(days=days)) for stored in await read(work, kind)]

    monkeypatch.setattr(waivers, "all_resources", of_before)
    assert (await judged(gated, "old"))[0] == verdict


def _by_name_only(stored, datasets, dataset_is_newer):
    later = ("any_content", "contents", "criterion_sha256", "policy_version")
    kept = {key: own for key, own in stored.summary.items() if key not in later}
    return dataclasses.replace(
        stored, summary=kept | {"datasets": datasets}, created_at=stored.created_at - dataset_is_newer
    )


async def test_a_waived_criterion_covers_no_column(gated: httpx.AsyncClient):
    bare = {own: value for own, value in POLICY.items() if own != "not_covered"} | {"name": "bare"}
    assert (await gated.post("/v1/policies", json=bare)).status_code == 201
    body = {"dataset": "towns", "rule": {"kind": "identity"}}

    async def column(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        answer = await gated.post("/v1/gates/bare/evaluations", json=body | {"name": name})
        result: dict[str, Any] = answer.json()["result"]
        return result, result["coverage"]["columns"][0]

    plain, town = await column("without")
    assert (plain["verdict"], plain["coverage"]["outcome"], town["judged_by"]) == ("fail", "covered", ["k"])
    assert (await gated.post("/v1/waivers", json=WAIVER | {"policy": "bare"})).status_code == 201
    waived, town = await column("with")
    assert (waived["verdict"], waived["criteria"][0]["outcome"]) == ("fail", "waived")
    assert (waived["coverage"]["outcome"], town["judged_by"], town["waived"]) == ("not_covered", [], ["k"])
    (uncovered,) = waived["coverage"]["uncovered"]
    assert (uncovered["why"], "'k' being waived" in uncovered["message"]) == ("singles_out", True)
    assert any("'k' fails and is waived: it covers no column" in own for own in waived["warnings"])
    assert "not judged by k, for it is waived" in (await gated.get("/v1/evaluations/with/report")).text


async def test_a_criterion_that_holds_covers_its_columns_though_there_is_a_waiver(gated: httpx.AsyncClient):
    held = POLICY | {"name": "held", "not_covered": []}
    assert (await gated.post("/v1/policies", json=held)).status_code == 201
    assert (await gated.post("/v1/waivers", json=WAIVER | {"policy": "held"})).status_code == 201
    rule = {"kind": "table_level", "levels": {"town": 1}}
    body = {"dataset": "towns", "rule": rule}
    answer = await gated.post("/v1/gates/held/evaluations", json=body)
    result = answer.json()["result"]
    assert (result["verdict"], result["criteria"][0]["outcome"]) == ("pass", "passed")
    assert result["coverage"]["columns"][0]["judged_by"] == ["k"]

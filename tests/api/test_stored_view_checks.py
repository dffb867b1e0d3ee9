"""Checks of views as they are kept: asked again, changed, by a run, by two at once, and deleted."""

from __future__ import annotations

import asyncio
import copy
import time

import pytest

from app.api.examples.view_checks import RELATIONAL_SCHEMAS, VIEW_CHECK_RUNS, VIEW_CHECKS
from app.services.resources import Scope
from app.services.views import check_work, view_checks
from tests.api.problem_documents import problem_of
from tests.api.service import build_api

pytestmark = pytest.mark.anyio

HOSPITAL = RELATIONAL_SCHEMAS["hospital"]["value"]
BODY = {key: own for key, own in VIEW_CHECKS["hospital-views"]["value"].items() if key != "name"}


async def asked(client, body, status=201):
    answer = await client.post("/v1/view-checks", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def by_run(api, client, body):
    """The run that answers the question, when it has ended."""
    answer = await client.post("/v1/view-checks/runs", json=body)
    assert answer.status_code == 202, answer.text
    await api.work_off(answer.json()["id"])
    return (await client.get(f"/v1/runs/{answer.json()['id']}")).json()


def without_times(result):
    """The result without the milliseconds, the only thing in it that is a matter of chance."""
    result = copy.deepcopy(result)
    for pair in result["pairs"]:
        del pair["work"]["ms"]
    return result


def many(n_secrets, n_views, schema):
    """Secrets and views of wards, each with conditions of its own."""
    secret = "s(n) :- patient(p, n), diagnosis(p, 'cancer', m, {})."
    view = "v(p) :- diagnosis(p, d, m, w), w > {}."
    return {
        "relational_schema": schema,
        "secrets": [{"id": f"s{i}", "query": secret.format(i)} for i in range(n_secrets)],
        "views": [{"id": f"v{i}", "query": view.format(i)} for i in range(n_views)],
    }


@pytest.fixture
def decided(monkeypatch):
    """The pairs that are decided and not taken from before: secret and view."""
    seen = []
    pair = view_checks.Pairs.pair

    def noted(self, number):
        found = pair(self, number)
        seen.append((found["secret"], found["view"]))
        return found

    monkeypatch.setattr(view_checks.Pairs, "pair", noted)
    return seen


async def test_a_check_is_kept_read_listed_and_deleted(client):
    first = await asked(client, BODY | {"name": "kept"})
    assert first["result"]["gate"] == "DENY"
    assert [own["query"] for own in first["views"]] == [own["query"] for own in BODY["views"]]
    for ref in (first["id"], "kept"):
        assert (await client.get(f"/v1/view-checks/{ref}")).json() == first
    (listed,) = (await client.get("/v1/view-checks", params={"name": "kept"})).json()["items"]
    assert (listed["n_secrets"], listed["n_views"]) == (1, 2)
    assert not listed.keys() & {"result", "secrets", "views"}
    other = {**BODY, "name": "kept", "views": BODY["views"][:1]}
    problem_of(await client.post("/v1/view-checks", json=other), 409, "conflict")
    assert (await client.delete("/v1/view-checks/kept")).status_code == 204
    problem_of(await client.get("/v1/view-checks/kept"), 404, "not-found")
    events = (await client.get("/v1/audit-events")).json()["items"]
    assert {"view_check.create", "view_check.delete"} <= {own["action"] for own in events}


async def test_the_same_question_is_answered_by_the_earlier_result(client, decided):
    body = {key: own for key, own in BODY.items() if key != "advice"}
    first = await asked(client, body)
    assert len(decided) == 2
    assert await asked(client, body, 200) == first
    spelt = copy.deepcopy(body)
    spelt["secrets"][0]["query"] = "names(who):-patient(x,who),\n   diagnosis(x,'cancer',drug,w)."
    again = await asked(client, spelt)
    # The same pairs, whose places are those of the text that is asked now.
    witness = copy.deepcopy(first["result"])["pairs"][0]["witness"]
    assert witness["secret"].pop("places") == [{"line": 1, "column": 28}]
    moved = again["result"]["pairs"][0]["witness"]
    assert moved["secret"].pop("places") == [{"line": 2, "column": 4}]
    assert moved == witness
    assert again["id"] != first["id"]
    assert again["secrets"][0]["query"] == spelt["secrets"][0]["query"]
    named = await asked(client, body | {"name": "by-name"})
    assert named["result"] == first["result"]
    assert len(decided) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"ignore_foreign_keys": True},
        {"views": [BODY["views"][0] | {"query": "wards(w) :- diagnosis(p, d, m, w), d != 'cancer'."}]},
        {"views": [BODY["views"][0] | {"keeps_duplicates": True}]},
        {
            "relational_schema": {
                **BODY["relational_schema"],
                "foreign_keys": [{"from": "diagnosis", "to": "patient"}],
            }
        },
    ],
)
async def test_another_question_is_decided_by_itself(client, decided, changed):
    before = await asked(client, BODY | {"views": BODY["views"][:1]})
    decided.clear()
    after = await asked(client, BODY | {"views": BODY["views"][:1]} | changed)
    assert after["sha256"] != before["sha256"]
    assert len(decided) == 1


async def test_a_check_shows_the_queries_that_it_was_asked_with(client):
    body = {
        "language": "sql",
        "relational_schema": {
            "sql": "CREATE TABLE d (pid int NOT NULL, ill text NOT NULL, ward int NOT NULL)"
        },
        "secrets": [{"id": "s", "query": "SELECT pid FROM d WHERE ill = 'cancer'"}],
    }
    view = "SELECT ward FROM d GROUP BY ward HAVING count(*) > {}"
    found = [
        await asked(client, body | {"views": [{"id": "v", "query": view.format(number)}]})
        for number in (5, 99)
    ]
    for own, number in zip(found, (5, 99), strict=True):
        shown = (await client.get(f"/v1/view-checks/{own['id']}")).json()
        assert shown["views"][0]["query"] == view.format(number)
    assert found[0]["result"] == found[1]["result"]


async def test_advice_calls_variables_what_the_question_does(client):
    for name in ("patient", "somebody"):
        body = {
            "relational_schema": {"relations": {"r": {"attributes": ["a", "b"]}}},
            "secrets": [{"id": "s", "query": "s(x) :- r(x, 'c')."}],
            "views": [{"id": "v", "query": f"v({name}) :- r({name}, y)."}],
            "advice": ["changes"],
        }
        (pair,) = (await asked(client, body))["result"]["pairs"]
        assert name in pair["advice"]["changes"]["found"][0]["query"]


async def test_what_a_number_and_a_text_mean_is_told_apart(client):
    schema = {"relations": {"r": {"attributes": ["a"]}}}
    found = [
        await asked(
            client,
            {
                "relational_schema": schema,
                "secrets": [{"id": "s", "query": "s() :- r(1)."}],
                "views": [{"id": "v", "query": f"v() :- r({value})."}],
            },
        )
        for value in ("1", "'1'", "1.5")
    ]
    assert [own["result"]["verdict"] for own in found] == ["DISCLOSES", "PRIVATE", "PRIVATE"]
    assert len({own["sha256"] for own in found}) == 3


async def test_only_pairs_of_a_changed_view_are_decided_anew(client, decided):
    await client.post("/v1/relational-schemas", json=HOSPITAL)
    body = many(3, 4, "hospital")
    before = await asked(client, body)
    decided.clear()
    body["views"][2]["query"] = "v(p) :- diagnosis(p, 'hepatitis', m, w)."
    after = await asked(client, body)
    assert decided == [(f"s{i}", "v2") for i in range(3)]
    for number, (old, new) in enumerate(
        zip(before["result"]["pairs"], after["result"]["pairs"], strict=True)
    ):
        assert (old == new) == (number % 4 != 2)
    # The same schema as it is declared is the same schema.
    decided.clear()
    inline = {key: own for key, own in HOSPITAL.items() if key != "name"}
    again = await asked(client, body | {"relational_schema": inline, "name": "declared"})
    assert (again["result"], decided) == (after["result"], [])


async def test_what_was_not_decided_in_time_is_decided_anew(client, monkeypatch, decided):
    monkeypatch.setattr(check_work, "PAIR_SECONDS", 0.0)
    await asked(client, many(1, 2, BODY["relational_schema"]))
    decided.clear()
    await asked(client, many(1, 3, BODY["relational_schema"]))
    assert len(decided) == 3


async def test_a_pair_whose_advice_had_no_room_is_decided_anew(client, monkeypatch, decided):
    in_room = check_work.in_room

    def without_advice(pairs):
        return [{**pair, "advice": None} for pair in in_room(pairs)]

    body = BODY | {"advice": ["changes"]}
    one = body | {"views": BODY["views"][:1]}
    with monkeypatch.context() as full:
        full.setattr(check_work, "in_room", without_advice)
        (pair,) = (await asked(client, one))["result"]["pairs"]
    assert (pair["verdict"], pair["advice"], len(decided)) == ("DISCLOSES", None, 1)
    pair, _ = (await asked(client, body))["result"]["pairs"]
    assert pair["advice"] is not None
    assert len(decided) == 3


async def test_a_run_finds_the_same_as_a_direct_answer(api, client, other_client, monkeypatch):
    monkeypatch.setattr(check_work, "PAIRS_OF_A_BLOCK", 5)
    body = many(3, 4, BODY["relational_schema"])
    run = await by_run(api, client, body)
    assert (run["state"], run["resource"]["kind"]) == ("succeeded", "view_check")
    assert (run["progress"]["done"], run["progress"]["total"]) == (12, 12)
    result = (await client.get(f"/v1/runs/{run['id']}/result")).json()
    direct = (await asked(other_client, body))["result"]
    assert without_times(result) == without_times(direct)
    assert (await asked(client, body, 200))["result"] == result
    assert (await client.get(f"/v1/view-checks/{run['resource']['name']}")).json()["result"] == result


async def test_an_interrupted_run_goes_on_where_it_was(api, client, monkeypatch, decided):
    monkeypatch.setattr(check_work, "PAIRS_OF_A_BLOCK", 2)
    body = many(2, 3, BODY["relational_schema"])
    answer = await client.post("/v1/view-checks/runs", json=body)
    run_id = answer.json()["id"]
    block = check_work.CheckWork.run_block

    def killed(self, index, tick, halted):
        if index == 2:
            raise RuntimeError("the worker is gone")
        return block(self, index, tick, halted)

    monkeypatch.setattr(check_work.CheckWork, "run_block", killed)
    claim = await api.registry.claim(run_id, "first", 60.0)
    with pytest.raises(RuntimeError):
        await api.execute(claim)
    assert len(decided) == 4
    monkeypatch.setattr(check_work.CheckWork, "run_block", block)
    await api.execute(await api.registry.claim(run_id, "second", 0.0))
    assert len(decided) == 6
    assert (await client.get(f"/v1/runs/{run_id}")).json()["state"] == "succeeded"
    assert len((await client.get(f"/v1/runs/{run_id}/result")).json()["pairs"]) == 6


async def test_a_run_that_is_stopped_tells_what_was_decided_and_answers_no_other_question(
    api, client, monkeypatch, decided
):
    monkeypatch.setattr(check_work, "PAIRS_OF_A_BLOCK", 2)
    body = many(2, 3, BODY["relational_schema"])
    run_id = (await client.post("/v1/view-checks/runs", json=body | {"name": "part"})).json()["id"]
    await api.work_off(run_id, lambda: len(decided) >= 4)
    run = (await client.get(f"/v1/runs/{run_id}")).json()
    assert (run["state"], run["progress"]["done"] < 6) == ("succeeded", True)
    found = (await client.get("/v1/view-checks/part")).json()["result"]
    whole = await asked(client, body | {"name": "whole"})
    for number, (own, full) in enumerate(zip(found["pairs"], whole["result"]["pairs"], strict=True)):
        assert (own["secret"], own["view"]) == (full["secret"], full["view"])
        assert (own["verdict"] == "UNKNOWN") == (number >= 3), "the pair at which it was stopped is not whole"
        if number >= 3:
            assert own["explanation"].startswith("The run was stopped before the pair was looked at.")
        else:
            assert own["verdict"] == full["verdict"]
    assert found["gate"] == "DENY"
    assert (await client.get("/v1/view-checks/part")).json()["result"] == found
    assert "UNKNOWN" not in {own["verdict"] for own in whole["result"]["pairs"]}, "nothing was taken from it"


async def test_a_check_that_is_stopped_before_it_began_has_decided_nothing(api, client):
    body = many(2, 3, BODY["relational_schema"])
    run_id = (await client.post("/v1/view-checks/runs", json=body)).json()["id"]
    assert (await client.post(f"/v1/runs/{run_id}/stop")).json()["stop_requested"]
    await api.work_off(run_id)
    result = (await client.get(f"/v1/runs/{run_id}/result")).json()
    assert (result["verdict"], result["gate"], len(result["pairs"])) == ("UNKNOWN", "DENY", 6)


async def test_who_waits_for_a_small_run_has_its_result_at_once(client):
    await client.post("/v1/relational-schemas", json=HOSPITAL)
    body = VIEW_CHECK_RUNS["wards-by-run"]["value"]
    answer = await client.post("/v1/view-checks/runs", json=body, headers={"Prefer": "wait=20"})
    assert (answer.status_code, answer.json()["state"]) == (201, "succeeded")
    assert answer.json()["result"]["verdict"] == "DISCLOSES"


async def test_more_pairs_than_a_direct_answer_may_take_become_a_run(client, decided):
    body = many(5, 40, BODY["relational_schema"])
    asked = await client.post("/v1/view-checks", json=body)
    assert (asked.status_code, asked.json()["result"]) == (202, None)
    plan = (await client.post("/v1/view-checks/plans", json=body)).json()
    assert (plan["route"], plan["units"]) == ("run", 200)
    small = (await client.post("/v1/view-checks/plans", json=BODY)).json()
    assert (small["route"], small["missing"]) == ("direct", [])
    missing = (await client.post("/v1/view-checks/plans", json=BODY | {"relational_schema": "no"})).json()
    assert [own["pointer"] for own in missing["missing"]] == ["/relational_schema"]
    assert decided == []


async def test_a_plan_lists_all_that_stands_in_the_way_however_much_that_is(client):
    body = many(1, 150, BODY["relational_schema"])
    wrong = {"views": [{**own, "query": "no query"} for own in body["views"]]}
    plan = await client.post("/v1/view-checks/plans", json=body | wrong)
    assert plan.status_code == 200, plan.text
    assert [own["pointer"] for own in plan.json()["missing"]] == [f"/views/{i}/query" for i in range(150)]


async def test_what_takes_longer_than_a_direct_answer_may_is_not_kept_undecided(api, client, monkeypatch):
    monkeypatch.setattr(check_work, "CHECK_SECONDS", 0.0)
    body = many(2, 2, BODY["relational_schema"])
    asked = await client.post("/v1/view-checks", json=body)
    assert (asked.status_code, asked.json()["result"]) == (202, None)
    run = await by_run(api, client, body)
    assert run["id"] == asked.json()["run"]["id"]
    verdicts = {own["verdict"] for own in (await client.get(f"/v1/runs/{run['id']}/result")).json()["pairs"]}
    assert "UNKNOWN" not in verdicts


async def test_two_clients_at_once_have_one_check(client, decided):
    body = many(2, 2, BODY["relational_schema"]) | {"name": "at-once"}
    answers = await asyncio.gather(*(client.post("/v1/view-checks", json=body) for _ in range(4)))
    assert sorted(own.status_code for own in answers) == [200, 200, 200, 201]
    assert len({own.json()["id"] for own in answers}) == 1
    assert len(decided) == 4


async def test_nothing_is_deleted_under_a_run_and_a_cancelled_one_leaves_nothing(api, client):
    await client.post("/v1/relational-schemas", json=HOSPITAL)
    body = many(2, 2, "hospital") | {"name": "in-use"}
    run = (await client.post("/v1/view-checks/runs", json=body)).json()
    for path in ("view-checks/in-use", "relational-schemas/hospital"):
        problem_of(await client.delete(f"/v1/{path}"), 409, "conflict")
    assert (await client.get("/v1/view-checks/in-use")).json()["result"] is None
    assert (await client.post(f"/v1/runs/{run['id']}/cancel")).json()["state"] == "cancelled"
    for path in ("view-checks/in-use", "relational-schemas/hospital"):
        assert (await client.delete(f"/v1/{path}")).status_code == 204
    problem_of(await client.get(f"/v1/runs/{run['id']}"), 404, "not-found")


async def test_the_result_goes_with_the_last_check_of_it(client, decided):
    first = await asked(client, BODY | {"name": "one"})
    await asked(client, BODY | {"name": "two"})
    await client.delete("/v1/view-checks/one")
    assert (await client.get("/v1/view-checks/two")).json()["result"] == first["result"]
    await client.delete("/v1/view-checks/two")
    decided.clear()
    await asked(client, BODY | {"name": "three"})
    assert len(decided) == 2


async def test_another_tenant_shares_neither_checks_nor_what_they_found(client, other_client, decided):
    mine = await asked(client, BODY | {"name": "mine"})
    decided.clear()
    theirs = await asked(other_client, BODY | {"name": "mine"})
    assert len(decided) == 2
    assert (theirs["sha256"], theirs["id"] == mine["id"]) == (mine["sha256"], False)
    problem_of(await other_client.get(f"/v1/view-checks/{mine['id']}"), 404, "not-found")
    problem_of(await other_client.delete(f"/v1/view-checks/{mine['id']}"), 404, "not-found")


async def test_queries_and_examples_are_shown_to_who_may_write_them_or_read_data(api):
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        whole = await asked(client, BODY | {"name": "named"})
    shown = {}
    for scope in (Scope.ASSESS, Scope.DATA_READ, Scope.GOVERN):
        async with api.client(await api.key_with(actor, scope)) as client:
            shown[scope] = (await client.get("/v1/view-checks/named")).json()
            if scope is not Scope.ASSESS:
                problem_of(await client.post("/v1/view-checks", json=BODY), 403, "forbidden")
    assert shown[Scope.ASSESS] == shown[Scope.DATA_READ] == whole
    masked = shown[Scope.GOVERN]
    assert "cancer'" not in str(masked)
    assert masked["result"]["verdict"] == "DISCLOSES"
    assert [own["reason_code"] for own in masked["result"]["pairs"]] == [
        own["reason_code"] for own in whole["result"]["pairs"]
    ]


async def test_a_repeated_request_is_answered_as_the_first_was(client):
    headers = {"Idempotency-Key": "check-1"}
    first = await client.post("/v1/view-checks", json=BODY, headers=headers)
    again = await client.post("/v1/view-checks", json=BODY, headers=headers)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    other = await client.post("/v1/view-checks", json=BODY | {"name": "x"}, headers=headers)
    assert other.status_code == 422


async def test_runs_of_checks_count_among_those_that_a_tenant_may_have(api, client):
    tenant = (await client.get("/v1/tenant")).json()
    await api.services.tenants.change_settings(tenant["name"], {"active_runs": 1})
    body = many(1, 2, BODY["relational_schema"])
    assert (await client.post("/v1/view-checks/runs", json=body)).status_code == 202
    refused = await client.post("/v1/view-checks/runs", json=body | {"views": body["views"][:1]})
    problem_of(refused, 429, "rate-limited")


@pytest.mark.deep
async def test_two_hundred_views_by_twenty_secrets_and_one_view_changed(store, registry, clock):
    """4,000 pairs by a run; with one view changed, a direct answer within two seconds of the processor."""
    api = build_api(store, registry, clock, body_bytes=2_000_000)
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await client.post("/v1/relational-schemas", json=HOSPITAL)
        body = many(20, 200, "hospital")
        assert (await by_run(api, client, body))["state"] == "succeeded"
        body["views"][77]["query"] = "v(p) :- diagnosis(p, 'hepatitis', m, w)."
        began = time.process_time()
        found = await asked(client, body)
        assert time.process_time() - began <= 2.0
        assert len(found["result"]["pairs"]) == 4_000

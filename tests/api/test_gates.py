"""Gates over HTTP: verdicts, waivers, errors that are no passes, refusals, other tenants, crashes."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.api.examples.files import MEMBERS_CSV
from app.api.examples.gates import EVALUATIONS, NAME, RUN_NAME, WAIVER
from app.api.examples.policies import RELEASE
from app.composition.run_process import run_execution
from app.domain.rules.rule import TableRule
from app.domain.search.answers import Answers
from app.domain.search.budget import never
from app.domain.search.full_domain.plan import AnonymityPlan
from app.evidence.envelope import opened
from app.evidence.statement import statement_of
from app.services.gates.completion import Completion
from app.services.gates.privacy_model_evaluator import PrivacyModelEvaluator
from app.services.gates.proven_evaluators import OptimumEvaluator
from app.services.resources import Scope
from app.services.runs.run_execution import no_tick
from app.services.scoring.scoring_options import NO_CONSISTENCY
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

QUESTION = {key: value for key, value in EVALUATIONS[NAME]["value"].items() if key != "name"}
GATE = "/v1/gates/members-release/evaluations"


def criterion(id_: str, demand: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id_, "title": id_, "reason": "Chosen for the test.", "requirement": demand, **more}


async def stored_policy(client: httpx.AsyncClient, name: str, *criteria: dict[str, Any], **more: Any) -> str:
    # Most criteria of these tests read few columns; what is not covered has tests of its own.
    columns = ["city", "race", "birth_date", "income", "member_id"]
    excused = [{"columns": columns, "reason": "Chosen for the test."}]
    policy = copy.deepcopy(RELEASE) | {
        "name": name, "requirements": list(criteria), "not_covered": excused, **more
    }  # fmt: skip
    made = await client.post("/v1/policies", json=policy)
    assert made.status_code == 201, made.text
    return f"/v1/gates/{name}/evaluations"


async def verdict(client: httpx.AsyncClient, gate: str, **more: Any) -> dict[str, Any]:
    answer = await client.post(gate, json=QUESTION | more)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["result"]


async def test_the_examples_gate_fails_with_values_margins_and_a_change(journey: httpx.AsyncClient):
    evaluation = (await journey.get(f"/v1/evaluations/{NAME}")).json()
    result = evaluation["result"]
    assert result["verdict"] == "fail"
    by_id = {own["id"]: own for own in result["criteria"]}
    score = (await journey.get("/v1/assessments/proposal-score")).json()["result"]
    assert by_id["several-people"]["value"] == score["min_consistent"]
    assert by_id["harm"]["value"] == score["risk_average"]
    assert by_id["harm"]["margin"] == pytest.approx(1 - score["risk_average"])
    assert result["risk"]["register"]["risk_max"] == score["risk_max"]
    assert {own["status"] for own in result["changes"]} <= {"found", "none_exists"}
    by_run = (await journey.get(f"/v1/evaluations/{RUN_NAME}")).json()
    assert by_run["result"]["criteria"] == result["criteria"]
    assert evaluation["evidence"]["sha256"] != by_run["evidence"]["sha256"]
    # The waiver that the journey granted since would make it another evaluation.
    problem_of(await journey.post(GATE, json=EVALUATIONS[NAME]["value"]), 409, "conflict")
    await journey.delete(f"/v1/waivers/{WAIVER}")
    again = await journey.post(GATE, json=EVALUATIONS[NAME]["value"])
    assert (again.status_code, again.json()["evidence"]) == (200, evaluation["evidence"])


async def test_the_evidence_spells_out_what_the_policy_leaves_as_usual(journey: httpx.AsyncClient):
    envelope = (await journey.get(f"/v1/evaluations/{NAME}/evidence")).content
    stated = statement_of(opened(envelope).content).predicate
    assert stated["parameters"]["options"] == {
        "utility": "depth_sum", "absent_policy": "zero", "risk_model": "I",
        "consistency": NO_CONSISTENCY, "attacker_view": None,
    }  # fmt: skip
    (small,) = [own for own in stated["result"]["criteria"] if own["id"] == "small-classes"]
    records = stated["result"]["subject"]["records"]
    alone = round(small["value"] * records)
    assert small["explanation"] == (
        f"k-anonymity (k = 2): {alone} of {records} records would be unique; none may."
    )
    assert small["quantity"] == {"what": "in classes that fail k-anonymity (k = 2)", "of_records": records}
    (harm,) = [own for own in stated["result"]["criteria"] if own["id"] == "harm"]
    assert harm["quantity"] == {"what": "mean risk of the records", "of_records": None}


async def test_a_suggested_change_makes_its_criterion_pass(journey: httpx.AsyncClient):
    result = (await journey.get(f"/v1/evaluations/{NAME}")).json()["result"]
    found = [own for own in result["changes"] if own["status"] == "found"]
    assert found
    for change in found:
        changed = await verdict(journey, GATE, rule=change["rule"])
        outcomes = {own["id"]: own["outcome"] for own in changed["criteria"]}
        if change["for"] == "all":
            assert changed["verdict"] == "pass"
        else:
            assert outcomes[change["for"]] == "passed"


async def test_a_waiver_in_force_unblocks_and_an_expired_one_does_not(api, journey: httpx.AsyncClient):
    await journey.delete(f"/v1/waivers/{WAIVER}")
    today = api.clock().date()
    gate = await stored_policy(
        journey,
        "strict",
        criterion(
            "few",
            {"kind": "score", "value": "min_consistent", "comparison": "at_least", "threshold": 1000,
             "dictionary": "register"},
        ),
    )  # fmt: skip
    assert (await verdict(journey, gate))["verdict"] == "fail"
    waiver = {
        "name": "once", "policy": "strict", "criterion": "few", "datasets": ["members"], "reason": "A pilot.",
        "approved_by": "A. Officer", "until": today.isoformat(),
    }  # fmt: skip
    assert (await journey.post("/v1/waivers", json=waiver)).status_code == 201
    waived = await verdict(journey, gate)
    assert (waived["verdict"], waived["criteria"][0]["outcome"]) == ("pass", "waived")
    assert waived["criteria"][0]["waiver"]["approved_by"] == "A. Officer"
    api.services.evaluations._clock = lambda: api.clock() + timedelta(days=1)
    expired = await verdict(journey, gate)
    assert (expired["verdict"], expired["criteria"][0]["outcome"]) == ("fail", "failed")
    assert any("expired" in warning for warning in expired["warnings"])
    assert expired["criteria"][0]["waiver"]["lapse"] == "expired"
    late = waiver | {"name": "late", "until": (today - timedelta(days=1)).isoformat()}
    assert pointers(problem_of(await journey.post("/v1/waivers", json=late), 422, "invalid-input")) == [
        "/until"
    ]
    unknown = waiver | {"name": "unknown", "criterion": "many"}
    assert pointers(problem_of(await journey.post("/v1/waivers", json=unknown), 422, "invalid-input")) == [
        "/criterion"
    ]


async def test_a_search_that_takes_longer_than_expected_is_left_to_a_run(
    api, journey: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "loss": "discernibility"}
    best = criterion("best", {"kind": "optimum", "objective": objective, "scope": "table_level", "gap": 1})
    gate = await stored_policy(journey, "best", best)
    monkeypatch.setattr("app.services.gates.evaluations.OVERRUN", 0.0)
    asked = await journey.post(gate, json=QUESTION | {"name": "too-long"})
    assert (asked.status_code, asked.json()["result"]) == (202, None)
    run = asked.json()["run"]
    assert asked.headers["Location"] == f"/v1/runs/{run['id']}"
    monkeypatch.undo()
    await api.work_off(run["id"])
    found = (await journey.get("/v1/evaluations/too-long")).json()["result"]
    assert found["criteria"][0]["value"] is not None


async def test_what_cannot_be_computed_is_an_error_even_if_waived(api, journey: httpx.AsyncClient):
    demand = {
        "kind": "measure", "measure": {"kind": "delta_presence"}, "value": "is_delta_present",
        "comparison": "equals", "threshold": True, "dictionary": "register",
    }  # fmt: skip
    gate = await stored_policy(journey, "unknowable", criterion("presence", demand))
    waiver = {
        "name": "hope", "policy": "unknowable", "criterion": "presence", "reason": "r", "approved_by": "a",
        "until": "2030-01-01", "any_content": True,
    }  # fmt: skip
    assert (await journey.post("/v1/waivers", json=waiver)).status_code == 201
    result = await verdict(journey, gate)
    (found,) = result["criteria"]
    assert (result["verdict"], found["outcome"], found["value"]) == ("error", "not_computable", None)
    assert found["error"]["message"]
    gate = await stored_policy(journey, "warned", criterion("presence", demand, severity="warn"))
    # Only what blocks makes an error.
    assert (await verdict(journey, gate))["verdict"] == "pass"


async def test_groups_are_judged_one_by_one_and_named_only_to_who_may_read(api, journey: httpx.AsyncClient):
    group = {"groups": "race"}
    score = {
        "kind": "score", "value": "risk_max", "comparison": "at_most", "threshold": 1e6,
        "dictionary": "register",
    }  # fmt: skip
    classes = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}, "failing_share": 0.5}
    gate = await stored_policy(
        journey, "fair", criterion("each", score, scope=group), criterion("hidden", classes, scope=group)
    )
    result = await verdict(journey, gate, name="fair-one")
    each, hidden = result["criteria"]
    total = (await journey.get("/v1/assessments/proposal-score")).json()["result"]
    assert max(part["value"] for part in each["parts"]) == total["risk_max"] == each["value"]
    assert sum(part["group"]["records"] for part in hidden["parts"]) == 12
    assert {"White", "Black"} <= {part["group"]["value"] for part in each["parts"]}
    key = await journey.post("/v1/api-keys", json={"name": "pipeline", "scopes": ["assess"]})
    async with api.client(key.json()["token"]) as pipeline:
        seen = (await pipeline.get("/v1/evaluations/fair-one")).json()["result"]
        assert {part["group"]["value"] for own in seen["criteria"] for part in own["parts"]} == {None}
        assert [part["value"] for part in seen["criteria"][0]["parts"]] == [
            part["value"] for part in each["parts"]
        ]


async def test_optima_and_bounds_are_conditions_too(journey: httpx.AsyncClient):
    optimum = {
        "kind": "optimum", "objective": {"kind": "min_risk", "utility_floor": 6}, "dictionary": "register",
    }  # fmt: skip
    bound = {"kind": "bound", "dictionary": "register", "may_rest_on_assumptions": True}
    gate = await stored_policy(journey, "best", criterion("best", optimum), criterion("bounds", bound))
    best = await verdict(journey, gate, rule="members-optimum")
    found = {own["id"]: own for own in best["criteria"]}
    assert (found["best"]["outcome"], found["best"]["value"]) == ("passed", 0)
    assert {own["holds"] for own in found["bounds"]["hypotheses"]} <= {"yes", "no", "assumed"}
    worse = await verdict(journey, gate, rule={"kind": "identity"})
    found = {own["id"]: own for own in worse["criteria"]}
    assert (found["best"]["outcome"], found["best"]["value"] > 0) == ("failed", True)


async def test_requests_that_cannot_be_judged_are_problems_and_leave_nothing(journey: httpx.AsyncClient):
    elsewhere = {"name": "elsewhere", "schema": {"attributes": {"salary": "sensitive"}}, "not_covered": []}
    other = copy.deepcopy(RELEASE) | elsewhere
    assert (await journey.post("/v1/policies", json=other)).status_code == 201
    before = (await journey.get("/v1/evaluations")).json()["items"]
    cases = [
        (GATE, {"dictionaries": {}}, "/dictionaries/register"),
        (GATE, {"dictionaries": {"register": "census", "rumour": "census"}}, "/dictionaries/rumour"),
        (GATE, {"sensitivity": None}, "/sensitivity"),
        ("/v1/gates/elsewhere/evaluations", {}, "/dataset"),
    ]
    for gate, more, pointer in cases:
        for path in (gate, f"{gate}/runs"):
            refused = await journey.post(path, json=QUESTION | more)
            assert pointer in pointers(problem_of(refused, 422, "invalid-input"))
        plan = (await journey.post(f"{gate}/plans", json=QUESTION | more)).json()
        assert plan == (await journey.post(f"{gate}?dry_run=true", json=QUESTION | more)).json()
        assert (plan["route"], pointer in [own["pointer"] for own in plan["missing"]]) == (None, True)
    for more in ({"rule": "nothing"}, {"dataset": "nothing"}, {"dictionaries": {"register": "nothing"}}):
        problem_of(await journey.post(GATE, json=QUESTION | more), 422, "invalid-input")
    problem_of(await journey.post("/v1/gates/nothing/evaluations", json=QUESTION), 404, "not-found")
    both = QUESTION | {"release": {"upload": "members"}}
    problem_of(await journey.post(GATE, json=both), 422, "invalid-input")
    assert (await journey.get("/v1/evaluations")).json()["items"] == before


@pytest.mark.parametrize(("rows", "outcome"), [(2, "failed"), (12, "passed")])
async def test_records_that_a_file_leaves_out_make_no_class_larger(journey: httpx.AsyncClient, rows, outcome):
    """Of two rows without quasi-identifiers each is one of two, however many records the dataset has."""
    members = list(csv.DictReader(io.StringIO(MEMBERS_CSV)))[:rows]
    text = "member_id,income\n" + "".join(f"{own['member_id']},{own['income']}\n" for own in members)
    name, headers = f"file-of-{rows}", {"Content-Type": "text/csv"}
    made = await journey.post("/v1/uploads", params={"name": name}, content=text, headers=headers)
    assert made.status_code == 201, made.text
    demand = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 3}}
    gate = await stored_policy(journey, f"{name}-policy", criterion("k", demand))
    body = {key: value for key, value in QUESTION.items() if key != "rule"}
    answer = await journey.post(gate, json=body | {"release": {"upload": name, "key": "member_id"}})
    assert answer.status_code == 201, answer.text
    assert [own["outcome"] for own in answer.json()["result"]["criteria"]] == [outcome]


async def test_values_are_shown_only_to_who_reads_the_data(api, journey: httpx.AsyncClient, journeys_end):
    """Neither those of groups nor those that criteria of rules, policies and searches name."""
    named = {"kind": "alpha_k_anonymity", "k": 1, "alpha": 1.0, "attribute": "income", "values": ["52000"]}
    objective = {"kind": "min_loss", "privacy": [named], "loss": "discernibility"}
    rule = {"name": "naming", "dataset": "members", "rule": {
        "kind": "table_level", "levels": {}, "suppress_classes_failing": [named]}}  # fmt: skip
    assert (await journey.post("/v1/rules", json=rule)).status_code == 201
    gate = await stored_policy(
        journey,
        "naming",
        criterion("model", {"kind": "privacy_model", "model": named}),
        criterion("best", {"kind": "optimum", "objective": objective, "scope": "table_level", "gap": 1}),
        criterion(
            "groups",
            {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
            scope={"groups": "race"},
        ),
    )
    question = QUESTION | {"rule": "naming", "name": "naming"}
    assert (await journey.post(gate, json=question)).status_code == 201
    started = await journey.post(f"{gate}/runs", json=question | {"name": "naming-run"})
    assert started.status_code in (200, 202), started.text
    run = started.json()["id"]
    await api.work_off(run)
    search = {"name": "naming-optimum", "dataset": "members", "objective": objective}
    posed = await journey.post("/v1/optimisations", json=search)
    assert posed.status_code == 201, posed.text
    sought = posed.json()["id"]
    await api.work_off(sought)
    score = {key: QUESTION[key] for key in ("dataset", "sensitivity")} | {"dictionary": "census"}
    scored = await journey.post("/v1/assessments", json=score | {"name": "naming", "rule": "naming"})
    assert scored.status_code == 201, scored.text
    pages = [
        f"/v1/{kind}{place}"
        for kind in ("policies", "rules", "evaluations", "assessments")
        for place in ("", "/naming")
    ]
    pages += ["/v1/optimisations", "/v1/rules/naming-optimum"]
    pages += [
        "/v1/optimisations/naming-optimum",
        "/v1/evaluations/naming/report",
        f"/v1/runs/{run}/result",
        f"/v1/runs/{sought}/result",
    ]
    actor = await api.services.tenants.authenticate(journeys_end.token)
    seen = "".join([(await journey.get(page)).text for page in pages])
    assert '"52000"' in seen
    assert '"value":"Chinese"' in seen
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as client:
        for page in pages:
            answer = await client.get(page)
            assert answer.status_code == 200, page
            # As a word: within ids and digests it occurs by chance.
            assert not re.search(r"\b52000\b", answer.text), page
            assert "Chinese" not in answer.text, page


async def test_a_gate_that_tells_counts_is_asked_by_readers_of_the_data_only(
    api, journey: httpx.AsyncClient, journeys_end
):
    measure = {"kind": "expected_count_errors", "p_cap": 0.5, "missing_sensitive": "excluded"}
    demand = {
        "kind": "measure",
        "measure": measure,
        "value": "draws",
        "comparison": "at_least",
        "threshold": 1,
    }
    gate = await stored_policy(journey, "counting", criterion("counts", demand))
    actor = await api.services.tenants.authenticate(journeys_end.token)
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as blind:
        for path in ("", "/plans", "/runs"):
            refused = problem_of(await blind.post(f"{gate}{path}", json=QUESTION), 403, "forbidden")
            assert refused["scope"] == "data:read"


async def test_another_tenant_sees_nothing_of_a_gate(journey: httpx.AsyncClient, other_client):
    problem_of(await other_client.get(f"/v1/evaluations/{NAME}"), 404, "not-found")
    problem_of(await other_client.post(GATE, json=QUESTION), 404, "not-found")
    problem_of(await other_client.get(f"/v1/waivers/{WAIVER}"), 404, "not-found")
    assert (await other_client.get("/v1/evaluations")).json()["items"] == []


async def test_a_crash_while_a_verdict_is_stored_leaves_none(api, journey, monkeypatch):
    run = (await journey.post(f"{GATE}/runs", json=QUESTION | {"name": "crash", "rule": "careful"})).json()
    complete = Completion.complete

    async def dies(self, work, subject, stored, result, run_id):
        await complete(self, work, subject, stored, result, run_id)
        raise RuntimeError("killed")

    monkeypatch.setattr(Completion, "complete", dies)
    with pytest.raises(RuntimeError):
        await api.work_off(run["id"])
    left = (await journey.get("/v1/evaluations/crash")).json()
    assert (left["result"], left["evidence"]) == (None, None)
    monkeypatch.undo()
    claim = await api.registry.claim(run["id"], "second", 0.0)
    assert claim is not None
    await api.execute(claim)
    whole = (await journey.get("/v1/evaluations/crash")).json()
    assert whole["result"]["verdict"] in ("pass", "fail")
    assert whole["evidence"] is not None


async def test_an_evaluation_goes_on_behind_what_its_searches_had_found(api, journey, monkeypatch):
    """What another attempt recalls is neither searched for nor asked of the criteria again."""
    objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "loss": "discernibility"}
    gate = await stored_policy(
        journey,
        "recalled",
        criterion("best", {"kind": "optimum", "objective": objective, "scope": "table_level", "gap": 1}),
        criterion("model", {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 5}}),
        criterion("weak", {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}}),
    )
    run_id = (await journey.post(f"{gate}/runs", json=QUESTION | {"name": "recalled"})).json()["id"]
    claim = await api.registry.claim(run_id, "first", 0.0)
    execution = run_execution(api.store, api.loader, api.loader, clock=api.clock)
    async with api.store.work(claim.tenant) as work:
        run = await work.runs.get(run_id)
        resource = await work.resources.get(run.resource_kind, run.resource_id)
    first, second, forgetful = [await execution._prepared(claim, resource) for _ in range(3)]
    blocks = [first.run_block(number, no_tick) for number in range(first.n_blocks - 2)]
    asked: list[tuple[Any, ...]] = []

    def once(evaluator, rule, *of, find=PrivacyModelEvaluator.find, **how):
        if isinstance(rule, TableRule):  # others suppress records, whom depends on what else is to be met
            asked.append((evaluator, rule.levels))
        return find(evaluator, rule, *of, **how)

    monkeypatch.setattr(PrivacyModelEvaluator, "find", once)
    blocks += [first.run_block(number, no_tick) for number in range(first.n_blocks - 2, first.n_blocks)]
    assert any(own["examined"] for own in json.loads(blocks[-2])["found"])
    assert len(asked) == len(set(asked)) > 0, "the changes for one criterion and for all ask about the same"
    with monkeypatch.context() as nothing_kept:
        nothing_kept.setattr(Answers, "of", lambda answers, question, find: find())
        assert [forgetful.run_block(number, no_tick) for number in range(forgetful.n_blocks)] == blocks

    def not_again(*of, **how):
        raise AssertionError("it is known")

    second.answers.recall(first.answers.kept())
    monkeypatch.setattr(AnonymityPlan, "run_block", not_again)
    (best, *_) = second._evaluation._evaluators
    assert best._searched(never).status == "optimal"
    monkeypatch.setattr(OptimumEvaluator, "find", not_again)
    monkeypatch.setattr(PrivacyModelEvaluator, "find", not_again)
    assert [second.run_block(number, no_tick) for number in range(second.n_blocks)] == blocks


async def test_an_evaluation_that_is_stopped_is_an_error_and_says_what_was_not_computed(
    api, journey: httpx.AsyncClient
):
    """Whenever it is stopped: what passes as a whole does not in part."""
    loose = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 1}}
    seen = []
    for looks in (0, 3, 9):
        gate = await stored_policy(journey, f"loose-{looks}", criterion("a", loose), criterion("b", loose))
        started = await journey.post(f"{gate}/runs", json=QUESTION | {"name": f"loose-{looks}"})
        run, left = started.json()["id"], iter([False] * looks)
        if not looks:
            stopped = await journey.post(f"/v1/runs/{run}/stop")
            assert (stopped.status_code, stopped.json()["stop_requested"]) == (200, True)
        await api.work_off(run, lambda left=left: next(left, True))
        found = (await journey.get(f"/v1/evaluations/loose-{looks}")).json()["result"]
        outcomes = [own["outcome"] for own in found["criteria"]]
        seen.append((found["verdict"], *outcomes, found["coverage"]["outcome"]))
    nothing = ("error", "not_computable", "not_computable", "not_computable")
    half = ("error", "passed", "not_computable", "not_computable")
    assert seen == [nothing, half, ("pass", "passed", "passed", "covered")]


async def test_a_key_that_may_not_assess_evaluates_nothing(api, journey: httpx.AsyncClient):
    key = await journey.post("/v1/api-keys", json={"name": "onlooker", "scopes": [Scope.DATA_READ.value]})
    async with api.client(key.json()["token"]) as onlooker:
        problem_of(await onlooker.post(GATE, json=QUESTION), 403, "forbidden")
        assert (await onlooker.get(f"/v1/evaluations/{NAME}")).status_code == 200


async def test_the_evidence_names_the_releases_that_a_value_takes_into_account(journey: httpx.AsyncClient):
    demand = {
        "kind": "measure", "measure": {"kind": "risk_given_releases"}, "value": "given.risk",
        "comparison": "at_most", "threshold": 1000, "dictionary": "register",
    }  # fmt: skip
    gate = await stored_policy(journey, "again", criterion("given", demand))
    rule = (await journey.get("/v1/rules/proposal")).json()
    ledger = (await journey.get("/v1/datasets/members/releases")).json()["items"]
    released = {own["rule"]["name"] for own in ledger}
    early = {"name": "early", "dataset": "members", "rule": "proposal"}
    assert (await journey.post("/v1/releases", json=early)).status_code == 201
    await verdict(journey, gate, name="given-releases")
    envelope = (await journey.get("/v1/evaluations/given-releases/evidence")).content
    inputs = statement_of(opened(envelope).content).predicate["inputs"]
    named = {own["name"]: own["sha256"] for own in inputs if own["role"] == "released_rule"}
    assert (named.keys(), named["proposal"]) == (released | {"proposal"}, rule["sha256"])


async def test_the_changes_of_a_file_are_those_of_the_rule_that_made_it(journey: httpx.AsyncClient):
    released = {"name": "to-change", "dataset": "members", "rule": "proposal", "order": "records"}
    assert (await journey.post("/v1/releases", json=released)).status_code == 201
    table = (await journey.get("/v1/releases/to-change/data")).content
    headers = {"Content-Type": "text/csv"}
    made = await journey.post("/v1/uploads?name=to-change", content=table, headers=headers)
    assert made.status_code == 201, made.text
    by_rule = await verdict(journey, GATE, name="changes-of-rule")
    question = {key: value for key, value in QUESTION.items() if key != "rule"}
    answer = await journey.post(
        GATE,
        json={**question, "name": "changes-of-file", "release": {"upload": "to-change", "order": "records"}},
    )
    by_file = answer.json()["result"]
    told = ("for", "status", "levels", "suppressed_records", "utility_before", "utility_after")
    changes = [[{key: own[key] for key in told} for own in one["changes"]] for one in (by_rule, by_file)]
    assert changes[0] == changes[1] != []
    assert "found" in {own["status"] for own in changes[1]}
    assert {own["rule"] for own in by_file["changes"]} == {None}


async def test_a_policy_in_format_1_gives_the_verdict_of_the_same_policy_in_format_2(journey):
    old = {name: own for name, own in RELEASE.items() if name != "requirements"} | {
        "name": "old-format",
        "format": "privacy-risk/policy/1",
        "criteria": [
            {"demand" if name == "requirement" else name: own for name, own in item.items()}
            for item in RELEASE["requirements"]
        ],
    }
    for policy in (old, RELEASE | {"name": "new-format"}):
        made = await journey.post("/v1/policies", json=policy)
        assert made.status_code == 201, made.text
    said = [await verdict(journey, f"/v1/gates/{name}-format/evaluations") for name in ("old", "new")]
    for own in said:
        del own["policy"]
    assert said[0] == said[1]
    found = (await journey.get("/v1/policies/old-format/diff?against=new-format")).json()
    assert found["effect"] == "none"

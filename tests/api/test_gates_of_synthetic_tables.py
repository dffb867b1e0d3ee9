"""Gates on synthetic tables: attacks let pass or not, distances alone nothing; only mechanisms certify."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import httpx
import pandas as pd
import pytest

import privacy_risk as pr
from app.evidence.envelope import opened
from app.evidence.statement import statement_of
from app.services.gates.policies import template
from app.services.gates.policy_documents import document_of_policy
from tests.api.problem_documents import pointers, problem_of
from tests.api.tables import made

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
CSV = {"Content-Type": "text/csv"}
ROLES = {
    "age": "quasi_identifier", "town": "quasi_identifier", "since": "quasi_identifier", "pay": "sensitive"
}  # fmt: skip
POLICY: Json = document_of_policy(template("synthetic-release").policy)


def people(seed: int, rows: int = 1000) -> pd.DataFrame:
    draw = random.Random(seed)
    drawn = [
        (
            draw.randrange(18, 90),
            draw.choice("ABCDEFGH"),
            f"d{draw.randrange(400)}",
            draw.randrange(1000, 9000),
        )
        for _ in range(rows)
    ]
    return pd.DataFrame(drawn, columns=list(ROLES))


def policy(**more: Any) -> Json:
    asked = copy.deepcopy(POLICY) | {"schema": {"attributes": ROLES, "rows_are": "persons"}}
    asked["requirements"][0]["requirement"]["measure"]["attacks"] = 500
    return asked | more


def asked(dataset: str, **more: Any) -> Json:
    return {
        "dataset": dataset, "rule": {"kind": "identity"}, "original": "original", "holdout": "holdout", **more
    }  # fmt: skip


async def begin_with(client: httpx.AsyncClient) -> None:
    """An original, records held out, an independent synthetic table and one half of which is copied."""
    original, independent = people(1), people(3)
    copied = pd.concat([original.head(500), independent.tail(500)])
    given = {"original": original, "holdout": people(2), "independent": independent, "copied": copied}
    for name, frame in given.items():
        text = frame.to_csv(index=False)
        answer = await client.post(f"/v1/uploads?name={name}", content=text, headers=CSV)
        assert answer.status_code == 201, answer.text
        columns = [{"name": own, "type": "categorical", "role": role} for own, role in ROLES.items()]
        await made(client, "datasets", {"name": name, "upload": name, "attributes": columns})
    await made(client, "policies", policy())


@pytest.fixture
def tables(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def verdict(client: httpx.AsyncClient, body: Json, of: str = "synthetic-release") -> Json:
    answer = await client.post(f"/v1/gates/{of}/evaluations", json=body)
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()["result"]
    return found


async def test_the_template_lets_an_independent_table_pass_and_no_copy(tables: httpx.AsyncClient):
    good, bad = [await verdict(tables, asked(name)) for name in ("independent", "copied")]
    assert (good["verdict"], bad["verdict"]) == ("pass", "fail")
    (attack, nearer, _), (leak, warned, _) = good["criteria"], bad["criteria"]
    assert attack["value"] <= 0.1 < leak["value"]
    assert (nearer["outcome"], warned["outcome"], warned["severity"]) == ("passed", "failed", "warn")
    assert good["coverage"]["outcome"] == "covered"
    assert {own["judged_by"][0] for own in good["coverage"]["columns"]} == {"attacks"}
    assert good["subject"]["original"]["name"] == "original"
    assert "is taken from whoever asked" in good["assumptions"][-1]
    assert {own["status"] for own in bad["changes"]} == {"not_found"}


async def test_what_is_compared_is_in_the_evidence_and_in_what_is_asked_again(tables: httpx.AsyncClient):
    answer = await tables.post("/v1/gates/synthetic-release/evaluations", json=asked("copied", name="one"))
    again = await tables.post("/v1/gates/synthetic-release/evaluations", json=asked("copied", name="one"))
    assert (answer.status_code, again.status_code) == (201, 200)
    other = asked("copied", name="one", original="holdout", holdout="original")
    problem_of(await tables.post("/v1/gates/synthetic-release/evaluations", json=other), 409, "conflict")
    problem_of(await tables.delete("/v1/datasets/original"), 409, "conflict")
    envelope = (await tables.get("/v1/evaluations/one/evidence")).content
    inputs = statement_of(opened(envelope).content).predicate["inputs"]
    compared = {own["role"]: own["name"] for own in inputs if own["role"] in ("original", "holdout")}
    assert compared == {"original": "original", "holdout": "holdout"}


async def test_a_run_says_the_same(api, tables: httpx.AsyncClient):
    at_once = await verdict(tables, asked("copied"))
    answer = await tables.post(
        "/v1/gates/synthetic-release/evaluations/runs", json=asked("copied", name="run", as_governor=False)
    )
    assert answer.status_code == 202, answer.text
    await api.work_off(answer.json()["id"])
    found = (await tables.get("/v1/evaluations/run")).json()
    assert found["result"]["criteria"] == at_once["criteria"]


async def test_the_original_is_no_table_held_out(tables: httpx.AsyncClient):
    found = await verdict(tables, asked("copied", holdout="original"))
    assert found["verdict"] == "error"
    assert "they were not held out" in found["criteria"][0]["error"]["message"]


async def test_an_original_of_which_a_person_has_several_rows_is_not_judged(tables: httpx.AsyncClient):
    twice = pd.concat([people(1)] * 2).assign(person=[*range(1000)] * 2)
    await tables.post("/v1/uploads?name=twice", content=twice.to_csv(index=False), headers=CSV)
    columns = [{"name": own, "type": "categorical", "role": role} for own, role in ROLES.items()]
    for role, dataset in (("other", "unsaid"), ("person", "said")):
        body = {"name": dataset, "upload": "twice"}
        body["attributes"] = [*columns, {"name": "person", "type": "categorical", "role": role}]
        await made(tables, "datasets", body)
    await made(tables, "policies", policy(name="unsaid", schema={"attributes": ROLES}))
    said = await verdict(tables, asked("copied", original="said"))
    assert (said["verdict"], said["criteria"][0]["outcome"]) == ("error", "not_computable")
    unsaid = await verdict(tables, asked("copied", original="unsaid"), "unsaid")
    assert unsaid["verdict"] == "error"
    assert "several-rows-per-person" in {own["error"]["code"] for own in unsaid["criteria"]}


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [({"original": None}, "/original", "missing"), ({"holdout": None}, "/holdout", "missing")],
)
async def test_what_the_policy_compares_with_has_to_be_named(
    tables: httpx.AsyncClient, change: Json, pointer: str, code: str
):
    answer = await tables.post("/v1/gates/synthetic-release/evaluations", json=asked("copied") | change)
    problem = problem_of(answer, 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [(pointer, code)]


async def test_an_original_is_nothing_to_a_policy_of_other_tables(tables: httpx.AsyncClient):
    k = {"id": "k", "title": "k", "reason": "k", "requirement": {
        "kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}}}  # fmt: skip
    await made(tables, "policies", policy(name="k", requirements=[k]))
    answer = await tables.post("/v1/gates/k/evaluations", json=asked("copied"))
    assert pointers(problem_of(answer, 422, "invalid-input")) == ["/original", "/holdout"]


async def test_a_rule_on_a_synthetic_table_is_not_judged(tables: httpx.AsyncClient):
    found = await verdict(tables, asked("copied", rule={"kind": "table_level", "levels": {"age": 1}}))
    assert found["verdict"] == "error"
    assert "judged as the dataset is" in found["criteria"][0]["error"]["message"]


async def test_a_distance_lets_nothing_pass_by_itself(tables: httpx.AsyncClient):
    _, nearer, useful = policy()["requirements"]
    alone = policy(name="alone", requirements=[nearer | {"severity": "block"}])
    problem = problem_of(await tables.post("/v1/policies", json=alone), 422, "invalid-input")
    (fault,) = problem["errors"]
    assert (fault["pointer"], fault["code"]) == ("/requirements/0/severity", "stands-alone")
    assert "give people away all the same" in fault["message"]
    only_warns = policy(name="warns", requirements=[nearer, useful])
    await made(tables, "policies", only_warns)
    found = await verdict(tables, asked("independent"), "warns")
    assert (found["verdict"], found["coverage"]["outcome"]) == ("fail", "not_covered")
    beside = policy(name="beside")
    beside["requirements"][1]["severity"] = "block"
    await made(tables, "policies", beside)
    assert (await verdict(tables, asked("independent"), "beside"))["verdict"] == "pass"
    assert (await verdict(tables, asked("copied"), "beside"))["verdict"] == "fail"


async def test_a_certificate_is_a_mechanisms_and_no_tables(tables: httpx.AsyncClient):
    certified = policy(name="certified")
    certified["requirements"].append(
        {"id": "dp", "title": "Differentially private", "reason": "Chosen for the test.", "requirement": {
            "kind": "guarantee", "model": {"kind": "differential_privacy", "epsilon": {"at_most": 1},
                                           "delta": {"at_most": 0}}}}
    )  # fmt: skip
    certified["requirements"].append(
        {"id": "all", "title": "Little is spent", "reason": "Chosen for the test.", "requirement": {
            "kind": "privacy_budget", "epsilon": 1, "delta": 0, "may_rest_on_assumptions": True}}
    )  # fmt: skip
    await made(tables, "policies", certified)
    found = await verdict(tables, asked("independent"), "certified")
    *_, certificate, budget = found["criteria"]
    assert (found["verdict"], certificate["outcome"], budget["outcome"]) == (
        "error", "not_computable", "not_computable"
    )  # fmt: skip
    assert "no mechanism promises anything of it" in certificate["error"]["message"]


async def test_a_policy_names_parts_of_an_evaluation_and_no_datasets(tables: httpx.AsyncClient):
    named = policy(name="named")
    named["requirements"][0]["requirement"]["measure"]["synthetic"] = "copied"
    problem = problem_of(await tables.post("/v1/policies", json=named), 422, "invalid-input")
    assert [own["code"] for own in problem["errors"]] == ["names-a-resource"]


async def test_the_command_takes_the_files_that_are_compared(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    original, independent = people(1), people(3)
    for name, frame in {"original": original, "holdout": people(2), "synthetic": independent}.items():
        frame.to_csv(f"{name}.csv", index=False)
    pd.concat([original.head(500), independent.tail(500)]).to_csv("copied.csv", index=False)
    (tmp_path / "policy.json").write_text(json.dumps(policy()))
    compared = ("--original", "original.csv", "--holdout", "holdout.csv")
    assert await command("gate", "policy.json", "--dataset", "synthetic.csv", *compared) == 0
    assert "pass" in capsys.readouterr().out
    asked = ("gate", "policy.json", "--dataset", "copied.csv", *compared, "--report", "evidence.json")
    assert await command(*asked) == 1
    asked = ("reproduce", "evidence.json", "--dataset", "copied.csv", "--policy", "policy.json")
    assert await command(*asked, *compared) == 0
    assert await command("gate", "policy.json", "--dataset", "copied.csv") == 2
    assert "/original" in capsys.readouterr().err


async def test_python_takes_the_tables_that_are_compared(call):
    original, held_out = people(1), people(2)
    copied = pd.concat([original.head(500), people(3).tail(500)])
    found = await call(pr.gate, policy(), people(3), original=original, holdout=held_out)
    assert found.passed, found
    assert found.document["dataset"] != found.document["result"]["subject"]["original"]["name"]
    found = await call(pr.gate, policy(), copied, original=original, holdout=held_out)
    assert found.outcome == "fail"
    assert "No attack succeeds much more often" in str(found)
    barred = await call(pr.gate, policy(), copied.assign(name="x"), original=original, holdout=held_out)
    assert barred.reasons == (
        "The column name is not one of the original table's: nothing says what it discloses.",
    )  # fmt: skip
    with pytest.raises(pr.ProblemError, match="held out"):
        await call(pr.gate, policy(), copied, original=original)
    k = {"id": "k", "title": "k", "reason": "k", "requirement": {
        "kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}}}  # fmt: skip
    other = policy(name="other", requirements=[k])
    with pytest.raises(pr.InvalidArgument, match="judges no synthetic table") as refused:
        await call(pr.gate, other, copied, original=original, holdout=held_out)
    assert refused.value.argument == "holdout"

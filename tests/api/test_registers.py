"""Whose word the attacker's register is: invented people do not let a release pass."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from app.api.examples.files import MEMBERS_CSV
from app.api.examples.gates import EVALUATIONS, NAME
from app.api.examples.policies import RELEASE
from app.services.gates.registers import ANY_AS_BEFORE
from app.services.resources import Scope
from tests.api.problem_documents import pointers, problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

QUESTION = {key: value for key, value in EVALUATIONS[NAME]["value"].items() if key != "name"}
COLUMNS = ["city", "race", "birth_date", "income", "member_id"]
SEVERAL = {
    "id": "several", "title": "Several people", "reason": "Chosen for the test.",
    "requirement": {
        "kind": "score", "value": "min_consistent", "comparison": "at_least", "threshold": 20,
        "dictionary": "register",
    },
}  # fmt: skip
CSV = {"Content-Type": "text/csv"}


async def judged(
    governor: httpx.AsyncClient, asker: httpx.AsyncClient, register: Any, dictionary: str, **more: Any
) -> dict[str, Any]:
    """The verdict for who asks, of a new policy that says this of its register."""
    name = f"p{len((await governor.get('/v1/policies?limit=200')).json()['items'])}"
    slot = {"name": "register", "description": "Whom the public can look up."}
    policy = copy.deepcopy(RELEASE) | {
        "name": name,
        "requirements": [SEVERAL],
        "dictionaries": [slot if register is None else slot | {"register": register}],
        "not_covered": [{"columns": COLUMNS, "reason": "Chosen for the test."}],
        **more,
    }
    made = await governor.post("/v1/policies", json=policy)
    assert made.status_code == 201, made.text
    answer = await asker.post(
        f"/v1/gates/{name}/evaluations", json=QUESTION | {"dictionaries": {"register": dictionary}}
    )
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["result"]


@pytest.fixture
async def assessor(api: Api, journey: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A key that may ask for verdicts and upload, not govern."""
    scopes = [Scope.DATA_READ.value, Scope.DATA_WRITE.value, Scope.ASSESS.value]
    made = await journey.post("/v1/api-keys", json={"name": "pipeline", "scopes": scopes})
    async with api.client(made.json()["token"]) as client:
        yield client


@pytest.fixture
async def invented(assessor: httpx.AsyncClient) -> str:
    """Thirty invented people for each member, like that member in everything."""
    header, *members = MEMBERS_CSV.strip().splitlines()
    rows = [",".join([f"x{i}-{n}", *row.split(",")[1:]]) for n, row in enumerate(members) for i in range(30)]
    table = "\n".join([header, *rows])
    made = await assessor.post("/v1/uploads?name=invented", content=table, headers=CSV)
    assert made.status_code == 201, made.text
    attributes = (await assessor.get("/v1/datasets/members")).json()["attributes"]
    links = [
        {"attribute": own["name"], "column": own["name"], "hierarchy": own["hierarchy"]}
        for own in attributes
        if own["role"] == "quasi_identifier"
    ]
    body = {"name": "invented", "upload": "invented", "links": links}
    made = await assessor.post("/v1/dictionaries", json=body)
    assert made.status_code == 201, made.text
    return "invented"


async def test_thirty_invented_people_per_record_do_not_pass(journey, assessor, invented):
    """They count under a policy of before, with a warning, and for who governs and answers for them."""
    result = await judged(journey, assessor, None, invented)
    assert result["verdict"] == "error"
    assert [own["outcome"] for own in result["criteria"]] == ["not_computable"]
    assert result["criteria"][0]["error"]["code"] == "register-not-answered-for"
    assert result["risk"] is None
    assert result["subject"]["dictionaries"]["register"]["answered_for_by"] == "nobody"
    sha256 = (await assessor.get(f"/v1/dictionaries/{invented}")).json()["sha256"]
    assert sha256 in result["coverage"]["explanation"]
    before = await judged(journey, assessor, None, invented, coverage_version=2)
    assert before["verdict"] == "pass"
    assert ANY_AS_BEFORE in before["warnings"]
    governed = await judged(journey, journey, None, invented)
    assert (governed["verdict"], governed["subject"]["dictionaries"]["register"]["answered_for_by"]) == (
        "pass", "govern",
    )  # fmt: skip
    assert ANY_AS_BEFORE not in governed["warnings"]


async def test_one_who_governs_asks_no_verdict_for_others(journey, assessor, invented):
    """The same question by two keys is two questions, where the policy leaves the register open."""
    await judged(journey, journey, None, invented)
    name = (await journey.get("/v1/policies?limit=1")).json()["items"][0]["policy"]
    body = QUESTION | {"dictionaries": {"register": invented}}
    asked = await assessor.post(f"/v1/gates/{name}/evaluations", json=body)
    assert asked.json()["result"]["verdict"] == "error"


async def test_the_register_that_the_policy_pins_counts_and_no_other(journey, assessor, invented):
    """By its hash, under whatever name it is stored; not even who governs fills the slot with another one."""
    census = (await journey.get("/v1/dictionaries/census")).json()
    pin = {"name": census["name"], "sha256": census["sha256"]}
    result = await judged(journey, assessor, pin, "census")
    assert result["verdict"] in ("pass", "fail")
    assert result["subject"]["dictionaries"]["register"]["answered_for_by"] == "policy"
    for asker in (assessor, journey):
        assert (await judged(journey, asker, pin, invented))["verdict"] == "error"
    other = (await journey.get(f"/v1/dictionaries/{invented}")).json()["sha256"]
    assert (await judged(journey, assessor, pin | {"sha256": other}, "census"))["verdict"] == "error"
    assert (await judged(journey, assessor, pin | {"name": "of-then"}, "census"))["verdict"] != "error"


async def test_a_pin_counts_whatever_version_of_the_check_the_policy_asks_for(journey, assessor, invented):
    pin = {"name": "census", "sha256": (await journey.get("/v1/dictionaries/census")).json()["sha256"]}
    for version in (1, 2):
        result = await judged(journey, assessor, pin, invented, coverage_version=version)
        assert (result["verdict"], result["warnings"].count(ANY_AS_BEFORE)) == ("error", 0)


async def test_any_register_needs_a_reason(journey, assessor, invented):
    reason = "Nobody outside has a register of these people."
    result = await judged(journey, assessor, {"any": reason}, invented)
    assert result["verdict"] == "pass"
    assert any(reason in own for own in result["assumptions"])
    for empty in ("", " .", "\u3164"):
        assert (await judged(journey, assessor, {"any": empty}, invented))["verdict"] == "error"
    slot = {"name": "register", "register": {"any": ""}}
    linted = await journey.post("/v1/policies/lint", json=copy.deepcopy(RELEASE) | {"dictionaries": [slot]})
    found = [own for own in linted.json()["warnings"] if own["code"] == "missing-reason"]
    assert [own["pointer"] for own in found] == ["/dictionaries/0/register/any"]


@pytest.mark.parametrize(
    "register",
    [{}, {"name": "census"}, {"sha256": "0" * 64}, {"any": "All.", "name": "a", "sha256": "0" * 64}],
)
async def test_a_register_is_one_or_any(client, register):
    """A pin without its hash is a name, which anybody can give to another dictionary."""
    slot = {"name": "register", "register": register}
    policy = copy.deepcopy(RELEASE) | {"name": "odd", "dictionaries": [slot]}
    problem = problem_of(await client.post("/v1/policies", json=policy), 422, "invalid-input")
    assert pointers(problem) == ["/dictionaries/0/register"]


async def test_a_run_judges_as_its_key_was_allowed_to_ask(api, journey, assessor, invented):
    """What was asked without the scope govern stays so until a worker comes to it."""
    await judged(journey, assessor, None, invented)
    name = (await journey.get("/v1/policies?limit=1")).json()["items"][0]["policy"]
    body = QUESTION | {"dictionaries": {"register": invented}}
    for asker, verdict in ((assessor, "error"), (journey, "pass")):
        named = body | {"name": f"by-run-{verdict}"}
        run = (await asker.post(f"/v1/gates/{name}/evaluations/runs", json=named)).json()
        await api.work_off(run["id"])
        found = (await asker.get(f"/v1/evaluations/by-run-{verdict}")).json()
        assert found["result"]["verdict"] == verdict


async def test_the_command_without_a_server_does_not_pass_by_an_invented_register(
    command, tmp_path, monkeypatch, capsys
):
    """Whoever runs it may do everything there, and still says nothing of who is in the register."""
    monkeypatch.chdir(tmp_path)
    people = [f"{n},{town}" for n, town in enumerate(["Salem"] * 4 + ["Stowe"] * 4)]
    (tmp_path / "members.csv").write_text("\n".join(["id,town", *people, ""]))
    invented = [f"x{n},{own.split(',')[1]}" for n, own in enumerate(people * 30)]
    (tmp_path / "invented.csv").write_text("\n".join(["id,town", *invented, ""]))
    (tmp_path / "tables.toml").write_text(
        '[dataset]\nname = "members"\nfile = "members.csv"\nidentifier = "id"\nrows_are = "persons"\n'
        '[dataset.attributes.town]\n[dictionary]\nname = "register"\nidentifier = "id"\n'
        '[dictionary.links.town]\ncolumn = "town"\n'
    )
    policy = {
        "format": "privacy-risk/policy/2", "name": "towns", "version": 1, "title": "Towns",
        "assumes": {"attacker": "Anybody who has the register."}, "dictionaries": [{"name": "register"}],
        "requirements": [
            {
                "id": "map", "title": "Several in the register", "reason": "Chosen for the test.",
                "requirement": {
                    "kind": "measure", "measure": {"kind": "k_map", "k": 20}, "value": "records_failing",
                    "comparison": "at_most", "threshold": 0, "dictionary": "register",
                },
            },
        ],
        "not_covered": [{"columns": ["town"], "reason": "Chosen for the test."}],
    }  # fmt: skip
    asked = ("gate", "policy.json", "--tables", "tables.toml", "--dictionary", "register=invented.csv")

    async def judged(version: int, register: dict[str, str] | None) -> tuple[int, dict[str, Any]]:
        slot = {"name": "register"} | ({} if register is None else {"register": register})
        (tmp_path / "policy.json").write_text(
            json.dumps(policy | {"version": version, "dictionaries": [slot]})
        )
        status = await command(*asked, "--format", "json")
        return status, json.loads(capsys.readouterr().out)

    status, told = await judged(1, None)
    assert status == 2
    assert "register-not-answered-for" in json.dumps(told)
    own = told["result"]["subject"]["dictionaries"]["register"]
    status, told = await judged(2, {"name": own["name"], "sha256": own["sha256"]})
    assert (status, told["result"]["verdict"]) == (0, "pass")
    assert (await judged(3, {"any": "Nobody has a register of these towns."}))[0] == 0
    assert (await judged(4, {"any": ""}))[0] == 2

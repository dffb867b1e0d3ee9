"""People drawn by HTTP: planned, drawn, judged by a gate, and what other releases leave of the promise."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from app.services.resources import Scope
from tests.api.drawn_people import asked, data, declared, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

DRAWN = {
    "kind": "dirichlet_multinomial",
    "partition": ["town"],
    "epsilon": 2,
    "delta": 0.000001,
    "certificate": "exact_tail",
}
STABLE = {"kind": "stability_histogram", "epsilon": 0.5, "delta": 1e-4, "least_records": 20}


async def planned(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    answer = await client.post("/v1/releases/plans", json=asked(mechanism=DRAWN | more))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def rows_of(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.decode())))


async def verdict(client: httpx.AsyncClient, **model: Any) -> tuple[str, dict[str, Any]]:
    """What a gate says of the release ``drawn`` by one requirement on its guarantee."""
    name = f"p{len((await client.get('/v1/policies')).json()['items'])}"
    demand = {"kind": "guarantee", "model": model, "may_rest_on_assumptions": True}
    policy = {
        "format": "privacy-risk/policy/2", "name": name, "version": 1, "title": "Of drawn people",
        "assumes": {"attacker": "Who knows everybody else."},
        "schema": {"attributes": {"town": "quasi_identifier", "illness": "sensitive"}},
        "requirements": [{"id": "0", "title": "It holds", "reason": "Test.", "requirement": demand}],
    }  # fmt: skip
    await made(client.post("/v1/policies", json=policy))
    answer = await client.post(
        f"/v1/gates/{name}/evaluations", json={"dataset": "people", "release": {"name": "drawn"}}
    )
    assert answer.status_code in (200, 201), answer.text
    result = answer.json()["result"]
    return result["verdict"], result["criteria"][0]


async def test_people_are_planned_drawn_and_published_with_their_guarantees(client: httpx.AsyncClient):
    await people(client)
    plan = await planned(client)
    assert plan["missing"] == []
    assert (plan["seconds"], plan["bytes"]) == (None, None)
    constants = plan["constants"]
    sizes = [constants[name] for name in ("partitions", "size_median", "size_greatest", "values")]
    assert sizes == [2, 30, 30, 3]
    assert 0 < constants["delta_of_partition"] <= 1e-6
    assert constants["delta_of_table"] == pytest.approx(2 * constants["delta_of_partition"])
    assert constants["noise_share_at_epsilon_8"] < constants["noise_share"] < 0.5
    assert [own["model"] for own in plan["guarantees"]] == [
        "bounded_differential_privacy",
        "probabilistic_differential_privacy",
    ]
    assert plan["guarantees"][0]["hypotheses"][0]["id"] == "totals_are_public"
    manifest = await made(client.post("/v1/releases", json=asked(mechanism=DRAWN)))
    again = await client.post("/v1/releases", json=asked(mechanism=DRAWN))
    assert (again.status_code, again.json()["id"]) == (200, manifest["id"])
    rows = rows_of(await data(client))
    assert Counter(own["town"] for own in rows) == {"Rome": 30, "Bari": 30}
    assert {own["illness"] for own in rows} <= {"flu", "asthma", "gout"}
    manifest = (await client.get("/v1/releases/drawn")).json()
    mechanism = manifest["mechanism"]
    assert (mechanism["family"], manifest["dataset_sha256"]) == ("synthesise", None)
    published = mechanism["published"]
    assert (published["attribute"], published["partition"], published["cells"]) == ("illness", ["town"], 3)
    assert (published["sizes"], len(published["priors"])) == ([30], 1)
    assert {own["standing"] for own in mechanism["guarantees"]} == {"certified"}
    assert mechanism["warnings"][0].startswith("Of one record more or less nothing is promised")
    stored = pq.read_schema(io.BytesIO(await data(client, format_="parquet"))).metadata
    assert stored == {b"privacy-risk.mechanism": b"dirichlet_multinomial/1"}
    counts = await client.post("/v1/releases/drawn/answers", json={"queries": [{}]})
    assert "no error of their counts is computed" in problem_of(counts, 422, "not-supported")["detail"]


async def test_a_gate_judges_the_certificate(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked(mechanism=DRAWN)))
    bounded = {"kind": "bounded_differential_privacy", "attribute": "illness"}
    kept, found = await verdict(client, **bounded, epsilon={"at_most": 2}, delta={"at_most": 0.000001})
    assert (kept, found["outcome"]) == ("pass", "passed"), found
    failed, _ = await verdict(client, **bounded, epsilon={"at_most": 1})
    assert failed == "fail"
    probabilistic = {"kind": "probabilistic_differential_privacy", "attribute": "illness"}
    kept, found = await verdict(client, **probabilistic, delta={"at_most": 0.000002})
    assert kept == "pass", found
    of_records, found = await verdict(client, kind="differential_privacy", epsilon={"at_most": 9})
    assert of_records == "fail"
    assert "promises no differential privacy" in found["explanation"]


async def test_beside_the_ledger_of_records_it_is_void_and_replacing_values_adds_up(
    client: httpx.AsyncClient,
):
    await people(client)
    await made(client.post("/v1/releases", json=asked(mechanism=DRAWN)))
    ledger = (await client.get("/v1/datasets/people/budget")).json()
    (void,) = ledger["voided_by"]
    assert void["release"] == "drawn"
    assert void["reason"].startswith("It publishes totals exactly")
    assert ledger["epsilon"]["spent"] == "0"
    problem_of(await client.post("/v1/releases", json=asked("counted", mechanism=STABLE)), 409, "conflict")
    counted = asked("counted", mechanism=STABLE) | {"independent_of_earlier": True}
    await made(client.post("/v1/releases", json=counted))
    together = (await client.get("/v1/releases/drawn")).json()["mechanism"]["together"]
    assert (together["model"], together["status"]) == ("bounded_differential_privacy", "certified")
    assert together["parameters"]["epsilon"] == 3
    assert together["parameters"]["delta"] == pytest.approx(1e-6 + (1 + 2.718281828**0.5) * 1e-4)
    assert (together["parameters"]["attribute"], together["parameters"]["draws"]) == ("illness", 2)
    known = {own["id"]: own["holds"] for own in together["hypotheses"]}
    assert known["totals_are_public"] == "assumed"
    assert (await client.get("/v1/releases/counted")).json()["mechanism"]["together"] == together
    ledger = (await client.get("/v1/datasets/people/budget")).json()
    assert [own["release"] for own in ledger["voided_by"]] == ["drawn"]


async def test_a_release_that_shows_the_drawn_attribute_refutes_what_is_promised(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked(mechanism=DRAWN)))
    levels = {"kind": "table_level", "levels": {"town": 1, "illness": 0}}
    await made(client.post("/v1/rules", json={"name": "shown", "dataset": "people", "rule": levels}))
    await made(client.post("/v1/releases", json={"name": "shown", "dataset": "people", "rule": "shown"}))
    guarantees = (await client.get("/v1/releases/drawn")).json()["mechanism"]["guarantees"]
    assert {own["standing"] for own in guarantees} == {"none"}
    assert [own["id"] for own in guarantees[0]["hypotheses"] if own["holds"] == "no"] == [
        "not_shown_otherwise"
    ]


async def test_a_public_rule_draws_from_fewer_values(client: httpx.AsyncClient):
    await people(client)
    tree = [["flu", "lungs"], ["asthma", "lungs"], ["gout", "joints"]]
    await made(
        client.post("/v1/hierarchies", json={"name": "organs", "definition": {"kind": "rows", "rows": tree}})
    )
    attributes = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive", "hierarchy": "organs",
         "on_unknown": "refuse"},
    ]  # fmt: skip
    await made(
        client.post("/v1/datasets", json={"name": "grouped", "upload": "people", "attributes": attributes})
    )
    levels = {"kind": "table_level", "levels": {"town": 0, "illness": 1}}
    await made(client.post("/v1/rules", json={"name": "coarse", "dataset": "grouped", "rule": levels}))
    body = asked(dataset="grouped", mechanism=DRAWN, rule="coarse")
    problem = problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")
    assert [own["code"] for own in problem["errors"]] == ["rule-not-public"]
    await made(client.post("/v1/releases", json=body | {"mechanism": DRAWN | {"rule_is_public": True}}))
    assert {own["illness"] for own in rows_of(await data(client))} <= {"lungs", "joints"}


@pytest.mark.parametrize(
    ("more", "pointer", "code"),
    [
        ({"partition": ["city"]}, "/mechanism/partition/0", "unknown-attribute"),
        ({"partition": ["illness"]}, "/mechanism/partition/0", "not-public"),
        ({"partition": []}, "/mechanism/partition", "several-drawn"),
        ({"delta": 0}, "/mechanism/delta", "delta-of-other-certificate"),
        ({"epsilon": 1, "certificate": "reference_sample"}, "/mechanism/certificate", "epsilon-too-small"),
    ],
)
async def test_what_cannot_be_drawn_is_named_with_a_remedy(
    client: httpx.AsyncClient, more: dict[str, Any], pointer: str, code: str
):
    await people(client)
    problem = problem_of(
        await client.post("/v1/releases", json=asked(mechanism=DRAWN | more)), 422, "invalid-input"
    )
    (fault,) = problem["errors"]
    assert (fault["pointer"], fault["code"]) == (pointer, code)
    assert fault["remedy"]


async def test_values_that_nobody_declares_are_not_drawn(client: httpx.AsyncClient):
    await people(client)
    attributes: list[dict[str, Any]] = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    await made(
        client.post("/v1/datasets", json={"name": "free", "upload": "people", "attributes": attributes})
    )
    answer = await client.post("/v1/releases", json=asked(dataset="free", mechanism=DRAWN))
    assert "Declare a hierarchy" in str(problem_of(answer, 422, "not-supported"))
    few = await declared(client, ["flu", "asthma"])
    attributes[1] |= {"hierarchy": few, "on_unknown": "missing"}
    await made(
        client.post("/v1/datasets", json={"name": "few", "upload": "people", "attributes": attributes})
    )
    answer = await client.post("/v1/releases", json=asked(dataset="few", mechanism=DRAWN))
    problem = problem_of(answer, 422, "invalid-input")
    assert [own["code"] for own in problem["errors"]] == ["missing-drawn-values"]


async def listed(
    client: httpx.AsyncClient, rows: str, name: str = "known", columns: str = "illness,prior"
) -> None:
    """A dataset that lists illnesses with numbers, from public knowledge."""
    headers = {"Content-Type": "text/csv"}
    await made(client.post(f"/v1/uploads?name={name}", content=f"{columns}\n{rows}", headers=headers))
    attributes = [
        {"name": own, "type": "categorical", "role": "quasi_identifier"} for own in columns.split(",")
    ]
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))


async def noise_share(client: httpx.AsyncClient) -> float:
    """As what the release ``drawn`` publishes tells it."""
    body = {"release": "drawn", "measure": {"kind": "synthetic_utility"}}
    answer = await client.post("/v1/measurements", json=body)
    assert answer.status_code in (200, 201), answer.text
    return float(answer.json()["result"]["noise_share"])


async def test_people_are_drawn_from_a_public_list_and_others_are_suppressed(client: httpx.AsyncClient):
    await people(client)
    await listed(client, "flu,3\nasthma,0.5\n")
    question = asked(mechanism=DRAWN | {"domain": "known"})
    plan = (await client.post("/v1/releases/plans", json=question)).json()
    assert (plan["missing"], plan["constants"]["values"]) == ([], 3)
    manifest = await made(client.post("/v1/releases", json=question))
    id_ = (await client.get("/v1/datasets/known")).json()["id"]
    again = await client.post("/v1/releases", json=asked(mechanism=DRAWN | {"domain": id_}))
    assert (again.status_code, again.json()["id"]) == (200, manifest["id"])
    shown = Counter(own["illness"] for own in rows_of(await data(client)))
    assert set(shown) <= {"flu", "asthma", "*"}
    assert shown["*"] > 0
    manifest = (await client.get("/v1/releases/drawn")).json()
    published = manifest["mechanism"]["published"]
    assert (published["outside"], published["cells"]) == (True, 3)
    assert await noise_share(client) == pytest.approx(plan["constants"]["noise_share"], abs=1e-12)
    assert manifest["mechanism"]["parameters"]["domain"] == "known"
    assert manifest["suppressed_cells"] == shown["*"]
    known = {own["id"]: own for own in manifest["mechanism"]["guarantees"][0]["hypotheses"]}
    assert (known["values_are_declared"]["holds"], known["dictionary_is_public"]["holds"]) == (
        "yes",
        "assumed",
    )
    deleted = await client.delete("/v1/datasets/known")
    assert deleted.status_code == 409, deleted.text


async def test_values_are_kept_by_chance_and_drawn_by_a_run_as_well(api: Api, client: httpx.AsyncClient):
    await people(client)
    await listed(client, "flu,0.5\nasthma,1\ngout,0.25\n", columns="illness,inclusion")
    chosen = DRAWN | {"domain": "known", "epsilon": 6}
    plan = (await client.post("/v1/releases/plans", json=asked(mechanism=chosen))).json()
    assert plan["missing"] == []
    assert any("need not be kept" in own for own in plan["warnings"])
    assert plan["guarantees"][0]["parameters"]["epsilon"] == 6
    answer = await client.post("/v1/releases/runs", json=asked(mechanism=chosen))
    assert answer.status_code == 202, answer.text
    await api.work_off(answer.json()["id"])
    rows = rows_of(await data(client))
    assert Counter(own["town"] for own in rows) == {"Rome": 30, "Bari": 30}
    assert {own["illness"] for own in rows} <= {"flu", "asthma", "gout"}
    same = await client.post("/v1/releases", json=asked(mechanism=chosen))
    assert same.status_code == 200


@pytest.mark.parametrize(
    ("rows", "columns", "code"),
    [
        ("cough,1\n", "illness,prior", "unknown-value"),
        ("flu,1\nflu,2\n", "illness,prior", "repeated-value"),
        ("flu,0\ngout,1\n", "illness,prior", "out-of-range"),
        ("flu,1.5\ngout,1\n", "illness,inclusion", "out-of-range"),
        ("flu,many\ngout,1\n", "illness,density", "out-of-range"),
        ("flu,1\n", "sickness,prior", "unknown-attribute"),
        ("flu,1,0.5\ngout,2,1\n", "illness,prior,inclusion", "unequal-priors"),
    ],
)
async def test_a_list_that_is_none_is_named_with_a_remedy(
    client: httpx.AsyncClient, rows: str, columns: str, code: str
):
    await people(client)
    await listed(client, rows, columns=columns)
    body = asked(mechanism=DRAWN | {"domain": "known"})
    problem = problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")
    (fault,) = problem["errors"]
    assert (fault["pointer"], fault["code"]) == ("/mechanism/domain", code)
    assert fault["remedy"]


async def test_a_list_of_nobody_or_of_another_tenant_is_not_found(api: Api, client: httpx.AsyncClient):
    await people(client)
    _, token = await api.tenant_with_key()
    async with api.client(token) as other:
        await listed(other, "flu,3\nasthma,0.5\n")
        id_ = (await other.get("/v1/datasets/known")).json()["id"]
    for ref in ("known", id_, "nobodys"):
        body = asked(mechanism=DRAWN | {"domain": ref})
        problem = problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")
        (fault,) = problem["errors"]
        assert (fault["pointer"], fault["code"]) == ("/mechanism/domain", "unknown-reference")
        assert fault["message"] == f"There is no dataset with the id or name '{ref}'."
        plan = (await client.post("/v1/releases/plans", json=body)).json()
        assert plan["missing"][0]["pointer"] == "/mechanism/domain"
    audit = {"mechanism": DRAWN | {"partition": [], "domain": "known"}, "method": "exact"}
    answer = await client.post("/v1/mechanism-audits", json=audit)
    assert answer.status_code == 422, answer.text


async def test_the_records_themselves_are_no_public_list(client: httpx.AsyncClient):
    await people(client)
    body = asked(mechanism=DRAWN | {"domain": "people"})
    problem = problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")
    assert [own["code"] for own in problem["errors"]] == ["list-from-data"]


async def test_only_the_owner_sees_what_is_expected_of_the_records_and_what_a_draw_tells(
    api: Api, client: httpx.AsyncClient
):
    await people(client)
    body = asked(mechanism=DRAWN)
    found = (await client.post("/v1/releases/previews", json=body)).json()
    before = found["drawn_people"]
    (size,) = before["sizes"]
    assert (size["people"], size["partitions"], found["missing"], found["rows"]) == (30, 2, [], None)
    assert before["total_variation"] == size["total_variation"]
    assert before["disclosure"] == 0  # of three equal counts no draw tells much
    assert (before["worst_loss"], before["above_caps"]) == (None, None)
    assert "not differentially private" in found["sentence"]
    await made(client.post("/v1/releases", json=body))
    after = (await client.post("/v1/releases/previews", json=body)).json()["drawn_people"]
    assert (after["sizes"], after["above_caps"]) == (before["sizes"], 0)
    assert 0 < after["worst_loss"] <= 2
    actor = await api.services.tenants.authenticate(client.headers["Authorization"].split()[1])
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as reader:
        problem_of(await reader.post("/v1/releases/previews", json=body), 403, "forbidden")
    await client.post("/v1/releases/drawn/withdrawal")
    gone = (await client.post("/v1/releases/previews", json=body)).json()["drawn_people"]
    assert gone["worst_loss"] is None

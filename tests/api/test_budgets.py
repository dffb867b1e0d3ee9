"""Budgets: what the differentially private releases of a table spend together is never above its limits."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from app.services.resources import Scope
from tests.api.drawn_people import ROWS, asked, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api
from tests.conftest import DatabaseUrls

pytestmark = pytest.mark.anyio

STABLE = {"kind": "stability_histogram", "epsilon": 1, "delta": 1e-4, "least_records": 20}


def private(name: str, epsilon: float = 1, delta: float = 1e-4, dataset: str = "people") -> dict[str, Any]:
    """A further draw of whole records that spends this."""
    mechanism = {**STABLE, "epsilon": epsilon, "delta": delta}
    return {**asked(name, dataset, mechanism=mechanism), "independent_of_earlier": True}


async def budget(client: httpx.AsyncClient, epsilon: str, delta: str = "0.01", **more: Any) -> dict[str, Any]:
    body = {"name": "all", "dataset": "people", "epsilon": epsilon, "delta": delta, **more}
    return await made(client.post("/v1/budgets", json=body))


async def ledger(client: httpx.AsyncClient, dataset: str = "people") -> dict[str, Any]:
    answer = await client.get(f"/v1/datasets/{dataset}/budget")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def shares(told: dict[str, Any]) -> list[tuple[str | None, str, str]]:
    return [(own["release"], own["state"], own["epsilon"]) for own in told["releases"]]


async def test_sums_are_decided_exactly(client: httpx.AsyncClient):
    """0.1 + 0.2 is 0.3, and δ of 1e-20 beyond the limit is beyond it; floats would say otherwise."""
    await people(client)
    await budget(client, "0.3", "0.00020000000000000001")
    await made(client.post("/v1/releases", json=private("one", 0.1)))
    await made(client.post("/v1/releases", json=private("two", 0.2)))
    told = await ledger(client)
    assert told["epsilon"] == {"limit": "0.3", "spent": "0.3", "reserved": "0", "remaining": "0"}
    assert told["delta"]["remaining"] == "0.00000000000000000001"
    refused = problem_of(await client.post("/v1/releases", json=private("three", 0.0001)), 409, "conflict")
    assert refused["details"]["asked"] == {"epsilon": "0.0001", "delta": "0.0001"}
    assert refused["details"]["budget"]["epsilon"]["remaining"] == "0"
    raised = {"epsilon": "0.3001", "delta": "0.00029999999999999999"}
    assert (await client.post("/v1/budgets/all/limits", json=raised)).status_code == 200
    problem = problem_of(await client.post("/v1/releases", json=private("three", 0.0001)), 409, "conflict")
    assert "δ" in problem["detail"]
    assert "ε of" not in problem["detail"]
    plan = (await client.post("/v1/releases/plans", json=private("three", 0.0001))).json()
    assert plan["budget"]["epsilon"] == {
        "limit": "0.3001", "spent": "0.3", "reserved": "0", "remaining": "0.0001"
    }  # fmt: skip
    assert [own["message"] for own in plan["missing"]] == [problem["detail"].split(" Use ")[0]]
    raised["delta"] = "3e-4"
    assert (await client.post("/v1/budgets/all/limits", json=raised)).status_code == 200
    # A number, as mechanisms take it, is the decimal that it is written as.
    numbers = {"epsilon": 0.3001, "delta": 3e-7}
    limits = await client.post("/v1/budgets/all/limits", json={**numbers, "delta": 3e-4})
    assert [limits.json()[name]["limit"] for name in ("epsilon", "delta")] == ["0.3001", "0.0003"]
    for wrong in (True, -1, 1e300, "NaN"):
        problem_of(
            await client.post("/v1/budgets/all/limits", json={**numbers, "epsilon": wrong}),
            422,
            "invalid-input",
        )
    await made(client.post("/v1/releases", json=private("three", 0.0001)))
    shown = (await client.get("/v1/releases/three")).json()["mechanism"]["budget"]
    assert (shown["name"], shown["delta"]["remaining"]) == ("all", "0")
    assert shown["sentence"].startswith("The budget 'all' of the table limits")


async def test_of_two_requests_for_the_last_exactly_one_wins(client: httpx.AsyncClient):
    await people(client)
    await budget(client, "2")
    answers = await asyncio.gather(
        *(
            client.post("/v1/releases", json=private(f"draw-{number}", delta=number / 10_000))
            for number in range(1, 6)
        )
    )
    assert sorted(own.status_code for own in answers) == [201] * 2 + [409] * 3
    told = await ledger(client)
    assert (told["epsilon"]["spent"], told["epsilon"]["reserved"]) == ("2", "0")
    assert len((await client.get("/v1/releases")).json()["items"]) == 2


async def test_a_run_reserves_and_its_end_spends_or_frees(api: Api, client: httpx.AsyncClient):
    await people(client)
    await budget(client, "1.5")
    run = (await client.post("/v1/releases/runs", json=private("by-run"))).json()
    assert shares(await ledger(client)) == [("by-run", "reserved", "1")]
    assert (await client.post("/v1/releases/runs", json=private("by-run"))).json()["id"] == run["id"]
    # A further draw is nobody else's: another name's is not answered by it.
    problem_of(await client.post("/v1/releases/runs", json=private("again")), 409, "conflict")
    for path in ("/v1/releases", "/v1/releases/runs"):
        problem_of(await client.post(path, json=private("too-much", 0.6)), 409, "conflict")
    low = problem_of(
        await client.post("/v1/budgets/all/limits", json={"epsilon": "0.9", "delta": "0.01"}), 409, "conflict"
    )
    assert low["details"]["sums"]["epsilon"]["reserved"] == "1"
    assert (await client.post(f"/v1/runs/{run['id']}/cancel")).status_code in (200, 202)
    assert shares(await ledger(client)) == []
    again = (await client.post("/v1/releases/runs", json=private("by-run"))).json()
    assert again["id"] != run["id"]
    await api.work_off(again["id"])
    assert shares(await ledger(client)) == [("by-run", "spent", "1")]
    await made(client.post("/v1/releases", json=private("rest", 0.5)))


async def test_a_draw_whose_outcome_was_told_stays_spent(api: Api, client: httpx.AsyncClient):
    """Whether it fits in a quota follows from noisy counts, and how many bytes it has is not told."""
    await people(client)
    await budget(client, "1")
    overview = (await client.get("/v1/tenant")).json()
    async with api.store.work(overview["id"]) as work:
        await work.tenant.change({"stored_bytes": overview["quotas"]["stored_bytes"]["used"]})
        await work.commit()
    refused = await client.post("/v1/releases", json=private("full"))
    problem = problem_of(refused, 413, "quota-exceeded")
    assert problem["quota"].keys() == {"name", "limit"}
    assert "would have too many bytes" in problem["detail"]
    assert shares(await ledger(client)) == [(None, "reserved", "1")]
    assert (await client.delete("/v1/datasets/people")).status_code == 204
    await people(client, upload="people")
    assert shares(await ledger(client)) == [(None, "spent", "1")]
    problem_of(await client.post("/v1/releases", json=private("full")), 409, "conflict")


async def test_a_draw_begun_before_budgets_were_kept_is_not_finished_past_one(
    api: Api, client: httpx.AsyncClient, database_urls: DatabaseUrls
):
    await people(client)
    tenant = (await client.get("/v1/tenant")).json()["id"]
    async with api.store.work(tenant) as work:
        await work.tenant.change({"stored_bytes": 1})
        await work.commit()
    problem_of(await client.post("/v1/releases", json=private("old")), 413, "quota-exceeded")
    async with api.store.work(tenant) as work:
        await work.tenant.change({"stored_bytes": None})
        await work.commit()
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE draws SET epsilon = NULL, delta = NULL WHERE tenant_id = %s", [tenant])
    await budget(client, "0.5")
    (void,) = (await ledger(client))["voided_by"]
    assert "begun before budgets were kept" in void["reason"]
    for path in ("/v1/releases", "/v1/releases/runs"):
        problem_of(await client.post(path, json=private("old")), 409, "conflict")
    (missing,) = (await client.post("/v1/releases/plans", json=private("old"))).json()["missing"]
    assert "has not enough" in missing["message"]
    raised = {"epsilon": "1", "delta": "0.01"}
    assert (await client.post("/v1/budgets/all/limits", json=raised)).status_code == 200
    await made(client.post("/v1/releases", json=private("old")))


async def test_a_table_has_one_budget_whatever_is_made_or_erased_of_it(client: httpx.AsyncClient):
    await people(client)
    await budget(client, "1")
    await made(client.post("/v1/releases", json=private("first")))
    assert (await client.delete("/v1/releases/first")).status_code == 204
    assert shares(await ledger(client)) == [(None, "spent", "1")]
    for own in ("/v1/datasets/people", "/v1/uploads/people"):
        assert (await client.delete(own)).status_code == 204
    erased = (await client.get("/v1/budgets/all")).json()
    assert (erased["datasets"], erased["epsilon"]["spent"]) == ([], "1")
    await people(client, "anew")
    assert (await ledger(client, "anew"))["budget"] == "all"
    assert (await client.get("/v1/budgets")).json()["items"][0]["datasets"] == ["anew"]
    problem_of(await client.post("/v1/releases", json=private("second", dataset="anew")), 409, "conflict")
    body = {"name": "fresh", "dataset": "anew", "epsilon": "1", "delta": "0.01"}
    existing = problem_of(await client.post("/v1/budgets", json=body), 409, "conflict")["details"]["existing"]
    assert existing["name"] == "all"
    same = await client.post("/v1/budgets", json={**body, "name": "all"})
    assert (same.status_code, same.json()["id"]) == (200, existing["id"])


async def test_a_manifest_and_the_ledger_say_the_same_of_a_deleted_release(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=private("first")))
    await made(client.post("/v1/releases", json=private("second", 0.3)))
    assert (await client.delete("/v1/releases/first")).status_code == 204
    told = (await client.get("/v1/releases/second")).json()["mechanism"]["together"]
    assert (told["standing"], told["parameters"]["epsilon"]) == ("certified", 1.3)
    found = await ledger(client)
    assert (found["stands"], found["epsilon"]["spent"]) == (True, "1.3")


async def test_a_dataset_whose_name_is_the_id_of_another_is_not_taken_for_it(
    client: httpx.AsyncClient, database_urls
):
    """None can be named so now; it keeps its name if it was named before."""
    await people(client)
    rule = {"name": "plain", "dataset": "people", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    await made(client.post("/v1/releases", json={"name": "ruled", "dataset": "people", "rule": "plain"}))
    (shown,) = (await client.get("/v1/datasets")).json()["items"]
    content = "town,illness\n" + "Rome,flu\nBari,gout\n" * 30
    headers = {"Content-Type": "text/csv"}
    await made(client.post("/v1/uploads?name=other", content=content, headers=headers))
    await people(client, "elsewhere", "other")
    with psycopg.connect(database_urls.admin) as connection:
        renamed = "UPDATE resources SET name = %s WHERE name = 'elsewhere' AND kind = 'dataset'"
        assert connection.execute(renamed, [shown["id"]]).rowcount == 1
    other = next(
        own for own in (await client.get("/v1/datasets")).json()["items"] if own["name"] == shown["id"]
    )
    await budget(client, "1", dataset=other["id"])
    told = (await client.get("/v1/budgets/all")).json()
    assert (told["datasets"], told["voided_by"]) == ([shown["id"]], [])


async def test_a_sum_of_delta_that_promises_nothing_is_told_as_that(client: httpx.AsyncClient):
    await people(client)
    for name in ("one", "two"):
        await made(client.post("/v1/releases", json=private(name, 1 if name == "one" else 2, 0.01)))
    await made(client.post("/v1/releases", json={**private("three", 3, 0.01)}))
    mechanism = {**STABLE, "delta": 0.01, "least_records": 40, "epsilon": 2.5}
    body = {**asked("four", mechanism=mechanism), "independent_of_earlier": True}
    assert (await ledger(client))["stands"]
    manifest = (await made(client.post("/v1/releases", json=body)))["mechanism"]
    told = await ledger(client)
    assert not told["stands"]
    assert told["sentence"] == manifest["together"]["sentence"]
    assert (await client.delete("/v1/releases/four")).status_code == 204
    assert (await ledger(client))["sentence"] == told["sentence"]
    left = (await client.get("/v1/releases/three")).json()["mechanism"]["together"]
    assert (left["sentence"], left["standing"]) == (told["sentence"], "none")
    assert "which is 1 in the 40 records that are declared, or more" in told["sentence"]


async def test_what_was_released_before_counts_and_what_voids_the_sum_is_named(client: httpx.AsyncClient):
    await people(client)
    unlimited = (await made(client.post("/v1/releases", json=private("before", 2))))["mechanism"]["budget"]
    assert (unlimited["name"], unlimited["epsilon"]["limit"]) == (None, None)
    assert unlimited["sentence"].startswith("No budget is set for this table")
    told = await ledger(client)
    assert (told["budget"], told["epsilon"]["limit"], told["epsilon"]["spent"]) == (None, None, "2")
    assert told["voided_by"] == []
    assert "e^ε = 7.38906, apart from a slack of δ = 0.0001" in told["sentence"]
    body = {"name": "all", "dataset": "people", "epsilon": "1.9999999999999999", "delta": "0.01"}
    low = problem_of(await client.post("/v1/budgets", json=body), 409, "conflict")
    assert low["details"]["sums"]["epsilon"]["remaining"] == "-0.0000000000000001"
    await budget(client, "2")
    await made(client.post("/v1/releases", json={**asked("perturbed"), "independent_of_earlier": True}))
    await made(
        client.post(
            "/v1/releases",
            json={**asked("gone"), "independent_of_earlier": True, "neutralise_formulas": True},
        )
    )
    assert (await client.delete("/v1/releases/gone")).status_code == 204
    rule = {"kind": "identity"}
    await made(client.post("/v1/rules", json={"name": "plain", "dataset": "people", "rule": rule}))
    await made(client.post("/v1/releases", json={"name": "ruled", "dataset": "people", "rule": "plain"}))
    told = await ledger(client)
    assert {own["release"] for own in told["voided_by"]} == {"perturbed", "ruled", None}
    assert told["sentence"].startswith("Nothing is promised")
    assert told["epsilon"]["spent"] == "2"


async def test_a_gate_asks_what_is_spent_after_a_release(client: httpx.AsyncClient):
    await people(client)
    demand = {
        "kind": "privacy_budget", "epsilon": 6.3, "delta": 0.001, "may_rest_on_assumptions": True
    }  # fmt: skip
    stated = {"id": "budget", "title": "It holds", "reason": "For the test.", "requirement": demand}
    policy = {
        "format": "privacy-risk/policy/2", "name": "p", "version": 1, "title": "Of budgets",
        "assumes": {"attacker": "Who finds a person's record."},
        "schema": {"attributes": {"town": "quasi_identifier", "illness": "sensitive"}},
        "requirements": [stated],
    }  # fmt: skip
    await made(client.post("/v1/policies", json=policy))

    async def verdict(release: str) -> dict[str, Any]:
        answer = await client.post("/v1/gates/p/evaluations", json={"release": {"name": release}})
        assert answer.status_code in (200, 201), answer.text
        found: dict[str, Any] = answer.json()["result"]
        return found

    await made(client.post("/v1/releases", json=private("one", 3.1)))
    first = await verdict("one")
    assert (first["verdict"], first["subject"]["dataset_sha256"]) == ("pass", None)
    assert await verdict("one") == first
    await made(client.post("/v1/releases", json=private("two", 3.2)))
    second = await verdict("two")
    assert second["verdict"] == "pass"
    assert [own["dataset_sha256"] for own in second["earlier_releases"]["releases"]] == [None]
    await made(client.post("/v1/releases", json=private("three", 3)))
    (found,) = (await verdict("three"))["criteria"]
    assert found["outcome"] == "failed"
    assert "an ε of 9.3 and a δ of 0.0003; allowed are 6.3 and 0.001" in found["explanation"]
    assert (await client.delete("/v1/releases/two")).status_code == 409
    await made(client.post("/v1/releases", json=asked("drawn", independent_of_earlier=True)))
    (found,) = (await verdict("drawn"))["criteria"]
    assert (found["outcome"], found["error"]["code"]) == ("not_computable", "not-supported")


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"},
        {"epsilon": "1001"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"delta": "1"},
        {"delta": "1/0"},
    ],
    ids=str,
)
async def test_limits_that_mean_nothing_are_refused(client: httpx.AsyncClient, wrong: dict[str, str]):
    body = {"name": "all", "dataset": "people", "epsilon": "1", "delta": "1e-6", **wrong}
    problem = problem_of(await client.post("/v1/budgets", json=body), 422, "invalid-input")
    assert {own["pointer"] for own in problem["errors"]} == {f"/{name}" for name in wrong}


async def test_only_who_governs_sets_and_changes_budgets(api: Api, client: httpx.AsyncClient):
    await people(client)
    token = client.headers["Authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    assert (await budget(client, "1"))["epsilon"]["limit"] == "1"
    limits = {"epsilon": "2", "delta": "0.01"}
    assert (await client.post("/v1/budgets/all/limits", json=limits)).status_code == 200
    changed, created = (await client.get("/v1/audit-events")).json()["items"][:2]
    assert (created["action"], created["details"]) == ("budget.create", {"epsilon": "1", "delta": "0.01"})
    assert (changed["action"], changed["details"]["before"]["epsilon"]) == ("budget.change", "1")
    others = [own for own in Scope if own not in (Scope.GOVERN, Scope.OPERATOR)]
    async with api.client(await api.key_with(actor, *others)) as other:
        body = {"name": "all", "dataset": "people", **limits}
        for path in ("/v1/budgets", "/v1/budgets/all/limits"):
            sent = body if path == "/v1/budgets" else limits
            problem_of(await other.post(path, json=sent), 403, "forbidden")
        assert (await other.get("/v1/budgets/all")).json()["budget"] == "all"


async def test_lists_and_ledgers_take_as_many_statements_however_much_there_is(
    client: httpx.AsyncClient, engine: AsyncEngine
):
    sent: list[str] = []

    def told(connection: object, cursor: object, statement: str, *more: object) -> None:
        sent.append(statement)

    async def counted() -> list[int]:
        found = []
        for address in ("budgets", "budgets/all", "datasets/people/budget"):
            sent.clear()
            assert (await client.get(f"/v1/{address}")).status_code == 200
            found.append(len(sent))
        return found

    event.listen(engine.sync_engine, "before_cursor_execute", told)
    await people(client)
    await budget(client, "9")
    await made(client.post("/v1/releases", json=private("first")))
    few = await counted()
    for number in range(3):
        text = "\n".join(["town,illness", *ROWS, f"Oslo,cold-{number}", ""])
        name, headers = f"table-{number}", {"Content-Type": "text/csv"}
        await made(client.post(f"/v1/uploads?name={name}", content=text, headers=headers))
        await people(client, name, upload=name)
        await budget(client, "9", name=name, dataset=name)
        await made(
            client.post("/v1/releases", json=private(f"further-{number}", delta=(2 + number) / 10_000))
        )
    assert len((await client.get("/v1/budgets")).json()["items"]) == 4
    assert len((await ledger(client))["releases"]) == 4
    assert await counted() == few
    event.remove(engine.sync_engine, "before_cursor_execute", told)

"""People have one budget in whichever delivery they come, as far as identifiers tell them, or it is said."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.deliveries import HISTOGRAM, NAMES, PEOPLE, body, delivered, table
from tests.api.drawn_people import made
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


async def budget(client: httpx.AsyncClient, dataset: str, name: str = "all") -> httpx.Response:
    limits = {"name": name, "dataset": dataset, "epsilon": "0.5", "delta": "0.01"}
    return await client.post("/v1/budgets", json=limits)


def private(name: str) -> dict[str, Any]:
    return body(name, HISTOGRAM, independent_of_earlier=True)


async def ledger(client: httpx.AsyncClient, address: str) -> dict[str, Any]:
    answer = await client.get(f"/v1/{address}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def known(told: dict[str, Any]) -> str:
    """Whether the sums are known to be of all that was released of the people."""
    (own,) = told["hypotheses"]
    assert own["id"] == "all_draws_counted"
    found: str = own["holds"]
    return found


async def test_a_changed_cell_gives_no_fresh_budget(client: httpx.AsyncClient):
    await delivered(client, "first", table(NAMES, PEOPLE))
    await made(budget(client, "first"))
    first = (await made(client.post("/v1/releases", json=private("first"))))["mechanism"]
    assert (first["budget"]["epsilon"]["remaining"], known(first["budget"])) == ("0", "yes")
    for number in range(4):
        changed = [[own[0], own[1], "gout" if n == number else own[2]] for n, own in enumerate(PEOPLE)]
        name = f"changed-{number}"
        await delivered(client, name, table(NAMES, changed))
        told = await ledger(client, f"datasets/{name}/budget")
        assert (told["budget"], told["epsilon"]["remaining"], known(told)) == ("all", "0", "yes")
        plan = (await client.post("/v1/releases/plans", json=private(name))).json()
        assert "has not enough" in plan["missing"][0]["message"]
        assert (plan["budget"]["epsilon"]["remaining"], known(plan["budget"])) == ("0", "yes")
        for path in ("/v1/releases", "/v1/releases/runs"):
            problem = problem_of(await client.post(path, json=private(name)), 409, "conflict")
            assert problem["details"]["budget"]["name"] == "all"
        other = problem_of(await budget(client, name, "fresh"), 409, "conflict")
        assert other["details"]["existing"]["name"] == "all"
    # Others have one of their own.
    await delivered(client, "others", table(NAMES, [[f"9{own[0]}", *own[1:]] for own in PEOPLE]))
    await made(budget(client, "others", "other"))
    await made(client.post("/v1/releases", json=private("others")))
    told = await ledger(client, "budgets/other")
    assert (told["datasets"], told["epsilon"]["spent"], known(told)) == (["others"], "0.5", "yes")
    assert (await ledger(client, "budgets/all"))["epsilon"]["spent"] == "0.5"


async def test_what_spent_of_the_same_people_is_in_the_sum_and_what_showed_them_voids_it(
    client: httpx.AsyncClient,
):
    await delivered(client, "first", table(NAMES, PEOPLE))
    await delivered(client, "second", table(NAMES, PEOPLE[1:]))
    await made(client.post("/v1/releases", json=private("first")))
    second = (await made(client.post("/v1/releases", json=private("second"))))["mechanism"]
    assert second["together"]["parameters"]["epsilon"] == 1
    assert second["budget"]["epsilon"]["spent"] == "1"
    for name in ("first", "second"):
        assert (await ledger(client, f"datasets/{name}/budget"))["datasets"] == ["first", "second"]
    await delivered(client, "third", table(NAMES, PEOPLE[2:]))
    rule = {"name": "plain", "dataset": "third", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    await made(client.post("/v1/releases", json={"name": "ruled", "dataset": "third", "rule": "plain"}))
    told = await ledger(client, "datasets/third/budget")
    assert ([own["release"] for own in told["voided_by"]], told["stands"]) == (["ruled"], False)
    assert (await client.delete("/v1/releases/ruled")).status_code == 204
    told = await ledger(client, "datasets/third/budget")
    assert ([own["release"] for own in told["voided_by"]], told["stands"]) == ([None], False)
    assert known(await ledger(client, "budgets/all") if told["budget"] else told) == "yes"


async def test_without_identifiers_a_budget_says_that_it_is_assumed(client: httpx.AsyncClient):
    await delivered(client, "first", table(NAMES[1:], (own[1:] for own in PEOPLE)))
    await made(budget(client, "first"))
    plan = (await client.post("/v1/releases/plans", json=private("first"))).json()
    manifest = (await made(client.post("/v1/releases", json=private("first"))))["mechanism"]
    told = [await ledger(client, own) for own in ("budgets/all", "datasets/first/budget")]
    for own in (plan["budget"], manifest["budget"], *told):
        assert known(own) == "assumed"
        assert "No identifier is declared" in own["hypotheses"][0]["reason"]


async def test_a_column_beside_constant_ones_has_one_budget(client: httpx.AsyncClient):
    for number in range(6):
        name = f"upload-{number}"
        await delivered(client, name, table(["year", "illness"], ([f"{number}", own[2]] for own in PEOPLE)))
        if number == 0:
            await made(budget(client, name))
            await made(client.post("/v1/releases", json=private(name)))
        else:
            told = await ledger(client, f"datasets/{name}/budget")
            assert (told["budget"], told["epsilon"]["remaining"]) == ("all", "0")
            problem_of(await client.post("/v1/releases", json=private(name)), 409, "conflict")


async def test_a_gate_names_what_is_assumed_of_other_draws(client: httpx.AsyncClient):
    def large(name: str) -> dict[str, Any]:
        # It has no rows with a probability below 10⁻⁴⁰: six counts of ten would each lose six to noise.
        return body(name, HISTOGRAM | {"epsilon": 3}, independent_of_earlier=True)

    await delivered(client, "first", table(NAMES, PEOPLE))
    await made(client.post("/v1/releases", json=large("first")))
    policy = {
        "format": "privacy-risk/policy/2", "name": "p", "version": 1, "title": "Of budgets",
        "assumes": {"attacker": "Who finds a person's record."},
        "schema": {
            "attributes": {"number": "identifier", "town": "quasi_identifier", "illness": "sensitive"}
        },
        "requirements": [
            {"id": "budget", "title": "It holds", "reason": "For the test.",
             "requirement": {"kind": "privacy_budget", "epsilon": 9, "delta": 0.001,
                             "may_rest_on_assumptions": True}},
        ],
    }  # fmt: skip
    await made(client.post("/v1/policies", json=policy))

    async def holds() -> dict[str, str]:
        answer = await client.post("/v1/gates/p/evaluations", json={"release": {"name": "of-first"}})
        assert answer.status_code in (200, 201), answer.text
        (found,) = answer.json()["result"]["criteria"]
        assert found["outcome"] == "passed"
        return {own["id"]: own["holds"] for own in found["hypotheses"]}

    assert (await holds())["all_draws_counted"] == "yes"
    await delivered(client, "nameless", table(NAMES[1:], (own[1:] for own in PEOPLE[1:])))
    await made(client.post("/v1/releases", json=large("nameless")))
    assert (await holds())["all_draws_counted"] == "assumed"

"""The order of dictionaries on fixture F and on the members."""

from __future__ import annotations

import pytest

from app.services.resources import Scope
from tests.api.fixture_f import DICTIONARIES
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio


async def compared(client, smaller: str, larger: str, dataset: str = "T") -> dict:
    body = {"dataset": dataset, "smaller": smaller, "larger": larger}
    response = await client.post("/v1/dictionary-orders", json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.spec("TV-9")
async def test_the_orders_of_fixture_f(fixture):
    """The smaller first; whom each breaks on is read off the tables of the fixture."""
    assert await compared(fixture, "T", "D1") == {
        "holds": True, "first_breach": None, "own_rows_consistent": True,
    }  # fmt: skip
    assert (await compared(fixture, "T", "D2"))["holds"] is True
    vaguer = await compared(fixture, "D1", "T")
    # Entity 1 is of Greater Lafayette in D1, of Lafayette in T.
    assert vaguer["first_breach"] == {
        "kind": "value_not_more_general", "row": 1, "entity": "1", "attribute": "city",
    }  # fmt: skip
    missing = await compared(fixture, "T", "D3")
    assert missing["first_breach"] == {
        "kind": "entity_missing", "row": 4, "entity": "4", "attribute": None,
    }  # fmt: skip
    other = await compared(fixture, "D2", "D1")
    # D2 says nothing about races, which is vaguer than that entity 1 is Asian.
    assert other["first_breach"] == {
        "kind": "value_not_more_general", "row": 1, "entity": "1", "attribute": "race",
    }  # fmt: skip


async def test_the_order_is_reflexive_and_says_where_own_rows_are_inconsistent(fixture):
    for name in DICTIONARIES:
        answer = await compared(fixture, name, name)
        assert answer["holds"] is True
        # Entities 4 and 6 are not in D3.
        assert answer["own_rows_consistent"] is (name != "D3")


async def test_an_entity_is_named_to_those_only_who_may_read_data(api, fixture):
    actor = await api.services.tenants.authenticate(fixture.headers["Authorization"].split()[1])
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as weak:
        breach = (await compared(weak, "T", "D3"))["first_breach"]
    assert (breach["row"], breach["entity"]) == (4, None)


async def test_comparing_needs_the_scope_assess(api, fixture):
    actor = await api.services.tenants.authenticate(fixture.headers["Authorization"].split()[1])
    async with api.client(await api.key_with(actor, Scope.DATA_READ)) as weak:
        body = {"dataset": "T", "smaller": "T", "larger": "D1"}
        problem_of(await weak.post("/v1/dictionary-orders", json=body), 403, "forbidden")


async def test_dictionaries_without_identifiers_are_refused(fixture):
    body = {"name": "nameless", "upload": "D2", "links": [{"attribute": "city", "column": "city"}]}
    assert (await fixture.post("/v1/dictionaries", json=body)).status_code == 201
    body = {"dataset": "T", "smaller": "nameless", "larger": "nameless"}
    problem = problem_of(await fixture.post("/v1/dictionary-orders", json=body), 422, "invalid-input")
    assert pointers(problem) == ["/smaller", "/larger"]
    assert problem["errors"][0]["code"] == "no-identifier"


async def test_a_dictionary_that_fits_another_dataset_is_named_with_its_field(journey):
    schema = [
        {"name": "member_id", "type": "text", "role": "identifier"},
        {"name": "city", "type": "categorical", "role": "quasi_identifier"},
    ]
    body = {"name": "flat", "upload": "members", "attributes": schema}
    assert (await journey.post("/v1/datasets", json=body)).status_code == 201
    for smaller in ("members-themselves", "register"):
        body = {"dataset": "flat", "smaller": smaller, "larger": "members-themselves"}
        problem = problem_of(await journey.post("/v1/dictionary-orders", json=body), 422, "invalid-input")
        assert set(pointers(problem)) == {"/smaller"}
        assert {error["code"] for error in problem["errors"]} == {"other-hierarchy", "unknown-attribute"}
        assert all(f"The dictionary {smaller!r} links" in error["message"] for error in problem["errors"])


async def test_the_register_of_the_examples_holds_all_members(journey):
    answer = await compared(journey, "members-themselves", "register", "members")
    assert answer == {"holds": True, "first_breach": None, "own_rows_consistent": True}
    census = await compared(journey, "members-themselves", "census", "members")
    assert census["first_breach"]["kind"] == "entity_missing"


@pytest.mark.spec("E-8")
async def test_a_dictionary_that_repeats_an_identifier_is_refused(fixture):
    rows = "id,city\n1,Lafayette\n1,Dayton\n"
    await fixture.post("/v1/uploads", params={"name": "twice", "format": "csv"}, content=rows.encode())
    link = {"attribute": "city", "column": "city"}
    body = {"name": "twice", "upload": "twice", "identifier": "id", "links": [link]}
    problem = problem_of(await fixture.post("/v1/dictionaries", json=body), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "duplicate-identifier"

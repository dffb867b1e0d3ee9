"""Keys: who gets in, who does not, and what a key may do."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.api.authentication import actor_with_scopes
from app.api.routers import routers
from app.services.resources import Scope
from tests.api.operations import DOCUMENT, OPERATIONS, SCOPED, address
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic dTpw", "Bearer nothing", "Bearer a.b", "Bearer " + "x" * 5000],
)
async def test_without_a_valid_key_nobody_gets_in(anonymous: httpx.AsyncClient, header: str | None):
    headers = {} if header is None else {"Authorization": header}
    response = await anonymous.get("/v1/rules", headers=headers)
    problem_of(response, 401, "unauthenticated")
    assert response.headers["www-authenticate"].startswith("Bearer")


async def test_a_wrong_secret_of_a_known_prefix_is_refused_like_an_unknown_key(api, anonymous):
    _, token = await api.tenant_with_key()
    prefix, secret = token.split(".")
    wrong = f"{prefix}.{secret[:-1]}{'a' if secret[-1] != 'a' else 'b'}"
    response = await anonymous.get("/v1/rules", headers={"Authorization": f"Bearer {wrong}"})
    known = problem_of(response, 401, "unauthenticated")
    response = await anonymous.get("/v1/rules", headers={"Authorization": "Bearer nobody.nothing"})
    unknown = problem_of(response, 401, "unauthenticated")
    assert known["detail"] == unknown["detail"]


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
async def test_no_operation_answers_without_a_key(anonymous, method, path, operation):
    body = {"json": {}} if method == "POST" else {}
    problem_of(await anonymous.request(method, address(path), **body), 401, "unauthenticated")


async def test_a_key_without_the_scope_is_refused_with_the_scope_named(api):
    """Every operation with a scope, from the document: a key with all other scopes does not open it."""
    actor, _ = await api.tenant_with_key()
    for method, path, (scope,) in SCOPED:
        others = set(Scope) - {Scope(scope)}
        async with api.client(await api.key_with(actor, *others)) as client:
            response = await client.request(method, address(path), **_well_formed(method, path))
            body = problem_of(response, 403, "forbidden")
            assert body["scope"] == scope, (method, path)


PUBLIC = {
    "/healthz", "/readyz", "/openapi.json", "/docs", "/docs/operations.json", "/docs/groups/{group}.json",
    "/problems", "/problems/{code}", "/static",
}  # fmt: skip
"""What is answered without a key: nothing of a tenant."""


def test_what_the_tests_walk_over_is_all_that_the_application_answers(api):
    """The document, from which tests of isolation go through the operations, is that of the route table."""
    table = {
        (method, route.path, *_scopes_of(route))
        for router in routers()
        for route in router.routes
        for method in route.methods
    }
    told = {(method, path, *own["security"][0]["api_key"]) for method, path, own in OPERATIONS}
    assert table == told, (
        "make openapi/openapi.json anew: python -m app openapi --output openapi/openapi.json"
    )
    (_, *others) = api.app.router.routes  # the first one is the interface
    assert set(_addresses(others)) == PUBLIC, (
        "an address outside the interface: add it to PUBLIC if it shows nothing of a tenant, else put it "
        "below /v1 with a scope"
    )


def _addresses(routes):
    """The addresses of routes and of routers that are among them."""
    for route in routes:
        if hasattr(route, "path"):
            yield route.path
        else:
            yield from _addresses(route.original_router.routes)


def _scopes_of(route):
    guards = [part for part in route.dependant.dependencies if part.call is actor_with_scopes]
    return [scope for guard in guards for scope in guard.own_oauth_scopes or ()]


@pytest.fixture(params=["revoked", "expired"])
async def ended(request, api, client, clock):
    """A client whose key has worked, and does no more."""
    end = {"expires_at": "2026-11-20T12:00:01Z"} if request.param == "expired" else {}
    asked = {
        "name": request.param,
        "scopes": [scope for scope in Scope if scope is not Scope.OPERATOR],
        **end,
    }
    made = (await client.post("/v1/api-keys", json=asked)).json()
    async with api.client(made["token"]) as theirs:
        assert (await theirs.get("/v1/rules")).status_code == 200
        if request.param == "revoked":
            await client.delete(f"/v1/api-keys/{made['key']['id']}")
        clock.advance(2)
        yield theirs


async def test_no_operation_answers_a_key_that_has_ended(ended):
    said = set()
    for method, path, _ in OPERATIONS:
        response = await ended.request(method, address(path), **_well_formed(method, path))
        said.add(problem_of(response, 401, "unauthenticated")["detail"])
    assert len(said) == 1


def _well_formed(method: str, path: str) -> dict[str, Any]:
    """Parameters and body that pass validation, from the operation's example."""
    operation = DOCUMENT["paths"][path][method.lower()]
    parameters = {
        p["name"]: next(iter(p["examples"].values()))["value"]
        for p in operation.get("parameters", ())
        if p["in"] == "query" and p["required"]
    }
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        body = next(iter(content["application/json"]["examples"].values()))["value"]
        return {"params": parameters, "json": body}
    return {"params": parameters}


async def test_the_first_key_of_a_tenant_may_do_all_but_operate(api, client):
    response = await client.post("/v1/tenants", json={"name": "second-customer"})
    assert response.status_code == 201
    token = response.json()["first_key"]["token"]
    async with api.client(token) as theirs:
        assert (await theirs.get("/v1/api-keys")).status_code == 200
        problem_of(await theirs.get("/v1/tenants"), 403, "forbidden")
    again = await client.post("/v1/tenants", json={"name": "second-customer"})
    assert again.status_code == 200
    assert again.json()["first_key"] is None


async def test_a_hierarchy_of_cells_needs_the_scope_that_shows_cells(api):
    """Its labels are the column's values, and every key of the tenant may look at them."""
    actor, _ = await api.tenant_with_key()
    definition = {"kind": "flat", "upload": {"upload": "people", "column": "name"}}
    body = {"name": "names", "definition": definition}
    async with api.client(await api.key_with(actor, Scope.DATA_WRITE)) as writer:
        await writer.post("/v1/uploads", params={"name": "people"}, content=b"name\nZebediah\n")
        refused = await writer.post("/v1/hierarchies", json=body)
        assert problem_of(refused, 403, "forbidden")["scope"] == "data:read"
    async with api.client(await api.key_with(actor, Scope.DATA_WRITE, Scope.DATA_READ)) as both:
        assert (await both.post("/v1/hierarchies", json=body)).status_code == 201


async def test_a_key_is_shown_once_works_until_it_is_revoked_and_grants_no_more_than_its_maker(api, client):
    made = await client.post("/v1/api-keys", json={"name": "reader", "scopes": ["data:read", "admin"]})
    assert made.status_code == 201
    token, key_id = made.json()["token"], made.json()["key"]["id"]
    listing = await client.get("/v1/api-keys")
    assert token.split(".")[1] not in listing.text
    assert key_id in [key["id"] for key in listing.json()["items"]]
    async with api.client(token) as reader:
        assert (await reader.get("/v1/rules")).status_code == 200
        problem_of(
            await reader.post("/v1/api-keys", json={"name": "w", "scopes": ["assess"]}), 403, "forbidden"
        )
        assert (await client.delete(f"/v1/api-keys/{key_id}")).json()["revoked_at"]
        problem_of(await reader.get("/v1/rules"), 401, "unauthenticated")


async def test_an_expired_key_is_refused(api, client, clock):
    expires = "2026-11-21T00:00:00Z"
    made = await client.post(
        "/v1/api-keys", json={"name": "guest", "scopes": ["assess"], "expires_at": expires}
    )
    async with api.client(made.json()["token"]) as guest:
        assert (await guest.get("/v1/rules")).status_code == 200
        clock.advance(13 * 3600)
        problem_of(await guest.get("/v1/rules"), 401, "unauthenticated")

"""What belongs to one tenant does not exist for another: over all routes, new ones included."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from app.api.examples.measurements import MEASUREMENTS
from app.persistence.encryption import MasterKey
from tests.api.journey import Answers, Step, walk
from tests.api.operations import DOCUMENT
from tests.api.prepared import Prepared, prepared
from tests.api.problem_documents import problem_of
from tests.api.service import Api
from tests.conftest import PostgresServer

pytestmark = pytest.mark.anyio

NAMING = [
    (method.upper(), path)
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if "{" in path and path.startswith("/v1") and not path.endswith("/plans")
]
"""Every operation that names a resource in its path and must find it; plans list what is missing."""

REFERRING = {
    "create_dataset",
    "create_dictionary",
    "create_dictionary_set",
    "compare_dictionaries",
    "create_sensitivity_profile",
    "create_rule",
    "preview_rule",
    "create_assessment",
    "create_assessment_run",
    "create_budget",
    "create_measurement",
    "create_measurement_run",
    "create_optimisation",
    "create_frontier",
    "create_release",
    "create_release_run",
    "create_sequential_disclosure",
    "create_relational_schema",
    "create_view_check",
    "create_view_check_run",
    "create_waiver",
    "evaluate_gate",
    "evaluate_gate_run",
    "plan_assessment",
    "plan_evaluation",
    "plan_frontier",
    "plan_measurement",
    "plan_optimisation",
    "plan_release",
    "preview_release",
    "plan_view_check",
}
"""Every operation that names a resource in its body."""

SELF_CONTAINED = {"create_relational_schema", "create_view_check"}
"""Those that can be given all in the body, as some of their examples are."""


Known = dict[str, dict[str, str]]
"""Collection → name → id."""


@pytest.fixture(scope="module")
def owned() -> Known:
    """All that the journey's tenant owns before it cleans up."""
    return {}


@pytest.fixture(scope="module")
def journey_and_access(
    postgres: PostgresServer, master_key: MasterKey, owned: Known, journeys_end: Prepared, answered: Answers
) -> Iterator[Prepared]:
    """The examples, gone through up to where they clean up."""
    for step, response in answered:
        _note(owned, step, response)

    async def go(api: Api, client: httpx.AsyncClient) -> None:
        async for step, response in walk(api, client, before="clean up", since="access"):
            _note(owned, step, response)

    yield from prepared(postgres, master_key, go, journeys_end)


@pytest.fixture
async def client(api: Api, journey_and_access: Prepared) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the tenant that went through the examples."""
    async with api.client(journey_and_access.token) as client:
        yield client


@pytest.fixture
def known(journey_and_access: Prepared, owned: Known) -> Known:
    return owned


def _note(found: Known, step: Step, response: httpx.Response) -> None:
    """Keep what a step has made."""
    is_made = step.method == "POST" and response.status_code in (200, 201, 202)
    is_run = is_made and "resource" in response.json()
    if is_made and not is_run and step.operation_id.startswith("create_"):
        body = response.json()
        collection = step.path.split("/")[2]
        if "id" in body and collection != "tenants":
            found.setdefault(collection, {})[body["name"]] = body["id"]
        if collection == "api-keys":
            found.setdefault(collection, {})[body["key"]["name"]] = body["key"]["id"]
    if step.operation_id == "get_assessment_evidence":
        address = response.headers["content-location"]
        found.setdefault("evidence", {})["proposal-score"] = address.rsplit("/", 1)[-1]
    if is_run:
        body = response.json()
        found.setdefault("runs", {})[body["resource"]["name"]] = body["id"]
        if body["resource"]["kind"] == "draw":  # known by its run and its release alone
            return
        collection = f"{body['resource']['kind']}s".replace("_", "-")
        found.setdefault(collection, {})[body["resource"]["name"]] = body["resource"]["id"]


async def test_no_route_knows_the_ids_or_names_of_another_tenant(api, client, other_client, known):
    """Every route with a name in its path: 404 for the other tenant, and nothing changes for the owner."""
    before = {path: (await client.get(path)).content for path in _lists(known)}
    for method, path in NAMING:
        assert _owner(path) in known, (
            f"{method} {path} names a resource that no example makes: give the operation that makes it an "
            "example, or say in _owner whose name it takes"
        )
        owned, body = known[_owner(path)], _example_body(method, path)
        # The last one is nobody's: what is said of the others must be word for word the same.
        refs = [*list(owned.values())[:2], *list(owned)[:1], secrets.token_hex(16)]
        said = []
        for ref in refs:
            address = path.replace("{ref}", ref).replace("{key_id}", ref).replace("{policy}", ref)
            response = await other_client.request(method, address, json=body)
            told = problem_of(response, 404, "not-found")
            said.append((json.dumps({**told, "request_id": ""}).replace(ref, "…"), sorted(response.headers)))
        assert said == said[-1:] * len(refs), (method, path)
    after = {path: (await client.get(path)).content for path in _lists(known)}
    assert before == after


def _owner(path: str) -> str:
    """The collection that the name in a path belongs to: gates are policies at work."""
    collection = path.split("/")[2]
    return "policies" if collection == "gates" else collection


def _example_body(method: str, path: str):
    """What the operation takes, if it takes anything: the other tenant asks well."""
    content = DOCUMENT["paths"][path][method.lower()].get("requestBody", {}).get("content", {})
    examples = content.get("application/json", {}).get("examples", {})
    return next((example["value"] for example in examples.values()), None)


def _lists(known: Known) -> list[str]:
    """The lists as wholes: a cursor to the next part would be another each time."""
    return [_list(collection) for collection in known if collection != "api-keys"]


def _list(collection: str) -> str:
    return f"/v1/{collection}" if collection == "webhooks" else f"/v1/{collection}?limit=200"


async def test_every_operation_that_could_name_a_resource_is_covered(known):
    assert {_owner(path) for _, path in NAMING} <= set(known)
    schemas = {
        operation["operationId"]
        for methods in DOCUMENT["paths"].values()
        for method, operation in methods.items()
        if method == "post" and "Ref" not in operation and _names_resources(operation)
    }
    # The public list of a mechanism that is audited is looked up nowhere: no data are read.
    audits = {"plan_mechanism_audit", "create_mechanism_audit", "create_mechanism_audit_run"}
    assert schemas - {"create_hierarchy"} - audits == REFERRING


def _names_resources(operation) -> bool:
    """Whether the body's schema has a field that takes an id or name of a resource."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
    return bool(name) and _has_ref(name, set())


def _has_ref(name: str, seen: set[str]) -> bool:
    seen.add(name)
    text = str(DOCUMENT["components"]["schemas"][name])
    if "[A-Za-z0-9._-]{1,100}" in text:
        return True
    inner = {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]} - seen
    return any(_has_ref(other, seen) for other in inner)


async def test_no_body_can_refer_to_the_resources_of_another_tenant(api, other_client, known):
    """Every body that names resources, with the first tenant's ids in the place of the names."""
    ids = {name: ref for owned in known.values() for name, ref in owned.items()}
    for path, methods in DOCUMENT["paths"].items():
        operation = methods.get("post", {})
        if operation.get("operationId") not in REFERRING:
            continue
        for example in operation["requestBody"]["content"]["application/json"]["examples"].values():
            by_ids = _with_ids(example["value"], ids)
            if by_ids == example["value"] and operation["operationId"] in SELF_CONTAINED:
                continue
            for body in (example["value"], by_ids):
                address = path.replace("{policy}", "members-release")
                response = await other_client.post(address, json=body)
                if path.endswith("/plans"):
                    assert {fault["code"] for fault in response.json()["missing"]} == {"unknown-reference"}
                elif "{policy}" in path:
                    problem_of(response, 404, "not-found")
                else:
                    faults = problem_of(response, 422, "invalid-input")["errors"]
                    assert {fault["code"] for fault in faults} == {"unknown-reference"}
    for collection in known:
        if collection != "api-keys":
            assert (await other_client.get(f"/v1/{collection}")).json()["items"] == []


async def test_no_parameter_can_refer_to_the_resources_of_another_tenant(other_client, known):
    """Every parameter that takes an id or name, sent about what the tenant has of its own."""
    own = {
        "/v1/hierarchies": {"name": "own", "definition": {"kind": "rows", "rows": [["Gary", "Indiana"]]}},
        "/v1/uploads?name=own": "city\nGary\n",
        "/v1/datasets": {
            "name": "own",
            "upload": "own",
            "attributes": [{"name": "city", "type": "text", "role": "quasi_identifier", "hierarchy": "own"}],
        },
        "/v1/policies": _example_of("create_policy", "hospital-views"),
    }
    for path, body in own.items():
        sent = {"content": body} if isinstance(body, str) else {"json": body}
        made = await other_client.post(path, **sent)
        assert made.status_code == 201, made.text
    referring = {
        "/v1/datasets/{ref}/attributes/{attribute}/tree": ("sensitivity", "sensitivity-profiles", {}),
        "/v1/policies/{ref}/diff": ("against", "policies", {"against": "hospital-views@1"}),
    }
    assert {
        (path, parameter["name"])
        for path, methods in DOCUMENT["paths"].items()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and "[A-Za-z0-9._-]{1,100}" in str(parameter["schema"])
    } == {(path, name) for path, (name, *_) in referring.items()}
    for path, (name, collection, allowed) in referring.items():
        address = path.replace("{ref}", "hospital-views" if "policies" in path else "own")
        address = address.replace("{attribute}", "city")
        assert (await other_client.get(address, params=allowed)).status_code == 200
        theirs = {own: id_ for own, id_ in known[collection].items() if not own.startswith("hospital-views")}
        assert theirs
        for ref in (*theirs, *theirs.values()):
            problem_of(await other_client.get(address, params={name: ref}), 404, "not-found")


def _example_of(operation_id: str, key: str):
    (examples,) = [
        operation["requestBody"]["content"]["application/json"]["examples"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if operation["operationId"] == operation_id
    ]
    return examples[key]["value"]


def _with_ids(body, ids):
    references = {
        "upload", "dataset", "dictionary", "sensitivity", "rule", "from_dataset", "hierarchy", "failure",
        "true_dictionary", "smaller", "larger", "relational_schema",
    }  # fmt: skip
    if isinstance(body, dict):
        lists = {key: [ids[own] for own in body[key]] for key in ("datasets",) if key in body}
        return lists | {
            key: ids.get(value, value)
            if key in references and isinstance(value, str)
            else _with_ids(value, ids)
            for key, value in body.items()
            if key not in lists
        }
    if isinstance(body, list):
        return [_with_ids(item, ids) for item in body]
    return body


async def test_lists_show_a_tenant_its_own_resources_only(api, client, other_client, known):
    for collection, owned in known.items():
        if collection == "api-keys":
            continue
        mine = (await client.get(_list(collection))).json()["items"]
        assert {item["id"] for item in mine} >= set(owned.values()), collection
        assert (await other_client.get(f"/v1/{collection}")).json()["items"] == []
    mine = {key["id"] for key in (await client.get("/v1/api-keys")).json()["items"]}
    theirs = {key["id"] for key in (await other_client.get("/v1/api-keys")).json()["items"]}
    assert mine.isdisjoint(theirs)


async def test_a_cursor_of_another_tenant_is_refused(client, other_client, known):
    page = (await client.get("/v1/hierarchies", params={"limit": 1})).json()
    response = await other_client.get("/v1/hierarchies", params={"cursor": page["next_cursor"]})
    problem_of(response, 422, "invalid-input")


@pytest.mark.deep
async def test_two_tenants_make_the_same_journey_without_meeting(api, anonymous, other_client):
    """The same names and contents in both tenants, interleaved step by step.

    What is measured is the same in both: results hold neither ids nor times, and nothing of them is a matter
    of chance.
    """
    measured = set()
    _, token = await api.tenant_with_key()
    anonymous.headers["Authorization"] = f"Bearer {token}"
    mine, theirs = walk(api, anonymous), walk(api, other_client)
    async for step, first in mine:
        other_step, second = await anext(theirs)
        assert (step.operation_id, step.key) == (other_step.operation_id, other_step.key)
        if step.operation_id in ("create_tenant", "list_tenants", "get_own_tenant"):
            continue
        assert first.status_code == second.status_code, (step.operation_id, step.key)
        _assert_disjoint(step, first, second)
        if step.operation_id == "create_measurement":
            one, other = first.json(), second.json()
            assert (one["sha256"], one["result"]) == (other["sha256"], other["result"])
            measured.add(one["name"])
    assert measured == set(MEASUREMENTS)


def _assert_disjoint(step: Step, first: httpx.Response, second: httpx.Response) -> None:
    if first.headers.get("content-type") != "application/json" or not step.path.startswith("/v1"):
        return
    if isinstance(first.json(), dict) and "id" in first.json():
        assert first.json()["id"] != second.json()["id"]
        assert first.json()["name"] == second.json()["name"] if "name" in first.json() else True

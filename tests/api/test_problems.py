"""Errors of the framework's own making are problems too, and no problem repeats what it was sent."""

from __future__ import annotations

import asyncio
from html import escape

import httpx
import pytest

from app.api.problems import PROBLEM_TYPES, body_of_error
from app.domain import errors
from app.domain.errors import NotFinished
from tests.api.problem_documents import pointers, problem_of
from tests.tiers import ROOT

pytestmark = pytest.mark.anyio

SECRET = "Zebediah Quux 1975-05-10"


async def test_an_unknown_address_is_a_problem(client: httpx.AsyncClient):
    for path in ("/v1/nothing", "/nothing", "/static/nothing", "/problems/nothing"):
        problem_of(await client.get(path), 404, "not-found")


async def test_a_wrong_method_is_a_problem_and_names_the_right_ones(client: httpx.AsyncClient):
    response = await client.put("/v1/hierarchies", json={})
    problem_of(response, 405, "method-not-allowed")
    assert {"GET", "POST"} & set(response.headers["allow"].split(", "))


async def test_a_declared_body_above_the_limit_is_refused_before_it_is_read(client: httpx.AsyncClient):
    body = problem_of(await client.post("/v1/rules", content=b"x" * 400_001), 413, "too-large")
    assert body["limit"] == 400_000
    assert "400000" in body["detail"]


async def test_a_streamed_body_above_the_limit_is_refused_at_the_first_byte_too_many(
    client: httpx.AsyncClient,
):
    sent = 0

    async def endless():
        nonlocal sent
        while True:
            sent += 100_000
            yield b" " * 100_000

    response = await client.post("/v1/rules", content=endless(), headers={"Content-Type": "application/json"})
    assert problem_of(response, 413, "too-large")["limit"] == 400_000
    assert sent <= 600_000


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "JSON"),
        (b"", "required"),
        (b'{"name": NaN}', "NaN is not a JSON value"),
        (b'{"name": Infinity}', "Infinity is not a JSON value"),
        (b'{"name": "a", "name": "b"}', "repeats a key"),
    ],
)
async def test_bad_json_is_said_to_be_bad(client: httpx.AsyncClient, content: bytes, said: str):
    response = await client.post("/v1/rules", content=content, headers={"Content-Type": "application/json"})
    body = problem_of(response, 422, "invalid-input")
    assert said in body["detail"]


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 200_000])
async def test_a_body_that_is_no_text_or_too_deep_is_malformed(client: httpx.AsyncClient, content: bytes):
    response = await client.post("/v1/rules", content=content, headers={"Content-Type": "application/json"})
    problem_of(response, 400, "malformed-request")


async def test_a_body_that_is_not_json_is_of_an_unsupported_type(client: httpx.AsyncClient):
    problem_of(await client.post("/v1/rules", content=b"{}"), 415, "unsupported-media-type")
    response = await client.post("/v1/rules", content=b"{}", headers={"Content-Type": "text/plain"})
    body = problem_of(response, 415, "unsupported-media-type")
    assert body["detail"] == "The body must be JSON; send JSON with Content-Type: application/json."
    assert body["remedy"] == "Send one of the media types that the operation documents."


async def test_a_request_without_the_body_that_it_needs_is_told_so(client: httpx.AsyncClient):
    body = problem_of(await client.post("/v1/rules"), 415, "unsupported-media-type")
    assert body["detail"].startswith("The request has no body; send JSON")
    assert body["remedy"]


async def test_every_fault_of_a_body_is_listed_with_its_place(client: httpx.AsyncClient):
    attributes = [
        {"name": "city", "type": "colour", "role": "other"},
        {"type": "text", "role": "other", "x": 1},
    ]
    response = await client.post("/v1/datasets", json={"name": "a b", "attributes": attributes})
    body = problem_of(response, 422, "invalid-input")
    assert set(pointers(body)) == {
        "/name",
        "/upload",
        "/attributes/0/type",
        "/attributes/1/name",
        "/attributes/1/x",
    }
    assert all(error["remedy"] for error in body["errors"])


async def test_a_pointer_leaves_out_the_kind_that_was_tried(client: httpx.AsyncClient):
    body = {"name": "x", "definition": {"kind": "parents", "parents": {"a/b": ["c", 3]}}}
    problem = problem_of(await client.post("/v1/hierarchies", json=body), 422, "invalid-input")
    assert pointers(problem) == ["/definition/parents/a~1b/1"]


@pytest.mark.parametrize(
    ("weights", "pointer"),
    [
        ({"leaves": 0.3, "inner": "least"}, "/inner"),
        ({"leaves": 0.3, "weight": 1}, "/weight"),
        ({"leaves": "x", "inner": "harmonic"}, "/leaves"),
        ({"leaves": {"A": "x"}}, "/leaves/A"),
    ],
)
async def test_a_kind_that_is_called_like_a_field_is_not_taken_for_it(client, weights, pointer):
    body = {"name": "harm", "dataset": "people", "attributes": {"city": weights}}
    answer = await client.post("/v1/sensitivity-profiles", json=body | {"family": "multiplicative"})
    errors = problem_of(answer, 422, "invalid-input")["errors"]
    assert f"/attributes/city{pointer}" in [error["pointer"] for error in errors]


@pytest.mark.parametrize(("place", "remedy"), [("", "Content-Type"), ("/definition", "Send an object.")])
async def test_what_is_no_object_is_told_so_in_words_of_json(client: httpx.AsyncClient, place, remedy):
    body = {"name": "city", "definition": 3} if place else []
    (error,) = problem_of(await client.post("/v1/hierarchies", json=body), 422, "invalid-input")["errors"]
    assert (error["pointer"], error["message"]) == (place, "Input should be a JSON object.")
    assert remedy in error["remedy"]


async def test_a_fault_of_a_parameter_names_where_it_stood(client: httpx.AsyncClient):
    body = problem_of(await client.get("/v1/rules", params={"limit": 1000}), 422, "invalid-input")
    assert pointers(body) == ["query/limit"]
    body = problem_of(await client.get("/v1/rules/a%00b"), 422, "invalid-input")
    assert pointers(body) == ["path/ref"]


async def test_no_problem_repeats_the_value_that_was_sent(client: httpx.AsyncClient):
    bodies = [
        {"name": SECRET},
        {"name": "x", "dataset": 5, "rule": {"kind": SECRET}},
        {"name": "x", "dataset": "d", "rule": {"kind": "table_level", "levels": {"city": SECRET}}},
        {"name": "x", "dataset": "d", "rule": {"kind": "record_level", "records": [SECRET]}},
        {"name": "x", "dataset": "d", "rule": SECRET},
    ]
    for body in bodies:
        response = await client.post("/v1/rules", json=body)
        problem_of(response, 422, "invalid-input")
        assert SECRET not in response.text


async def test_a_defect_is_a_500_that_tells_nothing_but_its_request_id(api, client, monkeypatch):
    async def fail(*args, **kwargs):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(api.services.rules, "list", fail)
    response = await client.get("/v1/rules", headers={"X-Request-Id": "abc-1"})
    body = problem_of(response, 500, "internal-error")
    assert body["request_id"] == "abc-1"
    assert SECRET not in response.text
    assert "content-security-policy" in response.headers
    line = api.log_lines()[-1]
    assert line["error"] == "RuntimeError"
    assert any("fail" in frame for frame in line["frames"])
    assert SECRET not in api.log.getvalue()


async def test_the_log_tells_what_ended_a_group_of_tasks(api, client, monkeypatch):
    async def fail():
        raise RuntimeError(SECRET)

    async def group_of_tasks() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    async def list_in_a_group(*args, **kwargs):
        # In a task of its own: Python 3.11.2 would leave that of the tests marked as cancelled, and the next
        # timeout in it, of whatever test, would end it.
        await asyncio.create_task(group_of_tasks())

    monkeypatch.setattr(api.services.rules, "list", list_in_a_group)
    problem_of(await client.get("/v1/rules"), 500, "internal-error")
    line = api.log_lines()[-1]
    assert line["error"] == "RuntimeError"
    assert line["frames"][-1].endswith(" fail")


async def test_what_the_services_raise_becomes_a_problem_with_its_headers(api, client, monkeypatch):
    raised: list[errors.PrivacyRiskError] = []

    async def fail(*args, **kwargs):
        raise raised[-1]

    monkeypatch.setattr(api.services.rules, "list", fail)
    client.event_hooks = {}  # a list has none of these problems, nor does the document say so

    async def answer(error: errors.PrivacyRiskError) -> httpx.Response:
        raised.append(error)
        return await client.get("/v1/rules")

    response = await answer(errors.RateLimited("Too many runs.", 7))
    problem_of(response, 429, "rate-limited")
    assert response.headers["retry-after"] == "7"
    response = await answer(errors.Unavailable("The database does not answer."))
    problem_of(response, 503, "unavailable")
    assert int(response.headers["retry-after"]) > 0
    body = problem_of(await answer(errors.NotSupported("No.", "Do that.")), 422, "not-supported")
    assert body["remedy"] == "Do that."
    body = problem_of(await answer(errors.Conflict("No.", "", {"used_by": ["x"]})), 409, "conflict")
    assert body["details"] == {"used_by": ["x"]}
    error = errors.MemoryLimitExceeded(3 * 1024**3, 1024**3, {"bytes": 3 * 1024**3})
    body = problem_of(await answer(error), 422, "memory-limit")
    assert "3,072 MiB" in body["detail"]
    assert (body["limit"], body["cost"]) == (1024**3, {"bytes": 3 * 1024**3})


async def test_every_type_of_problem_has_its_page(anonymous: httpx.AsyncClient):
    listing = (await anonymous.get("/problems")).text
    for problem in PROBLEM_TYPES:
        page = await anonymous.get(problem.uri)
        assert page.status_code == 200
        assert escape(problem.title) in page.text
        assert problem.uri in listing


def test_every_error_of_the_product_has_a_type_of_problem():
    kinds = [errors.PrivacyRiskError, *errors.PrivacyRiskError.__subclasses__()]
    assert {kind.code for kind in kinds} <= {problem.code for problem in PROBLEM_TYPES}


def test_a_run_that_is_still_at_work_is_waited_for_at_its_address():
    error = NotFinished("run 7 is queued and has no result yet", "wait for the run", {"state": "queued"})
    body = body_of_error(error, "r-1")
    assert "/v1" not in error.remedy
    assert body["remedy"] == "wait for the run: GET /v1/runs/{id} with the header Prefer: wait=20"
    assert (body["status"], body["details"]) == (409, {"state": "queued"})


def test_no_service_and_nothing_of_the_domain_knows_an_address_of_the_interface():
    files = [path for room in ("domain", "services") for path in (ROOT / "app" / room).rglob("*.py")]
    assert len(files) > 100
    assert [path.name for path in files if "/v1/" in path.read_text(encoding="utf-8")] == []

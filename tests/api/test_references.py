"""What a body names and there is not: a fault of the body at its place, whoever else may have it."""

from __future__ import annotations

import httpx
import pytest

from app.api.bodies.references import of_reference
from app.domain.errors import InvalidInput, NotFound
from tests.api.problem_documents import problem_of

LEAST = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 1}
LEVELS = {"kind": "table_level", "levels": {"city": 1}}
COLUMN = {"name": "a", "type": "text", "role": "identifier"}
CLASSES = {"kind": "equivalence_classes"}


@pytest.mark.parametrize(
    ("address", "body", "pointer"),
    [
        ("datasets", {"name": "d", "upload": "@", "attributes": [COLUMN]}, "/upload"),
        ("rules", {"name": "r", "dataset": "@", "rule": LEVELS}, "/dataset"),
        ("rules", {"name": "r", "dataset": "T", "rule": LEVELS | {"kind": "at_least", "rule": "@"}},
         "/rule/rule"),
        ("measurements", {"dataset": "@", "measure": CLASSES}, "/dataset"),
        ("measurements", {"release": "@", "measure": CLASSES}, "/release"),
        ("optimisations", {"name": "@", "dataset": "@", "objective": LEAST}, "/dataset"),
        ("releases", {"name": "r", "dataset": "T", "rule": "@"}, "/rule"),
        ("frontiers", {"name": "f", "dataset": "T", "dictionary": "D1", "sensitivity": "@"}, "/sensitivity"),
        ("frontiers", {"name": "f", "dataset": "T", "dictionary": "D1", "sensitivity": "personal",
                       "failure": "@"}, "/failure"),
        ("dictionary-sets", {"name": "s", "dictionaries": [{"dictionary": "D1"}, {"dictionary": "@"}]},
         "/dictionaries/1/dictionary"),
    ],
)  # fmt: skip
async def test_what_a_body_names_in_vain_is_a_fault_at_its_place(
    fixture: httpx.AsyncClient, address: str, body: dict[str, object], pointer: str
):
    sent = _with(body, "nobody-s")
    problem = problem_of(await fixture.post(f"/v1/{address}", json=sent), 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [(pointer, "unknown-reference")]
    assert "'nobody-s'" in problem["detail"]


async def test_another_tenant_s_resources_are_as_unknown_as_what_never_was(
    fixture: httpx.AsyncClient, other_client: httpx.AsyncClient
):
    known = (await fixture.get("/v1/datasets/T")).json()["id"]
    told = []
    for ref in (known, "T", "0" * 32):
        body = {"name": "mine", "dataset": ref, "rule": LEVELS}
        answer = await other_client.post("/v1/rules", json=body)
        problem = problem_of(answer, 422, "invalid-input") | {"request_id": ""}
        told.append(str(problem).replace(repr(ref), "…"))
        assert (await other_client.get(f"/v1/datasets/{ref}")).status_code == 404
    assert told == told[:1] * 3


async def test_what_the_address_names_in_vain_stays_nothing(fixture: httpx.AsyncClient):
    body = {"dataset": "T", "rule": LEVELS}
    problem_of(await fixture.post("/v1/gates/nobody-s/evaluations", json=body), 404, "not-found")


@pytest.mark.parametrize(
    ("kind", "body", "in_address", "pointer"),
    [
        ("dataset", {"dataset": "x", "rule": "x"}, (), "/dataset"),
        ("rule", {"dataset": "x", "rule": "x"}, (), "/rule"),
        ("sensitivity_profile", {"name": "x", "failure": "x"}, (), "/failure"),
        ("dataset", {"dataset": "x"}, ("x",), "/dataset"),
        ("rule", {"solver": {"a/b": ["y", "x"]}}, (), "/solver/a~1b/1"),
        ("resource", {"name": "x"}, (), ""),
        ("policy", {"dataset": "x"}, ("x",), None),
        ("policy", {"dataset": "y"}, ("p",), None),
    ],
)
def test_the_place_is_where_the_kind_is_named_before_the_address_before_anywhere(
    kind: str, body: dict[str, object], in_address: tuple[str, ...], pointer: str | None
):
    error = of_reference(NotFound(kind, "x"), body, in_address)
    found = [fault.pointer for fault in error.faults] if isinstance(error, InvalidInput) else None
    assert found == (None if pointer is None else [pointer])


def _with(node: object, ref: str) -> object:
    if isinstance(node, dict):
        return {name: _with(inner, ref) for name, inner in node.items()}
    if isinstance(node, list):
        return [_with(inner, ref) for inner in node]
    return ref if node == "@" else node

"""The document: complete, as committed, and no breach of what was released."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.api.openapi import TAGS, made_document
from app.api.routers.answers import PLAN_MEDIA_TYPE, RUN_MEDIA_TYPE
from tests.api.compatibility import breaking_changes
from tests.api.operations import DOCUMENT, answers_of
from tests.words import found

FOLDER = Path(__file__).parents[2] / "openapi"
RELEASED = sorted((FOLDER / "released").glob("*.json"))


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def schemas_of(node: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for field, definition in schema.get("properties", {}).items():
            yield f"{name}.{field}", definition


def test_the_committed_document_is_the_one_that_the_code_makes():
    assert made_document() == DOCUMENT, "run: python -m app openapi --output openapi/openapi.json"


@pytest.mark.parametrize(("path", "method", "operation"), list(operations()))
def test_every_operation_says_what_it_is(path, method, operation):
    assert operation["operationId"]
    assert operation["summary"]
    assert not operation["summary"].endswith(".")
    assert len(operation["description"]) > len(operation["summary"])
    assert len(operation["tags"]) == 1
    assert operation["tags"][0] in {tag["name"] for tag in TAGS}
    if path.startswith("/v1"):
        assert {"401", "403", "422", "500", "503"} <= set(operation["responses"])
        if method == "post":
            assert {"400", "408", "409", "413"} <= set(operation["responses"])
        assert operation["security"]
    for status, answer in answers_of(operation).items():
        if status >= "400":
            assert set(answer["content"]) == {"application/problem+json"}
            assert "$ref" in operation["responses"][status]


@pytest.mark.parametrize(("path", "method", "operation"), list(operations()))
def test_every_operation_has_a_runnable_example(path, method, operation):
    for content in operation.get("requestBody", {}).get("content", {}).values():
        is_binary = content["schema"].get("format") == "binary"
        assert is_binary or content["examples"], operation["operationId"]
    for parameter in operation.get("parameters", ()):
        has_default = not parameter["required"] or "default" in parameter["schema"]
        # The id of a key is random: the journey takes it from the answer that made the key.
        assert has_default or parameter["name"] == "key_id" or parameter["examples"]


def test_an_operation_answers_one_type_whatever_its_success_is_called():
    """Generated clients return the union of these types, whose fields are those that all of them have."""
    for path, method, operation in operations():
        answers = [
            {name: own for name, own in answer.get("content", {}).items() if name != PLAN_MEDIA_TYPE}
            for status, answer in operation["responses"].items()
            # A release is not there before it is drawn: its run is told by a media type of its own.
            if status[0] == "2" and [*answer.get("content", ())] != [RUN_MEDIA_TYPE]
        ]
        assert all(content == answers[0] for content in answers), f"{method} {path}"
        schemas = [content["schema"] for content in answers[0].values()]
        assert not any(schema.keys() & {"anyOf", "oneOf"} for schema in schemas), f"{method} {path}"


def test_the_deprecated_way_to_plan_is_described_as_the_operation_for_plans_is():
    asked = [
        (path, operation)
        for path, method, operation in operations()
        if method == "post" and any(own["name"] == "dry_run" for own in operation.get("parameters", ()))
    ]
    assert len(asked) == 6
    for path, operation in asked:
        plan = DOCUMENT["paths"][f"{path}/plans"]["post"]["responses"]["200"]["content"]["application/json"]
        assert operation["responses"]["200"]["content"][PLAN_MEDIA_TYPE] == plan, path


def test_operation_ids_are_unique():
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))


def test_every_post_takes_an_idempotency_key():
    for _, method, operation in operations():
        names = {parameter["name"] for parameter in operation.get("parameters", ())}
        assert ("Idempotency-Key" in names) == (method == "post")


def test_every_post_says_when_to_come_back_while_its_key_is_held():
    for path, method, operation in operations():
        if method == "post":
            assert "Retry-After" in answers_of(operation)["409"]["headers"], path


def test_every_field_is_described():
    undescribed = [
        place
        for place, definition in schemas_of(DOCUMENT)
        if "description" not in definition and "$ref" not in definition
    ]
    assert undescribed == []


def test_every_field_that_is_sent_is_bounded():
    unbounded = []
    for name, schema in DOCUMENT["components"]["schemas"].items():
        if schema.get("additionalProperties") is not False:
            continue
        for field, definition in schema["properties"].items():
            unbounded += [f"{name}.{field}" for part in _parts(definition) if not _is_bounded(part)]
    assert unbounded == []


def _parts(definition: dict[str, Any]) -> Iterator[dict[str, Any]]:
    members = definition.get("anyOf", [definition])
    for member in members:
        yield member | ({"maxItems": definition["maxItems"]} if "maxItems" in definition else {})


def _is_bounded(part: dict[str, Any]) -> bool:
    if "enum" in part or "const" in part or "$ref" in part or "format" in part or "oneOf" in part:
        return True
    match part.get("type"):
        case "string":
            return "maxLength" in part or "pattern" in part
        case "array":
            return "maxItems" in part
        case "object":
            return "maxProperties" in part
        case "integer" | "number":
            return "minimum" in part or "exclusiveMinimum" in part
    return True


def test_no_client_of_any_released_document_is_broken():
    broken = {path.stem: breaking_changes(json.loads(path.read_text()), DOCUMENT) for path in RELEASED}
    assert not any(broken.values()), broken


def _without_operation(document):
    del document["paths"]["/v1/runs"]["get"]


def _with_required_field(document):
    document["components"]["schemas"]["NewRelease"]["required"].append("neutralise_formulas")


def _without_sent_field(document):
    del document["components"]["schemas"]["NewRelease"]["properties"]["neutralise_formulas"]


def _without_answered_field(document):
    del document["components"]["schemas"]["Release"]["properties"]["classes"]


def _with_optional_answer(document):
    document["components"]["schemas"]["Release"]["required"].remove("classes")


def _with_other_type(document):
    document["components"]["schemas"]["Release"]["properties"]["classes"]["type"] = "string"


def _with_lower_bound(document):
    document["components"]["schemas"]["RecordLevel"]["properties"]["records"]["maxItems"] = 5


def _without_kind(document):
    del document["components"]["schemas"]["NewRule"]["properties"]["rule"]["oneOf"][0]


def _without_parameter(document):
    document["paths"]["/v1/releases"]["get"]["parameters"].clear()


def _with_other_operation_id(document):
    document["paths"]["/v1/releases"]["get"]["operationId"] = "releases"


BREAKS = [
    _without_operation,
    _with_required_field,
    _without_sent_field,
    _without_answered_field,
    _with_optional_answer,
    _with_other_type,
    _with_lower_bound,
    _without_kind,
    _without_parameter,
    _with_other_operation_id,
]


PARTS = {"/v1/releases", "/v1/rules", "/v1/runs"}
PART = DOCUMENT | {"paths": {path: own for path, own in DOCUMENT["paths"].items() if path in PARTS}}
"""The operations that are changed: to compare all ten times takes seconds."""


@pytest.mark.parametrize("change", BREAKS, ids=lambda change: change.__name__.strip("_"))
def test_the_checker_sees_each_kind_of_breaking_change(change):
    changed = copy.deepcopy(PART)
    change(changed)
    assert breaking_changes(PART, changed)


def test_the_checker_sees_no_change_where_there_is_none():
    assert breaking_changes(PART, copy.deepcopy(PART)) == []


def test_the_checker_reads_an_answer_wherever_it_is_written():
    released = copy.deepcopy(PART)
    changed = copy.deepcopy(PART)
    answers = changed["paths"]["/v1/releases"]["get"]["responses"]
    shared = changed["components"]["responses"]
    shared["page"], answers["200"] = answers["200"], {"$ref": "#/components/responses/page"}
    assert breaking_changes(released, changed) == []
    assert breaking_changes(changed, released) == []
    shared["page"] = {**shared["page"], "content": {}}
    assert breaking_changes(released, changed) == ["GET /v1/releases: it no longer answers application/json"]


@pytest.mark.deep
def test_the_checker_lets_additions_pass():
    assert breaking_changes(DOCUMENT, DOCUMENT) == []
    changed = copy.deepcopy(DOCUMENT)
    changed["components"]["schemas"]["Release"]["properties"]["licence"] = {"type": "string"}
    changed["components"]["schemas"]["NewRelease"]["properties"]["licence"] = {"type": "string"}
    changed["paths"]["/v1/licences"] = changed["paths"]["/v1/releases"]
    assert breaking_changes(DOCUMENT, changed) == []


def descriptions(part: Any, key: str = "") -> Iterator[str]:
    """All texts for people of an OpenAPI document: descriptions and summaries."""
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from descriptions(inner, name)
    elif isinstance(part, list):
        for inner in part:
            yield from descriptions(inner, key)
    elif isinstance(part, str) and key in ("description", "summary", "detail", "message", "remedy"):
        yield part


def test_the_api_is_described_in_the_words_of_the_field():
    said = sorted({phrase for text in descriptions(DOCUMENT) for phrase in found(text)})
    assert said == []

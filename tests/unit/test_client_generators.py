"""What generators of clients stumble over is changed in the document, and nothing else is."""

from __future__ import annotations

import jsonschema_rs

from app.api.client_generators import EVENT_STREAM, suit_generators

RESOURCE = {"application/json": {"schema": {"$ref": "#/components/schemas/Resource"}}}


def document(schema=None, responses=None):
    return {
        "paths": {"/r": {"post": {"responses": responses or {}}}},
        "components": {"schemas": {"Resource": schema or {}}, "examples": {}, "responses": {}},
    }


def schema_after(schema):
    changed = document(schema)
    suit_generators(changed)
    return changed["components"]["schemas"]["Resource"]


def responses_after(responses):
    changed = document(responses=responses)
    suit_generators(changed)
    return changed["paths"]["/r"]["post"]["responses"]


def test_defaults_that_generators_cannot_write_are_told_in_words():
    assert schema_after({"description": "How.", "default": {"kind": "identity"}}) == {
        "description": 'How. Default: `{"kind": "identity"}`.'
    }
    assert schema_after({"type": "string", "default": '"'})["description"] == 'Default: `"`.'
    for kept in ({"default": ","}, {"default": None}, {"default": []}, {"default": 3}):
        assert schema_after(dict(kept)) == kept


def test_a_field_may_be_called_as_a_keyword_is():
    properties = {
        "default": {"type": "object"},
        "discriminator": {"type": "string"},
        "examples": {"type": "array"},
    }
    assert schema_after({"properties": dict(properties)}) == {"properties": properties}
    within = {"properties": {"examples": {"default": {"a": 1}}}}
    assert schema_after(within)["properties"]["examples"] == {"description": 'Default: `{"a": 1}`.'}


def test_values_are_no_schemas():
    for keyword in ("example", "examples", "const", "enum"):
        kept = {keyword: [{"default": {"a": 1}, "discriminator": {}}]}
        assert schema_after({keyword: [dict(kept[keyword][0])]}) == kept


def test_a_choice_by_a_field_is_of_objects():
    union = {"oneOf": [{"$ref": "#/a"}], "discriminator": {"propertyName": "kind"}}
    assert schema_after({"oneOf": [{"type": "string"}, dict(union)]}) == {
        "oneOf": [{"type": "string"}, union | {"type": "object"}]
    }


def test_what_was_there_already_has_the_form_of_what_is_created():
    answers = responses_after({"201": {"content": RESOURCE}, "200": {"description": "It was there."}})
    assert answers["200"] == {"description": "It was there.", "content": RESOURCE}
    other = {"text/csv": {"schema": {"type": "string"}}}
    assert responses_after({"201": {"content": RESOURCE}, "200": {"content": other}})["200"] == {
        "content": other
    }


def test_a_schema_of_events_is_true_of_their_text_and_of_each_of_them():
    answers = responses_after({"200": {"content": {EVENT_STREAM: {"itemSchema": {"type": "object"}}}}})
    (stream,) = answers["200"]["content"].values()
    assert "itemSchema" not in stream
    is_valid = jsonschema_rs.Draft202012Validator(stream["schema"]).is_valid
    assert all(is_valid(example["value"]) for example in stream["examples"].values())
    event = {"event": "state", "id": "3", "data": '{"state": "succeeded"}'}
    assert is_valid(event)
    for name in event:
        assert not is_valid({key: own for key, own in event.items() if key != name})
    assert not is_valid(event | {"id": "last"})
    assert not is_valid(event | {"data": {}})


def test_examples_that_nothing_refers_to_are_left_out():
    example = {"$ref": "#/components/examples/used"}
    changed = document(responses={"409": {"content": {"a/b": {"examples": {"used": example}}}}})
    changed["components"]["examples"] = {"used": {"value": 1}, "unused": {"value": 2}}
    suit_generators(changed)
    assert list(changed["components"]["examples"]) == ["used"]

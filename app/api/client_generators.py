"""What generators of clients need of the OpenAPI document and the framework does not write.

Each function changes the document in place. None changes what the service takes or answers.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

EVENT_STREAM: Final = "text/event-stream"

_EVENTS: Final = """\
event: progress
id: 2
data: {"stage": "search", "done": 120, "total": 240, "rate": 60.5, "remaining_seconds": 2.0}

event: state
id: 3
data: {"state": "succeeded", "attempt": 1}

"""

_EVENT: Final = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "id", "data"],
}

_NAMED: Final = ("properties", "patternProperties")
"""Keywords of names, which may be those of other keywords, with a schema each."""
_VALUES: Final = ("example", "examples", "default", "const", "enum", "mapping")


def suit_generators(document: dict[str, Any]) -> None:
    """Make one type of what a status answers, and schemas that every generator reads alike."""
    for schema in list(_schemas(document)):
        _tell_default_in_words(schema)
        _tell_choices_by_pattern(schema)
        if "discriminator" in schema:
            # Some validators look at the kind alone, and would take a text for any of the objects.
            schema["type"] = "object"
    for path in document["paths"].values():
        for operation in path.values():
            _answer_existing_as_created(operation["responses"])
            for answer in operation["responses"].values():
                _describe_stream(answer.get("content", {}))
    _drop_unused_examples(document)


def _schemas(node: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any part of the document
    """All objects of the document that may be schemas: no names of fields, no values."""
    if isinstance(node, list):
        for inner in node:
            yield from _schemas(inner)
    elif isinstance(node, dict):
        yield node
        for key, inner in node.items():
            if key in _NAMED:
                yield from _schemas(list(inner.values()))
            elif key not in _VALUES:
                yield from _schemas(inner)


def _tell_default_in_words(schema: dict[str, Any]) -> None:
    """Generators write defaults as literals of their languages: some cannot, of objects and of quotes."""
    default = schema.get("default")
    if isinstance(default, dict) or (isinstance(default, str) and '"' in default):
        said = default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
        schema["description"] = " ".join(filter(None, [schema.get("description"), f"Default: `{said}`."]))
        del schema["default"]


def _tell_choices_by_pattern(schema: dict[str, Any]) -> None:
    """Generators name a choice after its letters and digits: some break down where two have the same."""
    choices = schema.get("enum", ())
    names = ["".join(filter(str.isalnum, str(own))).lower() for own in choices if str(own)[:1].isalpha()]
    if len(set(names)) < len(names):
        said = ", ".join(f"`{choice}`" for choice in choices)
        schema["description"] = "\n\n".join(filter(None, [schema.get("description"), f"One of {said}."]))
        literal = (str(own).replace(".", "[.]").replace("$", "[$]") for own in choices)
        schema["pattern"] = f"^(?:{'|'.join(literal)})$"
        del schema["enum"]


def _answer_existing_as_created(responses: dict[str, Any]) -> None:
    """A resource that was there already, or is not finished, has the form of a created one."""
    for status in {"200", "202"} & responses.keys() if "201" in responses else ():
        responses[status].setdefault("content", copy.deepcopy(responses["201"]["content"]))


def _describe_stream(content: dict[str, Any]) -> None:
    """OpenAPI 3.1 knows no schema of one event: `itemSchema` came with 3.2.

    Some tools read the schema as that of the whole text, others as that of each event: it is true of both.
    """
    if EVENT_STREAM in content:
        content[EVENT_STREAM] = {
            "schema": {
                "contentMediaType": EVENT_STREAM,
                "description": "Server-sent events: `event` is the kind, `id` its number, `data` an object "
                "as JSON. Lines that begin with a colon keep the connection open.",
                "if": {"type": "object"},
                "then": _EVENT,
            },
            "examples": {"progress and end": {"value": _EVENTS}},
        }


def _drop_unused_examples(document: dict[str, Any]) -> None:
    examples = document["components"]["examples"]
    parts = [document["paths"], document["components"]["responses"]]
    used = {node["$ref"] for node in _nodes(parts) if isinstance(node.get("$ref"), str)}
    for name in [name for name in examples if f"#/components/examples/{name}" not in used]:
        del examples[name]


def _nodes(node: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any part of the document
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(inner)

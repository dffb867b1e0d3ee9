"""Whether an answer of the application is one that its document describes."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from tests.api.operations import DOCUMENT, answers_of

_DOCUMENT = "urn:openapi"
_EVENTS = "text/event-stream"
_NAMED = ("location", "etag", "ratelimit", "ratelimit-policy")


async def check_described(response: httpx.Response) -> None:
    """Fail if the document has the operation and describes no such answer of it: a hook of the client's."""
    request = response.request
    path = _path_of(request.url.path)
    operation = DOCUMENT["paths"].get(path, {}).get(request.method.lower())
    if operation is None:
        return
    place = f"{request.method} {path}: {response.status_code}"
    answer = answers_of(operation).get(str(response.status_code))
    assert answer is not None, f"{place} is not described"
    named = {name.lower() for name in answer.get("headers", {})}
    unnamed = [name for name in _NAMED if name in response.headers and name not in named]
    assert not unnamed or response.is_error, f"{place} has {unnamed}, which are not described"
    content = answer.get("content", {})
    media_type = response.headers.get("content-type", "").partition(";")[0]
    assert media_type in content or (not content and not await response.aread()), (
        f"{place} is described as {[*content]} and is {media_type!r}"
    )
    for value in _values(media_type, await response.aread()):
        fault = next(
            _validator(path, request.method, response.status_code, media_type).iter_errors(value), None
        )
        assert fault is None, f"{place}: {fault}"


@cache
def _path_of(address: str) -> str:
    """The path of the document that takes an address: of several, the one that says most of it."""
    found = [path for path, pattern in _PATTERNS if pattern.fullmatch(address)]
    return max(found, key=lambda path: -path.count("{"), default="")


_PATTERNS = [(path, re.compile(re.sub(r"\{\w+\}", "[^/]+", path))) for path in DOCUMENT["paths"]]


def _values(media_type: str, body: bytes) -> list[Any]:
    """What a schema is about: the JSON of an answer, or each of its events."""
    if media_type.endswith("json"):
        return [json.loads(body)]
    if media_type == _EVENTS:
        told = [own for own in body.decode().replace("\r\n", "\n").split("\n\n") if own.strip()]
        lines = [[line.partition(": ")[::2] for line in own.splitlines() if line[:1] != ":"] for own in told]
        return [dict(own) for own in lines if own]
    return []


@cache
def _validator(path: str, method: str, status: int, media_type: str) -> jsonschema_rs.Validator:
    answer = answers_of(DOCUMENT["paths"][path][method.lower()])[str(status)]
    schema = answer["content"][media_type].get("schema", True)
    return jsonschema_rs.Draft202012Validator(_absolute(schema), registry=_registry())


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_DOCUMENT, DOCUMENT)], draft=jsonschema_rs.Draft202012)


def _absolute(schema: Any) -> Any:
    """The schema, its references told from the document's beginning."""
    if isinstance(schema, list):
        return [_absolute(own) for own in schema]
    if isinstance(schema, dict):
        return {key: _DOCUMENT + own if key == "$ref" else _absolute(own) for key, own in schema.items()}
    return schema

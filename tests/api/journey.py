"""Walks the document as a newcomer walks its page: every operation, every example, in the order shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from app.api.openapi import TAGS
from tests.api.operations import DOCUMENT


@dataclass(frozen=True)
class Step:
    """One example of one operation."""

    method: str
    path: str
    operation: Mapping[str, Any]
    key: str | None

    @property
    def operation_id(self) -> str:
        return str(self.operation["operationId"])

    def _example(self, examples: Mapping[str, Any]) -> Any:
        return examples.get(self.key or "", next(iter(examples.values())))["value"]

    def request(self, client: httpx.AsyncClient, known: Mapping[str, str]) -> httpx.Request:
        """What "Try it out" sends; ``known`` fills parameters that have no example."""
        address, query, headers = self.path, {}, {}
        for parameter in self.operation.get("parameters", ()):
            name = parameter["name"]
            if "examples" in parameter:
                value = self._example(parameter["examples"])
            elif name in known and parameter["required"]:
                value = known[name]
            else:
                continue
            match parameter["in"]:
                case "path":
                    address = address.replace(f"{{{name}}}", value)
                case "query":
                    query[name] = value
                case "header":
                    headers[name] = value
        body, media_type = self._body()
        if media_type:
            headers["Content-Type"] = media_type
        return client.build_request(self.method, address, params=query, headers=headers, **body)

    def _body(self) -> tuple[dict[str, Any], str]:
        content = self.operation.get("requestBody", {}).get("content", {})
        for media_type, described in content.items():
            if "examples" not in described:
                continue
            value = self._example(described["examples"])
            if media_type == "application/json":
                return {"json": value}, ""
            if media_type == "multipart/form-data":
                return {"files": {name: text.encode() for name, text in value.items()}}, ""
            return {"content": value.encode()}, media_type
        return {}, ""


Answers = list[tuple[Step, httpx.Response]]


def steps() -> list[Step]:
    """All steps in the order of the page."""
    sections = {tag["name"]: number for number, tag in enumerate(TAGS)}
    operations = [
        (sections[operation["tags"][0]], operation["x-step"], method.upper(), path, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]
    operations.sort(key=lambda entry: entry[:2])
    return [
        Step(method, path, operation, key)
        for _, _, method, path, operation in operations
        for key in _keys(operation)
    ]


def _keys(operation: Mapping[str, Any]) -> list[str | None]:
    contents = operation.get("requestBody", {}).get("content", {}).values()
    described = [*operation.get("parameters", ()), *contents]
    keys = dict.fromkeys(key for one in described for key in one.get("examples", ()))
    if any("wait" in one.get("examples", ()) for one in described):
        keys.pop("wait")
    return list(keys) or [None]


async def walk(
    api: Any, client: httpx.AsyncClient, before: str | None = None, since: str | None = None
) -> AsyncIterator[tuple[Step, httpx.Response]]:
    """Send every step from the section ``since`` up to the section ``before``, or from and to the ends.

    Runs that begin are worked off before the next step.
    """
    known: dict[str, str] = {}
    sections = [None, *(tag["name"] for tag in TAGS)]
    for step in steps():
        (section,) = step.operation["tags"]
        if sections.index(section) < sections.index(since):
            continue
        if section == before:
            return
        response = await client.send(step.request(client, known))
        if response.status_code == 202:
            await api.work_off(response.json()["id"])
        if step.operation_id == "create_api_key":
            known["key_id"] = response.json()["key"]["id"]
        yield step, response

"""A stub of the service that the gate's command asks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx

from app.evidence.verification import PAGE_MARK
from tests.unit.cli.verdict_documents import PASS, evidence_of

POLICY = """\
format: privacy-risk/policy/1
name: public-release
version: 2
dictionaries: [{name: register, description: the register}]
schema: {attributes: {id: identifier, city: quasi_identifier}}
criteria: []
"""


TABLES = """\
[dataset]
name = "members"
file = "other.csv"
identifier = "id"
delimiter = ","
[dataset.attributes.city]
hierarchy = "city.csv"
weight = 0.3
[dictionary]
name = "census"
file = "census.csv"
[dictionary.links.city]
column = "zip"
lookup = { file = "zip-city.csv", key = "zip", value = "city" }
"""


def stub_page(sha256: str) -> str:
    """A page that says it was made from the evidence of this hash."""
    return f'<meta name="{PAGE_MARK}" content="{sha256}">'


class Stub:
    """Answers of the service; ``sent`` are the bodies by method and path, ``names`` those of uploads."""

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}
        self.uploads: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.answers: dict[str, httpx.Response | BaseException] = {}
        self.result: Any = PASS
        self.is_large = False
        self.evidence: Any = {"id": "e-1"}
        self.outline: list[Any] = []
        self.page: Callable[[str], str] = stub_page
        self.envelope: Callable[[str], bytes] = lambda name: evidence_of(self.result, name)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1")
        content, is_json = request.read(), request.headers.get("content-type") == "application/json"
        body = json.loads(content) if is_json else {}
        key = f"{request.method} {path}"
        if path == "/uploads":
            self.uploads[request.url.params["name"]] = (content, dict(request.url.params))
        self.sent[key] = dict(request.url.params) | body
        answer = self.answers.get(key)
        if isinstance(answer, BaseException):
            raise answer
        if answer is not None:
            return answer
        if path.endswith("/evidence"):
            name = path.split("/")[-2].removeprefix("id-")
            return httpx.Response(200, content=self.envelope(name))
        if path.endswith("/report"):
            name = path.split("/")[-2].removeprefix("id-")
            return httpx.Response(200, html=self.page(hashlib.sha256(self.envelope(name)).hexdigest()))
        if path.endswith("/events"):
            data = json.dumps({"stage": "criteria", "done": 1, "total": 2})
            return httpx.Response(200, content=f"id: 1\nevent: progress\ndata: {data}\n\n".encode())
        name = self.sent[key].get("name", path.rsplit("/", 1)[-1].removeprefix("id-"))
        made = {"id": f"id-{name}", "name": name, "sha256": "0", "state": "succeeded", "attempt": 1}
        if path.startswith("/policies/"):
            made |= {"document": {"outline": self.outline}}
        if "evaluations" in path:
            evidence = {"id": "e-1", "sha256": hashlib.sha256(self.envelope(name)).hexdigest()}
            made |= {"result": self.result, "evidence": self.evidence and evidence | self.evidence}
        if key == ASKED and self.is_large:
            queued = {"id": "run-1", "state": "queued", "attempt": 0}
            return httpx.Response(202, json=made | {"result": None, "evidence": None, "run": queued})
        return httpx.Response(201, json=made)


ASKED = "POST /gates/public-release@2/evaluations"

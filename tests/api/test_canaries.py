"""Cells, names of columns and labels are in no log, metric, error, queue, file or argument."""

from __future__ import annotations

import logging
import re
import tempfile
from typing import Any

import psutil
import psycopg
import pytest
import yaml
from prometheus_client import generate_latest
from psycopg import sql

from app.api.examples.gates import REVOCATIONS
from app.services.resources import Kind
from tests.api.canaries import Canaries, answered, fill
from tests.api.operations import OPERATIONS

pytestmark = pytest.mark.anyio

IN_CLEAR = {
    ("resources", "summary"): "names of columns, which lists show; gone with the resource",
}
"""Where the database may hold a canary in clear, and which."""

SAID_IN_LISTS: dict[str, Any] = {
    "/v1/sensitivity-profiles": lambda sent: (sent.get("unit"),),
    "/v1/policies": lambda sent: (sent["title"], sent["assumes"]["attacker"]),
    "/v1/policies/yaml": lambda sent: (sent["title"], sent["assumes"]["attacker"]),
    "/v1/waivers": lambda sent: (sent["reason"], sent["approved_by"]),
}
"""The only texts of examples that the database holds in clear, for lists show them; none is of a table.

So it is with the reasons why verdicts were revoked.
"""

OF_NO_UPLOAD = {
    Kind.HIERARCHY, Kind.MECHANISM_AUDIT, Kind.POLICY, Kind.VIEW_CHECK, Kind.WAIVER,
}  # fmt: skip
"""Kinds of which no example rests on an upload."""

OWN = {
    "datasets": "people", "hierarchies": "places", "uploads": "people", "rules": "hiding",
    "measurements": "at-once", "releases": "shown",
}  # fmt: skip
"""Collection → what was made there."""


@pytest.fixture
def canaries() -> Canaries:
    return Canaries()


@pytest.fixture
async def filled(api, client, canaries, caplog, tmp_path, monkeypatch):
    """A client whose tenant's data are canaries; whatever is logged or written to temporary files is kept."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    await answered(client, "POST", "/v1/webhooks", json=_example("create_webhook"))
    await fill(api, client, canaries)
    return client


def _example(operation_id):
    (body,) = [
        own["requestBody"]["content"]["application/json"]["examples"]
        for _, _, own in OPERATIONS
        if own["operationId"] == operation_id
    ]
    return next(iter(body.values()))["value"]


def _of(found, value):
    """A body with this in the place of every text but names of resources, which are kept in clear."""
    if isinstance(found, dict):
        return {key: own if key == "name" else _of(own, value) for key, own in found.items()}
    if isinstance(found, list):
        return [_of(own, value) for own in found]
    return value if isinstance(found, str) else found


def _requests(canaries):
    """Every operation about what was made, as its example has it, and with canaries for whatever it takes."""
    for method, path, operation in OPERATIONS:
        ref = OWN.get(path.split("/")[2], "people")
        address = path.replace("{ref}", ref).replace("{key_id}", ref).replace("{policy}", ref)
        content = operation.get("requestBody", {}).get("content", {})
        examples = content.get("application/json", {}).get("examples", {})
        body = next((own["value"] for own in examples.values()), None)
        if method == "DELETE" or address == "/v1/example-data":
            continue
        yield method, address, {"json": body} if body is not None else {}, False
        if method == "GET":
            yield method, address, {"params": {"name": canaries.cells[0], canaries.column: "1"}}, True
        else:
            yield method, address, {"json": _of(body, canaries.cells[1])}, True


BAD_TABLES = (
    "id,{column}\np1,{cell}\np2,{cell},{cell}\n",
    'id,{column}\np1,"{cell}\n',
    "{column},{column}\n{cell},{cell}\n",
)


@pytest.mark.deep
async def test_nothing_that_is_kept_beside_the_data_tells_of_them(
    api, filled, canaries, caplog, tmp_path, database_urls
):
    for number, table in enumerate(BAD_TABLES):
        text = table.format(column=canaries.column, cell=canaries.cells[0])
        refused = await filled.post("/v1/uploads", params={"name": f"bad-{number}"}, content=text.encode())
        assert refused.status_code == 422
        assert not _held(refused.text, canaries.cells)
    unknown = {"kind": "rows", "rows": [[canaries.cells[0], "all"]]}
    await answered(filled, "POST", "/v1/hierarchies", json={"name": "too-small", "definition": unknown})
    dataset = (await filled.get("/v1/datasets/people")).json()
    attributes = [{**own, "hierarchy": "too-small"} for own in _declared(dataset) if "hierarchy" in own]
    told = await filled.post(
        "/v1/datasets", json={"name": "lacking", "upload": "people", "attributes": attributes}
    )
    assert not _held(told.text, canaries.cells[1:])
    statuses = set()
    for method, address, what, sends_canaries in _requests(canaries):
        response = await filled.request(method, address, **what)
        statuses.add(response.status_code)
        if response.status_code >= 400 and not sends_canaries:  # errors name columns, and what was sent
            assert not _held(response.text, [*canaries.cells, canaries.label]), (method, address)
    assert statuses >= {200, 201, 404, 422}
    assert 500 not in statuses
    # The client of the tests logs the addresses that it asks.
    logged = [own.getMessage() for own in caplog.records if not own.name.startswith(("httpx", "httpcore"))]
    for kept in (api.log.getvalue(), "\n".join(logged), generate_latest(api.metrics).decode()):
        assert kept
        assert not _held(kept, canaries.all)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    process = psutil.Process()
    for one in (process, *process.children(recursive=True)):
        assert not _held(" ".join(one.cmdline()), canaries.all)
    found = _in_clear(database_urls.admin, canaries.all)
    assert found == {place: {canaries.column} for place in IN_CLEAR}


def _declared(dataset):
    keys = ("name", "type", "role", "hierarchy")
    return [{key: own[key] for key in keys if own.get(key) is not None} for own in dataset["attributes"]]


def _held(text, canaries):
    return {canary for canary in canaries if canary in text}


def _in_clear(url, canaries):
    """Table and column → which of these stand there to be read, the queue's tables included."""
    query = """
        SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type IN ('text', 'json', 'jsonb', 'character varying', 'ARRAY')
    """
    found = {}
    with psycopg.connect(url) as connection:
        for table, column in connection.execute(query).fetchall():
            statement = sql.SQL("SELECT string_agg({}::text, ' ') FROM {}").format(
                sql.Identifier(column), sql.Identifier(table)
            )
            (text,) = connection.execute(statement).fetchone()
            if held := _held(text or "", canaries):
                found[table, column] = held
    return found


def test_after_all_examples_no_cell_key_query_or_text_of_theirs_stands_beside_what_is_sealed(
    postgres, journeys_end
):
    """Every operation's, in the database and in what is logged and counted."""
    texts = {text for _, _, operation in OPERATIONS for text in _texts_of(operation)}
    assert {"m-08", "Gary", "1975-05-10", "West Lafayette", "p-001", "income < 100000"} <= texts
    assert len(texts) > 100
    assert any("SELECT" in text for text in texts)
    in_lists = {
        text
        for _, path, operation in OPERATIONS
        if path in SAID_IN_LISTS
        for sent in _documents_of(operation)
        for text in SAID_IN_LISTS[path](sent)
    }
    found = _in_clear(postgres.urls(journeys_end.database).admin, texts)
    reasons = {own["value"]["reason"] for own in REVOCATIONS.values()}
    assert found == {("resources", "summary"): in_lists & texts, ("revocations", "reason"): reasons}
    assert "create" in journeys_end.told
    assert not _held(journeys_end.told, texts)


def test_after_all_examples_all_that_rests_on_an_upload_is_sealed_by_the_key_of_one(postgres, journeys_end):
    """Of every kind, results included: what an upload's key does not open outlives its erasure."""
    resting = """
        WITH RECURSIVE resting AS (
            SELECT id FROM resources WHERE kind = 'upload'
            UNION SELECT u.user_id FROM resource_uses u JOIN resting r ON u.used_id = r.id
        ), own AS (SELECT r.* FROM resources r JOIN resting USING (id))
    """
    resources = "SELECT kind, sealed_by IN (SELECT id FROM own WHERE kind = 'upload') FROM own"
    results = """
        SELECT own.kind, s.sealed_by IN (SELECT id FROM own WHERE kind = 'upload')
        FROM results s LEFT JOIN runs u ON u.result_id = s.id
        JOIN own ON own.id = u.resource_id OR own.sha256 = s.input_sha256
    """
    with psycopg.connect(postgres.urls(journeys_end.database).admin) as connection:
        sealed = connection.execute(f"{resting} {resources}").fetchall()
        answered = connection.execute(f"{resting} {results}").fetchall()
    assert {kind for kind, _ in sealed} == set(Kind) - OF_NO_UPLOAD
    assert {kind for kind, _ in answered} >= {"assessment", "frontier", "measurement", "optimisation"}
    assert {kind for kind, is_sealed in [*sealed, *answered] if not is_sealed} == set()


def _texts_of(operation):
    """What the operation's examples send: cells of tables, and texts that no name or word can be."""
    described = operation.get("requestBody", {}).get("content", {}).get("text/csv", {})
    for example in described.get("examples", {}).values():
        _, *rows = example["value"].splitlines()
        cells = (cell for row in rows for cell in re.split("[,;]", row))
        yield from (cell for cell in cells if len(cell) > 3 and not cell.isdigit())  # digits stand in hashes
    for document in _documents_of(operation):
        yield from (text for text in _strings(document) if " " in text)


def _documents_of(operation):
    """The documents in JSON and YAML among the operation's examples."""
    for media_type, described in operation.get("requestBody", {}).get("content", {}).items():
        if media_type.endswith(("/json", "/yaml")):
            for example in described.get("examples", {}).values():
                body = example["value"]
                yield yaml.safe_load(body) if isinstance(body, str) else body


def _strings(found):
    """All values of a document that are texts."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict | list):
        for value in found.values() if isinstance(found, dict) else found:
            yield from _strings(value)

"""Cells, names of columns and labels are in no log, metric, error, queue, file or argument."""

from __future__ import annotations

import logging
import tempfile

import psutil
import psycopg
import pytest
from prometheus_client import generate_latest
from psycopg import sql

from tests.api.canaries import Canaries, answered, fill
from tests.api.operations import OPERATIONS

pytestmark = [pytest.mark.anyio, pytest.mark.deep]

IN_CLEAR = {
    ("resources", "summary"): "names of columns, which lists show; gone with the resource",
}
"""Where the database may hold a canary in clear, and which."""

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
    assert _in_clear(database_urls.admin, canaries) == {place: {canaries.column} for place in IN_CLEAR}


def _declared(dataset):
    keys = ("name", "type", "role", "hierarchy")
    return [{key: own[key] for key in keys if own.get(key) is not None} for own in dataset["attributes"]]


def _held(text, canaries):
    return {canary for canary in canaries if canary in text}


def _in_clear(url, canaries):
    """Table and column → the canaries that stand there to be read, the queue's tables included."""
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
            if held := _held(text or "", canaries.all):
                found[table, column] = held
    return found

"""A database of each earlier revision, with data of its time, is upgraded and answers as it did.

Its rows are made by this version, and brought to what the revision has: its tables and columns alone,
documents under the tenant's key, addresses of webhooks and hashes of tables in clear.
"""

from __future__ import annotations

import secrets
from importlib.resources import files

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey, place, seal, unseal
from app.persistence.migration import head_revision, migrate
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.persistence.tables import metadata
from app.services.datasets.ingest.table_hash import TableHash
from tests.api.canaries import Canaries, answered, fill
from tests.api.prepared import prepared
from tests.api.service import build_api
from tests.conftest import FixedClock

pytestmark = [pytest.mark.anyio, pytest.mark.deep]

REVISIONS = sorted(
    own.name[:4] for own in (files("migrations") / "versions").iterdir() if own.name[0].isdigit()
)
WEBHOOK = {"name": "told", "url": "https://receiver.example/", "events": ["run.succeeded"]}
SPENT = "town,illness\n" + "Rome,flu\nBari,gout\n" * 40
SINCE = {
    "evidence": "0004", "assessments/old-score/evidence": "0004", "signing-keys": "0004",
    "webhooks": "0005", "webhooks/told": "0005", "releases/drawn": "0010", "releases/drawn/data": "0010",
    "budgets": "0012", "budgets/all": "0011", "releases/noised": "0011",
    "datasets/spent/budget": "0012", "datasets/again/budget": "0012",
}  # fmt: skip
"""Address → the revision that began to store what it shows."""
ADDRESSES = (
    "uploads", "uploads/people/preview", "hierarchies", "hierarchies/places/tree", "datasets",
    "datasets/people", "datasets/people/profile", "datasets/people/preview", "dictionaries/old-census",
    "rules/hiding", "sensitivity-profiles/old-harm", "assessments/old-score", "assessments/old-score/records",
    "measurements/at-once", "measurements/by-run", "releases/shown", "releases/shown/data", "audit-events",
    *SINCE,
)  # fmt: skip


async def private_release(client):
    """Of a table with a budget, which another file is the same table of: the release is then erased."""
    for name, text in (("spent", SPENT), ("again", SPENT.replace("Rome", '"Rome"'))):
        once = {"Idempotency-Key": secrets.token_hex(8)}
        content = text.encode()
        await answered(client, "POST", "/v1/uploads", params={"name": name}, content=content, headers=once)
        columns = {"town": "quasi_identifier", "illness": "sensitive"}
        attributes = [{"name": own, "type": "categorical", "role": role} for own, role in columns.items()]
        dataset = {"name": name, "upload": name, "attributes": attributes}
        await answered(client, "POST", "/v1/datasets", json=dataset)
    budget = {"name": "small", "dataset": "spent", "epsilon": "1.5", "delta": "0.01"}
    await answered(client, "POST", "/v1/budgets", json=budget)
    mechanism = {"kind": "stability_histogram", "epsilon": 1, "delta": 1e-4, "least_records": 20}
    release = {"name": "noised", "dataset": "spent", "mechanism": mechanism}
    await answered(client, "POST", "/v1/releases", json=release)


@pytest.fixture(scope="module")
def master_key():
    return MasterKey.generate()


@pytest.fixture(scope="module")
def filled(postgres, master_key):
    """A database at the newest revision in which a tenant has something of every kind."""

    async def go(api, client):
        await answered(client, "POST", "/v1/webhooks", json=WEBHOOK)
        await fill(api, client, Canaries())
        await answered(client, "POST", "/v1/example-data", json={"prefix": "old", "members": 60})
        score = {
            "name": "old-score", "dataset": "old-members", "rule": "old-proposal",
            "dictionary": "old-census", "sensitivity": "old-harm",
        }  # fmt: skip
        await answered(client, "POST", "/v1/assessments", json=score)
        await answered(client, "GET", "/v1/assessments/old-score/evidence")
        drawn = {"name": "drawn", "dataset": "people", "mechanism": {"kind": "perturbation", "beta": 2}}
        await answered(client, "POST", "/v1/releases", json=drawn)
        await private_release(client)
        budget = {"name": "all", "dataset": "people", "epsilon": "2", "delta": "0.00001"}
        await answered(client, "POST", "/v1/budgets", json=budget)

    yield from prepared(postgres, master_key, go)


@pytest.fixture(scope="module")
def before_any(postgres):
    """A database that no migration has touched."""
    name = postgres.clone()
    migrate(postgres.urls(name).owner, "base")
    yield name
    postgres.drop(name)


def copy_rows(source, target, left_out):
    """Copy what the target has tables and columns for; for each table what is left out of it."""
    query = """
        SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'
    """
    with psycopg.connect(source) as old, psycopg.connect(target) as new:
        there = set(new.execute(query).fetchall())
        for table in metadata.sorted_tables:
            columns = [own.name for own in table.columns if (table.name, own.name) in there]
            if not columns:
                continue
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            rows = sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT").format(
                names, sql.Identifier(table.name), sql.SQL(left_out.get(table.name, "true"))
            )
            into = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table.name), names)
            with old.cursor().copy(rows) as reading, new.cursor().copy(into) as writing:
                for data in reading:
                    writing.write(data)


def put_under_the_tenants_key(url, master_key):
    """As before documents were encrypted under the keys of uploads."""
    with psycopg.connect(url) as connection:
        keys = {
            (tenant, key_id): master_key.unwrap(wrapped, str(tenant), key_id)
            for tenant, key_id, wrapped in connection.execute(
                "SELECT tenant_id, id, wrapped_key FROM data_keys"
            )
        }
        for table, kind in (("resources", "kind"), ("results", "'result'")):
            query = f"SELECT tenant_id, id, {kind}, document, sealed_by FROM {table} WHERE sealed_by <> ''"
            for tenant, own_id, named, document, key_id in connection.execute(query).fetchall():
                where = place(str(tenant), named, own_id, 0)
                packed = unseal(keys[tenant, key_id], document, where)
                sealed = seal(keys[tenant, "documents"], packed, where)
                connection.execute(
                    f"UPDATE {table} SET document = %s, sealed_by = NULL WHERE id = %s", [sealed, own_id]
                )


def keep_hashes_as_before(url):
    """Of tables of which a private release is made: of their cells in their order, in clear."""
    names, *rows = (line.split(",") for line in SPENT.splitlines())
    cells = TableHash(names)
    cells.add(pa.table([list(own) for own in zip(*rows, strict=True)], names))
    contents = """
        SELECT tenant_id, summary ->> 'content_sha256' FROM resources
        WHERE kind = 'upload' AND name IN ('spent', 'again')
    """
    with psycopg.connect(url) as connection:
        for tenant, content in connection.execute(contents).fetchall():
            connection.execute("DELETE FROM read_contents WHERE content_sha256 = %s", [content])
            connection.execute(
                "INSERT INTO read_contents VALUES (%s, %s, %s, false)", [tenant, content, cells.hexdigest()]
            )


@pytest.fixture
def of_revision(postgres, filled, before_any, master_key):
    """Makes a database at a revision, with the rows that it would have."""
    made = []

    def make(revision):
        source, target = postgres.clone(filled.database), postgres.clone(before_any)
        made.extend((source, target))
        urls = postgres.urls(target)
        migrate(urls.owner, revision)
        left_out = {}
        if revision < "0010":  # nothing could be drawn
            drawn = "NOT IN (SELECT id FROM draws)"
            left_out = {"resources": f"id {drawn}", "resource_uses": f"user_id {drawn}"}
            left_out["data_keys"] = f"id {drawn}"
        if revision < "0014":
            put_under_the_tenants_key(postgres.urls(source).admin, master_key)
        if revision < "0016":
            keep_hashes_as_before(postgres.urls(source).admin)
        if revision < "0009":
            with psycopg.connect(postgres.urls(source).admin) as connection:
                connection.execute("UPDATE webhooks SET url = %s, address = NULL", [WEBHOOK["url"]])
        copy_rows(postgres.urls(source).admin, urls.admin, left_out)
        return urls

    yield make
    for name in made:
        postgres.drop(name)


def declared_records(url):
    """What draws keep of the size that is declared of their table."""
    with psycopg.connect(url) as connection:
        return {size for (size,) in connection.execute("SELECT least_records FROM draws")}


async def answers(urls, master_key, token, revision):
    """Address → what it answers, of what the revision could store."""
    engine, clock = create_engine(urls.runtime), FixedClock()
    try:
        store, registry = (kind(engine, master_key, clock) for kind in (PostgresStore, PostgresRegistry))
        await registry.encrypt_webhook_addresses()
        await registry.put_table_hashes_under_keys()
        async with build_api(store, registry, clock).client(token) as client:
            found = {}
            for address in ADDRESSES:
                if SINCE.get(address, "0001") <= revision:
                    response = await client.get(f"/v1/{address}")
                    assert response.status_code == 200, (address, response.text)
                    found[address] = response.content
            if revision >= SINCE["datasets/again/budget"]:
                await _has_no_fresh_budget(client)
            return found, await _goes_on(client)
    finally:
        await engine.dispose()


async def _has_no_fresh_budget(client):
    """The table with the budget in a file that was never here."""
    content = SPENT.replace("Bari", '"Bari"').encode()
    await answered(client, "POST", "/v1/uploads", params={"name": "other-file"}, content=content)
    attributes = [
        {"name": own, "type": "categorical", "role": "quasi_identifier"} for own in ("town", "illness")
    ]
    dataset = {"name": "other-file", "upload": "other-file", "attributes": attributes}
    await answered(client, "POST", "/v1/datasets", json=dataset)
    ledger = await answered(client, "GET", "/v1/datasets/other-file/budget")
    assert (ledger["budget"], ledger["epsilon"]["spent"]) == ("small", "1")
    for address in ("datasets/other-file", "uploads/other-file"):
        await answered(client, "DELETE", f"/v1/{address}")


async def _goes_on(client):
    """What is asked anew of the old data, and whether the audit chain is whole; then all is deleted."""
    question = {"name": "new", "dataset": "people", "rule": "hiding", "measure": {"kind": "beta_likeness"}}
    (made,) = [(await answered(client, "POST", "/v1/measurements", json=question))["result"]]
    for address in ("measurements/new", "measurements/at-once", "measurements/by-run", "releases/shown"):
        await answered(client, "DELETE", f"/v1/{address}")
    chain = await answered(client, "GET", "/v1/audit-events/verification")
    return made, chain["first_broken"]


async def test_every_revision_is_upgraded_with_its_data(of_revision, postgres, filled, master_key):
    assert REVISIONS[-1] == head_revision()
    now = postgres.clone(filled.database)
    expected, goes_on = await answers(postgres.urls(now), master_key, filled.token, head_revision())
    assert set(expected) == set(ADDRESSES)
    assert goes_on[1] is None, "the audit chain is whole"
    for revision in REVISIONS:
        urls = of_revision(revision)
        migrate(urls.owner)
        if revision >= "0010":
            assert declared_records(urls.admin) == {None, 20}, revision
        found, then = await answers(urls, master_key, filled.token, revision)
        assert then == goes_on, revision
        for address, content in found.items():
            assert content == expected[address], (revision, address)
    postgres.drop(now)

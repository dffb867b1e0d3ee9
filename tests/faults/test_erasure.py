"""What was erased is in no file of the database after purge: neither a value nor a key that opens one."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager

import psycopg

from app.composition import upkeep
from app.composition.database import utc_now
from app.persistence.addresses import create_engine
from app.persistence.embedded import start_embedded
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.settings import Settings
from tests.api.canaries import Canaries, answered, fill
from tests.api.service import build_api


@asynccontextmanager
async def service_of(running):
    """The API on the embedded database, and a client of its one tenant."""
    engine = create_engine(running.runtime_url)
    try:
        store, registry = (
            kind(engine, running.master_key, utc_now) for kind in (PostgresStore, PostgresRegistry)
        )
        api = build_api(store, registry, utc_now)
        _, token = await api.tenant_with_key()
        async with api.client(token) as client:
            yield api, client
    finally:
        await engine.dispose()


ERASED = (
    "releases/shown", "measurements/by-run", "measurements/at-once", "rules/hiding", "datasets/people",
    "hierarchies/places", "uploads/people",
)  # fmt: skip


def contents(folder):
    """The bytes of every file of the database's folder, its log included."""
    found = {}
    for path in folder.rglob("*"):
        try:
            if path.is_file() and "programs" not in path.parts:
                found[path] = path.read_bytes()
        except FileNotFoundError:  # the server removes files while it runs
            continue
    return found


def where(folder, texts):
    files = contents(folder)
    return {text: [path.name for path, content in files.items() if text in content] for text in texts}


def keys_of_uploads(running):
    with psycopg.connect(running.superuser_url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        connection.execute("CHECKPOINT")
        query = "SELECT wrapped_key, purpose FROM data_keys"
        return dict(connection.execute(query).fetchall())


def test_after_erasure_and_purge_no_file_holds_a_value_or_its_key(short_folder):
    home, canaries = short_folder / secrets.token_hex(4), Canaries()
    texts = [canary.encode() for canary in canaries.all]

    async def use(running):
        async with service_of(running) as (api, client):
            await fill(api, client, canaries)
            keys = keys_of_uploads(running)
            for address in ERASED:
                await answered(client, "DELETE", f"/v1/{address}")
            return keys

    with start_embedded(home) as running:
        keys = asyncio.run(use(running))
        erased = [key for key, purpose in keys.items() if purpose == "upload"]
        (kept,) = [key for key, purpose in keys.items() if purpose == "documents"]
        assert len(erased) == 1
        before = where(home / "postgres", [*texts, *erased])
        # The search finds what is there: names of columns in summaries, and the key, in tables and log.
        assert before.pop(canaries.column.encode())
        assert len(before.pop(erased[0])) >= 2
        assert not any(before.values()), before
    assert upkeep.purge(Settings(home=home, database_url=None, owner_database_url=None)) == ()
    with start_embedded(home) as running:
        found = where(home / "postgres", [*texts, *erased, kept])
        assert found.pop(kept)
        assert not any(found.values()), found

"""A disk that is really full under the embedded database: said so, read on, and mended by making room."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from prometheus_client import CollectorRegistry

from app.composition.database import Database, utc_now
from app.composition.serving import application
from app.domain.errors import Unavailable
from app.persistence import embedded_server
from app.persistence.addresses import create_engine
from app.persistence.embedded import EmbeddedPostgres, start_embedded
from app.persistence.full_disk import full_disk
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.access.tenants import TenantService
from app.settings import Settings
from tests.faults.small_disk import fill, mounted
from tests.processes import until

pytestmark = pytest.mark.anyio

SMALL = b"name,age\nAda,36\nBob,41\n"
_NAMES = secrets.token_hex(16 * 100_000).encode()
LARGE = b"name,age\n" + b"".join(b"%s,%d\n" % (_NAMES[32 * n : 32 * n + 32], n) for n in range(100_000))
"""Some 4 MiB of which hardly anything can be compressed away."""


@pytest.fixture
def disk(short_folder: Path) -> Iterator[Path]:
    """A disk of 120 MB."""
    try:
        with mounted(short_folder / secrets.token_hex(4), "120m") as folder:
            yield folder
    finally:
        full_disk.forget()


async def administrator(postgres: EmbeddedPostgres) -> str:
    engine = create_engine(postgres.runtime_url, connections=2)
    try:
        store = PostgresStore(engine, postgres.master_key, utc_now)
        registry = PostgresRegistry(engine, postgres.master_key, utc_now)
        made = await TenantService(store, registry, utc_now).bootstrap("acme", new_key=False)
        assert made.first_key is not None
        return made.first_key.token
    finally:
        await engine.dispose()


@asynccontextmanager
async def served(postgres: EmbeddedPostgres, folder: Path | None) -> AsyncIterator[httpx.AsyncClient]:
    key = await administrator(postgres)
    database = Database(postgres.runtime_url, postgres.master_key, 0, folder)
    async with (
        application(Settings(), database, CollectorRegistry()) as app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://service", timeout=60,
            headers={"Authorization": f"Bearer {key}"},
        ) as client,
    ):  # fmt: skip
        yield client


async def send(client: httpx.AsyncClient, content: bytes) -> httpx.Response:
    name = {"name": secrets.token_hex(4), "format": "csv"}
    return await client.post("/v1/uploads", params=name, content=content)


def stored(postgres: EmbeddedPostgres) -> dict[str, int]:
    """How many keys and pieces of uploads there are, of all tenants."""
    with psycopg.connect(postgres.owner_url, options="-c app.maintenance=on") as connection:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("data_keys", "upload_pieces", "resources")
        }


@pytest.mark.parametrize("is_seen", [True, False], ids=["disk-is-seen", "database-says-so"])
async def test_a_full_disk_is_named_and_reading_goes_on(
    disk: Path, is_seen: bool, caplog: pytest.LogCaptureFixture
):
    with start_embedded(disk / "home") as postgres:
        async with served(postgres, disk if is_seen else None) as client:
            kept = (await send(client, SMALL)).raise_for_status().json()
            before = stored(postgres)
            ready = (await client.get("/readyz")).raise_for_status().json()
            assert ready["checks"] == {"database": True, "disk": True, "migrations": True}

            ballast = fill(disk)
            caplog.set_level(logging.ERROR)
            for _ in range(2):
                refused = await send(client, LARGE)
                assert refused.status_code == 503, refused.text
                assert refused.json()["type"] == "/problems/unavailable"
                assert "disk of the database is full" in refused.json()["detail"]
                assert "makes room" in refused.json()["remedy"]
                assert stored(postgres) == before
            unready = await client.get("/readyz")
            assert unready.status_code == 503
            assert unready.json()["detail"] == "Not ready: disk."
            assert caplog.text.count("disk of the database is full") == 1
            read = (await client.get(f"/v1/uploads/{kept['id']}")).raise_for_status().json()
            assert read == kept

            ballast.unlink()
            assert (await send(client, LARGE)).status_code == 201
            assert (await client.get("/readyz")).status_code == 200
            after = stored(postgres)
            assert after["data_keys"] == before["data_keys"] + 1
            assert after["resources"] == before["resources"] + 1
            assert (await client.get(f"/v1/uploads/{kept['id']}")).json() == kept


async def test_a_server_that_stopped_for_want_of_room_comes_back_with_all_data(
    disk: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its write-ahead log cannot grow any more: it ends at once, and does not start before there is room."""
    with start_embedded(disk / "home") as postgres:
        async with served(postgres, disk) as client:
            kept = (await send(client, SMALL)).raise_for_status().json()
            ballast = fill(disk)
            with psycopg.connect(postgres.owner_url, autocommit=True) as connection:
                log_grows = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))"
                with pytest.raises(psycopg.OperationalError):
                    connection.execute(f"{log_grows} FROM generate_series(1, 100)")
            until(lambda: not postgres._server.is_running())
            monkeypatch.setattr(embedded_server, "_START_SECONDS", 2.0)
            with pytest.raises(Unavailable, match=r"disk .* is full"):
                postgres.ensure_running()
            unready = await client.get("/readyz")
            assert unready.json()["detail"] == "Not ready: database, disk, migrations."

            ballast.unlink()
            monkeypatch.undo()
            assert postgres.ensure_running()
            (await client.get("/readyz")).raise_for_status()
            assert (await client.get(f"/v1/uploads/{kept['id']}")).json() == kept
            assert (await send(client, LARGE)).status_code == 201

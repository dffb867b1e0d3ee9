"""A service that is killed in the middle of an upload leaves a key that works again, and no pieces."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from app.persistence.encryption import MasterKey
from app.services.datasets.ingest.pieces import ROWS_PER_PIECE
from app.services.leases import KEY_LEASE, UPLOAD_LEASE
from tests.api.service import build_api
from tests.conftest import DatabaseUrls
from tests.faults.conftest import ROOT
from tests.processes import HANG_SECONDS, held_port

pytestmark = pytest.mark.anyio

HALF = b"a,b\n" + b"1,2\n" * (2 * ROWS_PER_PIECE)
TABLE = b"a,b\n1,2\n3,4\n"
NAMED = "/v1/uploads?name=members"


@pytest.fixture
def serving(database_urls: DatabaseUrls, master_key: MasterKey, tmp_path: Path) -> Iterator[Service]:
    environment = os.environ | {
        "DATABASE_URL": database_urls.runtime,
        "PRIVACY_RISK_HOME": str(tmp_path),
        "PRIVACY_RISK_MASTER_KEY": master_key.to_text(),
    }
    with held_port() as port:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve", "--port", str(port)], cwd=ROOT, env=environment
        )
        try:
            yield Service(process, port)
        finally:
            process.kill()
            process.wait()


class Service:
    """The API as a process of its own, on the test's database."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.port = port
        self._process = process
        self._until(lambda: httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).is_success)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _until(self, answers) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            try:
                if answers():
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the service has not come up")


def one(database_urls: DatabaseUrls, query: str) -> tuple:
    with psycopg.connect(database_urls.admin) as connection:
        return connection.execute(query).fetchone()


def let_time_pass(database_urls: DatabaseUrls, seconds: float) -> None:
    """As if the database's clock had gone on so far."""
    with psycopg.connect(database_urls.admin) as connection:
        for table, column in (("idempotency_keys", "lease_until"), ("data_keys", "touched_at")):
            connection.execute(
                f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)", [seconds]
            )


async def test_after_a_kill_in_the_middle_of_an_upload_its_key_works_again_and_no_piece_remains(
    serving: Service, store, registry, clock, database_urls
):
    api = build_api(store, registry, clock)
    _, token = await api.tenant_with_key()
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "once"}
    sent = {"Host": "x", "Content-Type": "text/csv", "Content-Length": str(10 * len(HALF)), **headers}
    begin = f"POST {NAMED} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with socket.create_connection(("127.0.0.1", serving.port)) as upload:
        upload.sendall(begin.encode() + b"\r\n" + HALF)
        deadline = time.monotonic() + HANG_SECONDS
        while one(database_urls, "SELECT count(*) FROM upload_pieces") == (0,):
            assert time.monotonic() < deadline, "no piece was written"
            await asyncio.sleep(0.02)
        serving.kill()
    (left,) = one(
        database_urls, "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM idempotency_keys"
    )
    assert 0 < left <= KEY_LEASE.seconds < 10, "the key is held by a lease that nobody renews"
    # Nor does it end before the next request is looked at, however long that takes.
    let_time_pass(database_urls, -HANG_SECONDS)

    async with api.client(token) as client:
        waiting = await client.post(NAMED, content=TABLE, headers=headers)
        assert waiting.status_code == 409
        let_time_pass(database_urls, int(waiting.headers["retry-after"]))
        made = await client.post(NAMED, content=TABLE, headers=headers)
        assert made.status_code == 201, made.text
        assert (await client.post(NAMED, content=TABLE, headers=headers)).json() == made.json()

    assert one(database_urls, "SELECT count(DISTINCT upload_id) FROM upload_pieces") == (2,)
    let_time_pass(database_urls, UPLOAD_LEASE.seconds)
    assert await registry.discard_stale_uploads(UPLOAD_LEASE.seconds) == 1
    kept = "SELECT id FROM resources WHERE kind = 'upload'"
    assert one(database_urls, f"SELECT count(*) FROM upload_pieces WHERE upload_id <> ({kept})") == (0,)
    assert one(database_urls, "SELECT count(*) FROM data_keys WHERE purpose = 'upload'") == (1,)
    assert one(database_urls, "SELECT count(*) FROM idempotency_keys WHERE reply IS NULL") == (0,)

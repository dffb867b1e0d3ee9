"""Keepers of retention that are killed in the middle leave nothing half removed, and others go on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import psycopg
import pytest

from tests.faults.conftest import ROOT
from tests.processes import HANG_SECONDS

pytestmark = [pytest.mark.anyio, pytest.mark.deep]

RUNS, UPLOADS = 200, 30

OLD = "now() - interval '400 days'"


def fill(connection, tenant):
    """Runs whose results are past every retention, and uploads that nothing has used for as long."""
    for statement in (
        "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
        f" SELECT %s, 'o' || n, 'optimisation', 'o' || n, 'h' || n, '{{}}', '', {OLD}"
        f" FROM generate_series(1, {RUNS}) n",
        "INSERT INTO results (tenant_id, id, kind, input_sha256, document, created_at)"
        f" SELECT %s, 'x' || n, 'optimisation', 'h' || n, '', {OLD} FROM generate_series(1, {RUNS}) n",
        "INSERT INTO runs (tenant_id, id, resource_id, state, input_sha256, estimate, result_id, attempt,"
        " created_at, finished_at)"
        f" SELECT %s, 'r' || n, 'o' || n, 'succeeded', 'h' || n, '{{}}', 'x' || n, 1, {OLD}, {OLD}"
        f" FROM generate_series(1, {RUNS}) n",
        "INSERT INTO data_keys (tenant_id, id, purpose, wrapped_key, master_key_id, touched_at)"
        f" SELECT %s, 'u' || n, 'upload', '', '', {OLD} FROM generate_series(1, {UPLOADS}) n",
        "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
        f" SELECT %s, 'u' || n, 'upload', 'u' || n, 'h' || n, '{{}}', '', {OLD}"
        f" FROM generate_series(1, {UPLOADS}) n",
        "INSERT INTO upload_pieces SELECT %s, 'u' || n, 0, 1, 'h', 'piece'"
        f" FROM generate_series(1, {UPLOADS}) n",
    ):
        connection.execute(statement, [tenant])
    connection.commit()


def told(connection, tenant, action):
    query = "SELECT count(*), count(DISTINCT subject) FROM audit_events WHERE tenant_id = %s AND action = %s"
    return connection.execute(query, [tenant, action]).fetchone()


def left(connection, tenant):
    """What there is, after checking that each thing is there whole or gone with its audit event."""
    connection.rollback()
    count = "SELECT count(*) FROM {} WHERE tenant_id = %s"
    number = {
        what: connection.execute(count.format(what), [tenant]).fetchone()[0]
        for what in ("results", "upload_pieces", "runs", "resources")
    }
    query = "SELECT count(*) FROM runs WHERE tenant_id = %s AND state = 'expired' AND result_id IS NULL"
    expired = connection.execute(query, [tenant]).fetchone()[0]
    query = "SELECT count(*) FROM data_keys WHERE tenant_id = %s AND purpose = 'upload'"
    keys = connection.execute(query, [tenant]).fetchone()[0]
    assert number["runs"] == RUNS
    assert number["results"] == RUNS - expired
    assert told(connection, tenant, "run.expire") == (expired, expired)
    assert number["resources"] - RUNS == number["upload_pieces"] == keys
    assert told(connection, tenant, "upload.expire") == (UPLOADS - keys, UPLOADS - keys)
    return RUNS - expired, keys


async def test_killed_keepers_leave_nothing_half_removed(store, tenant, database_urls, master_key):
    def start():
        command = [sys.executable, "-m", "tests.faults.keeper_process"]
        return subprocess.Popen([*command, database_urls.runtime, master_key.to_text()], cwd=ROOT)

    with psycopg.connect(database_urls.admin) as connection:
        # Each look sees one moment.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        fill(connection, tenant)
        keepers = [start(), start()]
        try:
            begun = time.monotonic()
            while left(connection, tenant) == (RUNS, UPLOADS):
                assert time.monotonic() - begun < HANG_SECONDS
                await asyncio.sleep(0.05)
            for keeper in keepers:
                keeper.kill()
        finally:
            for keeper in keepers:
                keeper.kill()
                keeper.wait()
        assert left(connection, tenant) != (0, 0), "too late to disturb anything"
        assert start().wait(HANG_SECONDS) == 0
        assert left(connection, tenant) == (0, 0)
    async with store.work(tenant) as work:
        assert (await work.audit.verify()).first_broken is None

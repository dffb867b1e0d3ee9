"""What stands in the tables, whoever looks: the proof that nothing was half-written."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg

TABLES = ("resources", "resource_uses", "upload_pieces", "runs", "run_events", "results")


def rows_of_tables(connection: psycopg.Connection) -> dict[str, int]:
    """How many rows each table has, seen by the superuser."""
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    row = connection.execute(f"SELECT {counts}").fetchone()
    return dict(zip(TABLES, row, strict=True))


async def made(client: httpx.AsyncClient, path: str, body: Any, **more: Any) -> None:
    answer = await client.post(f"/v1/{path}", json=body, **more)
    assert answer.status_code == 201, answer.text

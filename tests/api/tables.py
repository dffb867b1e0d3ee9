"""What stands in the tables, whoever looks: the proof that nothing was half-written."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg

TABLES = ("resources", "resource_uses", "upload_pieces", "runs", "run_events", "results")


def rows_of_tables(url: str) -> dict[str, int]:
    """How many rows each table has, seen by the superuser."""
    with psycopg.connect(url) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


async def made(client: httpx.AsyncClient, path: str, body: Any, **more: Any) -> None:
    answer = await client.post(f"/v1/{path}", json=body, **more)
    assert answer.status_code == 201, answer.text

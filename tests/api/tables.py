"""What stands in the tables, whoever looks: the proof that nothing was half-written."""

from __future__ import annotations

import psycopg

TABLES = ("resources", "resource_uses", "upload_pieces", "runs", "run_events", "results")


def rows_of_tables(url: str) -> dict[str, int]:
    """How many rows each table has, seen by the superuser."""
    with psycopg.connect(url) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}

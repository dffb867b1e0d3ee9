"""An audit chain of 100,000 events verified, read from PostgreSQL."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from psycopg.types.json import Json

from app.persistence.addresses import create_engine
from app.persistence.embedded import EmbeddedPostgres, start_embedded
from app.persistence.records import CHAIN_START, event_hash, first_broken_event
from app.persistence.transactions import tenant_transaction
from app.services.resources import TenantId
from tests.benchmarks.row import Report, Row

EVENTS = 100_000
BAR_SECONDS = 5.0
TIMES = 3
TENANT = TenantId("0a5c1f6e-2f0e-4d0e-9b0e-2f6e0a5c1f6e")
START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def rows(data: Path | None, report: Report) -> None:
    """Measure a whole chain, and one whose middle event was changed."""
    with tempfile.TemporaryDirectory(prefix="pr-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        with start_embedded(Path(folder) / "home", is_kept=False) as running:
            _fill(running)
            broken, seconds, processor = _verified(running)
            _change(running, EVENTS // 2)
            found, *_ = _verified(running)
    report(
        Row(
            work=f"an audit chain of {EVENTS:,} events verified",
            bar=f"≤ {BAR_SECONDS:.0f} s",
            bar_seconds=BAR_SECONDS,
            ours_seconds=seconds,
            counters={"events_per_second": EVENTS / seconds, "processor_seconds": processor},
            same_result=(broken, found) == (None, EVENTS // 2),
            detail="median of three; PostgreSQL and the reader share the machine",
        )
    )


def _fill(running: EmbeddedPostgres) -> None:
    previous = CHAIN_START
    with psycopg.connect(running.superuser_url) as connection:
        connection.execute("INSERT INTO tenants (id, name, created_at) VALUES (%s, 'x', now())", [TENANT])
        with connection.cursor().copy("COPY audit_events FROM STDIN") as copy:
            for number in range(1, EVENTS + 1):
                event = {
                    "number": number, "key_id": "5" * 32, "action": "assessment.create",
                    "subject": f"{number:032x}", "details": {"sha256": f"{number:064x}"},
                    "at": START + timedelta(seconds=number),
                }  # fmt: skip
                digest = event_hash(TENANT, event, previous)
                event["details"] = Json(event["details"])
                copy.write_row([TENANT, *event.values(), previous, digest])
                previous = digest
        connection.execute("INSERT INTO audit_heads VALUES (%s, %s, %s)", [TENANT, EVENTS, previous])


def _change(running: EmbeddedPostgres, number: int) -> None:
    with psycopg.connect(running.superuser_url) as connection:
        connection.execute("UPDATE audit_events SET subject = 'other' WHERE number = %s", [number])


def _verified(running: EmbeddedPostgres) -> tuple[int | None, float, float]:
    """What is found, and medians: of the seconds, and of the reader's processor time in them."""

    async def verify() -> tuple[int | None, float, float]:
        engine = create_engine(running.runtime_url, connections=2)
        seconds: list[float] = []
        processor: list[float] = []
        try:
            for _ in range(TIMES):
                async with tenant_transaction(engine, TENANT) as transaction:
                    since, used = time.perf_counter(), time.process_time()
                    found = await first_broken_event(transaction)
                    seconds.append(time.perf_counter() - since)
                    processor.append(time.process_time() - used)
        finally:
            await engine.dispose()
        return found, statistics.median(seconds), statistics.median(processor)

    return asyncio.run(verify())

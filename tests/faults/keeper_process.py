"""Keeps to all tenants' retention once: ``python -m tests.faults.keeper_process URL MASTER_KEY``."""

from __future__ import annotations

import asyncio
import sys

from app.composition.database import utc_now
from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.workers.retention import RetentionKeeper


async def main(url: str, key_text: str) -> None:
    engine = create_engine(url)
    registry = PostgresRegistry(engine, MasterKey.from_text(key_text), utc_now)
    await RetentionKeeper(registry).go_round(asyncio.Event())
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))

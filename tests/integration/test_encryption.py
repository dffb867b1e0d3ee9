"""What is at rest cannot be read without the master key, and is bound to its place."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.errors import Unavailable
from app.persistence.doctor import refuse_unsafe
from app.persistence.encryption import MasterKey, place, seal, unseal
from app.persistence.key_rotation import rotate_master_key
from app.persistence.store import PostgresStore
from app.services.resources import Kind
from tests.integration.population import populate, resource

pytestmark = pytest.mark.anyio


async def write(store, tenant, canary):
    """Write the canary wherever cell values may go."""
    async with store.work(tenant) as work:
        await work.pieces.stage("a" * 32, 0, 1, canary.encode() * 50)
        await work.pieces.publish("a" * 32, resource(Kind.UPLOAD, "canary"))
        stored, _ = await work.resources.add(
            resource(Kind.ASSESSMENT, "canary", document={"records": [canary] * 50})
        )
        run = await work.runs.create(stored, "9" * 64, {})
        await work.results.save("records", "8" * 64, {"cells": [canary] * 50}, stored.id)
        await work.commit()
    return run


async def test_a_cell_value_is_in_no_file_of_the_database_folder(
    store, registry, tenant, postgres, database_urls
):
    if postgres.data is None:
        pytest.skip("the server at TEST_DATABASE_URL keeps its files elsewhere")
    canary, control = f"canary-{secrets.token_hex(12)}", f"control-{secrets.token_hex(12)}"
    run = await write(store, tenant, canary)
    claim = await registry.claim(run.id, "worker", 15)
    async with store.work(tenant) as work:
        await work.runs.save_block(claim, 0, canary.encode() * 50)
        await work.commit()
    async with store.work(tenant) as work:
        # A name is no cell value and not encrypted: if the search does not find it, it proves nothing.
        await work.resources.add(resource(Kind.RULE, control))
        await work.commit()
    with psycopg.connect(database_urls.admin, autocommit=True) as superuser:
        superuser.execute("CHECKPOINT")
    files = [
        path for path in postgres.data.parent.rglob("*") if path.is_file() and "programs" not in path.parts
    ]
    found = {text: [path for path in files if text.encode() in _content(path)] for text in (canary, control)}
    assert found[canary] == []
    assert any("pg_wal" in path.parts for path in found[control])
    assert any("base" in path.parts for path in found[control])


def _content(path: Path) -> bytes:
    # The server removes files of its own while it runs, those of dropped databases for one.
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_a_ciphertext_opens_only_with_its_key_at_its_place():
    key, other = secrets.token_bytes(32), secrets.token_bytes(32)
    sealed = seal(key, b"cells", place("tenant", "piece", "upload", 1))
    assert unseal(key, sealed, place("tenant", "piece", "upload", 1)) == b"cells"
    altered = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for wrong_key, wrong_text, wrong_place in (
        (other, sealed, place("tenant", "piece", "upload", 1)),
        (key, altered, place("tenant", "piece", "upload", 1)),
        (key, sealed, place("tenant", "piece", "upload", 2)),
        (key, sealed, place("tenant", "piece", "upload,1")),
        (key, b"", place("tenant", "piece", "upload", 1)),
    ):
        with pytest.raises(Unavailable):
            unseal(wrong_key, wrong_text, wrong_place)


@pytest.mark.parametrize("text", ["", "x", base64.b64encode(b"short").decode(), "ä" * 44])
def test_what_is_no_master_key_is_refused(text):
    with pytest.raises(ValueError, match="32 bytes"):
        MasterKey.from_text(text)


def test_a_master_key_is_not_shown():
    key = MasterKey.generate()
    assert key.to_text() not in repr(key)
    assert repr(key.secret) not in repr(key)
    assert MasterKey.from_text(key.to_text() + "\n") == key


async def test_rotating_the_master_key_rewraps_everything_and_changes_no_data(
    postgres, registry, store, tenant, master_key, engine: AsyncEngine, database_urls, clock
):
    made = await populate(store, registry, tenant)
    new = MasterKey.generate()
    async with store.work(tenant) as work:
        secret = await work.pieces.secret(made.resources[Kind.UPLOAD], "order")
    try:
        assert rotate_master_key(database_urls.owner, master_key, new) >= 4
        assert rotate_master_key(database_urls.owner, master_key, new) == 0
        await refuse_unsafe(engine, new)
        with pytest.raises(Unavailable, match=master_key.id):
            await refuse_unsafe(engine, master_key)
        with pytest.raises(Unavailable, match="neither"):
            rotate_master_key(database_urls.owner, MasterKey.generate(), MasterKey.generate())
        async with PostgresStore(engine, new, clock).work(tenant) as work:
            assert await work.runs.result(made.finished_run) == {"risk": 0.5}
            (public,) = await work.signing_keys.list()
            signer = await work.signing_keys.signer()
            Ed25519PublicKey.from_public_bytes(public.raw).verify(signer.sign(b"message"), b"message")
            pieces = [piece async for piece in work.pieces.read(made.resources[Kind.UPLOAD])]
            assert await work.pieces.secret(made.resources[Kind.UPLOAD], "order") == secret
        assert pieces == [b"piece zero"]
        async with PostgresStore(engine, master_key, clock).work(tenant) as work:
            with pytest.raises(Unavailable):
                await work.runs.result(made.finished_run)
            with pytest.raises(Unavailable):
                await work.signing_keys.signer()
    finally:
        rotate_master_key(database_urls.owner, new, master_key)

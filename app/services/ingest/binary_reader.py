"""Reads Parquet and Arrow through a child process with a memory limit; answers tables of text."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc

import app
from app.domain.errors import Fault, InvalidInput, PrivacyRiskError, TooLarge
from app.services.ingest import faults
from app.services.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.ingest.parsing_child import END, FAULT, TABLE
from app.services.ingest.spool import EncryptedSpool

CHILD_MEMORY_BYTES: Final = 1024**3
_MAX_FRAME: Final = CHILD_MEMORY_BYTES


async def read_parquet(
    body: AsyncIterator[bytes], dialect: Dialect, limits: UploadLimits
) -> AsyncGenerator[pa.Table]:
    """Spool the body (its footer comes last), then parse it; the first table has no rows, only columns."""
    spool = EncryptedSpool()
    try:
        async for data in body:
            await asyncio.to_thread(spool.write, data)
        await asyncio.to_thread(spool.finish)
        if spool.size == 0:
            raise faults.empty_file()
        job = {
            **_job(UploadFormat.PARQUET, dialect, limits),
            "fileno": spool.fileno(),
            "key": base64.b64encode(spool.key).decode(),
            "size": spool.size,
        }
        async with aclosing(_parse(job, None, (spool.fileno(),))) as tables:
            async for table in tables:
                yield table
    finally:
        spool.close()


async def read_arrow(
    body: AsyncIterator[bytes], dialect: Dialect, limits: UploadLimits
) -> AsyncGenerator[pa.Table]:
    """Parse the stream while it arrives; the first table has no rows, only columns."""
    async with aclosing(_parse(_job(UploadFormat.ARROW, dialect, limits), body, ())) as tables:
        async for table in tables:
            yield table


def _job(format: UploadFormat, dialect: Dialect, limits: UploadLimits) -> dict[str, Any]:
    return {
        "format": format.value,
        "trim": dialect.trim,
        "missing": dialect.missing,
        "max_rows": limits.max_rows,
        "max_columns": limits.max_columns,
        "max_memory_bytes": CHILD_MEMORY_BYTES,
    }


async def _parse(
    job: dict[str, Any], body: AsyncIterator[bytes] | None, descriptors: tuple[int, ...]
) -> AsyncGenerator[pa.Table]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "app.services.ingest.parsing_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=descriptors,
        env=_environment(),
    )
    feeding = asyncio.create_task(_feed(child, job, body))
    try:
        async for table in _tables(child, job):
            yield table
        await feeding
    except PrivacyRiskError:
        # A body that broke a limit or broke off looks damaged to the child, but its own error is the cause.
        if feeding.done() and (cause := feeding.exception()) is not None:
            raise cause from None
        raise
    finally:
        feeding.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await feeding
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def _environment() -> dict[str, str]:
    """Where the code is and nothing more: the child of a hostile file is given no secret to find."""
    return {
        "PYTHONPATH": str(Path(app.__file__).parent.parent),
        "PATH": os.defpath,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }


async def _feed(
    child: asyncio.subprocess.Process, job: dict[str, Any], body: AsyncIterator[bytes] | None
) -> None:
    pipe = child.stdin
    if pipe is None:
        return
    try:
        pipe.write(json.dumps(job).encode() + b"\n")
        await pipe.drain()
        if body is not None:
            async for data in body:
                pipe.write(data)
                await pipe.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # the child has said why it stopped
    finally:
        pipe.close()


async def _tables(child: asyncio.subprocess.Process, job: dict[str, Any]) -> AsyncIterator[pa.Table]:
    pipe = child.stdout
    if pipe is None:
        return
    while True:
        try:
            head = await pipe.readexactly(5)
            length = int.from_bytes(head[1:], "big")
            if length > _MAX_FRAME:
                raise faults.needs_too_much_memory(job["max_memory_bytes"])
            content = await pipe.readexactly(length)
        except asyncio.IncompleteReadError:
            # Only a child that was killed, or ran out of memory beyond recovery, leaves without a word.
            raise faults.needs_too_much_memory(job["max_memory_bytes"]) from None
        kind = head[:1]
        if kind == END:
            return
        if kind == FAULT:
            raise _fault(json.loads(content))
        if kind == TABLE:
            yield pyarrow.ipc.open_stream(content).read_all()


def _fault(body: dict[str, Any]) -> InvalidInput | TooLarge:
    if "too_large" in body:
        return TooLarge(body["too_large"], body["remedy"], body["limit"])
    return InvalidInput([Fault(**fault) for fault in body["faults"]])

"""Reads Parquet, Arrow and workbooks through a child process with limits of memory and processor time."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc

import app
from app.domain.errors import Fault, InvalidInput, PrivacyRiskError, TooCostly, TooLarge
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.parsing_child import END, FAULT, HEAD, TABLE
from app.services.datasets.ingest.processor_budget import ProcessorBudget
from app.services.datasets.ingest.spool import EncryptedSpool

_MAX_FRAME: Final = 64 * 1024**2
"""Frames hold about 2 MiB, or one row: what is larger is not from a child in its right mind."""

_MOST_REMARKS: Final = 10
_LONGEST_REMARK: Final = 2000


@dataclass
class Remarks:
    """What was found out: a workbook's sheet, an index without a name, what is doubtful or left aside."""

    sheet: str | None = None
    index: str | None = None
    notes: tuple[str, ...] = ()

    def take(self, content: bytes, format: UploadFormat) -> None:
        """Read what a child says, which is checked as its tables are."""
        try:
            said = json.loads(content)
            sheet, notes = said.get("sheet"), said.get("notes", [])
        except (ValueError, AttributeError):
            raise faults.damaged(format.value) from None
        texts = [*([] if sheet is None else [sheet]), *(notes if isinstance(notes, list) else [None])]
        if len(texts) > _MOST_REMARKS or any(
            not isinstance(text, str) or len(text) > _LONGEST_REMARK for text in texts
        ):
            raise faults.damaged(format.value)
        self.sheet, self.notes = sheet, tuple(notes)


async def read_spooled(
    body: AsyncIterator[bytes],
    format: UploadFormat,
    dialect: Dialect,
    limits: UploadLimits,
    budget: ProcessorBudget,
    remarks: Remarks,
) -> AsyncGenerator[bytes]:
    """Spool the body (what is needed first comes last), then parse it; yields frames for ``text_table``."""
    spool = EncryptedSpool()
    try:
        async for data in body:
            await asyncio.to_thread(spool.write, data)
        await asyncio.to_thread(spool.finish)
        if spool.size == 0:
            raise faults.empty_file()
        job = {
            **_job(format, dialect, limits),
            "fileno": spool.fileno(),
            "key": base64.b64encode(spool.key).decode(),
            "size": spool.size,
        }
        async with aclosing(_parse(job, None, (spool.fileno(),), limits, budget, remarks)) as frames:
            async for frame in frames:
                yield frame
    finally:
        spool.close()


async def read_arrow(
    body: AsyncIterator[bytes], dialect: Dialect, limits: UploadLimits, budget: ProcessorBudget
) -> AsyncGenerator[bytes]:
    """Parse the stream while it arrives; yields frames for ``text_table``."""
    job = _job(UploadFormat.ARROW, dialect, limits)
    async with aclosing(_parse(job, body, (), limits, budget, Remarks())) as frames:
        async for frame in frames:
            yield frame


def text_table(frame: bytes, format: UploadFormat) -> pa.Table:
    """The table of text columns in a frame, the first of which has no rows, only columns.

    A child that a hostile file took over could send anything, so the frame is checked in full.
    """
    try:
        table = pyarrow.ipc.open_stream(frame).read_all()
        table.validate(full=True)
        if any(column.type != pa.string() for column in table.columns):
            raise faults.damaged(format.value)
    except (pa.ArrowException, OSError, ValueError):
        raise faults.damaged(format.value) from None
    return table


def _job(format: UploadFormat, dialect: Dialect, limits: UploadLimits) -> dict[str, Any]:
    return {
        "format": format.value,
        "dialect": asdict(dialect),
        "limits": asdict(limits),
    }


async def _parse(
    job: dict[str, Any],
    body: AsyncIterator[bytes] | None,
    descriptors: tuple[int, ...],
    limits: UploadLimits,
    budget: ProcessorBudget,
    remarks: Remarks,
) -> AsyncGenerator[bytes]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "app.services.datasets.ingest.parsing_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=descriptors,
        # Where the code is and nothing more: the child of a hostile file is given no secret to find.
        env={
            "PYTHONPATH": str(Path(app.__file__).parent.parent),
            "PATH": os.defpath,
            "ARROW_DEFAULT_MEMORY_POOL": "system",
        },
    )
    feeding = asyncio.create_task(_feed(child, job, body))
    try:
        async for kind, frame in _frames(child, limits, budget):
            if kind == TABLE:
                yield frame
            else:
                remarks.take(frame, UploadFormat(job["format"]))
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
        # Waiting alone would never end while what the child had written is not read.
        await child.communicate()
        # A child that ended before it had read everything broke the pipe: no later request is to be told so.
        if child.stdin is not None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                await child.stdin.wait_closed()


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


async def _frames(
    child: asyncio.subprocess.Process, limits: UploadLimits, budget: ProcessorBudget
) -> AsyncIterator[tuple[bytes, bytes]]:
    """The tables and, last, the end with its remarks."""
    pipe = child.stdout
    if pipe is None:
        return
    while True:
        try:
            kind, spent_ms, length = HEAD.unpack(await pipe.readexactly(HEAD.size))
            if length > _MAX_FRAME:
                raise faults.too_many("bytes in one row", _MAX_FRAME)
            content = await pipe.readexactly(length)
        except asyncio.IncompleteReadError:
            # Only a child that was killed, or ran out of memory beyond recovery, leaves without a word.
            if await child.wait() == -signal.SIGXCPU:
                raise budget.exceeded() from None
            raise faults.needs_too_much_memory(limits.child_bytes_for(budget.received)) from None
        budget.spent_by_child = spent_ms / 1000
        if kind == END:
            yield kind, content
            return
        if kind == FAULT:
            raise _fault(json.loads(content))
        if kind == TABLE:
            yield kind, content


def _fault(body: dict[str, Any]) -> InvalidInput | TooLarge:
    if "limit" in body:
        kind = TooCostly if body["code"] == TooCostly.code else TooLarge
        return kind(body["message"], body["remedy"], body["limit"])
    return InvalidInput([Fault(**{**fault, "choices": tuple(fault["choices"])}) for fault in body["faults"]])

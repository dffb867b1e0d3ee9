"""Builds a large hierarchy in a process of its own: within this one it would hold up all other requests.

``python -m app.services.hierarchy_child`` reads one line of JSON with the job and then the CSV form from
standard input. It answers one line of JSON, the summary or the fault, and behind a summary the document as
it is stored. Few steps of the work take long by themselves, but serialising and collecting garbage do, and
threads do not run beside those.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import json
import os
import resource
import signal
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import app
from app.domain.errors import Fault, InvalidInput, TooLarge
from app.evidence.canonical import canonical_json
from app.services.hierarchy_resources import csv_resource
from app.services.ingest import faults
from app.services.ingest.dialect import UploadLimits
from app.services.resources import Kind, NewResource

LARGE_CHARACTERS: Final = 128 * 1024
"""Texts above this are built in a child: below it no step takes more than a few milliseconds."""

_LIMITS: Final = UploadLimits()
_MEMORY_BYTES: Final = 1024**3


LARGE_ROWS: Final = 5_000
"""The same for rows that came as JSON."""


def csv_form(rows: Sequence[Sequence[str]]) -> str:
    """The rows as text that ``built_by_child`` takes, between semicolons."""
    text = io.StringIO("\ufeff", newline="")  # so that none is taken from the first label
    text.seek(1)
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


async def built_by_child(name: str, text: str, delimiter: str, *, doubts: bool = True) -> NewResource:
    """The same as ``csv_resource``, by a child that is ended with whoever waits for it."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "app.services.hierarchy_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": str(Path(app.__file__).parent.parent), "PATH": os.defpath},
    )
    content = await asyncio.to_thread(text.encode)
    job = {"name": name, "delimiter": delimiter, "doubts": doubts}
    try:
        answer, _ = await child.communicate(json.dumps(job).encode() + b"\n" + content)
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.communicate()
    head, _, packed = answer.partition(b"\n")
    if child.returncode == -signal.SIGXCPU:
        raise faults.too_costly(_LIMITS.processor_seconds_for(len(content)), len(content))
    if not head:
        raise faults.needs_too_much_memory(_MEMORY_BYTES)
    return _resource(name, json.loads(head), packed)


def _resource(name: str, said: dict[str, Any], packed: bytes) -> NewResource:
    if "faults" in said:
        raise InvalidInput([Fault(**fault) for fault in said["faults"]])
    if "limit" in said:
        raise TooLarge(said["message"], said["remedy"], said["limit"])
    return NewResource(Kind.HIERARCHY, name, said["sha256"], said["summary"], {}, packed=packed)


def main() -> None:
    """Do the job on standard input."""
    job = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read()
    seconds = int(_LIMITS.processor_seconds_for(len(content))) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    packed = b""
    said: dict[str, Any]
    try:
        new = csv_resource(job["name"], content.decode(), job["delimiter"], doubts=job["doubts"])
        packed = zlib.compress(canonical_json(new.document), 1)
        said = {"sha256": new.sha256, "summary": new.summary}
    except InvalidInput as error:
        said = {"faults": [vars(fault) for fault in error.faults]}
    except TooLarge as error:
        said = {"message": error.message, "remedy": error.remedy, "limit": error.limit}
    except MemoryError:
        return
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + packed)


if __name__ == "__main__":
    main()

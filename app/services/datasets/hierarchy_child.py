"""Builds a large hierarchy in a process of its own: within this one it would hold up all other requests.

``python -m app.services.datasets.hierarchy_child`` reads one line of JSON with the job from standard input,
then the CSV form or the lines of a definition. It answers one line of JSON, the summary or the fault, and
behind a summary the document as it is stored. Few steps of the work take long by themselves, but serialising
and collecting garbage do, and threads do not run beside those.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import app
from app.domain.errors import Fault, InvalidInput, TooLarge
from app.domain.hierarchies.hierarchy_definitions import HierarchyDefinition
from app.evidence.canonical import canonical_json
from app.services.datasets.hierarchy_building import build, csv_resource, hierarchy_resource
from app.services.datasets.hierarchy_transport import labels_of, read, written
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.resources import Kind, NewResource

LARGE_CHARACTERS: Final = 128 * 1024
"""Texts above this are built in a child: below it no step takes more than a few milliseconds."""

_LIMITS: Final = UploadLimits()
_MEMORY_BYTES: Final = 1024**3
_NICENESS: Final = 5
"""Where processors are scarce, those who ask the service come first."""


LARGE_LABELS: Final = 10_000
"""The same for definitions: labels that they name or make."""

_BYTES_PER_LABEL: Final = 4
"""What a label counts for where a definition makes more of them than it names."""


async def built_by_child(name: str, text: str, delimiter: str) -> NewResource:
    """The same as ``csv_resource``, by a child that is ended with whoever waits for it."""
    content = await asyncio.to_thread(text.encode)
    job = {"name": name, "delimiter": delimiter}
    return await _answered(job, [content], len(content))


async def defined_by_child(
    name: str, definition: HierarchyDefinition, column: Mapping[str, int] | None
) -> NewResource:
    """The resource that a definition makes, by such a child; ``column`` as for ``build``."""
    parts = await asyncio.to_thread(lambda: list(written(definition, column)))
    labels = await asyncio.to_thread(labels_of, definition, column)
    return await _answered({"name": name}, parts, max(sum(map(len, parts)), _BYTES_PER_LABEL * labels))


async def _answered(job: dict[str, Any], parts: list[bytes], size: int) -> NewResource:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "app.services.datasets.hierarchy_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": str(Path(app.__file__).parent.parent), "PATH": os.defpath},
    )
    head = json.dumps(job | {"size": size}).encode() + b"\n"
    try:
        answer, _ = await child.communicate(b"".join([head, *parts]))
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.communicate()
    head, _, packed = answer.partition(b"\n")
    if child.returncode == -signal.SIGXCPU:
        raise faults.too_costly(_LIMITS.processor_seconds_for(size), size)
    if not head:
        raise faults.needs_too_much_memory(_MEMORY_BYTES)
    return _resource(str(job["name"]), json.loads(head), packed)


def _resource(name: str, said: dict[str, Any], packed: bytes) -> NewResource:
    if "faults" in said:
        raise InvalidInput([Fault(**fault) for fault in said["faults"]])
    if "limit" in said:
        raise TooLarge(said["message"], said["remedy"], said["limit"])
    return NewResource(Kind.HIERARCHY, name, said["sha256"], said["summary"], {}, packed=packed)


def _built(job: dict[str, Any]) -> NewResource:
    if "delimiter" in job:
        text = sys.stdin.buffer.read().decode()
        return csv_resource(job["name"], text, job["delimiter"])
    definition, column = read(sys.stdin.buffer)
    return hierarchy_resource(job["name"], definition, build(definition, column))


def main() -> None:
    """Do the job on standard input."""
    os.nice(_NICENESS)
    gc.disable()  # nothing here has cycles, and looking for them is a quarter of the work
    job = json.loads(sys.stdin.buffer.readline())
    seconds = int(_LIMITS.processor_seconds_for(job["size"])) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    packed = b""
    said: dict[str, Any]
    try:
        new = _built(job)
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

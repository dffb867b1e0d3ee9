"""Files that are written whole or not at all, read up to a limit, hashed, and named by their content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from app.domain.errors import InvalidInput


def file_sha256(path: Path) -> str:
    """The hexadecimal sha256 of a file's bytes, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_MOST_IN_STEM: Final = 60


def stored_name(stem: str, content: Any) -> str:  # noqa: ANN401 - any JSON value
    """``stem-0123456789abcdef``: the stem as names may be written, and a hash of the content."""
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:_MOST_IN_STEM] or "table"
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    return f"{clean}-{hashlib.sha256(canonical).hexdigest()[:16]}"


MOST_BYTES: Final = 64 * 1024 * 1024
"""Of a report, a key set or a page; what this program writes stays far below."""


def write_whole(path: Path, content: bytes) -> None:
    """Write the file as :func:`whole_file` does."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """The file to be written, beside its place and then moved there, so that nobody finds half of it."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        beside = Path(name)
        # The process's mask can only be read by setting it.
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)
        beside.replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_bounded(path: Path) -> bytes:
    """The file's bytes; OSError if it cannot be read, or has more than ``MOST_BYTES``.

    The file is believed for nothing yet, so it is not read to its end to learn that it is too large.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        limit = MOST_BYTES // (1024 * 1024)
        raise OSError(
            f"{path} has more than {limit} MiB, as no report, key set or page has. Name another file."
        )
    return content


def check_output(option: str, path: Path | None) -> None:
    """InvalidInput for a file that cannot be written because its folder is not there."""
    if path is not None and not path.parent.is_dir():
        raise InvalidInput.of(
            option, "unwritable", f"There is no folder {path.parent} for {path.name}.", "Make it first."
        )

"""Files that are written whole or not at all, read up to a limit, and hashed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final


def file_sha256(path: Path) -> str:
    """The hexadecimal sha256 of a file's bytes, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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

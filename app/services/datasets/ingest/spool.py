"""A temporary file for formats that need seeking: without a name, encrypted with a key kept in memory."""

from __future__ import annotations

import errno
import io
import os
import secrets
import tempfile
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.domain.errors import Unavailable

_CHUNK: Final = 1024**2
_TAG: Final = 16


class EncryptedSpool:
    """Writes bytes into an unlinked file, in chunks of 1 MiB sealed with AES-256-GCM.

    The key exists only here and in the child that reads the file; each chunk has its number as nonce,
    which is safe because a key seals one file once. Raises Unavailable where no file can be made.
    """

    def __init__(self) -> None:
        self.key = secrets.token_bytes(32)
        self.size = 0
        self._cipher = AESGCM(self.key)
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by ``close``
        except OSError as error:
            raise Unavailable(
                "No file can be made where uploads that are being read wait: nothing of this one was stored.",
                "Whoever runs the service makes the folder that TMPDIR names writable, or makes room there.",
            ) from error
        self._pending = bytearray()
        self._chunks = 0

    def fileno(self) -> int:
        """The descriptor, for a child to inherit."""
        return self._file.fileno()

    def write(self, data: bytes) -> None:
        """Append; Unavailable if the disk that holds the file is full."""
        self.size += len(data)
        self._pending += data
        while len(self._pending) >= _CHUNK:
            self._seal(_CHUNK)

    def finish(self) -> None:
        """Write the last chunk."""
        if self._pending:
            self._seal(len(self._pending))

    def close(self) -> None:
        """Give the file back; nothing remains of it."""
        self._file.close()

    def _seal(self, length: int) -> None:
        sealed = self._cipher.encrypt(_nonce(self._chunks), bytes(self._pending[:length]), None)
        del self._pending[:length]
        left = memoryview(sealed)
        try:
            while left:  # on a disk that is nearly full only a part may be written
                left = left[self._file.write(left) :]
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Unavailable(
                "The disk for uploads that are being read is full: nothing of this one was stored.",
                "Send it again later; if that does not help, whoever runs the service makes room.",
            ) from error
        self._chunks += 1


class SpoolReader(io.RawIOBase):
    """Seekable plaintext of a spool, one chunk decrypted at a time."""

    def __init__(self, fileno: int, key: bytes, size: int) -> None:
        self._fileno = fileno
        self._cipher = AESGCM(key)
        self._size = size
        self._position = 0
        self._number = -1
        self._chunk = b""

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read at any position."""
        return True

    def tell(self) -> int:
        """The position of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, fewer only at the end."""
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        parts = []
        while self._position < end:
            number, offset = divmod(self._position, _CHUNK)
            part = self._plain(number)[offset : offset + end - self._position]
            parts.append(part)
            self._position += len(part)
        return b"".join(parts)

    def _plain(self, number: int) -> bytes:
        if number != self._number:
            length = min(_CHUNK, self._size - number * _CHUNK) + _TAG
            sealed = os.pread(self._fileno, length, number * (_CHUNK + _TAG))
            self._chunk = self._cipher.decrypt(_nonce(number), sealed, None)
            self._number = number
        return self._chunk


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")

"""From the bytes that arrive to UTF-8 text: decompression and transcoding, both incremental."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from typing import Final

from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import UploadLimits

GZIP: Final = b"\x1f\x8b"
"""How gzip begins."""

_CHUNK: Final = 1024**2
_SLICE: Final = 16 * 1024
"""What follows a member is copied: of a body of many empty members, slices keep that in proportion."""


class Gunzip:
    """Decompresses gzip as it arrives, in pieces of at most 1 MiB, up to the limit."""

    def __init__(self, limits: UploadLimits) -> None:
        self._limits = limits
        self._received = self._total = 0
        self._inflate = zlib.decompressobj(wbits=31)
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompressed pieces of what has arrived; stops at the limit whatever is left."""
        for start in range(0, len(data), _SLICE):
            yield from self._unfolded(data[start : start + _SLICE])

    def _unfolded(self, pending: bytes) -> Iterator[bytes]:
        self._received += len(pending)
        while pending:
            if self._inflate.eof:  # a file may consist of several gzip members
                self._inflate = zlib.decompressobj(wbits=31)
            self._started = True
            try:
                out = self._inflate.decompress(pending, _CHUNK)
            except zlib.error:
                raise faults.damaged("csv.gz") from None
            pending = self._inflate.unconsumed_tail or self._inflate.unused_data
            if not self._total and out.startswith(GZIP):
                raise faults.compressed_twice()
            self._total += len(out)
            faults.check_unfolding(self._total, self._received, self._limits)
            if out:
                yield out

    def finish(self) -> None:
        """Raise if the last member is cut short; an empty body is the reader's business."""
        if self._started and not self._inflate.eof:
            raise faults.damaged("csv.gz")


class Transcoder:
    """Text in the declared encoding → UTF-8 without byte order mark.

    UTF-8 passes through and is checked record by record by the CSV reader, which can name the row.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._head: bytes | None = b""
        self._lines = 0

    def feed(self, data: bytes, final: bool = False) -> bytes:
        """The UTF-8 text of what has arrived so far and was not answered before."""
        if not self._is_utf8:
            data = self._decode(data, final)
        return self._without_mark(data, final)

    def _decode(self, data: bytes, final: bool) -> bytes:
        try:
            text = self._decoder.decode(data, final)
            encoded = text.encode("utf-8")
        except UnicodeError:
            raise faults.wrong_encoding(self._encoding, self._lines + 1) from None
        self._lines += encoded.count(b"\n")
        return encoded

    def _without_mark(self, data: bytes, final: bool) -> bytes:
        if self._head is None:
            return data
        head = self._head + data
        if len(head) < len(codecs.BOM_UTF8) and not final:
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(codecs.BOM_UTF8)

"""What a file is that is not what it was sent as, by its first bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.errors import InvalidInput
from app.services.datasets.ingest.dialect import UploadFormat

HEAD_BYTES: Final = 512
"""As many as need to be looked at."""

_SAVE_AS: Final = "Save the table as CSV or as an Excel workbook (.xlsx), and send that."
_AS_TEXT: Final = "Send the table as CSV, Parquet, Arrow or an Excel workbook (.xlsx)."


@dataclass(frozen=True)
class _Kind:
    """A kind of file: how it begins, what it is called, the format that it is sent as, else what helps."""

    beginnings: tuple[bytes, ...]
    name: str
    format: UploadFormat | None = None
    remedy: str = _AS_TEXT


_OLD_OFFICE: Final = _Kind(
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
    "an old Excel workbook (.xls), or one that is protected by a password",
    None,
    "Open it in Excel, remove the password, and save it as .xlsx or as CSV.",
)
"""Which of the two it is is seen by whoever looks for a workbook in it."""

_KINDS: Final = (
    _Kind((b"PK\x03\x04", b"PK\x05\x06"), "a ZIP archive, as Excel workbooks (.xlsx) are", UploadFormat.XLSX),
    _Kind((b"\x1f\x8b",), "compressed by gzip", UploadFormat.CSV_GZ),
    _Kind((b"PAR1\x15",), "a Parquet file", UploadFormat.PARQUET),
    _Kind((b"\xff\xff\xff\xff",), "an Arrow IPC stream", UploadFormat.ARROW),
    _Kind((b"ARROW1\0\0",), "an Arrow file (Feather)", None, "Write it as an Arrow IPC stream."),
    _OLD_OFFICE,
    _Kind((b"%PDF-",), "a PDF document", None, "Send the table that it was made of, as CSV or .xlsx."),
    _Kind((b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*"), "a picture"),
    _Kind((b"SQLite format 3\0",), "an SQLite database", None, "Export the table as CSV."),
    _Kind((b"$FL2@(#)", b"$FL3@(#)"), "an SPSS file", None, _SAVE_AS),
    _Kind((b"<stata_dta>",), "a Stata file", None, _SAVE_AS),
    _Kind((b"\0" * 12 + b"\xc2\xea\x81\x60",), "a SAS file", None, _SAVE_AS),
    _Kind((b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"),
          "a packed archive", None, "Unpack it, or compress the CSV by gzip."),
    _Kind((b"{\\rtf",), "an RTF document"),
)  # fmt: skip
_MARKUP: Final = (
    _Kind((b"<!doctype html", b"<html"), "a page of HTML", None, _SAVE_AS),
    _Kind((b"<?xml",), "an XML document", None, _SAVE_AS),
    _Kind((b'{"', b'[{"'), "JSON", None, "Send the table as CSV, with a line per record."),
)
"""Kinds of text, which may begin with blanks."""


_CALLED: Final = {
    UploadFormat.CSV: "CSV",
    UploadFormat.CSV_GZ: "CSV compressed by gzip",
    UploadFormat.PARQUET: "Parquet",
    UploadFormat.ARROW: "an Arrow IPC stream",
    UploadFormat.XLSX: "an Excel workbook (.xlsx)",
}


def require_kind(head: bytes, format: UploadFormat) -> None:
    """InvalidInput, naming what the file is, if its head tells that it is of another format."""
    kind = next((own for own in _KINDS if head.startswith(own.beginnings)), None)
    if kind is None:
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        kind = next((own for own in _MARKUP if text.startswith(own.beginnings)), None)
    if kind is None or kind.format is format or (kind is _OLD_OFFICE and format is UploadFormat.XLSX):
        return
    remedy = kind.remedy if kind.format is None else f"Declare format={kind.format.value}."
    raise InvalidInput.of(
        "/body", "other-file", f"The content is not {_CALLED[format]}: it is {kind.name}.", remedy
    )

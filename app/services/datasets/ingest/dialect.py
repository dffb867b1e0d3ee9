"""How a file is to be read: declared by the caller, never guessed."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal

from app.domain.errors import Fault, refuse

_FREE_BYTES: Final = 64 * 1024**2
_MOST_UNFOLDING: Final = 100
"""Tables of people are packed 3 to 20 times smaller; a table of zeros 1000 times."""

_OF_WORKBOOKS: Final = 4
"""Measured: a MiB of a workbook takes 0.8 s if its cells differ, and 1.3 s if they repeat."""

_CHILD_BYTES: Final = 1024**3
_FREE_CHILD_BYTES: Final = 192 * 1024**2
_CHILD_BYTES_PER_BYTE: Final = 32

BLANKS: Final = " \t"
"""What trimming removes around cells."""

_NOT_OF_FILES: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Encodings of domain names and of source code. Decoding punycode takes time quadratic in the length."""


LeadingZeros = Literal["refuse", "keep", "drop"]
"""What becomes of zeros that only the format of a workbook's numbers shows, as of 2139 as 02139."""


class UploadFormat(StrEnum):
    """Formats that tables arrive in; Arrow means the IPC stream format, XLSX Excel's workbooks."""

    CSV = "csv"
    CSV_GZ = "csv.gz"
    PARQUET = "parquet"
    ARROW = "arrow"
    XLSX = "xlsx"

    @property
    def is_text(self) -> bool:
        """Whether the dialect's delimiter, quote, encoding and header matter."""
        return self in (UploadFormat.CSV, UploadFormat.CSV_GZ)


MEDIA_TYPES: Final = {
    UploadFormat.CSV: "text/csv",
    UploadFormat.CSV_GZ: "application/gzip",
    UploadFormat.PARQUET: "application/vnd.apache.parquet",
    UploadFormat.ARROW: "application/vnd.apache.arrow.stream",
    UploadFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Content types by which files are sent."""

CSV_TOO: Final = ("text/plain", "text/tab-separated-values", "application/csv")
"""Others by which CSV is sent."""

SUFFIXES: Final = {
    ".csv": UploadFormat.CSV,
    ".gz": UploadFormat.CSV_GZ,
    ".parquet": UploadFormat.PARQUET,
    ".arrow": UploadFormat.ARROW,
    ".arrows": UploadFormat.ARROW,
    ".xlsx": UploadFormat.XLSX,
}
"""How the names of files end."""


def format_of(media_type: str = "", file_name: str = "") -> UploadFormat:
    """The format that a file's name or else its content type says; CSV if neither does."""
    for suffix, format in SUFFIXES.items():
        if file_name.lower().endswith(suffix):
            return format
    essence = media_type.partition(";")[0].strip().lower()
    return next((own for own, named in MEDIA_TYPES.items() if named == essence), UploadFormat.CSV)


@dataclass(frozen=True)
class Dialect:
    """How to read a CSV file or a workbook, and which texts mean that a value is missing (in every format).

    ``quote`` None means that quotes are ordinary characters. Without ``header`` the columns are
    called column_1, column_2, … ``trim`` removes blanks around cells and column names. ``sheet`` names the
    sheet of a workbook; None: the one that is visible. ``leading_zeros`` says whether a workbook
    whose formats show zeros before numbers is read with or without them.
    """

    delimiter: str = ","
    quote: str | None = '"'
    encoding: str = "utf-8"
    header: bool = True
    trim: bool = False
    missing: tuple[str, ...] = ("",)
    sheet: str | None = None
    leading_zeros: LeadingZeros = "refuse"

    @property
    def as_written(self) -> Dialect:
        """The same without what makes one cell of several spellings: empty cells alone may be missing."""
        return replace(self, trim=False, missing=("",) if "" in self.missing else ())

    def meaning_of(self, text: str) -> str | None:
        """What a cell with this text is read as; None if that is a missing value."""
        read = text.strip(BLANKS) if self.trim else text
        return None if read in self.missing else read


@dataclass(frozen=True)
class UploadLimits:
    """What one upload may contain and cost; reading stops at the first breach.

    Attributes
    ----------
    max_cell_bytes
        Longest cell, in bytes of UTF-8 whatever the format and the encoding were.
    processor_seconds, processor_seconds_per_mib
        What reading may cost at least, and per MiB received. Measured on one core of 2026: CSV takes 0.03 s
        per MiB (0.1 s in 500 columns), compressed CSV 0.08 s, Parquet and Arrow 0.15 s.
    """

    max_bytes: int = 2 * 1024**3
    max_decompressed_bytes: int = 8 * 1024**3
    max_rows: int = 20_000_000
    max_columns: int = 500
    max_cell_bytes: int = 32_768
    processor_seconds: float = 4.0
    processor_seconds_per_mib: float = 1.0

    def of(self, format: UploadFormat) -> UploadLimits:
        """The limits for a format: a byte of a workbook stands for more cells, and each is read from XML."""
        if format is not UploadFormat.XLSX:
            return self
        return replace(self, processor_seconds_per_mib=_OF_WORKBOOKS * self.processor_seconds_per_mib)

    def processor_seconds_for(self, received: int) -> float:
        """Seconds of processor time that reading so many bytes may cost."""
        return self.processor_seconds + self.processor_seconds_per_mib * received / 1024**2

    def child_bytes_for(self, received: int) -> int:
        """Memory that the child process that parses so many bytes may take."""
        return min(_CHILD_BYTES, _FREE_CHILD_BYTES + _CHILD_BYTES_PER_BYTE * received)

    def unfolded_bytes_for(self, received: int) -> int:
        """How many bytes so many may unfold to."""
        return min(self.max_decompressed_bytes, _FREE_BYTES + _MOST_UNFOLDING * received)

    @property
    def max_record_bytes(self) -> int:
        """The longest line that is buffered while its end is awaited."""
        return min(self.max_columns * self.max_cell_bytes, 16 * 1024**2)


def check_dialect(dialect: Dialect) -> None:
    """Raise InvalidInput with every fault of the declared dialect."""
    faults = []
    if not _is_one_ascii_character(dialect.delimiter):
        faults.append(
            Fault(
                "/delimiter",
                "invalid-delimiter",
                "The delimiter is one ASCII character other than a line end or NUL.",
                "Declare for example ',', ';', '|' or a tab.",
            )
        )
    if dialect.quote is not None and (
        not _is_one_ascii_character(dialect.quote) or dialect.quote == dialect.delimiter
    ):
        faults.append(
            Fault(
                "/quote",
                "invalid-quote",
                "The quote is one ASCII character other than the delimiter, a line end or NUL.",
                "Declare '\"', or no quote.",
            )
        )
    try:
        codec = codecs.lookup(dialect.encoding)
    except (LookupError, ValueError):  # the latter: a NUL in the name
        codec = None
    # Codecs such as zip or rot13 turn bytes into something else than text.
    if codec is None or not codec._is_text_encoding or codec.name in _NOT_OF_FILES:
        faults.append(
            Fault(
                "/encoding",
                "unknown-encoding",
                f"{dialect.encoding!r} is not the name of a text encoding.",
                "Declare for example utf-8, latin-1, cp1252 or utf-16.",
            )
        )
    refuse(faults)


DELIMITERS: Final = (",", ";", "\t", "|")
"""Delimiters that tables usually have."""

CALLED: Final = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}


def delimiter_note(columns: Sequence[str]) -> str:
    """What is said of a table with one column, whose name holds a usual delimiter; empty of any other."""
    held = {own: columns[0].count(own) for own in DELIMITERS} if len(columns) == 1 else {}
    found = max(held, key=lambda own: held[own], default=",")
    if not held.get(found):
        return ""
    return (
        f"Only one column was found, and its name holds {CALLED[found]} {_times(held[found])}: "
        f"the delimiter is probably {CALLED[found]}."
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def dialect_document(dialect: Dialect, format: UploadFormat) -> dict[str, Any]:
    """The part of the dialect that matters for the format, as JSON."""
    document: dict[str, Any] = {"trim": dialect.trim, "missing": sorted(set(dialect.missing))}
    if format.is_text:
        document |= {
            "delimiter": dialect.delimiter,
            "quote": dialect.quote,
            "encoding": codecs.lookup(dialect.encoding).name,
            "header": dialect.header,
        }
    if format is UploadFormat.XLSX:
        document |= {"sheet": dialect.sheet, "header": dialect.header}
        if dialect.leading_zeros != "refuse":
            document["leading_zeros"] = dialect.leading_zeros
    return document


def reading_of(document: Mapping[str, Any]) -> Dialect:
    """How the cells of a stored upload are read, by its dialect's document."""
    return Dialect(trim=document["trim"], missing=tuple(document["missing"]))


def _is_one_ascii_character(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"

"""What a CSV file is found to be where it is read otherwise: its delimiter, its encoding, its first line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final

from app.domain.errors import InvalidInput, TooLarge
from app.services.datasets.ingest.dialect import CALLED, Dialect, delimiter_note
from app.services.datasets.ingest.proposals import DialectProposal, encoding_of, propose_dialect

SAMPLE_BYTES: Final = 16 * 1024
"""How much of the beginning is looked at."""


def found_instead(sample: bytes, read: Dialect, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences on the beginning of a file that was read so, as these columns; none if nothing is odd."""
    encoding = other_encoding(sample, read)
    try:
        found = propose_dialect(sample, {"missing": read.missing, "trim": read.trim})
    except (InvalidInput, TooLarge):
        return tuple(encoding)
    return (*encoding, *_of_lines(found, read, columns))


def other_encoding(sample: bytes, read: Dialect) -> Iterator[str]:
    """Bytes that are no text as declared are of another encoding; UTF-8 and UTF-16 are told by their own."""
    found, declared = encoding_of(sample), codecs.lookup(read.encoding).name
    as_declared = _text(sample, read.encoding)
    # Nothing tells encodings with a byte for each letter apart, but for letters that latin-1 has not.
    is_guess = found == "latin-1" or (found == "cp1252" and declared != "iso8859-1")
    if as_declared != _text(sample, found) and (as_declared is None or not is_guess):
        yield f"The characters seem to be encoded in {found}, not in {read.encoding}."


def _text(sample: bytes, encoding: str) -> str | None:
    """The text, of which the last letter may be cut; None if it is none in this encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except UnicodeError:
        return None


def _of_lines(found: DialectProposal, read: Dialect, columns: tuple[str, ...]) -> Iterator[str]:
    delimiter = found.dialect.delimiter
    if delimiter != read.delimiter:
        if len(found.columns) > len(columns) and not delimiter_note(columns):
            as_read = CALLED.get(read.delimiter, repr(read.delimiter))
            yield f"Cells seem to be separated by {CALLED[delimiter]}, not by {as_read}."
    elif found.dialect.header != read.header:
        doubt = next((own.sentence for own in found.doubts if own.decides == "header"), None)
        if read.header:
            yield doubt or "The first line does not look like column names, and is read as these."
        else:
            yield "The first line looks like column names, and is read as a record."

"""The canonical form of the release file that a gate has judged, to be given out in its place."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from app.cli.files import check_output, whole_file
from app.cli.journey import format_of
from app.cli.table_header import TEXT_FORMATS
from app.domain.errors import InvalidInput

CANONICAL: Final = "--write-canonical"
_READ_BYTES: Final = 256 * 1024


def check_canonical(target: Path | None, release: Path | None, others: tuple[Path | None, ...]) -> None:
    """InvalidInput for a canonical form that nothing has, or that would overwrite what is judged."""
    if target is None:
        return
    check_output(CANONICAL, target)
    if release is None or format_of(release) not in TEXT_FORMATS:
        raise InvalidInput.of(
            CANONICAL, "no-canonical-form", "Only a release file in CSV has a canonical form.",
            "Name one by --release, or leave the option out: the evidence is of the bytes of other files.",
        )  # fmt: skip
    if target.exists() and any(own is not None and own.exists() and target.samefile(own) for own in others):
        raise InvalidInput.of(CANONICAL, "same-file", f"{target} is a file that is judged.", "Name another.")


def write_canonical(target: Path, release: Path, upload: Mapping[str, Any]) -> None:
    """Write the canonical form of the file, read as its upload was; InvalidInput if that was another."""
    # Imported here: a library for tables, which most commands never load.
    from app.services.datasets.ingest.canonical_csv import CanonicalCsv
    from app.services.datasets.ingest.csv_reader import CsvReader
    from app.services.datasets.ingest.dialect import Dialect, UploadLimits

    dialect = {key: upload["dialect"][key] for key in ("delimiter", "quote", "encoding", "header")}
    opened = gzip.open if upload["format"] == "csv.gz" else open
    digest = hashlib.sha256()
    with whole_file(target) as written, opened(release, "rb") as source:

        def write(text: bytes) -> None:
            digest.update(text)
            written.write(text)

        reader = CsvReader(Dialect(**dialect), UploadLimits(), CanonicalCsv(write))
        while data := source.read(_READ_BYTES):
            reader.feed(data)
        reader.finish()
        if digest.hexdigest() != upload.get("canonical_sha256"):
            raise InvalidInput.of(
                CANONICAL, "changed", f"{release} is not what was judged, by its canonical form.",
                "Judge it again, by a service of this version.",
            )  # fmt: skip

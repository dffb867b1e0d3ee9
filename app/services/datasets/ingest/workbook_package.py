"""A workbook as the ZIP archive of XML that it is: whether it may be read, its sheets and its number formats.

Nothing is read before the archive is known to unfold in proportion to its size, and a document type, with it
every entity, is refused where a part declares it.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Final, NamedTuple
from xml.parsers import expat

from python_calamine import CalamineError

from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.ingest.file_kinds import require_no_old_office, require_workbook
from app.services.datasets.ingest.workbook_faults import broken, workbook_fault
from app.services.datasets.ingest.workbook_values import NumberFormat, format_of

Attributes = Mapping[str, str]

_STEP_BYTES: Final = 2**16
_MOST_PARTS: Final = 10_000
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
TRUE: Final = ("1", "true")
"""How attributes say yes."""

_UNREADABLE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, expat.ExpatError, CalamineError),
    *(LookupError, ValueError, OverflowError),
)


@contextmanager
def readable() -> Iterator[None]:
    """InvalidInput for what a broken workbook raises, whose messages may repeat the file."""
    try:
        yield
    except _UNREADABLE:
        raise broken() from None


def new_parser() -> expat.XMLParserType:
    """One that refuses a document type, and names elements with their namespace before them."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    return parser


def _refuse_doctype(*_: object) -> None:
    raise workbook_fault("document-type")


class Sheet(NamedTuple):
    """A sheet of cells: its name, whether it is shown, the part that it is in."""

    name: str
    is_visible: bool
    part: str


class Package:
    """The parts of a workbook; InvalidInput, saying what the file is, unless it is one that can be read."""

    def __init__(self, file: IO[bytes], limits: UploadLimits, received: int) -> None:
        require_no_old_office(file)
        with readable():
            self._archive = zipfile.ZipFile(file)
            infos = self._archive.infolist()
            # Names of parts are equal whatever their case is.
            self._parts = {info.filename.lower(): info for info in infos}
            faults.check_unfolding(sum(info.file_size for info in infos), received, limits)
            if any(info.flag_bits & 1 for info in infos):
                raise workbook_fault("protected-file")
            methods = all(info.compress_type in _METHODS for info in infos)
            if not (methods and len(self._parts) == len(infos) <= _MOST_PARTS):
                raise broken()
            types = [own.get("ContentType", "") for _, _, own in self._elements("[content_types].xml")]
            if "mimetype" in self._parts:
                types.append(self._archive.read(self._parts["mimetype"])[:100].decode("latin-1"))
            require_workbook(types, self._parts)
            self._main = next(iter(self._related("", "/officeDocument").values()), "")
            if not self._main:
                raise broken()
            if posixpath.basename(self._main).lower() != "workbook.xml":
                raise workbook_fault("main-part")
            self.from_1904 = False
            self.sheets = list(self._read_sheets())

    def _related(self, part: str, kind: str) -> dict[str, str]:
        """Part by identifier of each relation of a part, "" of the whole, whose type ends so."""
        folder, name = posixpath.split(part)
        return {
            own.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, own["Target"])).lstrip("/")
            for _, local, own in self._elements(posixpath.join(folder, "_rels", f"{name}.rels"))
            if local == "Relationship" and own.get("Type", "").endswith(kind) and own.get("Target")
        }

    def _read_sheets(self) -> Iterator[Sheet]:
        parts = self._related(self._main, "/worksheet")
        for _, local, own in self._elements(self._main):
            if local == "workbookPr":
                self.from_1904 = own.get("date1904") in TRUE
            relation = next((own[name] for name in own if name.endswith(" id")), "")
            # Sheets of charts have no cells.
            if local == "sheet" and relation in parts:
                yield Sheet(own.get("name", ""), own.get("state", "visible") == "visible", parts[relation])

    def formats(self) -> list[NumberFormat]:
        """What each number format of cells shows, in the order in which cells name them."""
        codes: dict[int, str] = {}
        numbers: list[int] = []
        for part in self._related(self._main, "/styles").values():
            for parent, local, own in self._elements(part):
                if (parent, local) == ("numFmts", "numFmt"):
                    codes[int(own["numFmtId"])] = own["formatCode"]
                elif (parent, local) == ("cellXfs", "xf"):
                    numbers.append(int(own.get("numFmtId", "0")))
        return [format_of(number, codes.get(number)) for number in numbers]

    def _elements(self, part: str) -> Iterator[tuple[str, str, Attributes]]:
        """The elements of a small part, if it is there: what each is in, its name, its attributes."""
        above: list[str] = [""]
        found: list[tuple[str, str, Attributes]] = []

        def start(name: str, attributes: Attributes) -> None:
            local = name.rpartition(" ")[2]
            found.append((above[-1], local, attributes))
            above.append(local)

        parser = new_parser()
        parser.StartElementHandler, parser.EndElementHandler = start, lambda _: above.pop()
        for _ in self.parsed(part, parser) if part.lower() in self._parts else ():
            yield from found
            found.clear()

    def texts(self) -> Iterator[None]:
        """Look through the texts that cells share for a document type."""
        for part in self._related(self._main, "/sharedStrings").values():
            yield from self.parsed(part, new_parser())

    def parsed(self, part: str, parser: expat.XMLParserType) -> Iterator[None]:
        """Parse a part as it is unpacked; yields between two steps."""
        with readable():
            with self._archive.open(self._parts[part.lower()]) as source:
                while data := source.read(_STEP_BYTES):
                    parser.Parse(data, False)
                    yield
            parser.Parse(b"", True)
            yield

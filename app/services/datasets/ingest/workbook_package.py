"""A workbook as the ZIP archive of XML that it is: its parts, its sheets, its texts and its number formats.

Nothing is read before the archive is known to unfold in proportion to its size. A part is parsed as it is
unpacked, by Expat: a document type, and with it every entity, is refused where it is declared.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final
from xml.parsers import expat

from app.services.datasets.ingest import faults, workbook_faults
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.ingest.workbook_cells import NumberFormat, format_of, unescaped

Handler = Callable[[Mapping[str, str]], None]

NAMESPACES: Final = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
)
"""Of the elements of workbooks: as Excel writes them, and as it does on the wish for Strict Open XML."""

_STEP_BYTES: Final = 2**16
_MOST_PARTS: Final = 10_000
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MANIFEST: Final = "[content_types].xml"
_WORKBOOK: Final = ("spreadsheetml.sheet.main+xml", "spreadsheetml.template.main+xml")
_OTHERS: Final = (
    ("sheet.binary", "a binary workbook (.xlsb)", "Save it as .xlsx."),
    ("wordprocessingml", "a Word document", "Send the table in it as CSV or .xlsx."),
    ("presentationml", "a PowerPoint presentation", "Send the table in it as CSV or .xlsx."),
)
_OF_ARCHIVES: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")


@dataclass(frozen=True)
class Sheet:
    """A sheet of cells: its name, whether it is shown, the part that it is in."""

    name: str
    is_visible: bool
    part: str


class Package:
    """The parts of a workbook; InvalidInput, saying what the file is, unless it is one that can be read."""

    def __init__(self, file: IO[bytes], limits: UploadLimits, received: int) -> None:
        if file.read(len(_OLE)) == _OLE:
            raise _of_ole(file)
        with readable():
            self._archive = zipfile.ZipFile(file)
        self._parts = self._checked(limits, received)
        self._require_workbook()
        self._main = self._related("", "/officeDocument")[0][1]
        self.from_1904 = False
        self.sheets: list[Sheet] = []
        self._read_sheets()

    def _checked(self, limits: UploadLimits, received: int) -> dict[str, zipfile.ZipInfo]:
        """The parts by name; names of parts are equal whatever their case is."""
        infos = self._archive.infolist()
        faults.check_unfolding(sum(info.file_size for info in infos), received, limits)
        parts = {info.filename.lower(): info for info in infos}
        if len(parts) < len(infos) or len(infos) > _MOST_PARTS:
            raise workbook_faults.broken()
        if any(info.flag_bits & 1 for info in infos):
            raise workbook_faults.has_password()
        if any(info.compress_type not in _METHODS for info in infos):
            raise workbook_faults.broken()
        return parts

    def _require_workbook(self) -> None:
        if _MANIFEST not in self._parts:
            raise self._other()
        kinds = [attributes.get("ContentType", "") for _, _, attributes in self.elements(_MANIFEST)]
        if any("macroenabled" in kind.lower() and "binary" not in kind for kind in kinds) or any(
            name.endswith("vbaproject.bin") for name in self._parts
        ):
            raise workbook_faults.has_macros()
        if not any(kind.endswith(_WORKBOOK) for kind in kinds):
            for sign, what, remedy in _OTHERS:
                if any(sign in kind for kind in kinds):
                    raise workbook_faults.other_archive(what, remedy)
            raise self._other()

    def _other(self) -> Exception:
        with readable():
            kind = self._archive.read("mimetype")[:100] if "mimetype" in self._parts else b""
        if b"opendocument" in kind:
            return workbook_faults.other_archive(
                "an OpenDocument file (.ods)", "Save it as an Excel workbook (.xlsx) or as CSV."
            )
        return workbook_faults.other_archive("another ZIP archive", "Unpack it, and send the table in it.")

    def _related(self, part: str, kind: str) -> list[tuple[str, str]]:
        """Identifier and part of each relation of a part, "" of the whole, whose type ends so."""
        folder, name = posixpath.split(part)
        relations = posixpath.join(folder, "_rels", f"{name}.rels").lower()
        found = [
            (own.get("Id", ""), posixpath.normpath(posixpath.join("/", folder, own["Target"])).lstrip("/"))
            for _, local, own in (self.elements(relations) if relations in self._parts else ())
            if local == "Relationship" and own.get("Type", "").endswith(kind) and own.get("Target")
        ]
        if not found and not part:
            raise workbook_faults.broken()
        return found

    def _read_sheets(self) -> None:
        parts = dict(self._related(self._main, "/worksheet"))
        for _, local, own in self.elements(self._main):
            if local == "workbookPr":
                self.from_1904 = own.get("date1904") in ("1", "true")
            elif local == "sheet":
                relation = next((own[name] for name in own if name.endswith(" id")), "")
                # Sheets of charts have no cells.
                if relation in parts:
                    visible = own.get("state", "visible") == "visible"
                    self.sheets.append(Sheet(own.get("name", ""), visible, parts[relation]))

    def formats(self) -> list[NumberFormat]:
        """The number formats of cells, in the order in which cells name them."""
        codes: dict[int, str] = {}
        numbers: list[int] = []
        for _, part in self._related(self._main, "/styles"):
            with readable():
                for parent, local, own in self.elements(part):
                    if (parent, local) == ("numFmts", "numFmt"):
                        codes[int(own["numFmtId"])] = own["formatCode"]
                    elif (parent, local) == ("cellXfs", "xf"):
                        numbers.append(int(own.get("numFmtId", "0")))
        return [format_of(number, codes.get(number)) for number in numbers]

    def strings(self) -> list[str]:
        """The texts that cells refer to by their number, without their formats and phonetic hints."""
        texts = _Texts()
        for _, part in self._related(self._main, "/sharedStrings"):
            for _ in self.parse(part, texts.starts, texts.ends, texts.parts.append):
                pass
        return texts.found

    def elements(self, part: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
        """The elements of a small part: what each is in, what it is called, its attributes."""
        above: list[str] = [""]
        found: list[tuple[str, str, Mapping[str, str]]] = []

        def start(name: str, attributes: Mapping[str, str]) -> None:
            local = name.rpartition(" ")[2]
            found.append((above[-1], local, attributes))
            above.append(local)

        parser = _parser()
        parser.StartElementHandler = start
        parser.EndElementHandler = lambda _: above.pop()
        for _ in self._parsed(part, parser):
            yield from found
            found.clear()

    def parse(
        self, part: str, starts: Mapping[str, Handler], ends: Mapping[str, Callable[[], None]],
        text: Callable[[str], Any],
    ) -> Iterator[None]:  # fmt: skip
        """Call handlers, by the names of elements, while a part is unpacked; yields between two steps."""
        start_of = {f"{space} {name}": handle for name, handle in starts.items() for space in NAMESPACES}
        end_of = {f"{space} {name}": handle for name, handle in ends.items() for space in NAMESPACES}

        def start(name: str, attributes: Mapping[str, str]) -> None:
            if (handle := start_of.get(name)) is not None:
                handle(attributes)

        def end(name: str) -> None:
            if (handle := end_of.get(name)) is not None:
                handle()

        parser = _parser()
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = text
        return self._parsed(part, parser)

    def _parsed(self, part: str, parser: expat.XMLParserType) -> Iterator[None]:
        with readable():
            with self._archive.open(self._parts[part.lower()]) as source:
                while data := source.read(_STEP_BYTES):
                    parser.Parse(data, False)
                    yield
            parser.Parse(b"", True)
            yield


class _Texts:
    """Collects texts, each made of runs; the runs of phonetic hints are left out."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.parts: list[str] = []
        self._runs: list[str] = []
        self._is_hint = False
        self.starts: dict[str, Handler] = {"si": self._begin, "t": self._run, "rPh": self._hint}
        self.ends = {"si": self._end, "t": self._end_run, "rPh": self._end_hint}

    def _begin(self, _: Mapping[str, str]) -> None:
        self._runs = []

    def _run(self, _: Mapping[str, str]) -> None:
        self.parts.clear()

    def _end_run(self) -> None:
        if not self._is_hint:
            self._runs.append("".join(self.parts))
        self.parts.clear()

    def _hint(self, _: Mapping[str, str]) -> None:
        self._is_hint = True

    def _end_hint(self) -> None:
        self._is_hint = False

    def _end(self) -> None:
        self.found.append(unescaped("".join(self._runs)))


@contextmanager
def readable() -> Iterator[None]:
    """InvalidInput for what a broken archive or broken XML raises, whose messages may repeat the file."""
    try:
        yield
    except (*_OF_ARCHIVES, expat.ExpatError, LookupError, ValueError):
        raise workbook_faults.broken() from None


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    return parser


def _refuse_doctype(*_: object) -> None:
    raise workbook_faults.has_doctype()


def _of_ole(file: IO[bytes]) -> Exception:
    """What a file in the container of old office programs is: those that encrypt workbooks use it, too."""
    before = b""
    while data := file.read(2**20):
        if _ENCRYPTED in before + data:
            return workbook_faults.has_password()
        before = data[-len(_ENCRYPTED) :]
    return workbook_faults.other_archive(
        "a file of an old office program, such as an old Excel workbook (.xls)",
        "Open it in Excel, and save it as .xlsx or as CSV.",
    )

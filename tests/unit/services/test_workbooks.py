"""Excel workbooks as uploads: what is read of them, and what is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from dataclasses import astuple
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from app.domain.errors import InvalidInput, TooLarge
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits, format_of
from app.services.datasets.ingest.file_kinds import require_kind
from app.services.datasets.ingest.workbook_reader import WorkbookReader
from app.services.resources import Actor
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.uploading import LIMITS, Uploading
from tests.unit.services.workbooks import MAIN, SHEET_TYPE, by_hand, data, workbook

XLSX = UploadFormat.XLSX


@pytest.fixture
def uploading(store: MemoryStore, actor: Actor) -> Uploading:
    return Uploading(store, actor)


def reader(content: bytes, limits: UploadLimits = LIMITS, **dialect: Any) -> WorkbookReader:
    return WorkbookReader(io.BytesIO(content), Dialect(**dialect), limits, len(content))


def read(content: bytes, limits: UploadLimits = LIMITS, **dialect: Any) -> list[tuple[str | None, ...]]:
    missing = frozenset(dialect.get("missing", ()))
    tables = list(reader(content, limits, **dialect).tables(lambda: None))
    rows = pa.concat_tables(tables).to_pylist()
    cells = [tuple(None if cell in missing else cell for cell in row.values()) for row in rows]
    return [tuple(tables[0].column_names), *cells]


def refused(content: bytes, **dialect: Any) -> tuple[str, str, str]:
    with pytest.raises(InvalidInput) as caught:
        read(content, **dialect)
    (fault,) = caught.value.faults
    return fault.code, fault.message, fault.remedy


def test_cells_become_the_texts_that_they_show() -> None:
    content = workbook(
        ("id", "zip", "born", "income", "share", "member", "seen", "at", "worked"),
        ("m-1", "04347", date(1975, 5, 10), 17100.0, 0.1 + 0.2, True, datetime(2024, 2, 29, 13, 30),
         time(7, 5), timedelta(hours=30, minutes=15)),
        ("m-2", "'04347", date(1900, 2, 28), 12345678901234, 1e-7, False, datetime(2024, 3, 1),
         None, None),
    )  # fmt: skip
    assert read(content) == [
        ("id", "zip", "born", "income", "share", "member", "seen", "at", "worked"),
        ("m-1", "04347", "1975-05-10", "17100", "0.3", "true", "2024-02-29 13:30:00",
         "07:05:00", "30:15:00"),
        ("m-2", "'04347", "1900-02-28", "12345678901234", "0.0000001", "false", "2024-03-01 00:00:00",
         None, None),
    ]  # fmt: skip


def test_numbers_are_whole_or_as_short_as_they_can_be() -> None:
    written = ("17100.0", "1.7100000000000001E4", "0.10000000000000001", "-0", "1E3", "2.5E-3")
    cells = "".join(f"<row><c><v>{own}</v></c></row>" for own in ("1", *written))
    found = [row[0] for row in read(by_hand(f"<sheetData>{cells}</sheetData>"))[1:]]
    assert found == ["17100", "17100", "0.1", "0", "1000", "0.0025"]


def test_dates_count_from_the_workbooks_own_epoch() -> None:
    def since_1904(book: Any) -> None:
        book.epoch = CALENDAR_MAC_1904

    rows = (("born",), (date(1975, 5, 10),), (datetime(1904, 1, 2, 6),))
    assert read(workbook(*rows, change=since_1904)) == [
        ("born",), ("1975-05-10",), ("1904-01-02 06:00:00",)
    ]  # fmt: skip


def test_runs_of_text_are_joined_and_phonetic_hints_are_left_out() -> None:
    rich = CellRichText("West ", TextBlock(InlineFont(b=True), "Lafayette"))
    assert read(workbook(("city",), (rich,))) == [("city",), ("West Lafayette",)]
    hint = '<c t="inlineStr"><is><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></is></c>'
    escaped = '<c t="inlineStr"><is><t>a_x000A_b_x005F_x0041_</t></is></c>'
    content = by_hand(f"<sheetData><row>{hint}</row><row>{escaped}</row></sheetData>")
    assert read(content) == [("東京",), ("a\nb_x0041_",)]


def test_what_is_empty_around_the_table_is_no_part_of_it() -> None:
    def move(book: Any) -> None:
        book.active.move_range("A1:B3", rows=2, cols=3)
        book.active["Z9"].number_format = "0.00"

    content = workbook(("city", "race"), ("Gary", None), (None, "White"), change=move)
    assert read(content) == [("city", "race"), ("Gary", None), (None, "White")]


def test_without_a_header_columns_are_numbered() -> None:
    assert read(workbook(("Gary", 1), ("Boston", 2)), header=False) == [
        ("column_1", "column_2"), ("Gary", "1"), ("Boston", "2")
    ]  # fmt: skip


@pytest.mark.anyio
async def test_the_answer_says_which_sheet_was_read_and_what_was_not(uploading: Uploading) -> None:
    def more(book: Any) -> None:
        book.create_sheet("Secret").sheet_state = "hidden"
        book.create_sheet("Very").sheet_state = "veryHidden"
        book.active.row_dimensions[2].hidden = True

    content = workbook(("city",), ("Gary",), change=more)
    summary = (await uploading.send(content, format=XLSX)).resource.summary
    assert summary["dialect"] == {"sheet": "People", "header": True, "trim": False, "missing": [""]}
    assert list(summary["notes"]) == [
        "Hidden sheets that were not read: 'Secret', 'Very'.",
        "Read although hidden in the workbook: 1 row.",
    ]
    assert refused(content, sheet="Secret")[0] == "empty-file"


def test_of_several_sheets_one_is_named() -> None:
    def second(book: Any) -> None:
        book.create_sheet("Cities").append(("name",))

    content = workbook(("id",), ("m-1",), change=second)
    assert refused(content) == (
        "several-sheets",
        "The workbook has 2 visible sheets: 'People', 'Cities'.",
        "Name the one that holds the table as sheet.",
    )
    assert (refused(content, sheet="cities"))[:2] == (
        "unknown-sheet", "The workbook has no sheet 'cities'."
    )  # fmt: skip
    assert read(content, sheet="Cities") == [("name",)]


@pytest.mark.parametrize(
    ("rows", "change", "code", "place"),
    [
        ((("a", "b"), (1, "=A2*2"), (2, "=Z9")), None, "formula", "2 formulas in the cells B2, B3"),
        ((("a", "b"), (1, "#N/A")), None, "error-cell", "1 error value (like #N/A) in the cell B2"),
        ((("Report",), ("a", "b"), (1, 2)), None, "cell-outside-table", "2 cells, in the cells B2, B3"),
        ((("a", "b"), (1, 2), (), (3, 4)), None, "blank-row", "Row 3 of the sheet is empty"),
        ((("a", "b"), (1, 2)), lambda book: book.active.merge_cells("A2:A3"), "merged-cells", "A2:A3"),
        ((), None, "empty-file", "empty"),
    ],
)
def test_what_has_two_readings_is_refused_with_its_place(
    rows: Any, change: Any, code: str, place: str
) -> None:
    found = refused(workbook(*rows, change=change))
    assert found[0] == code
    assert place in found[1]
    assert found[2]


def test_error_values_are_missing_where_that_is_declared() -> None:
    content = workbook(("a",), ("#N/A",), (2,))
    assert read(content, missing=("", "#N/A")) == [("a",), (None,), ("2",)]


def test_numbers_that_are_formatted_as_dates_and_are_none_are_refused() -> None:
    def of_dates(book: Any) -> None:
        for row in (2, 3, 4):
            book.active.cell(row, 1).number_format = "yyyy-mm-dd"

    content = workbook(("a",), (60,), (0,), (-1,), change=of_dates)
    code, said, _ = refused(content)
    assert (code, "A2, A3, A4" in said) == ("no-date", True)


def formatted(*codes: str) -> Any:
    """Changes the columns of a workbook to show numbers in these formats, below the header."""

    def change(book: Any) -> None:
        for row in book.active.iter_rows(min_row=2):
            for cell, code in zip(row, codes, strict=True):
                cell.number_format = code

    return change


@pytest.mark.parametrize(
    ("code", "number", "kept"),
    [
        ("00000", 2139, "02139"),
        ("00000", 0, "00000"),
        ("[<=99999]00000;00000-0000", 2139, "02139"),
        ("[<=99999]00000;00000-0000", 21390001, "021390001"),
        ("000-00-0000", 12345678, "012345678"),
        ('"No. "0000', 7, "0007"),
        ("[Red]0000;-0000", 7, "0007"),
        ("000.0", 7, "007"),
        ("0,000", 7, "0007"),
        ("[>99999]00000-0000;00000", 2139, "02139"),
        ("[>99999]00000-0000;00000", 21390001, "021390001"),
        ("[=0]0;[<100]0000;00", 99, "0099"),
        ("00;-00;000", 0, "000"),
        ("00;-00;@", 0, "00"),
        ('"a;b"000', 7, "007"),
    ],
)
def test_zeros_that_only_a_format_shows_are_read_or_dropped_as_it_is_said(
    code: str, number: int, kept: str
) -> None:
    content = workbook(("name", "zip"), ("a", number), ("b", number), change=formatted("@", code))
    found, message, remedy = refused(content)
    assert found == "leading-zeros"
    assert "2 numbers" in message
    assert "in the cells B2, B3" in message
    assert "leading_zeros=keep" in remedy
    assert "leading_zeros=drop" in remedy
    with pytest.raises(InvalidInput) as caught:
        read(content)
    assert (caught.value.faults[0].pointer, caught.value.faults[0].choices) == (
        "/leading_zeros", ("keep", "drop")
    )  # fmt: skip
    assert read(content, leading_zeros="keep")[1] == ("a", kept)
    assert read(content, leading_zeros="drop")[1] == ("a", str(number))


@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        ("00000", 21390, "21390"),
        ("00000", 0.5, "0.5"),
        ("00000", -12, "-12"),
        ("0", 7, "7"),
        ("#,##0", 7, "7"),
        ("0.00", 7, "7"),
        ("0E+00", 7, "7"),
        ("# ??/00", 7, "7"),
        ("General", 7, "7"),
        ("@", 7, "7"),
        ("00%", 1, "1"),
        ("000,", 7000, "7000"),
        ("0 00/00", 7, "7"),
        ('"000"0', 7, "7"),
        ("00;-00;", 0, "0"),
        ("[=0]0;[<100]0000;0", 100, "100"),
    ],
)
def test_numbers_before_which_a_format_shows_no_zeros_are_read(code: str, number: float, text: str) -> None:
    content = workbook(("zip",), (number,), change=formatted(code))
    for leading_zeros in ("refuse", "keep", "drop"):
        assert read(content, leading_zeros=leading_zeros) == [("zip",), (text,)]


@pytest.mark.anyio
async def test_an_upload_says_what_became_of_zeros(uploading: Uploading) -> None:
    content = workbook(("zip",), (2139,), change=formatted("00000"))
    assert await uploading.fault(content, format=XLSX) == "leading-zeros"
    for leading_zeros in ("keep", "drop"):
        sent = await uploading.send(content, format=XLSX, name=leading_zeros, leading_zeros=leading_zeros)
        summary = sent.resource.summary
        assert summary["dialect"]["leading_zeros"] == leading_zeros


def test_each_cell_is_read_by_its_own_format() -> None:
    def formats(book: Any) -> None:
        for row, code in enumerate(("yyyy-mm-dd", "yyyy-mm-dd hh:mm", "hh:mm", "[h]:mm", "0"), start=2):
            book.active.cell(row, 1).number_format = code

    content = workbook(("at",), *[(45000,)] * 5, (45000.25,), (61,), change=formats)
    assert [row for (row,) in read(content)[1:]] == [
        "2023-03-15", "2023-03-15 00:00:00", "2023-03-15 00:00:00", "1080000:00:00", "45000", "45000.25",
        "61",
    ]  # fmt: skip


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e9, 1e9).map(lambda own: round(own, 3)).filter(lambda own: not own.is_integer()),
    st.datetimes(datetime(1900, 3, 1), datetime(9999, 12, 30)).map(lambda own: own.replace(microsecond=0)),
    st.dates(date(1900, 3, 1)),
    st.text("aé東_x0041 ", min_size=1, max_size=8).map(lambda own: f"{own}."),
)


def as_read(value: Any) -> str | None:
    """What a cell is read as that openpyxl writes with the format that it has for such values."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text("xyz", min_size=1), CELLS, CELLS, CELLS), min_size=1, max_size=8))
def test_what_another_program_writes_is_read_as_it_was(rows: list[tuple[Any, ...]]) -> None:
    assert read(workbook(("id", "a", "b", "c"), *rows))[1:] == [tuple(map(as_read, row)) for row in rows]


SHEET = data("a b", "1 2")
MACROS = SHEET_TYPE.replace(
    "openxmlformats-officedocument.spreadsheetml.sheet", "ms-excel.sheet.macroEnabled"
)
WORD = SHEET_TYPE.replace("spreadsheetml.sheet", "wordprocessingml.document")
TYPES = '<Types xmlns="x"><Override PartName="/xl/workbook.xml" ContentType="{}"/></Types>'


def zipped(**parts: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return sink.getvalue()


def tar() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:xz"):
        pass
    return sink.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 1000


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (OLE + "EncryptedPackage".encode("utf-16-le"), "protected-file", "protected by a password"),
        (OLE + "Workbook".encode("utf-16-le"), "other-file", "old Excel workbook (.xls)"),
        (by_hand(SHEET, {"xl/vbaProject.bin": b"x"}), "macros", "macros"),
        (by_hand(SHEET, {"[Content_Types].xml": TYPES.format(MACROS)}), "macros", "macros"),
        (by_hand(SHEET, {"[Content_Types].xml": TYPES.format(WORD)}), "other-file", "a Word document"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.spreadsheet"), "other-file", "(.ods)"),
        (zipped(table=b"a,b"), "other-file", "another ZIP archive"),
        (b"a,b\n1,2\n", "damaged-file", "xlsx"),
        (by_hand(SHEET)[:-30], "damaged-file", "xlsx"),
        (by_hand(SHEET + "<"), "damaged-file", "xlsx"),
        (by_hand(SHEET, {"_rels/.rels": "<x/>"}), "damaged-file", "xlsx"),
    ],
    ids=range(11),
)
def test_files_that_are_no_workbook_are_called_what_they_are(content: bytes, code: str, words: str) -> None:
    found = refused(content)
    assert found[0] == code
    assert words in found[1]


@pytest.mark.parametrize(
    ("content", "words", "remedy"),
    [
        (workbook(("a",)), "a ZIP archive, as Excel workbooks", "Declare format=xlsx."),
        (OLE, "an old Excel workbook (.xls), or one that is protected by a password", "save it as .xlsx"),
        (b"%PDF-1.7\n1 0 obj\n", "a PDF document", "as CSV or .xlsx"),
        (gzip.compress(b"a\n1\n"), "compressed by gzip", "Declare format=csv.gz."),
        (b"PAR1\x15\x04", "a Parquet file", "Declare format=parquet."),
        (tar(), "a packed archive", "Unpack it"),
        (b"\xef\xbb\xbf <!DOCTYPE html><html>", "a page of HTML", "Save the table as CSV"),
        (b'[{"city": "Gary"}]', "JSON", "a line per record"),
    ],
    ids=range(8),
)
def test_files_that_are_no_csv_are_called_what_they_are(content: bytes, words: str, remedy: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        require_kind(content, UploadFormat.CSV)
    code, said, help_ = astuple(caught.value.faults[0])[1:4]
    assert (code, words in said, remedy in help_) == ("other-file", True, True)


def test_a_sheet_is_as_large_as_its_cells_whatever_it_declares() -> None:
    content = by_hand('<dimension ref="A1:XFD1048576"/>' + SHEET)
    assert read(content) == [("a", "b"), ("1", "2")]
    far = '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576">'
    far += "<v>2</v></c></row>"
    assert (refused(by_hand(far + "</sheetData>"), sheet="People"))[0] == "blank-row"


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="2"><c><v>1</v></c></row><row r="2"><c><v>2</v></c></row>',
        '<row r="1"><c r="B1"><v>1</v></c><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="A2"><v>1</v></c></row>',
        '<row r="1"><c r="A1" t="s"><v>7</v></c></row>',
        '<row r="1"><c r="A1"><v>1_0</v></c></row>',
        '<row r="1"><c r="A1"><v>1e999</v></c></row>',
        '<row r="1"><c r="ABCD1"><v>1</v></c></row>',
    ],
)
def test_cells_that_readers_could_take_for_others_are_refused(rows: str) -> None:
    assert (refused(by_hand(f"<sheetData>{rows}</sheetData>")))[0] == "damaged-file"


def test_bombs_are_refused_by_what_they_declare() -> None:
    content = by_hand(SHEET, {"xl/media/x": b"\0" * 90_000_000})
    with pytest.raises(TooLarge, match="unfold"):
        read(content)


def test_documents_with_a_type_are_refused_before_anything_unfolds() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    strings = f'{bomb}<worksheet xmlns="{MAIN}"><sheetData><row><c><v>&b;</v></c></row></sheetData>'
    for encoding in ("utf-8", "utf-16"):
        content = by_hand("", {"xl/sheet.xml": f"{strings}</worksheet>".encode(encoding)})
        assert (refused(content))[0] == "document-type"


@pytest.mark.deep
@pytest.mark.anyio
async def test_what_a_child_finds_is_told_by_the_service(uploading: Uploading) -> None:
    for content, code in (
        (OLE + "EncryptedPackage".encode("utf-16-le"), "protected-file"),
        (workbook(("a",), ("=1+1",)), "formula"),
        (b"%PDF-1.7\n", "other-file"),
    ):
        assert await uploading.fault(content, format=XLSX) == code


@pytest.mark.anyio
async def test_limits_hold_for_workbooks(uploading: Uploading) -> None:
    content = workbook(("a", "b"), ("xx", "y"), ("xxxx", "y"))
    for limits in (UploadLimits(max_rows=1), UploadLimits(max_columns=1)):
        with pytest.raises(TooLarge):
            read(content, limits)
    await uploading.refusal(content, format=XLSX, limits=UploadLimits(max_cell_bytes=3))


@pytest.mark.parametrize(
    ("media_type", "file_name", "format"),
    [
        ("text/csv; charset=utf-8", "", UploadFormat.CSV),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "", XLSX),
        ("application/octet-stream", "People.XLSX", XLSX),
        ("application/gzip", "people.csv.gz", UploadFormat.CSV_GZ),
        ("application/octet-stream", "", UploadFormat.CSV),
    ],
)
def test_the_format_is_said_by_name_or_type(media_type: str, file_name: str, format: UploadFormat) -> None:
    assert format_of(media_type, file_name) is format

"""Workbooks as openpyxl writes them, and such as no program would write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import openpyxl

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def workbook(*rows: Sequence[Any], change: Callable[[Any], None] | None = None) -> bytes:
    """A workbook with one sheet called People; ``change`` may do more to it."""
    book = openpyxl.Workbook()
    book.active.title = "People"
    for row in rows:
        book.active.append(row)
    if change is not None:
        change(book)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def by_hand(sheet: str, more: Mapping[str, str | bytes] | None = None, **options: Any) -> bytes:
    """A workbook with the given XML as its only sheet's content, and other parts instead or in addition."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET_TYPE}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="People" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/worksheet" Target="/xl/sheet.xml"/></Relationships>',
        "xl/sheet.xml": f'<worksheet xmlns="{MAIN}">{sheet}</worksheet>',
        **(more or {}),
    }
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content, **options)
    return sink.getvalue()


def data(*rows: str) -> str:
    """Rows of inline texts, cells separated by blanks."""
    lines = [
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row.split()) + "</row>"
        for row in rows
    ]
    return f"<sheetData>{''.join(lines)}</sheetData>"

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from app.domain.errors import Conflict, Forbidden, InvalidInput, TooLarge
from app.services.datasets.ingest import csv_reader
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.pieces import ROWS_PER_PIECE
from app.services.datasets.uploads import CreateUpload, UploadService
from app.services.resources import Actor, Scope
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.uploading import LIMITS, Uploading, as_arrow, as_parquet

pytestmark = pytest.mark.anyio


@pytest.fixture
def uploading(store: MemoryStore, actor: Actor) -> Uploading:
    return Uploading(store, actor)


async def test_every_cell_stays_the_text_it_was(uploading: Uploading) -> None:
    created = await uploading.send("zip,n,name\n02139,1.50,Zoë\n00001,1e5,⊥\n".encode())
    assert uploading.rows(created) == [("02139", "1.50", "Zoë"), ("00001", "1e5", "⊥")]
    assert created.created
    assert created.resource.summary["columns"] == ["zip", "n", "name"]
    assert created.resource.summary["rows"] == 2


async def test_only_the_declared_markers_are_missing(uploading: Uploading) -> None:
    created = await uploading.send(b'a,b\n,NA\n"",?\nx,""\n', missing=("", "?"))
    assert uploading.rows(created) == [(None, "NA"), (None, None), ("x", None)]
    created = await uploading.send(b"a,b\n,NA\n", missing=("NA",), name="other")
    assert uploading.rows(created) == [("", None)]


@pytest.mark.parametrize("block", [7, 16, 64, 4096])
@pytest.mark.parametrize("chunk", [1, 5, 1000])
async def test_blocks_and_chunks_never_change_what_is_read(
    uploading: Uploading, monkeypatch: pytest.MonkeyPatch, block: int, chunk: int
) -> None:
    rows = [("a", "b,c"), ('say "x"', "line\nbreak"), ("cr\r\nlf", ""), ("é⊥", '"'), ("", "z")]
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("p", "q"), *rows * 5])
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", block)
    monkeypatch.setattr("app.services.datasets.ingest.intake._FEED_BYTES", block)
    created = await uploading.send(text.getvalue().encode(), chunk=chunk, missing=())
    assert uploading.rows(created) == rows * 5


async def test_dialects_are_obeyed(uploading: Uploading) -> None:
    created = await uploading.send(
        "x|'a|b'\r\n ü |''''\r\n".encode("cp1252"), delimiter="|", quote="'", encoding="cp1252", header=False
    )
    assert created.resource.summary["columns"] == ["column_1", "column_2"]
    assert uploading.rows(created) == [("x", "a|b"), (" ü ", "'")]
    trimmed = await uploading.send(b" a , b\n 1 ,\t?\n", trim=True, missing=("?",), name="trimmed")
    assert trimmed.resource.summary["columns"] == ["a", "b"]
    assert uploading.rows(trimmed) == [("1", None)]
    unquoted = await uploading.send(b'a,b\n5" pipe,"\n', quote=None, name="unquoted")
    assert uploading.rows(unquoted) == [('5" pipe', '"')]
    wide = await uploading.send("a,b\nü,1\n".encode("utf-16"), encoding="utf-16", name="wide")
    assert uploading.rows(wide) == [("ü", "1")]
    marked = await uploading.send("\ufeffa,b\n1,2\n".encode(), name="marked", chunk=1)
    assert marked.resource.summary["columns"] == ["a", "b"]


async def test_the_last_line_needs_no_end_and_blank_lines_may_follow_it(uploading: Uploading) -> None:
    assert uploading.rows(await uploading.send(b"a,b\n1,2")) == [("1", "2")]
    assert uploading.rows(await uploading.send(b"a,b\n1,2\n\r\n\n", name="blank")) == [("1", "2")]
    assert uploading.rows(await uploading.send(b"a\n1\n\n2\n", name="single")) == [("1",), (None,), ("2",)]


async def test_a_table_may_have_a_header_alone(uploading: Uploading) -> None:
    created = await uploading.send(b"a,b\n")
    assert created.resource.summary["rows"] == 0
    assert created.resource.summary["columns"] == ["a", "b"]
    assert uploading.rows(created) == []


@pytest.mark.parametrize(
    ("data", "dialect", "code"),
    [
        (b"", {}, "empty-file"),
        (b"\xef\xbb\xbf", {}, "empty-file"),
        (b"\na,b\n1,2\n", {}, "no-header"),
        (b"a,b\n1,2\n3\n", {}, "ragged-rows"),
        (b"a,b\n1,2,3\n4\n", {}, "ragged-rows"),
        (b"a,b\n1,2\n\n3,4\n", {}, "ragged-rows"),
        (b"a,a\n1,2\n", {}, "duplicate-column"),
        (b"a,\n1,2\n", {}, "empty-column-name"),
        (b'a,b\n1,"2\n3,4\n', {}, "unterminated-quote"),
        (b'a,b\n1,x"y"z\n', {}, "stray-quote"),
        (b'a,b\n1,x"y\n', {}, "unterminated-quote"),
        (b'a,b\n1,"x"y\n', {}, "stray-quote"),
        (b'a,b\n1,"x" \n', {}, "stray-quote"),
        (b'a,b\n"x""y"z,1\n', {}, "stray-quote"),
        (b"a,b\n1,\0\n", {}, "nul-byte"),
        (b"a,b\r1,2\r", {}, "bare-carriage-return"),
        (b"a,b\n1,\xff\n", {}, "wrong-encoding"),
        ("a,b\n1,ü\n".encode("latin-1"), {}, "wrong-encoding"),
        ("a,b\n1,ü\n".encode(), {"encoding": "ascii"}, "wrong-encoding"),
        ("a,b\n1,2\n".encode("utf-16-le"), {}, "nul-byte"),
        (b"a,b\n1,2\n", {"encoding": "zip"}, "unknown-encoding"),
        (b"a,b\n1,2\n", {"encoding": "klingon"}, "unknown-encoding"),
        (b"a,b\n1,2\n", {"delimiter": ";;"}, "invalid-delimiter"),
        (b"a,b\n1,2\n", {"delimiter": "\n"}, "invalid-delimiter"),
        (b"a,b\n1,2\n", {"quote": ","}, "invalid-quote"),
    ],
)
async def test_bad_csv_is_refused_by_name_and_leaves_nothing(
    uploading: Uploading, data: bytes, dialect: dict[str, Any], code: str
) -> None:
    assert await uploading.fault(data, **dialect) == code


async def test_messages_name_rows_but_never_cells(uploading: Uploading) -> None:
    secret = b"secret-cell"
    lines = [b"a,b"] + [b"1,2"] * 20_000 + [secret] + [b"1,2"] * 20_000
    for bad in (b"\n".join(lines), b"\n".join(lines).replace(secret, secret + b",\xff")):
        with pytest.raises(InvalidInput) as caught:
            await uploading.send(bad, chunk=65536)
        assert "in row 20001" in caught.value.faults[0].message
        assert "secret" not in str(caught.value.faults)


async def test_many_bad_rows_are_counted(uploading: Uploading) -> None:
    with pytest.raises(InvalidInput, match=r"in rows 2, 3, 4, .* and 5 more"):
        await uploading.send(b"a,b\n1,2\n" + b"1\n" * 15)


@pytest.mark.parametrize(
    ("limits", "data", "format"),
    [
        (UploadLimits(max_bytes=5), b"a,b\n1,2\n", UploadFormat.CSV),
        (UploadLimits(max_rows=1), b"a,b\n1,2\n3,4\n", UploadFormat.CSV),
        (UploadLimits(max_columns=1), b"a,b\n1,2\n", UploadFormat.CSV),
        (UploadLimits(max_cell_bytes=3), b"a,b\n1,2345\n", UploadFormat.CSV),
        (UploadLimits(max_decompressed_bytes=5), gzip.compress(b"a,b\n1,2\n", mtime=0), UploadFormat.CSV_GZ),
    ],
)
async def test_limits_stop_the_reading(
    uploading: Uploading, limits: UploadLimits, data: bytes, format: UploadFormat
) -> None:
    refusal = await uploading.refusal(data, limits=limits, format=format)
    assert refusal.limit
    assert refusal.remedy


@pytest.mark.parametrize("chunk", [1, 1000])
async def test_a_body_may_have_exactly_as_many_bytes_as_the_limit(uploading: Uploading, chunk: int) -> None:
    data = b"a,b\n1,2\n"
    refusal = await uploading.refusal(data, limits=UploadLimits(max_bytes=len(data) - 1), chunk=chunk)
    assert refusal.limit == len(data) - 1
    created = await uploading.send(data, limits=UploadLimits(max_bytes=len(data)), chunk=chunk)
    assert created.resource.summary["bytes"] == len(data)


async def test_reading_stops_at_the_first_breach(uploading: Uploading) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b"a,b\n"
        while True:
            sent += 1
            yield b"1,2\n" * 10_000

    service = UploadService(uploading.store, UploadLimits(max_rows=100_000))
    with pytest.raises(TooLarge):
        await service.create(uploading.actor, CreateUpload("x"), endless())
    assert sent < 30
    uploading.nothing_is_left()


async def test_an_endless_line_or_quote_is_not_buffered(uploading: Uploading) -> None:
    limits = UploadLimits(max_columns=10, max_cell_bytes=1000)
    await uploading.refusal(b"a,b\n" + b"x" * 2_000_000, limits=limits, chunk=65536)
    assert (
        await uploading.fault(b'a,b\n1,"' + b"x,1\n" * 500_000, limits=limits, chunk=65536)
        == "unterminated-quote"
    )


async def test_gzip_may_have_several_members_but_no_end_missing(uploading: Uploading) -> None:
    whole = gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n")
    created = await uploading.send(whole, format=UploadFormat.CSV_GZ, chunk=3)
    assert uploading.rows(created) == [("1", "2"), ("3", "4")]
    assert created.resource.summary["bytes"] == len(whole)
    assert await Uploading(MemoryStore(), uploading.actor).fault(
        gzip.compress(b"a,b\n1,2\n")[:-4], format=UploadFormat.CSV_GZ
    ) == ("damaged-file")
    assert await Uploading(MemoryStore(), uploading.actor).fault(b"a,b\n", format=UploadFormat.CSV_GZ) == (
        "damaged-file"
    )
    assert (
        await Uploading(MemoryStore(), uploading.actor).fault(b"", format=UploadFormat.CSV_GZ) == "empty-file"
    )


async def test_a_gzip_bomb_is_stopped_at_the_limit(uploading: Uploading) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(b"a,b\n") + packer.compress(b"1,2\n" * 2_500_000) + packer.flush()
    assert len(bomb) < 25_000
    refusal = await uploading.refusal(
        bomb, format=UploadFormat.CSV_GZ, limits=UploadLimits(max_decompressed_bytes=4_000_000), chunk=65536
    )
    assert refusal.limit == 4_000_000


@pytest.mark.deep
async def test_pieces_hold_equal_numbers_of_rows_in_order(uploading: Uploading) -> None:
    n = 2 * ROWS_PER_PIECE + 17
    data = b"id,x\n" + b"".join(b"%d,y\n" % i for i in range(n))
    created = await uploading.send(data, chunk=65536)
    pieces = uploading.store.data(uploading.actor.tenant).pieces[created.resource.id]
    assert [pq.ParquetFile(io.BytesIO(pieces[i])).metadata.num_rows for i in sorted(pieces)] == [
        ROWS_PER_PIECE,
        ROWS_PER_PIECE,
        17,
    ]
    assert [int(row[0] or -1) for row in uploading.rows(created)] == list(range(n))
    assert created.resource.summary["pieces"] == 3


async def test_the_same_upload_again_is_the_same_resource(uploading: Uploading) -> None:
    first = await uploading.send(b"a\n1\n")
    again = await uploading.send(b"a\n1\n")
    assert (again.created, again.resource.id) == (False, first.resource.id)
    assert list(uploading.store.data(uploading.actor.tenant).pieces) == [first.resource.id]
    with pytest.raises(Conflict):
        await uploading.send(b"a\n2\n")
    with pytest.raises(Conflict):
        await uploading.send(b"a\n1\n", trim=True)
    assert list(uploading.store.data(uploading.actor.tenant).pieces) == [first.resource.id]


async def test_an_upload_that_breaks_off_leaves_nothing(uploading: Uploading) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a,b\n" + b"1,2\n" * 300_000
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await UploadService(uploading.store, LIMITS).create(uploading.actor, CreateUpload("x"), broken())
    uploading.nothing_is_left()


async def test_uploading_needs_its_scope(store: MemoryStore, actor: Actor) -> None:
    reader = Actor(actor.tenant, actor.key_id, frozenset({Scope.DATA_READ}))
    with pytest.raises(Forbidden) as caught:
        await Uploading(store, reader).send(b"a\n1\n")
    assert caught.value.scope == "data:write"


TABLE = pa.table(
    {
        "text": pa.array(["02139", None, "é"]),
        "dict": pa.array(["x", "y", "x"]).dictionary_encode(),
        "int": pa.array([1, None, -3], pa.int64()),
        "float": pa.array([1.0, float("nan"), 2.5]),
        "date": pa.array([date(1975, 5, 10), None, date(2000, 2, 29)]),
        "bool": pa.array([True, False, None]),
    }
)
TEXTS = [
    ("02139", "x", "1", "1", "1975-05-10", "true"),
    (None, "y", None, None, None, "false"),
    ("é", "x", "-3", "2.5", "2000-02-29", None),
]


@pytest.mark.parametrize(
    ("format", "data"), [(UploadFormat.PARQUET, as_parquet(TABLE)), (UploadFormat.ARROW, as_arrow(TABLE))]
)
async def test_binary_tables_become_text(uploading: Uploading, format: UploadFormat, data: bytes) -> None:
    created = await uploading.send(data, format=format)
    assert uploading.rows(created) == TEXTS
    assert created.resource.summary["columns"] == TABLE.column_names
    empty = await uploading.send(
        (as_parquet if format is UploadFormat.PARQUET else as_arrow)(TABLE.slice(0, 0)),
        format=format,
        name="empty",
    )
    assert empty.resource.summary["rows"] == 0
    assert empty.resource.summary["columns"] == TABLE.column_names


@pytest.mark.deep
@pytest.mark.parametrize("format", [UploadFormat.PARQUET, UploadFormat.ARROW])
async def test_damaged_binary_tables_are_refused(uploading: Uploading, format: UploadFormat) -> None:
    encode = as_parquet if format is UploadFormat.PARQUET else as_arrow
    data = encode(pa.table({"a": [str(i) for i in range(50_000)]}))
    assert await uploading.fault(b"a,b\n1,2\n", format=format) == "damaged-file"
    assert await uploading.fault(data[: len(data) // 2], format=format) == "damaged-file"
    assert await uploading.fault(encode(pa.table({"a": [[1], [2]]})), format=format) == "unsupported-type"
    assert await uploading.fault(encode(pa.table({"a": ["x\0y"]})), format=format) == "nul-byte"
    twice = pa.Table.from_arrays([pa.array(["1"]), pa.array(["2"])], names=["a", "a"])
    assert await uploading.fault(encode(twice), format=format) == "duplicate-column"


@pytest.mark.deep
@pytest.mark.parametrize("format", [UploadFormat.PARQUET, UploadFormat.ARROW])
async def test_limits_hold_for_binary_tables(uploading: Uploading, format: UploadFormat) -> None:
    encode = as_parquet if format is UploadFormat.PARQUET else as_arrow
    data = encode(pa.table({"a": ["x", "long cell"]}))
    await uploading.refusal(data, format=format, limits=UploadLimits(max_rows=1))
    await uploading.refusal(data, format=format, limits=UploadLimits(max_cell_bytes=3))
    await uploading.refusal(data, format=format, limits=UploadLimits(max_bytes=30))


async def test_a_parquet_bomb_ends_in_its_child(uploading: Uploading) -> None:
    wide = pa.array(["x" * 1_000_000])
    bomb = as_parquet(
        pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), wide)}),
        compression="zstd",
    )
    assert len(bomb) < 1_000_000
    await uploading.refusal(bomb, format=UploadFormat.PARQUET)


@pytest.mark.deep
async def test_many_rows_in_a_small_parquet_file_stop_at_the_limit(uploading: Uploading) -> None:
    bomb = as_parquet(pa.table({"a": pa.array(["x"] * 3_000_000).dictionary_encode()}))
    assert len(bomb) < 100_000
    refusal = await uploading.refusal(
        bomb, format=UploadFormat.PARQUET, limits=UploadLimits(max_rows=1_000_000)
    )
    assert refusal.limit == 1_000_000


async def test_a_dialect_is_proposed_but_not_applied(uploading: Uploading) -> None:
    service = UploadService(uploading.store, LIMITS)
    sample = 'name;zip;age\r\nZoë; 02139;?\r\n"A;nn";10115;17\r\nhalf a li'.encode("cp1252")
    proposal = await service.propose_dialect(uploading.actor, sample)
    assert proposal.dialect == Dialect(
        delimiter=";", quote='"', encoding="latin-1", header=True, trim=True, missing=("", "?")
    )
    assert proposal.columns == ("name", "zip", "age")
    assert proposal.rows_in_sample == 2
    assert proposal.notes
    headless = await service.propose_dialect(uploading.actor, b"1,2\n3,4\n")
    assert headless.dialect.header is False
    with pytest.raises(InvalidInput):
        await service.propose_dialect(uploading.actor, b" \n")


async def test_the_delimiter_that_was_meant_is_told(uploading: Uploading) -> None:
    stored = (await uploading.send(b"born;costs;zip\n10.05.1975;17;10115\n")).resource
    assert tuple(stored.summary["notes"]) == (
        "Only one column was found, and its name holds a semicolon 2 times: the delimiter is probably a "
        "semicolon.",
    )
    proposal = await UploadService(uploading.store, LIMITS).propose_schema(uploading.actor, "members")
    assert list(proposal.notes) == stored.summary["notes"]
    with pytest.raises(InvalidInput, match="its name holds a semicolon 2 times"):
        await uploading.send(b"born;costs;zip\n10.05.1975;17,00;10115\n")


async def test_nothing_is_said_of_a_delimiter_that_fits(uploading: Uploading) -> None:
    stored = (await uploading.send(b"a,b;c\n1,2\n")).resource
    assert "notes" not in stored.summary


async def test_a_schema_is_proposed_from_the_stored_columns(uploading: Uploading) -> None:
    lines = ["member_id,zip,age,born,empty"]
    lines += [f"M{i},{i % 7:05d},{20 + i % 50},{1950 + i % 50}-01-01," for i in range(200)]
    await uploading.send("\n".join(lines).encode())
    proposal = await UploadService(uploading.store, LIMITS).propose_schema(uploading.actor, "members")
    assert {a.name: (a.type, a.role) for a in proposal.attributes} == {
        "member_id": ("text", "identifier"),
        "zip": ("categorical", "quasi_identifier"),
        "age": ("number", "quasi_identifier"),
        "born": ("date", "quasi_identifier"),
        "empty": ("categorical", "quasi_identifier"),
    }
    assert proposal.attributes[4].missing_in_sample == 200


async def test_a_direct_identifier_is_proposed_never_to_be_released_and_its_kind_is_named(
    uploading: Uploading,
) -> None:
    lines = ["ward,contact,nurse,case_id"]
    lines += [f"W{i % 4},p{i}@example.org,n{i % 50}@example.org,C{i:04d}" for i in range(200)]
    await uploading.send("\n".join(lines).encode())
    proposal = await UploadService(uploading.store, LIMITS).propose_schema(uploading.actor, "members")
    ward, contact, nurse, case = proposal.attributes
    assert (ward.role, contact.role, nurse.role, case.role) == (
        "quasi_identifier", "other", "other", "identifier",
    )  # fmt: skip
    assert contact.reason == (
        "A direct identifier: its cells look like e-mail addresses (100 %). "
        "A schema has one identifier, and another column is proposed for it."
    )
    assert nurse.reason == "A direct identifier: its cells look like e-mail addresses (100 %)."
    assert "example.org" not in "".join(own.reason for own in proposal.attributes)


async def test_a_unique_direct_identifier_is_proposed_as_the_identifier(uploading: Uploading) -> None:
    lines = ["contact,ward", *(f"p{i}@example.org,W{i % 4}" for i in range(200))]
    await uploading.send("\n".join(lines).encode())
    proposal = await UploadService(uploading.store, LIMITS).propose_schema(uploading.actor, "members")
    assert (proposal.attributes[0].role, proposal.attributes[0].type) == ("identifier", "text")
    assert "e-mail addresses" in proposal.attributes[0].reason

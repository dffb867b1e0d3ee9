"""Files that are made to harm: each is refused at the door, by name, before it has cost much."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import zlib
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pytest

from app.domain.errors import InvalidInput, TooCostly, TooLarge
from app.services.datasets.ingest import decoding, parsing_child
from app.services.datasets.ingest.binary_reader import text_table
from app.services.datasets.ingest.column_names import check_columns
from app.services.datasets.ingest.decoding import Gunzip
from app.services.datasets.ingest.dialect import UploadFormat, UploadLimits
from app.services.datasets.ingest.parsing_child import DictionaryChecks
from app.services.datasets.ingest.processor_budget import ProcessorBudget
from app.services.resources import Actor
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.uploading import Uploading, as_arrow, as_parquet
from tests.unit.services.workbooks import by_hand
from tests.unit.services.workbooks import data as rows_of

pytestmark = pytest.mark.anyio

NO_TEXT = b"Zo\xeb\xff"
OFFSETS = pa.array([0, 4, 4], pa.int32()).buffers()[1]
LARGE_OFFSETS = pa.array([0, 4, 4], pa.int64()).buffers()[1]

BROKEN_TEXT = pa.Array.from_buffers(pa.string(), 2, [None, OFFSETS, pa.py_buffer(NO_TEXT)])
BROKEN_LARGE_TEXT = pa.Array.from_buffers(pa.large_string(), 2, [None, LARGE_OFFSETS, pa.py_buffer(NO_TEXT)])
BROKEN_VIEW = pa.Array.from_buffers(
    pa.string_view(), 2, pa.array([NO_TEXT, b"\xff" * 30], pa.binary_view()).buffers()
)
BROKEN_VALUES = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), BROKEN_TEXT)
BROKEN_INDEX = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array(["x", "y"]), safe=False)
NEGATIVE_INDEX = pa.DictionaryArray.from_arrays(
    pa.array([0, -9], pa.int8()), pa.array(["x", "y"]), safe=False
)


@pytest.fixture
def uploading(store: MemoryStore, actor: Actor) -> Uploading:
    return Uploading(store, actor)


@pytest.mark.parametrize(
    ("format", "column"),
    [
        ("parquet", BROKEN_TEXT),
        pytest.param("parquet", BROKEN_LARGE_TEXT, marks=pytest.mark.deep),
        pytest.param("parquet", BROKEN_VIEW, marks=pytest.mark.deep),
        pytest.param("parquet", BROKEN_VALUES, marks=pytest.mark.deep),
        ("arrow", BROKEN_TEXT),
        pytest.param("arrow", BROKEN_VIEW, marks=pytest.mark.deep),
        ("arrow", BROKEN_VALUES),
        ("arrow", BROKEN_INDEX),
        ("arrow", NEGATIVE_INDEX),
    ],
)
async def test_bytes_that_are_no_text_are_refused_at_the_door(
    uploading: Uploading, format: str, column: Any
) -> None:
    table = pa.table({"a": column})
    data = as_parquet(table) if format == "parquet" else as_arrow(table)
    assert await uploading.fault(data, format=UploadFormat(format)) == "damaged-file"


async def test_a_type_that_is_no_single_value_is_named_but_not_at_any_length(uploading: Uploading) -> None:
    deep = pa.struct([("x" * 500, pa.int8())])
    table = pa.table({"a": pa.nulls(1, pa.month_day_nano_interval()), "b": pa.nulls(1, deep)})
    with pytest.raises(InvalidInput) as caught:
        await uploading.send(as_arrow(table), format=UploadFormat.ARROW)
    first, second = caught.value.faults
    assert (first.code, second.code) == ("unsupported-type", "unsupported-type")
    assert "month_day_nano_interval" in first.message
    assert len(second.message) < 200


def frame_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    "frame", [frame_of(pa.table({"a": BROKEN_TEXT})), frame_of(pa.table({"a": [1]})), b"nonsense", b""]
)
def test_a_child_that_was_taken_over_gets_nothing_past_its_parent(frame: bytes) -> None:
    with pytest.raises(InvalidInput):
        text_table(frame, UploadFormat.PARQUET)


def test_a_dictionary_that_batches_share_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    monkeypatch.setattr(parsing_child, "check_array", lambda array: checked.append(len(array)))
    values = pa.array([str(i) for i in range(1000)])
    table = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0] * 50, pa.int32()), values)})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    checks = DictionaryChecks()
    for batch in pyarrow.ipc.open_stream(sink.getvalue()):
        assert checks.check(0, batch.column(0)) == 3
    assert checked.count(1000) == 1
    assert checked.count(1) == 50
    other = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["x"] * 999))
    checks.check(0, other)
    assert checked.count(999) == 1


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_processor_time_is_held_against_the_bytes_received() -> None:
    clock = Clock()
    limits = UploadLimits(processor_seconds=2.0, processor_seconds_per_mib=3.0)
    budget = ProcessorBudget(limits, clock)
    with budget.working():
        clock.now = 1.9
        budget.check()
    clock.now = 100.0  # what others do with the thread meanwhile does not count
    with budget.working():
        budget.check()
        clock.now = 100.2
        with pytest.raises(TooCostly, match=r"0 bytes .* 2\.0 s") as caught:
            budget.check()
        assert caught.value.limit == 2
        assert caught.value.remedy
        budget.received = 1024**2
        budget.check()
        budget.spent_by_child = 3.0
        with pytest.raises(TooCostly):
            budget.check()


@pytest.mark.deep
@pytest.mark.parametrize("format", list(UploadFormat))
async def test_an_upload_that_costs_more_than_its_size_allows_is_refused(
    uploading: Uploading, format: UploadFormat
) -> None:
    table = pa.table({"a": ["x"] * 30_000})
    text = b"a\n" + b"x\n" * 200_000
    body = {
        UploadFormat.CSV: text,
        UploadFormat.CSV_GZ: zlib.compress(text, wbits=31),
        UploadFormat.PARQUET: as_parquet(table),
        UploadFormat.ARROW: as_arrow(table),
        UploadFormat.XLSX: by_hand(rows_of("x", *["1"] * 30_000)),
    }[format]
    limits = UploadLimits(processor_seconds=1e-6, processor_seconds_per_mib=1e-6)
    with pytest.raises(TooCostly):
        await uploading.send(body, format=format, limits=limits, chunk=2**20)
    uploading.nothing_is_left()


@pytest.mark.deep
def test_the_kernel_ends_a_child_that_does_not_come_back() -> None:
    endless = (
        "from app.services.datasets.ingest.parsing_child import _LimitedBudget\n"
        "from app.services.datasets.ingest.dialect import UploadLimits\n"
        "_LimitedBudget(UploadLimits(processor_seconds=-1.5)).receive(0)\n"
        "while True: pass"
    )
    child = subprocess.run([sys.executable, "-c", endless], timeout=60, check=False)
    assert child.returncode == -signal.SIGXCPU


@pytest.mark.deep
async def test_a_small_file_may_not_take_much_memory(uploading: Uploading) -> None:
    """225 MB of one letter, twice: the memory of a child grows with what was sent, up to its limit."""
    values = pa.array(["x" * 9000] * 25_000)
    table = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), values)})
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    assert len(sink.getvalue()) < 1_000_000
    refusal = await uploading.refusal(sink.getvalue(), format=UploadFormat.ARROW)
    assert "memory" in refusal.message
    assert refusal.limit is not None
    assert refusal.limit < 256 * 1024**2


def test_gzip_unfolds_no_further_than_what_arrived_allows() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(bytes(100 * 1024**2)) + packer.flush()
    gunzip = Gunzip(UploadLimits())
    unfolded = 0

    def unfold() -> None:
        nonlocal unfolded
        for data in gunzip.feed(bomb):
            unfolded += len(data)

    with pytest.raises(TooLarge, match="unfold") as caught:
        unfold()
    assert unfolded <= (caught.value.limit or 0) <= 64 * 1024**2 + 100 * len(bomb)


def test_empty_gzip_members_are_not_copied_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of what was fed is copied behind every member, so what is fed at once must be short."""
    fed: list[int] = []

    class Inflate:
        def __init__(self, wbits: int) -> None:
            self._inflate = zlib.decompressobj(wbits=wbits)

        def decompress(self, data: bytes, most: int) -> bytes:
            fed.append(len(data))
            return self._inflate.decompress(data, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inflate, name)

    monkeypatch.setattr(decoding, "zlib", SimpleNamespace(decompressobj=Inflate, error=zlib.error))
    data = zlib.compress(b"", wbits=31) * 10_000
    assert list(Gunzip(UploadLimits()).feed(data)) == []
    assert sum(fed) < 1000 * len(data)


async def test_a_header_of_any_length_is_refused_and_not_an_error_of_the_service(
    uploading: Uploading,
) -> None:
    long = b"x" * 200_000
    assert await uploading.fault(long + b",b\n1,2\n") == "column-name-too-long"
    assert await uploading.fault(b'"' + long + b'",b\n1,2\n') == "column-name-too-long"
    refusal = await uploading.refusal(b"," * 1_000_000 + b"\n1,2\n")
    assert refusal.limit == 500


async def test_quoted_names_are_read_as_they_were_meant(uploading: Uploading) -> None:
    created = await uploading.send(b'"a ""b"", c","d\ne",f\r\n1,2,3\r\n')
    assert created.resource.summary["columns"] == ['a "b", c', "d\ne", "f"]


@pytest.mark.parametrize("encoding", ["punycode", "idna", "unicode_escape", "raw_unicode_escape"])
async def test_encodings_of_other_things_than_files_are_unknown(uploading: Uploading, encoding: str) -> None:
    assert await uploading.fault(b"a\nx\n", encoding=encoding) == "unknown-encoding"


@pytest.mark.parametrize(
    ("names", "code", "shown"),
    [
        (["na\u200bme"], "invisible-character", '"na\\u200bme"'),
        (["\u202eeman"], "invisible-character", '"\\u202eeman"'),
        (["zip\x1b[2J"], "invisible-character", '"zip\\u001b[2J"'),
        (["a\u3164"], "invisible-character", '"a\\u3164"'),
        (["a\U000e0041"], "invisible-character", '"a\\U000e0041"'),
        (["caf\u00e9", "cafe\u0301"], "look-alike-column", "'cafe\\u0301'"),
        (["zip", "\uff5a\uff49\uff50"], "look-alike-column", "'\\uff5a\\uff49\\uff50'"),
        (["Name", "name"], "look-alike-column", "'name'"),
        (["birth date", "birth\u00a0 date "], "look-alike-column", "'birth\\xa0 date '"),
        (["stra\u00dfe", "STRASSE"], "look-alike-column", "'STRASSE'"),
    ],
)
def test_names_that_readers_cannot_tell_apart_are_refused(names: list[str], code: str, shown: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_columns(names, 500)
    fault = caught.value.faults[-1]
    assert (fault.code, fault.pointer) == (code, f"/columns/{len(names) - 1}")
    assert shown in fault.message
    assert fault.remedy


def test_names_of_other_scripts_are_welcome() -> None:
    check_columns(["नाम", "имя", "年齢", "Größe", "größer", "x₁", "x₂", "Date of\nbirth", "a-b"], 500)


async def test_names_are_checked_in_every_format(uploading: Uploading) -> None:
    assert await uploading.fault("a\u200b,b\n1,2\n".encode()) == "invisible-character"
    table = pa.table({"Zip": ["1"], "zip": ["2"]})
    for format, encode in ((UploadFormat.PARQUET, as_parquet), (UploadFormat.ARROW, as_arrow)):
        assert await uploading.fault(encode(table), format=format) == "look-alike-column"


async def test_the_longest_cell_is_counted_in_bytes_of_utf8_in_every_format(uploading: Uploading) -> None:
    """Four letters, six bytes."""
    table = pa.table({"a": ["Zo\u00eb\u00e9"]})
    data = {
        UploadFormat.CSV: "a\nZo\u00eb\u00e9\n".encode("latin-1"),
        UploadFormat.PARQUET: as_parquet(table),
        UploadFormat.ARROW: as_arrow(table),
    }
    for format, content in data.items():
        await uploading.refusal(
            content, format=format, encoding="latin-1", limits=UploadLimits(max_cell_bytes=5)
        )
    created = await uploading.send(
        data[UploadFormat.CSV], encoding="latin-1", limits=UploadLimits(max_cell_bytes=6)
    )
    assert uploading.rows(created) == [("Zo\u00eb\u00e9",)]

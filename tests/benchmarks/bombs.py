"""What small requests that ask for much work cost the service before it refuses them."""

from __future__ import annotations

import io
import json
import os
import threading
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from app.cli.operations import RunningService
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.service.waiting import until

_SECONDS: Final = 7.0
"""The 4 s that an upload may cost whatever its size, the second for its first MiB, and the child's start."""

_CHILD_MIB: Final = 320
"""The 192 MiB and more by its size that a parsing child may take, beside the libraries it begins with."""


def measure_bombs(service: RunningService) -> list[Measurement]:
    """Send a running service one bomb after another; each is refused within its budget."""
    with httpx.Client(base_url=service.base_url, trust_env=False, timeout=120) as client:
        client.headers["Authorization"] = f"Bearer {service.api_key}"
        uploads = {
            "Parquet of 40,000,000 equal numbers": ("parquet", equal_numbers()),
            "Parquet of 20,000 columns": ("parquet", many_columns()),
            "Arrow, a long dictionary repeated": ("arrow", repeated_dictionary()),
            "gzip of 50,000,000 short records": ("csv.gz", short_records()),
        }
        measured = [
            _measured(service.api_pid, what, client, f"/v1/uploads?name=bomb&format={form}", body)
            for what, (form, body) in uploads.items()
        ]
        for what, last in (("1,000,000", "999999"), ("250,000", "249999")):
            leaves = {"first": "0", "last": last}
            definition = {"kind": "intervals", "range": leaves, "widths": ["10", "100", "1000"]}
            body = json.dumps({"name": f"h{last}", "definition": definition}).encode()
            what = f"hierarchy over a range of {what}"
            measured.append(_measured(service.api_pid, what, client, "/v1/hierarchies", body))
    return measured


def _measured(pid: int, what: str, client: httpx.Client, path: str, body: bytes) -> Measurement:
    kind = "application/json" if "hierarchies" in path else "application/octet-stream"
    start = time.perf_counter()
    with _Costs(pid) as costs:
        answer = client.post(path, content=body, headers={"Content-Type": kind})
    detail = answer.json()
    return Measurement(
        part="http",
        work=f"processor time of {len(body):,} bytes: {what}",
        bar=f"≤ {_SECONDS:g} s, children ≤ {_CHILD_MIB} MiB",
        unit="s",
        ours=costs.seconds,
        bar_met=costs.seconds <= _SECONDS and costs.child_mib <= _CHILD_MIB and answer.status_code < 500,
        peak_mib=costs.child_mib,
        detail=f"answered {answer.status_code} {detail.get('type', '')} after "
        f"{time.perf_counter() - start:.2f} s; the memory is the child's",
    )


class _Costs:
    """Processor time of a process and the children that it has waited for, and the largest child's memory."""

    def __init__(self, pid: int) -> None:
        self._process = Path(f"/proc/{pid}")
        self._before = self._children()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.seconds = self.child_mib = 0.0

    def __enter__(self) -> _Costs:
        self._start = self._ticks()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A child is waited for a moment after the answer.
        until(lambda: not self._children() - self._before, 10.0)
        self._ended.set()
        self._thread.join()
        self.seconds = (self._ticks() - self._start) / os.sysconf("SC_CLK_TCK")

    def _ticks(self) -> int:
        fields = (self._process / "stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))  # its own time and that of children, user and system

    def _children(self) -> set[int]:
        found: set[int] = set()
        for children in self._process.glob("task/*/children"):
            try:
                found.update(map(int, children.read_text().split()))
            except OSError:  # a thread that has ended meanwhile
                continue
        return found

    def _sample(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE") / 2**20
        own = (self._process / "cmdline").read_bytes()
        while not self._ended.wait(0.01):
            for child in self._children() - self._before:
                try:
                    pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
                    if Path(f"/proc/{child}/cmdline").read_bytes() == own:
                        continue  # it has not begun yet, and still shows its parent's memory
                except OSError:
                    continue
                self.child_mib = max(self.child_mib, pages * page)


def equal_numbers(batches: int = 40, rows: int = 1_000_000) -> bytes:
    """A Parquet file of one column that says the same number in every row."""
    table = pa.table({"a": pa.array(np.zeros(rows, np.int64))})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        for _ in range(batches):
            writer.write_table(table)
    return sink.getvalue()


def many_columns(columns: int = 20_000) -> bytes:
    """A Parquet file of one row."""
    sink = io.BytesIO()
    pq.write_table(pa.table({f"c{number}": pa.array([1]) for number in range(columns)}), sink)
    return sink.getvalue()


def repeated_dictionary(batches: int = 60, rows: int = 50_000) -> bytes:
    """An Arrow stream whose every cell is one long text, compressed."""
    texts = pa.array(["y" * 9_000] * 100)
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), texts)
    batch = pa.record_batch({"a": column})
    options: Mapping[str, Any] = {"options": pyarrow.ipc.IpcWriteOptions(compression="zstd")}
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, batch.schema, **options) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    return sink.getvalue()


def short_records(blocks: int = 50, rows: int = 1_000_000) -> bytes:
    """A compressed CSV file of the same record again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(b"a,b\n")]
    parts += [packer.compress(b"0,0\n" * rows) for _ in range(blocks)]
    return b"".join([*parts, packer.flush()])

"""Parquet is read without threads of Arrow's, which abort a program that ends while they are on their way."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from privacy_risk.frames import parquet_of
from privacy_risk.parquet_reading import arrow_table, pandas_frame

FRAME = pd.DataFrame(
    {
        "city": ["Gary", None, "*"],
        "count": [1, 2, 3],
        "loss": [0.5, float("nan"), 1e300],
        "born": pd.to_datetime(["2001-02-03", None, "1999-12-31"]),
    }
)


def test_a_frame_is_what_pandas_reads():
    read = pandas_frame(parquet_of(FRAME))
    pd.testing.assert_frame_equal(read, pd.read_parquet(io.BytesIO(parquet_of(FRAME))))
    pd.testing.assert_frame_equal(read, FRAME, check_dtype=False)


def test_a_file_is_read_as_its_bytes_are(tmp_path: Path):
    file = tmp_path / "table.parquet"
    file.write_bytes(parquet_of(FRAME))
    assert arrow_table(file).equals(arrow_table(parquet_of(FRAME)))


@pytest.mark.parametrize("read", ["arrow_table", "pandas_frame"])
def test_reading_starts_no_thread(tmp_path: Path, read: str):
    file = tmp_path / "table.parquet"
    file.write_bytes(parquet_of(FRAME))
    folder = tmp_path / "pieces"
    folder.mkdir()
    (folder / "part-0.parquet").write_bytes(file.read_bytes())
    program = f"""
import os, pandas, pyarrow.parquet, sys
from pathlib import Path
from privacy_risk.frames import parquet_of
from privacy_risk.parquet_folders import parquet_folder
from privacy_risk.parquet_reading import {read}
before = set(os.listdir("/proc/self/task"))
{read}(Path(sys.argv[1]))
table = {read}(Path(sys.argv[1]).read_bytes())
list(parquet_folder(sys.argv[2]).batches())
if hasattr(table, "to_csv"):
    parquet_of(table)
assert set(os.listdir("/proc/self/task")) <= before
"""
    subprocess.run([sys.executable, "-c", program, file, folder], check=True)

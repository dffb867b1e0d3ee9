"""Parquet files read by one thread.

Arrow's pools of threads are not waited for when a program ends. Where one is still on its way, the program is
aborted after all its work was done, with status 134 (https://github.com/apache/arrow/issues/34314): a release
gate would then report a failure where it had said yes. What is read here never starts them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def arrow_table(source: bytes | Path) -> pa.Table:
    """The table of a Parquet file; ValueError or OSError for what is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = pa.BufferReader(source) if isinstance(source, bytes) else source
    return pq.ParquetFile(content, pre_buffer=False).read(use_threads=False)


def pandas_frame(source: bytes | Path) -> pd.DataFrame:
    """The same as a frame of pandas; missing cells are None in columns of text."""
    frame: pd.DataFrame = arrow_table(source).to_pandas(use_threads=False)
    return frame

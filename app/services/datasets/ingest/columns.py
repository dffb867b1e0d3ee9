"""Checked columns of text: what every reader hands on, whatever the format was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from app.services.datasets.arrow_arrays import text_array
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import BLANKS, Dialect, UploadLimits


def check_cell_lengths(table: pa.Table, limits: UploadLimits, first_row: int) -> None:
    """Raise TooLarge, naming rows, if a cell is longer than the limit."""
    for column in table.columns:
        too_long = [lengths > limits.max_cell_bytes for lengths in map(_lengths, column.chunks)]
        if any(own.any() for own in too_long):
            rows = np.flatnonzero(np.concatenate(too_long)) + first_row
            raise faults.cell_too_long(limits.max_cell_bytes, rows[: faults.ROWS_NAMED].tolist(), len(rows))


def check_nul(table: pa.Table, first_row: int) -> None:
    """Raise InvalidInput, naming rows, if a cell holds a NUL character."""
    for column in table.columns:
        if not any(_may_hold_nul(chunk) for chunk in column.chunks):
            continue
        rows = [row for row, cell in enumerate(column.to_pylist(), start=first_row) if "\0" in (cell or "")]
        if rows:
            raise faults.nul_byte(rows[: faults.ROWS_NAMED], len(rows))


# Reading Arrow's buffers with numpy spares the 40 MiB that the first use of its compute functions takes.


def _lengths(chunk: Any) -> npt.NDArray[np.int32]:  # noqa: ANN401 - a string array of pyarrow
    """Bytes of each cell; those of missing cells are 0."""
    offsets = chunk.buffers()[1]
    if not len(chunk) or offsets is None:
        return np.zeros(len(chunk), dtype=np.int32)
    bounds = np.frombuffer(offsets, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.diff(bounds)


def _may_hold_nul(chunk: Any) -> bool:  # noqa: ANN401 - a string array of pyarrow
    text = chunk.buffers()[2]
    return text is not None and bool((np.frombuffer(text, dtype=np.uint8) == 0).any())


def with_missing(table: pa.Table, dialect: Dialect) -> pa.Table:
    """The table trimmed if the dialect says so, its missing markers turned into nulls."""
    return pa.Table.from_arrays(
        [_cells(column, dialect.trim, dialect.missing) for column in table.columns],
        names=table.column_names,
    )


def _cells(column: Any, trim: bool, missing: Sequence[str]) -> Any:  # noqa: ANN401 - a column of pyarrow
    if trim:
        column = pc.utf8_trim(column, characters=BLANKS)
    if missing:
        # Whatever makes an array of a list, or a null, loads pandas, to see whether it is one of its own.
        marked = pc.is_in(column, value_set=text_array(missing).cast(column.type))
        column = pc.case_when(pc.make_struct(pc.invert(marked)), column)
    return column

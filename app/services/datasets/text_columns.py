"""Columns of an upload as distinct texts and the position of each cell among them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.errors import refuse
from app.services.datasets.dataset_schema import unknown_column
from app.services.datasets.ingest.dialect import Dialect, reading_of
from app.services.datasets.ingest.pieces import read_piece
from app.services.resources import Stored

if TYPE_CHECKING:
    from app.services.ports import UnitOfWork  # a file that is read without a store does not load it

MISSING = -1

_STEP: Final = 1 << 20
"""Rows that are joined to one part, and cells that are counted at once unless there are more texts."""

_Part = tuple[npt.NDArray[np.int32], pa.Array]
_TEXTS: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, eq=False)
class TextColumn:
    """One column.

    Attributes
    ----------
    values
        Distinct texts, in an order that the same upload always gives; none is missing.
    positions
        int32 (n,): the index in ``values`` of each cell, −1 where it is missing.
    spelled
        The same cells as the file writes them, where they are read as something else.
    """

    values: tuple[str, ...]
    positions: npt.NDArray[np.int32]
    spelled: TextColumn | None = None

    @property
    def as_written(self) -> TextColumn:
        """The cells as the file writes them."""
        return self.spelled or self

    def merged(self, meanings: Iterable[str | None]) -> TextColumn:
        """The column with what each of its texts means, None for a missing value."""
        place: dict[str, int] = {}
        target = [MISSING if own is None else place.setdefault(own, len(place)) for own in meanings]
        numbers = np.array([*target, MISSING], dtype=np.int32)
        return TextColumn(tuple(place), numbers[self.positions], self.as_written)

    @cached_property
    def rows_per_value(self) -> npt.NDArray[np.int64]:
        """(len(values),) number of cells of each text."""
        # Piece by piece: numpy makes eight bytes of each position that it counts.
        step = max(_STEP, len(self.values))
        cuts = range(step, self.n_rows, step)
        total = np.zeros(len(self.values) + 1, dtype=np.int64)
        for piece in np.split(self.positions, cuts):
            total += np.bincount(piece + 1, minlength=len(total))
        return total[1:]

    @property
    def n_missing(self) -> int:
        """Cells without a text."""
        return int((self.positions == MISSING).sum())

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.positions)

    def cells(self) -> list[str | None]:
        """The text of every cell, None where it is missing."""
        texts: list[str | None] = np.array([*self.values, None], dtype=object)[self.positions].tolist()
        return texts

    def rows_of(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Row numbers from 1 of the cells whose text is chosen (len(values),)."""
        flags = np.append(chosen, False)
        rows: npt.NDArray[np.int64] = np.flatnonzero(flags[self.positions]) + 1
        return rows


async def read_columns(
    work: UnitOfWork, upload: Stored, names: Sequence[str], pointer: str
) -> dict[str, TextColumn]:
    """The named columns of an upload; InvalidInput at ``pointer`` for a name that it does not have."""
    check_columns_exist(upload, names, pointer)
    wanted = tuple(dict.fromkeys(names))
    parts = _Parts(wanted)
    async for payload in work.pieces.read(upload.id):
        table = await asyncio.to_thread(read_piece, payload, wanted)
        await asyncio.to_thread(parts.add, table)
    return await asyncio.to_thread(parts.columns, reading_of(upload.summary["dialect"]))


def check_columns_exist(upload: Stored, names: Sequence[str], pointer: str) -> None:
    """Raise InvalidInput for every column name that the upload does not have."""
    columns = upload.summary["columns"]
    faults = [unknown_column(pointer, name, upload) for name in dict.fromkeys(names) if name not in columns]
    refuse(faults)


def columns_of(tables: Sequence[pa.Table], dialect: Dialect | None = None) -> dict[str, TextColumn]:
    """The columns by name of one table in parts, whose columns hold each distinct text of a part once.

    Their cells are read by the dialect; without one they are as they are written.
    """
    parts = _Parts(tables[0].column_names)
    for table in tables:
        parts.add(table)
    return parts.columns(dialect)


class _Parts:
    """Columns of an upload, of which one part comes after the other: a register fills the memory once.

    Small parts are joined to larger ones on the way. The memory of a large part goes back to the system once
    it is free; that of many small ones would be kept for others.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._columns: dict[str, list[_Part]] = {name: [] for name in names}
        self._loose = 0

    def add(self, table: pa.Table) -> None:
        """Take the next rows."""
        for name, parts in self._columns.items():
            parts += ((_positions(chunk.indices), chunk.dictionary) for chunk in table.column(name).chunks)
        self._loose += table.num_rows
        if self._loose >= _STEP:
            self._loose = 0
            for parts in self._columns.values():
                whole = next((i for i, (own, _) in enumerate(parts) if len(own) < _STEP), len(parts))
                parts[whole:] = [_joined(parts[whole:])]

    def columns(self, dialect: Dialect | None) -> dict[str, TextColumn]:
        """The columns, for which the parts are used up."""
        columns = {name: _column(*_joined(self._columns.pop(name))) for name in tuple(self._columns)}
        if dialect is None or dialect == dialect.as_written:
            return columns
        return {name: own.merged(map(dialect.meaning_of, own.values)) for name, own in columns.items()}


def _positions(indices: Any) -> npt.NDArray[np.int32]:  # noqa: ANN401 - an array of pyarrow
    """The numbers of an array, −1 where there is none.

    By its buffers: Arrow's compute functions take 40 MiB and 0.3 s when they are used first.
    """
    validity, numbers = indices.buffers()
    stop = indices.offset + len(indices)
    found = np.frombuffer(numbers, dtype=indices.type.to_pandas_dtype())[indices.offset : stop]
    if not indices.null_count:
        return found.astype(np.int32, copy=False)
    bits = np.frombuffer(validity, dtype=np.uint8)
    is_there = np.unpackbits(bits, count=stop, bitorder="little")[indices.offset :]
    return np.where(is_there, found, MISSING).astype(np.int32)


def _joined(parts: list[_Part]) -> _Part:
    """One part of several, which are used up."""
    if len(parts) == 1:
        return parts.pop()
    numbered = (
        pa.DictionaryArray.from_arrays(pa.array(np.arange(len(texts), dtype=np.int32)), texts)
        for _, texts in parts
    )
    chunks = pa.chunked_array(numbered, _TEXTS).unify_dictionaries().chunks
    joined = np.empty(sum(len(positions) for positions, _ in parts), dtype=np.int32)
    stop = len(joined)
    while parts:
        positions, _ = parts.pop()
        start = stop - len(positions)
        joined[start:stop] = np.append(_positions(chunks[len(parts)].indices), MISSING)[positions]
        stop = start
    return joined, chunks[0].dictionary if chunks else pa.array([], pa.string())


def _column(positions: npt.NDArray[np.int32], texts: pa.Array) -> TextColumn:
    """A column without the texts that no cell has."""
    values = texts.to_pylist()
    used = np.zeros(len(values) + 1, dtype=bool)
    used[positions] = True
    if not used[:MISSING].all():
        place = np.append(np.cumsum(used[:MISSING]) - 1, MISSING).astype(np.int32)
        positions = place[positions]
        values = list(compress(values, used.tolist()))
    return TextColumn(tuple(values), positions)

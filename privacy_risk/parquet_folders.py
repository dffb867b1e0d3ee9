"""A folder of Parquet pieces of one table, as data frames and warehouses write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from privacy_risk.arguments import InvalidArgument
from privacy_risk.sources import BATCH_ROWS, library, schema_batch

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def parquet_folder(path: str | PathLike[str]) -> ParquetFolder:
    """The table whose pieces are the Parquet files of a folder, in the order of their names."""
    return ParquetFolder(Path(path))


@dataclass(frozen=True)
class ParquetFolder:
    """The pieces of a folder, read one after another; what is called ``_…`` or ``.…`` is no piece."""

    path: Path

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in the order of the pieces, the first batch without any.

        Raises InvalidArgument for a folder without pieces, with other folders or files, for a piece that
        cannot be read, and for one whose columns are not those of the first.
        """
        schema: pa.Schema | None = None
        pieces = self._pieces()
        for piece in pieces:
            own = _schema_of(piece)
            if schema is not None:
                _require_same(pieces[0], schema, piece, own)
            schema = schema or own
        if schema is None:
            raise _fault(f"The folder {self.path} holds no .parquet file.", "Name one that does.")
        yield schema_batch(schema)
        for piece in pieces:
            yield from _batches_of(piece, schema)

    def _pieces(self) -> list[Path]:
        if not self.path.is_dir():
            raise _fault(f"There is no folder {self.path}.", "Name one that is there.")
        entries = sorted(own for own in self.path.iterdir() if not own.name.startswith(("_", ".")))
        for entry in entries:
            if entry.is_dir():
                raise _fault(
                    f"The folder {self.path} has the folder {entry.name} in it. Partitioned tables, whose "
                    "folders hold values, are not read.",
                    "Write the table into one folder, with all columns in the pieces.",
                )
            if entry.suffix != ".parquet":
                raise _fault(
                    f"{entry.name} in {self.path} is no .parquet file.", "Leave nothing else in the folder."
                )
        return entries


def _schema_of(piece: Path) -> pa.Schema:
    """The names and types of the columns, those of their values where cells point into a dictionary."""
    arrow = library("folder", "pyarrow")
    fields = []
    for own in _opened(piece).schema_arrow:
        is_coded = arrow.types.is_dictionary(own.type)
        fields.append((own.name, own.type.value_type if is_coded else own.type))
    return arrow.schema(fields)


def _require_same(first: Path, schema: pa.Schema, piece: Path, own: pa.Schema) -> None:
    """InvalidArgument, naming the columns, if the piece does not have those of the first one."""
    if own.equals(schema):
        return
    known, found = (
        dict(zip(schema.names, schema.types, strict=True)),
        dict(zip(own.names, own.types, strict=True)),
    )
    for name in (*known, *found):
        if known.get(name) != found.get(name):
            has, had = (f"as {types[name]}" if name in types else "not" for types in (found, known))
            fault = f"{piece.name} has the column {name!r} {has}, {first.name} has it {had}."
            break
    else:
        fault = f"{piece.name} has its columns in another order than {first.name}, or has some twice."
    raise _fault(fault, "Write all pieces with the same columns, of the same types and in the same order.")


def _batches_of(piece: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    arrow = library("folder", "pyarrow")
    batches = _opened(piece).iter_batches(batch_size=BATCH_ROWS, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (arrow.ArrowException, OSError):
            raise _unreadable(piece) from None
        if batch is None:
            return
        columns = [column.cast(type_) for column, type_ in zip(batch.columns, schema.types, strict=True)]
        yield arrow.RecordBatch.from_arrays(columns, schema=schema)


def _opened(piece: Path) -> pq.ParquetFile:
    arrow, parquet = library("folder", "pyarrow"), library("folder", "pyarrow.parquet")
    try:
        return parquet.ParquetFile(piece, pre_buffer=False)
    except (arrow.ArrowException, OSError):
        # The library's message may repeat what is in the file.
        raise _unreadable(piece) from None


def _unreadable(piece: Path) -> InvalidArgument:
    return _fault(
        f"{piece.name} cannot be read: it is damaged, or no Parquet.", "Write it again, or remove it."
    )


def _fault(fault: str, remedy: str) -> InvalidArgument:
    return InvalidArgument("folder", fault, remedy)

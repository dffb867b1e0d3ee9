"""A folder of Parquet pieces of one table, as data frames and warehouses write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from privacy_risk.arguments import InvalidArgument
from privacy_risk.sources import BATCH_ROWS, library, schema_batch

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""What writers of partitioned tables call a missing value."""


def parquet_folder(path: str | PathLike[str]) -> ParquetFolder:
    """The table whose pieces are the Parquet files of a folder, in the order of their names.

    Folders in it that are called ``key=value``, as partitioned tables have them, give the column ``key``.
    """
    return ParquetFolder(Path(path))


@dataclass(frozen=True)
class _Piece:
    """A file, and the columns that its folders' names give all of its rows; None: missing."""

    path: Path
    name: str
    keys: Mapping[str, str | None]


@dataclass(frozen=True)
class ParquetFolder:
    """The pieces of a folder, read one after another; what is called ``_…`` or ``.…`` is no piece.

    Files and folders follow by their names, compared as texts: ``part-10`` comes before ``part-2``. Columns
    of folders' names are texts, and come behind those of the pieces.
    """

    path: Path

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in the order of the pieces, the first batch without any.

        Raises InvalidArgument for a folder without pieces, with other folders or files, for a piece that
        cannot be read, for one whose columns are not those of the first, and for folders' names that do not
        give all pieces the same further columns.
        """
        if not self.path.is_dir():
            raise _fault(f"There is no folder {self.path}.", "Name one that is there.")
        schema: pa.Schema | None = None
        pieces = list(self._pieces(self.path, {}))
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

    def _pieces(self, folder: Path, keys: Mapping[str, str | None]) -> Iterator[_Piece]:
        for entry in sorted(own for own in folder.iterdir() if not own.name.startswith(("_", "."))):
            name = str(entry.relative_to(self.path))
            if entry.is_dir():
                key, is_partition, value = entry.name.partition("=")
                key = unquote(key)
                if not (is_partition and key):
                    raise _fault(
                        f"The folder {self.path} has the folder {name} in it, which is no key=value.",
                        "Leave nothing in it but pieces and folders of partitions, such as year=2026.",
                    )
                if key in keys:
                    raise _fault(f"{name} gives the column {key!r} twice.", "Leave one of both folders out.")
                yield from self._pieces(entry, {**keys, key: None if value == _NULL else unquote(value)})
            elif entry.suffix != ".parquet":
                raise _fault(
                    f"{name} in {self.path} is no .parquet file.", "Leave nothing else in the folder."
                )
            else:
                yield _Piece(entry, name, keys)


def _schema_of(piece: _Piece) -> pa.Schema:
    """The names and types of the columns, those of their values where cells point into a dictionary."""
    arrow = library("folder", "pyarrow")
    fields = []
    for own in _opened(piece).schema_arrow:
        is_coded = arrow.types.is_dictionary(own.type)
        fields.append((own.name, own.type.value_type if is_coded else own.type))
    for key in piece.keys:
        if key in dict(fields):
            raise _fault(
                f"{piece.name} has a column {key!r}, and its folder is called by one, too.",
                "Rename the folders, or leave the column out of the pieces.",
            )
        fields.append((key, arrow.string()))
    return arrow.schema(fields)


def _require_same(first: _Piece, schema: pa.Schema, piece: _Piece, own: pa.Schema) -> None:
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


def _batches_of(piece: _Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    arrow = library("folder", "pyarrow")
    batches = _opened(piece).iter_batches(batch_size=BATCH_ROWS, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (arrow.ArrowException, OSError):
            raise _unreadable(piece) from None
        if batch is None:
            return
        named = [
            arrow.repeat(arrow.scalar(value, arrow.string()), len(batch)) for value in piece.keys.values()
        ]
        columns = [
            column.cast(type_) for column, type_ in zip((*batch.columns, *named), schema.types, strict=True)
        ]
        yield arrow.RecordBatch.from_arrays(columns, schema=schema)


def _opened(piece: _Piece) -> pq.ParquetFile:
    arrow, parquet = library("folder", "pyarrow"), library("folder", "pyarrow.parquet")
    try:
        return parquet.ParquetFile(piece.path, pre_buffer=False)
    except (arrow.ArrowException, OSError):
        # The library's message may repeat what is in the file.
        raise _unreadable(piece) from None


def _unreadable(piece: _Piece) -> InvalidArgument:
    return _fault(
        f"{piece.name} cannot be read: it is damaged, or no Parquet.", "Write it again, or remove it."
    )


def _fault(fault: str, remedy: str) -> InvalidArgument:
    return InvalidArgument("folder", fault, remedy)

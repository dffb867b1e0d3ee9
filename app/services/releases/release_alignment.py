"""Finished release files: read, and compared with the dataset that they were made of.

A missing column is suppressed. Whose row is whose is known by a key column, which holds the identifiers of
the dataset, or by the order, where somebody says that it is that of the records and every row is a
generalisation of the record in its place. A key or an order that was named and does not fit is never
exchanged for another alignment. With neither the file is not aligned, and it is matched with the records
which rows can be of any; but where persons have several rows, a file of whole classes under one level per
attribute is, by these. Either way it is looked whether the file keeps the records' order, for that tells
whose row is whose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.cell_formats import spelled_otherwise
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.rules.release_alignment import (
    DROPPED,
    Misfit,
    ReleasedColumn,
    align,
    fewest_persons,
    rows_of_whole_classes,
)
from app.domain.rules.release_order import KeptOrder, kept_order
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import AttributeDeclaration, declarations_of
from app.services.datasets.ingest.dialect import Dialect, reading_of
from app.services.datasets.tables import TableLoader
from app.services.datasets.text_columns import MISSING, TextColumn, read_columns
from app.services.ports import Store
from app.services.releases.aligned_release import AlignedRelease
from app.services.releases.readings import ASTERISK, readings_of
from app.services.releases.release_files import columns_of_release
from app.services.resources import Kind, Stored, TenantId, document_of

NOBODY_SAID: Final = (
    "Neither a key column nor the records' order was named, so that nobody knows whose row is whose."
)
ROWS_SHOWN: Final = 20
_NO_ORDER: Final = (
    "Leave the order out, so that rows are matched with whatever records they can be of, name a key column, "
    "or put the rows in the order of the records, with an empty one for each that is left out."
)

_NOT_THEIRS: Final = (
    "A release shows the original, a value above it in the hierarchy, or nothing: see that it is of this "
    "dataset, and that the key is right."
)


async def align_release(
    loader: TableLoader,
    store: Store,
    tenant: TenantId,
    dataset: Stored,
    upload: Stored,
    key: str | None = None,
    order: Literal["records"] | None = None,
    pointer: str = "/release",
) -> AlignedRelease:
    """Align a release file with the dataset.

    Parameters
    ----------
    key
        Column of the file with the identifier of every row. It is no part of the release.
    order
        Says that the file keeps the order of the records; needed to align it without a key.

    What does not fit the key or the order that is named (keys that are missing, repeated or unknown, rows
    that are no generalisation of their records) is the release's doubt. InvalidInput for a file with other
    columns, for values that are in no hierarchy, and for a key where the dataset has no identifier.
    """
    names = columns_of_release(dataset, upload, key, pointer)
    table = await loader.table(tenant, dataset)
    read = [*names.values(), *([] if key is None else [key])]
    async with store.work(tenant) as work:
        columns = await read_columns(work, upload, read, pointer)
        source = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
    declared = {own.name: own for own in declarations_of(dataset)}
    texts = {name: columns[column].as_written for name, column in names.items()}
    dialects = [reading_of(own.summary["dialect"]) for own in (upload, source)]

    def found() -> AlignedRelease:
        release = _Release(upload, dataset, table, texts, declared, pointer, dialects)
        if key is not None:
            return release.by_key(columns[key])
        return release.by_order() if order == "records" else release.by_nothing()

    return await asyncio.to_thread(found)


class _Release:
    """The columns of a file as texts."""

    def __init__(
        self,
        upload: Stored,
        dataset: Stored,
        table: Table,
        texts: Mapping[str, TextColumn],
        declared: Mapping[str, AttributeDeclaration],
        pointer: str,
        dialects: Sequence[Dialect],
    ) -> None:
        self._upload, self._dataset, self._table = upload, dataset, table
        self._texts, self._declared, self._pointer = texts, declared, pointer
        self._dialects = dialects
        self._n_rows = int(upload.summary["rows"])
        self._columns = {name: self._released(name, column) for name, column in texts.items()}
        self._require_known_values()
        self._made = partial(
            AlignedRelease, records=self._n_rows, original=table, texts=texts, columns=self._columns
        )

    def _released(self, name: str, column: TextColumn) -> ReleasedColumn:
        labels = frozenset(self._table.hierarchies[self._table.position(name)].labels)
        declared = self._declared[name]

        def meaning_of(text: str) -> str | None:
            read: str | None = text
            for dialect in self._dialects:
                read = None if read is None else dialect.meaning_of(read)
            return None if read is None else declared.meaning_of(read)

        readings = (readings_of(text, declared.map, labels, meaning_of) for text in column.values)
        return ReleasedColumn(tuple(readings), column.positions)

    def by_key(self, ids: TextColumn) -> AlignedRelease:
        """The rule, with rows found by the identifiers of the key column, else the doubt."""
        rows, alone = self._rows_of_records(ids), self._alone()
        if isinstance(rows, Fault):
            return self._made(None, None, None, rows.message, alone, doubt=rows)
        alignment = align(self._table, self._columns, rows)
        if alignment.rule is not None:
            return self._made(alignment.rule, "key", rows, None, alone, kept=_kept(alone, rows))
        reason = " ".join(self._no_generalisation(misfit) for misfit in alignment.misfits)
        doubt = Fault(f"{self._pointer}/key", "not-a-generalisation", reason, _NOT_THEIRS)
        return self._made(None, None, None, reason, alone, doubt=doubt)

    def by_order(self) -> AlignedRelease:
        """The rule if every row is a generalisation of the record in its place, else the doubt."""
        n, table = self._n_rows, self._table
        if n == table.n_records:
            rows = np.arange(n, dtype=np.int64)
            alignment = align(table, self._columns, rows)
            if alignment.rule is not None:
                return self._made(alignment.rule, "order", rows, None, self._alone())
            shown = " ".join(self._no_generalisation(misfit) for misfit in alignment.misfits)
            reason = f"The rows are not those of the dataset in their order: {shown}"
        else:
            reason = f"The release file has {n} rows and the dataset {table.n_records} records."
        doubt = Fault(f"{self._pointer}/order", "other-order", reason, _NO_ORDER)
        return self._made(None, None, None, reason, self._alone(), doubt=doubt)

    def by_nothing(self) -> AlignedRelease:
        """No rule, for nobody said whose row is whose; and whether the rows seem to keep their order."""
        n, table, seems = self._n_rows, self._table, False
        if n == table.n_records > 1:
            places = np.arange(n, dtype=np.int64)
            in_place, one_further = (
                align(table, self._columns, rows).rule is not None for rows in (places, np.roll(places, 1))
            )
            seems = in_place and not one_further
        if table.persons is not None and not seems:
            rows = rows_of_whole_classes(table, self._columns)
            rule = None if rows is None else align(table, self._columns, rows).rule
            if rows is not None and rule is not None:
                return self._made(rule, "classes", rows, None, self._alone())
        # In the order of the records the rows of one person can be joined, however few their classes show.
        alone = self._alone(None if seems else fewest_persons(table, self._columns))
        return self._made(None, None, None, NOBODY_SAID, alone, fits_in_place=seems)

    def _no_generalisation(self, misfit: Misfit) -> str:
        shown = ", ".join(map(str, (misfit.rows[:ROWS_SHOWN] + 1).tolist()))
        which = f"row {shown}" if len(misfit.rows) == 1 else f"{len(misfit.rows)} rows"
        more = "" if len(misfit.rows) == 1 else f" (first rows: {shown})"
        return (
            f"In {which} the value of {misfit.attribute!r} is neither the original nor above it in the "
            f"hierarchy{more}."
        )

    def _rows_of_records(self, ids: TextColumn) -> Longs | Fault:
        """(n,) the row of each record, −1 where there is none; or what is wrong with the keys."""
        if self._table.entity_ids is None:
            raise InvalidInput.of(
                f"{self._pointer}/key",
                "no-identifier",
                f"The dataset {self._dataset.name!r} has no identifier that a key could be compared with.",
                "Declare an identifier in its schema, or, if the file keeps the order of the records, say so "
                'by "order": "records".',
            )
        record_of = {entity: row for row, entity in enumerate(self._table.entity_ids.tolist())}
        named = [
            next((record_of[own] for own in (text, *spelled_otherwise(text)) if own in record_of), UNKNOWN)
            for text in ids.values
        ]
        found = np.array([*named, UNKNOWN], dtype=np.int64)
        records = found[ids.positions]
        rows = np.full(self._table.n_records, DROPPED, dtype=np.int64)
        known = np.flatnonzero(records != UNKNOWN)
        # The first row of each key is kept, so that the others are repetitions.
        rows[records[known[::-1]]] = known[::-1]
        repeated = known[rows[records[known]] != known]
        wrong = {
            "missing-key": ("has no key", np.flatnonzero(ids.positions == MISSING)),
            "unknown-key": (
                "has a key that is no identifier of the dataset",
                np.flatnonzero((ids.positions != MISSING) & (records == UNKNOWN)),
            ),
            "repeated-key": ("repeats the key of an earlier one", repeated),
        }
        wrong = {code: (what, found) for code, (what, found) in wrong.items() if len(found)}
        if not wrong:
            return rows
        said = (
            f"Each of {len(found)} rows of the release file {what} "
            f"(first rows: {', '.join(map(str, (found[:ROWS_SHOWN] + 1).tolist()))})."
            for what, found in wrong.values()
        )
        remedy = "Give every row the identifier of its record, once."
        return Fault(f"{self._pointer}/key", next(iter(wrong)), " ".join(said), remedy)

    def _require_known_values(self) -> None:
        """InvalidInput for values of which no reading is in the hierarchy at all."""
        faults = []
        for name, column in self._columns.items():
            labels = frozenset(self._table.hierarchies[self._table.position(name)].labels)
            unknown = np.array(
                [not any(own is None or own in labels for own in readings) for readings in column.readings],
                dtype=bool,
            )
            if unknown.any():
                rows = self._texts[name].rows_of(unknown)
                shown = ", ".join(map(str, rows[:ROWS_SHOWN].tolist()))
                faults.append(
                    Fault(
                        f"{self._pointer}/upload",
                        "unknown-value",
                        f"{len(rows)} rows of the release file show a value of {name!r} that is not in its "
                        f"hierarchy (first rows: {shown}).",
                        _how_to_write(self._declared[name]),
                    )
                )
        refuse(faults)

    def _alone(self, persons: Ints | None = None) -> Table:
        """The file as a table of its own, with (r,) persons of its rows."""
        table = self._table
        hierarchies: list[Hierarchy] = []
        columns: list[Ints] = []
        for name, hierarchy in zip(table.attributes, table.hierarchies, strict=True):
            if name not in self._columns:
                own, codes = hierarchy, np.zeros(self._n_rows, dtype=np.int32)
            elif name in table.sensitive:
                own, codes = hierarchy, self._nodes(name, hierarchy)
            else:
                own, codes = self._texts_as_nodes(name, hierarchy)
            hierarchies.append(own)
            columns.append(codes)
        return Table(
            table.attributes,
            tuple(hierarchies),
            np.stack(columns, axis=1),
            sensitive=table.sensitive,
            persons=persons,
        )

    def _labels(self, name: str, hierarchy: Hierarchy) -> list[str | None]:
        """Of each distinct text the label that it stands for, None for ⊥."""
        known = frozenset(hierarchy.labels)
        top = hierarchy.labels[TOP]
        meant = [
            next(own for own in readings if own is None or own in known)
            for readings in self._columns[name].readings
        ]
        return [None if label == top else label for label in meant]

    def _texts_as_nodes(self, name: str, hierarchy: Hierarchy) -> tuple[Hierarchy, Ints]:
        """A flat hierarchy of the texts shown, and the node of each cell.

        Cells that show nothing are told apart where that is written in several ways.
        """
        column, labels = self._texts[name], self._labels(name, hierarchy)
        ways = labels.count(None) + (column.n_missing > 0)
        shown = sorted(text for text, own in zip(column.values, labels, strict=True) if own or ways > 1)
        node = {text: code for code, text in enumerate(shown, start=1)}
        own = Hierarchy((hierarchy.labels[TOP], *shown), ((), *((TOP,) for _ in shown)))
        return own, _of_cells([node.get(text, TOP) for text in column.values], column)

    def _nodes(self, name: str, hierarchy: Hierarchy) -> Ints:
        """The node of each cell; InvalidInput for a label that several nodes have."""
        nodes = [TOP if own is None else hierarchy.node_of(own) for own in self._labels(name, hierarchy)]
        if None in nodes:
            raise InvalidInput.of(
                f"{self._pointer}/upload",
                "ambiguous-value",
                f"The release file shows values of {name!r} that several nodes of its hierarchy are called.",
                "Give a key column, so that the originals tell which of them is meant.",
            )
        return _of_cells([TOP if node is None else node for node in nodes], self._texts[name])


def _kept(alone: Table, row_of_record: Longs) -> KeptOrder | None:
    """Whether a file reads as it would in the order of the records that its rows are of."""
    kept = np.flatnonzero(row_of_record != DROPPED)
    records = np.empty(alone.n_records, dtype=np.int64)
    records[row_of_record[kept]] = kept
    columns, sizes = [alone.codes[:, j] for j in range(alone.n_attributes)], alone.sizes
    quasi = alone.quasi_identifiers
    rows = distinct_rows(columns, sizes, alone.n_records)
    classes = distinct_rows([columns[j] for j in quasi], [sizes[j] for j in quasi], alone.n_records)
    return kept_order(records, rows.inverse, classes.inverse)


def _of_cells(nodes: Sequence[int], column: TextColumn) -> Ints:
    """The node of each cell; empty ones are ⊥."""
    found: Ints = np.array([*nodes, TOP], dtype=np.int32)[column.positions]
    return found


def _how_to_write(declared: AttributeDeclaration) -> str:
    """What helps where a file shows values that the hierarchy does not know."""
    usual = f"Write values as the hierarchy does, and {ASTERISK} or nothing for suppressed ones."
    if declared.format is None:
        return usual
    written = "dates like 1975-05-10" if declared.format.is_of_dates else "numbers like 17100.5"
    return f"{usual} Cells like {declared.format.value} are {written} in the dataset, and in its releases."

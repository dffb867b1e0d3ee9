"""From an upload's columns and a declared schema to encoded attributes, every cell accounted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.builders import flat
from app.domain.hierarchies.cell_formats import NUMBER_FORMATS, CellFormat, is_date, is_number, read_cell
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import (
    AttributeDeclaration,
    AttributeType,
    OnUnknown,
    OnUnreadable,
    Role,
)
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.persons import persons_of
from app.services.datasets.text_columns import MISSING, TextColumn


@dataclass(frozen=True, eq=False)
class EncodedAttribute:
    """A disclosed attribute.

    Attributes
    ----------
    column
        Its cells, mapped as declared.
    hierarchy
        The declared one with attached values, or the flat one of the column's values.
    nodes
        (len(column.values),) node of each distinct text, −1 where the hierarchy has none.
    """

    declaration: AttributeDeclaration
    column: TextColumn
    hierarchy: Hierarchy
    nodes: npt.NDArray[np.int32]

    @property
    def unknown(self) -> npt.NDArray[np.bool_]:
        """Whether each distinct text is outside the hierarchy."""
        flags: npt.NDArray[np.bool_] = self.nodes == UNKNOWN
        return flags

    @property
    def n_unknown_rows(self) -> int:
        """Cells whose text is outside the hierarchy."""
        return int(self.column.rows_per_value[self.unknown].sum())

    def first_unknown_rows(self) -> tuple[int, ...]:
        """The first of these, counted from 1."""
        is_unknown = np.append(self.unknown, False)[self.column.positions]
        return tuple((np.flatnonzero(is_unknown)[:ROWS_NAMED] + 1).tolist())

    @property
    def needs_attention(self) -> bool:
        """Whether unknown values keep the attribute from being scored."""
        return self.declaration.on_unknown is OnUnknown.REFUSE and bool(self.unknown.any())

    def codes(self) -> npt.NDArray[np.int32]:
        """(n,) node of each cell; missing and unknown cells are ⊥."""
        known = np.where(self.unknown, TOP, self.nodes)
        codes: npt.NDArray[np.int32] = np.append(known, TOP).astype(np.int32)[self.column.positions]
        return codes


def encode(
    declarations: Sequence[AttributeDeclaration],
    columns: Mapping[str, TextColumn],
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[EncodedAttribute, ...]:
    """The disclosed attributes in schema order; InvalidInput with every cell that is not of its type.

    ``hierarchies`` holds the declared ones by attribute.
    """
    faults: list[Fault] = []
    encoded = []
    for index, declaration in enumerate(declarations):
        found = columns[declaration.name]
        faults += _type_faults(index, declaration, found)
        column = as_declared(found, declaration)
        if declaration.role.is_disclosed and not faults:
            encoded.append(_encoded(declaration, column, hierarchies.get(declaration.name)))
    refuse(faults)
    return tuple(encoded)


def table_of(
    encoded: Sequence[EncodedAttribute],
    declarations: Sequence[AttributeDeclaration],
    columns: Mapping[str, TextColumn],
) -> Table:
    """The domain's table: the attributes, the identifier's texts as entity ids, record weights and persons.

    InvalidInput for rows without identifier or person, and for weights that are none.
    """
    n = encoded[0].column.n_rows
    codes = np.empty((n, len(encoded)), dtype=np.int32, order="F")
    for j, attribute in enumerate(encoded):
        codes[:, j] = attribute.codes()
    entity_ids = weights = persons = None
    has_unique_ids = False
    for index, declaration in enumerate(declarations):
        column = columns[declaration.name]
        if declaration.role is Role.IDENTIFIER:
            if column.n_missing:
                raise InvalidInput([missing_identifier(f"/attributes/{index}", column)])
            entity_ids = np.array(column.values, dtype=object)[column.positions]
            has_unique_ids = len(column.values) == n
        elif declaration.role is Role.WEIGHT:
            weights = _record_weights(f"/attributes/{index}", as_declared(column, declaration))
        elif declaration.role is Role.PERSON:
            refused_at = f"/attributes/{index}" if declaration.on_missing == "refuse" else None
            persons = persons_of(as_declared(column, declaration), refused_at).numbers
    return Table(
        tuple(attribute.declaration.name for attribute in encoded),
        tuple(attribute.hierarchy for attribute in encoded),
        codes,
        entity_ids,
        weights,
        frozenset(a.declaration.name for a in encoded if a.declaration.role is Role.SENSITIVE),
        has_unique_ids,
        persons,
    )


def _record_weights(pointer: str, column: TextColumn) -> npt.NDArray[np.float64]:
    """(n,) the weight of each record (Definitions: record distributions); the texts are numbers already."""
    values = np.array([float(value) for value in column.values], dtype=np.float64)
    wrong = ~(np.isfinite(values) & (values >= 0))
    rows = np.flatnonzero(np.append(wrong, True)[column.positions]) + 1
    if len(rows):
        raise InvalidInput.of(
            pointer,
            "not-a-weight",
            f"The record weight is missing, negative or too large "
            f"{in_rows(rows[:ROWS_NAMED].tolist(), len(rows))}.",
            "Give every record a finite weight of 0 or more.",
        )
    if not values.any():
        raise InvalidInput.of(
            pointer, "no-weight", "Every record has the weight 0.", "Give at least one record more than 0."
        )
    return values[column.positions]


def missing_identifier(pointer: str, ids: TextColumn) -> Fault:
    """The fault of cells without an identifier."""
    rows = np.flatnonzero(ids.positions == MISSING) + 1
    return Fault(
        pointer,
        "missing-identifier",
        f"The identifier is missing {in_rows(rows[:ROWS_NAMED].tolist(), len(rows))}.",
        "Give every row its identifier, or declare no identifier.",
    )


def as_declared(column: TextColumn, declaration: AttributeDeclaration) -> TextColumn:
    """The column as the dataset has it; texts that become equal are merged, unreadable ones are missing.

    Of a dataset that refuses unreadable cells there are none.
    """
    may_change = declaration.format is not None or declaration.on_unreadable is OnUnreadable.MISSING
    if not declaration.map and not may_change:
        return column
    return _reading(column, declaration).declared


def unreadable_rows(column: TextColumn, declaration: AttributeDeclaration) -> npt.NDArray[np.int64]:
    """Rows from 1 whose cells are no number, or no date, as the column is declared to write them."""
    if _check_of(declaration) is None:
        return np.empty(0, dtype=np.int64)
    return column.rows_of(_reading(column, declaration).is_unreadable)


@dataclass(frozen=True, eq=False)
class _Reading:
    """A column as it is declared, and which of its own texts cannot be read so."""

    declared: TextColumn
    is_unreadable: npt.NDArray[np.bool_]


_readings: Final[WeakKeyDictionary[TextColumn, dict[object, _Reading]]] = WeakKeyDictionary()
"""Reading a million different texts takes seconds, and what is said of a column needs it several times."""


def _reading(column: TextColumn, declaration: AttributeDeclaration) -> _Reading:
    """How the column is read, once as long as there is the column."""
    known = _readings.setdefault(column, {})
    asked = (declaration.role, declaration.type, declaration.format, frozenset(declaration.map.items()))
    if asked not in known:
        values = _values(column, declaration)
        is_unreadable = np.array([value is None for value in values], dtype=bool)
        known[asked] = _Reading(column.merged(values), is_unreadable)
    return known[asked]


_IS_OF_TYPE: Final = {AttributeType.NUMBER: is_number, AttributeType.DATE: is_date}


def _check_of(declaration: AttributeDeclaration) -> Callable[[str], bool] | None:
    """Whether a text is of the column's type; None where any is, as of names of persons."""
    return None if declaration.role is Role.PERSON else _IS_OF_TYPE.get(declaration.type)


def _values(column: TextColumn, declaration: AttributeDeclaration) -> list[str | None]:
    """What each distinct text of the column is in the dataset; None if it cannot be read."""
    is_of_type, format_ = _check_of(declaration), declaration.format
    values: list[str | None] = []
    for text in column.values:
        value: str | None = declaration.map.get(text, text)
        if format_ is not None and text not in declaration.map:
            value = read_cell(text, format_)
        elif is_of_type is not None and value is not None and not is_of_type(value):
            value = None
        elif format_ in NUMBER_FORMATS and value is not None:
            value = read_cell(value, CellFormat.POINT)
        values.append(value)
    return values


def _encoded(
    declaration: AttributeDeclaration, column: TextColumn, declared: Hierarchy | None
) -> EncodedAttribute:
    hierarchy = declared
    if hierarchy is None:
        ordered = _in_order(column.values, declaration.type)
        hierarchy = flat(ordered) if ordered else Hierarchy(("*",), ((),))
    if declaration.on_unknown is OnUnknown.ATTACH:
        hierarchy = hierarchy.with_attached(_in_order(column.values, declaration.type))
    nodes, _ = hierarchy.encode(column.values)
    return EncodedAttribute(declaration, column, hierarchy, nodes)


def _in_order(values: Sequence[str], type_: AttributeType) -> list[str]:
    """Numbers by value, others (ISO dates too) by their text."""
    if type_ is AttributeType.NUMBER:
        return sorted(values, key=lambda value: (Decimal(value), value))
    return sorted(values)


def _type_faults(index: int, declaration: AttributeDeclaration, column: TextColumn) -> list[Fault]:
    if declaration.on_unreadable is OnUnreadable.MISSING:
        return []
    rows = unreadable_rows(column, declaration)
    if not len(rows):
        return []
    what, format_ = declaration.type.value, declaration.format
    written = "" if format_ is None else f" written like {format_.value}"
    usual = (
        "Write numbers like 1200 or 0.5 and dates like 1975-05-10, or declare the format that the cells have"
        if format_ is None
        else "Map these cells to values"
    )
    return [
        Fault(
            f"/attributes/{index}",
            f"not-a-{what}",
            f"Column {declaration.name!r} holds cells that are no {what}{written} "
            f"{in_rows(rows[:ROWS_NAMED].tolist(), len(rows))}.",
            f"{usual}, declare on_unreadable missing, declare markers of missing values at upload, or "
            "declare the type categorical.",
        )
    ]

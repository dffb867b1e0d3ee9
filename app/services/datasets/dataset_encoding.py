"""From an upload's columns and a declared schema to encoded attributes, every cell accounted for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.builders import flat
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, OnUnknown, Role
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.text_columns import MISSING, TextColumn

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


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
        column = mapped(columns[declaration.name], declaration.map)
        faults += _type_faults(index, declaration, column)
        if declaration.role.is_disclosed and not faults:
            encoded.append(_encoded(declaration, column, hierarchies.get(declaration.name)))
    refuse(faults)
    return tuple(encoded)


def table_of(
    encoded: Sequence[EncodedAttribute],
    declarations: Sequence[AttributeDeclaration],
    columns: Mapping[str, TextColumn],
) -> Table:
    """The domain's table of the attributes, with the identifier's texts as entity ids, and record weights.

    InvalidInput for rows without identifier, and for weights that are none.
    """
    n = encoded[0].column.n_rows
    codes = np.empty((n, len(encoded)), dtype=np.int32, order="F")
    for j, attribute in enumerate(encoded):
        codes[:, j] = attribute.codes()
    entity_ids = weights = None
    for index, declaration in enumerate(declarations):
        column = columns[declaration.name]
        if declaration.role is Role.IDENTIFIER:
            if column.n_missing:
                raise InvalidInput([missing_identifier(f"/attributes/{index}", column)])
            entity_ids = np.array(column.cells(), dtype=object)
        elif declaration.role is Role.WEIGHT:
            weights = _record_weights(f"/attributes/{index}", mapped(column, declaration.map))
    return Table(
        tuple(attribute.declaration.name for attribute in encoded),
        tuple(attribute.hierarchy for attribute in encoded),
        codes,
        entity_ids,
        weights,
        frozenset(a.declaration.name for a in encoded if a.declaration.role is Role.SENSITIVE),
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


def mapped(column: TextColumn, replacements: Mapping[str, str]) -> TextColumn:
    """The column with texts replaced; texts that become equal are merged."""
    if not replacements:
        return column
    place: dict[str, int] = {}
    target = [place.setdefault(replacements.get(value, value), len(place)) for value in column.values]
    positions = np.array([*target, MISSING], dtype=np.int32)[column.positions]
    return TextColumn(tuple(place), positions)


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
    is_right = {AttributeType.NUMBER: _is_number, AttributeType.DATE: is_date}.get(declaration.type)
    if is_right is None:
        return []
    wrong = np.array([not is_right(value) for value in column.values], dtype=bool)
    if not wrong.any():
        return []
    rows = column.rows_of(wrong)
    what = declaration.type.value
    return [
        Fault(
            f"/attributes/{index}",
            f"not-a-{what}",
            f"Column {declaration.name!r} holds cells that are no {what} "
            f"{in_rows(rows[:ROWS_NAMED].tolist(), len(rows))}.",
            "Write numbers like 1200 or 0.5 and dates like 1975-05-10, declare markers of missing values "
            "at upload, or declare the type categorical.",
        )
    ]


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def is_date(value: str) -> bool:
    """Whether a text is a date like 1975-05-10."""
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False

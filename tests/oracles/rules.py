"""Rules that name what every cell shows, checked cell by cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.domain.errors import Fault, InvalidInput
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table


def cell_rule(table: Table, codes: npt.NDArray[np.integer], pointer: str = "/cells") -> CellRule:
    """Check disclosed nodes (n, m); faults name attribute and the first rows (numbered from 1)."""
    if codes.shape != table.codes.shape:
        raise InvalidInput.of(
            pointer,
            "wrong-shape",
            f"The rule is for {codes.shape[0]} records; the dataset has {table.n_records}.",
            "Give the disclosed value of every cell of the dataset.",
        )
    disclosed = np.asfortranarray(codes, dtype=np.int32)
    faults = []
    for j, (attribute, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        column = disclosed[:, j]
        passed = (column >= 0) & (column < hierarchy.n_nodes)
        passed[passed] = hierarchy.are_above(column[passed], table.codes[passed, j])
        bad = np.flatnonzero(~passed)
        if len(bad):
            rows = ", ".join(str(row + 1) for row in bad[:10])
            faults.append(
                Fault(
                    f"{pointer}/{attribute}",
                    "not-a-generalisation",
                    f"{len(bad)} records would disclose a value of attribute {attribute!r} that is not the "
                    f"original or a generalisation of it (first rows: {rows}).",
                    "Disclose the value itself, one above it in the hierarchy, or null.",
                )
            )
    if faults:
        raise InvalidInput(faults)
    return CellRule(disclosed)

"""The records that linking looks at: those that cannot differ in any result, once each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.analyses.given_links import GivenLinks
from app.domain.arrays import Floats, Ints, Longs
from app.domain.dictionaries.dictionary import Dictionary, own_rows
from app.domain.models.entry import MeasureContext, given
from app.domain.rules.rule import apply
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import distinct_rows


@dataclass(frozen=True, eq=False)
class LinkageUnits:
    """Records that cannot differ in any result, once each; ``first`` (u,) is one of each's records.

    ``own_auxiliary`` and ``own_entity`` are rows of the auxiliary source and of the dictionary, −1 for none
    or where identifiers say nothing; ``weight`` is what the records count in means, ``records`` how many.
    """

    codes: Ints
    groups: Ints | None
    failure_groups: Ints | None
    own_auxiliary: Longs
    own_entity: Longs
    weight: Floats
    records: Longs
    first: Longs

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.records)


def units_of(context: MeasureContext, auxiliary: Dictionary, pairs: GivenLinks | None) -> LinkageUnits:
    """The units of a context's records, each record with given links being one of its own."""
    table = context.table
    codes = apply(given(context.rule), table)
    n = table.n_records
    none = np.full(n, -1, dtype=np.int64)
    own_auxiliary = own_rows(table, auxiliary) if auxiliary.comparable_ids else none
    dictionary = given(context.dictionary)
    own_entity = own_rows(table, dictionary) if dictionary.comparable_ids else none
    groups, failure_groups = _groups(context.sensitivity), _groups(context.failure)
    columns: list[npt.NDArray[np.integer]] = [codes[:, j] for j in range(table.n_attributes)]
    sizes = list(table.sizes)
    for column, size in (
        (None if pairs is None else pairs.owners(n), n + 1),
        (own_auxiliary + 1, auxiliary.n_entities + 1),
        (own_entity + 1, dictionary.n_entities + 1),
        (groups, 0 if context.sensitivity is None else context.sensitivity.n_groups),
        (failure_groups, 0 if context.failure is None else context.failure.n_groups),
    ):
        if column is not None:
            columns.append(column)
            sizes.append(size)
    rows = distinct_rows(columns, sizes, n)
    first = np.zeros(rows.size, dtype=np.int64)
    first[rows.inverse[::-1]] = np.arange(n - 1, -1, -1)
    return LinkageUnits(
        codes[first],
        None if groups is None else groups[first],
        None if failure_groups is None else failure_groups[first],
        own_auxiliary[first],
        own_entity[first],
        np.bincount(rows.inverse, table.weights, minlength=rows.size).astype(np.float64),
        rows.counts,
        first,
    )


def _groups(sensitivity: Sensitivity | None) -> Ints | None:
    return sensitivity.groups if sensitivity is not None and sensitivity.is_personal else None

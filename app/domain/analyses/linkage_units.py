"""What linking looks at: records that cannot differ in any result, once each, and links that are given."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Floats, Integers, Ints, Longs
from app.domain.catalogue.catalogue_types import RowInQuestion
from app.domain.dictionaries.dictionary import Dictionary, own_rows
from app.domain.errors import InvalidInput
from app.domain.models.entry import MeasureContext, given
from app.domain.rules.rule import apply
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE, exact_sum

MOST_LINKS: Final = 10_000
_ROWS_NAMED: Final = 10


@dataclass(frozen=True)
class GivenLink:
    """A record, a row of the auxiliary source that it may be linked to, and how probable that is."""

    row: Annotated[
        RowInQuestion,
        Ge(1),
        Le(1_000_000_000),
        doc("The record, as a row of the dataset from 1; needs the scope `data:read`."),
    ]
    auxiliary_row: Annotated[
        int, Ge(1), Le(1_000_000_000), doc("The row of the auxiliary source's table, from 1.")
    ]
    probability: Annotated[
        float, Ge(0), Le(1), doc("Probability that the attacker links the record to this row.")
    ]
    correct: Annotated[
        float | None,
        Ge(0),
        Le(1),
        doc("Probability that this link is to the same entity. null: probability_correct says it."),
    ] = None


@dataclass(frozen=True, eq=False)
class GivenLinks:
    """Pairs in the order of their records: (p,) records and auxiliary rows from 0, and what is said of them.

    ``correct`` is NaN where a pair does not say it.
    """

    record: Longs
    entity: Longs
    probability: Floats
    correct: Floats

    def of(self, record: int) -> slice:
        """The pairs of a record."""
        first, last = np.searchsorted(self.record, (record, record + 1)).tolist()
        return slice(first, last)

    def owners(self, n_records: int) -> Longs:
        """(n,) record + 1 for those that have links, 0 for the others, which are alike."""
        found = np.zeros(n_records, dtype=np.int64)
        found[self.record] = self.record + 1
        return found


def given_links(links: Sequence[GivenLink], n_records: int, n_entities: int) -> GivenLinks:
    """The pairs; InvalidInput for rows that there are not, pairs named twice, and sums above 1."""
    for i, link in enumerate(links):
        for name, row, most in (
            ("row", link.row, n_records),
            ("auxiliary_row", link.auxiliary_row, n_entities),
        ):
            if row > most:
                raise InvalidInput.of(
                    f"/measure/links/{i}/{name}",
                    "unknown-row",
                    f"There is no row {row}: the table has {most}.",
                    "Count the rows of the table from 1.",
                )
    ordered = sorted(links, key=lambda own: (own.row, own.auxiliary_row))
    for one, other in itertools.pairwise(ordered):
        if (one.row, one.auxiliary_row) == (other.row, other.auxiliary_row):
            raise InvalidInput.of(
                "/measure/links",
                "duplicate-link",
                f"Row {one.row} is linked to row {one.auxiliary_row} of the auxiliary source twice.",
                "Name each pair once, with its whole probability.",
            )
    # Whom nobody links may have values that exclude the record's.
    ordered = [own for own in ordered if own.probability > 0]
    found = GivenLinks(
        np.array([own.row - 1 for own in ordered], dtype=np.int64),
        np.array([own.auxiliary_row - 1 for own in ordered], dtype=np.int64),
        np.array([own.probability for own in ordered], dtype=np.float64),
        np.array([np.nan if own.correct is None else own.correct for own in ordered], dtype=np.float64),
    )
    above = [
        int(record) + 1
        for record in np.unique(found.record)
        if exact_sum(found.probability[found.of(int(record))]) > 1 + FEASIBILITY_TOLERANCE
    ]
    if above:
        raise InvalidInput.of(
            "/measure/links",
            "probabilities-above-one",
            f"The probabilities of the links of {len(above)} records add up to more than 1 "
            f"(first rows: {', '.join(map(str, above[:_ROWS_NAMED]))}).",
            "They add up to at most 1 for each record; the rest is that it is linked to nobody.",
        )
    return found


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
    groups, failure_groups = (
        None if own is None else own.personal_groups for own in (context.sensitivity, context.failure)
    )
    columns: list[Integers] = [codes[:, j] for j in range(table.n_attributes)]
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

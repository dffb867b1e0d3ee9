"""COUNT queries asked of a release by whoever has nothing else (Cao and Karras (2012), section 6.2).

Of a release that a transition matrix drew, one attribute is counted through the inverse of the matrix (see
:mod:`app.domain.mechanisms.count_estimates`), the others as they are shown. Of a release that a rule made all
are counted as they are shown, so that nothing is left to chance and no standard error is told; generalised
cells are taken as evenly spread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.hierarchies.predicates import FAULTS_SHOWN, AskedAttribute, Predicate, Selection
from app.domain.mechanisms.copied_counts import CopiedRecords, PublishedCopies, why_untold
from app.domain.mechanisms.count_estimates import (
    CountEstimates,
    CountEstimator,
    CountQuery,
    EstimateOptions,
    in_order,
)
from app.domain.mechanisms.drawn_release import DrawnRelease, PublishedMatrix
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.table import no_attribute

Asked = Sequence[Predicate]
"""The predicates of a query, all of which a record must fulfil; without any, all records are counted."""

Selected = Mapping[int, Selection]
"""The same once it is read, by the attribute's place."""

COPIES_TAKE: Final = 2
"""Times as long a count takes with what its standard error follows from in copies."""
NUMBERS_AT_ONCE: Final = 2**22
"""Shares of nodes and values asked for by the queries that are prepared at a time."""

SECONDS_PER_ROW: Final = 4e-8
SECONDS_PER_COMBINATION: Final = 1e-8
SECONDS_PER_NUMBER: Final = 5e-9
SECONDS_PER_QUERY: Final = 1e-4
SECONDS_PER_VALUE: Final = 3e-8


def published_matrix(release: DrawnRelease) -> PublishedMatrix:
    """Through what the release is counted; NotSupported if that is no transition matrix."""
    if release.counted_through is not None:
        return release.counted_through
    raise NotSupported(
        f"A release of the mechanism {release.mechanism!r} comes with no transition matrix through which it "
        "could be counted.",
        "Count in its table, as its manifest says how.",
    )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The attribute that was drawn: its place, and the node of each value of the matrix."""

    attribute: int
    nodes: Ints
    matrix: TransitionMatrix


class CountedRelease:
    """The records of a release, reduced to what queries ask of them.

    Parameters
    ----------
    attributes
        The attributes of its columns.
    records
        The records, of a release that was drawn without the attribute that was.
    drawn
        The attribute that was drawn, if one was.
    copies
        What is known of its values, if these are published in copies.
    known
        Of a release that was drawn, the quasi-identifiers by which persons are found.
    """

    def __init__(
        self,
        attributes: Sequence[AskedAttribute],
        records: PublishedRecords,
        drawn: _Drawn | None,
        copies: PublishedCopies | None = None,
        known: Sequence[int] = (),
    ) -> None:
        self._attributes, self._known = dict(enumerate(attributes)), known
        self._positions = {own.name: j for j, own in self._attributes.items()}
        self._records, self._drawn = records, drawn
        matrix = TransitionMatrix(np.ones(1)) if drawn is None else drawn.matrix
        self._copies = copies
        self._errors = None if copies is None else CopiedRecords.told(records, copies)
        self._estimator = CountEstimator(
            records,
            matrix,
            self._errors,
            are_independent=copies is None,
            sizes_are_kept=copies is None or copies.keeps_sizes,
        )

    @classmethod
    def drawn(cls, release: DrawnRelease, attributes: Sequence[AskedAttribute]) -> CountedRelease:
        """Of a release that a mechanism drew; NotSupported without a transition matrix."""
        published, table = published_matrix(release), release.table
        own = table.position(published.attribute)
        hierarchy = table.hierarchies[own]
        drawn = _Drawn(own, published.nodes(hierarchy), published.matrix)
        shown = {j: table.codes[:, j] for j in range(table.n_attributes) if j != own}
        values = published.numbers(hierarchy).take(table.codes[:, own])
        records = PublishedRecords.of(shown, dict(enumerate(table.sizes)), values, drawn.matrix.n_values)
        known = [j for j in table.quasi_identifiers if j != own]
        return cls(
            attributes, replace(records, of_group=records.groups_by(known)), drawn, release.copied, known
        )

    @classmethod
    def under_rule(
        cls, rows: Ints, counts: Longs, sizes: Sequence[int], attributes: Sequence[AskedAttribute]
    ) -> CountedRelease:
        """Of a release that a rule made: distinct disclosed rows (d, attributes) with how many there are."""
        columns = {j: np.ascontiguousarray(rows[:, j]) for j in range(rows.shape[1])}
        nothing = np.zeros(len(rows), dtype=np.int32)
        amounts = counts.astype(np.float64)
        return cls(attributes, PublishedRecords(columns, dict(enumerate(sizes)), nothing, 1, amounts), None)

    @property
    def drawn_attribute(self) -> str | None:
        """The attribute that is counted through a matrix, None if none was drawn."""
        return None if self._drawn is None else self._attributes[self._drawn.attribute].name

    @property
    def without_errors(self) -> str | None:
        """Why no standard errors are told; None if they are."""
        if self._drawn is None:
            return "Nothing was drawn: what the release shows is counted."
        if self._copies is None or self._errors is not None:
            return None
        return why_untold(self._copies)

    @property
    def n_bytes(self) -> int:
        """Memory that the records take, and what is kept of copies beside them."""
        return self._records.n_bytes + (0 if self._errors is None else self._errors.n_bytes)

    def read(self, queries: Sequence[Asked], pointer: str = "/queries") -> Sequence[Selected]:
        """What queries select, by attribute; InvalidInput with the first of what they cannot mean."""
        faults: list[Fault] = []
        found: list[Selected] = []
        for i, own in enumerate(queries):
            found.append(self._read(own, f"{pointer}/{i}/where", faults))
            if len(faults) >= FAULTS_SHOWN:
                break
        refuse(faults[:FAULTS_SHOWN])
        return found

    def seconds(self, queries: Sequence[Selected]) -> float:
        """Estimated time that the estimates take."""
        rows, total = len(self._records.values), 0.0
        for attributes, places in self._by_attributes(queries).items():
            sizes = sorted(self._records.sizes[j] for j in attributes)
            combinations = min(rows, math.prod(sizes[:-1]))
            of_query = SECONDS_PER_QUERY + SECONDS_PER_COMBINATION * combinations
            of_query += SECONDS_PER_VALUE * self._records.n_values
            batches = -(-len(places) // self._at_once(attributes))
            total += SECONDS_PER_ROW * rows * (1 + len(attributes)) * batches + of_query * len(places)
        numbers = sum(self._attributes[j].numbers_per_query for query in queries for j in query)
        return (1 if self._errors is None else COPIES_TAKE) * total + SECONDS_PER_NUMBER * numbers

    def estimates(self, queries: Sequence[Selected], options: EstimateOptions) -> CountEstimates:
        """Of queries that were read; ``records`` are those that are selected by all that was not drawn."""
        if self._drawn is None:
            options = replace(
                options, clip=False, estimator="unbiased"
            )  # what is counted as it is shown is never out of range
        parts: list[CountEstimates] = []
        order: list[int] = []
        for attributes, places in self._by_attributes(queries).items():
            at_once = self._at_once(attributes)
            for start in range(0, len(places), at_once):
                some = places[start : start + at_once]
                asked = self._queries([queries[i] for i in some], attributes)
                found = self._estimator.estimates(asked, options)
                is_person = np.array([self._is_of_one_group(query) for query in asked], dtype=bool)
                parts.append(replace(found, is_one_group=found.is_one_group | is_person))
                order += some
        return in_order(parts, order)

    def _is_of_one_group(self, query: CountQuery) -> bool:
        """Whether one value is asked for of all quasi-identifiers, of somebody or nobody."""
        return bool(self._known) and all(
            j in query.shares and self._attributes[j].is_one_value(query.shares[j]) for j in self._known
        )

    def _read(self, query: Asked, pointer: str, faults: list[Fault]) -> Selected:
        found: dict[int, Selection] = {}
        for i, predicate in enumerate(query):
            if len(faults) >= FAULTS_SHOWN:
                break
            place, j = f"{pointer}/{i}", self._positions.get(predicate.attribute)
            if j is None:
                faults.append(no_attribute(f"{place}/attribute", predicate.attribute, list(self._positions)))
            elif j in found:
                faults.append(
                    Fault(
                        f"{place}/attribute",
                        "duplicate-attribute",
                        f"The query has two predicates on {predicate.attribute!r}.",
                        "Give one predicate per attribute: the values or the interval that both allow.",
                    )
                )
            else:
                try:
                    found[j] = self._attributes[j].read(predicate, place)
                except InvalidInput as error:
                    faults += error.faults
        return found

    def _by_attributes(self, queries: Sequence[Selected]) -> Mapping[tuple[int, ...], list[int]]:
        """Places of the queries by the attributes that they select records by: those shown as they are."""
        drawn = None if self._drawn is None else self._drawn.attribute
        found: dict[tuple[int, ...], list[int]] = {}
        for i, query in enumerate(queries):
            found.setdefault(tuple(sorted(j for j in query if j != drawn)), []).append(i)
        return found

    def _at_once(self, attributes: Sequence[int]) -> int:
        """How many queries on these attributes, and the one that was drawn, are prepared at a time."""
        own = [] if self._drawn is None else [self._drawn.attribute]
        numbers = sum(self._attributes[j].numbers_per_query for j in (*attributes, *own))
        return max(1, NUMBERS_AT_ONCE // (numbers + self._records.n_values))

    def _queries(self, queries: Sequence[Selected], attributes: Sequence[int]) -> list[CountQuery]:
        """Queries that select records by the same attributes."""
        shares = {j: self._attributes[j].shares([own[j] for own in queries]) for j in attributes}
        values: list[Floats | None] = [None] * len(queries)
        if self._drawn is not None:
            own = self._drawn.attribute
            asking = [i for i, query in enumerate(queries) if own in query]
            of_values = self._attributes[own].shares([queries[i][own] for i in asking])
            for i, of_query in zip(asking, of_values.take(self._drawn.nodes, axis=1), strict=True):
                values[i] = of_query
        return [
            CountQuery({j: of_query[i] for j, of_query in shares.items()}, values[i])
            for i in range(len(queries))
        ]

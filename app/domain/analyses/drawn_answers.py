"""Answers to COUNT queries from a release that a mechanism made, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats
from app.domain.classes.grouping import Grouping, lacking_records
from app.domain.hierarchies.hierarchy import TOP
from app.domain.mechanisms.copied_counts import CopiedRecords, why_untold
from app.domain.mechanisms.count_estimates import CountEstimator, CountQuery
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.models.entry import MeasureContext, given
from app.domain.tables.masks import shows_nothing

AS_SHOWN = TransitionMatrix(np.ones(1))
"""The matrix of one value, where rows are only counted."""
AS_THEY_ARE: Final = "What the release shows is counted as it is: no standard error follows from that."


class DrawnAnswers:
    """Estimates by the published matrix, or plain counts of rows where none was published.

    Rows that are copies of samples are groups by all quasi-identifiers of the release, whatever is asked.

    Parameters
    ----------
    attributes
        Positions of the attributes that queries may be about.
    quasi_identifiers
        Those of them that are quasi-identifiers.
    """

    def __init__(
        self,
        context: MeasureContext,
        attributes: Sequence[int],
        quasi_identifiers: Sequence[int],
        grouping: Grouping,
    ) -> None:
        drawn = given(context.drawn)
        codes = drawn.table.codes
        kept: Bools = ~lacking_records(codes, quasi_identifiers, grouping.missing)
        if grouping.suppressed == "excluded":
            kept &= ~context.of_rows.release.is_suppressed
        matrix, numbers = AS_SHOWN, np.zeros(int(kept.sum()), dtype=np.int32)
        self._drawn, self._nodes = -1, np.zeros(0, dtype=np.int32)
        through, copies = drawn.counted_through, drawn.copied
        if through is not None:
            self._drawn = drawn.table.position(through.attribute)
            hierarchy = drawn.table.hierarchies[self._drawn]
            self._nodes = through.nodes(hierarchy)
            numbers = through.numbers(hierarchy).take(codes[kept, self._drawn])
            matrix = through.matrix
        told = [j for j in attributes if j != self._drawn]
        # What shows nothing may be anything if a rule hid it, and nothing that is asked for if it is missing.
        self._in_no_interval = {
            j
            for j in told
            if grouping.missing != "matches_everything"
            and not drawn.suppresses
            and not shows_nothing(codes[:, j]).all()
        }
        known = [] if copies is None else [j for j in drawn.table.quasi_identifiers if j != self._drawn]
        shown = sorted({*told, *known})
        columns, sizes = {j: codes[kept, j] for j in shown}, {j: drawn.table.sizes[j] for j in shown}
        records, errors = PublishedRecords.of(columns, sizes, numbers, matrix.n_values), None
        self.without_errors: str | None = AS_THEY_ARE if through is None else None
        """Why there are no standard errors; None if there are."""
        if copies is not None:
            records = replace(records, of_group=records.groups_by(known))
            errors = CopiedRecords.told(records, copies)
            self.without_errors = why_untold(copies) if errors is None else None
        self._estimator = CountEstimator(
            records,
            matrix,
            errors,
            are_independent=copies is None,
            sizes_are_kept=copies is None or copies.keeps_sizes,
        )

    def of(self, queries: Sequence[Mapping[int, Floats]]) -> Floats:
        """(q, 2) the estimate of each query and its standard error, not a number where there is none.

        A query is per attribute (nodes,) the share of each node that is asked for.
        """
        found = self._estimator.estimates([self._query(own) for own in queries])
        return np.stack([found.estimates, found.standard_errors], axis=1)

    def _query(self, shares: Mapping[int, Floats]) -> CountQuery:
        told, values = {}, None
        for j, own in shares.items():
            if j == self._drawn:
                values = own[self._nodes] == 1.0
                continue
            told[j] = own
            if j in self._in_no_interval:
                told[j] = own.copy()
                told[j][TOP] = 0.0
        return CountQuery(told, values)

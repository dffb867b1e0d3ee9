"""COUNT queries, answered from a perturbed release alone (Cao and Karras (2012), section 5).

Who knows the transition matrix can undo on average what it did: see "Definitions: perturbation" for the
estimate and its variance. The standard error is over draws of the same records. Where a rule generalised the
quasi-identifiers, a record counts with the share of what its cell may stand for, as if these were evenly
spread, and so it does where its sensitive value is one that stands for several: how far that is off is in no
standard error. Values that are all replaced alike, and those in copies, have modules of their own
(``uniform_errors``, ``copied_counts``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Gt, Lt, doc

from app.domain.arrays import Bools, Floats
from app.domain.errors import NotSupported
from app.domain.mechanisms.copied_counts import CopiedRecords, CopiedSums
from app.domain.mechanisms.count_intervals import Spread
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.published_records import PublishedRecords, Reduced
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_errors import (
    ShownRecords,
    likeliest_shares,
    underlying_intervals,
    uniform_retention,
)

NUMBERS_AT_ONCE: Final = 2**20
Estimator = Literal["unbiased", "maximum_likelihood"]


@dataclass(frozen=True, eq=False)
class CountQuery:
    """How many records have these quasi-identifiers and one of these sensitive values.

    Parameters
    ----------
    shares
        Per attribute asked about (nodes,), the share of what each node may stand for that is asked for:
        0 or 1 of values as they are. An attribute that is not named may have any value.
    values
        (m,) the share of what each sensitive value may stand for that is counted, or whether it is; None:
        all of all, so that nothing has to be estimated.
    """

    shares: Mapping[int, Floats]
    values: Floats | Bools | None = None


@dataclass(frozen=True)
class EstimateOptions:
    """What is wanted of estimates."""

    level: Annotated[
        float, Gt(0), Lt(1), doc("Share of draws in which the interval holds the count, at least.")
    ] = 0.95
    clip: Annotated[
        bool,
        doc("Move estimates and intervals to between 0 and the records selected: nearer, but biased."),
    ] = False
    estimator: Annotated[
        Estimator,
        doc(
            "`maximum_likelihood`: the counts, none below 0, under which what is published is most probable, "
            "of values that were all replaced alike and one by one: biased, and not additive. Standard "
            "errors and intervals stay those of the unbiased estimate."
        ),
    ] = "unbiased"


@dataclass(frozen=True, eq=False)
class CountEstimates:
    """What was estimated, one element per query.

    Parameters
    ----------
    records
        Records with the quasi-identifiers, exactly where no cell is generalised.
    estimates, standard_errors
        Records that have one of the values too; the standard error is itself an estimate.
    low, high
        The interval by the normal law or, of few records, one that holds at least as often.
    is_spread
        Whether generalised cells were taken as evenly spread.
    is_biased
        Whether the mean over draws may be another number: because of that, of clipping, of the estimator, or
        of groups that may have been suppressed.
    is_one_group
        Whether all records selected are alike in all quasi-identifiers.
    underlying_errors, underlying_low, underlying_high
        The same as standard errors and intervals, of records times the share in what the records are a
        sample of; not a number where values were not replaced alike and one by one.
    is_wilson
        Whether the latter interval is Wilson's: none or all of the records show one of the values.
    is_bounded, is_underlying_bounded
        Whether the intervals are those of few records (see :mod:`app.domain.mechanisms.count_intervals`).
    """

    records: Floats
    estimates: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    is_spread: Bools
    is_biased: Bools
    is_one_group: Bools
    underlying_errors: Floats
    underlying_low: Floats
    underlying_high: Floats
    is_wilson: Bools
    is_bounded: Bools
    is_underlying_bounded: Bools


def deviations(matrix: TransitionMatrix, weights: Floats, chosen: Floats) -> Floats:
    """What a record with each true value adds to the variance of an estimate, (…, m).

    ``chosen`` is how much a record with each value counts, 0 or 1 where it is the indicator of a set, and
    ``weights`` PM⁻ᵀ of it, both (…, m). For a true j the weight of the published value has the mean chosen_j
    and the variance Σ_i PM[i][j]·z_i² − chosen_j².
    """
    squares = weights**2
    of_any = squares.sum(axis=-1)[..., None]
    return np.maximum(matrix.retention * squares + matrix.elsewhere * of_any - chosen**2, 0.0)


class CountEstimator:
    """Estimates from the records of a release; NotSupported if the matrix has no inverse.

    Parameters
    ----------
    are_independent, copies
        Whether each record's value was drawn by itself; else what standard errors follow from, if any do.
    sizes_are_kept
        Whether as many records are published of each group as it has.
    """

    def __init__(
        self,
        records: PublishedRecords,
        matrix: TransitionMatrix,
        copies: CopiedRecords | None = None,
        *,
        are_independent: bool = True,
        sizes_are_kept: bool = True,
    ) -> None:
        self._records, self._matrix = records, matrix
        self._inverse = InverseMatrix(matrix)
        self._copies, self._are_independent = copies, are_independent
        self._sizes_are_kept = sizes_are_kept
        self._p = uniform_retention(matrix)

    def estimates(
        self, queries: Sequence[CountQuery], options: EstimateOptions | None = None
    ) -> CountEstimates:
        """Of each query; queries on the same attributes share most of the work.

        NotSupported for the likeliest counts of values that were not replaced alike and one by one.
        """
        wanted = EstimateOptions() if options is None else options
        if wanted.estimator == "maximum_likelihood" and (self._p is None or not self._are_independent):
            raise NotSupported(
                "The likeliest counts are known only where all values were replaced alike and one by one.",
                "Ask for unbiased estimates, and clip them if none may be below 0.",
            )
        parts: list[CountEstimates] = []
        order: list[int] = []
        by_attributes: dict[tuple[int, ...], list[int]] = {}
        for i, query in enumerate(queries):
            by_attributes.setdefault(tuple(sorted(query.shares)), []).append(i)
        # So many at a time that their numbers can be held at once.
        most = max(1, NUMBERS_AT_ONCE // self._matrix.n_values)
        for attributes, places in by_attributes.items():
            reduced = self._records.on(attributes) if attributes else None
            copies = None if self._copies is None else self._copies.on(attributes)
            for start in range(0, len(places), most):
                some = places[start : start + most]
                parts.append(self._of_batch([queries[i] for i in some], reduced, copies, wanted))
                order += some
        return in_order(parts, order)

    def _of_batch(
        self,
        queries: Sequence[CountQuery],
        reduced: Reduced | None,
        copies: CopiedSums | None,
        wanted: EstimateOptions,
    ) -> CountEstimates:
        published, squared, is_spread, is_one = self._published(queries, reduced)
        # (q, m) the share of each value that is counted.
        every = np.ones(self._matrix.n_values)
        chosen = np.array([every if own.values is None else own.values for own in queries], dtype=np.float64)
        # The columns of the matrix sum to 1: all values together are counted without error.
        is_all, is_set = (chosen == 1.0).all(axis=1), ((chosen == 0.0) | (chosen == 1.0)).all(axis=1)
        is_spread |= ~is_set
        weights = np.where(is_all[:, None], 1.0, self._inverse.weights(chosen))
        records, estimates = published.sum(axis=1), np.einsum("qm,qm->q", published, weights)
        shown = self._shown(squared, chosen)
        off = deviations(self._matrix, weights, chosen)
        spread = Spread(
            weights.max(axis=1) - weights.min(axis=1),
            np.where(chosen < 1, off, 0.0).max(axis=1),
            np.where(chosen > 0, off, 0.0).max(axis=1),
            np.zeros(len(queries)),
            is_set & (shown is not None),
        )
        if copies is not None:
            shares = [own.shares for own in queries]
            variance = np.where(is_set, copies.variances(shares, chosen), np.nan)
            spread = copies.spread(shares, chosen, records)
        elif self._are_independent:
            # (q,) variances over draws, by the estimated counts of the values that the rows had
            true = np.maximum(self._inverse.applied(squared), 0.0)
            variance = np.asarray(np.einsum("qm,qm->q", true, off))
            if shown is not None:
                variance[is_set] = shown.variances()[is_set]
        else:
            variance = np.full(len(queries), np.nan)
        errors = np.sqrt(np.where(is_all & self._sizes_are_kept, 0.0, variance))
        is_bounded = spread.is_few(errors**2, wanted.level) & ~is_all
        low, high = (
            np.where(is_bounded, bound, np.where(is_all, estimates, normal))
            for bound, normal in zip(
                spread.bounded(estimates, records, wanted.level),
                spread.normal(estimates, records, errors, wanted.level),
                strict=True,
            )
        )
        low, high = (np.where(np.isnan(errors), np.nan, own) for own in (low, high))
        has_underlying = self._are_independent & ~is_all & ~is_spread & (records > 0)
        underlying = underlying_intervals(shown, estimates, has_underlying, wanted.level)
        if wanted.estimator == "maximum_likelihood" and self._p is not None:
            likeliest = likeliest_shares(published, self._p)
            estimates = np.where(is_all, records, records * np.einsum("qm,qm->q", likeliest, chosen))
        told = [estimates, low, high, underlying.low, underlying.high]
        if wanted.clip:
            told = [np.clip(own, 0.0, records) for own in told]
        estimates, low, high, underlying_low, underlying_high = told
        return CountEstimates(
            records=records,
            estimates=estimates,
            standard_errors=errors,
            low=low,
            high=high,
            is_spread=is_spread,
            is_biased=is_spread
            | wanted.clip
            | (not self._sizes_are_kept)
            | ((wanted.estimator == "maximum_likelihood") & ~is_all),
            is_one_group=is_one,
            underlying_errors=underlying.errors,
            underlying_low=underlying_low,
            underlying_high=underlying_high,
            is_wilson=underlying.is_wilson,
            is_bounded=is_bounded,
            is_underlying_bounded=underlying.is_bounded,
        )

    def _shown(self, squared: Floats, chosen: Floats) -> ShownRecords | None:
        """What is shown of the records selected, where all values were replaced alike."""
        if self._p is None:
            return None
        of_values = np.einsum("qm,qm->q", squared, chosen)
        return ShownRecords(
            squared.sum(axis=1), of_values, chosen.sum(axis=1), self._p, self._matrix.n_values
        )

    def _published(
        self, queries: Sequence[CountQuery], reduced: Reduced | None
    ) -> tuple[Floats, Floats, Bools, Bools]:
        """What queries select.

        (q, m) records by published value, the same with squared weights, and whose records have weights or
        are all of one group.
        """
        n, groups = len(queries), self._records.of_group
        is_spread: Bools = np.zeros(n, dtype=bool)
        is_one: Bools = np.zeros(n, dtype=bool)
        if reduced is None:
            everything = np.tile(self._records.total(), (n, 1))
            is_one[:] = groups is not None and len(groups) > 0 and not groups.any()
            return everything, everything, is_spread, is_one
        published = np.empty((n, self._matrix.n_values))
        squared = published
        for i, query in enumerate(queries):
            runs = reduced.rows.runs(query.shares)
            published[i] = reduced.counts.totals(runs)
            is_one[i] = reduced.groups is not None and reduced.groups.are_one(runs)
            is_spread[i] = not runs.are_whole
            if is_spread[i] and squared is published:
                squared = published.copy()
            squared[i] = reduced.counts.totals(runs, squared=True) if is_spread[i] else published[i]
        return published, squared, is_spread, is_one


def in_order(parts: Sequence[CountEstimates], order: Sequence[int]) -> CountEstimates:
    """Estimates that were found in parts, of the queries in this order, in the queries' own."""
    back = np.argsort(order)
    every = ([getattr(own, field.name) for own in parts] for field in fields(CountEstimates))
    return CountEstimates(*(np.concatenate(own)[back] for own in every))

"""COUNT queries, answered from a perturbed release alone (Cao and Karras (2012), section 5).

Who knows the transition matrix can undo on average what it did: see "Definitions: perturbation" for the
estimate and its variance. The standard error is over draws of the same records. Where a rule generalised the
quasi-identifiers, a record counts with the share of what its cell may stand for, as if these were evenly
spread, and so it does where its sensitive value is one that stands for several: how far that is off is in no
standard error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Final

import numpy as np
from annotated_types import Gt, Lt, doc

from app.domain.arrays import Bools, Floats
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.published_records import Counts, PublishedRecords, SortedRows
from app.domain.mechanisms.transition_matrix import TransitionMatrix

NUMBERS_AT_ONCE: Final = 2**20


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
        float, Gt(0), Lt(1), doc("Share of draws in which the interval holds the count, by the normal law.")
    ] = 0.95
    clip: Annotated[
        bool,
        doc("Move estimates and intervals to between 0 and the records selected: nearer, but biased."),
    ] = False


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
        The interval by the normal law: too narrow for few records.
    is_spread
        Whether generalised cells were taken as evenly spread.
    is_biased
        Whether the mean over draws may be another number: because of that, or of clipping.
    """

    records: Floats
    estimates: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    is_spread: Bools
    is_biased: Bools


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
    """Estimates from the records of a release; NotSupported if the matrix has no inverse."""

    def __init__(self, records: PublishedRecords, matrix: TransitionMatrix) -> None:
        self._records, self._matrix = records, matrix
        self._inverse = InverseMatrix(matrix)

    def estimates(
        self, queries: Sequence[CountQuery], options: EstimateOptions | None = None
    ) -> CountEstimates:
        """Of each query; queries on the same attributes share most of the work."""
        wanted = EstimateOptions() if options is None else options
        n = len(queries)
        found = np.zeros((3, n))
        is_spread: Bools = np.zeros(n, dtype=bool)
        for attributes, places in _by_attributes(queries).items():
            reduced = self._records.on(attributes) if attributes else None
            for some in self._batches(places):
                own = [queries[i] for i in some]
                published, squared, is_spread[some] = self._published(own, reduced)
                chosen = self._chosen(own)
                is_spread[some] |= ((chosen > 0.0) & (chosen < 1.0)).any(axis=1)
                found[:, some] = self._estimated(chosen, published, squared)
        records, estimates, errors = found
        # The lower tail: 1 + level is 2 in doubles for levels next to 1, of which no quantile is finite.
        reach = -NormalDist().inv_cdf((1 - wanted.level) / 2) * errors
        low, high = estimates - reach, estimates + reach
        if wanted.clip:
            estimates, low, high = (np.clip(own, 0.0, records) for own in (estimates, low, high))
        biased = is_spread | wanted.clip
        return CountEstimates(records, estimates, errors, low, high, is_spread, biased)

    def _batches(self, places: Sequence[int]) -> Iterator[Sequence[int]]:
        """So many at a time that their numbers can be held at once."""
        most = max(1, NUMBERS_AT_ONCE // self._matrix.n_values)
        for start in range(0, len(places), most):
            yield places[start : start + most]

    def _published(
        self, queries: Sequence[CountQuery], reduced: tuple[SortedRows, Counts] | None
    ) -> tuple[Floats, Floats, Bools]:
        """(q, m) records selected by published value, the same with squared weights, and who has weights."""
        n = len(queries)
        is_spread: Bools = np.zeros(n, dtype=bool)
        if reduced is None:
            everything = np.tile(self._records.total(), (n, 1))
            return everything, everything, is_spread
        rows, counts = reduced
        published = np.empty((n, self._matrix.n_values))
        squared = published
        for i, query in enumerate(queries):
            runs = rows.runs(query.shares)
            published[i] = counts.totals(runs)
            is_spread[i] = not runs.are_whole
            if is_spread[i] and squared is published:
                squared = published.copy()
            squared[i] = counts.totals(runs, squared=True) if is_spread[i] else published[i]
        return published, squared, is_spread

    def _chosen(self, queries: Sequence[CountQuery]) -> Floats:
        """(q, m) the share of each value that is counted."""
        every = np.ones(self._matrix.n_values)
        return np.array([every if own.values is None else own.values for own in queries], dtype=np.float64)

    def _estimated(self, chosen: Floats, published: Floats, squared: Floats) -> Floats:
        """(3, q) records selected, estimates and standard errors."""
        weights = self._inverse.weights(chosen)
        true = np.maximum(self._inverse.applied(squared), 0.0)
        variance = np.einsum("qm,qm->q", true, deviations(self._matrix, weights, chosen))
        # The columns of the matrix sum to 1: all values together are counted without error.
        is_all = (chosen == 1.0).all(axis=1)
        weights[is_all], variance[is_all] = 1.0, 0.0
        return np.stack([published.sum(axis=1), np.einsum("qm,qm->q", published, weights), np.sqrt(variance)])


def _by_attributes(queries: Sequence[CountQuery]) -> Mapping[tuple[int, ...], list[int]]:
    """Places of the queries by the attributes that they ask about."""
    found: dict[tuple[int, ...], list[int]] = {}
    for i, query in enumerate(queries):
        found.setdefault(tuple(sorted(query.shares)), []).append(i)
    return found

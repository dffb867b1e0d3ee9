"""How much a synthetic table resembles the original: marginals, correlations, k-marginals, components."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.compared_tables import ComparedTables
from app.domain.analyses.pair_distances import PairDistances
from app.domain.arrays import Floats, Ints
from app.domain.catalogue.meanings import SHARE

BINS: Final = 20
MOST_SETS: Final = 1_000


@dataclass(frozen=True)
class ColumnDifference:
    """How far the distributions of one column are apart."""

    attribute: Annotated[str, doc("The column.")]
    difference: Annotated[float, doc("Total variation distance between original and synthetic, in [0, 1].")]


@dataclass(frozen=True)
class MarginalScore:
    """Mean resemblance over sets of k columns, 1,000 for equal tables."""

    k: Annotated[int, doc("Columns of each set.")]
    sets: Annotated[int, doc("Sets looked at.")]
    of_sets: Annotated[int, doc("Sets that there are; the score is exact if all are looked at.")]
    score: Annotated[float, doc("1,000 · (1 − mean total variation distance), synthetic to original.")]
    held_out: Annotated[
        float | None, doc("The same of the records held out: what another sample reaches. None: none.")
    ]


@dataclass(frozen=True)
class ComponentCell:
    """A square of the plane of two components, and the shares of records that are there."""

    first: Annotated[int, doc("Number of the square along the first component, from 0.")]
    second: Annotated[int, doc("The same along the second one.")]
    original: Annotated[float, SHARE, doc("Share of the original's records.")]
    synthetic: Annotated[float, SHARE, doc("Share of the synthetic records.")]


@dataclass(frozen=True)
class PrincipalComponents:
    """Both tables in the plane of the first two principal components of the original.

    Numbers and the positions of other values among the sorted ones are scaled by the original's mean and
    standard deviation; missing values have the mean. The plane is divided into 20 × 20 squares between the
    least and the greatest of the original; what lies outside is in the outermost ones.
    """

    explained: Annotated[
        tuple[float, float], SHARE, doc("What share of the variance each of the two explains.")
    ]
    difference: Annotated[float, SHARE, doc("Total variation distance of the two tables by squares.")]
    cells: Annotated[tuple[ComponentCell, ...], doc("The squares in which there is any record.")]


@dataclass(frozen=True)
class SyntheticUtility:
    """Resemblance of a synthetic table to the original; it tells nothing of privacy."""

    columns: Annotated[tuple[ColumnDifference, ...], doc("Each column by itself, in their order.")]
    marginals: Annotated[MarginalScore, doc("The k-marginal score.")]
    correlations: Annotated[int, doc("Pairs of columns of numbers whose correlation both tables have.")]
    correlation_difference: Annotated[
        float | None, doc("Mean absolute difference of Pearson's correlations. None: no such pairs.")
    ]
    correlation_worst: Annotated[float | None, doc("Greatest of them. None: no such pairs.")]
    components: Annotated[
        PrincipalComponents | None,
        doc("The figure of principal components. None: fewer than two columns vary."),
    ] = None
    noise_share: Annotated[
        float | None,
        SHARE,
        doc(
            "The share of drawn people who are expected to be of a mechanism's prior and stand for nobody. "
            "None: the table is no release, or its mechanism publishes no priors."
        ),
    ] = None
    pairs: Annotated[PairDistances | None, doc("Distances of places. None: no pair was named.")] = None


def synthetic_utility(tables: ComparedTables, *, k: int, rng: np.random.Generator) -> SyntheticUtility:
    """Score a synthetic table as NIST's SDNist does: sets of k columns, numbers in 20 quantile bins.

    The score of a set is 1 − ½ Σ |p − q| over its cells, exact in its counts. More than 1,000 sets are drawn
    from. Time: O(sets · (n + s)); memory O(n + s) per set.
    """
    binned = [_binned(tables, j) for j in range(len(tables.columns))]
    sizes = [int(max(own.max() for own in parts if own is not None)) + 1 for parts in binned]
    k = min(k, len(binned))

    def distance(chosen: tuple[int, ...], other: int) -> float:
        """Total variation distance between the original and another table by some columns."""
        places = np.zeros(1, dtype=np.int64)
        for j in chosen:
            codes = np.concatenate([binned[j][0], binned[j][other]])
            # Numbered anew for each column: products of many sizes would not fit.
            _, places = np.unique(places * sizes[j] + codes, return_inverse=True)
        cut = len(tables.original)
        p = np.bincount(places[:cut], minlength=int(places.max()) + 1) / cut
        q = np.bincount(places[cut:], minlength=len(p)) / (len(places) - cut)
        return float(np.abs(p - q).sum()) / 2

    of_sets = math.comb(len(binned), k)
    if of_sets <= MOST_SETS:
        sets = list(combinations(range(len(binned)), k))
    else:
        drawn: set[tuple[int, ...]] = set()
        while len(drawn) < MOST_SETS:
            drawn.add(tuple(sorted(rng.choice(len(binned), k, replace=False).tolist())))
        sets = sorted(drawn)

    def score(other: int) -> float:
        return 1_000 * (1 - sum(distance(own, other) for own in sets) / len(sets))

    held_out = None if tables.holdout is None else score(2)
    apart = _correlations_apart(tables)
    return SyntheticUtility(
        tuple(ColumnDifference(own.name, distance((j,), 1)) for j, own in enumerate(tables.columns)),
        MarginalScore(k, len(sets), of_sets, score(1), held_out),
        len(apart),
        float(apart.mean()) if len(apart) else None,
        float(apart.max()) if len(apart) else None,
        _components(tables),
    )


def _components(tables: ComparedTables) -> PrincipalComponents | None:
    """The plane of the original's records; O((n + s)·m + m³)."""
    scaled = []
    for j in range(len(tables.columns)):
        original, synthetic = _ordinal(tables, j)
        deviation = float(np.nanstd(original)) if not np.isnan(original).all() else 0.0
        if 0 < deviation < math.inf:
            mean = float(np.nanmean(original))
            scaled.append([np.nan_to_num((own - mean) / deviation) for own in (original, synthetic)])
    if len(scaled) < 2:
        return None
    original, synthetic = (np.stack(own, axis=1) for own in zip(*scaled, strict=True))
    values, vectors = np.linalg.eigh(original.T @ original / len(original))
    plane = vectors[:, [-1, -2]]
    # Of either direction of a component one is chosen, the same for the same table.
    plane *= np.sign(plane[np.abs(plane).argmax(axis=0), [0, 1]])
    places = [own @ plane for own in (original, synthetic)]
    least, extent = places[0].min(axis=0), np.ptp(places[0], axis=0)
    counts = []
    for own in places:
        at = ((own - least) / np.where(extent > 0, extent, 1) * BINS).clip(0, BINS - 1).astype(np.int64)
        counts.append(np.bincount(at[:, 0] * BINS + at[:, 1], minlength=BINS**2) / len(own))
    cells = tuple(
        ComponentCell(*divmod(at, BINS), float(counts[0][at]), float(counts[1][at]))
        for at in np.flatnonzero(counts[0] + counts[1]).tolist()
    )
    explained = values[[-1, -2]].clip(0) / values.sum()
    return PrincipalComponents(
        (float(explained[0]), float(explained[1])), float(np.abs(counts[0] - counts[1]).sum()) / 2, cells
    )


def _ordinal(tables: ComparedTables, j: int) -> tuple[Floats, Floats]:
    """A column of both tables as numbers: its own, or places among the sorted values; NaN if missing."""
    column, codes = tables.columns[j], (tables.original[:, j], tables.synthetic[:, j])
    if column.numbers is not None:
        return column.numbers[codes[0]], column.numbers[codes[1]]
    used, places = np.unique(np.concatenate(codes), return_inverse=True)
    order = sorted(range(len(used)), key=lambda i: column.values[int(used[i])])
    of_used = np.empty(len(used))
    of_used[order] = np.arange(len(used))
    of_used[used == 0] = math.nan
    found = of_used[places.reshape(-1)]
    return found[: len(codes[0])], found[len(codes[0]) :]


def _binned(tables: ComparedTables, j: int) -> tuple[Ints, Ints, Ints | None]:
    """A column of original, synthetic, held out: codes, or the quantile bins of more than 20 numbers."""
    numbers = tables.columns[j].numbers
    parts = (tables.original, tables.synthetic, tables.holdout)
    codes = tuple(None if own is None else own[:, j] for own in parts)
    if numbers is not None:
        known = numbers[tables.original[:, j]]
        known = known[~np.isnan(known)]
        if len(np.unique(known)) > BINS:
            edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
            bins = np.searchsorted(edges, numbers, side="right").astype(np.int32) + 1
            bins[np.isnan(numbers)] = 0
            codes = tuple(None if own is None else bins[own] for own in codes)
    return codes  # type: ignore[return-value] # the first two are always there


def _correlations_apart(tables: ComparedTables) -> Floats:
    """(pairs,) absolute differences of correlations over the records that have both numbers."""
    numeric = [(j, own.numbers) for j, own in enumerate(tables.columns) if own.numbers is not None]
    apart = []
    for (i, first), (j, second) in combinations(numeric, 2):
        both = []
        for records in (tables.original, tables.synthetic):
            x, y = first[records[:, i]], second[records[:, j]]
            known = ~(np.isnan(x) | np.isnan(y))
            x, y = x[known], y[known]
            if len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
                both.append(float(np.corrcoef(x, y)[0, 1]))
        if len(both) == 2:
            apart.append(abs(both[0] - both[1]))
    return np.array(apart)

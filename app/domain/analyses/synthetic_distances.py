"""How near synthetic records are to those they were made of, beside records held out and random ones.

A small distance is a reason to look closer; a large one proves nothing: what a table gives away need not
show in distances (Yao et al. (2025)). So no figure here is a risk. Copies are counted on all records,
distances are those of drawn ones.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.compared_tables import ComparedTables, times_there
from app.domain.arrays import Floats, Ints
from app.domain.catalogue.meanings import LOW, LOW_SHARE, SHARE

DRAWN: Final = 1_000
"""Records of which the nearest ones are looked for, of each kind, unless said otherwise."""


@dataclass(frozen=True)
class Copies:
    """Records that have the values of a record of the original."""

    records: Annotated[int, doc("Records looked at.")]
    equal: Annotated[int, LOW, doc("Records that equal a record of the original.")]
    share: Annotated[float, LOW_SHARE, doc("equal / records.")]
    of_unique: Annotated[
        int, LOW, doc("Records that equal a record of the original that no other one there equals.")
    ]


@dataclass(frozen=True)
class ApparentMatches:
    """Pairs of an original and a synthetic record with quasi-identifiers that nobody else there has."""

    matches: Annotated[int, LOW, doc("Such pairs.")]
    share: Annotated[float, LOW_SHARE, doc("matches / records of the original.")]
    equal: Annotated[
        float | None, LOW_SHARE, doc("Mean share of the other columns that are equal. None: no pairs.")
    ]


@dataclass(frozen=True)
class NearestDistances:
    """Distances of drawn records to the nearest and the second nearest record of the original."""

    records: Annotated[int, doc("Records drawn.")]
    dcr_5: Annotated[float, doc("5th percentile of the distance to the nearest record (DCR).")]
    dcr_median: Annotated[float, doc("Median of it.")]
    nndr_5: Annotated[
        float,
        doc(
            "5th percentile of the distance to the nearest over that to the second nearest (NNDR); 0/0 is 1."
        ),
    ]
    nndr_median: Annotated[float, doc("Median of it.")]


@dataclass(frozen=True)
class NearerToOriginal:
    """Share of drawn synthetic records that are nearer to the original than to the records held out.

    Both are cut to one size by drawing, without which the larger table would be the nearer one.
    """

    records: Annotated[int, doc("Synthetic records drawn.")]
    size: Annotated[int, doc("Records of the original, and as many held out, compared with.")]
    nearer: Annotated[int, LOW, doc("Synthetic records nearer to the original.")]
    ties: Annotated[int, doc("Synthetic records as near to both; each counts one half.")]
    share: Annotated[float, LOW_SHARE, doc("(nearer + ties / 2) / records; about 0.5 without any copying.")]
    low: Annotated[float, LOW_SHARE, doc("Lower end of the interval, about the choice of synthetic records.")]
    high: Annotated[float, LOW_SHARE, doc("Upper end of it.")]


@dataclass(frozen=True)
class SyntheticDistances:
    """Copies of records, and distances to the nearest ones; each says what it compares with the original."""

    copies: Annotated[Copies, doc("Synthetic records against the original, by all columns.")]
    copies_held_out: Annotated[
        Copies | None,
        doc("Copies among the records held out: those that chance alone makes. None: none were given."),
    ]
    quasi_identifier_copies: Annotated[
        Copies | None,
        doc("Synthetic records against the original, by the quasi-identifiers. None: none said."),
    ]
    apparent_matches: Annotated[
        ApparentMatches | None, doc("Records told apart by the quasi-identifiers. None: none said.")
    ]
    new_share: Annotated[
        float, SHARE, doc("Share of synthetic records that equal no record of the original.")
    ]
    synthetic: Annotated[NearestDistances, doc("Synthetic records to the original.")]
    held_out: Annotated[NearestDistances | None, doc("Records held out to the original. None: none.")]
    random: Annotated[
        NearestDistances,
        doc("Records whose columns are drawn independently of the original's, to the original."),
    ]
    nearer: Annotated[
        NearerToOriginal | None, doc("Original or held out, which is nearer. None: none held out.")
    ]


def synthetic_distances(
    tables: ComparedTables,
    *,
    quasi_identifiers: tuple[str, ...],
    confidence: float,
    rng: np.random.Generator,
    drawn: int = DRAWN,
) -> SyntheticDistances:
    """Compare synthetic records with the original, the records held out, and random records.

    The distance is Gower's (Gower (1971)): the mean over columns of the difference of numbers over the range
    of the original, at most 1, and of 0 or 1 for other values. A missing value equals a missing one only.
    Time: O(drawn · (n + h) · m); memory: about 40 bytes per record of the original.

    Raises
    ------
    InvalidInput
        A quasi-identifier is no column.
    """
    of_quasi = tables.positions(quasi_identifiers, "/quasi_identifiers")
    original, synthetic, holdout = tables.original, tables.synthetic, tables.holdout
    copies = _copies(synthetic, original)
    some = _drawn(synthetic, drawn, rng)
    shuffled = np.stack([column[rng.integers(len(column), size=drawn)] for column in original.T], axis=1)
    held_out = held_copies = nearer = None
    if holdout is not None:
        held_copies = _copies(holdout, original)
        held_out = _summary(nearest_two(tables, _drawn(holdout, drawn, rng), original))
        size = min(len(original), len(holdout))
        to_original = nearest_two(tables, some, _drawn(original, size, rng))[:, 0]
        to_held = nearest_two(tables, some, _drawn(holdout, size, rng))[:, 0]
        nearer = _nearer(to_original, to_held, size, confidence)
    return SyntheticDistances(
        copies,
        held_copies,
        _copies(synthetic[:, of_quasi], original[:, of_quasi]) if of_quasi else None,
        _apparent(synthetic, original, of_quasi) if of_quasi else None,
        1 - copies.share,
        _summary(nearest_two(tables, some, original)),
        held_out,
        _summary(nearest_two(tables, shuffled, original)),
        nearer,
    )


def nearest_two(tables: ComparedTables, records: Ints, among: Ints) -> Floats:
    """float64 (r, 2): Gower's distance of each record to the nearest and the second nearest among others.

    The second is infinite where there is one record only.
    """
    m = len(tables.columns)
    numbers: list[tuple[Floats, Floats] | None] = []
    for j, column in enumerate(tables.columns):
        if column.numbers is None:
            numbers.append(None)
            continue
        known = column.numbers[tables.original[:, j]]
        known = known[~np.isnan(known)]
        span = float(np.ptp(known)) if len(known) else 0.0
        # Without a range any difference is the greatest one.
        if span == 0:
            numbers.append(None)
            continue
        scaled = column.numbers / span
        numbers.append((scaled, scaled[among[:, j]]))
    found = np.full((len(records), 2), math.inf)
    for i, record in enumerate(records):
        total = np.zeros(len(among))
        for j, own in enumerate(numbers):
            is_other = among[:, j] != record[j]
            if own is None or math.isnan(own[0][record[j]]):
                total += is_other
            else:
                # A difference with what is no number is none, and the distance 1.
                total += np.fmin(np.abs(own[1] - own[0][record[j]]), 1.0)
        least = np.partition(total, 1)[:2] if len(total) > 1 else total
        found[i, : len(least)] = least / m
    return found


def _drawn(records: Ints, amount: int, rng: np.random.Generator) -> Ints:
    if amount >= len(records):
        return records
    return np.asfortranarray(records[np.sort(rng.choice(len(records), amount, replace=False))])


def _copies(records: Ints, original: Ints) -> Copies:
    times = times_there(records, original)
    equal = int((times > 0).sum())
    return Copies(len(records), equal, equal / len(records), int((times == 1).sum()))


def _apparent(synthetic: Ints, original: Ints, columns: list[int]) -> ApparentMatches:
    def alone(records: Ints) -> dict[bytes, int]:
        keys = [own.tobytes() for own in np.ascontiguousarray(records[:, columns])]
        times = Counter(keys)
        return {key: i for i, key in enumerate(keys) if times[key] == 1}

    there = alone(synthetic)
    pairs = np.array([(there[key], i) for key, i in alone(original).items() if key in there], dtype=np.int64)
    first, second = pairs.reshape(-1, 2).T
    others = np.setdiff1d(np.arange(original.shape[1]), columns)
    equal = synthetic[np.ix_(first, others)] == original[np.ix_(second, others)]
    share = len(pairs) / len(original)
    return ApparentMatches(len(pairs), share, float(equal.mean()) if equal.size else None)


def _summary(distances: Floats) -> NearestDistances:
    first, second = distances.T
    ratio = np.divide(first, second, out=np.ones_like(first), where=second > 0)
    (dcr_5, dcr), (nndr_5, nndr) = (np.quantile(own, (0.05, 0.5)).tolist() for own in (first, ratio))
    return NearestDistances(len(first), dcr_5, dcr, nndr_5, nndr)


def _nearer(to_original: Floats, to_held: Floats, size: int, confidence: float) -> NearerToOriginal:
    """With Wilson's interval, which is too wide, never too narrow, for ties that count one half."""
    n, z = len(to_original), NormalDist().inv_cdf((1 + confidence) / 2)
    nearer, ties = int((to_original < to_held).sum()), int((to_original == to_held).sum())
    share = (nearer + ties / 2) / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    spread = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return NearerToOriginal(
        n, size, nearer, ties, share, max(0.0, centre - spread), min(1.0, centre + spread)
    )

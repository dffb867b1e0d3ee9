"""How far apart two places of a record are, such as home and work, in an original and a synthetic table.

Beside mean distances, as in Machanavajjhala (2008), section 4.6, shares of pairs in bands are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.compared_tables import ComparedTables
from app.domain.arrays import Floats
from app.domain.catalogue.meanings import FROM_ZERO, SHARE
from app.domain.errors import InvalidInput, counted

EARTH_KM: Final = 6_371.0088  # its mean radius
Coordinates = Mapping[str, tuple[float, float]]  # longitude and latitude in degrees, by place


@dataclass(frozen=True)
class DistanceBand:
    """Pairs of places whose distance lies between two limits."""

    least: Annotated[float, FROM_ZERO, doc("Distances from so many km,")]
    below: Annotated[float | None, doc("and below so many. None: there is no limit.")]
    original: Annotated[float, SHARE, doc("Share of the original's pairs.")]
    synthetic: Annotated[float, SHARE, doc("Share of the synthetic pairs.")]
    difference: Annotated[float, doc("Synthetic minus original share.")]


@dataclass(frozen=True)
class PairDistances:
    """Great-circle distances in km between two places of each record, each place taken as a point."""

    bands: Annotated[tuple[DistanceBand, ...], doc("By distance, ascending.")]
    difference: Annotated[float, SHARE, doc("Total variation distance of the two tables by bands.")]
    mean_original: Annotated[float, FROM_ZERO, doc("Mean distance in the original.")]
    mean_difference: Annotated[float, doc("Synthetic minus original mean.")]
    median_original: Annotated[float, FROM_ZERO, doc("Median distance in the original.")]
    median_difference: Annotated[float, doc("Synthetic minus original median.")]
    left_out_original: Annotated[int, doc("Records of the original with a place missing or unknown.")]
    left_out_synthetic: Annotated[int, doc("The same of the synthetic table.")]
    unknown_places: Annotated[int, doc("Places of both tables without coordinates: list them as well.")]


def coordinates_of(columns: Mapping[str, Sequence[str]], pair: Sequence[str]) -> Coordinates:
    """Of a table of places, named in a column `place` or as one of the pair; rows with empty cells are none.

    Raises InvalidInput without the columns, and for a row with other numbers than degrees, or than before.
    """
    names = (next((own for own in pair if own in columns), "place"), "longitude", "latitude")
    if not {*names} <= columns.keys():
        remedy = (
            f"Name columns longitude, latitude, and {', '.join(pair)} or place; disclose them in a dataset."
        )
        raise InvalidInput.of("/places", "other-columns", f"It shows {', '.join(columns)}.", remedy)
    found: dict[str, tuple[float, float]] = {}
    for number, (place, *degrees) in enumerate(zip(*map(columns.__getitem__, names), strict=True), 1):
        if place and all(degrees):
            at = math.nan, math.nan
            with suppress(ValueError):
                at = float(degrees[0]), float(degrees[1])
            if not (abs(at[0]) <= 180 and abs(at[1]) <= 90 and found.setdefault(place, at) == at):
                words = f"Row {number} has no degrees, or others than its place has before."
                remedy = "Give each place once, by decimals such as -87.5."
                raise InvalidInput.of("/places", "wrong-coordinates", words, remedy)
    return found


def great_circles(first: Floats, second: Floats) -> Floats:
    """(n,) angles between points (n, 2) of longitude and latitude, all in radians."""
    longitude, latitude = (first - second).T / 2
    chord = np.sin(latitude) ** 2 + np.cos(first[:, 1]) * np.cos(second[:, 1]) * np.sin(longitude) ** 2
    return np.asarray(2 * np.arcsin(np.sqrt(np.minimum(chord, 1))))


def pair_distances(
    tables: ComparedTables, pair: Sequence[str], places: Coordinates, limits: Sequence[float] = ()
) -> PairDistances:
    """Compare distances; without limits the bands end at the deciles of the original's.

    Raises InvalidInput for attributes that are none, and where a table has no pair with coordinates.
    """
    ends, unknown, nowhere = [], set[str](), (math.nan, math.nan)
    for j in tables.positions(pair, "/pair"):
        codes = np.concatenate([tables.original[:, j], tables.synthetic[:, j]])
        values = tables.columns[j].values
        ends.append(np.radians([places.get(own, nowhere) for own in values])[codes])
        unknown.update(values[code] for code in np.unique(codes[codes > 0]).tolist())
    unknown -= places.keys()
    # Rounded, equal pairs are in the same band on every processor.
    distances = np.split(np.round(EARTH_KM * great_circles(*ends), 6), [len(tables.original)])
    known = [own[~np.isnan(own)] for own in distances]
    if not all(map(len, known)):
        words = f"A table has no pair with coordinates; none are listed of {counted(len(unknown), 'place')}."
        raise InvalidInput.of("/places", "no-pair", words, "List places by the names that the tables show.")
    deciles = np.quantile(known[0], np.arange(1, 10) / 10, method="inverted_cdf").tolist()
    edges = [*sorted({0.0, *(limits or deciles)}), math.inf]
    shares = [np.histogram(own, edges)[0] / len(own) for own in known]
    apart = shares[1] - shares[0]
    columns = zip(edges[:-1], [*edges[1:-1], None], *(own.tolist() for own in (*shares, apart)), strict=True)
    (mean, median), (other_mean, other_median) = ((float(own.mean()), float(np.median(own))) for own in known)
    left_out = [len(own) - len(kept) for own, kept in zip(distances, known, strict=True)]
    return PairDistances(
        tuple(DistanceBand(*own) for own in columns), float(np.abs(apart).sum()) / 2,
        mean, other_mean - mean, median, other_median - median, left_out[0], left_out[1], len(unknown),
    )  # fmt: skip

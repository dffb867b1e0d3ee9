"""S2 to S5: how far synthetic commuters travel, beside those whom they stand for.

Machanavajjhala (2008), figures 4.1 to 4.4. A generated state, or the reader's own table, is held as its
people, each with the rank in distance of the home cell. A rank has the same distance at every destination,
unless the table's places have coordinates.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from app.charts.series import Series
from app.domain.analyses.pair_distances import EARTH_KM, great_circles
from app.domain.arrays import Floats, Longs
from app.domain.errors import InvalidInput
from app.domain.mechanisms.dirichlet_calibration import calibrate, lower_gamma, noise_share, sampled_delta
from app.experiments.report import Cell, Claim, Effort, Picture, Report, ResultTable, exact, qualitative

BLOCKS: Final = 8_206_261
"""Of the country; those beyond the miles of an experiment are outside of its public domain."""
DOMAINS: Final = {200: 233_726, 100: 120_690}
PEOPLE_PER_ENTITY: Final = 375
"""1.5 million of 4,000."""
EVALUATED: Final = 120
SHORT: Final = 6.23
EPSILON: Final = 4.6
DELTA: Final = 1e-5
LEAST_INCLUSION: Final = 0.0378
METRES_PER_MILE: Final = 1609.344
_QUANTILES: Final = ((0.0, 0.1), (0.5, SHORT), (0.75, 13.1), (0.9, 21.54), (0.99, 99.0), (1.0, 400.0))
"""Published shares of commutes and the miles that they are below; the last is a choice of the generator."""
_POWER: Final = math.log(2) / math.log(DOMAINS[200] / DOMAINS[100])
"""Miles grow with the rank of a cell to this power, so that both domains have their published size."""
_GROUPS: Final = ((1, 3), (4, 10), (11, 30), (31, 10**9))


@dataclass(frozen=True)
class _State:
    """Of each destination the ranks of its workers' cells and the miles of each rank; what it was made of."""

    destinations: tuple[tuple[Longs, Floats], ...]
    described: str


@dataclass(frozen=True)
class _Found:
    """Of one destination: workers, α, mean miles of the real, the expected and the drawn, kept cells."""

    n: int
    alpha: Fraction
    real: float
    expected: float
    drawn: float
    kept: int
    n_drawn: int


def all_within_200(effort: Effort) -> Report:
    """S2: all commutes of at most 200 miles."""
    return _report("S2", effort, 200, math.inf, "4.1")


def short_within_200(effort: Effort) -> Report:
    """S3: commutes below 6.23 miles of the same."""
    return _report("S3", effort, 200, SHORT, "4.2")


def all_within_100(effort: Effort) -> Report:
    """S4: all commutes of at most 100 miles."""
    return _report("S4", effort, 100, math.inf, "4.3")


def short_within_100(effort: Effort) -> Report:
    """S5: commutes below 6.23 miles of the same."""
    return _report("S5", effort, 100, SHORT, "4.4")


def _report(name: str, effort: Effort, limit: int, below: float, figure: str) -> Report:
    found: list[_Found] = []
    described = ""
    for seed in range(effort.seeds):
        rng = np.random.Generator(np.random.PCG64(seed + 1))
        state = (
            _generated(effort.entities, limit, rng) if effort.commuters is None else _read(effort, limit, rng)
        )
        found += [_synthesised(homes, miles, below, rng) for homes, miles in state.destinations]
        described = state.described
    rows: list[tuple[Cell, ...]] = []
    means: list[tuple[float, ...]] = []
    for least, most in _GROUPS:
        group = [own for own in found if least <= own.n <= most]
        both = [own for own in group if not math.isnan(own.real + own.drawn)]
        if both:
            miles = [
                float(np.mean([getattr(own, of) for own in both])) for of in ("real", "expected", "drawn")
            ]
            means.append(tuple(miles))
            share = float(np.mean([noise_share(own.n, float(own.alpha) * own.kept) for own in group]))
            rows.append((f"{least}+" if most == 10**9 else f"{least}–{most}", len(both), *miles, share))
    sizes = tuple(math.log10(own.n) for own in found)
    short = "" if below == math.inf else f" below {SHORT} miles"
    return Report(
        id=name,
        title=f"Mean commute{short}, cells within {limit} miles",
        setting=f"{described}; {effort.seeds} seeds; ε = {EPSILON}, δ = {DELTA:g} by a reference sample on "
        f"the whole domain, empty cells kept by public probabilities from {LEAST_INCLUSION}",
        tables=(
            ResultTable(
                "Mean miles by workers of a destination",
                ("workers", "destinations", "real", "expected", "drawn", "noise share"),
                tuple(rows),
            ),
        ),
        pictures=(
            Picture(
                name.lower(),
                f"Mean commute, figure {figure}",
                "Workers of the destination (log10)",
                "Mean miles",
                tuple(
                    Series(of, sizes, tuple(getattr(own, of) for own in found), "points")
                    for of in ("real", "drawn")
                ),
            ),
        ),
        claims=_claims(found, means, state, below),
    )


def _claims(
    found: Sequence[_Found], means: Sequence[Sequence[float]], state: _State, below: float
) -> tuple[Claim, ...]:
    """What the chapter prints, what it finds, and what is wrong with its δ."""
    inclusion = _inclusion(len(state.destinations[0][1]))
    spent = EPSILON + math.log(1 / LEAST_INCLUSION) + max(math.ceil(own.alpha) for own in found) * math.log(2)
    gamma = lower_gamma(Fraction(str(EPSILON)))
    priors = {own.n: own.alpha for own in found}
    sizes = sorted(priors)[:: max(1, len(priors) // 8)]
    delta = max(sampled_delta(n, dict(inclusion), priors[n], gamma)[0] for n in sizes)
    differences = np.array([own.drawn - own.expected for own in found])
    differences = differences[~np.isnan(differences)]
    error = float(differences.std(ddof=1) / math.sqrt(len(differences)))
    off = [row[2] - row[0] for row in means]
    claims = (
        exact(
            "As many are drawn at every destination as there are",
            all(own.n_drawn == own.n for own in found),
            f"{len(found)} destinations",
        ),
        exact("ε after domain sampling is at most 8.6", spent <= 8.6, f"{spent:.6f}"),
        qualitative(
            "δ stays 1e-5 after domain sampling, as printed (corrected bound)",
            delta <= DELTA,
            f"{delta:.3g} proven for {sizes[0]} to {sizes[-1]} workers",
        ),
        qualitative(
            "Drawn people travel as far as is expected of them, within four standard errors",
            abs(float(differences.mean())) <= 4 * error,
            f"{differences.mean():+.3f} miles, standard error {error:.3f}",
        ),
    )
    if below < math.inf:
        said, holds = "Short commutes are met within a mile", all(abs(miles) < 1 for miles in off)
    else:
        said = "Mean commutes are over-estimated, and less so the more workers there are"
        holds = all(miles > 0 for miles in off) and off == sorted(off, reverse=True)
    return (*claims, qualitative(said, holds, " ".join(f"{miles:+.2f}" for miles in off)))


def _synthesised(homes: Longs, miles: Floats, below: float, rng: np.random.Generator) -> _Found:
    """Draw as many as there are, over the cells where somebody is and those kept by chance."""
    n, cells = len(homes), len(miles)
    alpha = calibrate(n, cells, EPSILON, DELTA, "reference_sample").alpha
    kept, start = [np.unique(homes)], 0
    for f, many in _inclusion(cells):
        kept.append(start + rng.choice(many, rng.binomial(many, f), replace=False, shuffle=False))
        start += many
    domain = np.unique(np.concatenate(kept))
    people: list[int] = []
    prior = float(alpha) * len(domain)
    for drawn in range(n):
        place = rng.random() * (n + prior + drawn)
        if place < n:
            people.append(int(homes[int(place)]))
        elif place < n + prior:
            people.append(int(domain[rng.integers(len(domain))]))
        else:
            people.append(people[rng.integers(drawn)])
    weights = np.full(len(domain), float(alpha)) + np.bincount(
        np.searchsorted(domain, homes), minlength=len(domain)
    )
    near = miles[domain] < below
    return _Found(
        n,
        alpha,
        _mean(miles[homes], below),
        float(weights[near] @ miles[domain][near] / weights[near].sum()),
        _mean(miles[np.array(people)], below),
        len(domain),
        len(people),
    )


def _mean(miles: Floats, below: float) -> float:
    """Of those below a limit; NaN if there are none."""
    near = miles[miles < below]
    return float(near.mean()) if len(near) else math.nan


def _inclusion(cells: int) -> tuple[tuple[float, int], ...]:
    """From the nearest on: chances of empty cells to be kept, like the published density of commutes."""
    ranks = [min(cells, round(cells * share)) for share in (0.0, 0.02, 0.06, 0.11, 1.0)]
    parts = [
        (share, more - less)
        for share, less, more in zip((0.5, 0.25, 0.15, 0.1), ranks, ranks[1:], strict=False)
    ]
    dense = [share / many for share, many in parts if many]
    sizes = [many for _, many in parts if many]
    return tuple(
        (max(LEAST_INCLUSION, one / max(dense)), many) for one, many in zip(dense, sizes, strict=True)
    )


def _generated(entities: int, limit: int, rng: np.random.Generator) -> _State:
    """People by the published quantiles of commutes, fifteen a destination in the mean."""
    people = PEOPLE_PER_ENTITY * entities
    shares, miles = np.array(_QUANTILES).T
    cells = DOMAINS[limit]
    distances = 200 * ((np.arange(cells) + 0.5) / DOMAINS[200]) ** _POWER
    sizes = np.maximum(1, rng.lognormal(math.log(15) - 0.98, 1.4, people // 15).astype(np.int64))
    commutes = np.exp(np.interp(rng.random(int(sizes.sum())), shares, np.log(miles)))
    homes = (DOMAINS[200] * (commutes / 200) ** (1 / _POWER)).astype(np.int64)
    chosen = rng.choice(len(sizes), min(EVALUATED, len(sizes)), replace=False)
    ends = np.cumsum(sizes)
    parts = (homes[ends[i] - sizes[i] : ends[i]] for i in chosen)
    inside = (part[part < cells] for part in parts)
    return _State(
        tuple((part, distances) for part in inside if len(part)),
        f"generated state of {len(homes):,} people at {len(sizes):,} destinations, {BLOCKS:,} blocks, "
        f"{cells:,} of them within {limit} miles; {len(chosen)} destinations",
    )


def _read(effort: Effort, limit: int, rng: np.random.Generator) -> _State:
    """The reader's own table: homes are ranked by their mean distance to work over all of the table."""
    path = effort.commuters or Path()
    if effort.places is not None:
        return _read_places(path, effort.places, rng)
    try:
        with path.open(newline="") as file:
            rows = [(row[-4], row[-3], int(row[-2]), float(row[-1])) for row in list(csv.reader(file))[1:]]
        if not rows:
            raise ValueError("a header alone")
    except (OSError, ValueError, IndexError) as error:
        raise InvalidInput.of(
            "--commuters",
            "unreadable",
            f"{path.name} cannot be read as a table of commuters.",
            "Give a CSV with a header and rows, whose last four columns are home, work, workers and metres.",
        ) from error
    miles = np.sort(np.array([metres / METRES_PER_MILE for *_, metres in rows]))
    cells = len({home for home, *_ in rows})
    ranked = np.quantile(miles, (np.arange(cells) + 0.5) / cells)
    ranked = ranked[ranked <= limit]
    by_work: dict[str, list[int]] = {}
    for _, work, workers, metres in rows:
        rank = min(int(np.searchsorted(ranked, metres / METRES_PER_MILE)), len(ranked) - 1)
        by_work.setdefault(work, []).extend([rank] * workers)
    works = sorted(by_work)
    chosen = rng.choice(len(works), min(EVALUATED, len(works)), replace=False)
    return _State(
        tuple((np.array(by_work[works[i]], dtype=np.int64), ranked) for i in chosen),
        f"{sum(map(len, by_work.values())):,} people of the table given, {len(works)} destinations, "
        f"{cells} homes",
    )


def _read_places(path: Path, places: Path, rng: np.random.Generator) -> _State:
    """A table whose places have coordinates: all homes are the domain, however far, by great circles."""
    try:
        with path.open(newline="") as file, places.open(newline="") as listed:
            rows = [(row[0], row[1], int(row[2])) for row in list(csv.reader(file))[1:]]
            known = {
                row[0]: np.radians([float(row[1]), float(row[2])]) for row in list(csv.reader(listed))[1:]
            }
        homes = sorted({home for home, *_ in rows})
        at = np.array([known[home] for home in homes])
        works = {work: known[work] for work in sorted({work for _, work, _ in rows})}
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise InvalidInput.of(
            "--places",
            "unreadable",
            "The commuters or their places cannot be read, or a place has no coordinates.",
            "Give CSVs with headers that begin with home, work, workers and with place, longitude, latitude.",
        ) from error
    by_work: dict[str, list[int]] = {}
    for home, work, workers in rows:
        by_work.setdefault(work, []).extend([homes.index(home)] * workers)
    chosen = rng.choice(len(works), min(EVALUATED, len(works)), replace=False)
    destinations = []
    for work in (list(works)[i] for i in chosen):
        miles = 1_000 * EARTH_KM / METRES_PER_MILE * great_circles(at, works[work][None])
        order = np.argsort(miles, kind="stable")
        destinations.append((np.argsort(order)[np.array(by_work[work], dtype=np.int64)], miles[order]))
    return _State(
        tuple(own for own in destinations if len(own[0])),
        f"{sum(map(len, by_work.values())):,} people of the table given, {len(works)} destinations, "
        f"{len(homes)} homes with coordinates, all of them within the domain",
    )

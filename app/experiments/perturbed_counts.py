"""X14: COUNT queries on perturbed values, against frequencies alone (Cao and Karras (2012), figure 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.gains import frequency_bounds
from app.domain.classes.ratios import as_written
from app.domain.losses.count_queries import LeafScale, Workload
from app.domain.mechanisms.count_estimates import CountEstimator, CountQuery
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.likeness_matrix import excess_amplification, safe_matrix
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.experiments.census import SALARY, Census, census, flat_hierarchy
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative

RECORDS_PER_ENTITY: Final = 125
QUERIES: Final = 1000
BETAS: Final = (1.0, 2.0, 3.0, 4.0, 5.0)
SELECTIVITIES: Final = (0.05, 0.1, 0.15, 0.2, 0.25)
COLUMNS: Final = ("perturbation", "frequencies alone")


@dataclass(frozen=True)
class _Point:
    """One point of a curve: β, how many quasi-identifiers there are and are asked about, and θ."""

    beta: float = 4.0
    attributes: int = 5
    predicates: int = 3
    selectivity: float = 0.1


_CURVES: Final = {
    "predicates": tuple(_Point(predicates=n) for n in range(1, 6)),
    "beta": tuple(_Point(beta=beta) for beta in BETAS),
    "attributes": tuple(_Point(attributes=n, predicates=min(3, n)) for n in range(1, 6)),
    "selectivity": tuple(_Point(selectivity=share) for share in SELECTIVITIES),
}
_NAMES: Final = {
    "predicates": "quasi-identifiers asked about",
    "beta": "β",
    "attributes": "quasi-identifiers",
    "selectivity": "selectivity",
}


def run(effort: Effort) -> Report:
    """Median absolute relative errors of random workloads on a census, averaged over seeds."""
    own = effort.census
    records = RECORDS_PER_ENTITY * effort.entities if own is None else len(own.salaries)
    found = [_errors_of_seed(seed + 1, records, own) for seed in range(effort.seeds)]
    errors = {name: np.mean([own[name] for own in found], axis=0) for name in _CURVES}
    axes = {name: [getattr(point, name) for point in points] for name, points in _CURVES.items()}
    return Report(
        id="X14",
        title="COUNT queries on perturbed sensitive values",
        setting=f"{'surrogate census' if own is None else 'census extract'} of {records:,} records, "
        f"{QUERIES:,} queries a point, "
        f"{effort.seeds} seeds; β = 4, five quasi-identifiers, three of them asked about, selectivity 0.1 "
        "unless varied",
        tables=tuple(
            ResultTable.of(
                f"Median error by {_NAMES[name]}", (_NAMES[name], *COLUMNS), axes[name], errors[name]
            )
            for name in _CURVES
        ),
        pictures=tuple(
            Picture(
                f"x14-{name}",
                f"Median error of counts by {_NAMES[name]}",
                _NAMES[name],
                "Median relative error",
                curves(COLUMNS, axes[name], errors[name]),
            )
            for name in _CURVES
        ),
        claims=_claims(errors, all(own["within"] for own in found)),
    )


def _claims(errors: Mapping[str, Floats], within: bool) -> tuple[Claim, ...]:
    """What the paper says of the errors, and whether all posteriors are within their bounds."""
    falls = {name: bool((np.diff(own[:, 0]) < 0).all()) for name, own in errors.items()}
    below = sum(int((own[:, 0] < own[:, 1]).sum()) for own in errors.values())
    n_points = sum(map(len, _CURVES.values()))
    return (
        exact(
            "No posterior after a published value is above its bound",
            within,
            f"matrices of β = {', '.join(f'{beta:g}' for beta in BETAS)}",
        ),
        qualitative("The error falls with β", falls["beta"], _shown(errors["beta"])),
        qualitative("It falls with the selectivity", falls["selectivity"], _shown(errors["selectivity"])),
        qualitative(
            "It falls with the number of quasi-identifiers asked about",
            falls["predicates"],
            _shown(errors["predicates"]),
        ),
        qualitative(
            "Perturbation is always better than frequencies alone, as the paper finds (it depends on the "
            "data and on the number of records)",
            below == n_points,
            f"at {below} of {n_points} points",
        ),
    )


def _shown(errors: Floats) -> str:
    return "median errors " + " ".join(f"{error:.3g}" for error in errors[:, 0])


def _errors_of_seed(seed: int, records: int, own: Census | None) -> dict[str, Floats]:
    """Per curve (points, 2) median errors, and under ``within`` whether every matrix keeps its bounds.

    Of the reader's own census, or of so many records of a surrogate.
    """
    data = census(seed, records) if own is None else own
    bits = np.random.Generator(np.random.PCG64(seed + 1000)).bytes
    matrices = {beta: _matrix(data, beta) for beta in BETAS}
    released = {
        beta: CountEstimator(_records(data, replaced(data.salaries, matrix, bits)), matrix)
        for beta, (matrix, _) in matrices.items()
    }
    true = CountEstimator(_records(data, data.salaries), TransitionMatrix(np.ones(data.sizes[SALARY])))
    shares = np.bincount(data.salaries, minlength=data.sizes[SALARY]) / records
    scales = {j: LeafScale(flat_hierarchy(size)) for j, size in enumerate(data.sizes)}
    found = {
        name: np.array([_errors(true, released[point.beta], shares, scales, point, seed) for point in points])
        for name, points in _CURVES.items()
    }
    return found | {"within": np.array(all(within for _, within in matrices.values()))}


def _records(data: Census, values: np.ndarray[tuple[int], np.dtype[np.int32]]) -> PublishedRecords:
    columns = dict(enumerate(data.columns[:SALARY]))
    sizes = {j: data.sizes[j] + 1 for j in columns}
    return PublishedRecords.of(columns, sizes, values, data.sizes[SALARY])


def _matrix(data: Census, beta: float) -> tuple[TransitionMatrix, bool]:
    """The matrix, and whether its posteriors are within their bounds."""
    totals = np.bincount(data.salaries, minlength=data.sizes[SALARY])
    prior = totals / totals.sum()
    matrix = safe_matrix(excess_amplification(totals, as_written(beta)), prior).matrix
    bounds = frequency_bounds(totals, int(totals.sum()), as_written(beta), "enhanced")
    return matrix, bool((matrix.greatest_posteriors(prior) <= bounds * (1 + 1e-9)).all())


def _errors(
    true: CountEstimator,
    released: CountEstimator,
    shares: Floats,
    scales: Mapping[int, LeafScale],
    point: _Point,
    seed: int,
) -> tuple[float, float]:
    """Median |estimate − count| / count of counts above 0: from the release, and from frequencies alone."""
    scales = {j: scales[j] for j in (*range(point.attributes), SALARY)}
    workload = Workload(scales, range(point.attributes), SALARY, point.predicates, point.selectivity, seed)
    queries = []
    for _ in range(QUERIES):
        drawn = workload.draw()
        asked = {j: scales[j].shares(interval) for j, interval in drawn.items()}
        queries.append(CountQuery(asked, asked.pop(SALARY)[1:] > 0))
    right = true.estimates(queries)
    counted = np.flatnonzero(right.estimates > 0.5)
    counts = right.estimates[counted]
    estimates = released.estimates(queries).estimates[counted]
    of_values = np.array([shares[own.values].sum() for own in queries])[counted]
    baseline = right.records[counted] * of_values
    return (
        float(np.median(np.abs(estimates - counts) / counts)),
        float(np.median(np.abs(baseline - counts) / counts)),
    )

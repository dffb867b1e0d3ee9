"""R0: how frequent the sensitive values are, and the examples of Wang et al. (2012), in numbers."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.noisy_ratios import tails_of_quotients
from app.domain.classes.reconstruction import UniformReplacement, greatest_p, greatest_posterior
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.mechanisms.coin_samples import coin_sampled_counts
from app.domain.mechanisms.count_variances import count_variances
from app.domain.mechanisms.query_pool import GroupedValues
from app.experiments.reconstruction_grid import MIDDLE
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.stand_in_census import EDUCATION, OCCUPATION, base_tables, named

VALUES: Final = 10
"""Of example 1, a tenth of the records each."""
ALIKE: Final = (25, 100, 400)
SAMPLE: Final = ((5, 15), 15)
"""Example 5.15: counts of a group, and how many records are to be sampled."""
SAMPLES_DRAWN: Final = 10_000


def run(effort: Effort) -> Report:
    """Frequencies of education and occupation, and Examples 1, 2, 3 and 5.15."""
    tables = [base_tables(effort, sensitive)[MIDDLE] for sensitive in (EDUCATION, OCCUPATION)]
    education, occupation = (own.counts.totals / own.n_records for own in tables)
    rows = tuple((n, *_ratio(n)) for n in (50, 100, 500))
    return Report(
        id="R0",
        title="Frequencies of sensitive values, and the examples in numbers",
        setting=f"{named(effort)}, {tables[0].n_records:,} records",
        tables=(
            _frequencies("education", education),
            _frequencies("occupation", occupation),
            _of_one_group(),
            ResultTable(
                "Example 2: the ratio of two counts, λ = 0.1",
                ("records", "too high by 20 %", "too low by 20 %"),
                rows,
            ),
            _of_records(tables[0]),
            _of_a_sample(),
        ),
        pictures=(
            _picture("education", education),
            _picture("occupation", occupation),
        ),
        claims=_claims(education, occupation),
    )


def _frequencies(name: str, shares: Floats) -> ResultTable:
    columns = (name, "% of the records")
    return ResultTable.of(f"Frequencies of {name}", columns, range(len(shares)), 100 * shares[:, None])


def _picture(name: str, shares: Floats) -> Picture:
    numbers = [float(i) for i in range(len(shares))]
    return Picture(
        f"r0-{name}",
        f"Frequencies of {name}",
        f"Number of the {name}",
        "Percentage of the records",
        curves((name,), numbers, 100 * shares[:, None]),
    )


def _example() -> UniformReplacement:
    """Example 1: the greatest p with which what was 10 % likely is at most 50 % likely after one record."""
    return UniformReplacement(greatest_p(0.1, 0.5, VALUES), VALUES)


def _deviation(alike: int) -> float:
    """Of the estimated share in a group of so many records that all have one value."""
    one = np.array([alike], dtype=np.int64)
    return math.sqrt(float(count_variances(one, one, one, _example())[0])) / alike


def _of_one_group() -> ResultTable:
    """Example 1: what a group of records with one value tells, that in the table is a tenth of all."""
    belief = greatest_posterior(_example(), 1 / VALUES)
    rows = tuple((alike, belief, 1.0, _deviation(alike), 1.125 / math.sqrt(alike)) for alike in ALIKE)
    columns = (
        "records alike",
        "belief after one record",
        "share in the group",
        "its standard error",
        "1.125 / √k",
    )
    return ResultTable("Example 1: p = 4/9 of ten values", columns, rows)


def _ratio(alike: int) -> tuple[float, float]:
    """Of so many records that all have one value, λ = 0.1: a ratio too high, and too low, by 20 %."""
    one = np.array([alike], dtype=np.int64)
    tails = tails_of_quotients(one, one, 0.1, 0.2)
    return float(tails.high[0]), float(tails.low[0])


def _of_records(table: GroupedValues) -> ResultTable:
    """Example 3: of how many records one knows all, one or no other attribute of a person."""
    columns = len(table.sizes)
    rows = []
    for known in (columns, columns - 1, 1, 0):
        records = table.counts.sizes
        sizes = (
            np.bincount(table.by(tuple(range(known))).inverse, records)
            if known
            else records.sum(keepdims=True)
        )
        # A record meets a group as often as it has records.
        met = float(np.average(sizes, weights=sizes))
        rows.append((known, len(sizes), met, "micro" if known == columns else "aggregate"))
    return ResultTable(
        "Example 3: groups by how many attributes are known",
        ("attributes known", "groups", "mean size, by records", "reconstruction"),
        tuple(rows),
    )


def _of_a_sample() -> ResultTable:
    """Example 5.15: coin by coin as published, in place of totals that are kept."""
    counts, sample = SAMPLE
    n, rows = sum(counts), []
    for count in counts:
        exactly = count * sample / n
        rows.append((count, exactly, math.floor(exactly), exactly - math.floor(exactly)))
    return ResultTable(
        f"Example 5.15: {sample} records of {n}, published {n / sample:.4g} times each",
        ("records with the value", "sampled in expectation", "surely", "and one more with probability"),
        tuple(rows),
    )


def _claims(education: Floats, occupation: Floats) -> tuple[Claim, ...]:
    own = _example()
    high, low = _ratio(50)
    deviations = [_deviation(alike) * math.sqrt(alike) for alike in ALIKE]
    counts, sample = SAMPLE
    times = SAMPLES_DRAWN
    amounts = np.tile(np.array(counts, dtype=np.int64), times)
    values = np.tile(np.arange(2, dtype=np.int32), times)
    starts = np.arange(times + 1, dtype=np.int64) * 2
    groups = SensitiveCounts(starts, values, amounts, times * amounts[:2], values[:2])
    bits = np.random.Generator(np.random.PCG64(1)).bytes
    drawn = coin_sampled_counts(groups, np.full(times, float(sample)), bits)
    sampled = np.asarray(drawn.reshape(times, 2), dtype=np.int64)
    more = sampled.mean(axis=0) - (3, 11)
    return (
        exact(
            "Example 1: p is 4/9 and not the 50 % with which a value stays, γ is 9",
            math.isclose(own.p, 4 / 9)
            and math.isclose(own.kept, 0.5)
            and math.isclose(own.amplification, 9)
            and math.isclose(greatest_posterior(own, 0.1), 0.5),
            f"p = {own.p:.6g}, kept with {own.kept:.6g}, γ = {own.amplification:.6g}, belief at most "
            f"{greatest_posterior(own, 0.1):.6g}",
        ),
        exact(
            "Example 1: the share in a group of k records alike is told with a standard error of 1.125 / √k",
            all(math.isclose(one, 1.125) for one in deviations),
            " ".join(f"{_deviation(alike):.4g}" for alike in ALIKE),
        ),
        exact(
            "Example 2: the ratio of 50 of 50 is too high with 0.289757, too low with 0.259629; that of more "
            "is nearer",
            math.isclose(high, 0.289757, abs_tol=1e-6)
            and math.isclose(low, 0.259629, abs_tol=1e-6)
            and _ratio(500)[0] < _ratio(100)[0] < high,
            f"too high by 20 % with {high:.6g}, too low with {low:.6g} for 50 of 50",
        ),
        exact(
            "Example 5.15: 3 and 11 records are sampled surely, a further one with 0.75 and 0.25",
            sorted(set(sampled[:, 0])) == [3, 4]
            and sorted(set(sampled[:, 1])) == [11, 12]
            and bool((np.abs(more - (0.75, 0.25)) <= 5 * np.sqrt(0.75 * 0.25 / SAMPLES_DRAWN)).all()),
            f"of {SAMPLES_DRAWN:,} samples a further one with {more[0]:.4g} and {more[1]:.4g}",
        ),
        qualitative(
            "Education is more skewed than occupation, as the paper finds",
            bool((education**2).sum() > (occupation**2).sum()),
            f"two records agree in it with {(education**2).sum():.3g}, in occupation with "
            f"{(occupation**2).sum():.3g}",
        ),
    )

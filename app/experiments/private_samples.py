"""D1 and D2: what private samples are worth beside the best that there is (Fouad (2012), figure 6.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.classes.ratios import as_written
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.generalised_records import Candidates, GeneralisedRecords, Score
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.public_scores import PublicScores, weights_by_depth
from app.domain.mechanisms.published_constants import PublishedQuestion, published_constants
from app.domain.mechanisms.sampled_constants import SampleQuestion, drifting, most_rate
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative

RECORDS: Final = 100_000
DELTA: Final = 1e-6
EPSILONS: Final = (0.5, 1.0, 2.0)
RATES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
LEVELS: Final = (0.0, 0.5, 1.0)
OFFSET: Final = 0.5
NAMES: Final = ("certified", "published", "histogram")


@dataclass(frozen=True)
class Value:
    """Expected mean objective over its optimum on the lattice."""

    certified: float
    published: float
    histogram: float

    @property
    def row(self) -> tuple[float, ...]:
        """In the order of the names."""
        return self.certified, self.published, self.histogram


@dataclass(frozen=True, eq=False)
class Sample:
    """Records of two attributes of three levels, with the objective that weighs both of its parts alike."""

    records: GeneralisedRecords
    scores: PublicScores

    @classmethod
    def drawn(cls, seed: int) -> Sample:
        """Skewed shares of 3 × 3 leaves in each attribute."""
        leaves = [[f"{group}{own}", group] for group in "xyz" for own in "123"]
        trees = (Hierarchy.from_rows(leaves),) * 2
        random = np.random.default_rng(seed)
        shares = np.outer(*(random.dirichlet(np.full(9, 0.7)) for _ in range(2)))
        counts = random.multinomial(RECORDS, shares.ravel())
        nodes = np.array([trees[0].node_of(own) for own, _ in leaves], dtype=np.int32)
        codes = np.stack([nodes.repeat(9), np.tile(nodes, 9)], axis=1)
        kept = counts > 0
        weights = tuple(weights_by_depth(own, LEVELS) for own in trees)
        uses = tuple(own.depth.astype(np.float64) for own in trees)
        # λ = φ_l·ν/m: neither part of the objective outweighs the other everywhere.
        scores = PublicScores(weights, uses, OFFSET * 4.0 / RECORDS, 1, OFFSET)
        return cls(GeneralisedRecords(trees, (2, 2), codes[kept], counts[kept].astype(np.int64)), scores)

    def _of_all(self, score: Score) -> Floats:
        """(distinct, vectors) something of all generalisations of each record."""
        wanted = np.arange(len(self.records.codes))
        return Candidates.of(self.records, wanted, lambda counts: counts > 0, score).scores

    @cached_property
    def objective(self) -> Floats:
        """(distinct, vectors) f."""
        return self._of_all(self.scores.score)

    @cached_property
    def crowds(self) -> Floats:
        """(distinct, vectors) how many records are below."""
        return self._of_all(lambda nodes, counts: counts.astype(np.float64))

    @property
    def optimum(self) -> float:
        """The greatest mean objective."""
        return float(self.objective.max(axis=1) @ self.records.counts) / RECORDS

    def expected(self, rate: float, exponent: float, least: float) -> float:
        """E of the mean objective where records that are not sampled count nothing.

        Frequent are generalisations of ``least`` records or more.
        """
        is_frequent = self.crowds >= min(least, RECORDS)
        powers = np.where(is_frequent, self.objective * (exponent / RECORDS), -math.inf)
        powers = np.exp(powers - powers.max(axis=1, keepdims=True))
        mean = (powers * self.objective).sum(axis=1) / powers.sum(axis=1)
        return rate * float(mean @ self.records.counts) / RECORDS

    def expected_over_shares(self, rate: float, exponent: float, least: float) -> float:
        """The same where the least share is uniform between that of ``least`` records and 1."""
        cuts = sorted({least, float(RECORDS), *self.crowds[self.crowds > least].tolist()})
        return math.fsum(
            (high - low) / (RECORDS - least) * self.expected(rate, exponent, high)
            for low, high in itertools.pairwise(cuts)
        )

    def of_histogram(self, epsilon: float) -> float:
        """The same of the stability histogram of the records as they are: small combinations are lost."""
        threshold = NoiseLaw(as_written(epsilon)).threshold(as_written(DELTA))
        shown = self.records.counts >= threshold
        nodes: list[Ints] = [self.records.codes[shown, j] for j in range(2)]
        counts = self.records.counts[shown]
        return float(self.scores.score(nodes, counts) @ counts) / RECORDS

    def value(self, epsilon: float, rate: float) -> Value:
        """All three beside the optimum."""
        asked = SampleQuestion(Fraction(as_written(epsilon)), DELTA, rate, 9, RECORDS - 1)
        own = drifting(asked, self.scores.per_record(RECORDS - 1))
        share = self.scores.trade_off / self.scores.least_phi
        said = published_constants(PublishedQuestion(epsilon, DELTA, rate, 9, share, 2 * (share + 1)))
        optimum = self.optimum
        return Value(
            self.expected(rate, own.exponent, own.threshold) / optimum if own.needed < RECORDS else 0.0,
            self.expected_over_shares(rate, said.exponent, said.least_crowd) / optimum
            if said.least_crowd < RECORDS
            else 0.0,
            self.of_histogram(epsilon) / optimum,
        )


def _values(effort: Effort, epsilons: Sequence[float], rates: Sequence[float]) -> Floats:
    """(epsilons, rates, mechanisms) means over seeds; NaN where no such rate is allowed."""
    samples = [Sample.drawn(seed) for seed in range(effort.seeds)]
    found = np.full((len(epsilons), len(rates), len(NAMES)), math.nan)
    for i, epsilon in enumerate(epsilons):
        for j, rate in enumerate(rates):
            if rate < most_rate(as_written(epsilon)):
                found[i, j] = np.mean([own.value(epsilon, rate).row for own in samples], axis=0)
    return found


def _setting(effort: Effort) -> str:
    return (
        f"{RECORDS:,} records of two attributes of three levels, skewed; δ = 10⁻⁶, λ = φ_l·ν/m, κ = 1; "
        "exact expectations, but that the certified sample's noise is left out of what is frequent; "
        f"means of {effort.seeds} tables; records that are not shown count nothing"
    )


def over_epsilon(effort: Effort) -> Report:
    """Fouad (2012), figure 6.1 (a): against the optimum without privacy, over ε."""
    rate = 0.1
    found = _values(effort, EPSILONS, (rate,))[:, 0]
    per_shown = found[:, 0] / rate
    return Report(
        id="D1",
        title="Expected objective over its optimum, by ε",
        source="Fouad (2012), figure 6.1 (a), of which no numbers are printed",
        setting=f"{_setting(effort)}; sampling rate {rate}",
        tables=(ResultTable.of("Share of the optimum", ("ε", *NAMES), EPSILONS, found),),
        pictures=(
            Picture(
                "D1_epsilon",
                "Share of the optimum",
                "ε",
                "expected over optimum",
                curves(NAMES, EPSILONS, found),
            ),
        ),
        claims=(
            exact(
                "A sample of a share s has at most that share of the optimum",
                bool((found[:, :2] <= rate).all()),
                f"{found[:, :2].max():.4f}",
            ),
            qualitative(
                "The certified sample is worth the more the greater ε is",
                bool((np.diff(found[:, 0]) >= 0).all()),
                " ".join(f"{own:.4f}" for own in found[:, 0]),
            ),
            qualitative(
                "What is shown of a record that is sampled loses a little of the objective",
                bool((per_shown > 0.8).all()),
                " ".join(f"{own:.3f}" for own in per_shown),
            ),
            qualitative(
                "The histogram, which shows all records, is worth several times as much as a sample",
                bool((found[:, 2] > 3 * found[:, :2].max(axis=1)).all()),
                " ".join(f"{own:.3f}" for own in found[:, 2]),
            ),
        ),
    )


def over_rates(effort: Effort) -> Report:
    """Fouad (2012), figure 6.1 (b): over sampling rates, with frequent generalisations."""
    found = _values(effort, EPSILONS, RATES)
    own = found[:, :, 0]
    drawn = [(epsilon, i) for i, epsilon in enumerate(EPSILONS)]
    names = tuple(f"{name}, ε = {epsilon:g}" for epsilon, _ in drawn for name in NAMES)
    flat = np.nan_to_num(found.transpose(1, 0, 2).reshape(len(RATES), -1))
    return Report(
        id="D2",
        title="Expected objective over its optimum, by sampling rate",
        source="Fouad (2012), figure 6.1 (b), of which no numbers are printed",
        setting=f"{_setting(effort)}; 0 where a rate or a table of this size is not allowed",
        tables=(ResultTable.of("Share of the optimum", ("s", *names), RATES, flat),),
        pictures=(
            Picture(
                "D2_rates",
                "Share of the optimum",
                "sampling rate",
                "expected over optimum",
                curves(names, RATES, flat),
            ),
        ),
        claims=(
            exact(
                "No sample has more than its share of the optimum",
                bool((np.nan_to_num(found[:, :, :2]) <= np.array(RATES)[None, :, None]).all()),
                f"{len(EPSILONS) * len(RATES)} settings",
            ),
            qualitative(
                "From a rate on at which the certified mechanism works at all, it is worth more the more are "
                "sampled",
                all(bool((np.diff(row[(row > 0) & np.isfinite(row)]) > 0).all()) for row in own),
                " ".join(f"{value:.4f}" for value in own[1]),
            ),
            qualitative(
                "Very small samples need more records than there are",
                bool((own[1, :1] == 0).all()),
                f"{own[1, 0]:.4f} at {RATES[0]:g}",
            ),
        ),
    )

"""D1 and D2: what private samples are worth beside the best that there is (Fouad (2012), figure 6.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.classes.ratios import as_written
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.best_generalisations import best_generalisations
from app.domain.mechanisms.generalised_records import Candidates, GeneralisedRecords, Score
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.public_dictionary import PublicDictionary
from app.domain.mechanisms.public_scores import PublicScores, weights_by_depth
from app.domain.mechanisms.published_constants import PublishedQuestion, published_constants
from app.domain.mechanisms.sampled_constants import SampleQuestion, drifting, most_rate
from app.domain.tables.distinct import distinct_rows
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative

RECORDS: Final = 100_000
DELTA: Final = 1e-6
EPSILONS: Final = (0.5, 1.0, 2.0)
RATES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
LEVELS: Final = (0.0, 0.5, 1.0)
OFFSET: Final = 0.5
ENTITIES: Final = 10_000
"""Of the public dictionary, drawn as the records are."""
GREATER: Final = 1.0005
"""By so much λ is greater against the dictionary. With λ itself rare records, too, are best as they are."""
NAMES: Final = ("certified", "published", "histogram", "histogram against a dictionary")


@dataclass(frozen=True)
class Value:
    """Expected mean objective over its optimum on the lattice."""

    certified: float
    published: float
    histogram: float
    against_dictionary: float

    @property
    def row(self) -> tuple[float, ...]:
        """In the order of the names."""
        return self.certified, self.published, self.histogram, self.against_dictionary


@dataclass(frozen=True, eq=False)
class Sample:
    """Records of two attributes of three levels, with the objective that weighs both of its parts alike."""

    records: GeneralisedRecords
    scores: PublicScores
    dictionary: PublicDictionary

    @classmethod
    def drawn(cls, seed: int) -> Sample:
        """Skewed shares of 3 × 3 leaves in each attribute."""
        leaves = [[f"{group}{own}", group] for group in "xyz" for own in "123"]
        trees = (Hierarchy.from_rows(leaves),) * 2
        random = np.random.default_rng(seed)
        shares = np.outer(*(random.dirichlet(np.full(9, 0.7)) for _ in range(2)))
        counts, known = (random.multinomial(n, shares.ravel()) for n in (RECORDS, ENTITIES))
        nodes = np.array([trees[0].node_of(own) for own, _ in leaves], dtype=np.int32)
        codes = np.stack([nodes.repeat(9), np.tile(nodes, 9)], axis=1)
        kept = counts > 0
        weights = tuple(weights_by_depth(own, LEVELS) for own in trees)
        uses = tuple(own.depth.astype(np.float64) for own in trees)
        # λ = φ_l·ν/m: neither part of the objective outweighs the other everywhere.
        scores = PublicScores(weights, uses, OFFSET * 4.0 / RECORDS, 1, OFFSET)
        entities = GeneralisedRecords(
            trees, (2, 2), codes.repeat(known, axis=0), np.ones(ENTITIES, dtype=np.int64)
        )
        records = GeneralisedRecords(trees, (2, 2), codes[kept], counts[kept].astype(np.int64))
        return cls(records, scores, PublicDictionary((0, 1), entities))

    def _of_all(self, score: Score) -> Candidates:
        """Something of all generalisations of each record."""
        wanted = np.arange(len(self.records.codes))
        return Candidates.of(self.records, wanted, lambda counts: counts > 0, score)

    @cached_property
    def weighed(self) -> Candidates:
        """All generalisations of each record with their f."""
        return self._of_all(self.scores.score)

    @property
    def objective(self) -> Floats:
        """(distinct, vectors) f."""
        return self.weighed.scores

    @cached_property
    def crowds(self) -> Floats:
        """(distinct, vectors) how many records are below."""
        return self._of_all(lambda nodes, counts: counts.astype(np.float64)).scores

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

    @cached_property
    def chosen(self) -> Ints:
        """(distinct,) the column of what each record becomes against the dictionary.

        Entities count so much more than records as there are fewer of them.
        """
        trade_off = GREATER * self.scores.trade_off * RECORDS / ENTITIES
        scores = replace(self.scores, trade_off=trade_off)
        nodes = best_generalisations(self.records, self.dictionary, scores)
        depths = [own.depth[at] for own, at in zip(self.records.hierarchies, nodes, strict=True)]
        columns = {vector: at for at, vector in enumerate(self.weighed.vectors)}
        return np.array([columns[first, second] for first, second in zip(*depths, strict=True)], np.int32)

    @property
    def suppressed(self) -> float:
        """The share of the records of which nothing is shown against the dictionary."""
        is_suppressed = self.chosen == self.weighed.vectors.index((0, 0))
        return int(self.records.counts[is_suppressed].sum()) / RECORDS

    def of_histogram(self, epsilon: float, columns: Ints) -> float:
        """The same of the stability histogram of records as these generalisations: small ones are lost."""
        threshold = NoiseLaw(as_written(epsilon)).threshold(as_written(DELTA))
        every = np.arange(len(columns))
        nodes = self.weighed.nodes(every, columns)
        alike = distinct_rows(nodes, [own.n_nodes for own in self.records.hierarchies], len(columns))
        shown = np.bincount(alike.inverse, self.records.counts)[alike.inverse] >= threshold
        return float((self.objective[every, columns] * shown) @ self.records.counts) / RECORDS

    def value(self, epsilon: float, rate: float) -> Value:
        """All of them beside the optimum."""
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
            self.of_histogram(epsilon, np.full_like(self.chosen, self.weighed.vectors.index((2, 2))))
            / optimum,
            self.of_histogram(epsilon, self.chosen) / optimum,
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
        f"means of {effort.seeds} tables; records that are not shown count nothing; the dictionary has "
        f"{ENTITIES:,} entities drawn as the records are, and λ·m / {ENTITIES:,}·{GREATER} is its trade-off"
    )


def over_epsilon(effort: Effort) -> Report:
    """Fouad (2012), figure 6.1 (a): against the optimum without privacy, over ε."""
    rate = 0.1
    found = _values(effort, EPSILONS, (rate,))[:, 0]
    per_shown = found[:, 0] / rate
    suppressed = float(np.mean([Sample.drawn(seed).suppressed for seed in range(effort.seeds)]))
    return Report(
        id="D1",
        title="Expected objective over its optimum, by ε",
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
            exact(
                "No histogram is worth more than the optimum",
                bool((found[:, 2:] <= 1 + 1e-12).all()),
                f"{found[:, 2:].max():.6f}",
            ),
            qualitative(
                "Against a dictionary rare records are suppressed and shown, not lost: it is worth more than "
                "of records as they are",
                bool((found[:, 3] > found[:, 2]).all()),
                " ".join(f"{own:.6f}" for own in found[:, 3]) + f"; {suppressed:.1%} are suppressed",
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

"""R2 and R4: errors of counts, plain and in copies (Wang et al. (2012), figures 3 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.mechanisms.balanced_samples import copies, expanded, sampled_counts
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.expected_errors import PooledCounts, sample_sizes
from app.domain.mechanisms.mechanism import Bits
from app.domain.mechanisms.query_pool import GroupedValues, PoolQuestion, QueryPool, query_pool
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.experiments.cells import Cells, data_hash
from app.experiments.reconstruction_grid import DEFAULT, NAMES, SETTINGS, Setting, axis
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.stand_in_census import (
    ATTRIBUTES,
    EDUCATION,
    OCCUPATION,
    base_tables,
    named,
    words_of_pool,
)

COLUMNS: Final = ("plain", "balanced", "balanced_fixed", "balanced / plain", "balanced_fixed / plain")
RELEASES_PER_SEED: Final = 4
LEAST_RELEASES: Final = 20
WITHIN: Final = 0.1
"""Part of an expected error that the mean of drawn ones may be off by."""
STANDARD_ERRORS: Final = 5.0
"""Of 20 releases one mean in 10,000 is farther off from its expectation."""


def education(effort: Effort) -> Report:
    """Of education."""
    return _report("R2", "Wang et al. (2012), figure 3", EDUCATION, effort)


def occupation(effort: Effort) -> Report:
    """Of occupation."""
    return _report("R4", "Wang et al. (2012), figure 5", OCCUPATION, effort)


@dataclass(frozen=True, eq=False)
class _Pooled:
    """A table with its pool of queries, for the cells of an experiment."""

    table: GroupedValues
    experiment: str
    cells: Cells

    @cached_property
    def pool(self) -> QueryPool:
        """The queries, the same whenever they are drawn."""
        return query_pool(self.table, PoolQuestion(), words_of_pool())

    @cached_property
    def counts(self) -> PooledCounts:
        """What they count."""
        return PooledCounts(self.table, self.pool)

    @cached_property
    def hash(self) -> str:
        """Of the records."""
        return data_hash(self.table)

    def samples(self, setting: Setting) -> tuple[Longs, Longs, Longs]:
        """Records to draw of each group: all, by its shares, and alike of all larger ones."""
        question, counts = setting.question(self.table.n_values), self.table.counts
        balanced = sample_sizes(counts, question, "chernoff_simple", "balanced")
        return counts.sizes, balanced, sample_sizes(counts, question, "chernoff_simple", "balanced_fixed")

    def expected(self, setting: Setting) -> tuple[float, ...]:
        """Errors of plain perturbation and of both modes, and the ratios of these to it."""
        asked = {**setting.asked(self.experiment), "of": "expected errors"}
        return self.cells.of(asked, self.hash, len(COLUMNS), lambda: self._expected(setting))

    def _expected(self, setting: Setting) -> tuple[float, ...]:
        question = setting.question(self.table.n_values)
        plain, balanced, fixed = (self.counts.error(question, own) for own in self.samples(setting))
        return plain, balanced, fixed, balanced / plain, fixed / plain

    def drawn(self, setting: Setting, kind: int, release: int) -> tuple[float, ...]:
        """The mean error of the pool in a release, and the mean of its square, of a kind of samples.

        Each release is drawn by words of its own, so that any of them can be drawn by itself.
        """

        def draw() -> tuple[float, float]:
            seed = np.random.SeedSequence((kind + 1, release))
            bits = np.random.Generator(np.random.PCG64(seed)).bytes
            return self._drawn(setting, self.samples(setting)[kind], bits)

        asked = {**setting.asked(self.experiment), "of": COLUMNS[kind], "release": release}
        return self.cells.of(asked, self.hash, 2, draw)

    def expectations(self, setting: Setting, kind: int) -> tuple[float, ...]:
        """What the mean error of the pool is expected to be, and exactly its square."""

        def expect() -> tuple[float, float]:
            question, samples = setting.question(self.table.n_values), self.samples(setting)[kind]
            return self.counts.error(question, samples), self.counts.squared_error(question, samples)

        asked = {**setting.asked(self.experiment), "of": f"expectations of {COLUMNS[kind]}"}
        return self.cells.of(asked, self.hash, 2, expect)

    def _drawn(self, setting: Setting, samples: Longs, bits: Bits) -> tuple[float, float]:
        counts, m, p = self.table.counts, self.table.n_values, setting.p
        owners, values = expanded(counts, sampled_counts(counts, samples, bits))
        shown = replaced(values, TransitionMatrix(np.full(m, p)), bits)
        often = copies(owners, counts.sizes, samples, bits)
        cells = owners * m + shown
        amounts = np.bincount(cells, often, counts.n_classes * m).reshape(counts.n_classes, m)
        return self._errors(amounts, p)

    def _errors(self, published: Floats, p: float) -> tuple[float, float]:
        """The means of |estimate − answer| / answer and of its square, of published counts (groups, m)."""
        m, errors, often = self.table.n_values, [], self.pool.often
        c = (1 - p) / m
        by_columns: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
        for columns, places, value in self.pool.answers:
            by_columns.setdefault(columns, []).append((places, value))
        groups, records = np.nonzero(published)
        amounts = published[groups, records]
        for columns, asked in by_columns.items():
            rows = self.table.by(columns)
            of_row = rows.inverse[groups].astype(np.int64)
            shown = np.bincount(of_row * m + records, amounts, rows.size * m).reshape(rows.size, m)
            place = {own: i for i, own in enumerate(map(tuple, rows.codes.tolist()))}
            for places, value in asked:
                own = shown[place[places]]
                answer = self.pool.answers[columns, places, value]
                error = abs((own[value] - own.sum() * c) / p - answer) / answer
                errors.append((error, often[columns, places, value]))
        found, weights = np.array(errors).T
        return float(np.average(found, weights=weights)), float(np.average(found**2, weights=weights))


def _report(name: str, source: str, sensitive: int, effort: Effort) -> Report:
    pooled = tuple(_Pooled(own, name, effort.cells) for own in base_tables(effort, sensitive))
    sizes = tuple(own.table.n_records for own in pooled)
    expected = {
        varied: np.array([pooled[own.table].expected(own) for own in settings])
        for varied, settings in SETTINGS.items()
    }
    releases = max(LEAST_RELEASES, RELEASES_PER_SEED * effort.seeds)
    middle = pooled[DEFAULT.table]
    drawn = _drawn(middle, releases)
    tables = [
        ResultTable.of(
            f"Expected errors by {NAMES[varied]}", (NAMES[varied], *COLUMNS), axis(varied, sizes), own
        )
        for varied, own in expected.items()
    ]
    rows = tuple((name, *numbers) for name, numbers in zip(COLUMNS, drawn.tolist(), strict=False))
    tables.append(
        ResultTable(
            f"{releases} releases of the middle setting",
            (
                "release",
                *("expected error", "mean error", "standard error"),
                *("expected square", "mean square", "its standard error"),
            ),
            rows,
        )
    )
    return Report(
        id=name,
        title=f"Errors of counts of {ATTRIBUTES[sensitive]} after plain perturbation and in copies",
        source=source,
        setting=f"{named(effort)}, {sizes[DEFAULT.table]:,} records, p = 0.5, ε = 0.5, δ = 0.3 unless "
        f"varied; mean of |estimate − count| / count over {PoolQuestion().queries:,} queries",
        tables=tuple(tables),
        pictures=tuple(
            Picture(
                f"{name.lower()}-{varied}",
                f"Expected error of counts by {NAMES[varied]}",
                NAMES[varied],
                "Mean relative error",
                curves(COLUMNS[:3], axis(varied, sizes), own[:, :3]),
            )
            for varied, own in expected.items()
        ),
        claims=_claims(expected, drawn),
    )


def _drawn(pooled: _Pooled, releases: int) -> Floats:
    """(3, 6) of each kind of release the expected error, the mean of drawn ones and its standard error.

    And the same of squares, whose expectation is exact, whatever the law of an estimate.
    """
    found = []
    for kind in range(3):
        own = np.array([pooled.drawn(DEFAULT, kind, release) for release in range(releases)])
        (mean, square), (error, of_square) = own.mean(axis=0), own.std(axis=0, ddof=1) / np.sqrt(releases)
        expected = pooled.expectations(DEFAULT, kind)
        found.append((expected[0], mean, error, expected[1], square, of_square))
    return np.array(found)


def _claims(expected: dict[str, Floats], drawn: Floats) -> tuple[Claim, ...]:
    every = np.concatenate(list(expected.values()))
    ratios, of_fixed = every[:, 3], every[:, 4]
    off = np.abs(drawn[:, 1] / drawn[:, 0] - 1)
    squares_off = np.abs(drawn[:, 4] - drawn[:, 3]) / drawn[:, 5]
    return (
        exact(
            "Counts in copies are expected to have no less error than after plain perturbation",
            bool((every[:, 3:] >= 1 - 1e-9).all()),
            f"ratios from {ratios.min():.4g} to {ratios.max():.4g}, balanced_fixed to {of_fixed.max():.4g}",
        ),
        exact(
            "It falls as p grows",
            bool((np.diff(expected["p"][:, 0]) < 0).all()),
            _shown(expected["p"][:, 0]),
        ),
        qualitative(
            "So does that of copies",
            bool((np.diff(expected["p"][:, 1:3], axis=0) < 0).all()),
            f"{_shown(expected['p'][:, 1])}; balanced_fixed {_shown(expected['p'][:, 2])}",
        ),
        qualitative(
            "Both fall as the number of records grows",
            bool((np.diff(expected["table"][:, :2], axis=0) < 0).all()),
            f"{_shown(expected['table'][:, 0])}; copies {_shown(expected['table'][:, 1])}",
        ),
        qualitative(
            "Copies have only slightly more error, as the paper finds: at most a tenth more",
            bool(ratios.max() <= 1 + WITHIN),
            f"{expected['p'][2, 3]:.4g} times at the middle setting, at most {ratios.max():.4g} times; "
            f"balanced_fixed, whose copies tell no shares, {expected['p'][2, 4]:.4g} and "
            f"{of_fixed.max():.4g} times",
        ),
        qualitative(
            "Drawn releases have the expected errors, to a tenth",
            bool((off <= WITHIN).all()),
            " ".join(f"{mean:.4g} ± {error:.2g}" for mean, error in drawn[:, 1:3]),
        ),
        exact(
            f"Their squares have the expected mean, to {STANDARD_ERRORS:g} standard errors",
            bool((squares_off <= STANDARD_ERRORS).all()),
            "off by " + " ".join(f"{off:.2g}" for off in squares_off),
        ),
    )


def _shown(errors: Floats) -> str:
    return "errors " + " ".join(f"{error:.4g}" for error in errors)

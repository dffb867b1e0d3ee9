"""R2 and R4: errors of counts, plain and in copies (Wang et al. (2012), figures 3 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.mechanisms.query_pool import PoolQuestion
from app.experiments.pooled_errors import COMPUTABLE, KINDS, PooledErrors
from app.experiments.reconstruction_grid import DEFAULT, NAMES, SETTINGS, axis
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.stand_in_census import ATTRIBUTES, EDUCATION, OCCUPATION, base_tables, named

COLUMNS: Final = ("plain", "balanced", "balanced_fixed", "balanced / plain", "balanced_fixed / plain")
RELEASES_PER_SEED: Final = 2
"""At every setting; of the middle one twice as many."""
LEAST_RELEASES: Final = 20
"""Of the middle setting."""
WITHIN: Final = 0.1
"""Part of an expected error that the mean of drawn ones may be off by."""
STANDARD_ERRORS: Final = 5.0
"""Of 20 releases one mean in 10,000 is farther off from its expectation."""


def education(effort: Effort) -> Report:
    """Of education."""
    return _report("R2", EDUCATION, effort)


def occupation(effort: Effort) -> Report:
    """Of occupation."""
    return _report("R4", OCCUPATION, effort)


def _report(name: str, sensitive: int, effort: Effort) -> Report:
    pooled = tuple(PooledErrors(own, name, effort.cells) for own in base_tables(effort, sensitive))
    found = _found(pooled, effort)
    return Report(
        id=name,
        title=f"Errors of counts of {ATTRIBUTES[sensitive]} after plain perturbation and in copies",
        setting=f"{named(effort)}, {found.sizes[DEFAULT.table]:,} records, p = 0.5, ε = 0.5, δ = 0.3 unless "
        f"varied; mean of |estimate − count| / count over {PoolQuestion().queries:,} queries. Of the mode "
        "paper, whose samples are of random size, no error is computed: it is drawn like the others",
        tables=found.tables,
        pictures=tuple(
            Picture(
                f"{name.lower()}-{varied}{which}",
                f"{title} of counts by {NAMES[varied]}",
                NAMES[varied],
                "Mean relative error",
                curves(kinds, axis(varied, found.sizes), errors[varied][:, : len(kinds)]),
            )
            for which, title, kinds, errors in (
                ("", "Expected error", COMPUTABLE, found.expected),
                ("-drawn", f"Error in {found.releases} releases", KINDS, found.drawn),
            )
            for varied in SETTINGS
        ),
        claims=_claims(found) + _claims_of_drawn(found),
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """What the settings of each thing that is varied come to: expected, and in so many releases.

    ``expected[varied]`` (settings, 5) has the columns of :data:`COLUMNS`; ``drawn[varied]`` (settings, 8) the
    means of all kinds and their standard errors. ``middle`` is of more releases of the middle setting.
    """

    sizes: tuple[int, ...]
    expected: Mapping[str, Floats]
    releases: int
    drawn: Mapping[str, Floats]
    middle_releases: int
    middle: Floats

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """All of it."""
        errors = tuple(f"{kind}, standard error" for kind in KINDS)
        rows = tuple((kind, *numbers) for kind, numbers in zip(COMPUTABLE, self.middle.tolist(), strict=True))
        return (
            *self._by_setting("Expected errors", COLUMNS, self.expected),
            *self._by_setting(f"Errors in {self.releases} releases", (*KINDS, *errors), self.drawn),
            ResultTable(
                f"{self.middle_releases} releases of the middle setting",
                (
                    "release",
                    *("expected error", "mean error", "standard error"),
                    *("expected square", "mean square", "its standard error"),
                ),
                rows,
            ),
        )

    def _by_setting(
        self, title: str, columns: tuple[str, ...], found: Mapping[str, Floats]
    ) -> tuple[ResultTable, ...]:
        return tuple(
            ResultTable.of(
                f"{title} by {NAMES[varied]}", (NAMES[varied], *columns), axis(varied, self.sizes), own
            )
            for varied, own in found.items()
        )


def _found(pooled: tuple[PooledErrors, ...], effort: Effort) -> _Found:
    expected = {
        varied: np.array([pooled[own.table].expected(own) for own in settings])
        for varied, settings in SETTINGS.items()
    }
    releases, at_middle = (
        RELEASES_PER_SEED * effort.seeds,
        max(LEAST_RELEASES, 2 * RELEASES_PER_SEED * effort.seeds),
    )
    drawn = {}
    for varied, settings in SETTINGS.items():
        errors = np.array(
            [
                [[pooled[own.table].drawn(own, kind, i)[0] for i in range(releases)] for kind in KINDS]
                for own in settings
            ]
        )
        deviations = errors.std(axis=2, ddof=1) / np.sqrt(releases)
        drawn[varied] = np.hstack((errors.mean(axis=2), deviations))
    middle = _middle(pooled[DEFAULT.table], at_middle)
    return _Found(tuple(own.table.n_records for own in pooled), expected, releases, drawn, at_middle, middle)


def _middle(pooled: PooledErrors, releases: int) -> Floats:
    """(3, 6) of each kind of release the expected error, the mean of drawn ones and its standard error.

    And the same of squares, whose expectation is exact, whatever the law of an estimate.
    """
    found = []
    for kind in COMPUTABLE:
        own = np.array([pooled.drawn(DEFAULT, kind, release) for release in range(releases)])
        (mean, square), (error, of_square) = own.mean(axis=0), own.std(axis=0, ddof=1) / np.sqrt(releases)
        expected = pooled.expectations(DEFAULT, kind)
        found.append((expected[0], mean, error, expected[1], square, of_square))
    return np.array(found)


def _claims(found: _Found) -> tuple[Claim, ...]:
    expected, drawn = found.expected, found.middle
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
            f"{found.middle_releases} releases of the middle setting have the expected errors, to a tenth",
            bool((off <= WITHIN).all()),
            " ".join(f"{mean:.4g} ± {error:.2g}" for mean, error in drawn[:, 1:3]),
        ),
        exact(
            f"Their squares have the expected mean, to {STANDARD_ERRORS:g} standard errors",
            bool((squares_off <= STANDARD_ERRORS).all()),
            "off by " + " ".join(f"{off:.2g}" for off in squares_off),
        ),
    )


def _claims_of_drawn(found: _Found) -> tuple[Claim, ...]:
    drawn, expected = np.concatenate([*found.drawn.values()]), np.concatenate([*found.expected.values()])
    n = len(COMPUTABLE)
    off = np.abs(drawn[:, :n] / expected[:, :n] - 1)
    ratios = drawn[:, KINDS.index("paper")] / expected[:, COMPUTABLE.index("balanced")]
    return (
        qualitative(
            f"So have {found.releases} releases of every setting",
            bool((off <= WITHIN).all()),
            "off by at most "
            + ", ".join(
                f"{100 * own:.2g} % {kind}" for kind, own in zip(COMPUTABLE, off.max(axis=0), strict=True)
            ),
        ),
        qualitative(
            "Copies as published (paper) are off as far as balanced ones are expected to be, to a tenth",
            bool((np.abs(ratios - 1) <= WITHIN).all()),
            f"{ratios.min():.4g} to {ratios.max():.4g} times as far",
        ),
    )


def _shown(errors: Floats) -> str:
    return "errors " + " ".join(f"{error:.4g}" for error in errors)

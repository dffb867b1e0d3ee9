"""How fast priors of a Dirichlet-multinomial synthesiser are found, beside the beta-binomial of scipy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from scipy.special import gammaln
from scipy.stats import betabinom

from app.domain.mechanisms import dirichlet_calibration
from app.domain.mechanisms.dirichlet_calibration import Certificate, calibrate
from tests.benchmarks.row import Report, Row, timed

PEOPLE: Final = range(10, 1210, 10)
"""Of 120 partitions, all different, so that no answer is one of before."""
CELLS: Final = 1_000
GAMMA: Final = 49.0
EPSILON: Final = math.log(1 + GAMMA)
DELTA: Final = 1e-5
MILLISECONDS: Final = 20
"""Of a partition, with the proof in decimals, which scipy does not give."""
CERTIFICATES: Final[tuple[Certificate, ...]] = ("exact_tail", "reference_sample")


def rows(data: Path | None, report: Report) -> None:
    """One row per certificate."""
    for certificate in CERTIFICATES:
        report(_calibrated(certificate))


def _calibrated(certificate: Certificate) -> Row:
    def priors() -> list[float]:
        dirichlet_calibration._calibrated.cache_clear()
        return [float(calibrate(n, CELLS, EPSILON, DELTA, certificate).alpha) for n in PEOPLE]

    by_scipy = _exact_tail if certificate == "exact_tail" else _reference_sample
    ours = timed(priors, repeats=5)
    baseline = timed(lambda: [by_scipy(n) for n in PEOPLE], repeats=1, warm_up=0)
    return Row(
        f"priors of {len(PEOPLE)} partitions over {CELLS:,} cells by {certificate}",
        bar=f"{MILLISECONDS} ms a partition, proven",
        ours_seconds=ours.least,
        baseline="scipy: betabinom.sf, or gammaln, for every count in a bisection",
        baseline_seconds=baseline.least,
        peak_bytes=ours.peak_bytes,
        counters={"greatest_prior": max(ours.answer)},
        same_result=all(
            math.isclose(own, other, rel_tol=1e-6)
            for own, other in zip(ours.answer, baseline.answer, strict=True)
        ),
        detail="least of 5 runs; ours is proven of the rational prior, the baseline is in floating point",
        bar_seconds=MILLISECONDS / 1_000 * len(PEOPLE),
    )


def _exact_tail(n: int) -> float:
    """The least multiple of 1 / γ by the union bound over cells."""

    def bound(alpha: float) -> float:
        tails = []
        for x in range(n + 1):
            cap = math.floor(GAMMA * (alpha + max(0, x - 1)) * (1 + 1e-12))
            if cap >= n:
                break
            tails.append(float(betabinom.sf(cap, n, x + alpha, n - x + (CELLS - 1) * alpha)))
        rise = max(((tail - tails[0]) / x for x, tail in enumerate(tails) if x), default=0.0)
        return min(CELLS * max(tails), CELLS * tails[0] + n * max(rise, 0.0)) if tails else 0.0

    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle / GAMMA) <= DELTA else (middle, high)
    return high / GAMMA


def _reference_sample(n: int) -> float:
    """The least prior by the continued probability of a just unrepresentative count."""

    def bound(alpha: float) -> float:
        others, most = (CELLS - 1) * alpha, 0.0
        for x in range(n + 1):
            f = GAMMA * (alpha + max(0, x - 1))
            if f >= n:
                break
            logarithm = (
                gammaln(n + 1) - gammaln(f + 1) - gammaln(n - f + 1) + gammaln(n + alpha + others)
                - gammaln(x + alpha) - gammaln(n - x + others) + gammaln(x + f + alpha)
                + gammaln(n - x + n - f + others) - gammaln(n + n + alpha + others)
            )  # fmt: skip
            most = max(most, math.exp(logarithm))
        return 2 * CELLS * (GAMMA + 1) / (GAMMA - 1) * most

    low, high = 1e-12, n / GAMMA
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if bound(middle) > DELTA else (low, middle)
    return high

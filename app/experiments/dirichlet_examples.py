"""S1, S6, S7: the constants of the Dirichlet-multinomial synthesiser, and printed claims that fail.

Machanavajjhala (2008), chapter 4.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.mechanisms.dirichlet_calibration import (
    Tails,
    calibrate,
    lower_gamma,
    noise_share,
    reference_bound,
)
from app.domain.mechanisms.dirichlet_disclosure import exact_chances, is_good, log_probabilities, outputs
from app.experiments.report import Effort, Report, ResultTable, exact

_N: Final = 10**6
_CELLS: Final = 10**4
_DELTA: Final = 1e-6
_PRINTED: Final = {5: ("25", "17.5"), 10: ("11", "5.5"), 20: ("5.2", "2.16"), 50: ("2", "0.74")}
"""Of the table by e^ε: thousands of tens of pure differential privacy, and the probabilistic one."""


def constants(_: Effort) -> Report:
    """S1: the table of priors, whose columns are e^ε and not ε."""
    rows, right = [], []
    for ratio, (pure, reference) in _PRINTED.items():
        epsilon = math.log(ratio)
        one = float(calibrate(_N, _CELLS, epsilon, 0, "pure").alpha)
        two = float(calibrate(_N, _CELLS, epsilon, _DELTA, "reference_sample").alpha)
        three = calibrate(_N, _CELLS, epsilon, _DELTA, "exact_tail")
        rows.append((ratio, one, two, float(three.alpha), three.t_star or 0, three.delta))
        right.append(_cut(one / 10**4, pure) and _cut(two, reference))
    as_epsilon = float(calibrate(_N, _CELLS, 5.0, 0, "pure").alpha)
    return Report(
        id="S1",
        title="Prior per cell for a million people over ten thousand cells",
        setting=f"n = m = {_N:,}, {_CELLS:,} cells, δ = {_DELTA:g}",
        tables=(
            ResultTable(
                "Least priors",
                ("e^ε", "pure", "the reference sample", "exact tail", "t*", "its δ"),
                tuple(rows),
            ),
        ),
        pictures=(),
        claims=(
            exact(
                "Both printed rows are found to the printed digits with the columns read as e^ε",
                all(right),
                f"{sum(right)} of {len(right)} columns",
            ),
            exact(
                "They are not with the columns read as ε",
                not _cut(as_epsilon / 10**4, "25"),
                f"ε = 5 needs {as_epsilon:,.0f} for pure privacy",
            ),
            exact(
                "The exact tail needs less than the reference sample, and its δ holds",
                all(tail < by_theorem and delta <= _DELTA for _, _, by_theorem, tail, _, delta in rows),
                "all columns",
            ),
        ),
    )


def _cut(value: float, printed: str) -> bool:
    """Whether a value, rounded or cut off, is the printed one."""
    unit = 10.0 ** -len(printed.partition(".")[2])
    return -unit / 2 <= value - float(printed) < unit


def capital(_: Effort) -> Report:
    """S6: a million people over eight million cells, with the arithmetic corrected."""
    cells, epsilon = 8 * 10**6, math.log(50)
    pure = float(calibrate(_N, cells, epsilon, 0, "pure").alpha)
    found = {
        name: float(calibrate(_N, size, epsilon, _DELTA, "reference_sample").alpha)
        for name, size in (("all", cells), ("table", _CELLS))
    }
    totals = {"pure": cells * pure, "probabilistic": cells * found["all"]}
    return Report(
        id="S6",
        title="A capital's commuters over all blocks of the country",
        setting=f"n = m = {_N:,}, {cells:,} cells, ε = ln 50, δ = {_DELTA:g}",
        tables=(
            ResultTable(
                "Priors",
                ("certificate", "per cell", "in all", "noise share"),
                tuple((name, total / cells, total, noise_share(_N, total)) for name, total in totals.items()),
            ),
        ),
        pictures=(),
        claims=(
            exact(
                "Pure privacy needs 20,408.16 per cell, not 205,000",
                abs(pure - 20408.16) < 0.01,
                f"{pure:,.2f}",
            ),
            exact(
                "In all that is 1.63 · 10¹¹, not 16 · 10⁹",
                abs(totals["pure"] / 1.63e11 - 1) < 0.005,
                f"{totals['pure']:.3g}",
            ),
            exact(
                "0.74 per cell is the value for 10,000 cells; for eight million about 0.39 suffices",
                abs(found["table"] - 0.74) < 0.005 and abs(found["all"] - 0.39) < 0.01,
                f"{found['table']:.4f} and {found['all']:.4f}",
            ),
            exact(
                "Even so three quarters of the drawn people are noise",
                noise_share(_N, totals["probabilistic"]) > 0.7,
                f"noise share {noise_share(_N, totals['probabilistic']):.3f}",
            ),
        ),
    )


def failing_claims(_: Effort) -> Report:
    """S7: the calibration loop, and δ under domain sampling, as printed and as they are."""
    loop = printed_loop(_N, _CELLS, Decimal(49), _DELTA)
    needed = float(calibrate(_N, _CELLS, math.log(50), _DELTA, "reference_sample").alpha)
    endless = printed_loop(2, 3, Decimal(4), 0.01)
    plain, rejecting, claimed = accept_reject()
    full = exact_chances(np.array([1, 1, 0, 0]), np.full(4, 0.25), math.log(5)).disclosure
    sampled = sampled_outside()
    gamma = lower_gamma(Fraction("4.6"))
    alpha = calibrate(100, 120_690, 4.6, 1e-5, "reference_sample").alpha
    by_cells = {
        kept: _singletons(Tails(100, ((alpha, 1),), gamma, kept * alpha), 100, kept)
        for kept in (120_690, 17_379)
    }
    return Report(
        id="S7",
        title="Claims of the chapter that fail as printed",
        setting="exact enumeration of small tables, and proven bounds",
        tables=(
            ResultTable(
                "As printed and as it is",
                ("claim", "printed", "found"),
                (
                    ("prior by the printed loop, e^ε = 50", loop or 0.0, needed),
                    ("δ of accept/reject", plain, rejecting),
                    ("δ after domain sampling", full, sampled),
                    ("the same, 100 people", by_cells[120_690], by_cells[17_379]),
                ),
            ),
        ),
        pictures=(),
        claims=(
            exact(
                "The printed loop stops at half the prior of pure privacy, and a ten-thousandth suffices",
                loop is not None and loop > 10**4 * needed,
                f"{loop} for {needed:.6f}",
            ),
            exact(
                "For two people it never stops", endless is None, "200 halvings, n = m = 2, e^ε = 5, δ = 0.01"
            ),
            exact(
                "Accept/reject after an (ε, δ)-private draw is not (ε − ln(1 − δ), δ)-private",
                rejecting > plain,
                f"δ {plain:.6f} before, {rejecting:.6f} at ε {claimed:.6f} after",
            ),
            exact(
                "Domain sampling does not keep δ",
                sampled > full,
                f"{full:.6f} before, {sampled:.6f} after",
            ),
            exact(
                "Nor at a realistic size: a table of 100 people has more than δ = 1e-5 on 17,379 kept cells",
                by_cells[120_690] < 1e-5 < by_cells[17_379],
                f"{by_cells[120_690]:.2g} before, {by_cells[17_379]:.2g} after",
            ),
        ),
    )


def printed_loop(n: int, cells: int, gamma: Decimal, delta: float) -> float | None:
    """The prior of the printed loop with a tolerance of 0.0001; None if 200 halvings do not end it."""
    low, high = 0.0, float(n / gamma)
    for _ in range(200):
        middle = (low + high) / 2
        reached = reference_bound(n, cells, Fraction(middle), gamma)
        if reached <= delta and delta - reached <= 1e-4:
            return middle
        low, high = (middle, high) if reached > delta else (low, middle)
    return None


def accept_reject() -> tuple[float, float, float]:
    """Of k = 2, n = m = 5, α = 0.22, ε = 1.64: δ before, δ after, and the ε claimed after.

    δ before is of plain draws over all tables; δ after is of the table (1, 4), with outputs resampled until
    they are γ-good.
    """
    priors, epsilon = np.full(2, 0.22), 1.64
    tables = [np.array([i, 5 - i]) for i in range(6)]
    plain = max(exact_chances(table, priors, epsilon).disclosure for table in tables)
    claimed = epsilon - math.log1p(-plain)
    drawn = outputs(5, 2)
    laws = [_accepted(drawn, table, priors, math.expm1(epsilon)) for table in tables[:3]]
    bad = _apart(laws[0], laws[1], claimed) | _apart(laws[1], laws[2], claimed)
    return plain, float(laws[1][bad].sum()), claimed


def _accepted(drawn: Longs, table: Longs, priors: Floats, gamma: float) -> Floats:
    law = np.exp(log_probabilities(drawn, table, priors)) * is_good(drawn, table, priors, gamma)
    return np.asarray(law / law.sum())


def _apart(one: Floats, other: Floats, epsilon: float) -> Bools:
    """Which outputs are more than e^ε times as likely under one of two laws."""
    factor = math.exp(epsilon)
    return np.asarray((one > factor * other) | (other > factor * one))


def sampled_outside(include: float = 0.1, gamma: float = 4.0) -> float:
    """P(not γ-representative) for the table (1, 1, 0, 0), α = ¼, m = 2, its empty cells kept by chance."""
    table, priors = np.array([1, 1, 0, 0]), np.full(4, 0.25)
    total = 0.0
    for kept, chance in ((2, (1 - include) ** 2), (3, 2 * include * (1 - include)), (4, include**2)):
        total += chance * exact_chances(table[:kept], priors[:kept], math.log1p(gamma)).not_representative
    return total


def _singletons(tails: Tails, n: int, cells: int) -> float:
    """The union bound for a table of n people in as many cells, and cells that are empty."""
    empty, one = tails.at_counts(1)
    return (cells - n) * empty + n * one

"""R5 and R6: shares computed from two noisy counts (Wang et al. (2012), tables 4 and 5).

Each of two counts, of a group of n records and of the k of them with a value, is answered with Laplace noise
of the scale b = 1 / λ: differential privacy with λ each, with 2·λ together. Their ratio estimates f = k / n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.noisy_ratios import tails_of_quotients
from app.experiments.report import Claim, Effort, Report, ResultTable, exact, qualitative
from app.experiments.stand_in_census import EDUCATION, OCCUPATION, base_tables, named

LAMBDAS: Final = (0.1, 0.05)
EPSILONS: Final = (0.2, 0.3)
PAIRS: Final = 100
MANY_PAIRS: Final = 100_000
SEED: Final = 20120214
TAIL: Final = 0.5e-4
"""Of either side of the central interval of 99.99 %."""
STANDARD_ERRORS: Final = 4.0
"""Of the paper's groups."""
OF_ANY_DATA: Final = 5.0
"""Of groups of whatever data, so that chance does not refuse a right simulation of them."""
DELTA: Final = 0.3
LEAST: Final = 1e-4
"""A variance below this is taken as this: the law of rarer events is not normal in so many pairs."""
LISTED: Final = 7
TOO_MANY: Final = 94.5
"""The sum of 56 squared standard normal numbers is greater in one of a thousand cases."""


@dataclass(frozen=True)
class _Group:
    """n and k, and of the published one how many of 100 ratios were too high and too low, by setting."""

    n: int
    k: int
    published: tuple[int, ...] = ()


_TABLE_4: Final = (
    _Group(89, 77, (18, 13, 14, 7, 34, 29, 24, 22)),
    _Group(74, 57, (25, 23, 14, 7, 32, 32, 28, 23)),
    _Group(138, 105, (11, 9, 8, 3, 18, 27, 20, 15)),
    _Group(104, 79, (21, 12, 9, 6, 35, 28, 22, 22)),
    _Group(104, 78, (23, 14, 11, 6, 35, 25, 21, 28)),
    _Group(77, 57, (26, 11, 18, 11, 26, 39, 27, 26)),
    _Group(102, 73, (18, 13, 8, 8, 32, 31, 29, 21)),
)
_TABLE_5: Final = tuple(
    _Group(n, k) for n, k in ((142, 68), (213, 100), (111, 52), (113, 51), (153, 69), (237, 107), (143, 63))
)
"""Counts k nearest to n times the published share; of two groups two fit, of which one is taken."""

_SETTINGS: Final = tuple((own, epsilon) for own in LAMBDAS for epsilon in EPSILONS)


def education(effort: Effort) -> Report:
    """Of education."""
    return _report("R5", EDUCATION, 70, _TABLE_4, effort)


def occupation(effort: Effort) -> Report:
    """Of occupation."""
    return _report("R6", OCCUPATION, 100, _TABLE_5, effort)


def _exact(groups: Sequence[_Group]) -> Floats:
    """(groups, 8) the probabilities of each setting, too high before too low."""
    k, n = (np.array(own, dtype=np.int64) for own in zip(*((own.k, own.n) for own in groups), strict=True))
    found = [tails_of_quotients(k, n, own, epsilon) for own, epsilon in _SETTINGS]
    return np.stack([side for tails in found for side in (tails.high, tails.low)], axis=1)


def _simulated(groups: Sequence[_Group], pairs: int) -> Floats:
    """(groups, 8) how many of so many ratios are too high, and too low: by their literal division."""
    generator, found = np.random.Generator(np.random.PCG64(SEED)), []
    for group in groups:
        row = []
        for own, epsilon in _SETTINGS:
            answers = generator.laplace(0, 1 / own, (2, pairs)) + np.array([[group.n], [group.k]])
            error = answers[1] / answers[0] / (group.k / group.n) - 1
            row += [np.count_nonzero(error > epsilon), np.count_nonzero(error < -epsilon)]
        found.append(row)
    return np.array(found, dtype=np.float64)


def binomial_interval(trials: int, chance: float) -> tuple[int, int]:
    """The central interval of so many trials: beyond each end lies less than :data:`TAIL`."""
    logs = [
        math.lgamma(trials + 1)
        - math.lgamma(i + 1)
        - math.lgamma(trials - i + 1)
        + i * math.log(chance)
        + (trials - i) * math.log1p(-chance)
        for i in range(trials + 1)
    ]
    up_to = np.cumsum(np.exp(logs))
    return int(np.searchsorted(up_to, TAIL)), int(np.searchsorted(up_to, 1 - TAIL))


def _report(name: str, sensitive: int, more_than: int, groups: tuple[_Group, ...], effort: Effort) -> Report:
    whole = base_tables(effort, sensitive)[-1]
    counts = whole.counts
    tops = np.maximum.reduceat(counts.counts, counts.starts[:-1])
    large = np.flatnonzero(counts.sizes > more_than)
    order = np.argsort(-tops[large] / counts.sizes[large], kind="stable")[:LISTED]
    own = tuple(_Group(int(counts.sizes[g]), int(tops[g])) for g in large[order].tolist())
    tables = [_rows("Groups of the paper", groups), *([_rows("Groups of the data", own)] if own else [])]
    return Report(
        id=name,
        title="Shares computed from two counts with Laplace noise",
        setting=f"{PAIRS} pairs of answers for each λ and ε; λ is of each answer, both cost 2·λ; the "
        f"{LISTED} groups of more than {more_than} records with the greatest share, of {named(effort)} "
        f"of {whole.n_records:,} records too",
        tables=tuple(tables),
        pictures=(),
        claims=(
            *_claims("Groups of the paper", groups, STANDARD_ERRORS),
            *(_claims("Groups of the data", own, OF_ANY_DATA) if own else ()),
            *_published(groups),
        ),
    )


def _rows(title: str, groups: tuple[_Group, ...]) -> ResultTable:
    """Exact probabilities and, of 100 pairs, how many ratios were off."""
    tails, drawn = _exact(groups), _simulated(groups, PAIRS)
    names = [f"λ={own:g} ε={epsilon:g} {side}" for own, epsilon in _SETTINGS for side in (">", "<")]
    columns = tuple(cell for name in names for cell in (name, "of 100"))
    rows = tuple(
        (
            group.n,
            group.k / group.n,
            *(
                cell
                for tail, count in zip(of_group, counted, strict=True)
                for cell in (float(tail), int(count))
            ),
        )
        for group, of_group, counted in zip(groups, tails, drawn, strict=True)
    )
    return ResultTable(title, ("n", "f", *columns), rows)


def _claims(title: str, groups: tuple[_Group, ...], most: float) -> tuple[Claim, ...]:
    tails = _exact(groups)
    chances = np.clip(tails, 1e-300, 1 - 1e-15)
    drawn, many = _simulated(groups, PAIRS), _simulated(groups, MANY_PAIRS)
    inside = [
        low <= count <= high
        for count, chance in zip(drawn.ravel().tolist(), chances.ravel().tolist(), strict=True)
        for low, high in [binomial_interval(PAIRS, chance)]
    ]
    off = np.abs(many / MANY_PAIRS - tails) / np.sqrt(np.maximum(tails * (1 - tails), LEAST) / MANY_PAIRS)
    confidence = 1 - tails.reshape(len(groups), -1, 2).sum(axis=2)
    violating = (tails.reshape(len(groups), -1, 2).min(axis=2) < DELTA).sum(axis=0)
    return (
        exact(
            f"{title}: every count of {PAIRS} drawn pairs lies in the central 99.99 % of its binomial law",
            all(inside),
            f"{sum(inside)} of {len(inside)}, of one seed",
        ),
        exact(
            f"{title}: of {MANY_PAIRS:,} pairs every share is within {most:g} standard errors",
            bool((off <= most).all()),
            f"the farthest is off by {off.max():.3g}",
        ),
        qualitative(
            f"{title}: with λ = 0.1 each violates, its ratio too high, or too low, with less than {DELTA:g}",
            bool((violating[:2] == len(groups)).all()),
            "groups that violate by setting "
            + " ".join(map(str, violating.tolist()))
            + f"; the share is right within 30 % with up to {confidence[:, 1].max():.3g}",
        ),
    )


def _published(groups: tuple[_Group, ...]) -> tuple[Claim, ...]:
    """Whether the counts that the paper prints are those of its mechanism."""
    if not groups[0].published:
        return ()
    tails = _exact(groups)
    printed = np.array([group.published for group in groups], dtype=np.float64)
    scores = (printed - PAIRS * tails) / np.sqrt(PAIRS * tails * (1 - tails))
    total = float((scores**2).sum())
    return (
        exact(
            "The counts that the paper prints are those of this mechanism",
            total <= TOO_MANY,
            f"squared standard scores of {scores.size} counts sum to {total:.3g}, the greatest is "
            f"{np.abs(scores).max():.2g}",
        ),
    )

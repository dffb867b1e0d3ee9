"""What one synthetic histogram discloses, and how likely a disclosure is.

Machanavajjhala (2008), sections 4.3 to 4.5, corrected. Arrays are over cells in their last dimension. Cells
in which nobody is and nobody was drawn may be left out: ``total`` is then the prior of all, and ``unseen``
says that there are such cells, which have the loss 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.errors import TooLarge

MOST_OUTPUTS: Final = 10**6
_log_gamma: Final[Callable[[Any], Any]] = np.frompyfunc(math.lgamma, 1, 1)


@dataclass(frozen=True)
class DisclosureChances:
    """Probabilities that an output is a disclosure, is not γ-representative, and is not γ-good."""

    disclosure: float
    not_representative: float
    not_good: float


def log_probabilities(drawn: Longs, counts: Longs, priors: Floats, total: float | None = None) -> Floats:
    """The Dirichlet-multinomial law: ln P(drawn | counts, priors) of outputs (…, k).

    Cells whose count and prior are both 0 must be left out: nobody can be drawn there.
    """
    weights = counts + priors
    of_all = float(weights.sum()) if total is None else float(counts.sum()) + total
    m, of_m = np.unique(drawn.sum(axis=-1), return_inverse=True)
    values, place = np.unique(drawn, return_inverse=True)  # outputs repeat few numbers, logarithms are dear
    of_value: Floats = (
        _log_gamma(values[:, None] + weights) - _log_gamma(weights) - _log_gamma(values[:, None] + 1)
    )
    cells = of_value[place.reshape(drawn.shape), np.arange(drawn.shape[-1])].astype(np.float64)
    of_people = (_log_gamma(m + 1) - _log_gamma(of_all + m) + math.lgamma(of_all)).astype(np.float64)
    return np.asarray(of_people[of_m.reshape(drawn.shape[:-1])] + cells.sum(axis=-1))


def worst_losses(drawn: Longs, counts: Longs, priors: Floats, unseen: bool = False) -> Floats:
    """(…) the greatest |ln P(drawn | D1) / P(drawn | D2)| of tables within a row of ``counts``.

    D1 and D2 are one row apart. With one person of cell a taken away, g = ln(1 + m / (rest + α)); the loss is
    the greatest g less the least.
    """
    with_all = np.log1p(drawn / (counts + priors))
    if unseen:
        with_all = np.concatenate([with_all, np.zeros((*drawn.shape[:-1], 1))], axis=-1)
    if with_all.shape[-1] == 1:
        return np.zeros(drawn.shape[:-1])
    least, second_least = np.moveaxis(np.partition(with_all, 1, axis=-1)[..., :2], -1, 0)
    second, greatest = np.moveaxis(np.partition(with_all, -2, axis=-1)[..., -2:], -1, 0)
    there = np.flatnonzero(counts)
    own = with_all[..., there]
    less = np.log1p(drawn[..., there] / (counts[there] - 1 + priors[there]))
    highest = np.maximum(np.where(own == greatest[..., None], second[..., None], greatest[..., None]), less)
    lowest = np.minimum(np.where(own == least[..., None], second_least[..., None], least[..., None]), less)
    return np.asarray((highest - lowest).max(axis=-1, initial=0.0))


def caps(counts: Longs, priors: Floats, gamma: float, spared: int = 1) -> Floats:
    """(k,) γ(α + [n − spared]⁺); a count at its cap is representative, also after rounding."""
    return np.asarray(gamma * (priors + np.maximum(counts - spared, 0)) * (1 + 1e-12))


def violations(drawn: Longs, counts: Longs, priors: Floats, gamma: float) -> Bools:
    """(…, k) which counts are above their caps; an output with none is γ-representative."""
    return np.asarray(drawn > caps(counts, priors, gamma))


def is_good(drawn: Longs, counts: Longs, priors: Floats, gamma: float) -> Bools:
    """(…) whether outputs are γ-representative of the counts or of a neighbour of theirs."""
    above = violations(drawn, counts, priors, gamma)
    kept = drawn <= caps(counts, priors, gamma, spared=0)
    repairable = (above & kept & (counts >= 1)).any(axis=-1)
    can_give = (drawn <= caps(counts, priors, gamma, spared=2)) & (counts >= 1) & ~above
    return np.asarray(~above.any(axis=-1) | ((above.sum(axis=-1) == 1) & repairable & can_give.any(axis=-1)))


def outputs(m: int, cells: int) -> Longs:
    """All histograms of m people over the cells; TooLarge above MOST_OUTPUTS."""
    return np.concatenate(list(blocks_of_outputs(m, cells)))


def blocks_of_outputs(m: int, cells: int) -> Iterator[Longs]:
    """All histograms of m people over the cells, in arrays of some 260,000 numbers."""
    n_outputs = math.comb(m + cells - 1, cells - 1)
    if n_outputs > MOST_OUTPUTS:
        raise TooLarge(
            f"{n_outputs:,} outputs are more than the {MOST_OUTPUTS:,} that are enumerated.",
            "Merge cells, or use the bound of the certificate.",
        )
    if cells == 1:
        yield np.array([[m]], dtype=np.int64)
        return
    every, row = itertools.combinations(range(m + cells - 1), cells - 1), np.dtype((np.int64, cells - 1))
    while len(bars := np.fromiter(itertools.islice(every, max(1, 2**18 // cells)), dtype=row)):
        yield np.diff(bars, axis=1, prepend=-1, append=m + cells - 1) - 1


def exact_chances(counts: Longs, priors: Floats, epsilon: float, m: int | None = None) -> DisclosureChances:
    """By enumeration of all outputs of m people (default: as many as there are); γ = e^ε − 1.

    TooLarge above MOST_OUTPUTS; the memory is that of a block of outputs, not of all.
    """
    gamma, summed = math.expm1(epsilon), []
    for drawn in blocks_of_outputs(int(counts.sum()) if m is None else m, len(counts)):
        chances = np.exp(log_probabilities(drawn, counts, priors))
        bad = worst_losses(drawn, counts, priors) > epsilon * (1 + 1e-12)
        above = violations(drawn, counts, priors, gamma).any(axis=1)
        summed.append([chances[of].sum() for of in (bad, above, ~is_good(drawn, counts, priors, gamma))])
    return DisclosureChances(*map(math.fsum, zip(*summed, strict=True)))


def least_delta(counts: Longs, neighbour: Longs, priors: Floats, epsilon: float) -> float:
    """Σ [P(m | counts) − e^ε·P(m | neighbour)]⁺ over outputs of as many people: the exact (ε, δ) curve.

    Only the two cells in which the tables differ tell them apart; the others are summed into one.
    """
    differ = np.flatnonzero(counts != neighbour)
    others = np.setdiff1d(np.arange(len(counts)), differ)
    n_parts = 3 if len(others) else 2
    drawn = outputs(int(counts.sum()), n_parts)
    parts = [
        np.append(values[differ], [values[others].sum()] * (n_parts - 2))
        for values in (counts, neighbour, priors)
    ]
    one, other = (log_probabilities(drawn, table, parts[2]) for table in parts[:2])
    return math.fsum(np.maximum(np.exp(one) - np.exp(epsilon + other), 0.0))

"""Laws of what samples of one attribute show, mixed over the sets of leaves that are frequent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from app.domain.mechanisms.histogram_laws import Counts, Law, Outcome
from app.domain.mechanisms.noise_law import NoiseLaw
from app.experiments.release_laws import OneAttribute


def noisy_law(model: OneAttribute, counts: Counts, scale: int, threshold: int) -> Law:
    """The law of a sample with frequent leaves by noisy counts, as the certified mechanism decides them."""
    noise = NoiseLaw(Fraction(1, scale))
    chances = [float(noise.tail(threshold - n)) if n else 0.0 for n in counts]
    return _mixed(
        model,
        counts,
        (
            (frequent, math.prod(p if own else 1 - p for own, p in zip(frequent, chances, strict=True)))
            for frequent in itertools.product((False, True), repeat=len(counts))
        ),
    )


def drawn_share_law(model: OneAttribute, counts: Counts, least_share: float) -> Law:
    """The law of a sample with leaves of at least a share θ of the records, drawn from least_share to 1."""
    records = sum(counts)
    cuts = sorted({least_share, 1.0, *(n / records for n in counts if least_share < n / records < 1)})
    return _mixed(
        model,
        counts,
        (
            (tuple(n / records >= high for n in counts), (high - low) / (1.0 - least_share))
            for low, high in itertools.pairwise(cuts)
        ),
    )


def _mixed(model: OneAttribute, counts: Counts, sets: Iterator[tuple[tuple[bool, ...], float]]) -> Law:
    found: dict[Outcome, float] = {}
    for frequent, chance in sets:
        if chance > 0:
            for outcome, p in model.law(counts, frequent).items():
                found[outcome] = found.get(outcome, 0.0) + chance * p
    return found

"""Identification probability and loss of single records (Definitions: loss)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Longs

AbsentPolicy = Literal["zero", "add_self", "error"]


def identification_probability(counts: Longs | Floats) -> Floats:
    """p(Z=1) = 1/|ρ|, and 0 where ρ is empty; float64 in [0, 1]."""
    probability = np.zeros(np.shape(counts))
    np.divide(1.0, counts, out=probability, where=np.asarray(counts) > 0)
    return probability


def with_self(counts: Longs, own_consistent: Bools) -> Longs:
    """|ρ| under ``add_self``: the entity itself is always one of the consistent ones."""
    return counts + 1 - own_consistent.astype(np.int64)


def loss(counts: Longs | Floats, phi: Floats, psi: Floats | float = 0.0) -> Floats:
    """ℓ = p·Φ + (1 − p)·Ψ per record, float64 in [0, +∞], never NaN; the arguments are broadcast.

    In this order: ∞ where Ψ = ∞ (categorically prohibited); Φ counts for nothing where ρ is empty, even if it
    is ∞; otherwise ∞ where Φ = ∞. ``counts``, ``phi`` and ``psi`` are |ρ|, Φ and Ψ of the disclosed records.
    """
    present = np.asarray(counts) > 0
    harm = np.zeros(np.broadcast_shapes(np.shape(counts), np.shape(phi), np.shape(psi)))
    np.divide(phi, counts, out=harm, where=present)
    if np.any(psi):
        failure = np.broadcast_to(np.asarray(psi, dtype=np.float64), harm.shape)
        share = np.broadcast_to(1.0 - identification_probability(counts), harm.shape)
        missed = np.zeros(harm.shape)
        np.multiply(share, failure, out=missed, where=share > 0)
        harm = harm + missed
        harm[np.isposinf(failure)] = np.inf
    return harm

"""The entropy of sensitive values estimated from a class as a sample: Grassberger's correction.

The entropy of counted shares is too small on average where few records stand for many values. Grassberger
(2003) corrects it: of N records, r_i
with each value, H = ln N − (1/N) Σ r_i G(r_i) with G(n) = ψ(n) + ½(−1)ⁿ [ψ((n+1)/2) − ψ(n/2)].
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from app.domain.arrays import Floats, Longs
from app.domain.classes.diversity import entropy
from app.domain.classes.sensitive_counts import SensitiveCounts

ESTIMATE_TOLERANCE: Final = 1e-9


def grassberger(amounts: Longs) -> Floats:
    """G of whole numbers from 1 on.

    The steps G(2m + 1) = G(2m) and G(2m + 2) = G(2m) + 2/(2m + 1) lead from G(1) = −γ − ln 2 to
    ψ(⌊n/2⌋ + ½) + ln 2, without subtracting nearly equal numbers.
    """
    found: Floats = np.asarray(digamma(amounts // 2 + 0.5) + np.log(2.0), dtype=np.float64)
    return found


def corrected_entropy(counts: SensitiveCounts) -> Floats:
    """(G,) estimated entropy of each class in nats; 0 in a class without values.

    The estimate of a small class may be negative, or above the logarithm of its number of values.
    """
    return entropy(counts, grassberger(counts.counts))


def corrected_values(counts: SensitiveCounts) -> Floats:
    """(G,) exp of the estimate, at least 1 and at most the m values that the class shows; +∞ without values.

    What is not in a class does not hide anybody in it: an estimate above m counts as m.
    """
    m = counts.distinct
    found = np.clip(np.exp(corrected_entropy(counts)), 1.0, np.maximum(m, 1))
    return np.where(m > 0, found, np.inf)


def has_corrected_entropy(counts: SensitiveCounts, ell: float) -> npt.NDArray[np.bool_]:
    """(G,) whether :func:`corrected_values` is at least ℓ, to 1e-9 nats; always in a class without values."""
    return np.asarray(np.log(corrected_values(counts)) >= np.log(ell) - ESTIMATE_TOLERANCE)

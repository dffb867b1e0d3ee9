"""Variances of counts over draws, from the original records (Wang et al. (2012)).

Of a group of n records n1 are drawn, replaced uniformly, and published in copies, β = n / n1 times on
average; n1 = n is plain perturbation. With t = n1·n_x / n, φ its fractional part and r = n mod n1, the count
of x has the variance (Definitions: errors of counts)

    V = ( β²·( t·a·(1 − a) + (n1 − t)·c·(1 − c) + p²·φ·(1 − φ) )
          + r·(n1 − r) / (n1 − 1) · ( n1·E − V1 − E² ) / n1² ) / p²

with E = t·a + (n1 − t)·c and V1 the inner bracket. Groups are independent: their variances add up. These tell
the original records, and are for who holds them.
"""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import UniformReplacement


def count_variances(amounts: Longs, sizes: Longs, samples: Longs, replacement: UniformReplacement) -> Floats:
    """V of counts of one value in one group each, 0 where nothing is published and so nothing left to chance.

    Parameters
    ----------
    amounts, sizes, samples
        n_x, n and n1 of each, n1 at most n.
    replacement
        What was done to the values.
    """
    drawn = np.maximum(samples, 1).astype(np.float64)
    whole, rest = np.divmod(samples * amounts, np.maximum(sizes, 1))
    fraction = rest / np.maximum(sizes, 1)
    having = whole + fraction
    times, more = sizes / drawn, np.mod(sizes, np.maximum(samples, 1))
    a, c, p = replacement.kept, replacement.elsewhere, replacement.p
    expected = having * a + (drawn - having) * c
    of_drawn = having * a * replacement.changed + (drawn - having) * c * (1 - c)
    of_drawn += p**2 * fraction * (1 - fraction)
    spread = more * (drawn - more) / np.maximum(drawn - 1, 1) / drawn**2
    copied = spread * np.maximum(drawn * expected - of_drawn - expected**2, 0.0)
    return np.where(samples > 0, (times**2 * of_drawn + copied) / p**2, 0.0)

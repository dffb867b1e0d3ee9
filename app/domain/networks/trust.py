"""Trust of people in each other, and the weight that risk gives to it (Fouad (2012), section 7.4.1).

Trust is above 0, mistrust below; nothing known is 0. Risk falls with trust (Definitions: sign of trust).
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Integers, Ints
from app.domain.errors import InvalidInput, having

TrustRule = Literal["unknown", "attributes", "common_friends"]
Decreasing = Literal["linear", "exp", "reciprocal"]
_RANGES: Final = {"linear": (-1.0, 1.0), "exp": (-230.0, 230.0), "reciprocal": (0.0, 1e100)}


def risk_weights(trust: Floats, form: Decreasing) -> Floats:
    """f(T): ``linear`` (1 − T)/2 of T in [−1, 1], ``exp`` e^(−T), ``reciprocal`` 1/(1 + T) of T ≥ 0.

    Raises InvalidInput for trust that is not finite or outside the form's range.
    """
    least, greatest = _RANGES[form]
    bad = int((~(np.isfinite(trust) & (trust >= least) & (trust <= greatest))).sum())
    if bad:
        raise InvalidInput.of(
            "/decreasing", "trust-out-of-range",
            f"{having(bad, 'pair')} a trust outside {least:g} to {greatest:g}, which the form {form} takes.",
            "Choose linear for trust from −1 to 1, reciprocal for counts such as common friends, or exp.",
        )  # fmt: skip
    if form == "linear":
        return (1 - trust) / 2
    return np.exp(-trust) if form == "exp" else 1 / (1 + trust)


def agreement(codes: Ints, owners: Integers, others: Integers) -> Floats:
    """1 for pairs of people whose codes (n, a) all agree, else −1; a missing value (0) agrees with none."""
    agree = (codes[owners] == codes[others]) & (codes[owners] != 0)
    return np.where(agree.all(axis=1), 1.0, -1.0)


def with_entries(trust: Floats, keys: Integers, entry_keys: Integers, entries: Floats) -> Floats:
    """Trust of pairs, named by keys, with what users state in its place; of equal keys the last holds."""
    if not len(entries):
        return trust
    order = np.argsort(entry_keys, kind="stable")
    place = np.searchsorted(entry_keys[order], keys, side="right") - 1
    return np.where((place >= 0) & (entry_keys[order][place] == keys), entries[order][place], trust)

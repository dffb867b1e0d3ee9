"""Which records of a class have which sensitive value."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts


def value_numbers(counts: SensitiveCounts, shown: Ints, n_nodes: int) -> Longs:
    """(n,) number of each record's value in ``counts``, −1 for nodes that are not among them."""
    number = np.full(n_nodes + 1, -1, dtype=np.int64)
    number[counts.nodes] = np.arange(counts.n_values)
    # Node −1, a value left out, reads the last place.
    return number[shown]


def records_per_entry(
    starts: Longs, values: Ints, n_values: int, of_record: Ints, numbers: Longs, chosen: Bools
) -> Longs:
    """(E,) how many of the chosen records are of the unit and have the value of each entry.

    Parameters
    ----------
    starts, values
        Entries compressed by unit, values ascending in each.
    of_record, numbers
        (n,) unit and number of the value of each record, −1 for none.
    chosen
        (n,) which records count; each one's value must be among its unit's entries.
    """
    units = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
    keys = units * n_values + values
    kept = np.flatnonzero(chosen & (of_record >= 0) & (numbers >= 0))
    wanted = of_record[kept].astype(np.int64) * n_values + numbers[kept]
    found: Longs = np.bincount(np.searchsorted(keys, wanted), minlength=len(keys)).astype(np.int64)
    return found

"""How long judging one rule takes beyond counting its classes: by experience, for estimates of searches."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.domain.classes.wildcards import seconds_of_matching
from app.domain.distinct import distinct_rows
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables import Table

SECONDS_PER_PAIR: Final = 1e-6
SHARE_BELIEVED: Final = 0.3
"""Of the rules checked so many are judged by beliefs, where others fail k-anonymity, which is told faster."""
RECORDS_PER_CLASS: Final = 10
"""Distinct records per class that is matched with others, roughly: most rules checked are general ones."""
OF_VALUES: Final = 4
"""So many times longer matching takes if the sensitive values of those who match are counted, too."""


def seconds_of_believing(pairs: int, *, after_k: bool) -> float:
    """Estimated time of the beliefs about some pairs; ``after_k`` says that k-anonymity is told before."""
    return pairs * SECONDS_PER_PAIR * (SHARE_BELIEVED if after_k else 1.0)


def seconds_of_overlapping(quasi: Table, *, of_values: bool) -> float:
    """Estimated time of matching the classes of a rule where missing values match everything."""
    missing = (quasi.reduced.codes == TOP).astype(np.int8)
    rows, width = missing.shape
    patterns = distinct_rows(list(missing.T), (2,) * width, rows)
    classes = math.ceil(rows / RECORDS_PER_CLASS)
    matching = seconds_of_matching(min(patterns.size, classes), classes, width)
    return matching * (OF_VALUES if of_values else 1)

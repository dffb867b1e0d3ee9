"""Why a cell shows nothing: its value is missing, it is suppressed, or it is generalised to the root.

Codes are nodes of hierarchies, and one node stands for all three, the root ⊥. What tells them apart:

* A value is *missing* if the data never had it. Data as they were encoded are ⊥ nowhere else, whence
  :func:`missing_cells` reads it off their codes. A text that the root is called, and no leaf, says no
  more than none at all; like one that the schema calls missing for being unknown, it is encoded as ⊥.
* A record is *suppressed* if the rule says so (:func:`app.domain.rules.rule.suppressed_records`).
* A reader of a release sees no more than that a cell *shows nothing* (:func:`shows_nothing`).

Other modules ask these functions. One that compares a node with ⊥ itself, as counting does, means the root of
the hierarchy.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools
from app.domain.hierarchies.hierarchy import TOP


def missing_cells(original: npt.NDArray[np.integer]) -> Bools:
    """Which of some cells are missing, from their codes as they were encoded, of any shape."""
    return np.asarray(original == TOP)


def shows_nothing(disclosed: npt.NDArray[np.integer]) -> Bools:
    """Which of some cells show nothing, whatever the reason, from their disclosed codes, of any shape."""
    return np.asarray(disclosed == TOP)


def rows_without_values(disclosed: npt.NDArray[np.integer]) -> Bools:
    """(r,) which rows of disclosed codes (r, q) show nothing in any of their cells."""
    return np.asarray((disclosed == TOP).all(axis=1))

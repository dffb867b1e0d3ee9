"""The classes of a recoding where a missing value matches everything, as measures tell them.

Records of one class show the same and miss the same values: what a recoding withholds of a record is no
wildcard. Where nobody shows anything of an attribute it tells nobody apart, and whoever misses it is in the
class of those of whom it is withheld. Withheld records are one class, whatever they miss, and like nobody
else: everybody else shows something.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.distinct import Ints, Longs, distinct_rows
from app.domain.hierarchies.hierarchy import TOP

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ToldApart:
    """The G classes that are told apart.

    Attributes
    ----------
    of
        (d,) class of each distinct record, −1 for none.
    shown, is_wildcard
        (G, q) what each class shows, and where that matches everything.
    """

    of: Longs
    shown: Ints
    is_wildcard: Bools

    @property
    def size(self) -> int:
        """G, the classes that are told apart."""
        return len(self.shown)


def told_apart(of: Longs, shown: Ints, missing: Bools) -> ToldApart:
    """The classes that are told apart, of finer ones.

    Parameters
    ----------
    of
        (d,) number of each distinct record's class, each of the G occurring, −1 for none. Records of a class
        show the same and, unless that is nothing at all, miss the same.
    shown
        (G, q) what the classes show.
    missing
        (d, q) the original values that are missing.
    """
    rows = np.flatnonzero(of >= 0)
    first = np.empty(len(shown), dtype=np.int64)
    first[of[rows]] = rows
    is_shown = shown != TOP
    tells = is_shown.any(axis=0)
    is_wildcard = missing[first] & is_shown.any(axis=1)[:, None]
    if not is_wildcard[:, ~tells].any():
        return ToldApart(of, shown, is_wildcard)
    is_wildcard &= tells
    columns = [*shown.T, *is_wildcard.T.astype(np.int8)]
    sizes = [*(shown.max(axis=0, initial=0) + 1).tolist(), *(2,) * shown.shape[1]]
    merged = distinct_rows(columns, sizes, len(shown))
    becomes = np.append(merged.inverse, -1).astype(np.int64)
    width = shown.shape[1]
    return ToldApart(becomes[of], merged.codes[:, :width], merged.codes[:, width:].astype(bool))

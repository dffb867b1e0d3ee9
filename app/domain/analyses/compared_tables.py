"""A table, a synthetic one made from it, and records that were held out, over one set of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class ComparedColumn:
    """One attribute of all compared tables.

    Parameters
    ----------
    name
        The attribute.
    values
        The value of each code as text, of all tables together; code 0 is the missing value.
    numbers
        float64 (values,): the number of each code, NaN where it is none. None: the attribute is categorical.
    """

    name: str
    values: Sequence[str]
    numbers: Floats | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, so that two of them are more or less far from each other."""
        return self.numbers is not None


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """Codes of an original table, a synthetic one and of records held out, by the same columns.

    Parameters
    ----------
    columns
        The m attributes that all tables have, in schema order.
    original, synthetic
        int32 (n, m), column-major: the code of each cell; equal values have equal codes in all tables.
    holdout
        int32 (h, m) of records of the same population of which the synthetic table was not made. None:
        there are none.
    """

    columns: tuple[ComparedColumn, ...]
    original: Ints
    synthetic: Ints
    holdout: Ints | None = None

    def __post_init__(self) -> None:
        for name in ("original", "synthetic", "holdout"):
            codes = getattr(self, name)
            if codes is None:
                continue
            codes = np.asfortranarray(codes, dtype=np.int32)
            if codes.ndim != 2 or codes.shape[1] != len(self.columns) or not len(codes):
                raise ValueError("each compared table has records and one column of codes per attribute")
            object.__setattr__(self, name, codes)

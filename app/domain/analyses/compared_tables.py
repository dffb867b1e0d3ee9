"""A table, a synthetic one made from it, and records that were held out, over one set of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.errors import Fault, InvalidInput, joined, refuse


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

    def positions(self, names: Sequence[str], pointer: str) -> list[int]:
        """The columns with these names; InvalidInput, at ``pointer``, for those that there are not."""
        known = [column.name for column in self.columns]
        refuse(
            [
                Fault(joined(pointer, i), "unknown-attribute", f"{name!r} is not a column of the tables.",
                      "Name a column that all have.", tuple(known))
                for i, name in enumerate(names)
                if name not in known
            ]
        )  # fmt: skip
        return [known.index(name) for name in names]


def times_there(records: Ints, among: Ints) -> Longs:
    """(r,) how many of other records equal each record, by whole rows of codes."""
    known = Counter(own.tobytes() for own in np.ascontiguousarray(among))
    return np.array([known[own.tobytes()] for own in np.ascontiguousarray(records)], dtype=np.int64)


def require_held_out(tables: ComparedTables, pointer: str) -> None:
    """Refuse records of which most equal a record of the original that no other one there equals.

    Of independent records at most a share of about λ·e^−λ ≤ 0.37 is expected to do so, whatever the values.
    """
    if tables.holdout is None:
        return
    held = len(tables.holdout)
    same = int((times_there(tables.holdout, tables.original) == 1).sum())
    if 2 * same > held:
        raise InvalidInput.of(
            pointer, "overlapping",
            f"{same:,} of {held:,} rows held out equal one row of the original: they were not held out.",
            "Give records of the same population from which the synthetic table was not made.",
        )  # fmt: skip

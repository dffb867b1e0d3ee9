"""Whom each row of a dataset is about: the persons that the texts of a column name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Ints
from app.domain.errors import InvalidInput
from app.domain.hierarchies.spellings import common_reading
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.text_columns import MISSING, TextColumn


@dataclass(frozen=True, eq=False)
class Persons:
    """The persons of a column: int32 (n,) the number from 0 of each row's, every number occurring.

    ``nobody`` are the rows from 1 that name nobody; each is about another person. Those that are named have
    ``n_spellings`` different texts.
    """

    numbers: Ints
    n_named: int
    n_spellings: int
    nobody: Ints

    @property
    def n_persons(self) -> int:
        """Different persons."""
        return self.n_named + len(self.nobody)


def persons_of(column: TextColumn, refused_at: str | None = None) -> Persons:
    """The persons whom the cells of a column name; empty readings name nobody.

    In doubt two names are taken for one person, since too many persons in a class are the dangerous error.
    InvalidInput at the pointer, if one is given, where rows name nobody.
    """
    places: dict[str, int] = {}
    target = [
        places.setdefault(name, len(places)) if name else MISSING
        for name in map(common_reading, column.values)
    ]
    numbers = np.array([*target, MISSING], dtype=np.int32)[column.positions]
    nobody = np.flatnonzero(numbers == MISSING).astype(np.int32)
    if refused_at is not None and len(nobody):
        where = in_rows((nobody[:ROWS_NAMED] + 1).tolist(), len(nobody))
        said = f"The person column is empty in {len(nobody):,} of {len(numbers):,} rows, {where}."
        remedy = (
            "Give every row its person, or declare on_missing own_person for the column, in the schema of a "
            "dataset or in a file of --tables: then each is another person."
        )
        raise InvalidInput.of(refused_at, "missing-person", said, remedy)
    numbers[nobody] = len(places) + np.arange(len(nobody), dtype=np.int32)
    return Persons(numbers, len(places), len(target) - target.count(MISSING), nobody + 1)


def person_warnings(name: str, persons: Persons) -> Iterator[str]:
    """What is unusual about a person column; no cell is shown."""
    n_empty = len(persons.nobody)
    if persons.n_spellings > persons.n_named:
        yield (
            f"{persons.n_spellings:,} spellings in {name!r} are taken for {persons.n_named:,} persons: texts "
            "that differ in letter case, blanks or how a number is written only name one person."
        )
    if n_empty:
        rows = "1 row names nobody" if n_empty == 1 else f"{n_empty:,} rows name nobody"
        yield f"{rows} in {name!r}; each counts as another person."
    if persons.n_persons == 1:
        yield f"All rows are about one person by {name!r}: no release can hide that person among others."
    elif persons.n_persons == len(persons.numbers):
        yield f"No person has a second row by {name!r}: it may number the rows, as an identifier does."

"""The classes of a recoding: as a population sees them, and where a missing value matches everything.

An entity is counted for every class whose nodes it is consistent with, as the measures of k-map and
δ-presence do. Counts are kept, so that only classes that were never seen are counted.

Where a missing value matches everything, they are those that measures tell. Records of one class show the
same and miss the same values: what a recoding withholds of a record is no wildcard. Where nobody shows
anything of an attribute it tells nobody apart, and whoever misses it is in the class of those of whom it is
withheld. Withheld records are one class, whatever they miss, and like nobody else: everybody else shows
something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table

MOST_KEPT: Final = 1_000_000
"""Classes whose counts are kept."""


class ClassEntities:
    """Counts the entities of one dictionary that are consistent with classes of a table.

    Attributes
    ----------
    total
        Entities of the dictionary.
    """

    def __init__(self, table: Table, dictionary: Dictionary) -> None:
        self.total = dictionary.n_entities
        self._counter = Counter(table, dictionary)
        places = {j: place for place, j in enumerate(table.quasi_identifiers)}
        self._places = [(i, places[j]) for i, j in enumerate(self._counter.linked) if j in places]
        self._known: dict[bytes, int] = {}
        self._trees = [table.hierarchies[j] for j in table.quasi_identifiers]
        self._raw = table.reduced.codes[:, table.quasi_identifiers]
        self._outside: dict[tuple[int, ...], int] = {}

    def of(self, codes: Ints) -> Longs:
        """(G,) entities that are consistent with disclosed quasi-identifiers (G, q) each."""
        # Attributes that the dictionary carries beside the quasi-identifiers tell nothing here.
        nodes = np.zeros((len(codes), len(self._counter.linked)), dtype=np.int32)
        for i, place in self._places:
            nodes[:, i] = codes[:, place]
        keys = [row.tobytes() for row in nodes]
        new = [place for place, key in enumerate(keys) if key not in self._known]
        if new:
            if len(self._known) + len(new) > MOST_KEPT:
                self._known.clear()
                new = list(range(len(keys)))
            counted = self._counter.count(np.asfortranarray(nodes[new])).values
            self._known.update(zip((keys[place] for place in new), counted.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.int64)

    def outside(self, levels: tuple[int, ...]) -> int:
        """Entities with tuples of generalised quasi-identifiers that no record has, be it withheld.

        Every entity must have one tuple.
        """
        if levels not in self._outside:
            columns = zip(self._trees, levels, self._raw.T, strict=True)
            shown = [tree.ancestors_at(level)[raw] for tree, level, raw in columns]
            tuples = np.unique(np.stack(shown, axis=1), axis=0)
            self._outside[levels] = self.total - int(self.of(tuples).sum())
        return self._outside[levels]


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
    is_shown = ~shows_nothing(shown)
    tells = is_shown.any(axis=0)
    is_wildcard = missing[first] & np.asarray(is_shown.any(axis=1))[:, None]
    if not is_wildcard[:, ~tells].any():
        return ToldApart(of, shown, is_wildcard)
    is_wildcard &= tells
    columns = [*shown.T, *is_wildcard.T.astype(np.int8)]
    sizes = [*(shown.max(axis=0, initial=0) + 1).tolist(), *(2,) * shown.shape[1]]
    merged = distinct_rows(columns, sizes, len(shown))
    becomes = np.append(merged.inverse, -1).astype(np.int64)
    width = shown.shape[1]
    return ToldApart(becomes[of], merged.codes[:, :width], merged.codes[:, width:].astype(bool))

"""The entities of a population that could be disclosed like the classes of a recoding.

An entity is counted for every class whose nodes it is consistent with, as the measures of k-map and
δ-presence do. Counts are kept, so that only classes that were never seen are counted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.distinct import Ints, Longs
from app.domain.tables import Table

MOST_KEPT: Final = 1_000_000
"""Classes whose counts are kept."""
SECONDS_PER_ENTITY: Final = 2e-9
"""Estimated time of counting one class, per distinct entity of the population."""


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

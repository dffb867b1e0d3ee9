"""What a population tells of the sensitive values of a table's people, class by class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.risk.bayes import BayesBlock, beliefs, values_of
from app.domain.risk.informed import Units
from app.domain.risk.population import Population
from app.domain.tables.distinct import KEY_LIMIT, distinct_rows, row_keys
from app.domain.tables.table import Table

NOBODY = np.empty(0, dtype=np.int64)
MOST_KEPT: Final = 2_000_000
"""Counts of people that are kept: 16 bytes each."""


class KeptCounts(Population):
    """A population whose counts are kept: searches ask again and again for the same people and classes."""

    def __init__(
        self, table: Table, dictionary: Dictionary, attributes: tuple[int, ...], sensitive: int
    ) -> None:
        super().__init__(table, dictionary, attributes, sensitive)
        self._sizes = [table.sizes[j] for j in (*self.linked, sensitive)]
        self._are_told_by_keys = math.prod(self._sizes) < KEY_LIMIT
        self._keys, self._counts = NOBODY, NOBODY

    def joint(self, rows: Ints, nodes: Ints) -> Longs:
        """People whose quasi-identifiers and value are covered by each row of nodes (r, q) and node (r,)."""
        if not self._are_told_by_keys or not len(rows):
            return super().joint(rows, nodes)
        keys = row_keys([*rows.T, nodes], self._sizes, len(rows))[0]
        asked, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        places = np.searchsorted(self._keys, asked)
        known = np.zeros(len(asked), dtype=bool)
        inside = places < len(self._keys)
        known[inside] = self._keys[places[inside]] == asked[inside]
        found = np.empty(len(asked), dtype=np.int64)
        found[known] = self._counts[places[known]]
        if not known.all():
            new = first[~known]
            found[~known] = super().joint(rows[new], nodes[new])
            self._keep(asked[~known], found[~known], places[~known])
        return found[inverse.reshape(-1)]

    def _keep(self, keys: Longs, counts: Longs, places: Longs) -> None:
        """Insert new keys, ascending, with their counts; where that makes too many, only these are kept."""
        if len(self._keys) + len(keys) > MOST_KEPT:
            self._keys, self._counts = keys[:MOST_KEPT], counts[:MOST_KEPT]
            return
        self._keys = np.insert(self._keys, places, keys)
        self._counts = np.insert(self._counts, places, counts)


class Knowledge:
    """An attacker's knowledge of the people of groups.

    Parameters
    ----------
    own
        (g, q) original nodes of the table's quasi-identifiers that each group has.
    """

    def __init__(self, table: Table, dictionary: Dictionary, own: Ints) -> None:
        self._table = table
        self._dictionary = dictionary
        self._own = own
        self._known: dict[int, Population] = {}

    def beliefs(
        self, sensitive: int, counts: SensitiveCounts, class_of_group: Longs, shown: Ints
    ) -> Iterator[tuple[BayesBlock, Longs]]:
        """The beliefs about some units at a time, and (u,) the classes of these.

        Parameters
        ----------
        sensitive
            Position of the sensitive attribute in the table; NotSupported if the dictionary does not say it.
        counts
            Its values in G classes.
        class_of_group
            (g,) the class of each group, −1 for none.
        shown
            (G, q) nodes that the classes show.
        """
        population = self._population(sensitive)
        units = self._units(population, class_of_group, shown)
        nodes = values_of(counts, self._table.hierarchies[sensitive], population)
        for block in beliefs(units, counts, NOBODY, nodes, population):
            yield block, units.class_[block.units]

    def _population(self, sensitive: int) -> Population:
        if sensitive not in self._known:
            quasi = self._table.quasi_identifiers
            self._known[sensitive] = KeptCounts(self._table, self._dictionary, quasi, sensitive)
        return self._known[sensitive]

    def _units(self, population: Population, class_of_group: Longs, shown: Ints) -> Units:
        """Units of the groups; which records they have is left open."""
        places = [self._table.quasi_identifiers.index(j) for j in population.linked]
        groups = np.flatnonzero(class_of_group >= 0)
        rows = distinct_rows(
            [class_of_group[groups], *(self._own[groups, i] for i in places)],
            [max(1, len(shown)), *(self._table.sizes[j] for j in population.linked)],
            len(groups),
        )
        class_ = rows.codes[:, 0].astype(np.int64)
        none = np.empty(0, dtype=np.int32)
        return Units(class_, rows.codes[:, 1:], shown[class_][:, places], rows.counts, none)

"""What a population tells of the sensitive values of a table's people, class by class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.domain.attacks.bayes import BayesBlock, beliefs, values_of
from app.domain.attacks.informed import Units
from app.domain.attacks.population import Population
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.dictionaries import Dictionary
from app.domain.distinct import Ints, Longs, distinct_rows
from app.domain.tables import Table

NOBODY = np.empty(0, dtype=np.int64)


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
            self._known[sensitive] = Population(
                self._table, self._dictionary, self._table.quasi_identifiers, sensitive
            )
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

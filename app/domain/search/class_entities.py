"""The entities of a population that fall into the classes of rules and recodings.

An entity is counted for every class whose nodes it is consistent with, as the measures of k-map and
δ-presence do.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Levels, Longs
from app.domain.classes.quasi_part import rule_for
from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.models.judging import Population
from app.domain.risk.bayes import Knowledge
from app.domain.risk.class_populations import entities_of_classes, linked_nodes, shared_level
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table

MOST_KEPT: Final = 1_000_000
"""Classes whose counts are kept."""


class ClassEntities:
    """Counts the entities of one dictionary for classes of the distinct records of a table.

    ``raw`` (d, q) are the original quasi-identifiers of these.
    """

    def __init__(self, table: Table, dictionary: Dictionary, raw: Ints) -> None:
        self._table = table
        self._raw = raw
        self._total = dictionary.n_entities
        self._counter = Counter(table, dictionary)
        self._knowledge = Knowledge(table, dictionary, raw)
        self._known: dict[bytes, int] = {}
        self._outside: dict[Levels, int] = {}

    def population(self, entities: Longs, shown: Ints, outside: int = 0) -> Population:
        """The population of classes that show ``shown`` (G, q), with so many ``entities`` (G,)."""
        return Population(entities, outside, self._total, shown, self._knowledge)

    def under_rule(self, levels: Levels, shown: Ints) -> Population:
        """The population of the classes of all records under a rule with these quasi-identifiers' levels."""
        entities = self._at(levels, shown)
        return self.population(entities, shown, self._beyond(entities))

    def of(self, shown: Ints) -> Longs:
        """(G,) entities that are consistent with disclosed quasi-identifiers (G, q) each; they are kept."""
        nodes = linked_nodes(self._counter, self._table.quasi_identifiers, shown)
        keys = [row.tobytes() for row in nodes]
        new = [place for place, key in enumerate(keys) if key not in self._known]
        if new:
            if len(self._known) + len(new) > MOST_KEPT:
                self._known.clear()
                new = list(range(len(keys)))
            counted = self._counter.count(np.asfortranarray(nodes[new])).values
            self._known.update(zip((keys[place] for place in new), counted.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.int64)

    def outside(self, levels: Levels, suppressed: Bools) -> int:
        """Entities that would fall into no class if no record were suppressed.

        Records that are suppressed (d,) are not known to be absent. Readers take the least levels that
        disclose what is shown of the other records. Every entity must have one tuple.
        """
        trees = [self._table.hierarchies[j] for j in self._table.quasi_identifiers]
        told = []
        for tree, level, column in zip(trees, levels, self._raw[~suppressed].T, strict=True):
            least = shared_level(tree, tree.ancestors_at(level)[column], column)
            told.append(level if least is None else least)
        key = tuple(told)
        if key not in self._outside:
            known = zip(trees, key, self._raw.T, strict=True)
            columns = [tree.ancestors_at(level)[raw] for tree, level, raw in known]
            tuples = distinct_rows(columns, [tree.n_nodes for tree in trees], len(self._raw)).codes
            self._outside[key] = self._beyond(self._at(key, tuples))
        return self._outside[key]

    def _at(self, levels: Levels, shown: Ints) -> Longs:
        known = self._table.quasi_identifiers
        return entities_of_classes(self._counter, known, shown, rule_for(self._table, levels).levels)

    def _beyond(self, entities: Longs) -> int:
        """Entities in none of the classes."""
        return max(0, self._total - int(entities.sum()))

"""The people of a population who are disclosed like the classes of table-level rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.classes.grouping import Bools, EquivalenceClasses
from app.domain.classes.population import entities_of_classes, shared_level
from app.domain.classes.quasi_part import rule_for
from app.domain.counting.counter import Counter
from app.domain.criteria.judging import Population
from app.domain.criteria.knowledge import Knowledge
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.distinct import Ints, Longs
from app.domain.hierarchies.hierarchy import TOP
from app.domain.search.anonymity.class_sizes import ClassSizes, Levels
from app.domain.tables import Table


class ClassEntities:
    """Counts the entities of a dictionary that are disclosed like the classes of rules."""

    def __init__(self, table: Table, quasi: Table, dictionary: Dictionary) -> None:
        self._table = table
        self._quasi = quasi
        self._counter = Counter(table, dictionary)
        self._knowledge = Knowledge(table, dictionary, quasi.reduced.codes)
        self.total = dictionary.n_entities

    def of(self, levels: Levels, of_group: Longs, n_classes: int) -> Population:
        """The population of the classes that groups make at levels."""
        shown = shown_by_classes(self._quasi, levels, of_group, n_classes)
        none = np.zeros(n_classes, dtype=np.int64)
        classes = EquivalenceClasses(
            self._table.quasi_identifiers, shown, none, none, np.empty(0, dtype=np.int32), 0, 0
        )
        entities = entities_of_classes(self._counter, classes, rule_for(self._table, levels).levels)
        return Population(entities, max(0, self.total - int(entities.sum())), shown, self._knowledge)

    def with_block(self, levels: Levels, of_group: Longs, n_classes: int) -> Population:
        """The same where class 0 is the block of whoever is withheld: nothing is known of its members.

        Nobody is taken for outside of it: :meth:`outside` tells that.
        """
        found = self.of(levels, of_group, n_classes)
        found.entities[0] = self.total
        if found.shown is not None:
            found.shown[0] = TOP
        return replace(found, outside=0)

    def outside(self, levels: Levels, withheld: Bools, classes: ClassSizes) -> int:
        """Entities who would be disclosed like no record, were none of them withheld.

        What is withheld (d,) is not known to be absent. Readers take the least levels that disclose what is
        shown of the other records.
        """
        kept, trees = self._quasi.reduced.codes[~withheld], self._quasi.hierarchies
        told = []
        for tree, level, column in zip(trees, levels, kept.T, strict=True):
            least = shared_level(tree, tree.ancestors_at(level)[column], column)
            told.append(level if least is None else least)
        groups = classes.classes(tuple(told))
        return self.of(tuple(told), groups.of.astype(np.int64, copy=False), groups.size).outside


def shown_by_classes(quasi: Table, levels: Levels, of_group: Longs, n_classes: int) -> Ints:
    """(G, q) what classes of a table's distinct records show at levels; any if a class has none."""
    one = np.zeros(n_classes, dtype=np.intp)
    inside = np.flatnonzero(of_group >= 0)
    one[of_group[inside]] = inside
    columns = zip(quasi.hierarchies, levels, quasi.reduced.codes[one].T, strict=True)
    return np.stack([tree.ancestors_at(level)[column] for tree, level, column in columns], axis=1)

"""The joint distribution f(q, s) of an attacker's dictionary, and what it says of the records of classes.

Source: Machanavajjhala (2008), section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.grouping import EquivalenceClasses
from app.domain.counting.counter import MEMORY_CEILING, Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table


def unlinked_reason(
    table: Table, attributes: tuple[int, ...], sensitive: int, known: Dictionary
) -> str | None:
    """Why a dictionary says nothing about the sensitive attribute given the others; None if it does."""
    name = table.attributes[sensitive]
    if name not in known.attributes:
        return (
            f"The dictionary does not say the {name!r} of its people. Use one that is linked to this "
            "attribute, or an attack that needs no such knowledge."
        )
    if not any(table.attributes[j] in known.attributes for j in attributes):
        return (
            "The dictionary carries none of the quasi-identifiers, so it knows the same of everybody. "
            "Use one that is linked to some of them."
        )
    return None


class Population:
    """Counts of a dictionary's people by quasi-identifiers and sensitive value.

    People of whom some linked cell does not mean exactly one value are left out; ``n_left_out`` says how
    many. Quasi-identifiers that the dictionary does not carry are taken to say nothing more about the
    sensitive value than the others do.

    Parameters
    ----------
    attributes
        Positions of the quasi-identifiers in the table.
    sensitive
        Position of the sensitive attribute.
    """

    def __init__(
        self,
        table: Table,
        dictionary: Dictionary,
        attributes: tuple[int, ...],
        sensitive: int,
        memory_ceiling: int = MEMORY_CEILING,
    ) -> None:
        reason = unlinked_reason(table, attributes, sensitive, dictionary)
        if reason is not None:
            raise NotSupported.because(reason)
        links = {table.position(link.attribute): link.meaning for link in dictionary.links}
        self.linked = tuple(j for j in attributes if j in links)
        chosen = [links[j] for j in (*self.linked, sensitive)]
        exact = np.ones(dictionary.n_entities, dtype=bool)
        for link in chosen:
            # A value outside the hierarchy is one value.
            exact &= ((np.diff(link.starts) <= 1) & ~link.everything)[link.column]
        self.n_entities = int(np.count_nonzero(exact))
        self.n_left_out = dictionary.n_entities - self.n_entities
        kept = tuple(replace(link, column=link.column[exact], outside=None) for link in chosen)
        self._counter = Counter(table, Dictionary(self.n_entities, kept), memory_ceiling)
        self._sensitive = kept[-1]

    @property
    def value_nodes(self) -> Ints:
        """Nodes of the sensitive values that its people have, ascending."""
        link = self._sensitive
        if not self.n_entities:
            return np.empty(0, dtype=np.int32)
        used = np.unique(link.column)
        used = used[np.diff(link.starts)[used] == 1]
        return np.sort(link.hierarchy.leaves[link.leaves[link.starts[used]]])

    def joint(self, rows: Ints, nodes: Ints) -> Longs:
        """People whose quasi-identifiers and value are covered by each row of nodes (r, q) and node (r,).

        ⊥ covers everything: with ⊥ as the value, all people whose quasi-identifiers are covered.
        """
        return self._counter.count(np.column_stack([rows, nodes]).astype(np.int32)).values

    def given(self, rows: Ints) -> Longs:
        """People whose quasi-identifiers are covered by each row of nodes (r, q)."""
        distinct = distinct_rows(
            [rows[:, i] for i in range(rows.shape[1])],
            [self._counter.table.sizes[j] for j in self.linked],
            len(rows),
        )
        counted = self.joint(distinct.codes, np.full(distinct.size, TOP, dtype=np.int32))
        return counted[distinct.inverse]


@dataclass(frozen=True, eq=False)
class Units:
    """Records of one class of whom the dictionary says the same.

    Attributes
    ----------
    class_
        (U,) the class.
    own, shown
        (U, q) nodes of the linked quasi-identifiers: as the attacker knows them, and as the class shows them.
    records
        (U,) how many records there are.
    of_record
        (n,) the unit of each record, −1 for those without a class.
    """

    class_: Longs
    own: Ints
    shown: Ints
    records: Longs
    of_record: Ints

    @property
    def n_units(self) -> int:
        """U, the kinds of person that class and dictionary tell apart."""
        return len(self.class_)


def units_of(table: Table, classes: EquivalenceClasses, linked: tuple[int, ...]) -> Units:
    """The units of a release, given the positions of the quasi-identifiers that the dictionary carries."""
    kept = np.flatnonzero(classes.of_record >= 0)
    columns = [classes.of_record[kept], *(table.codes[kept, j] for j in linked)]
    rows = distinct_rows(columns, [max(1, classes.n_classes), *(table.sizes[j] for j in linked)], len(kept))
    of_record = np.full(table.n_records, -1, dtype=np.int32)
    of_record[kept] = rows.inverse
    class_ = rows.codes[:, 0].astype(np.int64)
    places = [classes.attributes.index(j) for j in linked]
    return Units(class_, rows.codes[:, 1:], classes.codes[class_][:, places], rows.counts, of_record)


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """What a population says of (unit, value) pairs.

    Attributes
    ----------
    prior
        (r,) f(s | q); 0 where the population has nobody like the unit. For a missing value it has no meaning.
    ratio
        (r,) f(s | q) / f(s | q*): how much more probable the value is for the unit than for its class. 1 for
        a missing value, of which a population says nothing; 0 where it has nobody like the unit.
    is_impossible
        (r,) the population has nobody with the value among all whom the class may stand for.
    """

    prior: Floats
    ratio: Floats
    is_impossible: Bools


def likelihoods(population: Population, units: Units, chosen: Longs, nodes: Ints) -> Likelihoods:
    """For pairs of a unit (r,) and the node of a value (r,)."""
    of_own, of_shown = population.given(units.own), population.given(units.shown)
    alike, like_class = of_own[chosen].astype(np.float64), of_shown[chosen].astype(np.float64)
    with_value = population.joint(units.own[chosen], nodes).astype(np.float64)
    class_with_value = population.joint(units.shown[chosen], nodes)
    known = alike > 0
    prior = np.divide(with_value, alike, out=np.zeros(len(nodes)), where=known)
    ratio = np.divide(
        prior * like_class, class_with_value, out=np.zeros(len(nodes)), where=known & (class_with_value > 0)
    )
    # ⊥ covers every value: for a missing one the ratio is 1, and it is impossible nowhere.
    return Likelihoods(prior, ratio, (class_with_value == 0) & ~shows_nothing(nodes))

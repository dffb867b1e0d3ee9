"""Attackers who know f(s | q), a value given the others (Machanavajjhala (2008), section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.grouping import EquivalenceClasses
from app.domain.risk.population import Population
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table


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

"""Beliefs of an attacker who knows the population (Machanavajjhala (2008), section 3.3).

The attacker knows the joint distribution f(q, s), that the target is in the table, and its quasi-identifiers
q. Before the release a value s has the probability α = f(s | q); after it β, the share of s in

    n(q*, s) · f(s | q) / f(s | q*)        (Machanavajjhala (2008), theorem 3.1)

where n counts the records of the target's class and q* is what the class shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.population import Population, Units, likelihoods
from app.domain.tables.distinct import KEY_LIMIT, distinct_rows, row_keys
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import highest_accepted, lowest_accepted
from app.domain.tables.table import Table

PAIRS_AT_ONCE = 1_000_000

NOBODY = np.empty(0, dtype=np.int64)
MOST_KEPT: Final = 2_000_000
"""Counts of people that are kept: 16 bytes each."""


@dataclass(frozen=True, eq=False)
class BayesBlock:
    """What is believed of some units about all m values.

    Attributes
    ----------
    units
        (u,) numbers of the units.
    prior, belief
        (u, m) α and β. Both 0 in units without a number.
    has_prior
        (m,) the values of which the population says something: all but a missing one.
    targets
        (u, m) records of the unit with each value.
    is_contradicted
        (u,) the class shows a value of which the population has nobody whom the class may stand for.
    is_inconsistent
        (u,) no value is possible.
    """

    units: Longs
    prior: Floats
    belief: Floats
    has_prior: Bools
    targets: Longs
    is_contradicted: Bools
    is_inconsistent: Bools

    @property
    def is_judged(self) -> Bools:
        """(u,) units with numbers."""
        return ~(self.is_contradicted | self.is_inconsistent)

    @property
    def is_comparable(self) -> Bools:
        """(u, m) where both beliefs are known."""
        return np.asarray(self.is_judged[:, None] & self.has_prior[None, :])


def breaches(block: BayesBlock, rho_1: float, rho_2: float) -> tuple[Bools, Bools]:
    """(u, m) upward (ρ1,ρ2)-breaches, α < ρ1 and β > ρ2, and downward ones, α > 1 − ρ1 and β < 1 − ρ2."""
    improbable, probable = _extreme(block, rho_1)
    return (
        np.asarray(improbable & (block.belief > highest_accepted(rho_2))),
        np.asarray(probable & (block.belief < lowest_accepted(1 - rho_2))),
    )


def greatest_shift(block: BayesBlock, rho_1: float) -> float:
    """The least ρ2 without a breach: max of β where α < ρ1, and of 1 − β where α > 1 − ρ1."""
    improbable, probable = _extreme(block, rho_1)
    up = float(block.belief.max(initial=0.0, where=improbable))
    return max(up, float((1 - block.belief).max(initial=0.0, where=probable)))


def _extreme(block: BayesBlock, rho_1: float) -> tuple[Bools, Bools]:
    """(u, m) values that are improbable beforehand, and those that are probable."""
    improbable: Bools = block.is_comparable & (block.prior < lowest_accepted(rho_1))
    return improbable, np.asarray(block.is_comparable & (block.prior > highest_accepted(1 - rho_1)))


def values_of(counts: SensitiveCounts, hierarchy: Hierarchy, population: Population) -> Ints:
    """(m,) nodes of the values that occur in the table, in their order, then of others in the population."""
    shown = counts.nodes
    others = population.value_nodes
    covered = np.zeros(len(others), dtype=bool)
    for node in shown[~shows_nothing(shown)].tolist():
        covered |= hierarchy.are_above(np.full(len(others), node, dtype=np.int32), others)
    return np.concatenate([shown, others[~covered]]).astype(np.int32)


def beliefs(
    units: Units, counts: SensitiveCounts, numbers: Longs, nodes: Ints, population: Population
) -> Iterator[BayesBlock]:
    """The beliefs about all units, a bounded number of (unit, value) pairs at a time.

    Parameters
    ----------
    counts
        Values per class; those numbered from 0 are the first of ``nodes``.
    numbers
        (n,) number of each record's own value, −1 for one that is left out.
    """
    m = len(nodes)
    with_value = np.flatnonzero((units.of_record >= 0) & (numbers >= 0))
    order = with_value[np.argsort(units.of_record[with_value], kind="stable")]
    ends = np.cumsum(np.bincount(units.of_record[with_value], minlength=units.n_units))
    at_once = max(1, PAIRS_AT_ONCE // max(1, m))
    for start in range(0, units.n_units, at_once):
        chosen = np.arange(start, min(start + at_once, units.n_units), dtype=np.int64)
        rows = order[(int(ends[start - 1]) if start else 0) : int(ends[chosen[-1]])]
        places = (units.of_record[rows] - start) * m + numbers[rows]
        targets = np.bincount(places, minlength=len(chosen) * m).reshape(len(chosen), m)
        # (u, m) counts of the values in the classes (u,)
        used, place = np.unique(units.class_[chosen], return_inverse=True)
        dense = np.zeros((len(used), m), dtype=np.int64)
        number = np.full(counts.n_classes, -1, dtype=np.int64)
        number[used] = np.arange(len(used))
        owner = number[counts.of_entry]
        kept = owner >= 0
        dense[owner[kept], counts.values[kept]] = counts.counts[kept]
        yield _block(units, chosen, targets, dense[place.reshape(-1)], nodes, population)


def _block(
    units: Units, chosen: Longs, targets: Longs, shown: Longs, nodes: Ints, population: Population
) -> BayesBlock:
    u, m = shown.shape
    found = likelihoods(population, units, np.repeat(chosen, m), np.tile(nodes, u))
    prior, ratio = found.prior.reshape(u, m), found.ratio.reshape(u, m)
    contradicted: Bools = np.asarray(((shown > 0) & found.is_impossible.reshape(u, m)).any(axis=1))
    weights: Floats = shown * ratio
    totals = weights.sum(axis=1)
    inconsistent = ~contradicted & (totals == 0)
    judged = ~(contradicted | inconsistent)
    belief = np.divide(weights, totals[:, None], out=np.zeros((u, m)), where=judged[:, None])
    return BayesBlock(
        units=chosen,
        prior=np.where(judged[:, None], prior, 0.0),
        belief=belief,
        has_prior=~shows_nothing(nodes),
        targets=targets,
        is_contradicted=contradicted,
        is_inconsistent=inconsistent,
    )


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
        if sensitive not in self._known:
            quasi = self._table.quasi_identifiers
            self._known[sensitive] = KeptCounts(self._table, self._dictionary, quasi, sensitive)
        population = self._known[sensitive]
        # Units of the groups; which records they have is left open
        places = [self._table.quasi_identifiers.index(j) for j in population.linked]
        groups = np.flatnonzero(class_of_group >= 0)
        rows = distinct_rows(
            [class_of_group[groups], *(self._own[groups, i] for i in places)],
            [max(1, len(shown)), *(self._table.sizes[j] for j in population.linked)],
            len(groups),
        )
        class_ = rows.codes[:, 0].astype(np.int64)
        none = np.empty(0, dtype=np.int32)
        units = Units(class_, rows.codes[:, 1:], shown[class_][:, places], rows.counts, none)
        nodes = values_of(counts, self._table.hierarchies[sensitive], population)
        for block in beliefs(units, counts, NOBODY, nodes, population):
            yield block, units.class_[block.units]

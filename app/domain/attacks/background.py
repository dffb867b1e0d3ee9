"""An attacker with background knowledge against a release (Machanavajjhala (2008), sections 3.1.1, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Ints, Longs, concatenated_ranges
from app.domain.attacks.beliefs import Beliefs
from app.domain.attacks.elimination import PairCounts
from app.domain.classes.grouping import EquivalenceClasses, Grouping
from app.domain.classes.released import Release
from app.domain.classes.sensitive_counts import (
    SensitiveCounts,
    records_per_entry,
    sensitive_counts,
    value_numbers,
)
from app.domain.risk.population import Population, likelihoods, units_of


@dataclass(frozen=True, eq=False)
class Attacked:
    """What the attacker believes of every record that is not known to him.

    Attributes
    ----------
    beliefs
        Per unit; values are numbers in ``nodes``. All weights of contradicted units are 0.
    nodes
        (m,) nodes of the sensitive values.
    of_record
        (n,) unit of each record, −1 for those without a class.
    numbers
        (n,) number of each record's own value, −1 for one that is left out.
    is_target
        (n,) records in a unit, with a value, that the attacker does not know already.
    is_contradicted
        (U,) units with a value of which the attacker's population has nobody.
    """

    beliefs: Beliefs
    nodes: Ints
    of_record: Ints
    numbers: Longs
    is_target: Bools
    is_contradicted: Bools

    def records_in(self, units: Bools) -> int:
        """Targets in the units (U,)."""
        return int(np.count_nonzero(units[self.of_record[self.is_target]]))

    def rows_of(self, entry: int) -> Longs:
        """Rows, from 0, of the targets of an entry's unit that have its value."""
        unit, value = self.beliefs.of_entry[entry], self.beliefs.values[entry]
        return np.flatnonzero(self.is_target & (self.of_record == unit) & (self.numbers == value))


def attack(
    release: Release,
    grouping: Grouping,
    attribute: str,
    is_known: Bools,
    population: Population | None = None,
) -> Attacked:
    """What is left to believe of a release once some records are known, to whom a population is known or not.

    Parameters
    ----------
    is_known
        (n,) records whose sensitive value the attacker knows: they are taken out of their classes.
    """
    table = release.table
    classes, (shown, _) = release.classes(grouping), release.values(grouping, attribute)
    n_nodes = table.sizes[table.position(attribute)]
    if is_known.any():
        counts = sensitive_counts(classes, np.where(is_known, -1, shown).astype(np.int32), shown, n_nodes)
    else:
        counts = release.counts(grouping, attribute)
    numbers = value_numbers(counts, shown, n_nodes)
    is_target = (classes.of_record >= 0) & (numbers >= 0) & ~is_known
    if population is None:
        targets = records_per_entry(
            counts.starts, counts.values, counts.n_values, classes.of_record, numbers, is_target
        )
        beliefs = Beliefs(counts.starts, counts.values, counts.counts, targets)
        nobody = np.zeros(classes.n_classes, dtype=bool)
        return Attacked(beliefs, counts.nodes, classes.of_record, numbers, is_target, nobody)
    return _informed(release, classes, counts, numbers, is_target, population)


def _informed(
    release: Release,
    classes: EquivalenceClasses,
    counts: SensitiveCounts,
    numbers: Longs,
    is_target: Bools,
    population: Population,
) -> Attacked:
    """The same with weights n(q*, s) · f(s | q) / f(s | q*), per unit of records that are known alike."""
    units = units_of(release.table, classes, population.linked)
    repeats = counts.distinct[units.class_]
    entries = concatenated_ranges(counts.starts[units.class_], repeats)
    of_entry = np.repeat(np.arange(units.n_units, dtype=np.int64), repeats)
    values = counts.values[entries]
    found = likelihoods(population, units, of_entry, counts.nodes[values])
    contradicted = np.zeros(units.n_units, dtype=bool)
    contradicted[of_entry[found.is_impossible]] = True
    weights = np.where(contradicted[of_entry], 0.0, counts.counts[entries] * found.ratio)
    starts = np.concatenate([[0], np.cumsum(repeats)]).astype(np.int64)
    targets = records_per_entry(starts, values, counts.n_values, units.of_record, numbers, is_target)
    beliefs = Beliefs(starts, values, weights, targets)
    return Attacked(beliefs, counts.nodes, units.of_record, numbers, is_target, contradicted)


@dataclass(frozen=True, eq=False)
class Pairs:
    """How often two sensitive attributes take which values together, and the nodes of their numbers."""

    counts: PairCounts
    s_nodes: Ints
    v_nodes: Ints


def pairs_of(release: Release, grouping: Grouping, s: str, v: str, is_known: Bools) -> Pairs:
    """Pairs of values of the attributes s and v per class, the known records taken out."""
    classes = release.classes(grouping)
    (s_shown, _), (v_shown, _) = release.values(grouping, s), release.values(grouping, v)
    has_both = (s_shown >= 0) & (v_shown >= 0)
    s_nodes, s_numbers = np.unique(s_shown[has_both], return_inverse=True)
    v_nodes, v_numbers = np.unique(v_shown[has_both], return_inverse=True)
    keys, inverse = np.unique(
        s_numbers.astype(np.int64) * max(1, len(v_nodes)) + v_numbers, return_inverse=True
    )
    pair = np.full(len(has_both), -1, dtype=np.int32)
    pair[has_both] = inverse.reshape(-1)
    shown = np.where(is_known, -1, pair).astype(np.int32)
    counts = sensitive_counts(classes, shown, pair, len(keys))
    targets = records_per_entry(
        counts.starts, counts.values, counts.n_values, classes.of_record, pair.astype(np.int64), ~is_known
    )
    of_s, of_v = np.divmod(keys[counts.values], max(1, len(v_nodes)))
    found = PairCounts(
        of_class=counts.of_entry,
        s=of_s.astype(np.int32),
        v=of_v.astype(np.int32),
        counts=counts.counts,
        targets=targets,
        n_classes=classes.n_classes,
        n_s=max(1, len(s_nodes)),
        n_v=max(1, len(v_nodes)),
    )
    return Pairs(found, s_nodes.astype(np.int32), v_nodes.astype(np.int32))

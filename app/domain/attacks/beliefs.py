"""What an attacker believes of a target's sensitive value, and what statements about the target add to it.

The targets that an attacker cannot tell apart are a *unit*: the records of a class, or those among them that
share what the attacker's dictionary tells apart. For each unit every possible value has a weight; the belief
in a value is its share of the unit's weights (Machanavajjhala (2008), sections 3.1.1, 3.3 and 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import doc

from app.domain.arrays import Bools, Floats, Integers, Ints, Longs, concatenated_ranges
from app.domain.attacks.elimination import PairCounts
from app.domain.classes.grouping import EquivalenceClasses, Grouping
from app.domain.classes.ratios import as_written, is_below
from app.domain.classes.released import Release
from app.domain.classes.sensitive_counts import (
    SensitiveCounts,
    records_per_entry,
    sensitive_counts,
    value_numbers,
)
from app.domain.risk.population import Population, likelihoods, units_of
from app.domain.tables.distinct import group
from app.domain.tables.numbers import lowest_accepted

Weights = Longs | Floats

NEVER = -1

Contradicted = Annotated[
    int,
    doc(
        "Records without a number: their class shows a value that nobody in the dictionary has whom it "
        "may stand for."
    ),
]
Inconsistent = Annotated[
    int, doc("Records without a number: for people like them no value of the class is possible.")
]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Weights of the values that are possible for the targets of U units, compressed by unit.

    Attributes
    ----------
    starts
        (U + 1,): the entries of unit u are those from ``starts[u]`` to ``starts[u + 1]``.
    values
        (E,) number of the value of each entry, ascending in each unit.
    weights
        (E,) ≥ 0: counts of records as int64, for which everything below is exact; or real numbers.
    targets
        (E,) how many records of the unit really have the value.
    """

    starts: Longs
    values: Ints
    weights: Weights
    targets: Longs

    @property
    def n_units(self) -> int:
        """U, the units that beliefs are held of."""
        return len(self.starts) - 1

    @cached_property
    def of_entry(self) -> Longs:
        """(E,) the unit of each entry."""
        return np.repeat(np.arange(self.n_units, dtype=np.int64), np.diff(self.starts))

    @cached_property
    def posteriors(self) -> Floats:
        """(E,) belief in each value without further statements; 0 where all weights of the unit are 0."""
        return self.after(0)

    @cached_property
    def is_inconsistent(self) -> Bools:
        """(U,) units with no value possible: what the attacker knows contradicts itself."""
        possible = np.zeros(self.n_units, dtype=bool)
        possible[self.of_entry[self.weights > 0]] = True
        return ~possible

    def after(self, negations: int) -> Floats:
        """(E,) the strongest belief in each value after so many true statements "the target has not …".

        The worst statements rule out the most probable other values (Machanavajjhala (2008), section 3.7).
        """
        found = np.zeros(len(self.weights))
        for entries, ranked in self._ranked:
            left = ranked.left(np.full(entries.shape, negations, dtype=np.int64))
            own = ranked.weights
            belief = np.divide(own, left, out=np.zeros(own.shape), where=own > 0)
            found[entries] = np.take_along_axis(belief, ranked.rank, axis=1)
        return found

    def negations_needed(self, confidence: float) -> Longs:
        """(E,) fewest such statements that make the belief in each value reach the confidence.

        −1 for values of weight 0, which no statement makes probable.
        """
        found = np.full(len(self.weights), NEVER, dtype=np.int64)
        for entries, ranked in self._ranked:
            low = np.zeros(entries.shape, dtype=np.int64)
            high = np.full(entries.shape, entries.shape[1] - 1, dtype=np.int64)
            while (low < high).any():
                middle = (low + high) // 2
                passed = reach(ranked.weights, ranked.left(middle), confidence)
                high = np.where(passed, middle, high)
                low = np.where(passed, low, np.minimum(middle + 1, high))
            needed = np.where(ranked.weights > 0, high, NEVER)
            found[entries] = np.take_along_axis(needed, ranked.rank, axis=1)
        return found

    @cached_property
    def _ranked(self) -> tuple[tuple[Longs, _Ranked], ...]:
        """Units with equally many values at a time: their entries (u, d), and these by descending weight."""
        distinct, found = np.diff(self.starts), []
        for d in np.unique(distinct[distinct > 0]).tolist():
            entries = self.starts[:-1][distinct == d][:, None] + np.arange(d)
            order = np.argsort(-self.weights[entries], axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(d)[None, :], axis=1)
            ranked = _Ranked(np.take_along_axis(self.weights[entries], order, axis=1), rank)
            found.append((entries, ranked))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Weights (u, d) of units by descending weight, and where in that order each entry is."""

    weights: Weights
    rank: Longs

    @cached_property
    def _tails(self) -> Weights:
        """(u, d + 1) sums of the weights from each place to the end: no cancellation."""
        u, d = self.weights.shape
        tails = np.zeros((u, d + 1), dtype=self.weights.dtype)
        tails[:, :d] = np.cumsum(self.weights[:, ::-1], axis=1)[:, ::-1]
        return tails

    def left(self, negations: Longs) -> Weights:
        """(u, d) what stays of the unit's weight when the heaviest others of each value are ruled out."""
        d = self.weights.shape[1]
        place = np.arange(d)[None, :]
        behind = np.take_along_axis(self._tails, np.minimum(negations, d), axis=1)
        ahead = np.take_along_axis(self._tails, np.minimum(negations + 1, d), axis=1)
        # A value among the heaviest keeps its own weight, and one more of the others goes.
        return np.where(place >= negations, behind, self.weights + ahead)


def reach(parts: Weights, wholes: Weights, confidence: float) -> Bools:
    """Whether each part is at least that share of its whole, counts exactly."""
    if parts.dtype.kind == "i":
        return ~is_below(parts.astype(np.int64), as_written(confidence), wholes.astype(np.int64))
    beliefs = np.divide(parts, wholes, out=np.zeros(parts.shape), where=parts > 0)
    return np.asarray(beliefs >= lowest_accepted(confidence))


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
    s_nodes, s_numbers = _numbered(s_shown[has_both])
    v_nodes, v_numbers = _numbered(v_shown[has_both])
    keys, inverse = _numbered(s_numbers.astype(np.int64) * max(1, len(v_nodes)) + v_numbers)
    pair = np.full(len(has_both), -1, dtype=np.int32)
    pair[has_both] = inverse
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


def _numbered(keys: Integers) -> tuple[Longs, Ints]:
    """The distinct keys, none negative, ascending, and the number of each row's."""
    wide = keys.astype(np.int64)
    first, inverse = group(wide, int(wide.max(initial=0)) + 1)
    return wide[first], inverse

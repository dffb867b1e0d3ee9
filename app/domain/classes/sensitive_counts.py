"""How often each sensitive value occurs in each class: all that ℓ-diversity and similar models look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeVar

import numpy as np

from app.domain.arrays import Bools, Floats, Integers, Ints, Longs, concatenated_ranges
from app.domain.classes.grouping import EquivalenceClasses
from app.domain.classes.persons import runs_of_persons
from app.domain.classes.wildcards import matches_between
from app.domain.tables.distinct import ROWS_AT_ONCE, group, starts_of_runs
from app.domain.tables.masks import shows_nothing

ENTRIES_AT_ONCE: Final = 1 << 22
EXACT: Final = 1 << 53
"""Whole numbers up to here are floats as well; weights that may be greater are Python's, of any size."""

Numbers = TypeVar("Numbers", Floats, Longs)


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """Counts of the m values of one sensitive attribute in G classes, compressed by class.

    Attributes
    ----------
    starts
        (G + 1,): the entries of class g are those from ``starts[g]`` to ``starts[g + 1]``.
    values
        (E,) number of the value of each entry, ascending in each class.
    counts
        (E,) how often it occurs there, at least 1.
    totals
        (m,) how often each value occurs in the whole table, records without a class included, at least 1: the
        reference that a reader is taken to know.
    nodes
        (m,) node of each value in the attribute's hierarchy, ascending; ⊥ stands for a missing value.
    persons
        (G,) persons of each class who have a value, and those of the whole table, where a column names them:
        then ``counts`` and ``totals`` are persons who have the value in at least one of their records there,
        and may sum to more. None: all numbers are of records, or are weights that sum up as records do.
    """

    starts: Longs
    values: Ints
    counts: Longs
    totals: Longs
    nodes: Ints
    persons: tuple[Longs, int] | None = None

    @property
    def n_classes(self) -> int:
        """G, as in the grouping that was counted."""
        return len(self.starts) - 1

    @property
    def n_values(self) -> int:
        """m, values that occur in the whole table."""
        return len(self.totals)

    @cached_property
    def distinct(self) -> Longs:
        """(G,) different values in each class."""
        return np.diff(self.starts)

    @cached_property
    def of_entry(self) -> Longs:
        """(E,) the class of each entry."""
        return np.repeat(np.arange(self.n_classes, dtype=np.int64), self.distinct)

    @property
    def population(self) -> int:
        """Records of the whole table that have a value here, or persons: what ``totals`` are shares of."""
        return int(self.totals.sum()) if self.persons is None else self.persons[1]

    @cached_property
    def sizes(self) -> Longs:
        """(G,) records of each class that have a value here, or persons: what ``counts`` are shares of."""
        if self.persons is not None:
            return self.persons[0]
        return np.add.reduceat(np.append(self.counts, 0), self.starts[:-1]) * (self.distinct > 0)


def count_values(
    of_class: Longs, values: Longs | Ints, amounts: Longs, n_classes: int, n_values: int
) -> tuple[Longs, Ints, Longs]:
    """Where the values of each class start (classes + 1,), which they are, ascending, and their counts.

    Parameters
    ----------
    of_class, values, amounts
        (r,) class in [0, ``n_classes``), value in [0, ``n_values``) and records of each row.
    """
    return _counted(of_class.astype(np.int64) * n_values + values, amounts, n_classes, n_values)


def _counted(keys: Longs, amounts: Longs | None, n_classes: int, n_values: int) -> tuple[Longs, Ints, Longs]:
    """What :func:`count_values` answers, of rows with the keys class · ``n_values`` + value.

    ``amounts`` None: one record each.
    """
    space = n_classes * n_values
    if space <= 16 * len(keys) + 4096:
        table = np.bincount(keys, amounts, space)
        occurring = np.flatnonzero(table)
        counts = table[occurring].astype(np.int64)
    else:
        first, inverse = group(keys, space)
        occurring = keys[first]
        counts = np.bincount(inverse, amounts, len(occurring)).astype(np.int64)
    owners = occurring // max(1, n_values)
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=n_classes), out=starts[1:])
    return starts, (occurring - owners * n_values).astype(np.int32), counts


def count_persons(
    of_class: Integers, values: Integers, person: Integers, n_classes: int, n_values: int, n_persons: int
) -> tuple[tuple[Longs, Ints, Longs], Longs]:
    """Like :func:`count_values`, but persons who have a value; and (classes,) persons who have any.

    Parameters
    ----------
    of_class, values, person
        (r,) class in [0, ``n_classes``), value in [0, ``n_values``) and person in [0, ``n_persons``) of each
        record.
    """
    keys = of_class.astype(np.int64) * n_values + values
    pairs, _ = runs_of_persons(keys, person, n_classes * n_values, n_persons)
    owners, _ = runs_of_persons(of_class, person, n_classes, n_persons)
    return _counted(pairs, None, n_classes, n_values), np.bincount(owners, minlength=n_classes)


def count_weights(
    of_class: Integers, values: Integers, person: Integers, amounts: Longs, n_classes: int, n_values: int
) -> tuple[Longs, Ints, Longs]:
    """Like :func:`count_values`, but each person of a class weighs one, divided among own records there.

    Weights are whole multiples of 1/L, L being the least common multiple of the numbers of records that the
    persons of a class have in it: those of a class sum up to L times its persons (Definitions: several
    records per person). They are Python's numbers where some class's may be above 2^53.

    Parameters
    ----------
    of_class, values, person, amounts
        (r,) class in [0, ``n_classes``), value in [0, ``n_values``), person and records of each row.
    """
    n_persons = int(person.max(initial=0)) + 1
    pairs = of_class.astype(np.int64) * n_persons + person
    first, of_pair = group(pairs, n_classes * n_persons)
    rows = np.bincount(of_pair, amounts, len(first)).astype(np.int64)
    owners = pairs[first] // n_persons
    scale = np.ones(n_classes, dtype=object)
    starts = starts_of_runs(owners)
    scale[owners[starts]] = np.lcm.reduceat(rows.astype(object), starts) if len(starts) else 1
    if (scale * np.bincount(owners, minlength=n_classes)).max(initial=0) <= EXACT:
        scale = scale.astype(np.int64)
    keys = of_class.astype(np.int64) * n_values + values
    order = np.argsort(keys, kind="stable")
    weights = amounts[order] * (scale[of_class[order]] // rows[of_pair[order]])
    firsts = starts_of_runs(keys[order])
    occurring = keys[order[firsts]]
    found = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(occurring // max(1, n_values), minlength=n_classes), out=found[1:])
    return found, (occurring % max(1, n_values)).astype(np.int32), np.add.reduceat(weights, firsts)


def _keys_of_values(of_record: Ints, shown: Ints, number: Longs, n_values: int) -> Longs:
    """Class · ``n_values`` + number of the value, of the records that have both.

    ``number`` (nodes + 1,) is that of each node, −1 for none: a value left out, −1, reads the last place.
    In pieces that stay in the processor's cache.
    """
    keys = np.empty(len(of_record), dtype=np.int64)
    n = 0
    for start in range(0, len(of_record), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        classes, values = of_record[rows], number.take(shown[rows])
        found = classes * np.int64(n_values) + values
        has_both = (classes >= 0) & (values >= 0)
        if not has_both.all():
            found = found[has_both]
        keys[n : n + len(found)] = found
        n += len(found)
    return keys[:n]


def sensitive_counts(
    classes: EquivalenceClasses,
    shown: Ints,
    reference: Ints,
    n_nodes: int,
    person: Ints | None = None,
    *,
    weighed: bool = False,
) -> SensitiveCounts:
    """Counts of one attribute per class: of its records and of all that match it.

    Parameters
    ----------
    shown
        (n,) disclosed node of each record, −1 for a value that is left out of the counts.
    reference
        (n,) the same for the reference, records without a class included.
    n_nodes
        Nodes of the attribute's hierarchy.
    person
        (n,) person of each record, where a column names them.
    weighed
        Whether of persons it is not told how many have a value, but how their weights are distributed.
    """
    if person is not None:
        return _sensitive_persons(classes, shown, reference, n_nodes, person, weighed=weighed)
    totals = np.bincount(reference + 1, minlength=n_nodes + 1)[1:]
    nodes = np.flatnonzero(totals)
    number = np.full(n_nodes + 1, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    keys = _keys_of_values(classes.of_record, shown, number, len(nodes))
    starts, values, counts = _counted(keys, None, classes.n_classes, len(nodes))
    if classes.is_wildcard is not None:
        starts, values, counts = matching_counts(
            classes.codes, classes.is_wildcard, starts, values, counts, len(nodes)
        )
    return SensitiveCounts(starts, values, counts, totals[nodes].astype(np.int64), nodes.astype(np.int32))


def _sensitive_persons(
    classes: EquivalenceClasses, shown: Ints, reference: Ints, n_nodes: int, person: Ints, *, weighed: bool
) -> SensitiveCounts:
    """The same in persons, or in weights of persons."""

    def counted(
        of_class: Integers, values: Integers, n_classes: int, n_values: int
    ) -> tuple[tuple[Longs, Ints, Longs], Longs]:
        both = (of_class >= 0) & (values >= 0)
        rows = of_class[both], values[both], person[both]
        if weighed:
            one = np.ones(len(rows[0]), dtype=np.int64)
            return count_weights(*rows, one, n_classes, n_values), one
        return count_persons(*rows, n_classes, n_values, int(person.max()) + 1)

    (_, nodes, totals), population = counted(np.zeros_like(reference), reference, 1, n_nodes)
    number = np.full(n_nodes + 1, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    found, sizes = counted(classes.of_record, number[shown], classes.n_classes, len(nodes))
    persons = None if weighed else (sizes, int(population[0]))
    return SensitiveCounts(*found, totals, nodes, persons)


def matching_counts(
    codes: Ints, is_wildcard: Bools, starts: Longs, values: Ints, counts: Longs, n_values: int
) -> tuple[Longs, Ints, Longs]:
    """Starts, values and counts of the values in each class and in those that match it.

    Parameters
    ----------
    codes, is_wildcard
        (G, q) what the classes show, and whether it matches everything.
    starts, values, counts
        The values that occur in each class, compressed by class; values in [0, ``n_values``).
    """
    n_classes = len(starts) - 1
    distinct = np.diff(starts)
    parts = [(np.repeat(np.arange(n_classes, dtype=np.int64), distinct), values.astype(np.int64), counts)]
    added = 0
    for matches in matches_between(codes, is_wildcard):
        for receivers, groups, givers, groups_of_givers in matches.both_ways():
            entries = concatenated_ranges(starts[givers], distinct[givers])
            of_group = np.repeat(groups_of_givers, distinct[givers])
            first, given, amounts = count_values(
                of_group, values[entries], counts[entries], matches.n_groups, n_values
            )
            lengths = np.diff(first)[groups]
            chosen = concatenated_ranges(first[groups], lengths)
            parts.append((np.repeat(receivers, lengths), given[chosen].astype(np.int64), amounts[chosen]))
            added += len(chosen)
        if added > ENTRIES_AT_ONCE + len(parts[0][0]):
            parts, added = [_summed(parts, n_classes, n_values)], 0
    owners, found, amounts = (np.concatenate(own) for own in zip(*parts, strict=True))
    return count_values(owners, found, amounts, n_classes, n_values)


def _summed(
    parts: list[tuple[Longs, Longs, Longs]], n_classes: int, n_values: int
) -> tuple[Longs, Longs, Longs]:
    owners, values, amounts = (np.concatenate(own) for own in zip(*parts, strict=True))
    starts, found, counts = count_values(owners, values, amounts, n_classes, n_values)
    return (np.repeat(np.arange(n_classes, dtype=np.int64), np.diff(starts)), found.astype(np.int64), counts)


def missing_as_most_frequent(counts: SensitiveCounts) -> SensitiveCounts:
    """The counts where what shows no value counts as the most frequent value of its class.

    Of all values of the class that it may be, this makes the class the least diverse, and never more diverse
    than as a value of its own (Definitions: sensitive values). It stays one where the class has no other.
    """
    if not counts.n_values or not shows_nothing(counts.nodes[0]):
        return counts
    nothing, of_entry = counts.values == 0, counts.of_entry
    moved = nothing & (counts.distinct[of_entry] > 1)
    by_frequency = np.lexsort((-np.where(nothing, 0, counts.counts), of_entry))
    found = counts.counts.copy()
    found[by_frequency[counts.starts[of_entry[moved]]]] += found[moved]
    if counts.persons is not None:
        # Who has both is counted twice: at most everybody has the value.
        found = np.minimum(found, counts.sizes[of_entry])
    starts = np.concatenate([[0], np.cumsum(~moved)])[counts.starts]
    return replace(counts, starts=starts, values=counts.values[~moved], counts=found[~moved])


def sum_by_class(counts: SensitiveCounts, amounts: Longs) -> Longs:
    """(G,) sums of the (E,) whole numbers of each class's entries, exact; 0 for a class without entries."""
    sums: Longs = np.add.reduceat(np.append(amounts, amounts.dtype.type(0)), counts.starts[:-1])
    return np.where(counts.distinct > 0, sums, 0)


def greatest_by_class(counts: SensitiveCounts, scores: Numbers, without: float) -> Numbers:
    """(G,) greatest of the (E,) scores of each class's entries, ``without`` for a class that has none."""
    greatest = np.maximum.reduceat(np.append(scores, without), counts.starts[:-1])
    return np.where(counts.distinct > 0, greatest, without)


def least_by_class(counts: SensitiveCounts, scores: Numbers, without: float) -> Numbers:
    """(G,) least of the (E,) scores of each class's entries, ``without`` for a class that has none."""
    return -greatest_by_class(counts, -scores, -without)


def any_by_class(counts: SensitiveCounts, entries: Bools) -> Bools:
    """(G,) whether any entry of a class is among these."""
    found: Bools = np.zeros(counts.n_classes, dtype=bool)
    found[counts.of_entry[entries]] = True
    return found


def value_numbers(counts: SensitiveCounts, shown: Ints, n_nodes: int) -> Longs:
    """(n,) number of each record's value in ``counts``, −1 for nodes that are not among them."""
    number = np.full(n_nodes + 1, -1, dtype=np.int64)
    number[counts.nodes] = np.arange(counts.n_values)
    # Node −1, a value left out, reads the last place.
    return number[shown]


def records_per_entry(
    starts: Longs, values: Ints, n_values: int, of_record: Ints, numbers: Longs, chosen: Bools
) -> Longs:
    """(E,) how many of the chosen records are of the unit and have the value of each entry.

    Parameters
    ----------
    starts, values
        Entries compressed by unit, values ascending in each.
    of_record, numbers
        (n,) unit and number of the value of each record, −1 for none.
    chosen
        (n,) which records count; each one's value must be among its unit's entries.
    """
    lengths = np.diff(starts)
    units = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), lengths)
    keys = units * n_values + values
    kept = np.flatnonzero(chosen & (of_record >= 0) & (numbers >= 0))
    of_unit = of_record[kept]
    entries = starts[of_unit]
    # In a unit of one entry there is nothing to look for.
    several = np.flatnonzero(lengths[of_unit] > 1)
    wanted = of_unit[several].astype(np.int64) * n_values + numbers[kept[several]]
    entries[several] = np.searchsorted(keys, wanted)
    return np.bincount(entries, minlength=len(keys)).astype(np.int64)

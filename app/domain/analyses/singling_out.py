"""Which columns single people out: the smallest sets that do, and the part that each column has in it.

A person is *alone* on a set of quasi-identifiers if nobody else has one of the combinations of values that
the person's records have, and then on every set that holds it. The *smallest* sets of a person, on none of
whose subsets the person is alone, are the minimal sample uniques of Elliot et al. (2002). v(S) being the
share of persons alone on S, of no column nobody, the Shapley value of a column is its mean addition over all
orders of adding columns (Shapley (1953)); the values add up to v of all columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.analyses.risk_attribution import shapley
from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.catalogue.meanings import LOW, LOW_SHARE
from app.domain.classes.grouping import EquivalenceClasses, Grouping, positions_of, seconds_of_grouping
from app.domain.classes.wildcards import matching_records
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.tables.distinct import compacted, group, one_of_each

MOST_EXACT: Final = 8
"""Columns of which all sets are counted, 2^8 at most; of more, orders are drawn."""
MOST_SETS: Final = 2_000
SHOWN: Final = 20
SEED: Final = 1
SECONDS_PER_STEP: Final = 6e-5
SECONDS_PER_CLASS_OF_STEP: Final = 2.2e-8
BYTES_PER_CELL: Final = 16
BYTES_PER_CLASS: Final = 64
_Found = tuple[tuple[int, ...], int, int]
"""Columns, ascending, all persons who are alone on them, and those who are on none of their subsets."""


@dataclass(frozen=True, kw_only=True)
class SinglingOutParameters(Grouping):
    """How large the sets are that are listed, and how many orders are drawn of many columns."""

    max_size: Annotated[
        int, Ge(1), Le(8), doc(f"Largest sets listed; fewer columns where these are over {MOST_SETS:,} sets.")
    ] = 3
    orders: Annotated[
        int, Ge(2), Le(10_000), doc(f"Orders drawn of more than {MOST_EXACT} columns, each with its reverse.")
    ] = 100


@dataclass(frozen=True)
class SmallestSet:
    """A set of columns that singles people out whom no fewer of these columns do."""

    columns: Annotated[tuple[str, ...], doc("The columns, in the schema's order.")]
    persons: Annotated[int, LOW, doc("Persons who are alone on it, and on none of its subsets.")]
    persons_in_all: Annotated[int, LOW, doc("All persons who are alone on it.")]


@dataclass(frozen=True)
class ColumnPart:
    """What one column has to do with it."""

    column: Annotated[str, doc("The column.")]
    share: Annotated[float, LOW_SHARE, doc("What it adds (Shapley value), in parts of all persons judged.")]
    part: Annotated[float, doc("The same in parts of those singled out; 0 if there are none.")]
    standard_error: Annotated[float | None, doc("Standard error of `part`; null: it is exact.")]


@dataclass(frozen=True)
class SinglingOut:
    """Who is singled out by the quasi-identifiers, and by which."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    persons: Annotated[int, doc("Persons judged; records where no column names persons.")]
    singled_out: Annotated[int, LOW, doc("Persons who are alone on all columns together.")]
    largest_set: Annotated[int, doc("All sets of up to so many columns were looked at.")]
    sets_found: Annotated[int, doc("Those that single people out whom none of their subsets does.")]
    smallest_sets: Annotated[
        tuple[SmallestSet, ...],
        doc(f"The first {SHOWN} of these: by their size, then those of most persons, then as in the schema."),
    ]
    columns: Annotated[tuple[ColumnPart, ...], doc("All columns, those of the greatest share first.")]
    orders: Annotated[
        int | None,
        doc(f"Orders that were drawn with the seed {SEED}, each with its reverse; null: shares are exact."),
    ]


class _Left(NamedTuple):
    """Classes that are not alone on a set of columns, whose they are, and in which of ``n_groups`` groups."""

    columns: tuple[int, ...]
    classes: Longs
    owners: Longs
    groups: Ints
    n_groups: int

    def of(self, stays: Bools) -> _Left:
        """Those of them that stay."""
        at = np.flatnonzero(stays)
        own = self.classes.take(at), self.owners.take(at), self.groups.take(at)
        return _Left(self.columns, *own, self.n_groups)


class _People:
    """The classes by all columns, and the owner of each whose records are all of one person, else −1."""

    def __init__(self, context: MeasureContext, classes: EquivalenceClasses) -> None:
        n, persons = classes.n_classes, context.table.persons
        self._classes, codes = classes, list(classes.codes.T)
        if classes.is_wildcard is not None:  # what is suppressed is told from what matches everything
            codes = [own * 2 + wild for own, wild in zip(codes, classes.is_wildcard.T, strict=True)]
        self._codes, values = compacted(codes, [2 * context.table.sizes[j] for j in classes.attributes])
        self._sizes = list(map(len, values))
        # Without a column of persons each class of one record is a person.
        self._persons = None if persons is None else persons[one_of_each(classes.of_record, n)]
        owners = np.where(classes.units == 1, np.arange(n) if self._persons is None else self._persons, -1)
        self._everybody = _Left((), np.arange(n), owners, np.zeros(n, dtype=np.int32), 1)

    def _narrowed(self, left: _Left, column: int) -> tuple[Longs, _Left]:
        """The classes that one more column leaves alone, and the others.

        Who is alone hides nobody from there on: that is why they leave, and sets of many columns take little.
        """
        _, classes, owners, groups, n_groups = left
        columns, size = (*left.columns, column), self._sizes[column]
        keys = groups.astype(np.int64) * size + self._codes[column].take(classes)
        first, groups = group(keys, n_groups * size)
        is_shared = np.zeros(len(first), dtype=bool)
        is_shared[groups[(owners != owners.take(first).take(groups)) | (owners < 0)]] = True
        own = self._classes
        if own.is_wildcard is not None and len(first):
            records = np.bincount(groups, own.records[classes], len(first)).astype(np.int64)
            shown = np.ix_(classes[first], columns)
            is_shared |= matching_records(own.codes[shown], own.is_wildcard[shown], records) > 1
        stays = is_shared.take(groups)
        return classes[~stays], _Left(columns, classes, owners, groups, len(first)).of(stays)

    def _number(self, is_alone: Bools) -> int:
        """How many persons these classes (G,), each of one, are of."""
        alone = np.count_nonzero(is_alone)
        return int(alone) if self._persons is None else len(np.unique(self._persons[is_alone]))

    def sets(self, largest: int) -> Iterator[_Found]:
        """Every set of up to so many columns, after all of its subsets; of these a bit per class is kept."""
        # Of a set that grows the column of most values is the first: its groups are the smallest.
        order = sorted(range(len(self._sizes)), key=lambda j: self._sizes[j])
        kept: dict[tuple[int, ...], np.ndarray[tuple[int], np.dtype[np.uint8]]] = {}

        def grown(left: _Left, places: int) -> Iterator[_Found]:
            for place, column in enumerate(order[:places]):
                own, is_alone = (*left.columns, column), np.zeros(self._classes.n_classes, dtype=bool)
                if left.columns:
                    bits = np.bitwise_or.reduce([kept[own[:i] + own[i + 1 :]] for i in range(len(own))])
                    is_alone = np.unpackbits(bits, count=len(is_alone)).view(bool)
                before = self._number(is_alone)
                new, others = self._narrowed(left.of(~is_alone.take(left.classes)), column)
                is_alone[new] = True
                persons = self._number(is_alone)
                yield tuple(sorted(own)), persons, persons - before
                if len(own) < largest:
                    kept[own] = np.packbits(is_alone)
                    yield from grown(others, place)

        return grown(self._everybody, len(order))

    def added(self, order: Longs) -> Floats:
        """(columns,) persons whom each column is the first to single out, in an order of adding them."""
        left, added, before = self._everybody, np.zeros(len(order)), 0
        is_alone = np.zeros(self._classes.n_classes, dtype=bool)
        for column in order.tolist():
            if (left.owners < 0).all():
                break  # whoever is left shares every combination
            new, left = self._narrowed(left, column)
            is_alone[new] = True
            persons = self._number(is_alone)
            added[column], before = persons - before, persons
        return added


def _sets(columns: int, largest: int) -> int:
    return sum(math.comb(columns, size) for size in range(1, min(columns, largest) + 1))


def _steps(columns: int, parameters: SinglingOutParameters) -> tuple[int, int, int]:
    """The size of sets that are listed, and that are counted, and the orders to draw."""
    largest = min(columns, parameters.max_size)
    while _sets(columns, largest) > MOST_SETS and largest > 1:
        largest -= 1
    return (largest, columns, 0) if columns <= MOST_EXACT else (largest, largest, parameters.orders)


def _compute(context: MeasureContext, parameters: SinglingOutParameters, tick: Tick) -> SinglingOut:
    classes = context.release.classes(parameters)
    judged, width = judged_on(context.table, parameters, classes), len(classes.attributes)
    largest, counted, n_orders = _steps(width, parameters)
    people, found = _People(context, classes), []
    for own in people.sets(counted):
        found.append(own)
        tick(len(found))
    if n_orders:
        generator, drawn = np.random.default_rng(SEED), []
        for _ in range(n_orders):
            order = generator.permutation(width)
            # What an order and its reverse add makes up for each other: their mean varies less.
            drawn.append((people.added(order) + people.added(order[::-1])) / 2)
            tick(len(found) + len(drawn))
        gains = np.array(drawn)
    else:
        values = np.zeros(2**width)
        for columns, persons, _ in found:
            values[sum(1 << j for j in columns)] = persons
        gains = np.array([shapley(values)])
    names, listed = judged.quasi_identifiers, [own for own in found if own[2] and len(own[0]) <= largest]
    listed.sort(key=lambda own: (len(own[0]), -own[2], own[0]))
    n_persons = judged.records_judged if judged.persons is None else judged.persons
    n_persons -= judged.persons_suppressed or 0
    return SinglingOut(
        judged,
        n_persons,
        round(gains[0].sum()),
        largest,
        len(listed),
        tuple(SmallestSet(tuple(names[j] for j in own), new, all_) for own, all_, new in listed[:SHOWN]),
        _parts(names, gains, n_persons),
        n_orders or None,
    )


def _parts(names: tuple[str, ...], gains: Floats, persons: int) -> tuple[ColumnPart, ...]:
    """What each column adds, of gains (orders, columns); of one order they are exact."""
    added, whole = gains.mean(axis=0), max(1.0, gains[0].sum())
    errors: list[float | None] = [None] * len(names)
    if len(gains) > 1:
        errors = (gains.std(axis=0, ddof=1) / math.sqrt(len(gains)) / whole).tolist()
    parts = zip(names, (added / max(1, persons)).tolist(), (added / whole).tolist(), errors, strict=True)
    return tuple(ColumnPart(*own) for own in sorted(parts, key=lambda own: -own[1]))


def _cost(context: MeasureContext, parameters: SinglingOutParameters) -> Cost:
    """What it takes if nobody is alone before all columns are known."""
    table, once = context.table, seconds_of_grouping(context.table, parameters)
    width, n_classes = len(positions_of(table, parameters.quasi_identifiers)), table.reduced.size
    _, counted, n_orders = _steps(width, parameters)
    of_step = SECONDS_PER_STEP + n_classes * SECONDS_PER_CLASS_OF_STEP
    if parameters.missing == "matches_everything":
        of_step += once
    sets = _sets(width, counted)
    size = n_classes * (BYTES_PER_CLASS * (counted + 1) + _sets(width, counted - 1) / 8)
    size += table.n_records * (width + 4) * BYTES_PER_CELL
    return Cost(once + (sets + 2 * n_orders * width) * of_step, round(size), sets + n_orders, "classes")


SINGLING_OUT: Final = Measure(
    name="singling_out",
    title="What singles people out: the smallest sets of columns, and each column's part",
    source="Elliot et al. (2002); Shapley (1953)",
    guarantee="exact",
    parameters=SinglingOutParameters,
    result=SinglingOut,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example("which columns single members out, and what part has each?", "members-singled-out"),
    looks_at="quasi_identifiers",
    reads=frozenset({"records", "classes"}),
    by_persons=COUNTS_PERSONS,
)

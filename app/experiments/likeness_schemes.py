"""The schemes that Cao and Karras (2012), section 6.1, compare, with ranges of numbers as cells.

SABRE, which the paper takes from elsewhere, is here in kind. Anatomy is what deFinetti's attack is tried on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.closeness import equal_distances, ordered_distances
from app.domain.classes.gains import Gains, greatest_gains, implied_delta
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.hierarchies.cell_formats import is_number
from app.domain.losses.count_queries import Interval
from app.domain.losses.loss import LossChoice
from app.domain.losses.released import common_ancestors
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.criterion import Criterion
from app.domain.models.delta_disclosure import DeltaDisclosure
from app.domain.models.judging import JudgedClasses, JudgedRecords
from app.domain.models.suppression import failing_any
from app.domain.models.t_closeness import TCloseness
from app.domain.search.budget import UNLIMITED
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.partitions import burel
from app.domain.search.partitions.mondrian import Axis
from app.domain.search.partitions.plan import BurelPlan, MondrianPlan, PartitionPlan, along_curve
from app.domain.search.solvers import Burel, Mondrian
from app.domain.tables.table import Table

IMPOSSIBLE: Final = 2**61


@dataclass(frozen=True, eq=False)
class Partition:
    """A release: the class (n,) of each record, none of them empty, what it promises, and what it took.

    The table's last attribute is the sensitive one.
    """

    table: Table
    of: Longs
    promise: Criterion
    seconds: float

    @cached_property
    def sizes(self) -> Longs:
        """(G,) records of each class."""
        return np.bincount(self.of).astype(np.int64)

    @cached_property
    def _judged(self) -> JudgedClasses:
        classes = np.arange(len(self.sizes))
        return JudgedRecords(self.table, self.of.astype(np.int32)).judged(classes, len(classes))

    @cached_property
    def counts(self) -> SensitiveCounts:
        """The sensitive values of each class."""
        return self._judged.counts(None)

    @property
    def is_kept(self) -> bool:
        """Whether all records are in classes that pass, with a loss that is a share."""
        is_whole = np.array_equal(self.per_value.sum(axis=1), self.counts.totals)
        return is_whole and 0 <= self.loss <= 1 and not failing_any(self._judged, (self.promise,)).any()

    @cached_property
    def beta(self) -> float:
        """The least β of basic β-likeness."""
        return float(greatest_gains(self.counts, Gains.of(self.counts)).max())

    @cached_property
    def distances(self) -> tuple[Floats, Floats]:
        """(G,) each, by equal distances of values and by ordered ones."""
        return equal_distances(self.counts).floats, ordered_distances(self.counts).floats

    def t(self, *, ordered: bool = False) -> float:
        """The greatest of them."""
        return float(self.distances[ordered].max())

    @cached_property
    def cells(self) -> list[tuple[Ints, Ints, Floats]]:
        """Per quasi-identifier the first and the last leaf of each class's cell, and its loss."""
        found, order, starts = [], np.argsort(self.of, kind="stable"), np.cumsum(self.sizes) - self.sizes
        for j in self.table.quasi_identifiers:
            tree, own = self.table.hierarchies[j], self.table.codes[order, j]
            ends = (common_ancestors(tree, own, starts),) * 2
            is_numeric = all(is_number(tree.labels[leaf]) for leaf in tree.leaves.tolist())
            if is_numeric:
                ends = np.minimum.reduceat(own, starts), np.maximum.reduceat(own, starts)
            first, last = tree.leaf_lo[ends[0]], tree.leaf_hi[ends[1]] - 1
            above = last - first + (first < last) * (not is_numeric)
            found.append((first, last, above / max(1, tree.n_leaves - is_numeric)))
        return found

    @cached_property
    def loss(self) -> float:
        """Average information loss, quasi-identifiers weighed alike."""
        return float(np.mean([own for _, _, own in self.cells], axis=0) @ self.sizes) / len(self.of)

    @cached_property
    def per_value(self) -> Floats:
        """(m, G) records of each value and class."""
        found = np.zeros((self.counts.n_values, self.counts.n_classes))
        found[self.counts.values, self.counts.of_entry] = self.counts.counts
        return found

    def estimate(self, asked: Mapping[int, Interval], values: Interval) -> float:
        """Records in intervals, those of a class spread evenly over the leaves of its cells."""
        found = self.per_value[int(values[0]) : int(values[1]) + 1].sum(axis=0)
        for j, (low, high) in asked.items():
            first, last, _ = self.cells[j]
            found *= np.maximum(np.minimum(last, high) - np.maximum(first, low) + 1, 0) / (last - first + 1)
        return float(found.sum())


def sabre_buckets(totals: Longs, budget: Fraction, *, ordered: bool) -> tuple[Longs, Floats]:
    """Bucket (m,) of each value, and per bucket the most that it costs as a distance.

    Records of a bucket count as if all had the value that is farthest from its others. Buckets are the fewest
    runs, of values in their own order or in that of frequency, whose costs sum to the budget at most; of
    these those with the least sum.
    """
    m, places = len(totals), np.arange(len(totals))
    order = places if ordered else np.argsort(totals, kind="stable")
    apart = abs(places[:, None] - places) if ordered else (places[:, None] != places).astype(np.int64)
    unit = int(totals.sum()) * (max(1, m - 1) if ordered else 1)
    # Of the run from the row's place to the column's, in whole numbers
    costs = np.full((m, m), IMPOSSIBLE)
    for b in range(m):
        far = np.cumsum(totals[order[b:], None] * apart[b:, b:], axis=0)
        costs[b, b:] = np.where(np.tri(m - b, dtype=bool), far, 0).max(axis=1)
    least, begins, starts = costs[0], [], [m]
    while least[-1] > budget * unit:
        tried = costs + np.append(IMPOSSIBLE, least[:-1])[:, None]
        begins.append(tried.argmin(axis=0))
        least = np.minimum(tried.min(axis=0), IMPOSSIBLE)
    for begin in reversed(begins):
        starts.append(int(begin[starts[-1] - 1]))
    first = np.array([0, *reversed(starts[1:])])
    lengths = np.diff(first, append=m)
    of_value = np.empty(m, dtype=np.int64)
    of_value[order] = np.repeat(np.arange(len(first)), lengths)
    return of_value, costs[first, first + lengths - 1] / unit


def sabre_sizes(totals: Longs, t: float, *, ordered: bool) -> tuple[Longs, Longs]:
    """Bucket (m,) of each value, and (L, k) records that each class takes of each: half of t is for costs."""
    of_value, costs = sabre_buckets(totals, as_written(t) / 2, ordered=ordered)
    shares, root = totals / totals.sum(), np.bincount(of_value, totals).astype(np.int64)

    def eligible(taken: Longs) -> Bools:
        factors = taken * root.sum() / (np.maximum(taken.sum(axis=1, keepdims=True), 1) * root)
        missing = shares * (1 - factors[:, of_value])
        moved = np.cumsum(missing, axis=1) / max(1, len(totals) - 1) if ordered else missing / 2
        # By less than rounding may add, so that what passes is exactly within t
        near = abs(moved).sum(axis=1) + factors @ costs <= t - 1e-12
        return np.asarray(near & (taken.sum(axis=1) > 0))

    return of_value, burel.halved(root, eligible)


def _by_sabre(table: Table, promise: TCloseness, seed: int) -> Iterator[Longs]:
    values, totals = np.unique(table.codes[:, -1], return_inverse=True, return_counts=True)[1:]
    of_value, leaves = sabre_sizes(totals, promise.t, ordered=promise.distance == "ordered")
    axes = [Axis.of(table.hierarchies[j], table.codes[:, j]) for j in table.quasi_identifiers]
    positions, ranks = along_curve(axes)
    random = np.random.default_rng(seed)
    yield burel.retrieve(of_value[values.ravel()], ranks, positions, leaves, random)


def anatomy(values: Longs, diversity: int, random: np.random.Generator) -> Longs:
    """Group (n,) of each record, in the manner of Anatomy, from the value (n,) of each.

    Time and again a random record of each of the so many values of which most are left, ties in random order.
    What is left over joins random groups that lack its value, or any if none does.
    """
    rows = [random.permutation(np.flatnonzero(values == v)).tolist() for v in range(int(values.max()) + 1)]
    left, of, groups = np.bincount(values), np.full(len(values), -1), 0
    while np.count_nonzero(left) >= diversity:
        chosen = np.lexsort((random.random(len(left)), -left))[:diversity]
        left[chosen] -= 1
        of[[rows[v].pop() for v in chosen.tolist()]] = groups
        groups += 1
    for row in np.flatnonzero(of < 0).tolist():
        lacks = ~np.isin(np.arange(max(1, groups)), of[values == values[row]])
        of[row] = random.choice(np.flatnonzero(lacks | ~lacks.any()))
    return of


def _by_solver(solver: Burel | Mondrian, table: Table, promise: Criterion, seed: int) -> Iterator[Longs]:
    problem = AnonymityProblem(privacy=(promise,), loss=LossChoice("ail"), scope="record_level")
    plan: PartitionPlan = MondrianPlan(table, problem, UNLIMITED)
    if isinstance(solver, Burel):
        plan = BurelPlan(table, problem, replace(solver, seed=seed), UNLIMITED)
    return (of for of, _, _ in plan.partitions(lambda _: None))


PROMISES: Final[Mapping[str, Callable[[Table, float], Criterion]]] = {
    "β": lambda _, beta: BetaLikeness(beta=beta),
    "δ": lambda table, beta: DeltaDisclosure(
        delta=implied_delta(np.unique(table.codes[:, -1], return_counts=True)[1], beta)
    ),
    "t": lambda _, t: TCloseness(t=t),
    "ordered t": lambda _, t: TCloseness(t=t, distance="ordered"),
}
SCHEMES: Final[Mapping[str, tuple[str, Callable[..., Iterator[Longs]]]]] = {
    "BUREL": ("β", partial(_by_solver, Burel())),
    "BUREL, best margin": ("β", partial(_by_solver, Burel(slack_margin="auto"))),
    "LMondrian": ("β", partial(_by_solver, Mondrian())),
    "DMondrian": ("δ", partial(_by_solver, Mondrian())),
    "tMondrian": ("t", partial(_by_solver, Mondrian())),
    "SABRE-like": ("t", _by_sabre),
    "tMondrian, ordered": ("ordered t", partial(_by_solver, Mondrian())),
    "SABRE-like, ordered": ("ordered t", _by_sabre),
}
"""What each promises, and how classes are made."""


def released(scheme: str, table: Table, parameter: float, seed: int) -> Partition:
    """The release by a scheme; of several that it makes the one that loses least."""
    start, (promised, make) = time.process_time(), SCHEMES[scheme]
    promise = PROMISES[promised](table, parameter)
    made, seconds = list(make(table, promise, seed)), time.process_time() - start
    return min((Partition(table, of, promise, seconds) for of in made), key=lambda own: own.loss)

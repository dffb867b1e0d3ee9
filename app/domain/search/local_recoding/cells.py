"""What each cell of the distinct records may become, and what that loses.

A record's rule is a number of steps up its hierarchy per quasi-identifier. The loss of a release is put
together from one sum over records per attribute, of what each disclosed cell costs; searches need it for any
steps, not for levels of the table alone. Bounds look at halves of some attributes at all of their levels, and
at pairs of these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Ints, Levels, Longs
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.cell_costs import CellCost, Nodes, leaves_under
from app.domain.losses.cells import CellLoss, DomainLoss
from app.domain.losses.kl_boxes import log_areas
from app.domain.losses.loss import LeafDomain, LossChoice, Sums
from app.domain.models.judging import JudgedRecords
from app.domain.models.suppression import failing_any
from app.domain.rules.rule import CellRule, RecordRule, apply
from app.domain.search.local_recoding.class_criteria import ClassCriteria, numbered
from app.domain.tables.distinct import DistinctRows, distinct_rows, group, one_of_each, row_keys
from app.domain.tables.masks import rows_without_values
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table

Rows = npt.NDArray[np.integer] | slice
Steps = npt.NDArray[np.int16]

ALL: Final = slice(None)

MOST_KEPT: Final = 8_000_000
"""Costs of a side that are kept."""


class Cells:
    """The q quasi-identifiers of the d distinct records of a table; records count alike.

    Attributes
    ----------
    attributes
        Positions of the quasi-identifiers in the table.
    amounts
        (d,) records of each distinct record. They are distinct over all attributes, so that records with
        other sensitive values may be recoded otherwise.
    raw
        (d, q) nodes of the table.
    most
        (d, q) steps from each cell to ⊥.
    trees, sizes
        Their hierarchies, and nodes per hierarchy.
    missing
        (d, q) values that are missing and hence match everything; None if they do not, or there are none.

    Parameters
    ----------
    overlapping
        Whether missing values match everything.

    Raises NotSupported if a hierarchy is no tree.
    """

    def __init__(self, table: Table, loss: CellLoss, *, overlapping: bool = False) -> None:
        self.table = table
        self.loss = loss
        self.attributes = table.quasi_identifiers
        self.amounts: Longs = table.reduced.counts
        self.raw: Ints = np.asfortranarray(table.reduced.codes[:, self.attributes])
        trees = [table.hierarchies[j] for j in self.attributes]
        self.trees = trees
        self.sizes = [tree.n_nodes for tree in trees]
        self.missing: Bools | None = None
        self._patterns: DistinctRows | None = None
        missing = table.reduced_missing[:, self.attributes]
        if overlapping and missing.any():
            self.missing = missing
            columns = list(self.missing.T.astype(np.int8))
            self._patterns = distinct_rows(columns, (2,) * len(trees), len(self.raw))
        self._above = [np.stack([tree.ancestor_steps(s) for s in range(tree.height + 1)]) for tree in trees]
        self._depths = [tree.depth for tree in trees]
        self.most: Steps = np.empty(self.raw.shape, dtype=np.int16, order="F")
        for i, depth in enumerate(self._depths):
            self.most[:, i] = depth[self.raw[:, i]]
        self._costs: list[Sums] = []
        for above, size, cost in zip(self._above, self.sizes, loss.costs, strict=True):
            costs = np.broadcast_to(cost.of(np.arange(size), above), above.shape)
            self._costs.append(np.ascontiguousarray(costs))
        self._as_they_are = [self._total(i, 0) for i in range(len(trees))]

    @property
    def size(self) -> int:
        """d, the distinct records."""
        return len(self.amounts)

    @property
    def n_attributes(self) -> int:
        """q, the quasi-identifiers."""
        return len(self.attributes)

    @property
    def heights(self) -> Levels:
        """The levels of the rule that discloses nothing."""
        return tuple(tree.height for tree in self.trees)

    def records_of(self, i: int) -> Longs:
        """(nodes,) records that have each node of the i-th quasi-identifier."""
        return np.bincount(self.raw[:, i], self.amounts, self.sizes[i]).astype(np.int64)

    def areas(self, domain: LeafDomain) -> list[Floats]:
        """Per quasi-identifier (nodes,) ln of how many values each node has."""
        return [log_areas(tree, self.records_of(i), domain) for i, tree in enumerate(self.trees)]

    def leaves(self, domain: LeafDomain) -> list[Floats]:
        """The same as numbers of leaves."""
        return [
            leaves_under(tree, self.records_of(i), domain).astype(np.float64)
            for i, tree in enumerate(self.trees)
        ]

    def nodes(self, i: int, steps: Steps | int, rows: Rows = ALL) -> Ints:
        """What cells of the i-th quasi-identifier become."""
        found: Ints = self._above[i][steps, self.raw[rows, i]]
        return found

    def codes(self, steps: Steps, rows: Rows = ALL) -> Ints:
        """(r, q) disclosed nodes of some records, from their steps."""
        found = np.empty(steps.shape, dtype=np.int32, order="F")
        for i in range(self.n_attributes):
            found[:, i] = self.nodes(i, steps[:, i], rows)
        return found

    def costs(self, i: int, steps: Steps | int, rows: Rows = ALL) -> Sums:
        """What a cell of the i-th quasi-identifier costs after so many steps."""
        found: Sums = self._costs[i][steps, self.raw[rows, i]]
        return found

    def is_above(self, i: int, row: int) -> Bools:
        """(nodes,) which nodes are the cell of one record or above it."""
        found = np.zeros(self.sizes[i], dtype=bool)
        found[self._above[i][:, self.raw[row, i]]] = True
        return found

    def cost_of(self, i: int, row: int, shown: Ints) -> Sums:
        """What the cell of one record costs if it is disclosed as each of some nodes above it."""
        return np.asarray(self.loss.costs[i].of(self.raw[row, i], shown))

    def steps_up(self, row: int, shown: Ints) -> Steps:
        """(q,) steps from the cells of one record to the nodes above them."""
        pairs = zip(self._depths, self.raw[row].tolist(), shown.tolist(), strict=True)
        return np.array([depth[raw] - depth[node] for depth, raw, node in pairs], dtype=np.int16)

    def at_levels(self, levels: tuple[int, ...], rows: Rows = ALL) -> Steps:
        """(r, q) steps that levels of the quasi-identifiers for the whole table mean for some records."""
        found = np.empty(self.raw[rows].shape, dtype=np.int16, order="F")
        for i, level in enumerate(levels):
            found[:, i] = self.steps_to(i, level, rows)
        return found

    def steps_to(self, i: int, level: int, rows: Rows = ALL) -> Steps:
        """(r,) steps from cells of the i-th quasi-identifier to what they are at a level."""
        depth = self._depths[i]
        becomes = self.trees[i].ancestors_at(level)
        found: Steps = (depth - depth[becomes]).astype(np.int16)[self.raw[rows, i]]
        return found

    def total(self, i: int, steps: Steps) -> int | float:
        """What all cells of the i-th quasi-identifier cost after the steps (d, q)."""
        return self._total(i, steps[:, i])

    def classes(self, codes: Ints, rows: Rows = ALL) -> tuple[Ints, int]:
        """Number of each row's class, rows of equal codes being one, and how many there are.

        Where missing values match everything, records of a class also miss the same values, except suppressed
        ones. ``rows`` are the distinct records whose codes are given.
        """
        if self._patterns is None:
            return self.classes_of_codes(codes)
        shows = ~rows_without_values(codes)
        pattern = np.where(shows, self._patterns.inverse[rows], 0)
        return _numbered([*codes.T, pattern], [*self.sizes, self._patterns.size])

    def classes_of_codes(self, codes: Ints) -> tuple[Ints, int]:
        """Number of what each row discloses, whatever it misses, and how many numbers there are."""
        return _numbered(list(codes.T), self.sizes)

    def is_suppressed(self, steps: Steps) -> Bools:
        """(d,) records all of whose quasi-identifiers are ⊥."""
        return np.asarray((steps == self.most).all(axis=1))

    def loss_of(self, steps: Steps) -> float:
        """The loss of a release of all records."""
        return self.loss.of_totals([self._total(i, steps[:, i]) for i in range(self.n_attributes)])

    def slopes(self, steps: Steps) -> Floats:
        """(q,) by how much the sum of terms grows at most per unit that a cell of each attribute costs more.

        Terms are concave in what their attribute costs, so that their tangents are above them: moves that
        gain by these slopes lower the loss.
        """
        found = np.zeros(self.n_attributes)
        for i, cost in enumerate(self.loss.costs):
            if cost.scale:
                total = float(self._total(i, steps[:, i]))
                # The chord up to here is steeper than the tangent; over a small piece they are alike.
                piece = max(1e-6 * cost.scale, 1e-300)
                found[i] = (self.term(i, total + piece) - self.term(i, total)) / piece
        return found

    def term(self, i: int, total: float) -> float:
        """What the i-th attribute contributes to the loss's sum of terms if its cells cost ``total``."""
        return float(self.loss.terms(i, np.array([total - self._as_they_are[i]]))[0])

    def least_total(self, i: int) -> float:
        """What the i-th attribute's cells cost as they are."""
        return float(self._as_they_are[i])

    def greatest_total(self, i: int) -> float:
        """What they cost if all are suppressed."""
        return float(self._total(i, self.most[:, i]))

    def of_terms(self, terms: list[float]) -> float:
        """The loss whose terms are given."""
        return self.loss.of_sum(math.fsum(terms))

    def rule(self, steps: Steps, hides_sensitive: Bools | None = None) -> RecordRule | CellRule:
        """The steps as a table-level rule.

        Sensitive attributes stay as they are, except those of records (d,) that hide them if suppressed.
        """
        table, inverse = self.table, self.table.reduced.inverse
        found = np.zeros(table.codes.shape, dtype=np.int16, order="F")
        for i, j in enumerate(self.attributes):
            found[:, j] = steps[inverse, i]
        if hides_sensitive is None or not table.sensitive:
            return RecordRule(found)
        suppressed = np.flatnonzero((self.is_suppressed(steps) & hides_sensitive)[inverse])
        if not len(suppressed):
            return RecordRule(found)
        hidden = [j for j in range(table.n_attributes) if j not in self.attributes]
        if all(table.hierarchies[j].is_tree for j in hidden):
            for j in hidden:
                found[suppressed, j] = table.hierarchies[j].depth[table.codes[suppressed, j]]
            return RecordRule(found)
        codes = apply(RecordRule(found), table)
        for j in hidden:
            codes[suppressed, j] = TOP
        return CellRule(codes)

    def _total(self, i: int, steps: Steps | int) -> int | float:
        """Cost of all cells of an attribute; a whole number exactly."""
        costs = self.costs(i, steps)
        if costs.dtype.kind in "iu":
            return int(costs @ self.amounts)
        return exact_sum(costs * self.amounts)


def _numbered(columns: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Number of each row of columns, and how many different ones there are."""
    keys, limit = row_keys(columns, sizes, len(columns[0]))
    representatives, inverse = group(keys, limit)
    return inverse, len(representatives)


class Side:
    """Some attributes: their distinct combinations of values, what these become at levels and cost there.

    Attributes
    ----------
    of
        (d,) combination of each distinct record.
    size
        How many combinations there are.
    top
        The most general levels.
    """

    def __init__(self, cells: Cells, attributes: Sequence[int], weights: Floats) -> None:
        self._weights = weights
        self.n_weights = len(weights)
        self._paid: dict[Levels, Floats] = {}
        self._trees = [cells.trees[i] for i in attributes]
        self._costs = [cells.loss.costs[i] for i in attributes]
        self.top: Levels = tuple(tree.height for tree in self._trees)
        self.of: Longs = np.zeros(cells.size, dtype=np.int64)
        self.size = 1
        for i in attributes:
            keys = self.of * cells.sizes[i] + cells.raw[:, i]
            self.of, self.size = numbered(keys, self.size * cells.sizes[i])
        first = one_of_each(self.of, self.size)
        self._raw: list[Ints] = [cells.raw[first, i] for i in attributes]
        self._groups: dict[Levels, tuple[Longs, int]] = {}

    def rules(self) -> Iterator[Levels]:
        """All levels of the attributes, each after all more specific ones."""
        return itertools.product(*(range(height + 1) for height in self.top))

    def groups(self, levels: Levels) -> tuple[Longs, int]:
        """(c,) number of what each combination becomes, and how many numbers there are."""
        if levels not in self._groups:
            found, size = np.zeros(self.size, dtype=np.int64), 1
            for tree, raw, level in zip(self._trees, self._raw, levels, strict=True):
                keys = found * tree.n_nodes + tree.ancestors_at(level)[raw]
                found, size = numbered(keys, size * tree.n_nodes)
            self._groups[levels] = found, size
        return self._groups[levels]

    def costs(self, levels: Levels) -> Floats:
        """(w, c) weighted costs of the combinations at the levels beyond those as they are."""
        known = self._paid.get(levels)
        if known is not None:
            return known
        found = np.zeros((len(self._weights), self.size))
        for i, (tree, raw, level) in enumerate(zip(self._trees, self._raw, levels, strict=True)):
            beyond = self._costs[i].of(raw, tree.ancestors_at(level)[raw]) - self._costs[i].of(raw, raw)
            found += self._weights[:, i : i + 1] * beyond
        if found.size * (len(self._paid) + 1) <= MOST_KEPT:
            self._paid[levels] = found
        return found

    def of_nodes(self, levels: Levels, worth: Sequence[Floats]) -> Floats:
        """(c,) what the nodes of each combination are worth together, ``worth`` (nodes,) per attribute."""
        found = np.zeros(self.size)
        for tree, raw, level, own in zip(self._trees, self._raw, levels, worth, strict=True):
            found += own[tree.ancestors_at(level)[raw]]
        return found


class Pairs:
    """The distinct pairs of a group of the left side, at some levels, and a combination of the right one.

    Attributes
    ----------
    of
        (d,) pair of each distinct record.
    size
        How many pairs there are.
    right
        (p,) combination of each pair.
    """

    def __init__(self, cells: Cells, criteria: ClassCriteria, left: tuple[Side, Levels], right: Side) -> None:
        groups, self._n_groups = left[0].groups(left[1])
        ours = groups[left[0].of]
        self.of, self.size = numbered(ours * right.size + right.of, self._n_groups * right.size)
        self._left = np.empty(self.size, dtype=np.int64)
        self.right = np.empty(self.size, dtype=np.int64)
        self._left[self.of], self.right[self.of] = ours, right.of
        self._side = right
        self._necessary = criteria.necessary
        groups_of_rows = self.of[cells.table.reduced.inverse].astype(np.int32)
        self._records = JudgedRecords(cells.table, groups_of_rows, version=criteria.version)

    def groups(self, levels: Levels) -> tuple[Longs, int]:
        """(p,) number of the nodes of each pair with the right side at the levels, and how many there are."""
        groups, size = self._side.groups(levels)
        return numbered(self._left * size + groups[self.right], self._n_groups * size)

    def fit(self, of: Longs, n_groups: int) -> Bools:
        """(g,) whether the records of each group of pairs meet what is necessary."""
        return ~failing_any(self._records.judged(of, n_groups), self._necessary)


class LeafLogarithms(CellLoss):
    """Mean logarithm of the leaves under cells: the ambiguity of a record is a product of these leaves."""

    def __init__(self, table: Table, attributes: tuple[int, ...], domain: LeafDomain) -> None:
        super().__init__(
            table, attributes, "ambiguity", lambda _, h, records: _Logarithms(h, records, domain)
        )


class _Logarithms(CellCost):
    """ln of the leaves under the node shown."""

    def __init__(self, hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> None:
        self._logarithms = np.log(leaves_under(hierarchy, records, domain).clip(1))
        self.scale = int(records.sum())

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        return np.asarray(self._logarithms[shown])


def cell_loss_of(table: Table, choice: LossChoice) -> CellLoss:
    """The loss, if it is a sum over cells; else one of cells that says which nodes are dear."""
    loss = loss_of(table, choice)
    if isinstance(loss, CellLoss):
        return loss
    if choice.kind == "ambiguity":
        return LeafLogarithms(table, table.quasi_identifiers, choice.leaves)
    return DomainLoss(table, "geometric", table.quasi_identifiers)

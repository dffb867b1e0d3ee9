"""Rules generalised further: the joins of a rule with levels, in order of utility.

What a rule discloses of a cell and what a level discloses of it both lie above the original, in a tree on one
path. Their join is therefore the level applied to what the rule discloses. A hierarchy that is no tree has
the levels 0 and ⊥ alone.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Levels
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.class_suppression import ClassSuppression, are_hidden, suppress_failing
from app.domain.risk.utility import Utility
from app.domain.rules.rule import CellRule, RecordRule, Rule, TableRule, apply, apply_to_codes
from app.domain.search.record_risk import outer_sum
from app.domain.tables.masks import rows_without_values
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table

Vector = tuple[int, ...]
"""Per attribute the number of its choice, 0 the least general."""

VECTORS_HELD: Final = 2_000_000
MOST_VECTORS: Final = 2_000_000
"""Most vectors of a larger lattice that are looked at."""
_AT_ONCE: Final = 4096


class Raising:
    """All rules that generalise a rule further.

    Attributes
    ----------
    shown
        What the rule discloses, as a table: its rules of levels are the changes.
    choices
        Per attribute the levels that differ in what they disclose, the least of those that do not; 0 first.
    terms
        Per attribute and choice the mean utility of its cells, never rising.
    """

    def __init__(
        self, table: Table, rule: Rule, utility: Utility, attributes: tuple[int, ...] | None = None
    ) -> None:
        self.table = table
        self.rule = rule
        self.utility = utility
        self.shown = replace(table, codes=apply(rule, table), entity_ids=None)
        raised = range(table.n_attributes) if attributes is None else attributes
        every = [self._of_attribute(j, j in set(raised)) for j in range(table.n_attributes)]
        self.choices: tuple[Levels, ...] = tuple(levels for levels, _ in every)
        self.terms: tuple[Floats, ...] = tuple(terms for _, terms in every)

    @cached_property
    def entropies(self) -> tuple[Floats, ...]:
        """Per attribute and choice the entropy of what is disclosed, in nats."""
        return tuple(
            np.array([self._entropy(j, level) for level in levels]) for j, levels in enumerate(self.choices)
        )

    def _entropy(self, j: int, level: int) -> float:
        becomes = self.table.hierarchies[j].ancestors_at(level)[self.shown.codes[:, j]]
        counts = np.bincount(becomes)
        shares = counts[counts > 0] / self.table.n_records
        return -float(shares @ np.log(shares))

    def _of_attribute(self, j: int, is_raised: bool) -> tuple[Levels, Floats]:
        hierarchy = self.table.hierarchies[j]
        nodes = self.shown.used_nodes[j]
        mass = np.bincount(self.shown.codes[:, j], self.table.weights, hierarchy.n_nodes)[nodes]
        values = self.utility.values[j]
        possible = range(hierarchy.height + 1) if hierarchy.is_tree else (0, hierarchy.height)
        levels: list[int] = []
        terms: list[float] = []
        before = None
        for level in possible if is_raised else (0,):
            becomes = hierarchy.ancestors_at(level)[nodes]
            if before is None or not np.array_equal(becomes, before):
                levels.append(level)
                # Rounding must not let a general value look more useful than one below it.
                mean = exact_sum(values[becomes] * mass) / self._total
                terms.append(min(mean, terms[-1]) if terms else mean)
                before = becomes
        return tuple(levels), np.array(terms)

    @cached_property
    def _total(self) -> float:
        weights = self.table.weights
        return float(self.table.n_records) if weights is None else exact_sum(weights)

    def raised(self, levels: Levels) -> Rule:
        """The rule with every record generalised at least to the levels."""
        return _joined(self.table, self.rule, levels, self.shown.codes)

    @cached_property
    def suppressed_by_rule(self) -> Bools:
        """(n,) records of which a rule for single records by itself discloses nothing."""
        if isinstance(self.rule, TableRule):
            return np.zeros(self.table.n_records, dtype=bool)
        return rows_without_values(self.shown.codes)

    def suppression_loss(self, levels: Levels, records: Bools, suppression: ClassSuppression) -> float:
        """What suppressing the records (n,) takes from the mean utility at the levels."""
        rows = np.flatnonzero(records)
        hidden = are_hidden(self.table, records, suppression.missing, suppression.suppressed)[rows]
        lost = np.zeros(len(rows))
        for j in range(self.table.n_attributes):
            values = self.utility.values[j]
            becomes = self.table.hierarchies[j].ancestors_at(levels[j])
            less = (values[becomes] - values[TOP])[self.shown.codes[rows, j]]
            lost += less if j in self.table.quasi_identifiers else less * hidden
        if self.table.weights is not None:
            lost *= self.table.weights[rows]
        return exact_sum(lost) / self._total

    def raised_and_suppressed(self, levels: Levels, suppression: ClassSuppression) -> tuple[Rule, Bools]:
        """The raised rule with failing classes suppressed, and which records these are (n,)."""
        return suppress_failing(self.table, self.raised(levels), suppression)


def join(table: Table, rule: Rule, levels: Levels) -> Rule:
    """The rule with every record generalised at least to the levels, of its own kind where that can say it.

    NotSupported for a level between 0 and ⊥ where the hierarchy is no tree.
    """
    for hierarchy, level, name in zip(table.hierarchies, levels, table.attributes, strict=True):
        if 0 < level < hierarchy.height:
            hierarchy.require_tree(f"A level of attribute {name!r}")
    return _joined(table, rule, levels, apply(rule, table))


def _joined(table: Table, rule: Rule, levels: Levels, disclosed: Ints) -> Rule:
    if isinstance(rule, TableRule):
        return TableRule(tuple(map(max, rule.levels, levels)))
    is_tree = all(
        hierarchy.is_tree for hierarchy, level in zip(table.hierarchies, levels, strict=True) if level
    )
    if isinstance(rule, CellRule) or not is_tree:
        return CellRule(apply_to_codes(TableRule(levels), table, disclosed))
    steps = rule.steps.copy(order="F")
    for j, (hierarchy, level) in enumerate(zip(table.hierarchies, levels, strict=True)):
        if level:
            depth = hierarchy.depth[table.codes[:, j]]
            np.maximum(steps[:, j], depth - (hierarchy.height - level), out=steps[:, j])
    return RecordRule(steps)


def are_held(terms: Sequence[Floats]) -> bool:
    """Whether a lattice of these terms is small enough to be held in memory whole."""
    return math.prod(map(len, terms)) <= VECTORS_HELD


def in_order(terms: Sequence[Floats]) -> Iterator[tuple[float, Vector]]:
    """Utility and vector, the greatest utility first; at most :data:`MOST_VECTORS` of those not held.

    Utilities are sums of one term per attribute and choice, which never rise.
    """
    return _all_in_order(terms) if are_held(terms) else _first_in_order(terms)


def _all_in_order(terms: Sequence[Floats]) -> Iterator[tuple[float, Vector]]:
    utilities = outer_sum(terms).reshape(-1)
    order = np.argsort(-utilities, kind="stable")
    shape = tuple(map(len, terms))
    for start in range(0, len(order), _AT_ONCE):
        places = order[start : start + _AT_ONCE]
        vectors = np.stack(np.unravel_index(places, shape), axis=1).tolist()
        yield from zip(utilities[places].tolist(), map(tuple, vectors), strict=True)


def _first_in_order(terms: Sequence[Floats]) -> Iterator[tuple[float, Vector]]:
    values = [own.tolist() for own in terms]

    def entry(vector: Vector, last: int) -> tuple[float, Vector, int]:
        return -sum(own[number] for own, number in zip(values, vector, strict=True)), vector, last

    # A vector is reached from one other alone: that with its last raised attribute one lower.
    open_ = [entry((0,) * len(values), 0)]
    for _ in range(MOST_VECTORS):
        if not open_:
            return
        less, vector, last = heapq.heappop(open_)
        for j in range(last, len(values)):
            if vector[j] + 1 < len(values[j]):
                heapq.heappush(open_, entry((*vector[:j], vector[j] + 1, *vector[j + 1 :]), j))
        yield -less, vector


class Settled(Protocol):
    """Vectors that need not be asked about."""

    def add_below(self, vector: Vector) -> None:
        """Settle the vector and all with no greater number anywhere."""

    def __contains__(self, vector: Vector) -> bool: ...


def nothing_settled(terms: Sequence[Floats]) -> Settled:
    """No vector of a lattice is settled yet."""
    return _HeldSettled(terms) if are_held(terms) else _ListedSettled(terms)


class _HeldSettled:
    """By a flag for every vector."""

    def __init__(self, terms: Sequence[Floats]) -> None:
        self._flags = np.zeros(tuple(map(len, terms)), dtype=bool)

    def add_below(self, vector: Vector) -> None:
        self._flags[tuple(slice(0, number + 1) for number in vector)] = True

    def __contains__(self, vector: Vector) -> bool:
        return bool(self._flags[vector])


class _ListedSettled:
    """By the greatest settled vectors."""

    def __init__(self, terms: Sequence[Floats]) -> None:
        self._greatest = np.empty((0, len(terms)), dtype=np.int16)

    def add_below(self, vector: Vector) -> None:
        new = np.array(vector, dtype=np.int16)
        kept = self._greatest[(self._greatest > new).any(axis=1)]
        self._greatest = np.vstack([kept, new])

    def __contains__(self, vector: Vector) -> bool:
        return bool((self._greatest >= np.array(vector, dtype=np.int16)).all(axis=1).any())


@dataclass(eq=False)
class RaisedRule:
    """A rule raised to levels, with failing classes suppressed or not."""

    raising: Raising
    levels: Levels
    suppression: ClassSuppression | None = None

    @property
    def suppresses(self) -> bool:
        """Whether records are suppressed besides the levels."""
        return self.suppression is not None

    @cached_property
    def rule(self) -> Rule:
        """The rule, made when it is first asked for."""
        if self.suppression is None:
            return self.raising.raised(self.levels)
        return self.raising.raised_and_suppressed(self.levels, self.suppression)[0]


@dataclass(frozen=True, order=True)
class Option:
    """A vector that could be the answer; options are ordered by what is taken first."""

    less: float
    suppressed: int
    total: int
    levels: Levels
    vector: Vector = field(compare=False)

    @property
    def rank(self) -> tuple[int, int, Levels]:
        """What decides among those that are worth the same."""
        return self.suppressed, self.total, self.levels

    @property
    def utility(self) -> float:
        """What it is worth."""
        return -self.less

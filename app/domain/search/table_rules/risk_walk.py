"""One walk over the lattice of levels, from the first rows to the risk of a rule.

The risk of a rule is (1/n) Σ Φ/|ρ| over records. Φ is carried as a sum per row: weights are charged when an
attribute is given its level. Infinite weights are counted apart, since they count only where ρ is not empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.search.axes import Axis, build_axes
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, refuse_absent
from app.domain.search.profiles import build_profiles
from app.domain.search.record_rules.counts import LinkedCounts, entity_codes, record_codes
from app.domain.search.table_rules.partial_walks import WalkWeights, late_order
from app.domain.search.walk import (
    Columns,
    State,
    begin,
    expand,
    generalised_suffixes,
    number_of_run,
    step,
    sums,
    thin,
    walk_order,
)
from app.domain.tables.distinct import group, row_keys, sort_with_positions

RECORDS = 1


class RiskWalk:
    """The states of one instance on the way to its table-level rules, under one absent policy.

    Model I without a harm of failure and without interactions, against one dictionary. A state's columns are
    |ρ|, the weight of the records, their Φ and, where there is some, the weight of those whose Φ is infinite.
    A mark is a profile, split by whether generalising can only lower the record's risk.

    Parameters
    ----------
    order
        Positions in the table of the attributes in the order of the walk; None: the best one for scoring all
        rules, or, ``one_by_one``, for rating rules in any order.

    Attributes
    ----------
    order
        As above.
    axes, suffixes
        In that order; a suffix are the distinct combinations of codes from an attribute on.
    marks
        Per depth the mark of each combination to come.
    bounded, all_bounded
        Per mark, whether generalising can only lower the risk, and whether this is so of all.
    absent, some_absent
        Which distinct records of the table have no consistent entity when disclosed as they are, and
        whether any has none.
    root
        The state before any level is chosen.
    """

    def __init__(
        self, context: SearchContext, policy: AbsentPolicy, order: Sequence[int] | None, one_by_one: bool
    ) -> None:
        self.context = context
        axes = build_axes(context, "table_level")
        if order is None:
            order = late_order(axes) if one_by_one else walk_order(axes, range(len(axes)))
        self.order = list(order)
        self.axes = [axes[j] for j in self.order]
        self._profiles = build_profiles(context, policy, "table_level")
        self.exponential = context.sensitivity.is_exponential
        self._begin(axes, policy)
        groups = self._profiles.groups[self._profile_of_mark]
        self.weights = WalkWeights(context.sensitivity, self.axes, self.order, groups)

    def _begin(self, axes: Sequence[Axis], policy: AbsentPolicy) -> None:
        reduced, codes = self.context.table.reduced, record_codes(self.context, axes)
        counts = LinkedCounts(self.context, axes, codes)
        self.absent = absent = (counts.at([0] * len(axes)) == 0)[counts.part_of]
        refuse_absent(policy, int(reduced.counts[absent].sum()))
        bounded = ~absent if policy == "zero" else np.ones(reduced.size, dtype=bool)
        columns = [reduced.inverse, self._profiles.of_record]
        keys, limit = row_keys(columns, [reduced.size, self._profiles.size], self.context.table.n_records)
        first, inverse = group(keys, limit)
        record, profile = reduced.inverse[first], self._profiles.of_record[first]
        weights = self.context.table.weights
        n_of_row = np.bincount(inverse, weights, minlength=len(first)).astype(np.float64)
        marks = profile * 2 + bounded[record]
        used, mark = np.unique(marks, return_inverse=True)
        self._profile_of_mark, self.bounded = (used // 2).astype(np.int64), used % 2 == 1
        self.all_bounded, self.some_absent = bool(self.bounded.all()), bool(absent.any())
        rows, entities = entity_codes(self.context, axes)
        joined = [np.concatenate([codes[record, j], rows[j]]) for j in self.order]
        joined.append(np.concatenate([mark, np.zeros(len(entities), mark.dtype)]).astype(np.int32))
        sizes = [axis.n_codes for axis in self.axes] + [len(used)]
        sensitivity = self.context.sensitivity
        none = np.zeros(len(n_of_row))
        own = np.concatenate([n_of_row, np.zeros(len(entities))])
        harm, infinite = np.zeros_like(own), np.zeros_like(own)
        if sensitivity.is_exponential:
            harm = own
        elif sensitivity.family == "constant":
            if math.isinf(sensitivity.constant):
                infinite = own
            else:
                harm = own * sensitivity.constant
        held = (np.concatenate([none, entities]), own, harm)
        start = begin(joined, sizes, (*held, infinite) if self._has_infinite else held)
        entity_sums, record_sums, *others = start.state.columns
        if np.array_equal(entity_sums, record_sums):
            # The table is its own dictionary: the two columns stay equal and are summed once.
            record_sums = entity_sums
        self.root = replace(start.state, columns=(entity_sums, record_sums, *others))
        self.suffixes = start.suffixes
        self._generalised = [
            generalised_suffixes(suffix, axis, later)
            for suffix, axis, later in zip(self.suffixes, self.axes, self.suffixes[1:], strict=False)
        ]
        self.marks = [self.suffixes[-2].codes.astype(np.int64)]
        for suffix in reversed(self.suffixes[:-2]):
            self.marks.insert(0, self.marks[0][suffix.next])

    @cached_property
    def _has_infinite(self) -> bool:
        """Whether some weight is infinite, or so large that its exponential is."""
        sensitivity = self.context.sensitivity
        limit = 700.0 if sensitivity.is_exponential else math.inf
        weights = [axis.own.max(initial=0.0) for axis in self.axes]
        with np.errstate(invalid="ignore"):
            weights += [
                np.nanmax(sensitivity.factors[:, j], initial=0.0) * axis.unit.max(initial=0.0)
                for j, axis in zip(self.order, self.axes, strict=True)
            ]
        return any(not weight < limit for weight in [*weights, sensitivity.constant])

    def generalised(self, state: State, depth: int, level: int) -> State:
        """The state for one more level of an attribute: rows that the level below could still tell apart."""
        return thin(state, self._generalised[depth][level])

    def thinned(self, state: State, depth: int, level: int) -> State:
        """The state whose rows to come are no finer than the levels up to ``level`` of the next attribute."""
        for lower in range(level + 1):
            state = self.generalised(state, depth, lower)
        return state

    def advance(self, state: State, depth: int, level: int) -> State:
        """The state after one more level, from the state thinned for it."""
        generalised, later = self._generalised[depth][level], self.suffixes[depth + 1]
        columns = self._charged(state, depth, level)
        return step(state, self.axes[depth].images[level], generalised, later, columns)[0]

    def _charged(self, state: State, depth: int, level: int) -> Columns:
        """The state's columns with the weights of one attribute and level added to Φ."""
        if self.weights.is_free(depth, level):
            return state.columns
        suffix = self._generalised[depth][level].suffix
        codes = suffix.codes[state.rest]
        marks = None
        if self.weights.is_personal(depth):
            marks = self.marks[depth + 1][suffix.next[state.rest]]
        weights = self.weights.of(depth, level, codes, marks)
        entities, records, harm, *infinite = state.columns
        with np.errstate(over="ignore"):
            if infinite:
                counted = np.isposinf(np.exp(weights) if self.exponential else weights)
                weights = np.where(counted, 0.0, weights)
                infinite = [infinite[0] + counted * records]
            harm = harm * np.exp(weights) if self.exponential else harm + records * weights
        return (entities, records, harm, *infinite)

    def risks(self, state: State, levels: Sequence[int]) -> tuple[float, float]:
        """Risk of the rule that gives the last attribute its level too, and its part that is monotone."""
        depth = len(levels) - 1
        generalised, image = self._generalised[depth][levels[depth]], self.axes[depth].images[levels[depth]]
        suffix, columns = generalised.suffix, self._charged(state, depth, levels[depth])
        if generalised.exact and self._is_simple:
            total = float(self._losses(columns[RECORDS:], columns[0]).sum()) / self.context.total_weight
            return total, total if self.bounded[0] else 0.0
        codes = suffix.codes[state.rest]
        if image.keeps_order:
            pairs, rest = state.prefix * image.n_classes + image.class_of[codes], state.rest
        else:
            at, pairs = expand(state, image, codes, columns[RECORDS])
            pairs, order = sort_with_positions(pairs, state.n_prefixes * image.n_classes)
            rest, columns = state.rest[at][order], tuple(column[at[order]] for column in columns)
        numbers = number_of_run(pairs)
        n_classes = int(numbers[-1]) + 1 if len(numbers) else 0
        n = self.context.total_weight
        if self._is_simple:
            entities, *rest_of_columns = sums(columns, numbers, n_classes)
            total = float(self._losses(rest_of_columns, entities).sum()) / n
            return total, total if self.bounded[0] else 0.0
        marks = self.marks[depth + 1][suffix.next[rest]]
        (entities,) = sums(columns[:RECORDS], numbers, n_classes)
        counts = entities[numbers] + self.added(levels, marks)
        losses = self._losses(columns[RECORDS:], counts)
        return float(losses.sum()) / n, float(losses[self.bounded[marks]].sum()) / n

    @cached_property
    def _is_simple(self) -> bool:
        """Whether all records of a class have the same count and are bounded alike."""
        return len(self._profile_of_mark) == 1 and not self.adds_somebody

    def _losses(self, columns: Sequence[Floats], counts: Floats) -> Floats:
        """Summed loss per row or class from the columns after the entities; 0 where ρ is empty."""
        records, harm, *infinite = columns
        if self.context.sensitivity.family == "multiplicative_centered":
            harm = harm - records
        present = counts > 0
        losses = np.divide(harm, counts, out=np.zeros(len(counts)), where=present)
        if infinite:
            losses[present & (infinite[0] > 0)] = math.inf
        return losses

    @property
    def adds_somebody(self) -> bool:
        """Whether the absent policy adds to |ρ| of some record."""
        return self._profiles.thresholds is not None

    def added(self, levels: Sequence[int], marks: Longs) -> Floats:
        """What the absent policy adds to |ρ| of rows of these marks under a rule (in the walk's order)."""
        by_table = np.empty(len(levels), dtype=np.int64)
        by_table[self.order] = levels
        return self._profiles.added(by_table.tolist())[self._profile_of_mark[marks]]

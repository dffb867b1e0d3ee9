"""The risk of every table-level rule, by one walk over the lattice of levels.

The risk of a rule is (1/n) Σ Φ/|ρ| over records. Φ is carried as a sum per row: weights are charged when an
attribute is given its level. Infinite weights are counted apart, since they count only where ρ is not empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from app.domain.distinct import group, row_keys, sort_with_positions
from app.domain.errors import InvalidInput
from app.domain.search.axes import Axis, Floats, build_axes
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy
from app.domain.search.profiles import build_profiles
from app.domain.search.records.linked_counts import LinkedCounts, entity_codes, record_codes
from app.domain.search.tables.late_levels import Late, LateLevels, counts_of, late_cut, late_order
from app.domain.search.tables.rule_risk import EXPONENTIAL, Growth, RuleRisk, least_growth
from app.domain.search.tables.state_cache import MAX_BYTES, StateCache, states_worth_keeping
from app.domain.search.tables.walk_weights import WalkWeights
from app.domain.search.walk import (
    Columns,
    State,
    begin,
    coarser_suffixes,
    expand,
    number_of_run,
    step,
    sums,
    thin,
    walk_order,
)

SECONDS_PER_STATE = 3e-5
SECONDS_PER_ROW = 1.5e-8
SECONDS_PER_RATING = 4e-5
SECONDS_PER_RATED_ROW = 6e-9
RECORDS = 1
CHOSEN = -1
SHARE_OF_ROWS = 0.8
Tick = Callable[[int], None]


class TableScores:
    """Mean risks of the table-level rules of one instance under one absent policy.

    Model I without a harm of failure and without interactions, against one dictionary.

    Parameters
    ----------
    order
        Positions in the table of the attributes in the order of the walk; None: the best one for scoring all
        rules, or, ``one_by_one``, for rating rules in any order.

    Attributes
    ----------
    order
        As above.
    shape
        Number of levels per attribute in that order.
    absent
        Which distinct records of the table have no consistent entity when disclosed as they are.
    """

    def __init__(
        self,
        context: SearchContext,
        policy: AbsentPolicy,
        order: Sequence[int] | None = None,
        one_by_one: bool = False,
    ) -> None:
        self._context = context
        axes = build_axes(context, "table_level")
        if order is None:
            order = late_order(axes) if one_by_one else walk_order(axes, range(len(axes)))
        self.order = list(order)
        self._axes = [axes[j] for j in self.order]
        self.shape = tuple(axis.n_levels for axis in self._axes)
        self._profiles = build_profiles(context, policy, "table_level")
        self._begin(axes, policy)
        self._states: StateCache[State] = StateCache()
        self._exponential = context.sensitivity.family in EXPONENTIAL
        groups = self._profiles.groups[self._profile_of_mark]
        self._weights = WalkWeights(context.sensitivity, self._axes, self.order, groups)

    @property
    def n_rules(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def seconds(self) -> float:
        """Estimated time of the whole walk: rows and states.

        A state has at most as many rows as the first one, and as its combinations of classes times what is
        to come; how far real data stay below is taken from one path through the middle levels.
        """
        prefixes, on_path = np.ones(1), 1.0
        state, seconds = self._root, 0.0
        for depth, axis in enumerate(self._axes):
            size = self._suffixes[depth].size
            share = state.n_rows / min(on_path * size, self._root.n_rows)
            rows = np.minimum(prefixes * size, self._root.n_rows) * share
            seconds += axis.n_levels * float((rows * SECONDS_PER_ROW + SECONDS_PER_STATE).sum())
            classes = np.array([float(image.n_classes) for image in axis.images])
            prefixes = np.minimum(np.multiply.outer(prefixes, classes).reshape(-1), self._root.n_rows)
            middle = (axis.n_levels - 1) // 2
            on_path = min(on_path * classes[middle], self._root.n_rows)
            state = self._advance(self._thinned_from(state, depth, middle), depth, middle)
        return seconds

    @property
    def kept_bytes(self) -> int:
        """Estimated bytes of what is kept between the ratings of single rules."""
        one = self._root.n_rows * 8 * (2 + len(self._root.columns))
        return min(MAX_BYTES, round(one * SHARE_OF_ROWS * states_worth_keeping(self.shape)))

    @property
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule of many, in any order: states are shared, later levels kept."""
        return SECONDS_PER_RATING + self._root.n_rows * SECONDS_PER_RATED_ROW

    def _thinned_from(self, state: State, depth: int, level: int) -> State:
        for coarser in self._coarser[depth][: level + 1]:
            state = thin(state, coarser)
        return state

    @property
    def n_bytes(self) -> int:
        """Estimated bytes of the states that are alive at once."""
        return self._root.n_rows * 8 * (2 + len(self._root.columns)) * (len(self.shape) + 3)

    def to_table_order(self, values: Floats) -> Floats:
        """Array over the lattice in the table's attribute order from values in the order of the walk."""
        return values.reshape(self.shape).transpose(np.argsort(self.order))

    # --- preparation ---------------------------------------------------------------------------------

    def _begin(self, axes: Sequence[Axis], policy: AbsentPolicy) -> None:
        reduced, codes = self._context.table.reduced, record_codes(self._context, axes)
        counts = LinkedCounts(self._context, axes, codes)
        self.absent = absent = (counts.at([0] * len(axes)) == 0)[counts.part_of]
        refuse_absent(policy, int(reduced.counts[absent].sum()))
        bounded = ~absent if policy == "zero" else np.ones(reduced.size, dtype=bool)
        columns = [reduced.inverse, self._profiles.of_record]
        keys, limit = row_keys(columns, [reduced.size, self._profiles.size], self._context.table.n_records)
        first, inverse = group(keys, limit)
        record, profile = reduced.inverse[first], self._profiles.of_record[first]
        weights = self._context.table.weights
        n_of_row = np.bincount(inverse, weights, minlength=len(first)).astype(np.float64)
        # A mark is a profile, split by whether generalising can only lower the record's risk.
        marks = profile * 2 + bounded[record]
        used, mark = np.unique(marks, return_inverse=True)
        self._profile_of_mark, self._bounded = (used // 2).astype(np.int64), used % 2 == 1
        self._all_bounded, self._some_absent = bool(self._bounded.all()), bool(absent.any())
        rows, entities = entity_codes(self._context, axes)
        joined = [np.concatenate([codes[record, j], rows[j]]) for j in self.order]
        joined.append(np.concatenate([mark, np.zeros(len(entities), mark.dtype)]).astype(np.int32))
        sizes = [axis.n_codes for axis in self._axes] + [len(used)]
        start = begin(joined, sizes, self._columns(entities, n_of_row))
        entity_sums, record_sums, *others = start.state.columns
        if np.array_equal(entity_sums, record_sums):
            # The table is its own dictionary: the two columns stay equal and are summed once.
            record_sums = entity_sums
        self._root = replace(start.state, columns=(entity_sums, record_sums, *others))
        self._suffixes = start.suffixes
        self._coarser = [
            coarser_suffixes(suffix, axis, later)
            for suffix, axis, later in zip(self._suffixes, self._axes, self._suffixes[1:], strict=False)
        ]
        self._mark_of_rest = [self._suffixes[-2].codes.astype(np.int64)]
        for suffix in reversed(self._suffixes[:-2]):
            self._mark_of_rest.insert(0, self._mark_of_rest[0][suffix.next])

    def _columns(self, entities: Floats, records: Floats) -> Columns:
        sensitivity = self._context.sensitivity
        none = np.zeros(len(records))
        own = np.concatenate([records, np.zeros(len(entities))])
        harm, infinite = np.zeros_like(own), np.zeros_like(own)
        if sensitivity.family in EXPONENTIAL:
            harm = own
        elif sensitivity.family == "constant":
            if math.isinf(sensitivity.constant):
                infinite = own
            else:
                harm = own * sensitivity.constant
        columns = (np.concatenate([none, entities]), own, harm)
        return (*columns, infinite) if self._has_infinite else columns

    @cached_property
    def _has_infinite(self) -> bool:
        """Whether some weight is infinite, or so large that its exponential is."""
        sensitivity = self._context.sensitivity
        limit = 700.0 if sensitivity.family in EXPONENTIAL else math.inf
        weights = [axis.own.max(initial=0.0) for axis in self._axes]
        with np.errstate(invalid="ignore"):
            weights += [
                np.nanmax(sensitivity.factors[:, j], initial=0.0) * axis.unit.max(initial=0.0)
                for j, axis in zip(self.order, self._axes, strict=True)
            ]
        return any(not weight < limit for weight in [*weights, sensitivity.constant])

    # --- the walk ------------------------------------------------------------------------------------

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Risks of all rules whose first ``depth`` levels have a number in [first, last), in walk order.

        Prefixes are numbered in lexicographic order. ``tick`` receives the number of rules scored.
        """
        inner = math.prod(self.shape[depth:])
        found = np.empty((last - first) * inner)
        states = [self._root]
        before: tuple[int, ...] = ()
        for number in range(first, last):
            levels = tuple(int(v) for v in np.unravel_index(number, self.shape[:depth])) if depth else ()
            same = next(
                (k for k, (a, b) in enumerate(zip(before, levels, strict=False)) if a != b), len(before)
            )
            del states[same + 1 :]
            for k in range(same, depth):
                thinned = self._thinned_from(states[k], k, levels[k])
                states.append(self._advance(thinned, k, levels[k]))
            before = levels
            at = (number - first) * inner
            self._descend(states[depth], list(levels), found[at : at + inner], tick)
        return found

    def _descend(self, state: State, levels: list[int], found: Floats, tick: Tick) -> None:
        depth = len(levels)
        inner = len(found) // self.shape[depth]
        is_last = depth + 1 == len(self.shape)
        for level in range(self.shape[depth]):
            levels.append(level)
            state = thin(state, self._coarser[depth][level])
            if is_last:
                found[level] = self._risks(state, levels)[0]
            else:
                part = found[level * inner : (level + 1) * inner]
                self._descend(self._advance(state, depth, level), levels, part, tick)
            levels.pop()
        if is_last:
            tick(self.shape[depth])

    def _advance(self, state: State, depth: int, level: int) -> State:
        """The state after one more level, from the state thinned for it."""
        coarser, later = self._coarser[depth][level], self._suffixes[depth + 1]
        columns = self._charged(state, depth, level)
        return step(state, self._axes[depth].images[level], coarser, later, columns)[0]

    def _charged(self, state: State, depth: int, level: int) -> Columns:
        """The state's columns with the weights of one attribute and level added to Φ."""
        if self._weights.is_free(depth, level):
            return state.columns
        suffix = self._coarser[depth][level].suffix
        codes = suffix.codes[state.rest]
        marks = None
        if self._weights.is_personal(depth):
            marks = self._mark_of_rest[depth + 1][suffix.next[state.rest]]
        weights = self._weights.of(depth, level, codes, marks)
        entities, records, harm, *infinite = state.columns
        with np.errstate(over="ignore"):
            if infinite:
                counted = np.isposinf(np.exp(weights) if self._exponential else weights)
                weights = np.where(counted, 0.0, weights)
                infinite = [infinite[0] + counted * records]
            harm = harm * np.exp(weights) if self._exponential else harm + records * weights
        return (entities, records, harm, *infinite)

    def _risks(self, state: State, levels: Sequence[int]) -> tuple[float, float]:
        """Risk of the rule that gives the last attribute its level too, and its part that is monotone."""
        depth = len(levels) - 1
        coarser, image = self._coarser[depth][levels[depth]], self._axes[depth].images[levels[depth]]
        suffix, columns = coarser.suffix, self._charged(state, depth, levels[depth])
        if coarser.exact and self._is_simple:
            total = float(self._losses(columns[RECORDS:], columns[0]).sum()) / self._context.total_weight
            return total, total if self._bounded[0] else 0.0
        codes = suffix.codes[state.rest]
        if image.keeps_order:
            pairs, rest = state.prefix * image.n_classes + image.class_of[codes], state.rest
        else:
            at, pairs = expand(state, image, codes, columns[RECORDS])
            pairs, order = sort_with_positions(pairs, state.n_prefixes * image.n_classes)
            rest, columns = state.rest[at][order], tuple(column[at[order]] for column in columns)
        numbers = number_of_run(pairs)
        n_classes = int(numbers[-1]) + 1 if len(numbers) else 0
        n = self._context.total_weight
        if self._is_simple:
            entities, *rest_of_columns = sums(columns, numbers, n_classes)
            total = float(self._losses(rest_of_columns, entities).sum()) / n
            return total, total if self._bounded[0] else 0.0
        marks = self._mark_of_rest[depth + 1][suffix.next[rest]]
        (entities,) = sums(columns[:RECORDS], numbers, n_classes)
        counts = entities[numbers] + self._added_for(levels)[self._profile_of_mark[marks]]
        losses = self._losses(columns[RECORDS:], counts)
        return float(losses.sum()) / n, float(losses[self._bounded[marks]].sum()) / n

    @cached_property
    def _is_simple(self) -> bool:
        """Whether all records of a class have the same count and are bounded alike."""
        return len(self._profile_of_mark) == 1 and self._profiles.thresholds is None

    def _losses(self, columns: Sequence[Floats], counts: Floats) -> Floats:
        """Summed loss per row or class from the columns after the entities; 0 where ρ is empty."""
        records, harm, *infinite = columns
        if self._context.sensitivity.family == "multiplicative_centered":
            harm = harm - records
        present = counts > 0
        losses = np.divide(harm, counts, out=np.zeros(len(counts)), where=present)
        if infinite:
            losses[present & (infinite[0] > 0)] = math.inf
        return losses

    def _added_for(self, levels: Sequence[int]) -> Floats:
        by_table = np.empty(len(levels), dtype=np.int64)
        by_table[self.order] = levels
        return self._profiles.added(by_table.tolist())

    # --- single rules --------------------------------------------------------------------------------

    def rate(self, levels: Sequence[int]) -> RuleRisk:
        """Risk of one rule (levels in the table's order), with what bounds every finer rule's."""
        ordered = tuple(levels[j] for j in self.order)
        cut = self._late.cut
        if cut == len(self.order):
            return RuleRisk(*self._risks(self._thinned(ordered), ordered), 0.0)
        return self._rated(self._state(ordered[:cut]), self._late.at(ordered[cut:]), ordered)

    def _rated(self, state: State, late: Late, levels: Sequence[int]) -> RuleRisk:
        """Of the rule with the levels of the state and those of the later attributes: one pass over rows."""
        rest, n = state.rest, self._context.total_weight
        entities, records, harm, *infinite = state.columns
        counts = counts_of(state, late, entities)
        if self._profiles.thresholds is not None:
            counts = counts + self._added_for(levels)[self._profile_of_mark[self._late.marks[rest]]]
        # Rows of records whom nobody is consistent with have no count; no other row is without.
        present = counts > 0 if self._some_absent else None
        if present is None:
            chances = 1.0 / counts
        else:
            chances = np.divide(1.0, counts, out=np.zeros(len(counts)), where=present)
        with np.errstate(over="ignore"):
            if late.weights is not None:
                weights = late.weights.take(rest)
                harm = harm * weights if self._exponential else harm + records * weights
            if self._context.sensitivity.family == "multiplicative_centered":
                harm = harm - records
            if present is None:
                losses = harm * chances
            else:
                losses = np.multiply(harm, chances, out=np.zeros(len(counts)), where=present)
        for beyond in infinite:
            losses[(counts > 0) & (beyond > 0)] = math.inf
        if late.infinite is not None:
            losses[(counts > 0) & late.infinite[rest] & (records > 0)] = math.inf
        chances *= records
        risk = bound = float(losses.sum()) / n
        if not self._all_bounded:
            bounded = self._bounded[self._late.marks[rest]]
            chances, bound = chances[bounded], float(losses[bounded].sum()) / n
        slope = float(chances.sum()) / n
        if self._exponential:
            centred = self._context.sensitivity.family == "multiplicative_centered"
            slope = bound + slope if centred else bound
        return RuleRisk(risk, bound, slope)

    @cached_property
    def _late(self) -> LateLevels:
        cut = late_cut(self._axes)
        marks = self._mark_of_rest[cut] if cut < len(self.order) else np.empty(0, np.int64)
        return LateLevels(self._axes, self._suffixes, cut, marks, self._exponential, self._weights)

    @cached_property
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least from rule to finer rule."""
        return least_growth(self._context)

    def _state(self, prefix: tuple[int, ...]) -> State:
        if not prefix:
            return self._root
        found = self._states.get((*prefix, CHOSEN))
        if found is None:
            found = self._advance(self._thinned(prefix), len(prefix) - 1, prefix[-1])
            self._states.put((*prefix, CHOSEN), found, _bytes_of(found))
        return found

    def _thinned(self, prefix: tuple[int, ...]) -> State:
        """The state of all but the last level of a prefix, thinned for that level."""
        before, level = prefix[:-1], prefix[-1]
        if level == 0:
            return self._state(before)
        found = self._states.get(prefix)
        if found is None:
            found = thin(self._thinned((*before, level - 1)), self._coarser[len(before)][level])
            self._states.put(prefix, found, _bytes_of(found))
        return found


def _bytes_of(state: State) -> int:
    return state.prefix.nbytes + state.rest.nbytes + sum(column.nbytes for column in state.columns)


def refuse_absent(policy: AbsentPolicy, n_absent: int) -> None:
    """Refuse absent records under the policy ``error``."""
    if policy == "error" and n_absent:
        raise InvalidInput.of(
            "/absent_policy",
            "absent-records",
            f"{n_absent} records have no consistent entity in a dictionary, and the absent policy is error.",
            "Complete the dictionary, or choose the policy zero or add_self.",
        )

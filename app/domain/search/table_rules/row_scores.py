"""The risk of table-level rules from the loss of every distinct record, rule by rule.

Exact for every model, harm of failure, interactions, attacker and aggregate; what is charged for the first
attributes of the walk is kept while the later ones change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints
from app.domain.counting.calibration import (
    SECONDS_PER_RULE_AND_COUNTED_ROW,
    SECONDS_PER_RULE_AND_ROW,
    SECONDS_PER_RULE_BY_ROWS,
)
from app.domain.search.axes import build_axes
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, Aggregate, refuse_absent
from app.domain.search.profiles import build_profiles
from app.domain.search.record_risk import Disclosed, Exposure
from app.domain.search.record_rules.counts import LinkedCounts, Place, record_codes
from app.domain.search.table_rules.open_rules import Growth, RuleRisk
from app.domain.search.table_rules.partial_walks import (
    MAX_BYTES,
    StateCache,
    depth_worth_keeping,
    states_worth_keeping,
)
from app.domain.search.table_rules.scores import RuleScores, Tick
from app.domain.search.walk import walk_order
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import group, row_keys
from app.domain.tables.masks import shows_nothing

RATING_PER_SCORING = 2.0


@dataclass(frozen=True, eq=False)
class _Path:
    """The first attributes with a level: the weights so far, what is disclosed, and the counts' places."""

    levels: tuple[int, ...]
    phi: Floats
    psi: Floats | None
    disclosed: npt.NDArray[np.bool_]
    places: tuple[Place, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of its own."""
        states = [place.state for place in self.places]
        arrays = [self.phi, self.disclosed, *(place.rows for place in self.places)]
        arrays += [array for state in states for array in (state.prefix, state.rest, *state.columns)]
        return sum(array.nbytes for array in arrays) + (0 if self.psi is None else self.psi.nbytes)


class _Attacker:
    """The distinct rows of the table under one dictionary."""

    def __init__(self, context: SearchContext, policy: AbsentPolicy, order: Sequence[int]) -> None:
        self.axes = build_axes(context, "table_level")
        self.profiles = build_profiles(context, policy, "table_level")
        self.codes = record_codes(context, self.axes)
        self.counts = LinkedCounts(context, self.axes, self.codes, order)
        self.absent = (self.counts.at([0] * len(self.axes)) == 0)[self.counts.part_of]
        self.n_entities = context.dictionary.n_entities
        self.size = self.counts.n_parts + context.dictionary.reduced.size


class RowScores(RuleScores):
    """Risks of the table-level rules of one instance, rule by rule."""

    def __init__(
        self,
        contexts: Sequence[SearchContext],
        policy: AbsentPolicy,
        exposure: Exposure,
        aggregate: Aggregate,
    ) -> None:
        self._context = context = contexts[0]
        self._exposure = exposure
        self._aggregate = aggregate
        axes = build_axes(context, "table_level")
        self.order = walk_order(axes, range(len(axes)))
        self.shape = tuple(axes[j].n_levels for j in self.order)
        self._attackers = [_Attacker(attacker, policy, self.order) for attacker in contexts]
        self.absent: npt.NDArray[np.bool_] = np.any([a.absent for a in self._attackers], axis=0)
        refuse_absent(policy, int(context.table.reduced.counts[self.absent].sum()))
        # Distinct rows of equal loss under every rule; those of weight 0 are left out
        context, reduced = self._context, self._context.table.reduced
        columns = [reduced.inverse, *(a.profiles.of_record for a in self._attackers)]
        sizes = [reduced.size, *(a.profiles.size for a in self._attackers)]
        keys, limit = row_keys(columns, sizes, context.table.n_records)
        first, inverse = group(keys, limit)
        mass = np.bincount(inverse, context.table.weights, minlength=len(first)).astype(np.float64)
        first, self._mass = first[mass > 0], mass[mass > 0]
        record = reduced.inverse[first]
        self._codes = reduced.codes[record]
        self._profile = [a.profiles.of_record[first] for a in self._attackers]
        self._part = [a.counts.part_of[record] for a in self._attackers]
        profiles = self._attackers[0].profiles
        self._groups = profiles.groups[self._profile[0]]
        self._failure_groups = profiles.failure_groups[self._profile[0]]
        self._present = [
            np.ones(len(first), dtype=bool) if policy == "add_self" else ~a.absent[record]
            for a in self._attackers
        ]
        self._entities = [
            a.n_entities + a.profiles.outside[profile].astype(np.float64)
            for a, profile in zip(self._attackers, self._profile, strict=True)
        ]
        self._paths: StateCache[_Path] = StateCache()

    @property
    def n_bytes(self) -> int:
        """Estimated memory of the paths that are alive at once."""
        rows = len(self._mass) * (len(self.shape) + 8) + sum(4 * a.size for a in self._attackers)
        return 8 * rows * (len(self.shape) + 2)

    @property
    def seconds(self) -> float:
        """Estimated time to score all rules: per rule every row is counted and scored."""
        counted = sum(a.size for a in self._attackers) * SECONDS_PER_RULE_AND_COUNTED_ROW
        scored = len(self._mass) * len(self._attackers) * SECONDS_PER_RULE_AND_ROW
        return self.n_rules * (SECONDS_PER_RULE_BY_ROWS + counted + scored)

    @property
    def kept_bytes(self) -> int:
        """Estimated memory of the paths kept between the ratings of single rules."""
        return min(MAX_BYTES, round(self.n_bytes / (len(self.shape) + 2) * states_worth_keeping(self.shape)))

    @property
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule of many, in any order."""
        return RATING_PER_SCORING * self.seconds / self.n_rules

    @property
    def growth(self) -> Growth:
        """Nothing is known of it: aggregates and models may be any."""
        return Growth.none([height + 1 for height in self._context.table.heights])

    # --- the walk ------------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> _Path:
        n = len(self._mass)
        return _Path(
            (),
            np.zeros(n),
            None if self._context.failure is None else np.zeros(n),
            np.zeros((n, len(self.shape)), dtype=bool),
            tuple(a.counts.root for a in self._attackers),
        )

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Risks of all rules whose first ``depth`` levels have a number in [first, last), in walk order."""
        inner = math.prod(self.shape[depth:])
        found = np.empty((last - first) * inner)
        for number in range(first, last):
            path = self._root
            for level in np.unravel_index(number, self.shape[:depth]) if depth else ():
                path = self._advance(path, int(level))
            at = (number - first) * inner
            self._descend(path, found[at : at + inner], tick)
        return found

    def _descend(self, path: _Path, found: Floats, tick: Tick) -> None:
        n_levels = self.shape[len(path.levels)]
        inner = len(found) // n_levels
        is_last = len(path.levels) + 1 == len(self.shape)
        for level in range(n_levels):
            after = self._advance(path, level)
            if is_last:
                found[level] = self._risk(self._losses(after)[1])
            else:
                self._descend(after, found[level * inner : (level + 1) * inner], tick)
        if is_last:
            tick(n_levels)

    def _rating(self, levels: Sequence[int]) -> RuleRisk:
        """Risk of one rule (levels in the table's order), and a bound without a slope of finer ones'."""
        ordered = tuple(levels[j] for j in self.order)
        depth = depth_worth_keeping(self.shape)
        path = self._path(ordered[:depth])
        for level in ordered[depth:]:
            path = self._advance(path, level)
        records, losses = self._losses(path)
        bound = self._risk(self._exposure.bounds(records, losses, self._present))
        return RuleRisk(self._risk(losses), bound, 0.0)

    def _path(self, levels: tuple[int, ...]) -> _Path:
        """The first attributes with these levels, kept for other rules that begin alike."""
        if not levels:
            return self._root
        found = self._paths.get(levels)
        if found is None:
            found = self._advance(self._path(levels[:-1]), levels[-1])
            self._paths.put(levels, found, found.n_bytes)
        return found

    def _advance(self, path: _Path, level: int) -> _Path:
        """The path with a level for one more attribute."""
        depth = len(path.levels)
        j = self.order[depth]
        hierarchy = self._context.table.hierarchies[j]
        nodes = hierarchy.ancestors_at(level)[self._codes[:, j]]
        disclosed = path.disclosed.copy()
        disclosed[:, j] = ~shows_nothing(nodes)
        psi = path.psi
        if psi is not None and self._context.failure is not None:
            psi = psi + self._context.failure.weights(j, nodes, self._failure_groups)
        return _Path(
            (*path.levels, level),
            path.phi + self._context.sensitivity.weights(j, nodes, self._groups),
            psi,
            disclosed,
            tuple(
                a.counts.advance(place, level) if a.axes[j].linked else place
                for a, place in zip(self._attackers, path.places, strict=True)
            ),
        )

    def _losses(self, path: _Path) -> tuple[Disclosed, tuple[Floats, ...]]:
        """The rows as a rule discloses them, and their losses under each dictionary."""
        by_table = np.empty(len(path.levels), dtype=np.int64)
        by_table[self.order] = path.levels
        counts = tuple(
            place.counts[part] + a.profiles.added(by_table.tolist())[profile]
            for a, place, part, profile in zip(
                self._attackers, path.places, self._part, self._profile, strict=True
            )
        )
        phi = _harm(self._context.sensitivity, path.phi, path.disclosed, self._groups)
        psi = None
        if self._context.failure is not None and path.psi is not None:
            psi = _harm(self._context.failure, path.psi, path.disclosed, self._failure_groups)
        records = Disclosed(counts, tuple(self._entities), phi, psi)
        return records, self._exposure.losses(records)

    def _risk(self, losses: Sequence[Floats]) -> float:
        """What the losses under each dictionary amount to."""
        if self._exposure.view == "worst_case":
            return max(self._aggregated(loss) for loss in losses)
        return self._aggregated(self._exposure.combined(losses))

    def _aggregated(self, losses: Floats) -> float:
        if self._aggregate == "max":
            return float(losses.max())
        return float((losses * self._mass).sum()) / self._context.total_weight


def _harm(
    sensitivity: Sensitivity, weights: Floats, disclosed: npt.NDArray[np.bool_], groups: Ints
) -> Floats:
    if sensitivity.interactions:
        weights = weights + sensitivity.interaction_sums(disclosed, groups)
    return sensitivity.of_sum(weights)

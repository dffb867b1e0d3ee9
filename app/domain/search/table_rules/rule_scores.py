"""The risk of table-level rules, whatever the attacker, model and aggregate.

For tables of many records under few linked levels mean risks come from going through the records once, with
many rules at a time: the counts at the levels of the linked attributes are
rolled up from one another, and what the unlinked ones add is summed beside. Risks agree with those of any
other way to 1e-12 of their size.

Means of losses that are sums of weights over counts come from :class:`TableScores`, one walk per dictionary:
Bayes risk is linear in them, the worst case their maximum. Everything else is scored rule by rule from the
losses of the distinct records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.domain.arrays import Bools, Floats, Levels, Longs
from app.domain.counting.calibration import (
    SECONDS_PER_SUMMED_ROW,
    SECONDS_PER_SUMMED_ROW_AND_NODE,
    SECONDS_PER_SUMMED_ROW_AND_RULE,
    SECONDS_PER_SUMMED_SHARE,
)
from app.domain.counting.threads import in_order
from app.domain.risk.attackers import View
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, Aggregate
from app.domain.search.record_risk import Exposure
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.optima import Terms, are_separable
from app.domain.search.table_rules.open_rules import Growth, RuleRisk, least_growth
from app.domain.search.table_rules.row_scores import RowScores
from app.domain.search.table_rules.scores import MIDDLE, RuleScores, TableScores, Tick
from app.domain.sensitivity.sensitivity import constant_sensitivity

LEAST_ROWS = 100_000
ROWS_AT_ONCE = 2**15


def summed_scores(context: SearchContext, policy: AbsentPolicy) -> SummedScores | None:
    """The scores if they are cheaper this way than by a walk over the lattice, else None."""
    n_rows = context.table.reduced.size + context.dictionary.reduced.size
    n_linked = math.prod(
        height + 1
        for height, link in zip(context.table.heights, context.links, strict=True)
        if link is not None
    )
    by_walk = n_rows * SECONDS_PER_SUMMED_ROW
    if (
        n_rows < LEAST_ROWS
        or n_linked * context.table.reduced.size * SECONDS_PER_SUMMED_ROW_AND_NODE > by_walk
    ):
        return None
    instance = RecordInstance(context, policy, "known", "table_level")
    if not are_separable(instance):
        return None
    return SummedScores(instance)


class SummedScores(RuleScores):
    """Mean risks of table-level rules by sums over the records."""

    def __init__(self, instance: RecordInstance) -> None:
        self._instance = instance
        linked = instance.is_linked
        every = range(len(linked))
        self.order = [j for j in every if linked[j]] + [j for j in every if not linked[j]]
        self.shape = tuple(instance.shape[j] for j in self.order)
        self._n_linked = sum(linked)
        self._scored: Floats | None = None
        reduced = instance.context.table.reduced
        self.absent: Bools = np.zeros(reduced.size, dtype=bool)
        if instance.n_absent:
            self.absent[reduced.inverse] = instance.absent[instance.of_record]

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance's own."""
        return self._instance.n_bytes

    @property
    def kept_bytes(self) -> int:
        """Nothing is kept between the ratings of single rules."""
        return 0

    @property
    def seconds(self) -> float:
        """Estimated time to go through all distinct records at every rule."""
        rolled, n = self._instance.rolled, self._instance.n_distinct
        counted = 0.0 if rolled is None else rolled.seconds
        scored = (
            math.prod(self.shape[: self._n_linked]) * SECONDS_PER_SUMMED_SHARE
            + self.n_rules * SECONDS_PER_SUMMED_ROW_AND_RULE
        )
        return self._instance.context.preparing_seconds + counted + n * scored

    @property
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule: its share of the time of all."""
        return self.seconds / self.n_rules

    @property
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least from rule to finer rule."""
        return least_growth(self._instance.context)

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Risks of all rules whose first ``depth`` levels have a number in [first, last), in walk order."""
        if self._scored is None:
            # Going through the records is most of the work, for one rule as for all.
            numbers = np.arange(math.prod(self.shape[self._n_linked :]))
            nodes = itertools.product(*map(range, self.shape[: self._n_linked]))
            self._scored = np.concatenate(self._means(dict.fromkeys(nodes, numbers), tick))
        inner = math.prod(self.shape[depth:])
        tick((last - first) * inner)
        return self._scored[first * inner : last * inner]

    def _rating(self, levels: Sequence[int]) -> RuleRisk:
        """Risk of one rule (levels in the table's order), with what bounds every finer rule's."""
        instance = self._instance
        own = tuple(levels[j] for j in self.order)
        linked, unlinked = own[: self._n_linked], own[self._n_linked :]
        number = np.ravel_multi_index(unlinked, self.shape[self._n_linked :]) if unlinked else 0
        at = np.array([int(number)])
        ((risk,),) = self._means({linked: at}, _quiet)
        if not instance.n_absent:
            bound = risk
        else:
            ((bound,),) = self._means({linked: at}, _quiet, ~instance.absent)
        # Mean of 1/|ρ| over the records that somebody is consistent with
        parts = []
        for rows in self._ranges():
            mass = instance.mass[rows] * ~instance.absent[rows]
            parts.append(float((Terms(instance, rows).share(linked) * mass).sum()))
        slope = math.fsum(parts) / instance.context.total_weight
        sensitivity = instance.context.sensitivity
        if sensitivity.is_exponential:
            slope = bound + slope if sensitivity.family == "multiplicative_centered" else bound
        return RuleRisk(float(risk), float(bound), float(slope))

    # --- sums over records ---------------------------------------------------------------------------

    def _ranges(self) -> list[slice]:
        n = self._instance.n_distinct
        return [slice(start, min(n, start + ROWS_AT_ONCE)) for start in range(0, n, ROWS_AT_ONCE)]

    def _means(
        self,
        by_node: dict[Levels, Longs],
        tick: Tick,
        counted: Bools | None = None,
    ) -> list[Floats]:
        """Mean risks per node of the linked attributes and number of the unlinked ones' levels."""
        instance = self._instance
        instance.prepare(range(instance.n_distinct), lambda: tick(0))
        sums: list[list[float]] = []
        for of_range in in_order(
            lambda rows: self._sums(rows, by_node, counted), self._ranges(), instance.context.threads
        ):
            sums.append(of_range)
            tick(0)
        total = instance.context.total_weight
        means = np.array([math.fsum(parts) / total for parts in zip(*sums, strict=True)])
        return np.split(means, np.cumsum([len(numbers) for numbers in by_node.values()])[:-1])

    def _sums(self, rows: slice, by_node: dict[Levels, Longs], counted: Bools | None) -> list[float]:
        """What a range of records adds to each of the means, one node after the other."""
        instance = self._instance
        terms = Terms(instance, rows)
        mass = instance.mass[rows] if counted is None else instance.mass[rows] * counted[rows]
        companions = [term for _, term in terms.companions()]
        sums: list[float] = []
        for linked, numbers in by_node.items():
            share = terms.share(linked)
            base = terms.base(linked, share)
            share = share * mass
            base *= mass
            whole = np.array([share.sum()]), np.array([base.sum()])
            for number in numbers.tolist():
                term = companions[number]
                # What is the same for all records can be left until their shares are summed.
                shares, bases = whole if isinstance(term, float) else (share, base)
                risk = np.empty(len(shares))
                terms.risk_into(risk, shares, bases, term)
                sums.append(float(risk.sum()))
        return sums


def _quiet(rules: int) -> None:
    """Nobody waits for single rules."""


def rule_scores(
    context: SearchContext, policy: AbsentPolicy, view: View, aggregate: Aggregate, one_by_one: bool = False
) -> RuleScores:
    """The cheapest exact way to score all rules of an instance, or to rate some of them in any order."""
    attackers = context.attackers(view)
    exposure = Exposure(view, context.model, tuple(prior for _, prior in attackers))
    plain = [_plain(attacker) for attacker, _ in attackers]
    of_mean = aggregate == "average" and (len(plain) == 1 or view in ("bayes", "worst_case"))
    if not of_mean or any(attacker is None for attacker in plain):
        return RowScores([attacker for attacker, _ in attackers], policy, exposure, aggregate)
    alone = exposure.priors == (1.0,) and len(plain) == 1
    if alone and not one_by_one and plain[0] is not None:
        summed = summed_scores(plain[0].against(plain[0].dictionary), policy)
        if summed is not None:
            return summed
    parts: list[TableScores] = []
    for attacker in plain:
        if attacker is not None:
            parts.append(TableScores(attacker, policy, parts[0].order if parts else None, one_by_one))
    return parts[0] if len(parts) == 1 and exposure.priors == (1.0,) else SetScores(parts, exposure)


def _plain(context: SearchContext) -> SearchContext | None:
    """The instance as :class:`TableScores` can score it, None if it cannot."""
    if context.model.name == "II" and context.failure is None:
        return replace(context, sensitivity=constant_sensitivity(context.table))
    simple = context.model.name == "I" and context.failure is None and not context.sensitivity.interactions
    return context if simple else None


class SetScores(RuleScores):
    """Bayes risk or the worst case of table-level rules from their mean risks under each dictionary."""

    def __init__(self, parts: Sequence[TableScores], exposure: Exposure) -> None:
        self._parts = parts
        self._exposure = exposure
        self.order = parts[0].order
        self.shape = parts[0].shape
        self.absent: Bools = np.any([part.absent for part in parts], axis=0)

    @property
    def n_bytes(self) -> int:
        """Estimated memory under all dictionaries."""
        return sum(part.n_bytes for part in self._parts)

    @property
    def seconds(self) -> float:
        """Estimated time to score all rules under all dictionaries."""
        return sum(part.seconds for part in self._parts)

    @property
    def kept_bytes(self) -> int:
        """Estimated memory of what is kept between the ratings of single rules."""
        return sum(part.kept_bytes for part in self._parts)

    @property
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule of many, in any order, under all dictionaries."""
        return sum(part.seconds_per_rule for part in self._parts)

    def seconds_of_ratings(self, ratings: float, shown: float = MIDDLE) -> float:
        """Estimated time to rate so many rules, in any order, under all dictionaries."""
        return sum(part.seconds_of_ratings(ratings, shown) for part in self._parts)

    @property
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least, which no dictionary changes."""
        return self._parts[0].growth

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Combined risks of all rules whose first ``depth`` levels have a number in [first, last)."""
        risks = []
        for i, part in enumerate(self._parts):
            risks.append(part.scores(depth, first, last, tick if i == len(self._parts) - 1 else _quiet))
        return self._exposure.combined(risks)

    def _rating(self, levels: Sequence[int]) -> RuleRisk:
        """Combined risk of one rule (levels in the table's order), with what bounds every finer rule's."""
        rated = [part.rate(levels) for part in self._parts]
        risk, bound = self._exposure.combined([np.array([one.risk, one.bound]) for one in rated]).tolist()
        if self._exposure.view == "bayes":
            slopes = zip(self._exposure.priors, rated, strict=True)
            return RuleRisk(risk, bound, math.fsum(q * one.slope for q, one in slopes))
        # Each dictionary's bound is one of the worst case: the greatest, with the slope that belongs to it.
        return RuleRisk(risk, bound, max(one.slope for one in rated if one.bound == bound))

"""The risk of table-level rules, whatever the attacker, model and aggregate.

Means of losses that are sums of weights over counts come from :class:`TableScores`, one walk per dictionary:
Bayes risk is linear in them, the worst case their maximum. Everything else is scored rule by rule from the
losses of the distinct records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.domain.attackers import View
from app.domain.harm.sensitivity import constant_sensitivity
from app.domain.search.context import SearchContext
from app.domain.search.exposure import Exposure
from app.domain.search.problem import AbsentPolicy, Aggregate
from app.domain.search.tables.row_scores import RowScores
from app.domain.search.tables.rule_risk import Growth, RuleRisk
from app.domain.search.tables.scores import TableScores
from app.domain.search.tables.summed_scores import summed_scores

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Tick = Callable[[int], None]


class RuleScores(Protocol):
    """The risks of the table-level rules of one instance.

    ``order`` are the positions of the attributes in the order of the walk, ``shape`` the number of levels of
    each; ``absent`` says which distinct records nobody is consistent with in some dictionary that counts.
    """

    order: list[int]
    shape: tuple[int, ...]
    absent: Bools

    @property
    def n_rules(self) -> int:
        """Number of rules."""

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""

    @property
    def seconds(self) -> float:
        """Estimated time to score all rules."""

    @property
    def seconds_per_rule(self) -> float:
        """Estimated time to rate one rule of many, in any order."""

    @property
    def kept_bytes(self) -> int:
        """Estimated memory of what is kept between the ratings of single rules."""

    @property
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least from rule to finer rule."""

    def to_table_order(self, values: Floats) -> Floats:
        """Array over the lattice in the table's attribute order from values in the order of the walk."""

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Risks of all rules whose first ``depth`` levels have a number in [first, last), in walk order."""

    def rate(self, levels: Sequence[int]) -> RuleRisk:
        """Risk of one rule (levels in the table's order), with what bounds every finer rule's."""


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


class SetScores:
    """Bayes risk or the worst case of table-level rules from their mean risks under each dictionary."""

    def __init__(self, parts: Sequence[TableScores], exposure: Exposure) -> None:
        self._parts = parts
        self._exposure = exposure
        self.order = parts[0].order
        self.shape = parts[0].shape
        self.absent: Bools = np.any([part.absent for part in parts], axis=0)

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return self._parts[0].n_rules

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

    @property
    def growth(self) -> Growth:
        """By how much Φ of every record grows at least, which no dictionary changes."""
        return self._parts[0].growth

    def to_table_order(self, values: Floats) -> Floats:
        """Array over the lattice in the table's attribute order from values in the order of the walk."""
        return self._parts[0].to_table_order(values)

    def scores(self, depth: int, first: int, last: int, tick: Tick) -> Floats:
        """Combined risks of all rules whose first ``depth`` levels have a number in [first, last)."""
        risks = []
        for i, part in enumerate(self._parts):
            risks.append(part.scores(depth, first, last, tick if i == len(self._parts) - 1 else _quiet))
        return self._exposure.combined(risks)

    def rate(self, levels: Sequence[int]) -> RuleRisk:
        """Combined risk of one rule (levels in the table's order), with what bounds every finer rule's."""
        rated = [part.rate(levels) for part in self._parts]
        risk, bound = self._exposure.combined([np.array([one.risk, one.bound]) for one in rated]).tolist()
        if self._exposure.view == "bayes":
            slopes = zip(self._exposure.priors, rated, strict=True)
            return RuleRisk(risk, bound, math.fsum(q * one.slope for q, one in slopes))
        # Each dictionary's bound is one of the worst case: the greatest, with the slope that belongs to it.
        return RuleRisk(risk, bound, max(one.slope for one in rated if one.bound == bound))


def _quiet(rules: int) -> None:
    """Progress of a walk that others of the same rules follow."""

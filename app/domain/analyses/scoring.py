"""The plain score of a rule in a measure's context, what one costs, and what searches there work on."""

from __future__ import annotations

import math

from app.domain.counting.counter import Counter
from app.domain.models.entry import Cost, MeasureContext, given
from app.domain.risk.assessment import Assessment, assess, estimate_cost
from app.domain.rules.rule import Rule, TableRule
from app.domain.search.context import SearchContext


def score_of(context: MeasureContext, rule: Rule, counter: Counter | None = None) -> Assessment:
    """What the assessment of ``rule`` in this context would say, with the context's counter or another."""
    counter = counter or context.counter
    return assess(
        context.table,
        rule,
        counter.dictionary,
        given(context.sensitivity),
        context.utility,
        context.absent_policy,
        failure=context.failure,
        model=context.model,
        counter=counter,
    )


def search_context(context: MeasureContext) -> SearchContext:
    """What searches among rules work on in this context."""
    return SearchContext(
        context.table,
        given(context.dictionary),
        given(context.sensitivity),
        context.utility,
        context.failure,
        context.model,
    )


def cost_of_scores(context: MeasureContext, rules: int) -> Cost:
    """Estimated cost of scoring so many rules like the context's own, each a unit."""
    one = estimate_cost(context.counter, given(context.rule), given(context.sensitivity))
    return Cost(rules * one.seconds, one.bytes, rules, one.engine)


def distinct_rows_at_most(context: MeasureContext) -> int:
    """A bound on the distinct disclosed rows that scoring tells apart."""
    table = context.table
    whole = (
        not isinstance(context.rule, TableRule)
        or given(context.sensitivity).is_personal
        or context.absent_policy == "add_self"
    )
    return table.n_records if whole else table.reduced.size


def difference(before: float, after: float) -> float | None:
    """``before − after`` of two values in (−∞, ∞]; None where both are infinite."""
    return None if math.isinf(before) and math.isinf(after) else before - after


def explainable(context: MeasureContext, parameters: object) -> str | None:
    """``supports`` of measures that take risks apart: the model's must be at least 0."""
    if context.model.name != "III_raw":
        return None
    return (
        "The risk model III_raw is never positive and falls as harm grows: it has no parts to speak of. "
        "Choose I, II, III or a formula."
    )

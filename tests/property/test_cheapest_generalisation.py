"""Every single step of generalisation against scores by looping over records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from app.domain.analyses.cheapest_generalisation import CHEAPEST_GENERALISATION, GeneralisationParameters
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply, identity
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.explained_rules import computed, mean, questions


@settings(max_examples=examples(200), deadline=None)
@given(questions())
def test_every_single_step_is_scored_and_the_best_is_named(question):
    context, brute = question
    table, rule = context.table, context.rule
    disclosed = apply(rule, table)
    found = computed(CHEAPEST_GENERALISATION, context, GeneralisationParameters())

    def score(codes):
        scores = [brute.score(row, [int(v) for v in own]) for row, own in enumerate(codes)]
        return (
            mean(context, [loss for loss, _ in scores]),
            mean(context, [utility for _, utility in scores]),
            sum(math.isinf(loss) for loss, _ in scores),
        )

    risk, utility, infinite = score(disclosed)
    open_attributes = [name for j, name in enumerate(table.attributes) if disclosed[:, j].any()]
    assert [change.attribute for change in found.changes] == open_attributes
    ranked = []
    for change in found.changes:
        j, codes = table.attributes.index(change.attribute), disclosed.copy()
        tree = table.hierarchies[j]
        if isinstance(rule, TableRule):
            codes[:, j] = [tree.ancestors_at(rule.levels[j] + 1)[v] for v in table.codes[:, j]]
        else:
            codes[:, j] = [tree.parents[v][0] if v else TOP for v in disclosed[:, j]]
        after = score(codes)
        assert change.risk == pytest.approx(after[0], rel=1e-12)
        assert change.utility == pytest.approx(after[1], rel=1e-12, abs=1e-12)
        assert change.infinite == after[2]
        assert change.records == sum(codes[:, j] != disclosed[:, j])
        fall = math.inf if math.isinf(risk) and not math.isinf(after[0]) else risk - after[0]
        lost = max(0.0, utility - after[1]) if utility - after[1] > 1e-9 else 0.0
        if after[0] < risk - 1e-9 or (math.isinf(after[0]) and after[2] < infinite):
            rate = math.inf if lost == 0 and not math.isnan(fall) else fall / (lost or 1.0)
            ranked.append((after[0], after[2], -after[1], -j, -rate))
    assert found.risk == pytest.approx(risk, rel=1e-12)
    assert found.utility == pytest.approx(utility, rel=1e-12, abs=1e-12)
    assert found.greatest_decrease == best(table, ranked, (0, 1, 2, 3))
    finite_falls = [entry for entry in ranked if not math.isnan(entry[4])]
    assert found.cheapest == best(table, finite_falls, (4, 2, 3))


def best(table, ranked, criteria):
    """The attribute that is least in the first criterion, of ties in the second, and so on."""
    for i in criteria:
        least = min((entry[i] for entry in ranked), default=0.0)
        ranked = [entry for entry in ranked if entry[i] <= least + 1e-9]
    return table.attributes[-ranked[0][3]] if ranked else None


def test_of_steps_that_help_as_much_the_one_that_keeps_most_utility_is_named():
    two, three = (Hierarchy.from_parents({str(i): [None] for i in range(n)}) for n in (2, 3))
    table = Table(("a", "b"), (two, three), np.array([[1, 1]], dtype=np.int32))
    weights = dict.fromkeys(table.attributes, ConstantWeight(1.0))
    context = MeasureContext(
        table, identity(2), Dictionary(1, ()), build_sensitivity(table, "linear", weights), None,
        build_utility(table, "log_leaves"), MODEL_I, "zero",
    )  # fmt: skip
    found = computed(CHEAPEST_GENERALISATION, context, GeneralisationParameters())
    assert [change.risk_decrease for change in found.changes] == [1.0, 1.0]
    assert (found.greatest_decrease, found.cheapest) == ("a", "a")

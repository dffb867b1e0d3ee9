"""Rules found under δ-presence meet it when it is measured, and none more specific does.

Who is absent counts here, which the matrix of found rules does not express.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.delta_presence import DELTA_PRESENCE, DeltaPresence
from app.domain.rules.rule import table_rule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from tests.oracles.effort import examples
from tests.oracles.populations import (
    HIERARCHIES,
    NAMES,
    computed,
    context_of,
    dictionary_of,
    table_of,
    worlds,
)


def measures_say(criterion, context):
    """Whether the measure of the same model finds that the release meets the criterion."""
    bounds = {"lower": criterion.lower, "upper": criterion.upper}
    return computed(DELTA_PRESENCE, context, **bounds).is_delta_present


def solved(table, problem, dictionary):
    plan = least_loss_plan(table, problem, dictionary=dictionary)
    return plan.combine({i: plan.run_block(i, lambda done: None) for i in range(plan.n_blocks)})


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("criterion", [DeltaPresence(0, 0.5), DeltaPresence(0.2, 0.8)], ids=str)
@given(worlds(missing=False))
@settings(max_examples=examples(12), deadline=None)
def test_a_rule_that_is_found_meets_its_criterion_and_none_more_specific_does(criterion, world):
    rows, people, known, _, _ = world
    table, dictionary = table_of(rows), dictionary_of(people, known)
    outcome = solved(table, AnonymityProblem((criterion,)), dictionary)
    meeting = [
        levels
        for levels in itertools.product(*(range(HIERARCHIES[name].height + 1) for name in NAMES))
        if measures_say(
            criterion, context_of(table, table_rule(table, dict(zip(NAMES, levels, strict=True))), dictionary)
        )
    ]
    assert (outcome.rule is None) == (not meeting)
    if outcome.rule is not None:
        assert outcome.rule.levels in meeting
        assert not any(
            other != outcome.rule.levels and all(np.array(other) <= outcome.rule.levels) for other in meeting
        )


def test_people_of_several_tuples_are_refused_before_searching():
    rows = [{"city": "a", "sex": "f", "job": "x"}] * 3
    people = [*rows, {"city": None, "sex": "f", "job": "x"}]
    problem = AnonymityProblem((DeltaPresence(0, 0.9),))
    with pytest.raises(NotSupported, match="1 entities"):
        least_loss_plan(table_of(rows), problem, dictionary=dictionary_of(people, NAMES))
    with pytest.raises(InvalidInput, match="does not carry"):
        least_loss_plan(table_of(rows), problem, dictionary=dictionary_of(rows, NAMES[:2]))

"""Rules found under criteria of populations meet them when they are measured, and none more specific does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.delta_presence import DELTA_PRESENCE, DeltaPresence
from app.domain.models.k_map import K_MAP, KMap
from app.domain.models.population_uniqueness import POPULATION_UNIQUENESS, SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.rules.rule import table_rule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.plans import least_loss_plan
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
    if isinstance(criterion, KMap):
        return computed(K_MAP, context, k=criterion.k).is_k_map
    if isinstance(criterion, DeltaPresence):
        bounds = {"lower": criterion.lower, "upper": criterion.upper}
        return computed(DELTA_PRESENCE, context, **bounds).is_delta_present
    if isinstance(criterion, SampleUniqueness):
        found = computed(POPULATION_UNIQUENESS, context, sampling_fraction=0.5)
        return found.share_sample_uniques <= criterion.threshold
    risk = computed(ATTACKER_MODELS, context).prosecutor
    attained = risk.highest if isinstance(criterion, HighestRisk) else risk.average_per_record
    return attained <= criterion.threshold + 1e-9


CRITERIA = [
    KMap(3),
    KMap(6),
    DeltaPresence(0, 0.5),
    DeltaPresence(0.2, 0.8),
    HighestRisk(0.4),
    AverageRisk(0.35),
    SampleUniqueness(0.2),
]


def solved(table, problem, dictionary):
    plan = least_loss_plan(table, problem, dictionary=dictionary)
    return plan.combine({i: plan.run_block(i, lambda done: None) for i in range(plan.n_blocks)})


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
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

"""An answer that is sent back as its documentation says discloses and scores exactly what it states."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.class_suppression import ClassSuppression, suppress_records
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.k_map import KMap
from app.domain.rules.rule import TableRule, apply
from app.domain.rules.steps import labels_shown
from app.domain.search.blocks import carry_out
from app.domain.search.full_domain.plan import suppressed_by_population
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.services.rules.disclosure_batches import (
    ChosenLevels,
    ModalLevels,
    OptimalLevels,
    StepsOfRecords,
    score_batch,
    tally_of,
)
from app.services.rules.rule_building import rule_of_records
from app.services.rules.rule_definitions import RecordLevels
from app.services.rules.rule_documents import rule_of
from app.services.rules.rules import preview_of
from app.services.scoring.scoring_inputs import Scoring
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.least_loss import result_of_anonymity
from tests.oracles.effort import examples
from tests.oracles.populations import dictionary_of, table_of, worlds
from tests.oracles.search_instances import contexts

QUICK = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
FLOORS = st.sampled_from([0.0, 0.5, 1.0, 2.0])


def sent_back(attributes, steps, shown, **whose):
    """What a request says of a record: its steps; the value where a hierarchy is no tree."""
    cells = list(zip(attributes, steps, shown, strict=True))
    return RecordLevels(
        steps={name: number for name, number, _ in cells if number is not None and number >= 0},
        values={name: label for name, number, label in cells if number is None or number < 0},
        **whose,
    )


@pytest.mark.parametrize("kind", ["optimal", "modal", "levels"])
@QUICK
@given(contexts(), FLOORS, st.data())
def test_the_steps_of_a_batch_disclose_again_what_was_judged(kind, context, floor, data):
    table = context.table
    scoring = Scoring(
        table,
        (context.dictionary,),
        None,
        False,
        context.sensitivity,
        None,
        context.utility,
        ScoringOptions(),
    )
    rule, before = OptimalLevels(floor), {}
    if kind == "levels":
        rule = ChosenLevels({
            name: data.draw(st.sampled_from(range(tree.height + 1) if tree.is_tree else (0, tree.height)))
            for name, tree in zip(table.attributes, table.hierarchies, strict=True)
        })  # fmt: skip
    try:
        if kind == "modal":
            before = tally_of(score_batch(scoring, table, OptimalLevels(floor), {}).levels)
            rule = ModalLevels(floor)
        answer = score_batch(scoring, table, rule, before)
    except (InvalidInput, NotSupported):
        assume(False)
    shown = list(
        zip(
            *(labels_shown(tree, answer.disclosed[:, j]) for j, tree in enumerate(table.hierarchies)),
            strict=True,
        )
    )
    records = tuple(
        sent_back(table.attributes, steps, labels)
        for steps, labels in zip(answer.steps.tolist(), shown, strict=True)
    )
    again = score_batch(scoring, table, StepsOfRecords(records), {})
    assert again.disclosed.tolist() == answer.disclosed.tolist()
    assert again.steps.tolist() == answer.steps.tolist()
    assert again.score.records.loss.tolist() == answer.score.records.loss.tolist()
    assert again.score.risk_average == answer.score.risk_average
    assert again.score.utility_average == answer.score.utility_average


@QUICK
@given(contexts(), FLOORS)
def test_a_found_record_level_rule_is_stated_again_by_what_its_preview_shows(context, floor):
    table = context.table
    rule = carry_out(plan(context, Problem(MinRisk(floor), "record_level", "zero"))).rule
    assume(rule is not None and not isinstance(rule, TableRule))
    preview = preview_of(table, rule, 1, table.n_records)
    records = [sent_back(table.attributes, own.steps, own.after, row=own.row) for own in preview.records]
    again = rule_of_records(records, table)
    assert np.array_equal(apply(again, table), apply(rule, table))


@pytest.mark.parametrize("criterion", [KMap(3), DeltaPresence(0.2, 0.8)], ids=str)
@QUICK
@given(worlds(missing=False), st.sampled_from([0.3, 1.0]))
def test_a_rule_found_with_a_population_suppresses_the_same_when_it_is_stated(criterion, world, limit):
    rows, people, known, _, _ = world
    table, dictionary = table_of(rows), dictionary_of(people, known)
    try:
        plan_of_loss = least_loss_plan(table, AnonymityProblem((criterion,), limit), dictionary=dictionary)
    except (InvalidInput, NotSupported):
        assume(False)
    outcome = plan_of_loss.combine({0: plan_of_loss.run_block(0, lambda _: None)})
    assume(outcome.rule is not None)
    document = result_of_anonymity(outcome, table, plan_of_loss, "0" * 64)["rule"]
    stated = suppressed_by_population(table, outcome.rule, ClassSuppression((criterion,)), dictionary)
    assert int(stated.sum()) == outcome.suppressed_records
    assert document["levels"] == dict(zip(table.attributes, outcome.rule.levels, strict=True))
    expected = suppress_records(table, outcome.rule, stated)
    assert np.array_equal(apply(rule_of(document, table), table), apply(expected, table))

"""Records of which a rule shows no quasi-identifier: suppressed as soon as anybody is."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.rules.rule import TableRule
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.search.nearest.change import ClassJudge
from app.domain.tables.table import Table
from tests.oracles.engines import ENGINES, searched_by

TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
A, B, C, D = (TREE.encode([label])[0][0] for label in "abcd")
SICK = Hierarchy.from_parents({"flu": [None], "hiv": [None]})


def table_of(*rows):
    """Rows of quasi-identifiers and one sensitive value."""
    names = tuple(f"q{j}" for j in range(len(rows[0]) - 1))
    trees = (*(TREE for _ in names), SICK)
    codes = np.array(rows, dtype=np.int32)
    return Table((*names, "s"), trees, codes, sensitive=frozenset({"s"}))


def found(table, *privacy, dictionary=None, **options):
    plan = AnonymityPlan(table, AnonymityProblem(privacy, **options), dictionary=dictionary)
    outcome = plan.combine({0: plan.run_block(0, lambda _: None)})
    gone = (
        [] if outcome.rule is None else np.flatnonzero(plan.suppressed_records(outcome.rule.levels)).tolist()
    )
    return outcome, gone


@pytest.mark.parametrize("engine", ENGINES)
def test_they_count_against_the_limit(engine):
    """Nobody but the last record is alone; it takes the first three with it."""
    table = table_of((0, 1), (0, 1), (0, 1), (A, 1), (A, 1), (A, 1), (A, 1), (A, 1), (A, 1), (C, 1))
    with searched_by(engine):
        outcome, gone = found(table, KAnonymity(2), suppression_limit=0.4)
        assert (outcome.rule, outcome.suppressed_records, gone) == (TableRule((0, 0)), 4, [0, 1, 2, 9])
        outcome, gone = found(table, KAnonymity(2), suppression_limit=0.39)
        assert (outcome.rule, outcome.suppressed_records, gone) == (TableRule((2, 0)), 0, [])


def test_they_are_a_class_where_nobody_is_suppressed():
    table = table_of((0, 1), (0, 1), (0, 1), (A, 1), (A, 1))
    outcome, gone = found(table, AverageRisk(0.4), suppression_limit=1.0)
    assert (outcome.rule, outcome.suppressed_records, outcome.classes, gone) == (TableRule((0, 0)), 0, 2, [])
    rule, suppressed = suppress_failing(table, outcome.rule, ClassSuppression((AverageRisk(0.4),)))
    assert rule == outcome.rule
    assert not suppressed.any()


def test_a_mean_is_that_of_the_classes_that_remain():
    """With the three the mean of two classes is 2/5; they go first, and then the other class is too risky."""
    table = table_of((0, 1), (0, 1), (0, 1), (A, 1), (A, 1))
    _, suppressed = suppress_failing(table, TableRule((0, 0)), ClassSuppression((AverageRisk(0.39),)))
    assert suppressed.all()


def test_what_remains_is_more_general_where_the_most_general_rule_suppresses_everybody():
    table = table_of((0, 1), *([(A, 1)] * 3), *([(B, 1)] * 3), *([(C, 1)] * 6))
    for engine in ENGINES:
        with searched_by(engine):
            outcome, gone = found(table, KAnonymity(6), suppression_limit=0.1, missing="excluded")
        assert (outcome.rule, outcome.suppressed_records, gone) == (TableRule((1, 0)), 1, [0]), engine
    outcome, _ = found(table, KAnonymity(7), suppression_limit=0.1, missing="excluded")
    assert outcome.status == "infeasible"


@pytest.mark.parametrize("criterion", [AverageRisk(0.9), EntropyLDiversity(1.0, "s"), HighestRisk(1.0)])
def test_whatever_is_asked_the_most_general_rule_suppresses_everybody_with_who_is_left_out(criterion):
    table = table_of((0, 1), (A, 1), (A, 2))
    judge = Judge(table, AnonymityProblem((criterion,), 1.0, missing="excluded"))
    assert (judge.judge((1,)).suppressed, judge.judge((2,)).suppressed) == (1, 3)
    _, suppressed = suppress_failing(table, TableRule((2, 0)), ClassSuppression((criterion,), "excluded"))
    assert suppressed.all()


def test_a_search_that_is_stopped_at_once_has_a_rule_that_does_not_suppress_everybody():
    table = table_of((0, 1), (A, 1), (B, 1))
    plan = AnonymityPlan(table, AnonymityProblem((KAnonymity(2),), 0.4, missing="excluded"))
    outcome = plan.combine({0: plan.run_block(0, lambda _: None, lambda: True)})
    assert (outcome.rule, outcome.suppressed_records) == (TableRule((1, 0)), 1)


@pytest.mark.parametrize("criterion", [KAnonymity(2), HighestRisk(0.5)])
def test_only_who_lacks_all_is_lost_with_others(criterion):
    """More specific rules show the second of the quasi-identifiers of who lacks the first alone."""
    table = table_of((0, 0, 1), (0, 0, 1), (0, A, 1), (0, A, 1), (B, A, 1), (B, A, 1), (D, A, 1))
    judge = Judge(table, AnonymityProblem((criterion,), 1.0))
    general, specific = judge.judge((0, 2)), judge.judge((0, 0))
    assert (general.unavoidable, general.suppressed) == (3, 5)
    assert (specific.unavoidable, specific.suppressed) == (3, 3)
    assert judge.table.reduced.counts[general.lost].sum() == 3


def test_who_fails_is_not_counted_twice_for_showing_nothing():
    table = table_of(*([(0, 1)] * 3), *([(A, 1)] * 3), *([(A, 2)] * 3))
    outcome, gone = found(table, EntropyLDiversity(2.0, "s"), suppression_limit=0.34)
    assert (outcome.rule, gone) == (TableRule((0, 0)), [0, 1, 2])


def test_who_is_left_out_for_a_missing_value_is_in_no_block_and_hides_all():
    """The block is that of the two others who are suppressed: it has two values, or else fails."""
    table = table_of((0, 2), (A, 1), (A, 2), (B, 1), (B, 2), (C, 1), (D, 2))
    options = {"missing": "excluded", "suppressed": "own_block", "suppression_limit": 0.43}
    privacy = (KAnonymity(2), DistinctLDiversity(2, "s"))
    outcome, gone = found(table, *privacy, loss=LossChoice("height"), **options)
    assert (outcome.rule, gone) == (TableRule((0, 0)), [0, 5, 6])
    rule, suppressed = suppress_failing(
        table, outcome.rule, ClassSuppression(privacy, "excluded", "own_block")
    )
    assert np.flatnonzero(suppressed).tolist() == gone
    assert rule.codes.tolist() == [[0, 0], [A, 1], [A, 2], [B, 1], [B, 2], [0, 1], [0, 2]]
    # A block of one value is not diverse, whatever the record has that is left out.
    outcome, gone = found(
        table_of((0, 2), (A, 1), (A, 2), (B, 1), (B, 2), (C, 1), (D, 1)),
        *privacy,
        loss=LossChoice("height"),
        **options,
    )
    assert outcome.rule != TableRule((0, 0))


def test_they_do_not_fail_with_others_where_failing_records_are_counted():
    """A rule of levels suppresses nobody: 1 of its 10 records is alone, which is no more than a fifth."""
    table = table_of((0, 1), (0, 1), (0, 1), *([(A, 1)] * 6), (C, 1))
    criteria, rule = (KAnonymity(2),), TableRule((0, 0))
    assert ClassJudge(table, rule, criteria, 0.2).of((0, 0)).suppressed is not None
    assert ClassJudge(table, rule, criteria, 0.2, suppresses=True).of((0, 0)).suppressed is None


def test_people_outside_are_told_by_the_least_levels_that_are_shown():
    """Only the records of x are changed; once suppressed, nobody can tell that a level was applied."""
    tree = Hierarchy.from_parents({"a": ["x"], "b": ["x"], "x": [None], "y": [None]})
    a, b, y = (tree.encode([label])[0][0] for label in "aby")
    table = Table(("q",), (tree,), np.array([[a], [y], [y]], dtype=np.int32))
    dictionary = Dictionary(4, (link_nodes("q", tree, np.array([a, b, y, y], dtype=np.int32)),))
    privacy = (DeltaPresence(0.9, 1.0),)
    outcome, _ = found(table, *privacy, dictionary=dictionary, suppression_limit=0.4)
    # At level 1 somebody of x is suppressed, and of the people of x one would be told to have no record.
    assert (outcome.status, outcome.rule) == ("infeasible", None)

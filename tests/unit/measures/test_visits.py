"""Eight persons with fifteen visits: vectors of several records per person, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.classes.persons import ClassPersons, class_persons, runs_of_persons
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import NotSupported
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.k_anonymity import EQUIVALENCE_CLASSES, KAnonymity
from app.domain.models.l_diversity import L_DIVERSITY
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.risk.assessment import assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.sensitivity.sensitivity import constant_sensitivity
from tests.unit.criteria.judged_classes import judged
from tests.unit.measures.diversity_tables import flat, measured, table

VISITS = [
    *(("p1", "N", "m", dx) for dx in ("d0", "d1", "d2", "d0", "d1")),
    *(("p2", "S", "f", dx) for dx in ("d0", "d1", "d2")),
    *(("p3", "S", "f", dx) for dx in ("d0", "d1")),
    *((f"p{i}", "E", "m", "d0") for i in range(4, 9)),
]


def visits():
    names = list(dict.fromkeys(row[0] for row in VISITS))
    columns = [flat(row[j] for row in VISITS) for j in (1, 2, 3)]
    found = table(("region", "sex", "dx"), columns, [row[1:] for row in VISITS], {"dx"})
    return replace(found, persons=np.array([names.index(row[0]) for row in VISITS], dtype=np.int32))


def test_a_class_of_one_person_with_five_visits_hides_nobody():
    found = measured(EQUIVALENCE_CLASSES, visits(), k=5)
    assert (found.k, found.unique_records, found.records_below_k) == (1, 5, 10)
    assert [(own.size, own.classes, own.records) for own in found.sizes] == [(1, 1, 5), (2, 1, 5), (5, 1, 5)]
    assert (found.judged.persons, found.judged.records) == (8, 15)


def test_a_record_is_attributed_to_its_person_by_the_person_s_share():
    found = measured(ATTACKER_MODELS, visits(), threshold=0.5)
    assert found.prosecutor.highest == 1
    assert found.prosecutor.average_per_record == pytest.approx(8.6 / 15)
    # Five of p1 alone, three of p2 of five; of p3 two of five are not above a half.
    assert found.prosecutor.records_at_risk == 8


def test_a_value_that_all_persons_of_a_class_have_is_known_for_certain():
    found = measured(L_DIVERSITY, visits(), l=2)
    assert found.distinct_l == 1
    assert found.attributes[0].distinct.records_failing == 15
    assert "rule one of them out" in found.weaknesses[0]
    shares = judged(visits(), (0, 0, 0)).counts("dx")
    by_class = np.split(shares.counts / shares.sizes[shares.of_entry], shares.starts[1:-1])
    assert [own.tolist() for own in by_class] == [[1], [1, 1, 1], [1, 1, 0.5]]


def test_eight_rows_of_one_person_and_one_each_of_four_others_are_five_persons():
    found = class_persons(np.zeros(12, dtype=np.int64), np.array([0] * 8 + [1, 2, 3, 4]), 1, 5)
    assert found.persons.tolist() == [5]
    assert found.largest_share.tolist() == [8 / 12]
    assert found.expected_matches.tolist() == pytest.approx([68 / 12])
    assert found.records_above(0.5) == 8


def test_no_classes_have_no_persons():
    nobody = class_persons(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0, 3)
    assert isinstance(nobody, ClassPersons)
    assert (len(nobody.persons), len(nobody.largest_share), len(nobody.expected_matches)) == (0, 0, 0)


def test_persons_are_counted_where_pairs_are_too_many_for_one_number():
    keys, person = np.array([0, 7, 0, 2**50, 7, 7]), np.array([0, 1, 5, 3, 1, 0])
    owners, rows = runs_of_persons(keys, person, 2**51, 2**40)
    assert (owners.tolist(), rows.tolist()) == ([0, 0, 7, 7, 2**50], [1, 1, 1, 2, 1])


def test_a_release_for_five_is_of_five_persons():
    plan = least_loss_plan(visits(), AnonymityProblem((KAnonymity(5),), 0.0))
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    assert found.status == "optimal"
    assert measured(EQUIVALENCE_CLASSES, visits(), rule=found.rule, k=5).k >= 5
    by_rows = replace(visits(), persons=None)
    same = least_loss_plan(by_rows, AnonymityProblem((KAnonymity(5),), 0.0))
    assert same.combine({0: same.run_block(0, lambda _: None)}).rule.levels == (0, 0, 0)


def test_records_of_their_own_need_five_persons_too():
    problem = AnonymityProblem((KAnonymity(5), DistinctLDiversity(2)), 0.4, scope="record_level")
    plan = least_loss_plan(visits(), problem)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    if found.rule is not None:
        k = measured(EQUIVALENCE_CLASSES, visits(), rule=found.rule, k=5).k
        assert k is None or k >= 5


def test_the_expected_loss_is_of_records_with_the_mean_of_each_person_s_worst():
    own = visits()
    links = tuple(link_nodes(name, own.hierarchies[j], own.codes[:1, j]) for j, name in ((0, "region"),))
    found = assess(
        own,
        TableRule((0, 0, 0)),
        Dictionary(1, links),
        constant_sensitivity(own),
        build_utility(own, "depth_sum"),
    )
    losses = list(zip(found.records.loss, own.persons, strict=True))
    worst = [max(loss for loss, person in losses if person == i) for i in range(8)]
    assert found.person_risk_average == pytest.approx(sum(worst) / 8)
    assert found.risk_average == pytest.approx(float(found.records.loss.mean()))


def test_a_missing_value_cannot_match_everything_where_persons_are_counted():
    with pytest.raises(NotSupported, match="several records"):
        measured(EQUIVALENCE_CLASSES, visits(), missing="matches_everything")
    with pytest.raises(NotSupported, match="suppressed records"):
        measured(EQUIVALENCE_CLASSES, visits(), suppressed="own_block")

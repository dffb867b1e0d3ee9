"""k-map by estimate and ℓ-diversity with a corrected entropy: formulas, and what searches conclude."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import poisson

from app.domain.classes.diversity import corrected_entropy, corrected_values, effective_entropy, grassberger
from app.domain.classes.uniqueness import least_sample_class
from app.domain.errors import InvalidInput
from app.domain.losses.loss import LossChoice
from app.domain.models.entropy_l_diversity import CorrectedEntropyLDiversity
from app.domain.models.judging import JudgedRecords
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import EstimatedKMap
from app.domain.search.full_domain.problem import AnonymityProblem
from tests.oracles.diversity_by_hand import counts_of
from tests.unit.criteria.judged_classes import judged
from tests.unit.measures import diversity_tables as tables
from tests.unit.measures.diversity_tables import INPATIENTS
from tests.unit.search.least_loss_tables import solve


def test_the_numbers_of_grassberger_are_those_of_the_definition():
    n = np.arange(1, 400)
    by_definition = digamma(n) + 0.5 * (-1.0) ** n * (digamma((n + 1) / 2) - digamma(n / 2))
    assert grassberger(n) == pytest.approx(by_definition, abs=1e-12)
    assert grassberger(np.array([1, 2, 3, 4])) == pytest.approx(
        [-np.euler_gamma - math.log(2), 0.7296372, 0.7296372, 1.3963039], abs=1e-7
    )


def test_the_estimate_of_a_class_by_hand():
    counts = counts_of([{0: 4, 1: 4}, {0: 4, 1: 2, 2: 1, 3: 1}, {0: 3}])
    assert corrected_entropy(counts)[0] == pytest.approx(math.log(8) - 1.3963039, abs=1e-7)
    # An estimate above what the class shows counts as that, one below a single value as one.
    assert corrected_values(counts) == pytest.approx([math.exp(0.6831376), 4, 1], abs=1e-6)
    assert effective_entropy(counts)[0] == 2


def test_the_correction_meets_the_entropy_of_large_samples():
    counts = counts_of([{0: 500_000, 1: 300_000, 2: 200_000}])
    assert corrected_values(counts)[0] == pytest.approx(effective_entropy(counts)[0], rel=1e-5)


def test_a_class_that_fails_may_be_split_into_classes_that_pass():
    """Why nothing is concluded from a class for its parts."""
    criterion = CorrectedEntropyLDiversity(2)
    whole, part = tables.one_class({"a": 4, "b": 4}), tables.one_class({"a": 5, "b": 5})
    assert criterion.failing(judged(whole)).all()
    assert not criterion.failing(judged(part)).any()
    records = JudgedRecords(whole, np.arange(8, dtype=np.int32))
    parts = records.judged(np.array([0, 0, 0, 1] * 2), 2)
    assert not criterion.failing(parts).any()
    assert criterion.unavoidable(judged(whole)).tolist() == [0]
    assert criterion.impossible(judged(whole)) is None
    assert "2 different" in CorrectedEntropyLDiversity(2.5).impossible(judged(whole))


@pytest.mark.parametrize(
    "criterion",
    [
        CorrectedEntropyLDiversity(2.2),
        CorrectedEntropyLDiversity(3),
        EstimatedKMap(20, 0.1),
        EstimatedKMap(5, 0.5, "zero_truncated_poisson", 0.2),
    ],
    ids=str,
)
@pytest.mark.parametrize("limit", [0.0, 0.4])
def test_a_search_finds_a_rule_exactly_where_there_is_one(criterion, limit):
    """Against judging each of the 36 rules by itself."""
    problem = AnonymityProblem((criterion,), limit, loss=LossChoice("height"))
    found, allowed = solve(INPATIENTS, problem), {}
    for levels in itertools.product(*(range(INPATIENTS.heights[j] + 1) for j in range(3))):
        classes = judged(INPATIENTS, (*levels, 0))
        gone = int(classes.records[criterion.failing(classes)].sum())
        if gone <= limit * INPATIENTS.n_records:
            allowed[levels] = gone
    assert (found.status == "optimal") == bool(allowed)
    if allowed:
        assert found.rule.levels[:3] in allowed
    if allowed and not limit:
        assert sum(found.rule.levels) == min(map(sum, allowed))


@pytest.mark.parametrize(("k", "fraction", "significance"), [(5, 0.1, 0.05), (50, 0.2, 0.01), (3, 1.0, 0.05)])
def test_a_class_speaks_for_k_people_if_fewer_would_hardly_lead_to_it(k, fraction, significance):
    criterion = EstimatedKMap(k, fraction, significance=significance)
    least = criterion.least_records
    assert least == k or poisson.sf(least - 1, k * fraction) <= significance
    assert poisson.sf(least - 2, k * fraction) > significance
    assert criterion.implied(judged(tables.one_class({"a": 1}))) == (KAnonymity(least),)
    below, enough = (judged(tables.one_class({"a": records})) for records in (least - 1, least))
    assert criterion.failing(below).all()
    assert not criterion.failing(enough).any()
    assert f"there are {least - 1}" in criterion.impossible(below)
    assert criterion.impossible(enough) is None


def test_the_attained_k_is_the_greatest_that_the_smallest_class_speaks_for():
    own = EstimatedKMap(5, 0.1)
    attained = own.attained(judged(tables.one_class({"a": 4})))
    assert least_sample_class(attained, 0.1, "poisson", 0.05)[0] <= 4
    assert least_sample_class(attained + 1, 0.1, "poisson", 0.05)[0] > 4


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"k": 0}, "/k"),
        ({"sampling_fraction": 0.0}, "/sampling_fraction"),
        ({"significance": 1.0}, "/significance"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, field):
    with pytest.raises(InvalidInput) as refused:
        EstimatedKMap(**{"k": 5, "sampling_fraction": 0.1, **wrong})
    assert refused.value.faults[0].pointer == field

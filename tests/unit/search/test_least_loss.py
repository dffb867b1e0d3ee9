"""Least loss under k-anonymity: published optima, and what is asked and answered at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.cells import DomainLoss
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.budget import Budget
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.unit.search.least_loss_tables import FLAT, read, real_data, solve


@pytest.fixture(scope="module")
def adult() -> Table:
    return read("arx-adult", "adult.csv", "adult_hierarchy_")


@pytest.fixture(scope="module")
def credit_cards() -> Table:
    names = ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"]
    return read("creditcard-int", "creditcard_int.csv", "creditcard_int_hierarchy_", names)


class TestPublishedOptima:
    pytestmark = real_data

    @pytest.mark.deep
    @pytest.mark.spec("FM-6")
    @pytest.mark.parametrize(
        ("limit", "levels", "loss", "suppressed", "most_checks"),
        [
            (0.0, (0, 4, 1, 1, 3, 2, 2, 1, 0), 0.5731509655590044, 0, 40),
            (0.04, (0, 3, 0, 1, 1, 1, 1, 2, 0), 0.26611081915757495, 1_178, 600),
            (1.0, (0, 3, 0, 0, 2, 1, 1, 1, 0), 0.2204119285497383, 2_553, 600),
        ],
    )
    def test_adult_with_five_records_per_class(self, adult, limit, levels, loss, suppressed, most_checks):
        found = solve(adult, AnonymityProblem((KAnonymity(5),), limit))
        assert found.status == "optimal"
        assert found.n_rules == 12_960
        assert found.rule is not None
        assert found.rule.levels == levels
        assert found.loss == pytest.approx(loss, abs=1e-9)
        assert found.suppressed_records == suppressed
        assert found.smallest_class is not None
        assert found.smallest_class >= 5
        assert found.counters.risk_evaluations <= most_checks

    @pytest.mark.parametrize(
        ("limit", "levels", "loss", "suppressed"),
        [
            (0.0, (3, 0, 0, 2, 4), 0.5157165666, 0),
            (0.04, (1, 0, 1, 1, 2), 0.0682479644, 784),
        ],
    )
    def test_credit_cards_with_five_records_per_class(self, credit_cards, limit, levels, loss, suppressed):
        found = solve(credit_cards, AnonymityProblem((KAnonymity(5),), limit))
        assert found.status == "optimal"
        assert found.rule is not None
        assert found.rule.levels == levels
        assert found.loss == pytest.approx(loss, abs=1e-9)
        assert found.suppressed_records == suppressed


def flat_table(*values: int) -> Table:
    return Table(("x",), (FLAT,), np.array(values, dtype=np.int32)[:, None])


def test_a_lattice_beyond_memory_answers_with_a_bound_when_its_nodes_are_spent():
    rng = np.random.default_rng(7)
    deep = Hierarchy.from_rows([[str(i), f"by two {i // 2}", f"by six {i // 6}", "*"] for i in range(12)])
    names = tuple(f"x{j}" for j in range(20))
    table = Table(names, (deep,) * 20, rng.choice(deep.leaves, (400, 20)))
    plan = AnonymityPlan(table, AnonymityProblem((KAnonymity(5),), 0.04), Budget(max_nodes=120))
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    assert plan.units == 4**20
    assert (found.status, found.complete) == ("heuristic", True)
    assert found.loss is not None
    assert found.bounds is not None
    assert 0 < found.bounds.lower < found.loss < 1
    assert found.suppressed_records is not None
    assert found.suppressed_records <= 16


def test_more_records_per_class_than_there_are_is_infeasible_unless_all_may_go():
    table = flat_table(1, 1, 2)
    refused = solve(table, AnonymityProblem((KAnonymity(4),), 0.5))
    assert (refused.status, refused.rule, refused.loss, refused.bounds) == ("infeasible", None, None, None)
    allowed = solve(table, AnonymityProblem((KAnonymity(4),), 1.0))
    assert (allowed.status, allowed.loss, allowed.suppressed_records) == ("optimal", 1.0, 3)
    assert (allowed.classes, allowed.smallest_class) == (0, None)


def test_ties_are_decided_by_the_smallest_levels():
    two = Table(("x", "y"), (FLAT, FLAT), np.array([[1, 1], [1, 2], [2, 1], [2, 2]], dtype=np.int32))
    found = solve(two, AnonymityProblem((KAnonymity(2),)))
    assert found.rule is not None
    assert found.rule.levels == (0, 1)


def test_nothing_is_generalised_for_one_record_per_class():
    found = solve(flat_table(1, 2, 2), AnonymityProblem((KAnonymity(1),)))
    assert (found.loss, found.suppressed_records, found.smallest_class) == (0.0, 0, 1)


def test_the_limit_is_a_share_rounded_down_but_not_by_the_rounding_of_doubles():
    assert AnonymityProblem((KAnonymity(2),), 0.29).suppression_allowed(100) == 29
    assert AnonymityProblem((KAnonymity(2),), 0.04).suppression_allowed(30_162) == 1_206
    assert AnonymityProblem((KAnonymity(2),), 1.0).suppression_allowed(7) == 7


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"privacy": ()}, "/objective/privacy"),
        ({"privacy": (KAnonymity(2),), "suppression_limit": 1.5}, "/objective/suppression_limit"),
        ({"privacy": (KAnonymity(2),), "suppression_limit": math.nan}, "/objective/suppression_limit"),
    ],
)
def test_what_is_out_of_range_is_named(wrong, pointer):
    with pytest.raises(InvalidInput) as refusal:
        AnonymityProblem(**wrong)
    assert refusal.value.faults[0].pointer == pointer


def test_losses_follow_their_definition():
    # Two of three records keep a value (share 1/2), one is suppressed (share 1): L = (2 − 3/2) / (3 − 3/2).
    table = Table(("x", "y"), (FLAT, FLAT), np.array([[1, 1], [1, 1], [2, 1]], dtype=np.int32))
    gone = [np.array([0, 1]), np.array([1])]
    geometric, arithmetic = DomainLoss(table), DomainLoss(table, "arithmetic")
    assert geometric.of((0, 0), geometric.added(gone)) == pytest.approx(1 / 3)
    assert arithmetic.of((0, 1), arithmetic.added(gone)) == pytest.approx((1 / 3 + 1) / 2)
    assert geometric.of((0, 1)) == pytest.approx(math.sqrt(2) - 1)
    assert geometric.of((1, 1)) == arithmetic.of((1, 1)) == 1.0


def test_the_document_holds_what_was_found():
    document = solve(flat_table(1, 1, 2), AnonymityProblem((KAnonymity(2),), 0.5)).to_document()
    assert document["objective"] == {
        "kind": "min_loss",
        "loss": "geometric",
        "privacy": [{"kind": "k_anonymity", "k": 2}],
        "suppression_limit": 0.5,
    }
    assert (document["levels"], document["suppressed_records"]) == ({"x": 0}, 1)
    assert (document["status"], document["gap"], document["complete"]) == ("optimal", 0.0, True)

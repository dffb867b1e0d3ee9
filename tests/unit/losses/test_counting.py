"""Weights, aggregates and suppression factors of losses: what they mean and where they are refused."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain import plan as anonymity_plan
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.tables.table import Table

CITIES = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
SEXES = Hierarchy.from_rows([["f", "*"], ["m", "*"]])


def table(*records, names=("city", "sex")):
    trees = (CITIES, SEXES)[: len(names)]
    columns = zip(*records, strict=True)
    codes = [tree.encode(list(column))[0] for tree, column in zip(trees, columns, strict=True)]
    return Table(names, trees, np.stack(codes, axis=1))


FOUR = table("af", "bf", "cm", "dm")
CROSSED = table("af", "bf", "am", "bm")


def asked(table, k=2, limit=0.0, **loss):
    plan = AnonymityPlan(table, AnonymityProblem((KAnonymity(k),), limit, LossChoice(**loss)))
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def fault(function, *arguments, **more):
    with pytest.raises(InvalidInput) as caught:
        function(*arguments, **more)
    (found,) = caught.value.faults
    return found


def test_weights_decide_which_attribute_is_generalised():
    plain = asked(CROSSED, kind="arithmetic")
    assert plain.rule.levels == (1, 0)
    assert plain.loss == pytest.approx((1 / 3 + 0) / 2)
    weighed = asked(CROSSED, kind="arithmetic", weights={"city": 8.0})
    assert weighed.rule.levels == (0, 1)
    # The weights 8 and 1 are scaled to 16/9 and 2/9.
    assert weighed.loss == pytest.approx((2 / 9) / 2)
    assert dict(weighed.attribute_losses) == pytest.approx({"city": 0.0, "sex": 2 / 9})


def test_equal_weights_change_no_loss():
    for kind in ("geometric", "arithmetic", "precision", "height", "non_uniform_entropy", "ail"):
        plain, weighed = (loss_of(FOUR, LossChoice(kind, weights=own)) for own in ({}, {"city": 3, "sex": 3}))
        for levels in ((0, 0), (1, 0), (1, 1), (2, 1)):
            assert weighed.of(levels) == plain.of(levels)


def test_a_geometric_loss_with_weights_is_the_weighed_geometric_mean():
    loss = loss_of(FOUR, LossChoice("geometric", weights={"city": 3.0}))
    assert loss.of((1, 1)) == pytest.approx((4 / 3) ** 0.75 * 2**0.25 - 1)


@pytest.mark.parametrize(
    ("aggregate", "value"), [("sum", 4 / 3), ("mean", 2 / 3), ("maximum", 1.0), ("rank", 1.0)]
)
def test_an_aggregate_is_made_of_the_losses_of_attributes(aggregate, value):
    # City loses 1/3 at level 1, sex 1 at level 1.
    assert loss_of(FOUR, LossChoice("arithmetic", aggregate=aggregate)).of((1, 1)) == pytest.approx(value)


def test_a_maximum_looks_at_the_greatest_loss_and_a_rank_at_the_next_ones_too():
    lonely = table("af", "am", "bf", "bm", "cf", "cm", "df", "dm")
    by_maximum = asked(lonely, kind="precision", aggregate="maximum")
    assert by_maximum.rule.levels == (1, 0)
    assert by_maximum.loss == 0.5
    # Sexes have to go and cities at least one level up, which a maximum need not see.
    tied = table("af", "bf", "cm", "df")
    ranked = asked(tied, kind="precision", aggregate="rank")
    assert ranked.rule.levels == (1, 1)
    assert ranked.attribute_losses == (("city", 0.5), ("sex", 1.0))
    assert ranked.loss == 1.0


def test_a_suppression_factor_chooses_between_generalising_and_suppressing():
    # Suppressing one record of five lets the others stay as they are; else all cities have to go up.
    five = table("af", "af", "cm", "cm", "bf")
    even = asked(five, limit=0.2, kind="arithmetic")
    assert (even.rule.levels, even.suppressed_records) == ((1, 0), 0)
    assert even.loss == pytest.approx(1 / 6)
    cheap = asked(five, limit=0.2, kind="arithmetic", suppression_factor=0.25)
    # A suppressed cell counts half.
    assert (cheap.rule.levels, cheap.suppressed_records) == ((0, 0), 1)
    assert cheap.loss == pytest.approx(0.1)
    dear = asked(five, limit=0.2, kind="arithmetic", suppression_factor=0.875)
    # Generalised cells count a quarter: 5 · (2 − 1) / 4 over 5 · 4 − 5 / 4, halved by the other attribute.
    assert (dear.rule.levels, dear.suppressed_records) == ((1, 0), 0)
    assert dear.loss == pytest.approx(1.25 / 18.75 / 2)
    free = asked(five, limit=0.2, kind="arithmetic", suppression_factor=0.0)
    assert (free.rule.levels, free.suppressed_records, free.loss) == ((0, 0), 1, 0.0)


@pytest.mark.parametrize("kind", ["discernibility", "average_class_size", "ambiguity", "kl_divergence"])
@pytest.mark.parametrize(
    "option", [{"weights": {"city": 2.0}}, {"aggregate": "mean"}, {"suppression_factor": 0.25}]
)
def test_losses_of_classes_take_none_of_it_and_the_remedy_names_those_that_do(kind, option):
    found = fault(LossChoice, kind, **option)
    assert (found.pointer, found.code) == (f"/{next(iter(option))}", "not-applicable")
    assert "arithmetic, precision, non_uniform_entropy, ail" in found.remedy


def test_a_height_takes_no_suppression_factor_and_a_geometric_mean_no_aggregate():
    assert fault(LossChoice, "height", suppression_factor=0.4).pointer == "/suppression_factor"
    found = fault(LossChoice, "geometric", aggregate="maximum")
    assert found.pointer == "/aggregate"
    assert "arithmetic has the same" in found.message


@pytest.mark.parametrize("weight", [-1.0, -math.inf, math.inf, math.nan, 2e6])
def test_a_weight_is_a_number_that_is_not_negative(weight):
    found = fault(LossChoice, "arithmetic", weights={"a/b": weight})
    assert (found.pointer, found.code) == ("/weights/a~1b", "out-of-range")


@pytest.mark.parametrize("factor", [-0.1, 1.1, math.inf, math.nan])
def test_a_suppression_factor_is_between_0_and_1(factor):
    assert fault(LossChoice, "arithmetic", suppression_factor=factor).pointer == "/suppression_factor"


def test_weights_are_of_quasi_identifiers_and_not_all_0():
    found = fault(loss_of, FOUR, LossChoice("precision", weights={"town": 1.0}))
    assert (found.pointer, found.code) == ("/objective/loss/weights/town", "unknown-attribute")
    assert found.remedy == "These are: city, sex."
    found = fault(loss_of, FOUR, LossChoice("precision", weights={"city": 0.0, "sex": 0.0}))
    assert (found.pointer, found.code) == ("/objective/loss/weights", "weights-all-0")


def test_a_rank_needs_two_attributes():
    one = table("a", "b", names=("city",))
    found = fault(loss_of, one, LossChoice("precision", aggregate="rank"))
    assert (found.pointer, found.code) == ("/objective/loss/aggregate", "too-few-attributes")
    assert loss_of(one, LossChoice("precision", aggregate="maximum")).of((1,)) == 0.5


@pytest.mark.parametrize(
    "option", [{"aggregate": "rank"}, {"aggregate": "maximum"}, {"suppression_factor": 0.4}]
)
@pytest.mark.parametrize("where", [{"scope": "record_level"}, {"local_recoding": True}])
def test_what_moves_of_single_records_cannot_minimise_is_refused(option, where):
    found = fault(AnonymityProblem, (KAnonymity(2),), loss=LossChoice("precision", **option), **where)
    assert (found.pointer, found.code) == (f"/objective/loss/{next(iter(option))}", "not-applicable")


def test_single_records_are_recoded_by_weights():
    losses = {}
    for weight in (1.0, 8.0):
        choice = LossChoice("arithmetic", weights={"city": weight})
        problem = AnonymityProblem((KAnonymity(2),), loss=choice, scope="record_level")
        plan = RecodingPlan(CROSSED, problem)
        found = plan.combine({0: plan.run_block(0, lambda _: None)})
        losses[weight] = found.loss
        assert found.bounds.lower <= found.loss
    assert losses == pytest.approx({1.0: 1 / 6, 8.0: 1 / 9})


def test_squared_errors_are_the_share_of_the_squares_that_is_left():
    ages = Hierarchy.from_rows(
        [["20", "young", "*"], ["22", "young", "*"], ["60", "60", "*"], ["70", "70", "*"]]
    )
    codes = np.stack([ages.encode(["20", "22", "22", "60"])[0], SEXES.encode(list("ffmm"))[0]], axis=1)
    mixed = Table(("age", "sex"), (ages, SEXES), codes)
    loss = loss_of(mixed, LossChoice("squared_error", numeric=("age",)))
    # Around 64/3 for 20, 22, 22; around 31 for all.
    within, whole = 16 / 9 + 2 * 4 / 9, 121 + 81 + 81 + 841
    assert loss.of((0, 0)) == 0.0
    assert loss.of((1, 0)) == pytest.approx(within / whole / 2)
    assert loss.of((2, 1)) == pytest.approx(1.0)


def test_squared_errors_are_of_named_numbers_and_of_rules_for_the_table():
    assert fault(LossChoice, "squared_error").pointer == "/numeric"
    found = fault(loss_of, FOUR, LossChoice("squared_error", numeric=("city",)))
    assert (found.pointer, found.code) == ("/objective/loss/numeric", "not-numeric")
    found = fault(loss_of, FOUR, LossChoice("squared_error", numeric=("town",)))
    assert (found.pointer, found.code) == ("/objective/loss/numeric", "unknown-attribute")
    choice = LossChoice("squared_error", numeric=("age",))
    found = fault(AnonymityProblem, (KAnonymity(2),), loss=choice, scope="record_level")
    assert found.pointer == "/objective/loss/kind"


def test_ranks_are_refused_where_the_rules_are_too_many_to_hold(monkeypatch):
    monkeypatch.setattr(anonymity_plan, "RULES_HELD", 5)
    problem = AnonymityProblem((KAnonymity(2),), loss=LossChoice("precision", aggregate="rank"))
    with pytest.raises(NotSupported) as caught:
        AnonymityPlan(FOUR, problem)
    assert "rank" in str(caught.value)


def test_a_question_says_only_what_is_unusual_so_that_stored_ones_mean_and_hash_the_same():
    def document(**loss):
        return AnonymityProblem((KAnonymity(2),), loss=LossChoice(**loss)).to_document()["objective"]["loss"]

    assert document(kind="arithmetic", weights={}, aggregate=None, suppression_factor=0.5) == "arithmetic"
    assert document(
        kind="arithmetic", weights={"sex": 2.0, "city": 1.0}, aggregate="rank", suppression_factor=0.25
    ) == {
        "kind": "arithmetic",
        "weights": {"city": 1.0, "sex": 2.0},
        "aggregate": "rank",
        "suppression_factor": 0.25,
    }
    plain = asked(FOUR, kind="arithmetic").to_document()
    assert "attribute_losses" not in plain
    assert set(asked(FOUR, kind="arithmetic", aggregate="sum").to_document()["attribute_losses"]) == {
        "city",
        "sex",
    }


def test_choices_stay_hashable_and_equal_by_their_weights():
    one, other = (LossChoice("ail", weights=MappingProxyType({"city": own})) for own in (1.0, 2.0))
    assert hash(one) == hash(other)
    assert one != other

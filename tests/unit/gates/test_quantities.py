"""What the numbers of a verdict are numbers of, in the words of the results' own fields."""

from __future__ import annotations

import pytest

from app.domain.gates.explanations import of_bound
from app.domain.policies.bound_condition import BoundCondition
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.guarantee_condition import GuaranteeCondition
from app.domain.policies.measure_condition import VALUES_OF, MeasureCondition
from app.domain.policies.optimum_condition import OptimumCondition
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.policies.score_condition import SCORE_VALUES, ScoreCondition


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (ScoreCondition("risk_max", "at_most", 1.0), "greatest risk of a record"),
        (ScoreCondition("loss_quantiles.0.95", "at_most", 1.0), "risk that"),
        (PrivacyModelCondition("k_anonymity", {"k": 5}), "in classes that fail k-anonymity (k = 5)"),
        (BoundCondition("register"), "whether the risk is an upper bound"),
        (GuaranteeCondition("beta_likeness", {}), "whether such a guarantee"),
        (BudgetCondition(1, 0), "whether all releases of the table"),
        (OptimumCondition({"kind": "min_risk", "utility_floor": 3}, "table_level"), "distance from"),
        (MeasureCondition("of-the-future", {}, "x", "at_most", 1), "x (of-the-future)"),
    ],
)
def test_a_value_says_what_it_is(demand, said):
    assert demand.quantity.startswith(said)


def test_values_that_a_model_names_are_left_out():
    demand = PrivacyModelCondition("alpha_k_anonymity", {"k": 2, "alpha": 0.5, "values": ["marker"]})
    assert "marker" not in demand.quantity


def test_every_number_that_can_be_required_says_something():
    scores = [ScoreCondition(own.path, "at_most", 1.0) for own in SCORE_VALUES]
    measures = [
        MeasureCondition(name, {}, own.path.replace("<key>", "key"), "at_most", 1)
        for name, values in VALUES_OF.items()
        for own in values
    ]
    for demand in (*scores, *measures):
        said = demand.quantity
        assert said.strip(), demand
        assert not said.endswith("."), said


@pytest.mark.parametrize(
    ("claimed", "assumed", "may_rest", "said"),
    [
        (False, ["model"], True, "cannot be claimed: a hypothesis is false."),
        (True, [], False, "is an upper bound of the true one: every hypothesis was shown."),
        (True, ["dictionary_order", "model"], True, "the policy allows: dictionary order, model."),
        (True, ["model"], False, "the policy does not allow: model."),
    ],
)
def test_a_bound_names_what_it_rests_on(claimed, assumed, may_rest, said):
    assert of_bound("register", claimed, assumed, may_rest).endswith(said)

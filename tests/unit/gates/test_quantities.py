"""What the numbers of a verdict are numbers of, in the words of the results' own fields."""

from __future__ import annotations

import pytest

from app.domain.gates.quantities import quantity_of
from app.domain.policies.demands import VALUES_OF
from app.domain.policies.policy import (
    BoundDemand,
    MeasureDemand,
    OptimumDemand,
    PrivacyModelDemand,
    ScoreDemand,
)
from app.domain.policies.scores import SCORE_VALUES


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (ScoreDemand("risk_max", "at_most", 1.0), "greatest risk of a record"),
        (ScoreDemand("loss_quantiles.0.95", "at_most", 1.0), "risk that"),
        (PrivacyModelDemand("k_anonymity", {"k": 5}), "in classes that fail k-anonymity (k = 5)"),
        (BoundDemand("register"), "whether the risk is an upper bound"),
        (OptimumDemand({"kind": "min_risk", "utility_floor": 3}, "table_level"), "distance from"),
        (MeasureDemand("of-the-future", {}, "x", "at_most", 1), "x (of-the-future)"),
    ],
)
def test_a_value_says_what_it_is(demand, said):
    assert quantity_of(demand).startswith(said)


def test_values_that_a_model_names_are_left_out():
    demand = PrivacyModelDemand("alpha_k_anonymity", {"k": 2, "alpha": 0.5, "values": ["marker"]})
    assert "marker" not in quantity_of(demand)


def test_every_number_that_can_be_demanded_says_something():
    scores = [ScoreDemand(own.path, "at_most", 1.0) for own in SCORE_VALUES]
    measures = [
        MeasureDemand(name, {}, own.path.replace("<key>", "key"), "at_most", 1)
        for name, values in VALUES_OF.items()
        for own in values
    ]
    for demand in (*scores, *measures):
        said = quantity_of(demand)
        assert said.strip(), demand
        assert not said.endswith("."), said

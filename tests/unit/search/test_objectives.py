"""An objective is the same whether it was sent, stored or named by a policy."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from app.api.schemas.derived import value_of
from app.api.schemas.objectives import AskedObjective
from app.domain.errors import InvalidInput
from app.domain.policies.objectives import objective_of, optimum_of
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.objectives import MinLoss, MinRisk
from app.domain.search.problem import Problem

JsonObject = dict[str, Any]

WEIGHED = {
    "kind": "ail", "leaf_domain": "active", "numeric": ["age"], "weights": {"city": 2.0}, "aggregate": "mean",
    "suppression_factor": 0.25,
}  # fmt: skip
AGGREGATE = {"kappa": 1, "phi_zero_policy": "exclude", "phi_offset": None, "method": "auto",
             "parametric_search": "dinkelbach"}  # fmt: skip
LEAST = {"kind": "min_loss", "loss": "geometric", "suppression_limit": 0.0}

STORED: list[tuple[JsonObject, JsonObject]] = [
    ({"kind": "min_risk", "utility_floor": 6}, {"kind": "min_risk", "utility_floor": 6.0}),
    ({"kind": "min_risk", "loss_cap": 1.5}, {"kind": "min_risk", "loss_cap": 1.5}),
    ({"kind": "max_utility", "risk_cap": 1}, {"kind": "max_utility", "risk_cap": 1.0}),
    ({"kind": "lagrangian", "trade_off": 0.01}, {"kind": "lagrangian", "trade_off": 0.01}),
    ({"kind": "aggregate", "trade_off": 1}, {"kind": "aggregate", "trade_off": 1.0, **AGGREGATE}),
    (
        {"kind": "aggregate", "trade_off": 1, "phi_zero_policy": "offset", "phi_offset": 2, "kappa": 2},
        {"kind": "aggregate", "trade_off": 1.0, **AGGREGATE, "phi_zero_policy": "offset", "phi_offset": 2.0,
         "kappa": 2},
    ),
    (
        {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}]},
        {**LEAST, "privacy": [{"kind": "k_anonymity", "k": 2}]},
    ),
    (
        {"kind": "min_loss", "privacy": [{"kind": "average_risk", "threshold": 0.5}], "loss": WEIGHED,
         "suppression_limit": 1, "missing": "excluded", "suppressed": "own_block", "minimal_rules": True},
        {"kind": "min_loss", "privacy": [{"kind": "average_risk", "threshold": 0.5}], "loss": WEIGHED,
         "suppression_limit": 1.0, "missing": "excluded", "suppressed": "own_block", "minimal_rules": True},
    ),
]  # fmt: skip
"""What is sent, and what is stored and hashed of it."""


def written(objective: Any) -> JsonObject:
    asked = AnonymityProblem.of if isinstance(objective, MinLoss) else Problem
    document: JsonObject = asked(objective, "table_level").to_document()["objective"]
    return document


def sent(body: JsonObject) -> Any:
    return value_of(TypeAdapter(AskedObjective).validate_python(body))


@pytest.mark.parametrize(("body", "stored"), STORED)
def test_what_is_sent_is_stored_as_ever_and_read_back(body: JsonObject, stored: JsonObject):
    assert written(sent(body)) == stored
    assert objective_of(stored, printed=False) == sent(body)
    assert written(objective_of(stored, printed=False)) == stored


@pytest.mark.parametrize(("body", "stored"), STORED[:-1])
def test_a_policy_means_the_same_by_it(body: JsonObject, stored: JsonObject):
    assert optimum_of(body) == sent(body) == optimum_of(stored)


@pytest.mark.parametrize("both", [{}, {"utility_floor": 1, "loss_cap": 1}])
def test_a_least_risk_has_one_threshold_wherever_it_is_asked_for(both: JsonObject):
    with pytest.raises(InvalidInput, match="exactly one"):
        MinRisk(**both)
    with pytest.raises(InvalidInput, match="exactly one") as refused:
        optimum_of({"kind": "min_risk", **both}, "/objective")
    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/objective", "exactly-one")]
    with pytest.raises(ValidationError, match="exactly one"):
        sent({"kind": "min_risk", **both})


def test_a_stored_criterion_may_name_a_value_that_no_policy_could_print():
    own = {"kind": "pd_recursive_l_diversity", "c": 3.0, "l": 2, "attribute": "illness", "others": "apart"}
    stored = {**LEAST, "privacy": [{**own, "harmless": ["\x01"]}]}
    assert written(objective_of(stored, printed=False))["privacy"] == stored["privacy"]
    with pytest.raises(InvalidInput, match="cannot be printed"):
        optimum_of(stored)


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"local_recoding": False}, "/local_recoding"),
        ({"loss": {"kind": "precision", "aggregate": "rank"}}, "/loss/aggregate"),
    ],
)
def test_a_search_takes_what_no_policy_can_compare_releases_with(asked: JsonObject, place: str):
    stored = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], **asked}
    assert objective_of(stored).kind == "min_loss"
    with pytest.raises(InvalidInput) as refused:
        optimum_of(stored)
    assert [fault.pointer for fault in refused.value.faults] == [place]

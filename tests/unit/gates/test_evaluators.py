"""Every kind of requirement on a release is computed by something, or says why not."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from app.domain.policies.policy import CONDITIONS
from app.services.gates.evaluator import Broken
from app.services.gates.evaluators import EVALUATORS, evaluator_of
from app.services.gates.policy_documents import policy_of
from tests.unit.policies.example_policies import criterion, document, measured, model, promised, scored


def test_every_kind_that_is_not_about_views_has_an_evaluator():
    assert EVALUATORS.keys() == {own.kind for own in CONDITIONS if not own.is_of_views}


@pytest.mark.parametrize(
    ("demand", "scope"),
    [
        (promised({"at_most": 2}), {"groups": "race"}),
        ({"kind": "privacy_budget", "epsilon": 1, "delta": 0}, {"attributes": ["zip"]}),
        ({"kind": "bound", "dictionary": "register"}, {"groups": "race"}),
        ({"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": 1}}, {"groups": "race"}),
        (measured("equivalence_classes", "k", "at_least", 5), {"groups": "race"}),
        (scored("risk_max", "at_most", 1), {"attributes": ["zip"]}),
        (model("average_risk", threshold=0.1), {"groups": "race"}),
    ],
)
def test_a_scope_that_a_kind_does_not_have_is_never_left_out(demand: dict[str, Any], scope: dict[str, Any]):
    policy = policy_of(document(criterion(demand, scope=scope)))
    context: Any = SimpleNamespace(doubt=None, subject=SimpleNamespace(policy=policy))
    found = asyncio.run(evaluator_of(policy.requirements[0], context))
    assert isinstance(found, Broken)
    assert "unsupported-scope" in {own.code for own in found.error.faults}

"""What pages say of the criteria of a policy: one line for every condition there can be."""

from __future__ import annotations

import pytest

from app.domain.models.criteria import CRITERIA
from app.web.policies import condition_in_words

MODEL = {"kind": "alpha_k_anonymity", "k": 2, "alpha": 0.5}


def model(failing_share: float = 0, **parameters):
    return {"kind": "privacy_model", "model": parameters, "failing_share": failing_share}


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (model(kind="k_anonymity", k=5), "k-anonymity (k = 5)"),
        (model(0.05, kind="k_anonymity", k=5), "k-anonymity (k = 5), but for 5 % of the records"),
        (model(**MODEL, values=["HIV", "flu"]), "(α,k)-anonymity (k = 2, α = 0.5, values = HIV; flu)"),
        (model(**MODEL, values=None), "(α,k)-anonymity (k = 2, α = 0.5)"),
        (model(kind="distinct_l_diversity", l=3), "distinct ℓ-diversity (ℓ = 3)"),
        (model(kind="of_the_future", weights={"a": [1, 2]}), "of the future (weights = a: 1; 2)"),
        (
            {"kind": "measure", "measure": {"kind": "k_map", "k": 20, "dictionary": "register"},
             "value": "is_k_map", "comparison": "equals", "threshold": True},
            "k-map (k = 20, dictionary = register): is k map = yes",
        ),
        (
            {"kind": "guarantee",
             "model": {"kind": "beta_likeness", "beta": {"at_most": 2}, "bound": "enhanced"},
             "status": "certified", "may_rest_on_assumptions": True},
            "a guarantee of β-likeness (β ≤ 2, bound = enhanced), certified, which may rest on assumptions",
        ),
        (
            {"kind": "guarantee", "model": {"kind": "beta_likeness"}, "status": "heuristic",
             "may_rest_on_assumptions": False},
            "a guarantee of β-likeness, heuristic or better",
        ),
        ({"kind": "score", "value": "risk_max", "comparison": "at_most", "threshold": "inf"}, "risk max ≤ ∞"),
    ],
)  # fmt: skip
def test_a_condition_is_said_with_its_parameters(demand, said):
    assert condition_in_words(demand) == said


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda own: own.kind)
def test_every_privacy_model_can_be_said(criterion):
    fields = set(criterion.__dataclass_fields__) - {"kind"}
    said = condition_in_words(model(kind=criterion.kind, **{name: ["a", 1] for name in fields}))
    assert said.count("a; 1") == len(fields)

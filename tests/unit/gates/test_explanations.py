"""What a criterion is called to people who sign."""

from __future__ import annotations

import pytest

from app.domain.policies.comparison import model_in_short
from app.domain.policies.objectives import criterion_of


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        ("k_anonymity", {"k": 11}, "k-anonymity (k = 11)"),
        ("distinct_l_diversity", {"l": 3, "attribute": "income"}, "distinct ℓ-diversity (ℓ = 3)"),
        ("t_closeness", {"t": 0.2}, "t-closeness (t = 0.2)"),
        ("recursive_l_diversity", {"c": 2.5, "l": 2}, "recursive (c, ℓ)-diversity (c = 2.5, ℓ = 2)"),
        (
            "alpha_k_anonymity",
            {"alpha": 0.5, "k": 4, "values": ["HIV"]},
            "(α,k)-anonymity (α = 0.5, k = 4)",
        ),
    ],
)
def test_a_model_is_named_with_its_numbers_and_without_values_of_cells(kind, parameters, said):
    assert model_in_short(criterion_of(kind, parameters)) == said

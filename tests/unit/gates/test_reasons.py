"""What a gate says of the records whose classes fail, in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.classes.grouping import Grouping
from app.domain.classes.released import Release
from app.domain.gates.class_shares import failing_records, share_part, worst_attained
from app.domain.gates.explanations import of_share
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.policies.objectives import criterion_of
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table

TOWN = Hierarchy.from_parents({"w": [None], "x": [None], "y": [None], "z": [None]})
ILL = Hierarchy.from_parents({"flu": [None], "cold": [None], "cough": [None]})
# One in w; two in x, both with flu; three in y, two of them with a cold; four in z.
TOWNS = [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]
ILLS = [1, 1, 1, 2, 2, 3, 1, 2, 3, 1]
TABLE = Table(
    ("town", "ill"),
    (TOWN, ILL),
    np.array([TOWNS, ILLS], dtype=np.int32).T.copy(),
    sensitive=frozenset({"ill"}),
)


def said(kind: str, parameters: dict[str, object], allowed: int = 0) -> str:
    release, model = Release(TABLE, TableRule((0, 0))), criterion_of(kind, parameters)
    failing = failing_records(release, model)
    number, records = int(failing.sum()), TABLE.n_records
    part = share_part(number, records, allowed / records)
    worst = worst_attained(release, model, failing, Grouping(), None)
    return of_share(model, number, records, allowed, part, worst)


@pytest.mark.parametrize(
    ("kind", "parameters", "sentence"),
    [
        ("k_anonymity", {"k": 2}, "k-anonymity (k = 2): 1 of 10 records would be unique; none may."),
        (
            "k_anonymity",
            {"k": 4},
            "k-anonymity (k = 4): 6 of 10 records would be in classes of fewer than 4; none may; "
            "the worst-off are unique.",
        ),
        (
            "highest_risk",
            {"threshold": 0.4},
            "Highest prosecutor risk of a record (threshold = 0.4): 3 of 10 records would be re-identified "
            "with a probability above 0.4; none may; the worst-off with one of 1.",
        ),
        (
            "distinct_l_diversity",
            {"l": 2},
            "distinct ℓ-diversity (ℓ = 2): 3 of 10 records would be in classes with fewer than 2 different "
            "values of the sensitive attribute; none may; of the worst-off the value is known for certain.",
        ),
        (
            "t_closeness",
            {"t": 0.55, "attribute": "ill"},
            # Of all, 5 of 10 have flu, 3 a cold, 2 a cough: 0.5 from those who all have flu, 0.5 in y.
            "t-closeness (t = 0.55): none of 10 records would be in classes whose values of 'ill' are "
            "distributed otherwise than in the whole table, at a distance above 0.55.",
        ),
        (
            "alpha_k_anonymity",
            {"alpha": 0.6, "k": 3},
            "(α,k)-anonymity (α = 0.6, k = 3): 6 of 10 records would be in classes of fewer than 3, "
            "or of which more than a share of 0.6 has the same value of the sensitive attribute; none may; "
            "the greatest share is 1.",
        ),
    ],
)
def test_a_reason_says_who_fails_of_how_many_and_how_the_worst_are_off(kind, parameters, sentence):
    assert said(kind, parameters) == sentence


def test_a_reason_says_how_many_may_fail():
    sentence = said("k_anonymity", {"k": 4}, 2)
    assert "6 of 10 records would be in classes of fewer than 4; 2 may;" in sentence


def test_the_worst_is_that_of_those_who_fail():
    """Of the classes of one, two and three records the smallest is said, not that of all that pass."""
    release = Release(TABLE, TableRule((0, 0)))
    model = criterion_of("k_anonymity", {"k": 4})
    for rows, size in (([1, 2], 2), ([3, 4, 5], 3), ([0, 3, 4, 5], 1)):
        failing = np.isin(np.arange(TABLE.n_records), rows)
        assert worst_attained(release, model, failing, Grouping(), None) == size


@pytest.mark.parametrize("missing", ["matches_everything", "excluded"])
def test_no_worst_is_said_where_the_size_of_a_class_is_not_the_reason(missing):
    release, model = Release(TABLE, TableRule((0, 0))), criterion_of("k_anonymity", {"k": 4})
    grouping = Grouping(missing=missing)
    failing = failing_records(release, model, grouping)
    assert failing.any()
    assert worst_attained(release, model, failing, grouping, None) is None

"""How a report says what its rule suppresses, whatever version of the service wrote it."""

import pytest

from app.reports.page import _environment

BELOW = {"suppress_classes_below": 5, "suppress_classes_failing": None}
FAILING = {"suppress_classes_below": None, "suppress_classes_failing": [{"kind": "k_map", "k": 3}]}


@pytest.mark.parametrize(
    ("rule", "said", "unsaid"),
    [
        (BELOW, "told apart by sensitive values", "compared"),
        (BELOW | {"meaning": 1}, "told apart by sensitive values", "compared"),
        (BELOW | {"meaning": 2}, "classes of fewer than 5 are suppressed", "told apart"),
        (FAILING, "that fail k map are suppressed", "compared"),
        (FAILING, "that fail k map are suppressed", "no more classes"),
        (FAILING | {"suppression_order": "class_by_class"}, "no more classes than have to be", "compared"),
        (FAILING | {"dictionary": "census"}, "compared with census", "told apart"),
    ],
)
def test_a_rule_says_whom_it_suppresses_and_by_which_meaning(rule, said, unsaid):
    parts = _environment().get_template("parts.html").module
    words = parts.rule_words({"kind": "table_level", "levels": {"city": 1}, **rule})
    assert said in words
    assert unsaid not in words

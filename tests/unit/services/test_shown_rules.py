"""What answers say of the records that a rule suppresses."""

import pytest

from app.api.schemas.releases import ReleasedRule
from app.api.schemas.results import FoundRule
from app.api.schemas.shown_rules import ShownSuppression


@pytest.mark.parametrize(
    ("stored", "meaning"),
    [
        ({"suppress_classes_below": 5}, 1),
        ({"suppress_classes_below": 5, "meaning": 2}, 2),
        ({"suppress_classes_below": None}, None),
        ({}, None),
    ],
)
def test_small_classes_stored_before_there_was_a_second_meaning_are_marked_by_the_first(stored, meaning):
    assert ShownSuppression.model_validate(stored).meaning == meaning
    assert FoundRule.model_validate({"kind": "table_level", **stored}).meaning == meaning
    released = {"name": "r", "kind": "table_level", "sha256": "0" * 64, "levels": {}, **stored}
    assert ReleasedRule.model_validate(released).meaning == meaning

"""A rule's definition is the same whether it was sent or is read from the rule that it became."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from app.api.schemas.rules import Definition, rule_asked
from app.domain.errors import InvalidInput
from app.domain.models.class_suppression import ClassSuppression, SmallClasses
from app.domain.models.prosecutor_risk import AverageRisk
from app.services.rules.rule_building import define_rule
from app.services.rules.rule_definitions import TableLevelDefinition
from app.services.rules.rule_documents import table_level_definition_of
from tests.unit.services.scoring_world import members

JsonObject = dict[str, Any]

LEVELS = {"city": 1, "race": 0}
FAILING = [{"kind": "average_risk", "threshold": 0.5}]


def sent(body: JsonObject) -> Any:
    return rule_asked(TypeAdapter(Definition).validate_python(body))


@pytest.mark.parametrize(
    ("more", "suppression"),
    [
        ({}, None),
        ({"suppress_classes_below": 3}, SmallClasses(3)),
        ({"suppress_classes_below": 3, "meaning": 1}, SmallClasses(3, 1)),
        ({"suppress_classes_failing": FAILING}, ClassSuppression((AverageRisk(0.5),))),
        (
            {"suppress_classes_failing": FAILING, "missing": "excluded", "suppressed": "own_block",
             "suppression_order": "class_by_class"},
            ClassSuppression((AverageRisk(0.5),), "excluded", "own_block", "class_by_class"),
        ),
    ],
)  # fmt: skip
def test_levels_are_read_from_the_rule_as_they_were_sent(more: JsonObject, suppression: object):
    definition = sent({"kind": "table_level", "levels": LEVELS, **more})
    assert definition.suppression == suppression
    document = define_rule(definition, members()).document
    stated = {name: own for name, own in more.items() if (name, own) != ("meaning", 1)}
    assert {"kind": "table_level", "levels": LEVELS, **stated}.items() <= document.items()
    again = table_level_definition_of(document)
    assert (again.levels, again.suppression) == (LEVELS, suppression)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"suppress_classes_below": 3, "suppress_classes_failing": FAILING}, "at_most_one"),
        ({"suppress_classes_below": 3, "missing": "excluded"}, "needs_criteria"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_body(more: JsonObject, code: str):
    with pytest.raises(ValidationError) as refused:
        sent({"kind": "table_level", "levels": LEVELS, **more})
    assert [error["type"] for error in refused.value.errors()] == [code]
    with pytest.raises(InvalidInput):
        TableLevelDefinition(LEVELS, **more)


def test_faults_of_a_rule_below_point_into_it():
    failing = [*FAILING, {"kind": "delta_presence", "lower": 0.9, "upper": 0.1}]
    below = {"kind": "table_level", "levels": {}, "suppress_classes_failing": failing}
    for body, place in ((below, "/rule"), ({"kind": "at_least", "rule": below, "levels": {}}, "/rule/rule")):
        with pytest.raises(InvalidInput) as refused:
            sent(body)
        (fault,) = refused.value.faults
        assert fault.pointer.startswith(f"{place}/suppress_classes_failing/1/")

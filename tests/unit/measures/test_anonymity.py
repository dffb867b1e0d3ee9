"""k-anonymity as a measure: both readings, class sizes, against loops over the table."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.models.k_anonymity import ANONYMITY, AnonymityParameters, ClassSize
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import identity, record_rule, table_rule
from app.domain.tables.table import Table

CITY = Hierarchy.from_parents(
    {"a": ["north"], "b": ["north"], "c": ["south"], "north": [None], "south": [None]}
)
COLOUR = Hierarchy.from_parents({"red": [None], "blue": [None]})


def table_of(rows):
    columns = [CITY.encode([row[0] for row in rows])[0], COLOUR.encode([row[1] for row in rows])[0]]
    return Table(("city", "colour"), (CITY, COLOUR), np.stack(columns, axis=1))


TABLE = table_of([("a", "red"), ("b", "red"), ("a", "red"), ("c", "blue"), ("c", "blue"), ("c", "red")])


def measured(table, rule, k=2):
    context = MeasureContext(
        table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    parameters = AnonymityParameters(k)
    assert ANONYMITY.supports(context, parameters) is None
    ticks = []
    result = ANONYMITY.compute(context, parameters, ticks.append)
    assert ticks[-1] == ANONYMITY.cost(context, parameters).units
    return result


def test_classes_of_the_table_as_it_is():
    found = measured(TABLE, identity(2))
    assert (found.k_matching, found.k_equivalence, found.classes) == (1, 1, 4)
    assert found.class_sizes == (ClassSize(1, 2), ClassSize(2, 2))
    assert (found.records_below_k, found.is_k_anonymous) == (2, False)


@pytest.mark.spec("E-33")
def test_record_level_rules_tell_the_two_readings_apart():
    """One of two like records suppresses its city: neither looks like the other, yet both match both."""
    table = table_of([("a", "red"), ("a", "red")])
    found = measured(table, record_rule(table, np.array([[2, 0], [0, 0]], dtype=np.int16)))
    assert (found.k_equivalence, found.k_matching) == (1, 2)


@pytest.mark.spec("E-33")
def test_missing_values_tell_the_two_readings_apart():
    table = table_of([("a", "red"), ("a", "red"), (None, "red")])
    found = measured(table, identity(2))
    assert (found.k_equivalence, found.k_matching) == (1, 3)


@pytest.mark.parametrize("levels", [{"city": 0}, {"city": 1}, {"city": 2}, {"city": 1, "colour": 1}])
def test_full_domain_rules_on_complete_data_make_the_readings_one(levels):
    rule = table_rule(TABLE, levels)
    found = measured(TABLE, rule, k=3)
    north = {"a": "north", "b": "north", "c": "south"}
    shown = Tally(
        (
            [city, north[city], None][levels.get("city", 0)],
            [colour, None][levels.get("colour", 0)],
        )
        for city, colour in [
            ("a", "red"),
            ("b", "red"),
            ("a", "red"),
            ("c", "blue"),
            ("c", "blue"),
            ("c", "red"),
        ]
    )
    assert found.k_matching == found.k_equivalence == min(shown.values())
    assert found.classes == len(shown)
    assert {(entry.size, entry.classes) for entry in found.class_sizes} == set(Tally(shown.values()).items())
    assert found.records_below_k == sum(size for size in shown.values() if size < 3)


def test_whatever_is_suppressed_altogether_is_one_class():
    found = measured(TABLE, table_rule(TABLE, {"city": 2, "colour": 1}), k=6)
    assert (found.k_matching, found.class_sizes, found.is_k_anonymous) == (6, (ClassSize(6, 1),), True)

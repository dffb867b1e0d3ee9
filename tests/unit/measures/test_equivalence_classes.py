"""Classes of records as a measure: sizes, uniques, the smallest class; and the traps of other tools."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.models.judged import ClassRef
from app.domain.models.k_anonymity import (
    EQUIVALENCE_CLASSES,
    EquivalenceClassesParameters,
    SizeOfClasses,
)
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import encode, table_of
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, Role
from app.services.datasets.text_columns import TextColumn

ZIP = Hierarchy.from_parents(
    {"13053": ["130"], "13068": ["130"], "14853": ["148"], "130": [None], "148": [None]}
)
SEX = Hierarchy.from_parents({"f": [None], "m": [None]})
DISEASE = Hierarchy.from_parents({"flu": [None], "cancer": [None]})


def table_of_rows(rows, sensitive=("disease",)):
    trees = (ZIP, SEX, DISEASE)
    columns = [tree.encode([row[j] for row in rows])[0] for j, tree in enumerate(trees)]
    return Table(("zip", "sex", "disease"), trees, np.stack(columns, axis=1), sensitive=frozenset(sensitive))


ROWS = [
    ("13053", "f", "flu"),
    ("13053", "f", "cancer"),
    ("13068", "m", "flu"),
    ("14853", "f", "flu"),
    ("14853", "f", "flu"),
    ("14853", "f", "cancer"),
]


def measured(table, rule=None, **parameters):
    context = MeasureContext(
        table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    asked = EquivalenceClassesParameters(**parameters)
    assert EQUIVALENCE_CLASSES.supports(context, asked) is None
    ticks = []
    found = EQUIVALENCE_CLASSES.compute(context, asked, ticks.append)
    assert ticks[-1] == EQUIVALENCE_CLASSES.cost(context, asked).units
    return found


def test_the_classes_of_the_table_as_it_is():
    found = measured(table_of_rows(ROWS), k=3)
    assert (found.k, found.largest, found.is_k_anonymous) == (1, 3, False)
    assert found.sizes == (SizeOfClasses(1, 1, 1), SizeOfClasses(2, 1, 2), SizeOfClasses(3, 1, 3))
    assert (found.classes_below_k, found.records_below_k) == (2, 3)
    assert (found.unique_records, found.unique_share) == (1, 1 / 6)
    assert (found.mean_size, found.mean_size_of_records) == (2.0, (1 + 4 + 9) / 6)
    assert found.worst == ClassRef((3,), 1)
    assert found.judged.quasi_identifiers == ("zip", "sex")
    assert (found.judged.records, found.judged.records_judged, found.judged.classes) == (6, 6, 3)


def test_a_rule_is_judged_by_what_it_shows():
    found = measured(table_of_rows(ROWS), TableRule((2, 0, 0)), k=1)
    assert (found.k, found.sizes[-1], found.is_k_anonymous) == (1, SizeOfClasses(5, 1, 5), True)


@pytest.mark.spec("FM-5.9")
def test_only_attributes_of_that_role_or_those_named_make_classes():
    """Sensitive columns and undeclared ones make no classes, though they tell records apart."""
    columns = {
        "zip": TextColumn(("13053",), np.zeros(3, dtype=np.int32)),
        "disease": TextColumn(("flu", "cancer"), np.array([0, 1, 0], dtype=np.int32)),
        "note": TextColumn(("a", "b", "c"), np.arange(3, dtype=np.int32)),
    }
    roles = {"zip": Role.QUASI_IDENTIFIER, "disease": Role.SENSITIVE, "note": Role.OTHER}
    declared = [AttributeDeclaration(name, AttributeType.CATEGORICAL, role) for name, role in roles.items()]
    table = table_of(encode(declared, columns, {}), declared, columns)
    assert table.attributes == ("zip", "disease")
    assert (measured(table).k, measured(table).judged.quasi_identifiers) == (3, ("zip",))
    named = measured(table, quasi_identifiers=("disease", "zip"))
    assert (named.k, named.judged.quasi_identifiers) == (1, ("zip", "disease"))


@pytest.mark.spec("FM-5.4")
@pytest.mark.parametrize(
    ("missing", "sizes", "left_out"),
    [
        ("own_category", [(1, 1, 1), (2, 2, 4)], 0),
        ("matches_everything", [(2, 1, 2), (3, 2, 3)], 0),
        ("excluded", [(2, 2, 4)], 1),
    ],
)
def test_a_record_with_a_missing_value_is_counted_or_said_to_be_left_out(missing, sizes, left_out):
    """Dropped silently it would make the table 2-anonymous, which it is only if you ask for that."""
    rows = [*ROWS[:2], ("13053", None, "flu"), *ROWS[4:]]
    found = measured(table_of_rows(rows), missing=missing)
    assert found.sizes == tuple(SizeOfClasses(*own) for own in sizes)
    assert found.k == sizes[0][0]
    assert (found.judged.missing, found.judged.records) == (missing, 5)
    assert (found.judged.records_missing, found.judged.records_judged) == (left_out, 5 - left_out)


@pytest.mark.spec("FM-5.8")
def test_suppressed_records_are_no_big_class_unless_asked_for():
    table = table_of_rows(ROWS)
    shown = table.codes.copy(order="F")
    shown[3:, :2] = TOP
    found = measured(table, CellRule(shown))
    assert (found.largest, found.judged.records_judged, found.judged.records_suppressed) == (2, 3, 3)
    assert sum(own.records for own in found.sizes) == 3
    block = measured(table, CellRule(shown), suppressed="own_block")
    assert (block.largest, block.judged.records_judged, block.judged.records_suppressed) == (3, 6, 0)


@pytest.mark.spec("FM-5.8")
def test_an_attribute_that_is_suppressed_for_everybody_suppresses_nobody():
    found = measured(table_of_rows(ROWS), TableRule((2, 1, 0)))
    assert (found.k, found.judged.records_suppressed) == (6, 0)


@pytest.mark.spec("FM-5.7", "LD-14")
def test_an_empty_table_is_refused_by_name():
    with pytest.raises(InvalidInput) as refused:
        Table(("zip",), (ZIP,), np.empty((0, 1), dtype=np.int32))
    assert refused.value.faults[0].code == "empty-dataset"


@pytest.mark.spec("FM-5.7")
def test_one_column_and_a_constant_column_are_ordinary():
    one = Table(("sex",), (SEX,), np.array([[1], [1], [2]], dtype=np.int32))
    assert (measured(one).k, measured(one).judged.classes) == (1, 2)
    constant = table_of_rows([("13053", "f", "flu")] * 4)
    assert (measured(constant).k, measured(constant).sizes) == (4, (SizeOfClasses(4, 1, 4),))
    alone = Hierarchy(("*",), ((),))
    nothing = Table(("note",), (alone,), np.zeros((3, 1), dtype=np.int32))
    assert measured(nothing).k == 3


@pytest.mark.spec("FM-5.7")
def test_a_release_that_suppresses_everybody_has_no_k_and_no_worst_class():
    table = table_of_rows(ROWS)
    found = measured(table, CellRule(np.zeros_like(table.codes)))
    assert (found.k, found.largest, found.worst, found.sizes) == (None, None, None, ())
    assert (found.mean_size, found.mean_size_of_records, found.unique_share) == (None, None, None)
    assert found.judged.records_suppressed == 6
    assert found.is_k_anonymous


@pytest.mark.parametrize(
    ("names", "code"),
    [(("zip", "age"), "unknown-attribute"), (("zip", "zip"), "duplicate-attribute")],
)
def test_wrong_quasi_identifiers_are_refused(names, code):
    with pytest.raises(InvalidInput) as refused:
        measured(table_of_rows(ROWS), quasi_identifiers=names)
    fault = refused.value.faults[0]
    assert (fault.pointer, fault.code) == ("/measure/quasi_identifiers", code)


def test_a_table_without_quasi_identifiers_asks_for_them():
    with pytest.raises(InvalidInput) as refused:
        measured(table_of_rows(ROWS, sensitive=("zip", "sex", "disease")))
    assert refused.value.faults[0].code == "no-quasi-identifiers"


@pytest.mark.spec("LD-D01", "LD-E25")
def test_several_quasi_identifiers_count_as_their_union():
    """Each alone has companions for everybody, but not the same ones."""
    rows = [("13053", "f", "flu"), ("13053", "m", "flu"), ("13068", "f", "flu"), ("13068", "m", "flu")]
    table = table_of_rows(rows)
    assert measured(table, quasi_identifiers=("zip",)).k == 2
    assert measured(table, quasi_identifiers=("sex",)).k == 2
    assert measured(table, quasi_identifiers=("zip", "sex")).k == 1

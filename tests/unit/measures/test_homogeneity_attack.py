"""The homogeneity attack: the dissertation's test vectors, its boundary, and a trap of other tools."""

import numpy as np
import pytest

from app.domain.attacks.homogeneity_attack import HOMOGENEITY_ATTACK
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.rules import cell_rule
from tests.unit.measures import diversity_tables as tables


def attacked(found, rule=None, **parameters):
    return tables.measured(HOMOGENEITY_ATTACK, found, rule, **parameters)


def of_classes(*classes):
    """A table of classes with these counts of values."""
    rows = [
        (f"place {g}", value)
        for g, counts in enumerate(classes)
        for value, n in counts.items()
        for _ in range(n)
    ]
    hierarchies = (tables.flat(row[0] for row in rows), tables.flat(row[1] for row in rows))
    return tables.table(("place", "value"), hierarchies, rows, {"value"})


@pytest.mark.spec("LD-S1", "LD-D02")
def test_the_class_of_cancer_gives_itself_away():
    result = attacked(*tables.release_1())
    for found in (result.complete, result.near):
        assert (found.classes, found.records) == (1, 4)
        assert (found.share_of_classes, found.share_of_records) == (1 / 3, 1 / 3)
    [worst] = result.worst
    assert worst.exposed.rows == (9, 10, 11, 12)
    assert (worst.value, worst.with_value, worst.share) == (tables.C, 4, 1.0)
    assert [(own.value, own.classes, own.records) for own in result.by_value] == [(tables.C, 1, 4)]


@pytest.mark.spec("LD-S1", "LD-D02")
def test_the_diverse_release_has_no_such_class():
    result = attacked(*tables.release_2())
    assert (result.complete.classes, result.near.classes, result.worst, result.by_value) == (0, 0, (), ())


@pytest.mark.spec("LD-S7", "LD-D02")
def test_how_many_such_classes_chance_makes():
    """60,000 records in groups of 5, three equally likely values: 148.148 groups of 740.741 people."""
    place, value = np.repeat(np.arange(1, 12_001), 5), np.arange(60_000) % 3 + 1
    flat = [tables.flat(f"{i:05}" for i in range(n)) for n in (12_000, 3)]
    found = Table(("place", "value"), tuple(flat), np.stack([place, value], axis=1), sensitive={"value"})
    result = attacked(found)
    assert result.expected_classes == pytest.approx(148.148148, abs=5e-7)
    assert result.expected_records == pytest.approx(740.740741, abs=5e-7)
    assert result.complete.classes == 0


@pytest.mark.spec("LD-14", "LD-D02")
@pytest.mark.parametrize(
    ("theta", "counts", "is_near"),
    [
        (0.95, {"a": 19, "b": 1}, True),
        (0.95, {"a": 94, "b": 6}, False),
        (0.950000001, {"a": 19, "b": 1}, False),
        (0.7, {"a": 7, "b": 3}, True),
        (0.29, {"a": 29, **{f"b{i:02}": 1 for i in range(71)}}, True),
        (1.0, {"a": 1000, "b": 1}, False),
    ],
)
def test_the_boundary_is_inclusive_and_of_decimals(theta, counts, is_near):
    result = attacked(of_classes(counts), theta=theta)
    assert (result.near.classes == 1) is is_near
    assert result.near.records == (sum(counts.values()) if is_near else 0), "minority records are harmed too"


def test_the_largest_classes_come_first_and_values_by_their_records():
    result = attacked(of_classes({"a": 2}, {"b": 3}, {"a": 4}, {"a": 1, "b": 1}, {"c": 1}), top=3)
    assert [(own.exposed.records, own.value) for own in result.worst] == [(4, "a"), (3, "b"), (2, "a")]
    assert [(own.value, own.classes, own.records) for own in result.by_value] == [
        ("a", 2, 6),
        ("b", 1, 3),
        ("c", 1, 1),
    ]
    assert (result.complete.classes, result.single_records) == (4, 1)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_so_many_values_are_listed_and_all_are_counted(most):
    found = of_classes({"b": 3}, {"a": 4}, {"a": 1, "b": 1}, {"c": 1})
    result, whole = attacked(found, top_values=most), attacked(found)
    assert result.by_value == whole.by_value[:most]
    assert (result.values_given_away, len(whole.by_value)) == (3, 3)


@pytest.mark.spec("LD-14")
def test_of_equally_frequent_values_the_first_is_the_witness():
    [worst] = attacked(of_classes({"c": 2, "b": 2, "d": 1}), theta=0.4).worst
    assert (worst.value, worst.with_value) == ("b", 2)


@pytest.mark.spec("LD-14")
def test_missing_values_are_a_value_or_none():
    found = of_classes({"a": 2, "b": 1}, {"a": 1})
    codes = found.codes.copy()
    codes[2, 1] = TOP
    found = Table(found.attributes, found.hierarchies, codes, sensitive=found.sensitive)
    assert attacked(found).complete.classes == 1
    assert attacked(found, missing_sensitive="excluded").complete.records == 4


@pytest.mark.spec("FM-5.8")
def test_suppressed_records_are_no_class_unless_asked_for():
    found = of_classes({"a": 2}, {"b": 2})
    codes = found.codes.copy()
    codes[:2, 0] = TOP
    rule = cell_rule(found, codes)
    result = attacked(found, rule)
    assert (result.judged.records_suppressed, result.complete.records) == (2, 2)
    assert attacked(found, rule, suppressed="own_block").complete.records == 4


@pytest.mark.spec("FM-5.7")
def test_one_column_and_constant_columns_are_tables():
    found = of_classes({"a": 3})
    assert attacked(found).complete.records == 3
    of_suppressed = attacked(found, TableRule((1, 0)))
    assert (of_suppressed.judged.records_suppressed, of_suppressed.complete.classes) == (0, 1)
    with pytest.raises(InvalidInput, match="sensitive"):
        attacked(Table(found.attributes[:1], found.hierarchies[:1], found.codes[:, :1]))


def test_records_to_expect_are_those_of_the_classes_themselves():
    """A missing place matches all three: its class is of one record, expected with 3 values to agree."""
    rows = [("here", "a"), ("here", "b"), (None, "a")]
    hierarchies = (tables.flat(["here", "there"]), tables.flat("ab"))
    found = tables.table(("place", "value"), hierarchies, rows, {"value"})
    result = attacked(found, missing="matches_everything")
    alike = (2 / 3) ** 3 + (1 / 3) ** 3
    assert result.expected_classes == pytest.approx(2 * alike)
    assert result.expected_records == pytest.approx(3 * alike)

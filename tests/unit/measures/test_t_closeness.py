"""t-closeness as a measure: every distance with its worst class, what is not defined, and who is judged."""

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.t_closeness import T_CLOSENESS
from app.domain.rules.rule import CellRule, TableRule, record_rule
from app.domain.tables.table import Table
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import flat, measured, release_1, release_2, table

TREE = {
    "a1": ["a"], "a2": ["a"], "a3": ["a"], "x": ["xy"], "y": ["xy"], "xy": ["b"], "z": ["b"],
    "a": [None], "b": [None],
}  # fmt: skip
VALUES = ("a1", "a2", "a3", "x", "y", "z")


def by_distance(found):
    return {own.distance: own for own in found.distances}


@pytest.mark.spec("BL-T9")
def test_every_distance_of_classes_that_complete_each_other():
    """P is uniform over six values, and one class has the first three of them alone."""
    found = by_distance(
        measured(T_CLOSENESS, of_classes([(1, 1, 1, 0, 0, 0), (0, 0, 0, 1, 1, 1)], VALUES, TREE))
    )
    assert found["equal"].t == 1 / 2
    assert found["hierarchical"].t == 1 / 2
    assert found["ordered"].t == pytest.approx(0.3)
    assert found["kl"].t == math.inf
    assert found["js"].t == pytest.approx(0.311278124459)
    assert {own.unit for own in found.values()} == {"share of 1", "bits"}
    assert [own.worst.rows for own in found.values()] == [(1, 2, 3)] * 5


def test_means_name_what_they_are_of():
    """A class of two at distance 1/4 and one of six at 1/12: 1/6 over classes, 1/8 over records."""
    found = measured(T_CLOSENESS, of_classes([(2, 0), (4, 2)], ("v", "w")))
    own = by_distance(found)["equal"]
    assert own.t == 1 / 4
    assert own.mean_of_classes == pytest.approx((1 / 4 + 1 / 12) / 2)
    assert own.mean_of_records == pytest.approx((2 / 4 + 6 / 12) / 8)
    assert (own.worst.rows, own.worst.records) == ((1, 2), 2)
    assert (found.most_raised.value, found.most_raised.in_table, found.most_raised.in_class) == ("v", 0.75, 1)


@pytest.mark.parametrize(("t", "farther"), [(0.24, 1), (0.25, 0), (0.08, 2), (0.0834, 1)])
def test_exactly_at_t_is_close(t, farther):
    found = measured(T_CLOSENESS, of_classes([(2, 0), (4, 2)], ("v", "w")), t=t)
    assert (found.classes_farther, found.is_t_close) == (farther, not farther)
    assert found.records_farther == (0, 2, 8)[farther]


def test_a_decimal_t_is_the_decimal_it_is_written_as():
    """0.3 is no binary fraction; a distance of 3/10 is within it all the same."""
    found = measured(T_CLOSENESS, of_classes([(8, 2), (2, 8)], ("v", "w")), t=0.3)
    assert by_distance(found)["equal"].t == pytest.approx(0.3)
    assert found.is_t_close


@pytest.mark.spec("LD-S1")
def test_the_inpatient_releases():
    """R1 has a class of cancer alone (5 of 12): 7/12 of its mass moves; in R2 no class is as far."""
    assert by_distance(measured(T_CLOSENESS, *release_1()))["equal"].t == 7 / 12
    assert by_distance(measured(T_CLOSENESS, *release_2()))["equal"].t == pytest.approx(1 / 6)


def test_missing_values_have_no_place_in_the_order():
    rows = [("c0", "v"), ("c0", None), ("c1", "w"), ("c1", "v")]
    found = table(("place", "condition"), (flat(["c0", "c1"]), flat(["v", "w"])), rows, {"condition"})
    result = measured(T_CLOSENESS, found)
    assert set(by_distance(result)) == {"equal", "hierarchical", "kl", "js"}
    assert len(result.not_defined) == 1
    with pytest.raises(NotSupported):
        measured(T_CLOSENESS, found, distance="ordered")
    without = measured(T_CLOSENESS, found, distance="ordered", missing_sensitive="excluded")
    assert (without.values, without.records_without_value, without.not_defined) == (2, 1, ())
    assert by_distance(without)["ordered"].t == pytest.approx(1 / 3)


def test_hierarchies_that_are_no_trees_have_no_common_height():
    dag = {"v": ["g", "h"], "w": ["g"], "g": [None], "h": [None]}
    result = measured(T_CLOSENESS, of_classes([(1, 0), (1, 2)], ("v", "w"), dag))
    assert "hierarchical" not in by_distance(result)
    with pytest.raises(NotSupported):
        measured(T_CLOSENESS, of_classes([(1, 0), (1, 2)], ("v", "w"), dag), distance="hierarchical")


@pytest.mark.spec("FM-5.8")
def test_suppressed_records_are_no_class_and_still_in_the_table():
    """Two of six records are suppressed: they are judged by name only, and the reference has them always."""
    found = of_classes([(2, 0), (1, 1), (0, 2)], ("v", "w"))
    levels = np.zeros((6, 2), dtype=np.int16)
    levels[4:, 0] = 1
    rule = record_rule(found, levels)
    result = measured(T_CLOSENESS, found, rule)
    assert (result.judged.classes, result.judged.records_suppressed) == (2, 2)
    assert by_distance(result)["equal"].mean_of_classes == pytest.approx((1 / 2 + 0) / 2)
    block = measured(T_CLOSENESS, found, rule, suppressed="own_block")
    assert (block.judged.classes, block.judged.records_suppressed) == (3, 0)


def test_records_that_match_everything_count_in_every_class():
    """Somebody of unknown place may be of either class: (v, w) and (w, w), with x in both."""
    rows = [("c0", "v"), ("c0", "w"), ("c1", "w"), ("c1", "w"), (None, "x")]
    found = table(("place", "condition"), (flat(["c0", "c1"]), flat(["v", "w", "x"])), rows, {"condition"})
    own = by_distance(measured(T_CLOSENESS, found, missing="matches_everything"))["equal"]
    # P is (1, 3, 1)/5; the classes are (1, 1, 1)/3, (0, 2, 1)/3 and, of the unknown one, everybody.
    distances = [4 / 15, 1 / 5, 0]
    assert own.t == pytest.approx(max(distances))
    assert own.mean_of_classes == pytest.approx(sum(distances) / 3)
    assert own.mean_of_records == pytest.approx((2 * distances[0] + 2 * distances[1]) / 5)
    left_out = measured(T_CLOSENESS, found, missing="excluded")
    assert (left_out.judged.records_missing, left_out.values) == (1, 3)


@pytest.mark.spec("FM-5.7")
def test_a_constant_column_and_a_single_record():
    for classes in ([(3,)], [(1,)], [(1,), (1,)]):
        result = measured(T_CLOSENESS, of_classes(classes, ("v",)))
        assert [own.t for own in result.distances] == [0] * 5
        assert result.is_t_close


def test_nothing_to_judge_is_said():
    rows = [("c0", None), ("c1", None)]
    found = table(("place", "condition"), (flat(["c0", "c1"]), flat(["v"])), rows, {"condition"})
    result = measured(T_CLOSENESS, found, missing_sensitive="excluded")
    assert [own.t for own in result.distances] == [None] * 5
    assert (result.records_without_value, result.most_raised, result.is_t_close) == (2, None, True)


def test_generalised_sensitive_values_are_values_of_their_own():
    """Under a rule that shows groups, their shares count, and the heights of what they have in common."""
    found = of_classes([(1, 1, 0, 0, 0, 0), (0, 0, 1, 1, 0, 0)], VALUES, TREE)
    result = by_distance(measured(T_CLOSENESS, found, TableRule((0, 2))))
    assert result["equal"].t == pytest.approx(1 / 4)
    assert result["hierarchical"].t == pytest.approx(1 / 4)


def test_the_attribute_must_be_clear():
    codes = np.ones((2, 2), dtype=np.int32)
    plain = Table(("a", "b"), (Hierarchy.from_parents({"v": [None]}),) * 2, codes)
    with pytest.raises(InvalidInput):
        measured(T_CLOSENESS, plain)


def test_values_that_only_suppressed_records_have_are_raised_as_the_others():
    """The rule shows a1 as the group a; of the suppressed a2 the whole table is taken to show the same."""
    found = of_classes([(1, 0, 0, 0, 1), (1, 0, 0, 0, 1), (0, 2, 0, 0, 0)], ("a1", "a2", "x", "y", "z"), TREE)
    group = found.hierarchies[1].node_of("a")
    shown = found.codes.copy(order="F")
    shown[:, 1] = np.where(shown[:, 1] == found.hierarchies[1].node_of("a1"), group, shown[:, 1])
    shown[4:] = 0
    result = measured(T_CLOSENESS, found, CellRule(shown))
    assert result.values == 2
    assert by_distance(result)["equal"].t == pytest.approx(4 / 6 - 1 / 2)
    ambiguous = shown.copy(order="F")
    ambiguous[1, 1] = 0
    ambiguous[3, 1] = 0
    with pytest.raises(NotSupported, match="alike for all records"):
        measured(T_CLOSENESS, found, CellRule(ambiguous))


def test_suppressed_values_in_a_block_of_their_own_are_counted_as_none():
    found = of_classes([(1, 1), (2, 0)], ("a1", "x"), {"a1": [None], "x": [None]})
    shown = found.codes.copy(order="F")
    shown[2:] = 0
    result = measured(T_CLOSENESS, found, CellRule(shown), suppressed="own_block")
    assert (result.judged.records_judged, result.records_without_value) == (4, 2)

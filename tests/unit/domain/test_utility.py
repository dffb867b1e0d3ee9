"""Utility of disclosed records."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility, rounded_half_away
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, CUTS, INCOME, RACE, T, levels_of, nodes

TV_10 = {
    ("Lafayette", "Chinese", "20-39"): (9, 3, 4.941642, 0, 0),
    ("Lafayette", None, None): (5, 1.45, 1.945910, 1.55, 2),
    ("Greater Lafayette", "Asian", None): (5, 1.083333, 1.763589, 1.292857, 1.666667),
    ("Tippecanoe", "Asian", "High"): (5, 1.166667, 2.051271, 0.935714, 1.166667),
    ("Indiana", "White", None): (4, 1.5, 2.169054, 1.178571, 1.5),
    ("Illinois", None, None): (2, 0.95, 1.252763, 1.692857, 2.166667),
    (None, None, None): (0, 0.592857, 0, 2.407143, 3),
}


@pytest.mark.spec("TV-10")
@pytest.mark.parametrize(
    ("model", "column"),
    [("depth_sum", 0), ("inverse_leaves", 1), ("log_leaves", 2), ("info_loss_xt", 3), ("info_loss_lm", 4)],
)
def test_every_model_has_the_values_of_the_specification(model, column):
    utility = build_utility(T, model)
    values = utility.of(nodes(*TV_10))
    if model.startswith("info_loss"):
        assert values.min() >= 0
        values = utility.information_loss(values)
    np.testing.assert_allclose(values, [row[column] for row in TV_10.values()], atol=5e-7)


@pytest.mark.spec("TV-10")
@pytest.mark.parametrize(
    ("rule", "depth", "log"),
    [
        ("identity", 8.166667, 4.673403),
        ("G1", 5.666667, 2.940535),
        ("G2", 4.833333, 2.766119),
        ("G3", 2.833333, 1.650134),
    ],
)
def test_table_means_are_those_of_the_specification(rule, depth, log):
    disclosed = apply(TableRule(levels_of(CUTS[rule])), T)
    assert build_utility(T, "depth_sum").of(disclosed).mean() == pytest.approx(depth, abs=5e-7)
    assert build_utility(T, "log_leaves").of(disclosed).mean() == pytest.approx(log, abs=5e-7)


@pytest.mark.spec("TV-10")
def test_depths_per_record_are_those_of_the_specification():
    utility = build_utility(T)
    assert utility.of(T.codes).tolist() == [9, 9, 8, 8, 8, 7]
    assert utility.of(apply(TableRule(levels_of(CUTS["G1"])), T)).tolist() == [6, 6, 6, 6, 6, 4]


def test_a_hierarchy_of_the_top_alone_loses_nothing():
    h = Hierarchy(("*",), ((),))
    table = Table(("a",), (h,), np.zeros((1, 1), dtype=np.int32))
    utility = build_utility(table, "info_loss_lm")
    assert utility.information_loss(utility.of(table.codes)).tolist() == [0.0]


@pytest.mark.spec("E-16")
@pytest.mark.parametrize("model", ["info_loss_xt", "info_loss_lm"])
def test_a_loss_rises_under_generalisation_and_its_cap_is_a_floor_of_the_utility(model):
    utility = build_utility(T, model)
    rows = nodes(("Lafayette", "Chinese", "20-39"), ("Indiana", "Asian", "Low"), (None, None, None))
    losses = utility.information_loss(utility.of(rows))
    assert utility.is_loss
    assert losses[0] == pytest.approx(0.0, abs=1e-15)
    assert (np.diff(losses) > 0).all()
    for cap in (0.0, 0.5, 1.5, float(losses[1]), 3.0):
        reached = utility.of(rows) >= utility.floor_of_loss(cap) - 1e-9
        assert reached.tolist() == (losses <= cap + 1e-9).tolist()


@pytest.mark.spec("TV-10")
def test_the_record_of_the_case_study_has_the_published_utility():
    """City, race, birth date and income kept whole, of heights 4, 2, 3 and 4."""
    chains = [
        Hierarchy.from_rows([[str(level) for level in range(height)] + ["*"]]) for height in (4, 2, 3, 4)
    ]
    record = np.array([[h.leaves[0] for h in chains]])
    assert build_utility(Table(tuple("abcd"), tuple(chains), record)).of(record).tolist() == [13]


def test_other_models_have_no_loss():
    utility = build_utility(T)
    assert not utility.is_loss
    with pytest.raises(ValueError, match="depth_sum"):
        utility.floor_of_loss(1.0)


@pytest.mark.spec("E-13")
def test_depth_is_heights_minus_levels_only_where_all_leaves_are_equally_deep():
    """Dayton lies one level less deep than Lafayette, and level 1 leaves it as it is."""
    utility = build_utility(T)
    disclosed = apply(TableRule((1, 0, 0)), T)
    heights_minus_levels = sum(h.height for h in T.hierarchies) - 1
    depth = utility.of(disclosed)
    assert depth[0] == heights_minus_levels
    assert T.hierarchies[0].labels[disclosed[2, 0]] == "Dayton"
    assert depth[2] == heights_minus_levels == utility.of(T.codes)[2]
    assert utility.of(T.codes).tolist() != [sum(h.height for h in T.hierarchies)] * 6


@pytest.mark.spec("E-14")
def test_heights_are_those_of_the_hierarchies_given():
    flat = Table(("city",), (Hierarchy.from_parents({"a": [None]}),), np.array([[1]]))
    deep = Table(("city",), (Hierarchy.from_parents({"a": ["b"], "b": ["c"], "c": [None]}),), np.array([[3]]))
    assert build_utility(flat).of(flat.codes).tolist() == [1]
    assert build_utility(deep).of(deep.codes).tolist() == [3]


@pytest.mark.parametrize(
    "model", ["depth_sum", "inverse_leaves", "log_leaves", "info_loss_xt", "info_loss_lm"]
)
def test_an_attribute_counts_as_much_as_its_weight(model):
    plain, weighted = build_utility(T, model), build_utility(T, model, {"city": 3.0, "race": 0.0})
    np.testing.assert_array_equal(weighted.values[0], 3.0 * plain.values[0])
    assert not weighted.values[1].any()
    np.testing.assert_array_equal(weighted.values[2], plain.values[2])
    if plain.is_loss:
        rows = nodes((None, None, None), ("Dayton", None, "20-39"))
        losses = weighted.information_loss(weighted.of(rows))
        single = [plain.values[j].max() - plain.values[j][0] for j in range(3)]
        assert losses.tolist() == pytest.approx([3 * single[0] + single[2], 0.0], abs=1e-12)


RACES = dict.fromkeys(RACE.labels[1:], 1.0)
CUSTOM = {
    "city": dict.fromkeys(CITY.labels[1:], 2.0),
    "race": {**RACES, "Chinese": 4.0, "Asian": 0.5},
    "income": dict.fromkeys(INCOME.labels, 0.25),
}


@pytest.mark.spec("TV-10")
def test_custom_values_are_summed_and_the_top_has_only_what_it_is_given():
    utility = build_utility(T, "custom", node_values=CUSTOM)
    rows = nodes(("Dayton", "Chinese", "Low"), ("Midwest", "Asian", None), (None, None, None))
    assert utility.of(rows).tolist() == [6.25, 2.75, 0.25]
    assert not utility.is_loss


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"race": {**RACES, "Chinese": -1.0}}, [("/utility/values/race/Chinese", "invalid-value")]),
        ({"race": {**RACES, "Chinese": math.inf}}, [("/utility/values/race/Chinese", "invalid-value")]),
        ({"race": {**RACES, "Chinese": math.nan}}, [("/utility/values/race/Chinese", "invalid-value")]),
        ({"race": {**RACES, "Martian": 1.0}}, [("/utility/values/race/Martian", "unknown-value")]),
        (
            {"race": {**RACES, "Asian": 2.0, "European": 1.5}},
            [("/utility/values/race/Asian", "not-monotone")] * 3
            + [("/utility/values/race/European", "not-monotone")],
        ),
        ({"race": {**RACES, "*": 1.5}}, [("/utility/values/race/*", "not-monotone")] * 3),
        ({"height": {}}, [("/utility/values/height", "unknown-attribute")]),
    ],
)
def test_custom_values_that_are_not_valid_are_named_one_by_one(changes, expected):
    with pytest.raises(InvalidInput) as caught:
        build_utility(T, "custom", node_values={**CUSTOM, **changes})
    assert [(fault.pointer, fault.code) for fault in caught.value.faults][: len(expected)] == expected


def test_missing_values_are_named_except_those_that_may_be_cells_of_the_data():
    h = Hierarchy.from_parents({"region": [None], "town": ["region"]}).with_attached(["secret", "other"])
    table = Table(("a", "b"), (h, h), np.zeros((1, 2), dtype=np.int32))
    with pytest.raises(InvalidInput) as caught:
        build_utility(table, "custom", node_values={"a": {"region": 1.0, "other": 1.0}})
    faults = caught.value.faults
    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/utility/values/a/town", "missing-value"),
        ("/utility/values/a", "missing-value"),
        ("/utility/values/b", "missing-attribute"),
    ]
    assert "secret" not in " ".join(fault.message + fault.remedy + fault.pointer for fault in faults)


@pytest.mark.parametrize(
    ("weights", "values", "code"),
    [
        ({"zip": 1.0}, None, "unknown-attribute"),
        ({"city": -1.0}, None, "invalid-weight"),
        ({"city": math.inf}, None, "invalid-weight"),
        ({"city": math.nan}, None, "invalid-weight"),
        (None, CUSTOM, "values-not-used"),
    ],
)
def test_options_that_make_no_sense_are_refused(weights, values, code):
    with pytest.raises(InvalidInput) as caught:
        build_utility(T, "depth_sum", weights, values)
    assert [fault.code for fault in caught.value.faults] == [code]


@pytest.mark.spec("E-15")
@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (7.5, 8.0),
        (6.5, 7.0),
        (7.499999999999999, 7.0),
        (0.49999999999999994, 0.0),
        (-2.5, -3.0),
        (-2.4, -2.0),
        (0.0, 0.0),
        (4503599627370497.5, 4503599627370498.0),
    ],
)
def test_halves_are_rounded_away_from_zero(value, rounded):
    assert rounded_half_away(value) == rounded


@pytest.mark.spec("E-15")
def test_utilities_are_not_rounded():
    """The mean under G3 is 2.83: rounded it would pass a floor of 3."""
    mean = build_utility(T).of(apply(TableRule(levels_of(CUTS["G3"])), T)).mean()
    assert mean == pytest.approx(17 / 6)
    assert mean < 3 <= rounded_half_away(mean)


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput) as caught:
        build_utility(T, "entropy")  # type: ignore[arg-type]
    assert "depth_sum" in caught.value.remedy

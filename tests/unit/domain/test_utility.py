"""Utility of disclosed records."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies import Hierarchy
from app.domain.rules import TableRule, apply
from app.domain.tables import Table
from app.domain.utility import build_utility
from tests.unit.domain.fixture_f import CUTS, T, levels_of, nodes

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


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput) as caught:
        build_utility(T, "entropy")  # type: ignore[arg-type]
    assert "depth_sum" in caught.value.remedy

"""What missing values, originals above leaves and suppressed records lose, as docs/least-loss.md says it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.analyses.information_loss import INFORMATION_LOSS, InformationLossParameters
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.kl_divergence import KLDivergenceLoss
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, RecordRule, TableRule
from app.domain.tables.table import Table

TREE = Hierarchy.from_parents({"u": [None], "v": [None], "a": ["u"], "b": ["u"], "c": ["v"]})
"""Three leaves; nobody has b, and one record has the region u."""
A, U, C = (TREE.node_of(text) for text in "auc")
TABLE = Table(("place",), (TREE,), np.array([[A], [U], [TOP], [C]], dtype=np.int32))


def measured(rule, table=TABLE, **parameters):
    utility = build_utility(table, "depth_sum")
    context = MeasureContext(table, rule, None, None, None, utility, MODEL_I, "zero")
    return INFORMATION_LOSS.compute(context, InformationLossParameters(**parameters), lambda _: None)


def test_the_table_as_it_is_loses_what_its_cells_leave_open():
    found = measured(TableRule((0,)))
    # Leaves: 1 of a, 2 of u, 3 of what is missing, 1 of c.
    assert found.arithmetic == pytest.approx((7 - 4) / (4 * 2))
    assert found.ambiguity == 7
    assert found.ail == pytest.approx((2 / 3 + 1) / 4)
    assert (found.precision_loss, found.non_uniform_entropy, found.kl_divergence) == (0, 0, 0)
    assert (found.discernibility, found.average_class_size, found.generalisation_height) == (4, 1, 0)


def test_at_level_1_an_original_above_leaves_is_as_it_was():
    found = measured(TableRule((1,)))
    assert found.precision_loss == pytest.approx((1 / 2 + 1 / 2) / 4)
    # Of the two records under u one has a; c is alone under v.
    assert found.non_uniform_entropy == pytest.approx(1)
    assert found.discernibility == 2**2 + 1 + 1
    # u stands for a and itself, each of which one record has; of the leaves b is a third.
    assert found.kl_divergence == pytest.approx(0)
    declared = measured(TableRule((1,)), leaf_domain="declared")
    assert declared.kl_divergence == pytest.approx(2 / 4 * math.log(3 / 2))


def test_an_attribute_that_is_suppressed_does_not_tell_who_lacked_a_value():
    found = measured(TableRule((2,)))
    assert found.precision_loss == pytest.approx(3 / 4)
    assert found.non_uniform_entropy == pytest.approx(math.log2(4) + math.log2(4 / 2) + math.log2(4))
    # Four values occur, ⊥ among them: each is as frequent as it seems.
    assert found.kl_divergence == pytest.approx(0)


def test_a_suppressed_record_loses_everything_but_what_was_missing():
    """The first record is suppressed; nobody tells the third, which shows nothing either, from it."""
    found = measured(CellRule(np.array([[TOP], [U], [TOP], [C]], dtype=np.int32)))
    assert found.arithmetic == pytest.approx((3 + 2 + 3 + 1 - 4) / (4 * 2))
    assert found.ambiguity == 9
    assert found.ail == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert found.precision_loss == pytest.approx(1 / 4)
    assert found.non_uniform_entropy == pytest.approx(math.log2(4))
    assert found.discernibility == 1 + 1 + 2 * 4
    assert found.average_class_size == pytest.approx(4 / 3)
    assert found.generalisation_height == 0
    # Two records are spread over ⊥, a, u and c, and u over a and itself.
    densities = {A: 2 / 4 + 1 / 2, U: 2 / 4 + 1 / 2, TOP: 2 / 4, C: 2 / 4 + 1}
    assert found.kl_divergence == pytest.approx(-sum(map(math.log, densities.values())) / 4)


def test_cells_do_not_tell_an_original_node_from_one_that_others_became():
    as_it_is = measured(RecordRule(np.zeros((4, 1), dtype=np.int16)))
    # The third record shows nothing: it counts as suppressed.
    densities = {A: 1 + 1 / 2 + 1 / 4, U: 1 / 2 + 1 / 4, TOP: 1 / 4, C: 1 + 1 / 4}
    assert as_it_is.kl_divergence == pytest.approx(-sum(map(math.log, densities.values())) / 4)
    assert as_it_is.generalisation_height == 0


def test_certainty_is_lost_by_ranges_of_numbers_and_where_there_is_more_than_one_leaf():
    numbers = Hierarchy.from_parents({"low": [None], "1": ["low"], "2": ["low"], "4": [None]})
    nodes = [numbers.node_of(text) for text in ("1", "low", "4")]
    table = Table(("age",), (numbers,), np.array([[TOP], *([node] for node in nodes)], dtype=np.int32))
    assert measured(TableRule((0,)), table, numeric=("age",)).ail == pytest.approx((3 + 0 + 1 + 0) / (4 * 3))
    single = Hierarchy.from_parents({"x": [None]})
    table = Table(("only",), (single,), np.array([[TOP], [1]], dtype=np.int32))
    assert measured(TableRule((1,)), table).ail == 0


def test_more_time_is_expected_where_boxes_have_to_be_looked_up():
    leaves = Table(("place",), (TREE,), np.array([[A], [C], [TOP]], dtype=np.int32))
    assert KLDivergenceLoss(TABLE, (0,)).more_seconds > KLDivergenceLoss(leaves, (0,)).more_seconds == 0

"""The unit in which a dynamic programme counts utility, and what has none."""

import math

import numpy as np
import pytest

from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import Utility
from app.domain.search.blocks import carry_out
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.record_rules.knapsack import unit_of
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table


@pytest.mark.parametrize(
    ("gain", "unit"),
    [
        ([0, 1, 4], 1.0),
        ([0, 0.5, 0.75], 0.25),
        ([0, 1 / 3, 0.5], 1 / 6),
        ([0, 0], 1.0),
        ([1, math.sqrt(2)], None),
    ],
)
def test_the_unit_is_the_greatest_that_all_are_whole_numbers_of(gain, unit):
    found = unit_of(np.array(gain, dtype=float))
    assert found == (unit if unit is None else pytest.approx(unit))


@pytest.mark.parametrize("greatest", [1e10, 1e20, 1e300])
def test_utilities_too_far_apart_have_no_unit(greatest):
    assert unit_of(np.array([0.0, 1.0, greatest])) is None


@pytest.mark.parametrize("greatest", [pytest.param(1e8, marks=pytest.mark.deep), 1e12, 1e20, 1e30])
def test_a_mean_of_utilities_that_are_far_apart_is_answered_with_a_bound(greatest):
    """One record as it is reaches the mean alone; no other choice does without it."""
    tree = Hierarchy.from_rows([["a", "A"], ["b", "A"], ["c", "C"]])
    table = Table(("x",), (tree,), np.array([[tree.node_of("a")], [tree.node_of("c")]], dtype=np.int32))
    values = np.zeros(tree.n_nodes)
    worth = {"a": 2 * greatest, "b": 2 * greatest, "A": greatest, "c": 2.0, "C": 1.0}
    for code, label in enumerate(tree.labels):
        values[code] = worth.get(label, 0.0)
    sensitivity = build_sensitivity(table, "linear", {"x": ConstantWeight(1.0)})
    context = SearchContext(table, dictionary_of(table), sensitivity, Utility("custom", (values,)))
    problem = Problem(MinRisk(greatest), "record_level", constraint="average")
    search = plan(context, problem)
    outcome = carry_out(search)
    assert outcome.status in ("optimal", "heuristic")
    assert outcome.utility >= greatest * (1 - 1e-12)
    assert outcome.bounds.lower <= outcome.risk
    if outcome.status == "optimal":
        assert outcome.risk == pytest.approx(0.5)

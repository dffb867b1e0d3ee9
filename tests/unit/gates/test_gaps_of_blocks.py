"""Gaps of releases whose suppressed records are judged as one more class."""

from __future__ import annotations

import math

import numpy as np

from app.domain.classes.released import Release
from app.domain.gates.optima import gap_of_loss, relative_gap
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.criterion import Criterion
from app.domain.models.population_uniqueness import SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table

PLACES = Hierarchy.from_parents({f"place {i}": [None] for i in range(4)})
TABLE = Table(
    ("place",), (PLACES,), np.array([[PLACES.node_of(f"place {i}")] for i in (0, 1, 2, 2, 3, 3, 3, 3, 3, 3)])
)


def gap_of_suppressing(shown: list[int], criterion: Criterion) -> float:
    codes = np.full_like(TABLE.codes, TOP)
    codes[shown] = TABLE.codes[shown]
    problem = AnonymityProblem((criterion,), 0.9, LossChoice("precision"), suppressed="own_block")
    return gap_of_loss(Release(TABLE, CellRule(codes)), problem, build_utility(TABLE, "depth_sum"), 0.0)


def test_a_great_block_makes_up_for_no_risk_of_the_records_that_remain():
    # Two records that are unique, and eight that are one class if the block counts as one.
    for criterion in (AverageRisk(0.4), SampleUniqueness(0.3)):
        assert gap_of_suppressing([0, 1], criterion) == math.inf
        assert gap_of_suppressing([4, 5, 6, 7, 8, 9], criterion) == 1.0


def test_the_block_is_judged_as_well():
    everybody_but_one = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert gap_of_suppressing(everybody_but_one[1:], HighestRisk(0.5)) == 1.0
    assert gap_of_suppressing(everybody_but_one[3:], HighestRisk(0.2)) == math.inf


def test_a_gap_is_a_share_of_the_value():
    assert relative_gap(4.0, 3.0) == 0.25
    assert relative_gap(-3.0, -4.0) == 1 / 3
    assert relative_gap(0.5, 0.5) == 0.0
    assert relative_gap(0.0, -1.0) == relative_gap(math.inf, 1.0) == math.inf

"""The lattices on which the experiments compare searches."""

import itertools

import numpy as np
import pytest

from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from app.experiments.record_lattices import (
    CountedLattice,
    frontier_size,
    generated_lattice,
    lattice_of,
    random_lattice,
)
from app.experiments.solving import context_of, solve
from app.experiments.synthetic import generate

C1 = CountedLattice(
    weights=((0.6, 0.3, 0.1, 0.0), (0.4, 0.2, 0.0)),
    utilities=((3.0, 2.0, 1.0, 0.0), (2.0, 1.0, 0.0)),
    thresholds=np.array(
        [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0), (3, 2), (3, 2)], dtype=np.int16
    ),
)


def nodes_of(lattice):
    return itertools.product(*(range(height + 1) for height in lattice.heights))


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize(
    ("node", "utility", "risk"),
    [((0, 0), 5, 1.0), ((1, 1), 3, 0.125), ((2, 2), 1, 0.1 / 7), ((3, 0), 2, 0.1), ((3, 2), 0, 0.0)],
)
def test_a_node_has_the_risk_and_utility_of_the_specification(node, utility, risk):
    assert C1.utility(node) == utility
    assert C1.risks(node) == pytest.approx((risk, risk))


@pytest.mark.spec("TV-13")
def test_generated_lattices_are_those_of_the_specification():
    lattice = generated_lattice(2009, (3, 2, 2), 25)
    assert lattice.utilities == ((5, 3, 1, 0), (8, 4, 0), (3, 2, 0))
    assert lattice.weights == ((10, 7, 4, 0), (14, 6, 0), (10, 7, 0))
    first = [(0, 0, 0), (0, 2, 0), (3, 0, 0), (1, 0, 2), (2, 2, 0)]
    assert [tuple(row) for row in lattice.thresholds[:5].tolist()] == first
    assert min(lattice.risks(x)[0] for x in nodes_of(lattice) if lattice.utility(x) >= 12) == pytest.approx(
        5.6
    )


@pytest.mark.parametrize("floor", [2, 6, 9])
def test_a_record_of_the_synthetic_data_has_the_optimum_that_the_product_finds(floor):
    data = generate(4, 300)
    context = context_of(data, 3, data.dictionary(0, 300), "linear_personal")
    losses = solve(context, Problem(MinRisk(float(floor)), "record_level")).assessment.records.loss
    for row in range(3):
        lattice = lattice_of(data, row)
        least = min(lattice.risks(x)[0] for x in nodes_of(lattice) if lattice.utility(x) >= floor)
        assert least == pytest.approx(losses[row])


def test_random_lattices_fall_and_hold_the_record():
    lattice = random_lattice((3, 1, 2), 50, np.random.default_rng(1))
    assert lattice.heights == (3, 1, 2)
    assert lattice.thresholds.shape == (50, 3)
    assert (lattice.thresholds[0] == 0).all()
    for chain in (*lattice.weights, *lattice.utilities):
        assert list(chain) == sorted(chain, reverse=True)
        assert chain[-1] == 0
    assert (lattice.thresholds.max(axis=0) == lattice.heights).all()


@pytest.mark.spec("INV-6", "TV-13")
@pytest.mark.parametrize("heights", [(3, 2), (1,), (2, 1, 3), (2, 2, 2)])
def test_the_formula_counts_frontier_nodes(heights):
    def is_frontier(node, floor):
        utility = sum(h - x for h, x in zip(heights, node, strict=True))
        generalises = any(x < h for h, x in zip(heights, node, strict=True))
        return utility >= floor and generalises and utility - 1 < floor

    nodes = list(itertools.product(*(range(h + 1) for h in heights)))
    for floor in range(1, sum(heights) + 2):
        assert frontier_size(heights, floor) == sum(is_frontier(node, floor) for node in nodes)
    assert frontier_size(heights, 0) == 0

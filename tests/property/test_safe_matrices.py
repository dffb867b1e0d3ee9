"""Transition matrices for β-likeness against dense ones made by loops, over random priors and thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.classes.gains import frequency_bounds
from app.domain.classes.ratios import as_written
from app.domain.mechanisms.count_estimates import deviations
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.likeness_matrix import (
    excess_amplification,
    greatest_floor,
    published_matrix,
    safe_matrix,
)
from app.domain.mechanisms.several_draws import posterior, posteriors_together
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from tests.oracles import perturbation_by_hand as by_hand
from tests.oracles.effort import examples

BETAS = (1e-9, 0.01, 0.5, 1.0, 2.0, 4.5, 50.0, 1e6)
OBJECTIVES = ("paper", "retention")


def instances(wanted, seed):
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        totals = by_hand.random_totals(rng)
        beta = float(rng.choice(BETAS))
        yield rng, totals, totals / totals.sum(), beta, excess_amplification(totals, as_written(beta))


@pytest.mark.spec("BL-6")
def test_amplification_bounds_every_posterior():
    """Theorem 2: any matrix of which no two entries of a row differ by more than γ keeps the bound."""
    rng = np.random.default_rng(1)
    for _ in range(examples(400)):
        m = int(rng.integers(2, 6))
        prior = rng.dirichlet(np.ones(m))
        rows = rng.dirichlet(np.ones(m) * rng.choice([1, 20]), m).T
        for i in range(m):
            factor = (rows[:, i] / rows.min(axis=1)).max()
            bound = prior[i] * factor / (prior[i] * factor + 1 - prior[i])
            assert by_hand.greatest_posteriors(rows.tolist(), prior.tolist())[i] <= bound * (1 + 1e-12)


def check_safe_matrices(wanted, seed):
    for rng, totals, prior, beta, excess in instances(wanted, seed):
        m = len(totals)
        bounds = frequency_bounds(totals, int(totals.sum()), as_written(beta), "enhanced")
        floor = None if rng.integers(2) else greatest_floor(excess) * float(rng.choice([1.0, 0.3, 1e-3]))
        for objective in OBJECTIVES:
            found = safe_matrix(excess, prior, objective, floor)
            rows = found.matrix.dense()
            assert rows.min() >= 0
            assert rows.sum(axis=0).tolist() == pytest.approx([1.0] * m, abs=1e-12)
            least = (floor or found.floor or 1e-6) * (1 - 1e-6)
            assert found.matrix.retention.min() >= least
            by_loops = by_hand.greatest_posteriors(rows.tolist(), prior.tolist())
            assert found.matrix.greatest_posteriors(prior).tolist() == pytest.approx(by_loops, rel=1e-12)
            assert (np.array(by_loops) <= bounds * (1 + 1e-9)).all()


@pytest.mark.spec("BL-6")
def test_safe_matrices_keep_every_posterior_within_its_bound():
    check_safe_matrices(examples(600), 2)


@pytest.mark.deep
@pytest.mark.spec("BL-6")
def test_safe_matrices_keep_every_posterior_within_its_bound_thousands_of_times():
    check_safe_matrices(8000, 3)


@pytest.mark.spec("BL-6", "BL-11")
def test_the_published_formula_holds_just_where_no_retention_is_negative():
    """Erratum 1, also that a matrix of two values is always safe."""
    negative = broken = 0
    for _, totals, prior, beta, excess in instances(examples(600), 4):
        found = published_matrix(excess).matrix
        bounds = frequency_bounds(totals, int(totals.sum()), as_written(beta), "enhanced")
        if 0.01 < beta < 50 and totals.max() < 1000:
            rows = by_hand.matrix_as_published(prior.tolist(), beta)
            assert found.dense() == pytest.approx(np.array(rows), abs=1e-9)
        is_within = bool((found.greatest_posteriors(prior) <= bounds * (1 + 1e-9)).all())
        if found.retention.min() >= 0 or len(totals) == 2:
            assert is_within
        else:
            negative += 1
            broken += not is_within
        if found.retention.min() >= 1e-6:
            assert safe_matrix(excess, prior).matrix.retention.tolist() == found.retention.tolist()
    assert broken > negative / 2 > 5


@pytest.mark.spec("BL-6", "BL-11")
def test_no_matrix_on_a_fine_grid_keeps_more_values():
    for _, totals, prior, beta, excess in instances(examples(120), 5):
        m = len(totals)
        found = safe_matrix(excess, prior, "retention")
        kept = float(prior @ found.matrix.kept)
        assert kept >= float(prior @ safe_matrix(excess, prior).matrix.kept) * (1 - 1e-12)
        floor = found.floor
        low = (1 + (m - 1) * floor) / (m * (1 + excess.min()))
        for c in np.linspace(low, (1 - floor) / m, 300):
            of_grid = np.minimum((1 + excess) * c, 1 - (m - 1) * c)
            assert float(prior @ of_grid) <= kept * (1 + 1e-9)
        if 0.01 < beta < 50 and totals.max() < 1000:
            rows = by_hand.matrix_of(prior.tolist(), beta, found.least_entry)
            assert found.matrix.dense() == pytest.approx(np.array(rows), abs=1e-9)


@pytest.mark.spec("BL-6")
def test_of_matrices_that_keep_as_many_the_one_of_the_least_c_is_taken():
    """From d = 1/3 on, what the frequent value gains the rare one loses."""
    found = safe_matrix(np.array([1.0, 5.0]), np.array([1 / 3, 2 / 3]), "retention", 0.05)
    assert found.greatest == pytest.approx((1 - 0.05) / 2)
    assert found.matrix.retention.tolist() == pytest.approx([0.05, 0.475])


@pytest.mark.spec("BL-6")
def test_inverses_are_those_of_dense_matrices():
    rng = np.random.default_rng(6)
    for _ in range(examples(300)):
        m = int(rng.integers(1, 7))
        retention = rng.uniform(-1 / max(1, m - 1), 1, m) if rng.integers(2) else rng.uniform(0.05, 1, m)
        if rng.integers(4) == 0:
            retention[rng.integers(m)] = 0.0
        matrix = TransitionMatrix(retention if m > 1 else np.ones(1))
        dense = matrix.dense()
        if np.linalg.cond(dense, 1) > 1e6:
            continue
        inverse = InverseMatrix(matrix)
        tolerance = 1e-13 * inverse.condition**2
        assert inverse.condition == pytest.approx(np.linalg.cond(dense, 1), rel=1e-6)
        published = rng.integers(0, 50, (3, m)).astype(float)
        found = inverse.applied(published)
        assert found == pytest.approx(np.linalg.solve(dense, published.T).T, abs=50 * tolerance)
        assert found.sum(axis=1) == pytest.approx(published.sum(axis=1), abs=50 * tolerance)
        chosen = rng.integers(0, 2, (3, m)).astype(float)
        weights = inverse.weights(chosen)
        assert weights == pytest.approx(np.linalg.solve(dense.T, chosen.T).T, abs=tolerance)
        for j in range(m):
            by_loop = sum(dense[i, j] * weights[0, i] ** 2 for i in range(m)) - chosen[0, j]
            slack = 10 * m * tolerance * (1 + np.abs(weights).max())
            found_of = deviations(matrix, weights, chosen)[0, j]
            assert found_of == pytest.approx(max(by_loop, 0), abs=slack)


@pytest.mark.spec("BL-T19")
def test_no_pair_of_published_values_tells_more_than_is_promised_of_two_draws():
    for rng, totals, prior, _, excess in instances(examples(100), 7):
        first = safe_matrix(excess, prior).matrix
        other = excess_amplification(totals, as_written(float(rng.choice([0.3, 1.5]))))
        second = safe_matrix(other, prior, "retention").matrix
        together = posteriors_together([first, second], prior)
        alone = posteriors_together([first], prior)
        assert (first.greatest_posteriors(prior) <= alone * (1 + 1e-9)).all()
        for v in range(len(totals)):
            for w in range(len(totals)):
                believed = posterior([first, second], prior, [v, w])
                joint = prior * first.dense()[v] * second.dense()[w]
                assert believed.tolist() == pytest.approx((joint / joint.sum()).tolist())
                assert (believed <= together * (1 + 1e-9)).all()

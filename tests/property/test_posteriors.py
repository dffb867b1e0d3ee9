"""What is believed after published values, against matrices that are written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.attacks.skewness_attack import SKEWNESS_ATTACK
from app.domain.errors import InvalidInput
from app.domain.mechanisms.posteriors import Posteriors
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.models.beta_likeness import BETA_LIKENESS
from tests.oracles.drawn_releases import context_of, drawn_of, drawn_with, measured
from tests.oracles.effort import examples
from tests.oracles.perturbation_by_hand import bound, posteriors, random_totals, table_of

NEAR = pytest.approx


def instance(rng):
    """A table of one sensitive attribute, any retentions from far below to near 1, and what is believed."""
    totals = random_totals(rng)
    m = len(totals)
    retention = rng.uniform(-0.5 / (m - 1), 1, m) ** int(rng.choice([1, 3]))
    if rng.integers(3) == 0:
        retention[:] = retention[0]
    matrix, prior = TransitionMatrix(retention), totals / totals.sum()
    return table_of(np.minimum(totals, 50)), matrix, prior


def pairs_by_hand(matrix, prior):
    """(belief / prior, published, true) of every pair of which the true value is possible."""
    rows = posteriors(matrix.dense().tolist(), prior.tolist())
    return [
        (rows[v][i] / prior[i], v, i) for v in range(len(prior)) for i in range(len(prior)) if prior[i] > 0
    ]


@pytest.mark.parametrize("seed", range(examples(60)))
def test_extremes_and_counts_are_those_of_the_dense_matrix(seed):
    rng = np.random.default_rng(seed)
    _, matrix, prior = instance(rng)
    if len(prior) > 2 and rng.integers(2):
        prior[rng.integers(len(prior))] = 0.0
    found, pairs = Posteriors(matrix, prior), pairs_by_hand(matrix, prior)
    m = range(len(prior))
    possible = [i for i in m if prior[i] > 0]
    assert found.greatest_of_values().ratios == NEAR(
        [max(r for r, v, j in pairs if j == i) for i in possible]
    )
    assert found.least_of_values().ratios == NEAR([min(r for r, v, j in pairs if j == i) for i in possible])
    assert found.greatest_of_published().ratios == NEAR([max(r for r, w, i in pairs if w == v) for v in m])
    likeliest = found.greatest_of_published(prior)
    assert prior[likeliest.true] * likeliest.ratios == NEAR(
        [max(prior[i] * r for r, w, i in pairs if w == v) for v in m]
    )
    limits = rng.uniform(0.6, 1.8, len(prior))
    over = [(r, v, i) for r, v, i in pairs if r > limits[i]]
    above, rows = found.above(limits), rng.integers(0, 9, len(prior))
    assert above.counts().tolist() == [sum(i == own for _, _, i in over) for own in m]
    assert above.weights(rows).tolist() == [sum(rows[v] for _, v, i in over if i == own) for own in m]
    assert above.published().tolist() == [any(v == own for _, v, _ in over) for own in m]
    for top in (1, 3, 100):
        listed = above.greatest(top)
        assert listed.ratios == NEAR(sorted((r for r, _, _ in over), reverse=True)[:top])
        named = set(zip(listed.published.tolist(), listed.true.tolist(), strict=True))
        assert named <= {(v, i) for _, v, i in over}
        assert len(named) == len(listed.ratios)


@pytest.mark.parametrize("seed", range(examples(25)))
def test_beta_likeness_of_a_draw_is_what_the_dense_matrix_says(seed):
    rng = np.random.default_rng(1000 + seed)
    table, matrix, prior = instance(rng)
    context = context_of(table, drawn_with(table, matrix, prior, [f"v{i}" for i in range(len(prior))]))
    found, pairs = measured(BETA_LIKENESS, context), pairs_by_hand(matrix, prior)
    gain = max(0.0, *(r - 1 for r, _, _ in pairs))
    caps = [(v, i) for r, v, i in pairs if r - 1 > -math.log(prior[i]) + 1e-8]
    assert found.beta_basic == NEAR(gain)
    assert found.beta_enhanced == (math.inf if caps else NEAR(gain))
    assert found.caps_broken == len(caps)
    assert found.beta_negative == NEAR(max(1 - r for r, _, _ in pairs))
    assert found.max_absolute_gain == NEAR(max(prior[i] * (r - 1) for r, _, i in pairs))
    assert found.worst.gain == NEAR(max(r for r, _, _ in pairs) - 1)
    assert [own.gain for own in found.caps] == sorted((own.gain for own in found.caps), reverse=True)
    assert (found.reference, found.values, found.judged.classes) == ("published", len(prior), len(prior))


@pytest.mark.parametrize("kind", ["basic", "enhanced"])
@pytest.mark.parametrize("seed", range(examples(25)))
def test_the_published_values_that_fail_a_bound_are_those_of_the_dense_matrix(seed, kind):
    rng = np.random.default_rng(3000 + seed)
    table, matrix, prior = instance(rng)
    context = context_of(table, drawn_with(table, matrix, prior, [f"v{i}" for i in range(len(prior))]))
    shown = np.bincount(np.unique(table.codes[:, 1], return_inverse=True)[1], minlength=len(prior))
    pairs = pairs_by_hand(matrix, prior)
    for beta in (0.1, 0.5, 1, 3, 10):
        found = measured(BETA_LIKENESS, context, beta=beta, bound=kind)
        most = [bound(p, beta) if kind == "enhanced" else min(1.0, p * (1 + beta)) for p in prior]
        failing = {v for r, v, i in pairs if prior[i] * r > most[i] + 1e-8}
        assert (found.classes_failing, found.is_met) == (len(failing), not failing)
        assert found.records_failing == sum(int(shown[v]) for v in failing)


def test_what_the_mechanism_promises_is_what_the_measure_finds():
    table = table_of(np.array([60, 30, 10]))
    found = measured(BETA_LIKENESS, context_of(table, drawn_of(table, beta=2)), beta=2)
    # Cao and Karras (2012), the specification's T13.
    posterior = {own.value: own.in_class for own in found.by_value}
    assert posterior == {
        "v0": NEAR(0.826027357001, abs=1e-11),
        "v1": NEAR(0.621966988345, abs=1e-11),
        "v2": NEAR(0.245342360989, abs=1e-11),
    }
    bounds = {own.value: own.bound for own in found.by_value}
    assert bounds == {"v0": NEAR(0.90649537426), "v1": NEAR(0.661191841298), "v2": NEAR(0.3)}
    assert (found.is_met, found.caps_broken) == (True, 0)
    assert found.beta_basic == NEAR(1.45342360989) == found.beta_enhanced


def test_the_published_formula_is_found_to_break_its_promise_where_a_retention_is_negative():
    table, prior = table_of(np.array([7, 2, 1])), [0.7, 0.2, 0.1]
    matrix = TransitionMatrix(np.array([0.702589640874, -0.103452854498, -0.165413345983]))
    context = context_of(table, drawn_with(table, matrix, prior, ["v0", "v1", "v2"]))
    found = measured(BETA_LIKENESS, context, beta=1)
    assert {own.value: own.in_class for own in found.by_value} == {
        "v0": NEAR(0.833124343636, abs=1e-10),
        "v1": NEAR(0.445124502576, abs=1e-10),
        "v2": NEAR(0.241112963355, abs=1e-10),
    }
    assert (found.is_met, found.classes_failing, found.records_failing) == (False, 2, 3)


def test_a_reader_with_another_prior_gains_otherwise():
    table = table_of(np.array([60, 30, 10]))
    context = context_of(table, drawn_of(table, beta=2))
    prior = np.array([1, 1, 98]) / 100
    rows = posteriors(context.drawn.published.matrix.dense().tolist(), prior)
    reference = {"v0": 1, "v1": 1, "v2": 98}
    found = measured(BETA_LIKENESS, context, reference=reference)
    gain = max(own / p - 1 for row in rows for own, p in zip(row, prior, strict=True))
    assert (found.beta_basic, found.reference, found.is_met) == (NEAR(gain), "given", False)
    found = measured(BETA_LIKENESS, context, reference={"v0": 1, "v1": 1})
    assert (found.beta_basic, found.values_mismatched, found.records_failing) == (math.inf, 1, 100)


def test_what_is_told_of_a_published_reference_is_of_its_shares_and_of_no_rounded_counts():
    """Of ten rows the least share is less than half a record, and the others are no whole numbers either."""
    prior, values = [0.55, 0.42, 0.03], ["v0", "v1", "v2"]
    table, matrix = table_of(np.array([5, 4, 1])), TransitionMatrix(np.array([0.5, 0.4, 0.2]))
    context = context_of(table, drawn_with(table, matrix, prior, values))
    for beta in (0.5, 1.0, 2.0):
        found = measured(BETA_LIKENESS, context, beta=beta)
        assert (found.values, found.beta_saturation) == (3, NEAR(-math.log(0.03)))
        assert found.values_frequent == sum(-math.log(p) < beta for p in prior)
        bounds = sorted((bound(p, beta) for p in prior), reverse=True)
        needed = next(k for k in (1, 2, 3) if sum(bounds[:k]) >= 1 - 1e-9)
        most = min(beta, -math.log(0.55))
        assert (found.implies.least_values, found.implies.least_frequency_l) == (needed, NEAR(1 / bounds[0]))
        assert found.implies.delta == NEAR(math.log1p(most))
        assert found.implies.enough_records == math.ceil(10 / (1 + most))
        size = next(
            n for n in range(1, 11)
            if sum(min(math.floor(n * bound(p, beta) + 1e-9), 10 * p) for p in prior) >= n - 1e-9
        )  # fmt: skip
        assert found.implies.least_records == max(needed, size)


def test_a_reference_given_beside_a_draw_says_which_leaves_nobody_is_expected_to_have():
    table = table_of(np.array([6, 3, 1]))
    context = context_of(table, drawn_of(table, reference={"v0": 6, "v1": 3, "v2": 1}))
    found = measured(BETA_LIKENESS, context, reference={"v0": 5, "v1": 5})
    assert (found.values, found.values_unused, found.values_mismatched) == (2, 1, 1)


def test_uniform_values_reach_their_bound_and_keep_it():
    table = table_of(np.array([5, 5, 5, 5]))
    found = measured(BETA_LIKENESS, context_of(table, drawn_of(table, beta=1)), beta=1)
    assert (found.beta_basic, found.is_met) == (NEAR(1.0), True)
    assert measured(BETA_LIKENESS, context_of(table, drawn_of(table, beta=1)), beta=0.999).is_met is False


@pytest.mark.parametrize("seed", range(examples(25)))
def test_who_guesses_by_what_was_published_is_right_as_often_as_by_hand(seed):
    rng = np.random.default_rng(2000 + seed)
    table, matrix, prior = instance(rng)
    values, gain = [f"v{i}" for i in range(len(prior))], float(rng.choice([0.05, 0.3, 1]))
    context = context_of(table, drawn_with(table, matrix, prior, values))
    found = measured(SKEWNESS_ATTACK, context, gain=gain)
    pairs = pairs_by_hand(matrix, prior)
    shown = np.unique(table.codes[:, 1], return_inverse=True)[1]
    rows = np.bincount(shown, minlength=len(prior))
    best = [max(prior[i] * r for r, v, i in pairs if v == own) for own in range(len(prior))]
    assert found.success_rate == NEAR(sum(best[v] for v in shown) / len(shown))
    assert found.success_before == NEAR(max(prior))
    assert found.worst_posterior == NEAR(max(best))
    over = [(v, i) for r, v, i in pairs if r > 1 + gain + 1e-8]
    assert found.classes_exposed == len({v for v, _ in over})
    assert found.records_exposed == sum(int(rows[v]) for v in {v for v, _ in over})
    raised = {own.value: (own.classes, own.records, own.with_value) for own in found.by_value}
    by_hand = {}
    for i in {i for _, i in over}:
        of = [v for v, own in over if own == i]
        by_hand[f"v{i}"] = (len(of), sum(int(rows[v]) for v in of), int(rows[i]) if i in of else 0)
    assert raised == by_hand
    assert len(found.worst) == found.classes_exposed


@pytest.mark.parametrize("seed", range(examples(20)))
def test_what_is_known_of_others_moves_the_prior_and_nothing_else(seed):
    rng = np.random.default_rng(3000 + seed)
    totals = rng.integers(2, 30, int(rng.integers(2, 6)))
    m, n, gain = len(totals), int(totals.sum()), 0.4
    table, matrix = table_of(totals), TransitionMatrix(rng.uniform(0.05, 0.9, m))
    known = {f"v{i}": int(rng.integers(1, totals[i] + 1)) for i in range(m - 1)}
    left = totals - np.array([known.get(f"v{i}", 0) for i in range(m)])
    public, moved = totals / n, left / left.sum()
    context = context_of(table, drawn_with(table, matrix, public, [f"v{i}" for i in range(m)]))
    found = measured(SKEWNESS_ATTACK, context, gain=gain, known=known)
    rows = posteriors(matrix.dense().tolist(), moved.tolist())
    gains = {(v, i): rows[v][i] / public[i] - 1 for v in range(m) for i in range(m)}
    assert found.greatest_prior_shift == NEAR(max(abs(moved - public)))
    assert found.worst_gain == NEAR(max(0.0, *gains.values()))
    assert found.worst_posterior == NEAR(max(map(max, rows)))
    assert found.success_rate == NEAR(sum(totals[v] * max(rows[v]) for v in range(m)) / n)
    assert found.success_before == NEAR(max(moved))
    exposed = {v for (v, _), own in gains.items() if own > gain + 1e-9}
    assert found.classes_exposed == len(exposed) == len(found.worst)
    assert [own.gain for own in found.worst] == NEAR(
        sorted((max(gains[v, i] for i in range(m)) for v in exposed), reverse=True)
    )
    raised = {own.value: (own.classes, own.greatest_in_class) for own in found.by_value}
    by_hand = {}
    for i in range(m):
        over = [v for v in range(m) if gains[v, i] > gain + 1e-9]
        if over:
            by_hand[f"v{i}"] = (len(over), NEAR(max(rows[v][i] for v in range(m))))
    assert raised == by_hand


def test_of_a_published_reference_so_many_are_left_as_its_shares_expect_and_not_a_rounded_number():
    prior, values = np.array([0.55, 0.42, 0.03]), ["v0", "v1", "v2"]
    table, matrix = table_of(np.array([5, 4, 1])), TransitionMatrix(np.array([0.5, 0.4, 0.2]))
    context = context_of(table, drawn_with(table, matrix, prior, values))
    found = measured(SKEWNESS_ATTACK, context, known={"v0": 2, "v1": 1})
    moved = (10 * prior - [2, 1, 0]) / 7
    rows = posteriors(matrix.dense().tolist(), moved.tolist())
    assert found.greatest_prior_shift == NEAR(max(abs(moved - prior)))
    assert found.worst_posterior == NEAR(max(map(max, rows)))
    assert found.worst_gain == NEAR(max(rows[v][i] / prior[i] - 1 for v in range(3) for i in range(3)))
    with pytest.raises(InvalidInput, match=r"By the published shares 0\.3 of 10 records have the value 'v2'"):
        measured(SKEWNESS_ATTACK, context, known={"v2": 1})


def test_more_than_there_are_cannot_be_known_and_a_rule_has_no_such_reader():
    table = table_of(np.array([6, 3, 1]))
    context = context_of(table, drawn_of(table))
    for known, code in (
        ({"v2": 2}, "more-known-than-there-are"),
        ({"absent": 1}, "more-known-than-there-are"),
        ({"v0": 6, "v1": 3, "v2": 1}, "nobody-left"),
    ):
        with pytest.raises(InvalidInput) as refused:
            measured(SKEWNESS_ATTACK, context, known=known)
        assert [(own.pointer, own.code) for own in refused.value.faults] == [("/measure/known", code)]
    asked = SKEWNESS_ATTACK.parameters(known={"v0": 1})
    under_a_rule = replace(context, drawn=None)
    assert "does not say in which they are" in SKEWNESS_ATTACK.supports(under_a_rule, asked)

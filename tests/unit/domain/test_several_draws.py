"""What draws by any mechanisms promise together, against all that they may publish of one record."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.perturbation import PERTURBATION
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE
from app.domain.mechanisms.several_draws import guarantee_together
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION
from tests.oracles.effort import examples
from tests.oracles.perturbation_by_hand import stream, table_of

PERSONS = Hypothesis("one_record_per_person", "yes", "There are identifiers.")
TABLE = table_of([7, 2, 1])


def published(mechanism=PERTURBATION, seed="a draw", **parameters):
    asked = mechanism.parameters(**parameters)
    return mechanism.draw(MechanismContext(TABLE), asked, stream(seed)).published


def uniform(p, seed="a draw"):
    return published(UNIFORM_PERTURBATION, seed, p=p, p_cap=0.9)


def together(*draws):
    return guarantee_together("ill", draws, PERSONS)


def greatest_change(matrices):
    """Of the odds between two values, over all that the draws may publish of a record, by loops."""
    dense = [own.dense() for own in matrices]
    m = len(dense[0])
    found = 1.0
    for shown in itertools.product(range(m), repeat=len(dense)):
        likely = [math.prod(rows[v, i] for rows, v in zip(dense, shown, strict=True)) for i in range(m)]
        found = max(found, max(likely) / min(likely))
    return found


def test_amplification_is_the_greatest_quotient_in_a_row():
    rng = np.random.default_rng(18)
    for _ in range(examples(200)):
        m = int(rng.integers(1, 6))
        least = -1 / (m - 1) if m > 1 else 0.0
        matrix = TransitionMatrix(rng.uniform(least * 0.9, 0.99, m))
        assert matrix.amplification == pytest.approx(greatest_change([matrix]), rel=1e-9)
    assert math.isinf(TransitionMatrix(np.array([1.0, 0.5])).amplification)


def test_odds_multiply_over_draws_whatever_drew_them():
    draws = [published(beta=1.0), uniform(0.25), published(seed="b", beta=2.0), uniform(0.4, "c")]
    for number in (2, 3, 4):
        for chosen in itertools.combinations(draws, number):
            found = together(*chosen)
            if found.model == "beta_likeness":
                continue
            gamma = math.prod(own.matrix.amplification for own in chosen)
            assert found.parameters["gamma"] == pytest.approx(gamma)
            assert found.parameters["local_epsilon"] == pytest.approx(math.log(gamma))
            assert greatest_change([own.matrix for own in chosen]) <= gamma * (1 + 1e-9)
            assert (found.model, found.standing) == ("amplification", "certified")


def test_two_uniform_draws_multiply_what_one_says():
    (alone,) = (
        own
        for own in UNIFORM_PERTURBATION.plan(
            MechanismContext(TABLE), UNIFORM_PERTURBATION.parameters(p=0.25, p_cap=0.9)
        ).guarantees
        if own.model == "amplification"
    )
    both = together(uniform(0.25), uniform(0.25, "b"))
    assert both.parameters["gamma"] == pytest.approx(alone.parameters["gamma"] ** 2)
    assert greatest_change([uniform(0.25).matrix] * 2) == pytest.approx(both.parameters["gamma"])


def test_draws_with_different_references_bound_odds():
    other = published(beta=1.0, reference={"v0": 5, "v1": 2, "v2": 3})
    found = together(published(beta=1.0), other)
    assert (found.model, found.parameters["draws"]) == ("amplification", 2)


def test_draws_of_the_same_prior_keep_likeness():
    found = together(published(beta=1.0), published(seed="b", beta=2.0))
    assert (found.model, found.standing) == ("beta_likeness", "certified")
    holds = {own.id: own.holds for own in found.hypotheses}
    assert (holds["not_shown_otherwise"], holds["one_record_per_person"]) == ("assumed", "yes")


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        (lambda: (published(beta=1.0), None), "is stored of draw 2"),
        (
            lambda: (uniform(0.25), published(SAMPLE_PERTURB_SCALE, p=0.3, p_cap=0.4)),
            "not every one of them published the matrix",
        ),
    ],
)
def test_where_a_matrix_is_not_known_it_is_said_that_nothing_is(draws, said):
    found = together(*draws())
    assert (found.status, found.standing) == ("none", "none")
    assert "Nothing is known of what 2 draws of 'ill' tell together, because" in found.sentence
    assert said in found.sentence
    assert [(own.id, own.holds) for own in found.hypotheses] == [("matrices_known", "no")]


def test_odds_that_no_number_bounds_promise_nothing():
    nearly_all = published(UNIFORM_PERTURBATION, p=1 - 1e-9, p_cap=1 - 1e-9)
    assert "no number bounds" in together(*[nearly_all] * 40).sentence

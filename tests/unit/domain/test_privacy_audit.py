"""The promises of differentially private histograms against the exact laws of all small tables.

The law of a release is made of the mechanism's own steps behind the noise, for every value of the noise of
every combination, and the least δ of it is the hockey-stick divergence, in both orders of all neighbours.
Noise beyond what is enumerated has less than 1e-12 of the probability, which is added to δ.
"""

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from app.domain.errors import TooLarge
from app.domain.mechanisms import mechanism_audit, stability_histogram
from app.domain.mechanisms.histogram_laws import out_of_reach
from app.domain.mechanisms.laplace_histogram import LAPLACE_HISTOGRAM, LaplaceHistogram, clipped
from app.domain.mechanisms.mechanism_audit import hard_pairs
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.stability_histogram import (
    STABILITY_HISTOGRAM,
    StabilityHistogram,
    published_counts,
)
from tests.oracles.noise_by_hand import hockey_stick, law_of

ROUNDING = 1e-12


def noises(law, cells, slack=1e-13):
    """(noise of every cell, its probability), but for less than ``slack`` of the probability of a cell."""
    reach = next(k for k in itertools.count(1) if 2 * law.tail(k + 1) < slack)
    one = [(z, float(law.probability(z))) for z in range(-reach, reach + 1)]
    for drawn in itertools.product(one, repeat=cells):
        yield np.array([z for z, _ in drawn], dtype=np.int64), math.prod(p for _, p in drawn)


def law_of_stability(counts, law, threshold):
    """Outcome → probability; combinations without a record are never looked at."""
    occurring = [cell for cell, n in enumerate(counts) if n]
    own = np.array([counts[cell] for cell in occurring], dtype=np.int64)

    def outcome(noise):
        found = published_counts(own, noise, threshold)
        return tuple((cell, int(n)) for cell, n in zip(occurring, found, strict=True) if n)

    return law_of((outcome(noise), p) for noise, p in noises(law, len(occurring)))


def law_of_laplace(counts, law):
    own = np.array(counts, dtype=np.int64)
    return law_of((tuple(clipped(own, noise).tolist()), p) for noise, p in noises(law, len(counts)))


def neighbours(most, cells=2):
    """Every table of so many records at most in these cells, with each that has one record less and any."""
    for counts in itertools.product(range(most + 1), repeat=cells):
        for cell in range(cells):
            if counts[cell] and sum(counts) > 1:
                yield counts, tuple(n - (at == cell) for at, n in enumerate(counts))


def least_delta(laws, epsilon, most):
    """The greatest δ that any two neighbours need, in either order."""
    factor = math.exp(epsilon)
    return max(
        max(hockey_stick(laws[more], laws[less], factor), hockey_stick(laws[less], laws[more], factor))
        for more, less in neighbours(most)
    )


def all_laws(of, most, cells=2):
    return {
        counts: of(counts) for counts in itertools.product(range(most + 1), repeat=cells) if sum(counts) > 0
    }


@pytest.mark.parametrize(("epsilon", "delta"), [("2", "0.01"), ("3", "1e-4")])
def test_the_stability_histogram_keeps_what_it_promises_and_wastes_nothing(epsilon, delta):
    law, bound = NoiseLaw(Fraction(epsilon)), Fraction(delta)
    threshold = law.threshold(bound)
    laws = all_laws(lambda counts: law_of_stability(counts, law, threshold), 3)
    assert all(sum(own.values()) == pytest.approx(1, abs=1e-11) for own in laws.values())
    found = least_delta(laws, float(law.epsilon), 3)
    assert found <= float(bound)
    # A combination of one record takes exactly what the plan says.
    assert found == pytest.approx(float(law.tail(threshold - 1)), abs=ROUNDING)


def test_a_threshold_that_is_one_too_low_is_refuted():
    law, bound = NoiseLaw(Fraction(2)), Fraction("0.01")
    low = law.threshold(bound) - 1
    laws = all_laws(lambda counts: law_of_stability(counts, law, low), 2)
    assert least_delta(laws, 2.0, 2) > float(bound) + 0.001


def test_noise_of_half_the_scale_is_refuted():
    law, half = NoiseLaw(Fraction(2)), NoiseLaw(Fraction(4))
    threshold = law.threshold(Fraction("0.01"))
    laws = all_laws(lambda counts: law_of_stability(counts, half, threshold), 3)
    assert least_delta(laws, 2.0, 3) > 0.015
    plain = all_laws(lambda counts: law_of_laplace(counts, half), 2)
    assert least_delta(plain, 2.0, 2) > 0.1


def test_no_threshold_tells_who_is_alone():
    """Counts with noise of combinations that occur, as they are: the one of a single record is told."""
    law = NoiseLaw(Fraction(2))
    laws = all_laws(lambda counts: law_of_stability(counts, law, 1), 2)
    assert least_delta(laws, 2.0, 2) > 0.5


@pytest.mark.parametrize("epsilon", ["2", "3.5"])
def test_the_laplace_histogram_needs_no_delta(epsilon):
    law = NoiseLaw(Fraction(epsilon))
    laws = all_laws(lambda counts: law_of_laplace(counts, law), 2)
    assert least_delta(laws, float(law.epsilon), 2) <= ROUNDING
    # And less would not do.
    assert least_delta(laws, float(law.epsilon) - 0.05, 2) > 1e-3


@pytest.mark.parametrize("epsilon", ["0.001", "0.01", "0.5"])
def test_no_delta_above_a_bound_needs_to_be_refused(epsilon):
    """Where δ is above 1 − e^−ε, too, a record that is alone takes no more of it in either order.

    What is left over of a single cell follows from its laws with and without that record.
    """
    law, delta = NoiseLaw(Fraction(epsilon)), Fraction("0.02")
    alone = float(law.tail(law.threshold(delta) - 1))
    shown, nothing = {"published": alone, "nothing": 1 - alone}, {"nothing": 1.0}
    factor = math.exp(law.epsilon)
    assert hockey_stick(shown, nothing, factor) == pytest.approx(alone)
    assert hockey_stick(nothing, shown, factor) <= alone
    # A threshold that is one lower would keep the promise in that order alone.
    lower = float(law.tail(law.threshold(delta) - 2))
    assert hockey_stick({"published": lower, "nothing": 1 - lower}, nothing, factor) > delta


@pytest.mark.parametrize("leaf", [1, 2])
def test_a_choice_that_merges_few_records_of_a_leaf_is_refuted_exactly_and_by_draws(monkeypatch, leaf):
    """Broken on purpose: fewer than three records of this leaf become ⊥, as k-anonymity has it.

    With a third record the leaf may be published with a probability of 0.036, and without it never. That
    10,000 draws show it less than 230 times, and so do not refute ε, has a probability below 10⁻¹².
    """

    def merges(records, dictionary, scores):
        is_merged = (records.codes[:, 0] == leaf) & (records.counts < 3)
        return (np.where(is_merged, 0, records.codes[:, 0]).astype(np.int32),)

    monkeypatch.setattr(stability_histogram, "best_generalisations", merges)
    known = {"leaf": ("a", "a", "b")}
    asked = StabilityHistogram(epsilon=1.0, delta=0.01, least_records=1, dictionary=known, trade_off=0.05)
    own = mechanism_audit.AuditedMechanism.of(STABILITY_HISTOGRAM, asked)
    assert mechanism_audit.exact_audit(own, [mechanism_audit.exact_needs(own)]).is_refuted
    parts = mechanism_audit.drawn_parts(own, 20_000, os.urandom)
    (found,) = [
        part() for name, part in zip(hard_pairs(own), parts, strict=True) if name == f"3 of {'*ab'[leaf]}"
    ]
    assert mechanism_audit.audit_by_draws(own, [found]).is_refuted


def test_an_exact_audit_is_refused_exactly_where_noise_has_too_many_values(monkeypatch):
    monkeypatch.setattr(mechanism_audit, "greatest_delta", lambda *asked: 0.0)
    made = []
    for epsilon in ("0.304", "0.303", "0.302", "0.301", "0.3", "0.299", "0.298"):
        own = mechanism_audit.AuditedMechanism.of(LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=float(epsilon)))
        reach, _ = out_of_reach(NoiseLaw(Fraction(epsilon)))
        made.append(2 * reach + 1 <= mechanism_audit.MOST_NOISE)
        if made[-1]:
            assert mechanism_audit.exact_needs(own)
        else:
            with pytest.raises(TooLarge):
                mechanism_audit.exact_needs(own)
    assert made == sorted(made, reverse=True)
    assert set(made) == {True, False}


def test_an_exact_audit_of_a_tiny_epsilon_is_refused_before_its_noise_is_enumerated(monkeypatch):
    """With the least ε noise has 600,000 values: to count them took 8 seconds."""
    own = mechanism_audit.AuditedMechanism.of(LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=1e-4))
    monkeypatch.setattr(mechanism_audit, "out_of_reach", lambda noise: pytest.fail("it is enumerated"))
    with pytest.raises(TooLarge):
        mechanism_audit.exact_needs(own)

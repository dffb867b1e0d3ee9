"""Reconstruction privacy of Adult and of the credit cards, against pandas, SciPy and formulas as printed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from app.domain.classes.reconstruction_groups import TESTS
from app.domain.hierarchies.predicates import AskedAttribute, Predicate
from app.domain.mechanisms import sample_perturb_scale
from app.domain.mechanisms.count_estimates import EstimateOptions
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.models.reconstruction_privacy import RECONSTRUCTION_PRIVACY
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream
from tests.oracles.real_frames import (
    CARDS,
    MISSING,
    NEEDS_DATA,
    WITH_MISSING,
    WITHOUT_MISSING,
    frame,
    shown,
    table,
)
from tests.oracles.reconstruction_by_hand import lower_bound
from tests.unit.measures.diversity_tables import measured

pytestmark = [*NEEDS_DATA, pytest.mark.deep]
ADULT = ("sex", "race", "marital-status", "workclass", "native-country")
OF_CARDS = ("SEX", "EDUCATION", "MARRIAGE", "AGE")
P, DELTA = Fraction(1, 2), Fraction(3, 10)
TOP = 200
CASES = [
    (name, sensitive, epsilon)
    for name, sensitive in [
        (WITHOUT_MISSING, "education"),
        (WITHOUT_MISSING, "occupation"),
        (WITH_MISSING, "education"),
        (WITH_MISSING, "occupation"),
        (CARDS, "PAY_0"),
    ]
    for epsilon in (Fraction(3, 10), Fraction(7, 10))
]


def known_of(name):
    return OF_CARDS if name == CARDS else ADULT


def tails(amount, size, m, epsilon):
    """Both tails by the sum of two binomial laws; ties are told from the numbers as they are written."""
    c = (1 - P) / m
    middle, off = size * c + amount * P, amount * P * epsilon
    most, least = math.ceil(middle - off) - 1, math.floor(middle + off) + 1
    kept = np.arange(amount + 1)
    chance = stats.binom.pmf(kept, amount, float(P + c))
    low = chance @ stats.binom.cdf(most - kept, size - amount, float(c))
    return float(low), float(chance @ stats.binom.sf(least - kept - 1, size - amount, float(c)))


@pytest.fixture(scope="module", params=CASES, ids=lambda own: f"{own[1]} of {own[0]} at {float(own[2])}")
def judged(request):
    """Per group the level that each criterion attains by hand, and its records; and what was asked."""
    name, sensitive, epsilon = request.param
    rows = frame(name)
    m = len({*rows[sensitive]} - {MISSING})
    groups = rows[rows[sensitive] != MISSING].groupby([*known_of(name)])[sensitive]
    kept, levels = {}, {}
    for key, values in groups:
        counts = values.value_counts().tolist()
        size = sum(counts)
        both = []
        for amount in counts:
            if (amount, size) not in kept:
                kept[amount, size] = tails(amount, size, m, epsilon)
            both.append(kept[amount, size])
        bounds = (lower_bound(max(counts), size, float(P), m, float(epsilon), full) for full in (False, True))
        levels[key] = size, (*bounds, min(map(min, both)), min(map(sum, both)))
    return request.param, levels


def test_who_fails_by_each_criterion_is_who_fails_by_hand(judged):
    (name, sensitive, epsilon), levels = judged
    rows, known = frame(name), known_of(name)
    own = table(rows, known, sensitive, keeps_missing=False)
    attained = np.array([of for _, of in levels.values()])
    # Were one of the levels nearly δ, rounding could decide.
    assert (np.abs(attained / float(DELTA) - 1) > 1e-9).all()
    sizes = np.array([size for size, _ in levels.values()])
    for place, test in enumerate(TESTS):
        found = measured(
            RECONSTRUCTION_PRIVACY,
            own,
            p=float(P),
            epsilon=float(epsilon),
            delta=float(DELTA),
            criterion=test,
            missing_sensitive="excluded",
            top=TOP,
        )
        fails = attained[:, place] < float(DELTA)
        assert found.records_without_value == (rows[sensitive] == MISSING).sum()
        assert (found.is_met, found.groups_failing) == (not fails.any(), fails.sum())
        assert found.records_failing == sizes[fails].sum()
        assert found.share_of_groups_failing == pytest.approx(fails.mean())
        assert found.delta == pytest.approx(attained[:, place].min(), rel=1e-9, abs=1e-300)
        by_hand = dict(zip(levels, attained[:, place].tolist(), strict=True))
        told = {tuple(rows.loc[of.exposed.rows[0] - 1, list(known)]): of.delta for of in found.groups}
        assert len(told) == min(TOP, len(levels))
        assert told == pytest.approx({key: by_hand[key] for key in told}, rel=1e-9, abs=1e-300)
        assert max(told.values()) <= sorted(by_hand.values())[len(told) - 1] * (1 + 1e-9) + 1e-300
        alike = [(of.groups_failing, of.records_failing) for of in found.by_criterion]
        assert alike[place] == (found.groups_failing, found.records_failing)
    # The criteria do disagree here, so that each is told apart from the others.
    assert len({int((attained[:, place] < float(DELTA)).sum()) for place in range(4)}) >= 3


def test_a_release_of_samples_of_a_fixed_size_is_within_the_bound_whatever_was_sampled(monkeypatch):
    """By Chernoff's inequality as printed, of the samples themselves, which nobody is told of."""
    rows, epsilon = frame(WITHOUT_MISSING), 0.3
    known = ("sex", "race", "marital-status")
    own, realised = table(rows, known, "education", keeps_missing=False), []

    def watched(counts, samples, bits):
        found = sampled_counts(counts, samples, bits)
        realised.append((counts, found))
        return found

    sampled_counts = sample_perturb_scale.sampled_counts
    monkeypatch.setattr(sample_perturb_scale, "sampled_counts", watched)
    asked = SamplePerturbScale(p=0.5, p_cap=0.5, epsilon=epsilon, delta=0.3)
    drawn = SAMPLE_PERTURB_SCALE.draw(MechanismContext(own), asked, stream("fixed"))
    ((counts, taken),) = realised
    m = rows["education"].nunique()
    w = 0.5 + 0.5 / m
    most = math.floor(2 * math.log(1 / 0.3) * w / (epsilon * 0.5) ** 2)  # s of groups of one value
    assert drawn.published.sample_size == most
    groups = rows.groupby([*known]).size()
    assert sorted(counts.sizes.tolist()) == sorted(groups.tolist())
    above = 0
    for group in range(counts.n_classes):
        entries = slice(*counts.starts[group : group + 2].tolist())
        sample, whole = taken[entries], counts.counts[entries]
        size = int(whole.sum())
        assert sample.sum() == min(size, most)
        assert (np.abs(sample - whole * min(size, most) / size) < 1).all()
        assert lower_bound(int(sample.max()), int(sample.sum()), 0.5, m, epsilon, False) >= 0.3
        above += lower_bound(int(whole.max()), size, 0.5, m, epsilon, False) < 0.3
    assert above > 10
    released = shown(own, drawn.columns)
    assert released.groupby([*known]).size().to_dict() == groups.to_dict()
    _counts_hold(rows, own, drawn, most)


def _counts_hold(rows, own, drawn, most):
    """Counts of values of men and women, by the variance of copies as printed, with an error rate of 1e-9."""
    codes = np.stack(drawn.columns, axis=1)
    release = DrawnRelease(
        Table(own.attributes, own.hierarchies, codes, sensitive=own.sensitive), "drawn", drawn.published
    )
    attributes = [
        AskedAttribute(name, tree, None, top_is_missing=True)
        for name, tree in zip(own.attributes, own.hierarchies, strict=True)
    ]
    counted = CountedRelease.drawn(release, attributes)
    values = sorted(rows["education"].unique())
    cases = [(sex, value) for sex in ("Female", "Male") for value in values]
    queries = [[Predicate("sex", (sex,)), Predicate("education", (value,))] for sex, value in cases]
    told = counted.estimates(counted.read(queries), EstimateOptions())
    published = shown(own, drawn.columns)
    reach = stats.norm.isf(1e-9 / (2 * len(cases)))
    m, errors = len(values), []
    for (sex, value), estimate, error in zip(cases, told.estimates, told.standard_errors, strict=True):
        has = published[published["sex"] == sex]
        by_hand = ((has["education"] == value).sum() - len(has) * 0.5 / m) / 0.5
        assert estimate == pytest.approx(by_hand, abs=1e-6)
        mine = rows[rows["sex"] == sex]
        groups = mine.assign(is_it=mine["education"] == value).groupby(["race", "marital-status"])["is_it"]
        variance = sum(variance_of_copies(int(of.sum()), len(of), most, m) for _, of in groups)
        truth = int((mine["education"] == value).sum())
        assert abs(estimate - truth) <= reach * math.sqrt(variance)
        errors.append(error / math.sqrt(variance))
    # What a reader computes is an estimate of it, which is on average not below it.
    assert 0.95 < float(np.mean(errors)) < 1.3


def variance_of_copies(amount, size, most, m):
    """Of the estimate of one group: the sample's rounding, the replacement, and which records are copied."""
    p, c = 0.5, 0.5 / m
    a, n1 = p + c, min(size, most)
    t = amount * n1 / size
    rest, beta, more = t - math.floor(t), size / n1, size % n1
    expected = t * a + (n1 - t) * c
    drawn = t * a * (1 - a) + (n1 - t) * c * (1 - c) + p**2 * rest * (1 - rest)
    copied = 0.0 if n1 == 1 else more * (n1 - more) / (n1 - 1) * (n1 * expected - drawn - expected**2) / n1**2
    return (beta**2 * drawn + copied) / p**2

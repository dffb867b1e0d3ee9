"""Exact laws of small releases, audits that can fail, and what was published of differential privacy."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from app.domain.mechanisms.audit_tables import draws_of
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.exchange_bounds import exchange_factor, exchange_tail
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.histogram_laws import (
    both_orders,
    greatest_delta,
    laplace_law,
    least_delta,
    stability_law,
)
from app.domain.mechanisms.mechanism_audit import AuditedMechanism, exact_needs, least_runs, refutations_of
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.privacy_audit import (
    Neighbours,
    audited,
    greatest_epsilon,
    least_epsilon,
    proportion_at_least,
    proportion_at_most,
)
from app.domain.mechanisms.published_constants import PublishedQuestion, exchange_delta, frequent_set_delta
from app.domain.mechanisms.sampled_constants import SampleQuestion, drifting
from app.domain.search.aggregate.approximation import outcomes, point_of
from app.domain.search.aggregate.chain_records import ChainRecord
from app.experiments import audited_mechanisms, published_samples
from app.experiments.audited_mechanisms import audit_of_broken, bits_of, certified
from app.experiments.private_samples import Sample, over_epsilon, over_rates
from app.experiments.release_laws import OneAttribute, binomial
from app.experiments.report import Effort
from tests.oracles.noise_by_hand import hockey_stick
from tests.oracles.release_laws import drawn_share_law, noisy_law
from tests.oracles.sample_point import (
    Body,
    PointQuestion,
    bodies_of,
    flat_law,
    layer_edges,
    most_roundings,
    rounding_shares,
    sample_point,
)
from tests.oracles.samples_by_hand import CITY, CITY_D, CITY_W, JOB, JOB_D, JOB_W, TOY, one_attribute


def near(value, rel=2e-6):
    return pytest.approx(value, rel=rel)


def as_rows(law):
    """A law of (⊥, a, b) as one of multisets by hand."""
    return {
        tuple(sorted([("*",)] * outcome[0] + [("a",)] * outcome[1] + [("b",)] * outcome[2])): p
        for outcome, p in law.items()
    }


@pytest.mark.spec("DN-V7")
def test_the_exact_law_of_a_fixed_frequent_set():
    model = OneAttribute(0.5, 1.0)
    more, less = (model.law(counts, (True, True)) for counts in ((2, 1), (1, 1)))
    told = {
        (0, 0, 0): (0.125, 0.25),
        (1, 0, 0): (0.281689, 0.365529),
        (1, 1, 0): (0.102362, 0.049153),
        (0, 1, 0): (0.067235, 0.067235),
        (0, 0, 1): (0.026076, 0.067235),
        (2, 0, 0): (0.211444, 0.133612),
        (0, 1, 1): (0.014026, 0.018082),
    }
    for outcome, (p, q) in told.items():
        assert (more[outcome], less[outcome]) == (near(p, 3e-5), near(q, 3e-5))
    assert both_orders(more, less, 0.5) == near((0.155364, 0.068153), 1e-5)
    assert both_orders(more, less, 1.0) == (near(0.134041, 1e-5), 0.0)


@pytest.mark.spec("DN-V7")
def test_the_exact_law_of_a_share_that_is_drawn():
    model = OneAttribute(0.5, 1.0)
    more, less = (drawn_share_law(model, counts, 0.1) for counts in ((2, 1), (1, 1)))
    for epsilon, deltas in ((0.5, (0.164320, 0.070236)), (1, (0.140955, 0.011506)), (2, (0.130693, 0.0))):
        assert both_orders(more, less, epsilon) == near(deltas, 5e-5)


@pytest.mark.spec("DN-V7")
def test_laws_are_those_by_hand():
    world, model = one_attribute(), OneAttribute(0.4, 1.7)
    for counts in ((2, 1), (1, 1), (3, 2), (0, 2)):
        data = [("a",)] * counts[0] + [("b",)] * counts[1]
        frequent = world.frequent(data, 2)
        by_hand = world.law(data, frequent, 1.7, 0.4)
        own = as_rows(model.law(counts, [n >= 2 for n in counts]))
        assert own.keys() == by_hand.keys()
        assert all(own[key] == near(p, 1e-12) for key, p in by_hand.items())
        drawn = as_rows(drawn_share_law(model, counts, 0.15))
        by_share = world.law_over_shares(data, 1.7, 0.4, 0.15)
        assert all(drawn.get(key, 0.0) == near(p, 1e-12) for key, p in by_share.items())


@pytest.mark.spec("DN-V13", "DN-D1")
def test_a_bad_event_of_outputs_grows_when_outputs_are_merged():
    """Which is why no guarantee here is said to hold with a probability: the hockey-stick does not grow."""
    p, q = {0: 0.1, 1: 0.4, 2: 0.5}, {0: 0.0, 1: 0.2, 2: 0.8}

    def bad(p, q):
        return sum(own for at, own in p.items() if own > 2 * q[at] * (1 + 1e-12))

    merged = {0: p[0] + p[1], 2: p[2]}, {0: q[0] + q[1], 2: q[2]}
    assert (bad(p, q), bad(*merged)) == (near(0.1), near(0.5))
    assert least_delta(p, q, math.log(2)) == near(0.1)
    assert least_delta(*merged, math.log(2)) == near(0.1)


@pytest.mark.spec("DN-V14", "DN-10")
def test_bounds_of_an_audit():
    assert proportion_at_least(820, 10_000, 0.025) == near(0.076695, 1e-5)
    assert proportion_at_most(300, 10_000, 0.025) == near(0.033533, 2e-5)
    assert least_epsilon(820, 10_000, 300, 10_000, 1e-5, 0.05) == near(0.827163)
    assert least_epsilon(0, 10, 3, 10, 1e-5, 0.05) == 0
    assert proportion_at_most(10, 10, 0.05) == 1


@pytest.mark.spec("DN-V15", "DN-D10")
def test_the_identity_of_the_proof_counts_sampled_sets_several_times():
    """Five records with one option each, sampled with ½: three copies."""
    law = OneAttribute(0.5, 0.0).law((5,), (False,))
    assert law[3, 0] == near(0.3125)
    assert 3 * law[3, 0] == near(0.9375)
    # n_x(G)·Pr[M = G] = (s/β)·E[W_x; M = G − {x}]: of one copy less three records are unsampled.
    assert 3 * law[3, 0] == near(3 * law[2, 0])
    # And with a draw: of any record p, W_x is p times those that are left.
    model = OneAttribute(0.3, 0.4)
    share, drawn = model.leaf_share(5, 5), model.law((5,), (True,))
    for n in range(1, 6):
        total = sum(p for (root, own), p in drawn.items() if own == n)
        left = sum((5 - n + 1 - root) * share * p for (root, own), p in drawn.items() if own == n - 1)
        assert n * total == near(0.3 / 0.7 * left, 1e-12)


@pytest.mark.spec("DN-V15", "DN-D10", "DN-D12", "D3")
def test_the_published_constants_do_not_keep_their_promise():
    report = published_samples.counterexamples(Effort())
    assert report.holds
    assert published_samples.exchange_counterexample() == (8, near(1.592482e-3), near(1.312112e-5))
    least_share, frequent, published = published_samples.frequent_set_counterexample()
    assert (least_share, frequent, published) == (near(0.029757, 3e-5), near(2.5e-4), near(2.271746e-4))


@pytest.mark.spec("DN-D11")
def test_the_bad_event_is_no_set_of_outputs():
    """One multiset comes of sampled sets with much and with little left unsampled."""
    model = OneAttribute(0.5, 0.0)
    by_set = Counter()
    for kept in itertools.product((0, 1), repeat=4):
        # Records of two leaves that are both shown as ⊥: which were sampled is not seen.
        by_set[sum(kept), kept[0] + kept[1]] += 1
    assert {left for shown, left in by_set if shown == 2} == {0, 1, 2}
    assert model.law((2, 2), (False, False))[2, 0, 0] == near(6 / 16)


@pytest.mark.spec("DN-D12")
def test_frequent_sets_of_neighbours_differ_with_the_order_of_one_in_all_records():
    """By all shares θ of tables of up to 12 records, against 2·h^k/(m·(1 − θ0))."""
    for m, c in itertools.product((4, 7, 12), range(1, 12)):
        if c >= m:
            continue
        for least in (Fraction(1, 10), Fraction(1, 3)):
            cuts = [(Fraction(n, m), Fraction(own, m - 1)) for n, own in ((c, c - 1), (m - c, m - c))]
            differs = sum(abs(max(a, least) - max(min(b, 1), least)) for a, b in cuts)
            assert differs / (1 - least) <= frequent_set_delta(2, m, float(least))
            assert abs(cuts[0][0] - cuts[0][1]) == Fraction(m - c, m * (m - 1))
            assert abs(cuts[1][0] - cuts[1][1]) == Fraction(m - c, m * (m - 1))


@pytest.mark.spec("DN-2.2")
def test_a_value_that_one_record_has_alone_costs_delta_unless_all_values_are_shown():
    """Without that record a sample never shows it, so that δ is no less, for any ε; a full list escapes."""
    model = OneAttribute(0.5, 0.3)
    more, less = (noisy_law(model, counts, 2, 4) for counts in ((1, 6), (0, 6)))
    shown = [outcome for outcome in more if outcome[1] > 0]
    chance = math.fsum(more[outcome] for outcome in shown)
    assert chance > 0.01
    assert not any(outcome[1] > 0 for outcome in less)
    for epsilon in (1.0, 5.0, 20.0):
        assert least_delta(more, less, epsilon) >= chance * (1 - 1e-12)
    everything = laplace_law((0, 6), NoiseLaw(Fraction(2)))
    assert math.fsum(p for outcome, p in everything.items() if outcome[0] > 0) > 0.01


@pytest.mark.spec("DN-2.2")
def test_the_documentation_tells_how_rarely_a_record_that_is_alone_is_shown():
    """Of the histogram with τ = 15, and of the sample of its table of rates: noise of the scale 32."""
    told = (Path(__file__).parents[3] / "docs" / "differential-privacy.md").read_text(encoding="utf-8")
    alone = float(NoiseLaw(Fraction(1)).tail(15 - 1))
    assert f"a probability of {alone * 1e7:.1f}·10⁻⁷ (ε = 1, δ = 10⁻⁶)" in told
    assert 1e-44 < float(NoiseLaw(Fraction(1, 32)).tail(3154 - 1)) < 1e-43
    assert "makes it frequent with less than 10⁻⁴³" in told


@pytest.mark.spec("DN-D14", "D4")
@pytest.mark.parametrize(
    ("k", "h", "reach", "rate", "factor", "crowd"),
    [
        (1, 2, 14.909440, 0.011054, 0.005527, 5.28e8),
        (2, 3, 34.684461, 0.004782, 0.002391, 2.16e18),
        (4, 4, 76.273292, 0.002180, 0.001090, 1.56e38),
    ],
)
def test_utility_and_privacy_cannot_be_claimed_together(k, h, reach, rate, factor, crowd):
    found = published_samples.conflict(k, h)
    assert found == (near(reach), near(rate, 3e-4), near(factor, 3e-4), near(crowd, 3e-3))
    assert published_samples.utility_against_privacy(Effort()).holds


@pytest.mark.spec("DN-5.2")
@pytest.mark.parametrize(
    ("rate", "exponent", "n", "epsilon"),
    [(0.3, 0.02, 100, 1.5), (0.5, 0.05, 60, 2.0), (0.2, 0.1, 150, 1.0), (0.4, 0.02, 40, 3.0)],
)
def test_the_bound_of_an_exchange_is_above_the_exact_law(rate, exponent, n, epsilon):
    """All records at one leaf that stays frequent: R = λ/φ_l + ν/m with φ_l = ½."""
    model = OneAttribute(rate, exponent)
    more, less = (model.law((count,), (True,)) for count in (n, n - 1))
    bound = exchange_delta(epsilon, rate, exponent * (2 + 1 / (n - 1)), 2, n - 1, n - 1)
    found = max(both_orders(more, less, epsilon))
    assert found <= bound < 1


@pytest.mark.spec("DN-5.2")
def test_the_whole_mechanism_keeps_its_delta_at_its_own_threshold():
    """The frequent set by noisy counts, coins and draws, of records at one leaf."""
    found = drifting(SampleQuestion(Fraction(3), 1e-2, 0.5, 2, 110), 2 + 1 / 110)
    model, n = OneAttribute(0.5, found.exponent), int(found.threshold)
    assert found.needed <= 123
    more, less = (noisy_law(model, (count,), found.scale, n) for count in (n, n - 1))
    assert max(both_orders(more, less, 1.0)) > 0
    assert max(both_orders(more, less, 3.0)) <= 1e-2


def test_a_tail_says_nothing_without_a_crowd():
    assert exchange_tail(0.0, 0.5, 4.0) == 1.0
    assert exchange_tail(100.0, 0.5, 1.0) == 1.0
    assert exchange_delta(0.5, 0.5, 0.1, 2, 100, 100) == 1.0
    assert exchange_factor(1.0, 0.0, 0.1) == near((math.e - 0.9) / 0.1)


@pytest.mark.parametrize("cells", [1, 2])
def test_laws_of_histograms_need_what_they_promise(cells):
    noise = NoiseLaw(Fraction(2))
    threshold = noise.threshold(Fraction(1, 100))
    found = greatest_delta(lambda own: stability_law(own, noise, threshold), 2, cells, 2.0)
    # A record that is alone in its cell takes all of δ, where others are in the table at all.
    assert found == (
        near(float(noise.tail(threshold - 1)), 1e-9) if cells == 2 else pytest.approx(0, abs=1e-12)
    )
    assert greatest_delta(lambda own: laplace_law(own, noise), 3 - cells, cells, 2.0) < 1e-12
    low = greatest_delta(lambda own: stability_law(own, noise, threshold - 1), 2, cells, 2.0)
    assert (low > 0.01) == (cells == 2)
    one, other = stability_law((2,), noise, threshold), stability_law((1,), noise, threshold)
    assert least_delta(one, other, 1.0) == near(hockey_stick(one, other, math.e), 1e-12)


def test_binomial_laws_are_those_of_coins():
    found = binomial(6, 0.3)
    assert found.sum() == near(1, 1e-12)
    assert found[2] == near(math.comb(6, 2) * 0.3**2 * 0.7**4, 1e-12)


@pytest.mark.deep
@pytest.mark.spec("DN-10")
def test_what_is_broken_on_purpose_is_refuted():
    """The draw itself without sampling, without noise, with its records told, and with all frequent."""
    refuted = {own.pair: own.verdict for own in audit_of_broken(20_000) if own.is_refuted}
    assert refuted.keys() == {"no sampling", "no noise", "rows with their records", "all is frequent"}
    assert all(own.startswith("refuted: ε ≥ ") for own in refuted.values())


def test_an_audit_of_too_few_runs_is_refused():
    """400 runs find no more than 2.42 of six pairs, whatever is drawn."""
    assert greatest_epsilon(400, 1e-3, 1e-6 / 12) == near(2.421609)
    pairs = [Neighbours("any", ("a",), *[lambda runs: np.zeros((runs, 1), dtype=np.int64)] * 2)]
    with pytest.raises(ValueError, match="draw more"):
        audited(pairs, 2.0, 1e-3, 400, 1e-6)
    assert all(own.attainable > 2 for own in audited(pairs, 1.0, 1e-3, 400, 1e-6))


def test_every_certified_mechanism_is_audited():
    named = {own.mechanism.name for own in certified()}
    assert named == {own.name for own in MECHANISMS if DIFFERENTIAL_PRIVACY in own.guarantees}


@pytest.mark.parametrize("name", ["stability_histogram", "laplace_histogram"])
def test_exact_audits_of_histograms_pass(name):
    own = next(own for own in certified() if own.mechanism.name == name)
    (need,) = exact_needs(own)
    assert not need.is_refuted
    assert need.promised == own.delta


@pytest.mark.parametrize("name", ["stability_histogram", "laplace_histogram"])
def test_no_draw_of_a_hard_pair_refutes_what_is_certified(name):
    """Seeded; every pair is drawn as often as could refute it at all."""
    own = next(own for own in certified() if own.mechanism.name == name)
    found = refutations_of(own, least_runs(own), bits_of(7))
    assert {one.verdict for one in found} == {"not refuted"}
    assert len(found) == 6


@pytest.mark.parametrize(("trade_off", "alike"), [(0.5, False), (5.0, True)])
def test_the_histogram_of_chosen_generalisations_is_audited_as_it_chooses(trade_off, alike):
    """λ = 5 makes all records ⊥: beside another none is alone in what it is counted as, and needs no δ."""
    (mechanism,) = [own for own in MECHANISMS if own.name == "stability_histogram"]
    asked = {"epsilon": 1.0, "delta": 0.01, "least_records": 1, "dictionary": {"leaf": ("a", "b")}}
    own = AuditedMechanism.of(mechanism, mechanism.parameters(**asked, trade_off=trade_off))
    (need,) = exact_needs(own)
    assert not need.is_refuted
    (plain,) = exact_needs(replace(own, parameters=own.parameters.without_choice))
    assert plain.least > 0.004
    assert need.least == (near(0, 1e-9) if alike else plain.least)
    draw = draws_of(mechanism, own.parameters, (20, 20, 0), bits_of(3))(50)
    assert (draw[:, 1:] == 0).all() == alike
    assert (draw[:, 0] > 0).all() == alike
    assert {one.verdict for one in refutations_of(own, least_runs(own), bits_of(7))} == {"not refuted"}


@pytest.mark.deep
@pytest.mark.spec("D5")
def test_all_that_is_claimed_of_the_audits_holds():
    report = audited_mechanisms.run(Effort())
    assert report.holds
    of_sample = [row for row in report.tables[1].rows if row[0] == "sampled_generalisation"]
    assert len(of_sample) == 10
    parts = {row[1] for row in report.tables[0].rows}
    assert parts == {"delta", "delta_of_frequent_set", "delta_of_sample_size", "delta_of_exchange"}


def toy_record():
    """The first record of the toy: chains city and job, and the levels from which the others are below."""
    chains = (CITY["Laf"], JOB["Eng"])
    levels = [
        [
            next(at for at, node in enumerate(chain) if node in own[value])
            for chain, own, value in zip(chains, (CITY, JOB), record, strict=True)
        ]
        for record in TOY
    ]
    return ChainRecord.of(
        [
            np.array([d[v] for v in chain], dtype=float)
            for chain, d in zip(chains, (CITY_D, JOB_D), strict=True)
        ],
        [np.array([w[v] for v in chain]) for chain, w in zip(chains, (CITY_W, JOB_W), strict=True)],
        np.array(levels),
    )


@pytest.mark.spec("DN-V8", "DN-A2")
def test_roundings_of_a_point_and_what_they_cover():
    record = toy_record()
    found = outcomes(point_of(np.array([0.9, 0.4, 0.5]), record.heights))
    told = [
        (own.levels, near(own.probability, 1e-9), record.count(own.levels))
        for own in found
        if own.probability > 1e-12
    ]
    assert told == [
        ((0, 0), near(0.1, 1e-9), 2), ((1, 0), near(0.4, 1e-9), 3),
        ((1, 1), near(0.1, 1e-9), 5), ((2, 1), near(0.4, 1e-9), 8),
    ]  # fmt: skip
    assert sum(own.probability * record.count(own.levels) for own in found) == near(5.1)
    assert Body(record, 0, 0, 2).covered(np.array([0.9, 0.4, 0.5])) == near(5.1)
    assert sum(own.probability * record.phi(own.levels) for own in found) == near(0.55)
    assert (record.count((0, 0)), record.count((2, 1))) == (2, 8)


@pytest.mark.spec("DN-V12", "DN-A1", "DN-A3")
def test_layers_begin_at_the_least_sensitivity():
    assert layer_edges(0.2, 1.1, 0.5) == near((0.2, 0.3, 0.45, 0.675, 1.0125, 1.51875))
    assert layer_edges(0.2, 0.2, 0.5) == near((0.2, 0.3))
    # The layer of ⊥ is never empty; the others are by how many must be covered, which the data tell.
    assert [own.lowest for own, _ in bodies_of(toy_record(), 4, 0.5)] == near([0.2, 0.3, 0.45, 0.675])
    assert [own.lowest for own, _ in bodies_of(toy_record(), 8, 0.5)] == near([0.2])
    for body, start in bodies_of(toy_record(), 4, 0.5):
        assert body.covered(start) >= 4
        rows, limits = body.bounds
        assert (rows @ start <= limits + 1e-12).all()


@pytest.mark.spec("DN-V12", "DN-A6")
def test_roundings_until_one_covers_enough():
    assert most_roundings(0.3, 0.5) == near(5.666667)
    assert near(1.214286) == (1 - 0.3 * 0.5) / (1 - 0.3)
    # Markov is met by a point that covers all with a probability p and nothing else: p = θ(1−σ)/(1−σθ).
    assert 1 / most_roundings(0.3, 0.5) == near(0.3 * 0.5 / (1 - 0.15))


@pytest.mark.spec("DN-A4")
def test_an_extension_changes_by_no_more_than_its_function():
    """It is a mean over level sets: Δ is enough where three times as much is printed."""
    record, random = toy_record(), np.random.default_rng(4)
    fewer = ChainRecord.of(record.utilities, record.weights, record.thresholds[1:], record.multiplicity[1:])
    most = max(record.count(x) - fewer.count(x) for x in itertools.product(range(3), range(2)))
    for _ in range(50):
        sets = outcomes(point_of(random.random(3), record.heights))
        change = sum(own.probability * (record.count(own.levels) - fewer.count(own.levels)) for own in sets)
        assert change <= most + 1e-12


@pytest.mark.spec("DN-A5")
def test_which_points_are_allowed_depends_on_the_data():
    record = toy_record()
    fewer = ChainRecord.of(record.utilities, record.weights, record.thresholds[1:], record.multiplicity[1:])
    assert [len(bodies_of(own, 8, 0.5)) for own in (record, fewer)] == [1, 0]


@pytest.mark.spec("DN-A7")
def test_rounding_a_flat_density_proposes_the_record_itself_often():
    """With two chains by a third, where each of four would have a quarter."""
    assert flat_law(2) == near((1 / 3, 1 / 6, 1 / 3))
    assert sum(own * math.comb(3, j) for j, own in enumerate(flat_law(3))) == near(1)
    found = rounding_shares(2, 400, 1)
    # Within five standard deviations of 400 draws; seeded.
    assert found == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=0.12)


@pytest.mark.deep
@pytest.mark.spec("DN-A7")
@pytest.mark.parametrize("chains", [2, 3])
def test_hit_and_run_has_the_law_of_a_flat_density(chains):
    found = rounding_shares(chains, 20_000, 7)
    law = [own * math.comb(chains, j) for j, own in enumerate(flat_law(chains))]
    assert sum(abs(a - b) for a, b in zip(found, law, strict=True)) / 2 < 0.02


@pytest.mark.spec("DN-9")
def test_a_point_is_drawn_of_a_layer_and_covers_enough():
    record, random = toy_record(), np.random.default_rng(3)
    asked = PointQuestion(0.5, 0.3, 0.5, 2.0, 0.1, 1)
    found = {sample_point(record, 8, asked, 5, random) for _ in range(10)}
    assert all(record.count(levels) >= 1.2 for levels in found)
    assert len(found) > 1


def test_no_route_releases_what_sample_point_draws():
    assert "sample_point" not in {own.name for own in MECHANISMS}


@pytest.mark.deep
@pytest.mark.spec("D1", "D2")
def test_samples_have_at_most_their_share_of_the_optimum():
    report = over_rates(Effort(seeds=2))
    assert report.holds
    for rate, *values in report.tables[0].rows:
        assert all(values[at] <= rate for at in range(12) if at % 4 < 2)


@pytest.mark.spec("D1")
def test_against_a_dictionary_a_histogram_suppresses_rare_records_and_loses_none():
    report = over_epsilon(Effort(seeds=1))
    assert report.holds
    assert report.tables[0].columns[-2:] == ("histogram", "histogram against a dictionary")
    assert all(lost < shown <= 1 for *_, lost, shown in report.tables[0].rows)
    own = Sample.drawn(0)
    assert {own.weighed.vectors[at] for at in own.chosen.tolist()} == {(0, 0), (2, 2)}
    rarest = own.records.counts[own.chosen == own.weighed.vectors.index((0, 0))]
    assert own.suppressed == rarest.sum() / own.records.counts.sum()
    assert rarest.min() < 15 < rarest.max()


def test_questions_of_published_constants_know_what_is_left_out():
    assert PublishedQuestion(1.0, 1e-6, 0.1, 9, 2.0, 6.0).left_out == near(0.9)

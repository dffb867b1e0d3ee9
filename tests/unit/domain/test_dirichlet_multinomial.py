"""Drawn people of public partitions: the urn's law, priors on coarse grids, plans, promises and refusals."""

import itertools
import math
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms import dirichlet_multinomial, polya_urn
from app.domain.mechanisms.dirichlet_calibration import calibrate, proven_delta
from app.domain.mechanisms.dirichlet_disclosure import exact_chances, least_delta, log_probabilities, outputs
from app.domain.mechanisms.dirichlet_multinomial import DIRICHLET_MULTINOMIAL, DirichletMultinomial, prior_of
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.polya_urn import LARGEST_BOUND, Urns
from app.domain.mechanisms.several_draws import bounded_guarantee_together
from app.domain.rules.rule import CellRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream

FALSE_ALARM = 1e-6
WORKS = Hierarchy.from_parents({"Chi": [None], "Day": [None], "Laf": [None]})
HOMES = Hierarchy.from_parents({f"h{i}": [f"s{i // 4}"] for i in range(8)} | {"s0": [None], "s1": [None]})
AGES = Hierarchy.from_parents({"old": [None], "young": [None]})
TAIL = {"epsilon": 2.0, "delta": 0.01, "certificate": "exact_tail"}


def tape_of(words):
    """These numbers below their bounds, as the urn reads them, each once."""
    data = np.asarray(words, dtype="<u8").tobytes()
    given = []

    def bits(n):
        assert not given
        given.append(n)
        assert n == len(data)
        return data

    return bits


def rising(start, times):
    return math.prod(start + own for own in range(times))


def chance_of(drawn, counts, alpha):
    """The Dirichlet-multinomial law by rising factorials, exactly."""
    weights = [n + alpha for n in counts]
    ways = Fraction(math.factorial(sum(drawn)), math.prod(map(math.factorial, drawn)))
    return ways * math.prod(map(rising, weights, drawn)) / rising(sum(weights), sum(drawn))


@pytest.mark.spec("LD-D12")
@pytest.mark.parametrize(
    ("counts", "numerator", "scale"),
    [
        ((1,), 1, 3),
        ((2, 0), 1, 2),
        ((1, 1, 1), 1, 2),
        ((2, 1, 0), 2, 1),
        ((1, 1, 1, 0), 1, 2),
        ((3, 1, 0, 0), 1, 1),
        ((3, 2), 1, 1),
        pytest.param((3, 2, 0, 0), 1, 1, marks=pytest.mark.deep),
        pytest.param((4, 2), 1, 1, marks=pytest.mark.deep),
    ],
)
def test_all_words_of_an_urn_together_are_the_law(counts, numerator, scale):
    """Every sequence of whole numbers below the bounds is as likely: one urn for each of them."""
    n, cells, alpha = sum(counts), len(counts), Fraction(numerator, scale)
    bounds = [scale * (n + turn) + cells * numerator for turn in range(n)]
    words = np.indices(bounds, dtype=np.uint32).reshape(n, -1).T
    urns = Urns(*(np.full(len(words), own) for own in (n, numerator, scale)), cells)
    people = np.tile(np.repeat(np.arange(cells), counts), len(words)).astype(np.int32)
    drawn = urns.drawn(people, tape_of(words.ravel())).reshape(-1, n)
    shown = np.stack([(drawn == cell).sum(axis=1) for cell in range(cells)], axis=1)
    found, times = np.unique(shown, axis=0, return_counts=True)
    assert len(found) == math.comb(n + cells - 1, n)
    for outcome, many in zip(found.tolist(), times.tolist(), strict=True):
        assert Fraction(many, len(words)) == chance_of(outcome, counts, alpha)
    logs = log_probabilities(found, np.array(counts), np.full(cells, float(alpha)))
    assert np.exp(logs) == pytest.approx(times / len(words), rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 50), st.integers(1, 20)), min_size=1, max_size=6),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
def test_urns_are_drawn_one_by_one_as_a_loop_draws_them(of_urns, cells, chance):
    people, words, expected = [], [], []
    for n, numerator, scale in of_urns:
        own = [chance.randrange(cells) for _ in range(n)]
        earlier = []
        for turn in range(n):
            word = chance.randrange(scale * (n + turn) + cells * numerator)
            words.append(word)
            if word < scale * n:
                earlier.append(own[word // scale])
            elif word < scale * n + cells * numerator:
                earlier.append((word - scale * n) // numerator)
            else:
                earlier.append(earlier[(word - scale * n - cells * numerator) // scale])
        people += own
        expected += earlier
    urns = Urns(*(np.array(own) for own in zip(*of_urns, strict=True)), cells)
    assert urns.drawn(np.array(people, dtype=np.int32), tape_of(words)).tolist() == expected


def far_from_law(shown, counts, alpha):
    """Whether these histograms refute the law, with a false alarm in a million."""
    outcomes = outputs(sum(counts), len(counts))
    logs = log_probabilities(outcomes, np.array(counts), np.full(len(counts), alpha))
    expected = len(shown) * np.exp(logs)
    assert expected.min() > 5
    times = Counter(map(tuple, shown.tolist()))
    found = np.array([times[tuple(own)] for own in outcomes.tolist()])
    statistic = float(((found - expected) ** 2 / expected).sum())
    return statistic > chi2.isf(FALSE_ALARM, len(outcomes) - 1)


def test_drawn_people_have_the_law_and_an_urn_that_forgets_has_not():
    """χ² over the 28 outcomes of 6 people in 3 cells, of 100,000 urns. It fails by chance once in 10⁶."""
    counts, runs = (3, 2, 1), 100_000
    urns = Urns(*(np.full(runs, own) for own in (6, 3, 4)), 3)
    people = np.tile(np.repeat(np.arange(3), counts), runs).astype(np.int32)
    drawn = urns.drawn(people, stream("people")).reshape(-1, 6)
    shown = np.stack([(drawn == cell).sum(axis=1) for cell in range(3)], axis=1)
    assert not far_from_law(shown, counts, 0.75)
    weights = np.array(counts) + 0.75
    forgetting = np.random.default_rng(1).multinomial(6, weights / weights.sum(), runs)
    assert far_from_law(forgetting, counts, 0.75)


def test_an_urn_whose_words_would_not_fit_is_refused():
    with pytest.raises(ValueError, match="2\\^63"):
        Urns(np.array([10]), np.array([1]), np.array([2**60]), 3)
    with pytest.raises(ValueError, match="2\\^63"):
        Urns(np.array([1]), np.array([0]), np.array([1]), 3)


@pytest.mark.spec("LD-D13", "LD-D14")
@pytest.mark.parametrize("places", [0, 1, 2, 12])
@pytest.mark.parametrize(
    ("n", "cells", "epsilon", "delta", "certificate"),
    [
        (4, 3, "1", "0", "pure"),
        (5, 3, "1.5", "0.05", "exact_tail"),
        (5, 2, "1.2", "0.09", "reference_sample"),
        (6, 4, "2", "0.01", "exact_tail"),
        (1, 4, "2", "0.01", "reference_sample"),
    ],
)
def test_rounded_priors_keep_what_is_promised_of_every_small_table(
    monkeypatch, places, n, cells, epsilon, delta, certificate
):
    """By enumeration of all tables and outputs, also where words are too short for twelve places."""
    monkeypatch.setattr(polya_urn, "LARGEST_BOUND", 10**places * (2 * n + cells * 10 * n))
    prior_of.cache_clear()
    own = prior_of(n, ((1, cells),), Fraction(epsilon), Fraction(delta), certificate)
    prior_of.cache_clear()
    alpha, proven = own
    assert alpha.denominator <= 10 ** (places + 1)
    assert Fraction(proven) <= Fraction(delta)
    assert alpha >= calibrate(n, cells, Fraction(epsilon), Fraction(delta), certificate).alpha
    priors = np.full(cells, float(alpha))
    for table in outputs(n, cells):
        assert exact_chances(table, priors, float(epsilon)).disclosure <= proven * (1 + 1e-9) + 1e-15
        for i, j in itertools.permutations(range(cells), 2):
            if table[i]:
                other = table.copy()
                other[i] -= 1
                other[j] += 1
                assert least_delta(table, other, priors, float(epsilon)) <= float(delta) + 1e-12


def test_priors_that_no_word_holds_are_not_drawn_from():
    cells, epsilon = 8 * 10**6, Fraction("3.912023005")
    wide, proven = prior_of(10**6, ((1, cells),), epsilon, Fraction(0), "pure")
    assert (10**7 % wide.denominator, proven) == (0, 0.0)
    assert 0 <= wide - calibrate(10**6, cells, epsilon, 0, "pure").alpha < Fraction(1, 10**7)
    assert 2 * wide.denominator * 10**6 + cells * wide.numerator <= LARGEST_BOUND
    fine, _ = prior_of(10**6, ((1, cells),), epsilon, Fraction(1, 10**6), "reference_sample")
    assert float(fine) == pytest.approx(0.39, abs=0.01)
    assert prior_of(10**9, ((1, 10**9),), Fraction(1, 10**4), Fraction(0), "pure") is None
    assert proven_delta(15, {Fraction(1): 1000}, Fraction(1, 100), Fraction(1), "reference_sample") == 1
    assert proven_delta(15, {Fraction(1): 1000}, Fraction(1, 100), Fraction(1), "pure") == 1


def table(homes, works=None, ages=None):
    """A record per home; the works take turns unless they are given."""
    columns = {"work": (WORKS, works or ["Chi"] * len(homes)), "home": (HOMES, homes)}
    if ages is not None:
        columns["age"] = (AGES, ages)
    codes = [
        [0 if label is None else tree.node_of(label) for label in labels] for tree, labels in columns.values()
    ]
    return Table(
        tuple(columns),
        tuple(tree for tree, _ in columns.values()),
        np.array(codes, dtype=np.int32).T,
        sensitive=frozenset({"home"}),
    )


def context(of, rule=None, **more):
    return MechanismContext(of, rule, **{"public": frozenset({"home", "age"}), **more})


def asked(*partition, **more):
    return DirichletMultinomial(**{"partition": partition or ("work",), "epsilon": 1.0} | more)


@pytest.mark.spec("LD-S13")
def test_a_plan_says_what_the_vectors_say():
    homes = ["h0"] * 20 + ["h1"] + ["h2"] * 20
    works = ["Chi"] * 20 + ["Day"] + ["Laf"] * 20
    five = Hierarchy.from_parents({f"h{i}": [None] for i in range(5)})
    own = table(homes, works)
    own = Table(
        own.attributes,
        (WORKS, five),
        np.stack([own.codes[:, 0], [five.node_of(home) for home in homes]], axis=1),
        sensitive=own.sensitive,
    )
    found = DIRICHLET_MULTINOMIAL.plan(context(own), asked(**TAIL)).constants
    assert found["alpha_greatest"] == pytest.approx(1.252141, rel=1e-5)
    assert found["delta_of_partition"] == pytest.approx(0.009592, rel=1e-3)
    assert found["delta_of_table"] == pytest.approx(2 * found["delta_of_partition"], rel=1e-12)
    assert found["alpha_least"] == pytest.approx(1 / math.expm1(2), rel=1e-9)
    assert found["greatest_loss"] == pytest.approx(math.log1p(20 / 1.252141), rel=1e-5)
    shares = [5 * 1.252141 / (20 + 5 * 1.252141), 5 / math.expm1(2) / (1 + 5 / math.expm1(2))]
    assert found["noise_share"] == pytest.approx((40 * shares[0] + shares[1]) / 41, rel=1e-5)
    assert found["noise_share_at_epsilon_2"] == pytest.approx(shares[0], rel=1e-5)
    names = ("partitions", "partitions_of_one", "size_median", "size_greatest", "values")
    assert [found[name] for name in names] == [3, 1, 20, 20, 5]
    pure = DIRICHLET_MULTINOMIAL.plan(context(own), asked(epsilon=2.0)).constants
    assert pure["alpha_greatest"] == pytest.approx(3.130353, rel=1e-6)
    by_reference = asked(**TAIL | {"certificate": "reference_sample"})
    reference = DIRICHLET_MULTINOMIAL.plan(context(own), by_reference).constants
    assert reference["alpha_greatest"] == pytest.approx(1.509551, rel=3e-5)


def test_as_many_are_drawn_everywhere_and_others_than_the_declared_values_never():
    homes, works = ["h0"] * 30 + ["h7"] * 12, ["Chi"] * 20 + ["Day"] * 20 + [None, "Laf"]
    drawn = DIRICHLET_MULTINOMIAL.draw(context(table(homes, works)), asked(**TAIL), os.urandom)
    labels = [WORKS.labels[own] for own in drawn.columns[0].tolist()]
    assert Counter(labels) == {"Chi": 20, "Day": 20, WORKS.labels[0]: 1, "Laf": 1}
    assert set(drawn.columns[1].tolist()) <= set(HOMES.leaves.tolist())
    published = drawn.published
    assert (published.attribute, published.cells, published.sizes) == ("home", 8, (1, 20))
    assert published.priors[1] == float(
        prior_of(20, ((1, 8),), Fraction(2), Fraction(1, 100), "exact_tail")[0]
    )


def test_everybody_is_one_partition_without_public_attributes():
    own = table(["h0"] * 9)
    suppressed = TableRule((1, 0))
    drawn = DIRICHLET_MULTINOMIAL.draw(
        context(own, suppressed),
        DirichletMultinomial(partition=(), epsilon=1.0, rule_is_public=True),
        os.urandom,
    )
    assert (drawn.columns[0] == 0).all()
    assert (len(drawn.columns[1]), drawn.published.sizes) == (9, (9,))
    only = Table(("home",), (HOMES,), own.codes[:, 1:], sensitive=frozenset({"home"}))
    alone = DirichletMultinomial(partition=(), epsilon=1.0)
    assert len(DIRICHLET_MULTINOMIAL.draw(context(only), alone, os.urandom).columns[0]) == 9


def test_a_public_rule_makes_the_domain_coarser():
    own, coarse = context(table(["h0"] * 5 + ["h7"]), TableRule((0, 1))), asked(rule_is_public=True)
    drawn = DIRICHLET_MULTINOMIAL.draw(own, coarse, os.urandom)
    assert {HOMES.labels[node] for node in drawn.columns[1].tolist()} <= {"s0", "s1"}
    assert drawn.published.cells == 2
    (fault,) = DIRICHLET_MULTINOMIAL.plan(own, asked()).missing
    assert (fault.pointer, fault.code) == ("/mechanism/rule_is_public", "rule-not-public")


def test_two_draws_share_no_bytes_and_the_same_bytes_draw_the_same():
    own = context(table(["h0", "h1", "h2", "h3"] * 10))
    draws = [DIRICHLET_MULTINOMIAL.draw(own, asked(), stream(seed)).columns[1] for seed in "aab"]
    assert draws[0].tolist() == draws[1].tolist() != draws[2].tolist()


@pytest.mark.spec("LD-E6", "LD-E13")
def test_a_guarantee_names_its_neighbours_first_and_adds_up_over_partitions_where_it_must():
    own = context(table(["h0"] * 40, ["Chi", "Day"] * 20))
    (pure,) = DIRICHLET_MULTINOMIAL.plan(own, asked()).guarantees
    assert (pure.model, pure.parameters["delta"], pure.standing) == (
        "bounded_differential_privacy", 0.0, "certified",
    )  # fmt: skip
    assert pure.hypotheses[0].id == "totals_are_public"
    assert "each combination of 'work'" in pure.hypotheses[0].reason
    bounded, probabilistic = DIRICHLET_MULTINOMIAL.plan(own, asked(**TAIL)).guarantees
    assert (bounded.model, bounded.parameters["delta"]) == ("bounded_differential_privacy", 0.01)
    of_one = probabilistic.parameters["delta_of_partition"]
    assert 0 < of_one <= 0.01
    assert probabilistic.parameters["delta"] == pytest.approx(2 * of_one, rel=1e-12)
    assert "not of everything that is made of it" in probabilistic.sentence
    warned = DIRICHLET_MULTINOMIAL.plan(context(table(["h0"])), asked(epsilon=4.0)).warnings
    assert warned[0].startswith("Of one record more or less nothing is promised")
    assert any("partitions have one person" in said for said in warned)
    assert any("ε = 4 is large" in said for said in warned)


def test_draws_of_records_count_twice_for_who_replaces_a_value_and_sums_are_not_rounded_down():
    replacing = [{"epsilon": 0.1, "delta": 1e-6}, {"epsilon": 0.2, "delta": 0.0}]
    found = bounded_guarantee_together("home", replacing, [{"epsilon": 0.5, "delta": 1e-4}], (), "certified")
    assert (found.parameters["epsilon"], found.parameters["draws"]) == (1.3, 3)
    exact = 1e-6 + (1 + math.exp(0.5)) * 1e-4
    assert exact <= found.parameters["delta"] <= exact * (1 + 1e-9)
    assert found.status == "certified"
    weak = bounded_guarantee_together("home", replacing, [], (), "as_published")
    assert weak.status == "as_published"
    nothing = bounded_guarantee_together("home", [], [{"epsilon": 5.0, "delta": 0.01}], (), "certified")
    assert (nothing.status, nothing.parameters["delta"]) == ("none", 1.0)


@pytest.mark.parametrize(
    ("make", "pointer", "code"),
    [
        (lambda: asked(epsilon=0.0), "/epsilon", "out-of-range"),
        (lambda: asked(epsilon=20.5), "/epsilon", "out-of-range"),
        (lambda: asked(epsilon=math.nan), "/epsilon", "out-of-range"),
        (lambda: asked(epsilon=0.1234567891), "/epsilon", "too-many-decimals"),
        (lambda: asked(delta=-0.1, certificate="exact_tail"), "/delta", "out-of-range"),
        (lambda: asked(delta=0.2, certificate="exact_tail"), "/delta", "out-of-range"),
        (lambda: asked(delta=0.01), "/delta", "delta-of-other-certificate"),
        (lambda: asked(certificate="exact_tail"), "/delta", "delta-of-other-certificate"),
        (
            lambda: asked(epsilon=1.098612, delta=0.01, certificate="reference_sample"),
            "/certificate",
            "epsilon-too-small",
        ),
    ],
)
@pytest.mark.spec("LD-14")
def test_what_is_refused_without_a_table(make, pointer, code):
    with pytest.raises(InvalidInput) as refused:
        make()
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)
    assert fault.remedy or code == "out-of-range"


@pytest.mark.parametrize(
    ("own", "question", "pointer", "code"),
    [
        (table(["h0"]), asked("works"), "/mechanism/partition/0", "unknown-attribute"),
        (table(["h0"]), asked("home"), "/mechanism/partition/0", "not-public"),
        (table(["h0"], ages=["old"]), asked("work"), "/mechanism/partition", "several-drawn"),
    ],
)
@pytest.mark.spec("LD-14")
def test_partitions_that_are_none_are_refused(own, question, pointer, code):
    with pytest.raises(InvalidInput) as refused:
        DIRICHLET_MULTINOMIAL.supports(context(own), question)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)
    assert fault.remedy
    if code == "several-drawn":
        assert "16 values" in fault.message


@pytest.mark.spec("LD-14")
def test_what_cannot_be_drawn_is_refused_with_a_remedy():
    free = Table(("work", "home"), (WORKS, HOMES), np.array([[1, 2]], dtype=np.int32))
    with pytest.raises(InvalidInput, match="none is drawn"):
        DIRICHLET_MULTINOMIAL.supports(context(free), asked("work", "home"))
    single = Hierarchy.from_parents({"here": [None]})
    one = Table(("work", "home"), (WORKS, single), np.array([[1, 1]], dtype=np.int32))
    with pytest.raises(InvalidInput, match="one value only"):
        DIRICHLET_MULTINOMIAL.supports(context(one), asked())
    undeclared = context(table(["h0"]), public=frozenset())
    assert "Declare a hierarchy" in DIRICHLET_MULTINOMIAL.supports(undeclared, asked())
    with pytest.raises(NotSupported, match="'home'"):
        DIRICHLET_MULTINOMIAL.draw(undeclared, asked(), os.urandom)
    cells = CellRule(np.zeros((1, 2), dtype=np.int32))
    assert "table_level" in DIRICHLET_MULTINOMIAL.supports(context(table(["h0"]), cells), asked())
    for value in (None, "s0"):
        unknown = context(table(["h0", value]))
        (fault,) = DIRICHLET_MULTINOMIAL.bars(unknown, asked())
        assert (fault.code, fault.remedy[:5]) == ("missing-drawn-values", "Leave")
        with pytest.raises(InvalidInput, match="no declared value"):
            DIRICHLET_MULTINOMIAL.draw(unknown, asked(), os.urandom)
    assert DIRICHLET_MULTINOMIAL.bars(context(table(["h0", "h7"])), asked()) == ()


def test_tails_that_are_too_much_work_are_missing(monkeypatch):
    monkeypatch.setattr(dirichlet_multinomial, "MOST_SQUARES", 1002**2 // 8 - 1)
    crowd = context(table(["h0", "h1"] * 501))
    plan = DIRICHLET_MULTINOMIAL.plan(crowd, asked(delta=1e-6, certificate="exact_tail"))
    assert [(own.pointer, own.code) for own in plan.missing] == [("/mechanism/certificate", "too-much-work")]
    by_pure = plan.constants["noise_share_at_epsilon_1"]
    pure = DIRICHLET_MULTINOMIAL.plan(crowd, asked()).constants
    assert by_pure == pure["noise_share_at_epsilon_1"] == pytest.approx(pure["noise_share"], rel=1e-12)
    assert DIRICHLET_MULTINOMIAL.plan(crowd, asked(**TAIL)).is_feasible
    assert DIRICHLET_MULTINOMIAL.plan(crowd, asked()).is_feasible


def test_too_much_noise_to_draw_from_exactly_is_missing(monkeypatch):
    monkeypatch.setattr(polya_urn, "LARGEST_BOUND", 100)
    prior_of.cache_clear()
    plan = DIRICHLET_MULTINOMIAL.plan(context(table(["h0"] * 30)), asked())
    prior_of.cache_clear()
    assert [(own.pointer, own.code) for own in plan.missing] == [("/mechanism/epsilon", "too-much-noise")]
    assert (plan.guarantees, plan.warnings) == ((), ())

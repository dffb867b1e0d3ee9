"""Releases of small tables: all outcomes of coins, or the law of them, against the sources' sentences."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.declared_samples import records_of
from app.domain.mechanisms.histogram_laws import laplace_law, stability_law
from app.domain.mechanisms.laplace_histogram import LAPLACE_HISTOGRAM, LaplaceHistogram
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.sample_laws import (
    SampleSteps,
    above,
    grouping,
    law_of,
    noise_reaches,
    noisy_sets,
)
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.sampled_generalisation import SampledGeneralisation, constants_of, score_of
from app.domain.mechanisms.sampled_generalisation_published import (
    SampledGeneralisationPublished,
    published_score,
)
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.tables.table import Table
from tests.oracles import wang_by_hand as by_hand
from tests.oracles.effort import examples
from tests.oracles.noise_by_hand import chance_from, chance_of_noise, threshold_of
from tests.oracles.perturbation_by_hand import table_of, table_of_groups
from tests.oracles.samples_by_hand import CITY, JOB, World
from tests.oracles.shared_sets import shared_sets

SOME = settings(max_examples=examples(60), deadline=None)
MORE = settings(max_examples=examples(340), deadline=None)
"""Of mechanisms whose releases other tests draw too, to measure them: those instances compare no draw."""
CITIES = Hierarchy.from_parents({"Laf": ["IN"], "Day": ["IN"], "Chi": ["IL"], "IN": [None], "IL": [None]})
JOBS = Hierarchy.from_parents({"Eng": [None], "Nur": [None]})
CHAINS = {
    name: {own[i]: own[i:] for own in chains.values() for i in range(len(own))}
    for name, chains in (("city", CITY), ("job", JOB))
}
"""Attribute → value → the value and all above it, * for what shows nothing."""
EPSILONS = st.sampled_from([0.1, 0.25, 1.0, 3.0])


def shown(drawn):
    """How often each group is published with each value, both from 0."""
    places, values = (own.tolist() for own in drawn.columns)
    return Counter((place - 1, value - 1) for place, value in zip(places, values, strict=True))


@MORE
@given(st.integers(2, 6), st.integers(1, 15), st.randoms(use_true_random=False))
@pytest.mark.spec("RP-2")
def test_all_outcomes_of_a_record_are_as_many_as_the_matrix_says(m, part, chance):
    """p is of 16 parts: 16·m equally wide parts of the first word, and m − 1 of the second, are its law."""
    p = Fraction(part, 16)
    first = [(2 * k + 1) * 2**64 // (2 * 16 * m) for k in range(16 * m)]
    second = [(2 * k + 1) * 2**64 // (2 * (m - 1)) for k in range(m - 1)]
    words = list(itertools.product(first, second))
    true = chance.randrange(m)
    chance.shuffle(words)
    table = table_of([len(words) * (value == true) for value in range(m)])
    data = b"".join(word.to_bytes(8, "little") for pair in words for word in pair)
    asked = UniformPerturbation(p=float(p), p_cap=float(p))
    drawn = UNIFORM_PERTURBATION.draw(MechanismContext(table), asked, by_hand.tape(data)[0])
    found = shown(drawn)
    for value in range(m):
        assert Fraction(found[0, value], len(words)) == p * (value == true) + (1 - p) / m


@MORE
@given(
    st.lists(st.lists(st.integers(0, 12), min_size=3, max_size=3).filter(any), min_size=2, max_size=6),
    st.sampled_from(["balanced_fixed", "balanced", "paper"]),
    st.sampled_from(["chernoff_simple", "chernoff_full"]),
    st.tuples(st.floats(0.4, 0.9), st.floats(0.4, 0.8), st.floats(0.2, 0.7)),
    st.integers(0, 2**32),
)
@pytest.mark.spec("RP-6")
def test_samples_values_and_copies_are_those_of_every_coin(groups, mode, bound, numbers, seed):
    """Of one tape of random bytes."""
    p, epsilon, delta = numbers
    leak = {"accept_known_leak": True} if mode == "paper" else {}
    asked = SamplePerturbScale(p=p, p_cap=p, epsilon=epsilon, delta=delta, mode=mode, bound=bound, **leak)
    context = MechanismContext(table_of_groups(groups))
    assume(SAMPLE_PERTURB_SCALE.plan(context, asked).is_feasible)
    data = random.Random(seed).randbytes(40 * (sum(map(sum, groups)) + 40))
    question = (p, 3, epsilon, delta, bound == "chernoff_full")
    expected = by_hand.drawn_samples(groups, mode, question, by_hand.tape(data)[1])
    assert shown(SAMPLE_PERTURB_SCALE.draw(context, asked, by_hand.tape(data)[0])) == expected


@st.composite
def noisy(draw):
    """Counts of cells, and noise that is often at the edge of what is published."""
    counts = draw(st.lists(st.integers(0, 6), min_size=2, max_size=4).filter(any))
    return counts, [draw(st.integers(-8, 30)) for _ in counts], draw(st.integers(-1, 1))


def drawn_with(mechanism, counts, asked, noise):
    """How often each cell is published of a table with these counts, with this noise."""
    context = MechanismContext(table_of(counts), public=frozenset({"age", "illness"}))
    module = f"app.domain.mechanisms.{mechanism.name}.two_sided_geometric"
    with patch(module, lambda n, rate, bits: np.array(noise).reshape(n)):
        return shown(mechanism.draw(context, asked, by_hand.tape(b"")[0]))


def assert_same_law(law_of_counts, counts, epsilon, publishes, most=15):
    """Outcome by outcome, of noise up to ``most`` in each cell; of two cells where noise is small."""
    own = counts[: 1 if epsilon < 1 else 2]
    found = law_of_counts(tuple(own))
    for outcome in itertools.product(*(range(n + most) for n in own)):
        expected = math.prod(publishes(n, value) for n, value in zip(own, outcome, strict=True))
        assert abs(found.get(outcome, 0.0) - expected) <= 1e-9 * expected + 1e-12


@SOME
@given(noisy(), EPSILONS, st.sampled_from([1e-2, 1e-3, 1e-5]))
@pytest.mark.spec("DN-5.6")
def test_a_stability_histogram_publishes_noisy_counts_from_the_threshold_on(instance, epsilon, delta):
    counts, noise, edge = instance
    least = threshold_of(epsilon, delta)
    asked = StabilityHistogram(epsilon=epsilon, delta=delta, least_records=1)
    occurring = [n for n in counts if n]
    noise[0] = least - occurring[0] + edge
    with patch("app.domain.mechanisms.stability_histogram.faults_of_delta", lambda *_: ()):
        found = drawn_with(STABILITY_HISTOGRAM, counts, asked, noise[: len(occurring)])
    of_cells = iter(noise)
    noisy_counts = [n + next(of_cells) if n else 0 for n in counts]
    assert found == +Counter({(0, cell): n for cell, n in enumerate(noisy_counts) if n >= least})

    def publishes(n, value):
        if not n:
            return float(not value)
        if not value:
            return 1 - chance_from(epsilon, least - n)
        return chance_of_noise(epsilon, value - n) if value >= least else 0.0

    assert_same_law(lambda own: stability_law(own, asked.law, least), counts, epsilon, publishes)


@SOME
@given(noisy(), EPSILONS)
@pytest.mark.spec("DN-5.6")
def test_a_laplace_histogram_publishes_noisy_counts_above_zero(instance, epsilon):
    counts, noise, edge = instance
    noise[0] = edge - counts[0]
    asked = LaplaceHistogram(epsilon=epsilon)
    # Beside these cells there are those in which the group, the value or both are missing.
    cells = {(g, v): 0 for g in (-1, 0) for v in range(-1, len(counts))}
    cells |= {(0, v): n for v, n in enumerate(counts)}
    of_cells = dict(zip(cells, itertools.cycle(noise[::-1]), strict=False))
    of_cells |= {(0, v): z for v, z in enumerate(noise)}
    found = drawn_with(LAPLACE_HISTOGRAM, counts, asked, list(of_cells.values()))
    assert found == +Counter({cell: n + of_cells[cell] for cell, n in cells.items()})

    def publishes(n, value):
        return chance_of_noise(epsilon, value - n) if value else 1 - chance_from(epsilon, 1 - n)

    assert_same_law(lambda own: laplace_law(own, asked.law), counts, epsilon, publishes)


def world_of(draw, names):
    """Attributes with random weights by depth, as the oracle has them and as the mechanism is told them."""
    falling = {
        name: tuple(sorted(draw(st.lists(st.floats(0.1, 1), min_size=size, max_size=size))))
        for name, size in (("city", 3), ("job", 2))
        if name in names
    }
    depths = [{v: len(own) - 1 for v, own in CHAINS[n].items()} for n in names]
    weights = [{v: falling[n][d] for v, d in own.items()} for n, own in zip(names, depths, strict=True)]
    trade_off, kappa = draw(st.floats(0, 2)), draw(st.integers(0, 2))
    world = World(tuple(CHAINS[n] for n in names), tuple(weights), tuple(depths), trade_off, kappa)
    told = {"trade_off": trade_off, "kappa": kappa, "sensitivity": falling, "phi_offset": 0.0}
    return world, told


def context_of(names, data):
    trees = tuple({"city": CITIES, "job": JOBS}[name] for name in names)
    codes = [[0 if v == "*" else tree.node_of(v) for tree, v in zip(trees, row, strict=True)] for row in data]
    table = Table(tuple(names), trees, np.array(codes, dtype=np.int32))
    return MechanismContext(table, public=frozenset(names))


def assert_same_rows(context, steps, expected):
    """The law of how often each generalisation is shown."""
    records, trees = steps.records, context.table.hierarchies
    nodes = sorted({node for row in range(len(records.codes)) for node in above(records, row)})
    of = grouping(records, [[node] for node in nodes])
    found = sum(own.chance * law_of(own, steps, of).chances for own in steps.sets)
    by_rows = np.zeros(of.shape)
    names = [
        tuple("*" if not at else tree.labels[at] for at, tree in zip(node, trees, strict=True))
        for node in nodes
    ]
    for outcome, chance in expected.items():
        by_rows[tuple(outcome.count(name) for name in names)] += chance
    assert found == pytest.approx(by_rows, rel=1e-9, abs=1e-12)


@SOME
@given(st.data())
@pytest.mark.spec("DN-5.2")
def test_the_law_of_a_sampled_generalisation_is_that_of_all_frequent_sets_and_coins(data):
    names = ("city",)
    rows = data.draw(st.lists(st.tuples(st.sampled_from(sorted(CHAINS["city"]))), min_size=1, max_size=3))
    world, told = world_of(data.draw, names)
    rate, scale, least = data.draw(st.sampled_from([0.1, 0.25])), data.draw(st.integers(1, 4)), 2
    asked = SampledGeneralisation(epsilon=1.0, delta=1e-3, sampling_rate=rate, least_records=4, **told)
    context = context_of(names, rows)
    records, score = records_of(context), score_of(context, asked)
    sets = tuple(noisy_sets(records, score, noise_reaches(scale, least)))
    expected = world.law_over_noise(
        rows, constants_of(context, asked).exponent, rate, lambda n: chance_from(1 / scale, least - n)
    )
    assert_same_rows(context, SampleSteps(records, asked.rate, sets), expected)


@SOME
@given(st.data())
@pytest.mark.spec("DN-3.3")
def test_the_law_of_the_published_sample_is_that_of_all_shares_and_coins(data):
    names = ("city", "job")
    record = st.tuples(st.sampled_from(sorted(CHAINS["city"])), st.sampled_from(sorted(CHAINS["job"])))
    rows = data.draw(st.lists(record, min_size=1, max_size=2))
    world, told = world_of(data.draw, names)
    rate, epsilon = data.draw(st.sampled_from([0.1, 0.25, 0.5])), data.draw(st.sampled_from([1.0, 2.0]))
    least = data.draw(st.sampled_from([0.1, 0.4, 0.5, 0.7]))
    asked = SampledGeneralisationPublished(
        epsilon=epsilon, delta=1e-3, sampling_rate=rate, least_records=4, least_share=least, **told
    )
    context = context_of(names, rows)
    records = records_of(context)
    sets = tuple(shared_sets(records, published_score(context, asked), Fraction(str(least))))
    share = told["trade_off"] / sum(own["*"] for own in world.weights)
    exponent = (epsilon + math.log(1 - rate)) / (3 * 2 * (share + 1) * rate)
    expected = world.law_over_shares(rows, exponent, rate, least)
    assert_same_rows(context, SampleSteps(records, asked.rate, sets), expected)

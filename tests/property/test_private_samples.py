"""What private samples of generalised records rest on, against loops over all records and all outcomes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.exact_choice import whole_weights
from app.domain.mechanisms.exchange_bounds import SIZE_SLACK, exchange_tail, least_mass, size_tail
from app.domain.mechanisms.generalised_records import Candidates, GeneralisedRecords
from app.domain.mechanisms.histogram_laws import both_orders
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.public_dictionary import PublicDictionary
from app.domain.mechanisms.public_scores import PublicScores, weights_by_depth
from app.domain.mechanisms.published_constants import exchange_delta
from app.domain.mechanisms.sample_audit import hockey_stick
from app.domain.mechanisms.sample_laws import FrequentSet, SampleSteps, grouping, law_of, members_of
from app.domain.mechanisms.sampled_constants import SampleQuestion, drifting
from app.domain.search.aggregate.chain_records import ChainRecord
from app.experiments.release_laws import OneAttribute
from tests.oracles.effort import examples
from tests.oracles.release_laws import noisy_law

SOME = settings(max_examples=examples(60), deadline=None)
FEW = settings(max_examples=examples(20), deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def tree(random) -> Hierarchy:
    """Up to six leaves, of which some hang below others' groups and some directly below ⊥."""
    parents: dict[str, list[str | None]] = {"g": [None], "h": [None]}
    for leaf in range(int(random.integers(2, 7))):
        parents[f"l{leaf}"] = [[None, "g", "h"][int(random.integers(3))]]
    return Hierarchy.from_parents(parents)


def instance(seed: int, attributes: int = 2, records: int = 12):
    """Distinct records, leaves and generalised cells among them, with how many there are of each."""
    random = np.random.default_rng(seed)
    trees = tuple(tree(random) for _ in range(attributes))
    rows = np.stack([random.integers(0, own.n_nodes, records) for own in trees], axis=1).astype(np.int32)
    codes, counts = np.unique(rows, axis=0, return_counts=True)
    return random, GeneralisedRecords(trees, tuple(own.height for own in trees), codes, counts)


def above(records: GeneralisedRecords, row: int):
    """All generalisations of a record, by its ancestors."""
    chains = [
        sorted(own.up(int(node)), key=lambda at, own=own: own.depth[at])
        for own, node in zip(records.hierarchies, records.codes[row], strict=True)
    ]
    return list(itertools.product(*chains))


def below(records: GeneralisedRecords, x) -> int:
    """How many records are below it."""
    return sum(
        int(n)
        for code, n in zip(records.codes, records.counts, strict=True)
        if all(at in own.up(int(node)) for at, own, node in zip(x, records.hierarchies, code, strict=True))
    )


@SOME
@given(SEEDS, st.integers(1, 5))
def test_frequent_generalisations_are_those_of_a_loop(seed, least):
    """Of every record, with counts; they are closed upwards whatever is decided."""
    _, records = instance(seed)
    found = Candidates.of(
        records,
        np.arange(len(records.codes)),
        lambda counts: counts >= least,
        lambda nodes, counts: counts.astype(float),
    )
    for row in range(len(records.codes)):
        own = {}
        for column in np.flatnonzero(np.isfinite(found.scores[row])).tolist():
            nodes = found.nodes(np.array([row]), np.array([column], dtype=np.int32))
            own[tuple(int(at[0]) for at in nodes)] = found.scores[row, column]
        expected = {x: below(records, x) for x in above(records, row)}
        assert own == {x: n for x, n in expected.items() if n >= least or not any(x)}


@SOME
@given(SEEDS)
def test_noise_decides_once_for_each_and_from_the_top_down(seed):
    """Every frequent generalisation has all that are more general, and records that share one agree."""
    random, records = instance(seed)
    asked = Counter()

    def decide(counts):
        asked.update(counts.tolist())
        return random.random(len(counts)) < 0.6

    found = Candidates.of(
        records, np.arange(len(records.codes)), decide, lambda nodes, counts: counts.astype(float)
    )
    frequent, seen = set(), {}
    for row in range(len(records.codes)):
        for column, vector in enumerate(found.vectors):
            if np.isfinite(found.scores[row, column]):
                nodes = found.nodes(np.array([row]), np.array([column], dtype=np.int32))
                x = tuple(int(at[0]) for at in nodes)
                frequent.add(x)
                assert seen.setdefault(x, vector) == vector
    for row in range(len(records.codes)):
        for x in above(records, row):
            if x in frequent:
                for j, own in enumerate(records.hierarchies):
                    if x[j]:
                        assert (*x[:j], own.parents[x[j]][0], *x[j + 1 :]) in frequent
                column = found.vectors.index(seen[x])
                assert np.isfinite(found.scores[row, column])
    assert sum(asked.values()) <= sum(
        1 for _ in {x for row in range(len(records.codes)) for x in above(records, row)}
    )


def scores_of(random, records: GeneralisedRecords) -> PublicScores:
    """Weights by depth that never fall, and levels kept."""
    weights = tuple(
        weights_by_depth(own, np.cumsum(random.random(3) * (random.random(3) < 0.7)).tolist())
        for own in records.hierarchies
    )
    uses = tuple(own.depth.astype(float) for own in records.hierarchies)
    return PublicScores(
        weights, uses, float(random.random() * 3), int(random.integers(0, 3)), 0.1 + random.random()
    )


@SOME
@given(SEEDS)
@pytest.mark.spec("DN-D5", "DN-5.2")
def test_one_record_changes_scores_within_the_tight_bound_and_the_published_one(seed):
    """(λ/φ_l + ν^κ/(m−1))/m; and 2(λ/φ_l + 1)/m where m ≥ ν^κ. No exponent leaves its range."""
    random, records = instance(seed, records=7)
    scores = scores_of(random, records)
    m = int(records.counts.sum())
    tight = (scores.trade_off / scores.least_phi + scores.greatest_gain / (m - 1)) / m
    published = 2 * (scores.trade_off / scores.least_phi + 1) / m
    for gone in range(len(records.codes)):
        for row in range(len(records.codes)):
            if row == gone and records.counts[row] == 1:
                continue
            for x in above(records, row):
                nodes = [np.array([at]) for at in x]
                count = below(records, x)
                fewer = count - all(
                    at in own.up(int(node))
                    for at, own, node in zip(x, records.hierarchies, records.codes[gone], strict=True)
                )
                both = scores.score([at.repeat(2) for at in nodes], np.array([count, fewer]))
                before, after = float(both[0]) / m, float(both[1]) / (m - 1)
                assert abs(before - after) <= tight + 1e-12
                if m > scores.greatest_gain:
                    assert abs(before - after) <= published
                assert 0 <= before <= scores.per_record(m) + 1e-12


@SOME
@given(SEEDS)
def test_bounds_of_scores_follow_from_declarations_alone(seed):
    random, records = instance(seed)
    scores = scores_of(random, records)
    every = itertools.product(*(range(own.n_nodes) for own in records.hierarchies))
    for x in itertools.islice(every, 200):
        nodes = [np.array([at]) for at in x]
        assert scores.least_phi - 1e-12 <= float(scores.phi(nodes)[0]) <= scores.greatest_phi + 1e-12
        assert float(scores.utility(nodes)[0]) <= scores.greatest_utility + 1e-12
        values = [float(scores.score(nodes, np.array([n]))[0]) for n in (1, 9)]
        assert max(values) - min(values) <= scores.width(9) + 1e-9


@SOME
@given(
    st.integers(20, 70),
    st.sampled_from([0.1, 0.2, 0.3, 0.5]),
    st.floats(0.0, 0.2),
    st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    st.integers(0, 2),
)
@pytest.mark.spec("DN-5.2")
def test_no_exact_law_exceeds_the_bound_of_theorem_c(n, rate, exponent, epsilon, others):
    """A leaf of n records that stays frequent, beside some of another leaf, which is not."""
    model = OneAttribute(rate, exponent)
    more, less = (model.law((count, others), (True, False)) for count in (n, n - 1))
    m = n - 1 + others
    bound = exchange_delta(epsilon, rate, exponent * (2 + 1 / m), 2, n - 1, m)
    assert max(both_orders(more, less, epsilon)) <= bound + 1e-12


@FEW
@given(
    st.tuples(st.integers(8, 13), st.integers(0, 6), st.integers(0, 4)),
    st.sampled_from([0.2, 0.3, 0.5]),
    st.floats(0.0, 1.0),
    st.floats(0.0, 0.1),
    st.sampled_from([3.0, 4.0, 5.0]),
    st.booleans(),
)
@pytest.mark.spec("DN-5.2")
def test_no_exact_law_of_a_group_above_leaves_exceeds_the_bound_of_theorem_c(
    counts, rate, exponent, trade_off, epsilon, is_leaf_frequent
):
    """All outcomes of records of two leaves below a group, and of some without a value, by whole weights."""
    grouped = Hierarchy.from_parents({"a": ["g"], "b": ["g"], "g": [None]})
    scores = PublicScores((np.ones(grouped.n_nodes),), (grouped.depth.astype(float),), trade_off, 1, 0.0)
    nodes = np.array([[grouped.node_of("a")], [grouped.node_of("b")], [0]], dtype=np.int32)

    def law(own: tuple[int, ...]) -> tuple[SampleSteps, FrequentSet]:
        there = np.array(own) > 0
        records = GeneralisedRecords((grouped,), (2,), nodes[there], np.array(own)[there])

        def score(at, below):
            return exponent / sum(own) * scores.score(at, below)

        # Of both depths below ⊥: the group is frequent, and leaves by what was drawn.
        decisions = iter((True, is_leaf_frequent))
        found = Candidates.of(
            records, np.arange(there.sum()), lambda below: np.full(len(below), next(decisions)), score
        )
        frequent = FrequentSet(1.0, found, members_of(found))
        return SampleSteps(records, Fraction(str(rate)), (frequent,)), frequent

    (more, one), (less, other) = law(counts), law((counts[0] - 1, *counts[1:]))
    of = grouping(more.records, [[node] for node in sorted(one.members | other.members)])
    laws = law_of(one, more, of).chances, law_of(other, less, of).chances
    m = sum(counts) - 1
    bound = exchange_delta(epsilon, rate, exponent * scores.per_record(m), 3, counts[0] - 1, m)
    assert max(hockey_stick(*pair, epsilon) for pair in itertools.permutations(laws)) <= bound + 1e-12
    # Of samples that are not too large the rest of δ is for those that are.
    is_small = np.indices(of.shape).sum(axis=0) <= (1 + SIZE_SLACK) * rate * (m + 1)
    small = [own * is_small for own in laws]
    rest = bound - size_tail(rate, m)
    assert max(hockey_stick(*pair, epsilon) for pair in itertools.permutations(small)) <= rest + 1e-12


@pytest.mark.deep
@FEW
@given(st.sampled_from([0.4, 0.5, 0.6]), st.sampled_from([2, 3, 4]), st.integers(-2, 2))
@pytest.mark.spec("DN-5.2")
def test_the_whole_mechanism_keeps_its_delta_about_its_own_threshold(rate, epsilon, shift):
    """With the constants of the procedure, of records at one leaf, noise of the frequent set included."""
    asked = SampleQuestion(Fraction(epsilon), 1e-2, rate, 2, 99)
    found = drifting(asked, 2 + 1 / 99)
    model = OneAttribute(rate, found.exponent)
    n = int(found.threshold) + shift
    more, less = (noisy_law(model, (count,), found.scale, int(found.threshold)) for count in (n, n - 1))
    assert max(both_orders(more, less, float(epsilon))) <= 1e-2


@SOME
@given(st.floats(1e-9, 0.1), st.sampled_from([0.05, 0.2, 0.5]), st.floats(1.5, 20))
def test_the_least_mass_meets_its_bound_and_hardly_less_does(bound, rate, factor):
    mass = least_mass(bound, rate, factor)
    assert exchange_tail(mass, rate, factor) <= bound
    assert exchange_tail(mass * (1 - 1e-6), rate, factor) > bound or mass <= 1e-6
    assert SIZE_SLACK == 0.5


@SOME
@given(st.integers(1, 40), st.integers(0, 200))
def test_gaps_are_reached_by_noise_no_more_often_than_stated(scale, gap):
    assert float(NoiseLaw(Fraction(1, scale)).tail(gap)) <= math.exp(-gap / scale)


@SOME
@given(SEEDS, st.floats(0, 21))
@pytest.mark.spec("DN-6.2")
def test_weights_are_within_the_rounding_that_is_paid_for(seed, reach):
    random = np.random.default_rng(seed)
    exponents = np.sort(random.uniform(0, reach, (1, 20)))
    high, low = whole_weights(exponents)
    for own, top, rest in zip(exponents[0], high[0].tolist(), low[0].tolist(), strict=True):
        exact = math.exp(own - exponents.max())
        assert abs((top * 2**42 + rest) / 2**82 - exact) <= 10 * (reach + 1) * 2.0**-52 * exact


@SOME
@given(SEEDS)
def test_entities_below_are_counted_as_by_a_loop(seed):
    random, records = instance(seed)
    first = records.hierarchies[:1]
    entities = random.integers(0, first[0].n_nodes, 9).astype(np.int32)
    book = PublicDictionary(
        (0,), GeneralisedRecords(first, (first[0].height,), entities[:, None], np.ones(9, dtype=np.int64))
    )
    for found in records.frequent(lambda counts: counts > 0):
        nodes = records.nodes(found.vector, found.rows)
        expected = [max(1, sum(int(at) in first[0].up(int(own)) for own in entities)) for at in nodes[0]]
        assert book.counts(nodes).tolist() == expected


@SOME
@given(SEEDS, st.integers(0, 3))
@pytest.mark.spec("DN-1.1")
def test_sensitivity_times_utility_is_supermodular(seed, kappa):
    """Φ·u^κ of modular, decreasing factors; Φ and u alone are modular."""
    random = np.random.default_rng(seed)
    heights = random.integers(1, 4, 2)
    falling = [[np.sort(random.random(h + 1))[::-1] for h in heights] for _ in range(2)]
    record = ChainRecord.of(falling[0], falling[1], random.integers(0, heights + 1, (5, 2)))

    def product(x):
        return record.phi(x) * record.utility(x) ** kappa

    nodes = list(itertools.product(*(range(h + 1) for h in heights)))
    for x, y in itertools.combinations(nodes, 2):
        low, high = tuple(map(min, x, y)), tuple(map(max, x, y))
        assert product(low) + product(high) >= product(x) + product(y) - 1e-12
        assert record.phi(low) + record.phi(high) == pytest.approx(record.phi(x) + record.phi(y))
        assert record.count(low) + record.count(high) >= record.count(x) + record.count(y)

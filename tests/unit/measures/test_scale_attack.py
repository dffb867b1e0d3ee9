"""What copies of samples tell: much of samples as published, and nothing of those of a fixed size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.attacks.copy_patterns import chance_of_fitting, copy_factors, shares_of_sizes
from app.domain.attacks.scale_attack import SCALE_ATTACK
from app.domain.catalogue.result_values import found_in
from app.domain.classes.reconstruction import Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.errors import InvalidInput, NotSupported
from app.domain.mechanisms.balanced_samples import copies, expanded, sampled_counts
from app.domain.mechanisms.coin_samples import coin_copies, coin_sampled_counts
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.models.reading import unreadable
from app.domain.policies.measure_condition import VALUES_OF
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.drawn_releases import context_of, drawn_by, measured
from tests.oracles.perturbation_by_hand import stream
from tests.unit.measures.closeness_tables import of_classes

M = 14
SIMPLE = "chernoff_simple"
QUESTION = ReconstructionQuestion(UniformReplacement(0.5, M), 0.3, 0.3)
FOURTEEN = tuple(f"v{i:02}" for i in range(M))
SAMPLED = {"p": 0.5, "p_cap": 0.5}
PAPER = {"mode": "paper", "accept_known_leak": True}


def spread(top, n=1000):
    """A group whose most frequent value comes first, the rest as even as can be."""
    rest = [(n - top) // (M - 1)] * (M - 1)
    rest[0] += n - top - sum(rest)
    return (top, *rest)


def published(group, runs, seed, fixed=None):
    """(runs, m) counts that are published of a group: by coins, or of a sample of fixed size."""
    counts, bits = counts_of([max(1, own) * runs for own in group], [group] * runs), stream(seed)
    sizes = np.full(runs, sum(group))
    if fixed is None:
        top = Estimates(np.array([max(group)]), sizes[:1], QUESTION.replacement, QUESTION.epsilon)
        limits = np.full(runs, top.greatest_sizes(SIMPLE, QUESTION.delta)[0])
        owners, values = expanded(counts, coin_sampled_counts(counts, limits, bits))
    else:
        owners, values = expanded(counts, sampled_counts(counts, np.full(runs, fixed), bits))
    drawn = replaced(values, TransitionMatrix(np.full(M, 0.5)), bits)
    if fixed is None:
        times = coin_copies(owners, sizes, bits)
    else:
        times = copies(owners, sizes, np.full(runs, fixed), bits)
    found = np.zeros((runs, M), dtype=np.int64)
    np.add.at(found, (owners, drawn), times)
    return found


def read(shown):
    """The share of the most frequent value that copies tell of each group, and that of the values."""
    counts = counts_of(np.maximum(shown.sum(axis=0), 1).tolist(), shown.tolist())
    shares = shares_of_sizes(counts.sizes / (copy_factors(counts, counts.sizes) + 0.5), QUESTION, SIMPLE)
    return shares, (shown[:, 0] / counts.sizes - 0.5 / M) / 0.5


def off(found, truth):
    """Root of the mean square of the relative error, and how often it is beyond 0.3."""
    error = found / truth - 1
    return math.sqrt((error**2).mean()), (np.abs(error) > 0.3).mean()


@pytest.mark.spec("RP-T14")
@pytest.mark.parametrize("runs", [2000, pytest.param(4000, marks=pytest.mark.deep)])
def test_copies_of_samples_as_published_tell_the_share_and_values_do_not(runs):
    """In so many runs of a group of 1,000; the margins are more than five standard errors."""
    group = (900, *[10] * 9, 5, 5, 0, 0)
    shares, estimated = read(published(group, runs, "as published"))
    by_copies, missed = off(shares, 0.9)
    by_values, beyond = off(estimated, 0.9)
    assert by_copies < 0.045
    assert missed < 0.005
    assert 0.12 < by_values < 0.15
    assert 0.012 < beyond < 0.045


@pytest.mark.spec("RP-T14")
@pytest.mark.parametrize("runs", [1000, pytest.param(3000, marks=pytest.mark.deep)])
@pytest.mark.parametrize(("top", "by_values"), [(300, 0.279), (500, 0.200), (900, 0.143)])
def test_copies_of_a_fixed_sample_read_the_same_whatever_the_share(top, by_values, runs):
    shown = published(spread(top), runs, f"fixed {top}", 57)
    assert (shown.sum(axis=1) == 1000).all()
    shares, estimated = read(shown)
    assert set(shares.tolist()) == {1.0}
    assert off(estimated, top / 1000)[0] == pytest.approx(by_values, rel=0.1)


@given(st.lists(st.integers(1, 80), min_size=1, max_size=5))
def test_factors_are_the_largest_that_every_count_fits(counts):
    def fits(factor):
        return all(any(factor * k <= own <= (factor + 1) * k for k in range(own + 1)) for own in counts)

    largest = max(factor for factor in range(1, min(counts) + 1) if fits(factor))
    groups = counts_of([1000] * len(counts), [counts])
    assert copy_factors(groups, groups.sizes).tolist() == [largest]


def test_factors_of_large_counts_are_found_in_parts(monkeypatch):
    counts = counts_of([10**4] * 2, [[101 * 7, 101 * 5 + 3], [4000, 4001]])
    whole = copy_factors(counts, counts.sizes)
    monkeypatch.setattr("app.domain.attacks.copy_patterns.FACTORS_AT_ONCE", 3)
    assert copy_factors(counts, counts.sizes).tolist() == whole.tolist()
    assert whole[1] == 4000


@given(
    st.floats(1, 1e4), st.floats(0.05, 0.95), st.integers(2, 30), st.floats(0.05, 0.99), st.floats(0.1, 0.9)
)
def test_the_share_of_a_size_is_the_root_in_closed_form(size, p, m, epsilon, delta):
    """(ε·p·f)²·s = 2·Λ·(p·f + c), solved for f."""
    twice, c, a = 2 * math.log(1 / delta), (1 - p) / m, size * (epsilon * p) ** 2
    root = (twice * p + math.sqrt((twice * p) ** 2 + 4 * a * twice * c)) / (2 * a)
    asked = ReconstructionQuestion(UniformReplacement(p, m), epsilon, delta)
    found = shares_of_sizes(np.array([size]), asked, SIMPLE)
    assert found == pytest.approx([min(1, root)], rel=1e-9)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_the_tighter_bound_is_inverted_as_well(share):
    own = Estimates(np.array([int(share * 1e6)]), np.array([10**6]), QUESTION.replacement, 0.3)
    sizes = own.greatest_sizes("chernoff_full", 0.3)
    assert shares_of_sizes(sizes, QUESTION, "chernoff_full") == pytest.approx([share], rel=1e-6)


GROUPS = of_classes([spread(900), spread(700, 1001), spread(501, 1002), spread(3, 14)], FOURTEEN)


def sampled(seed="drawn", rule=None, **parameters):
    return drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(**SAMPLED | parameters), GROUPS, seed, rule)


@pytest.mark.parametrize(
    "parameters", [PAPER, {"mode": "balanced"}, {"mode": "balanced", "bound": "chernoff_full"}]
)
def test_the_copies_of_a_stored_release_are_read_and_compared_with_the_truth(parameters):
    found = measured(SCALE_ATTACK, context_of(GROUPS, sampled(**parameters)))
    assert (found.mode, found.groups, found.groups_told) == (parameters["mode"], 3, 3)
    assert "3 groups with" in found.verdict
    truths = {"c0": 0.9, "c1": 700 / 1001, "c2": 0.5}
    assert {own.shows[0]: own.truth for own in found.largest} == pytest.approx(truths)
    for own in found.largest:
        assert own.share == pytest.approx(own.truth, rel=0.2)
        assert own.sample == pytest.approx(own.records / (own.copies + 0.5))
    errors = [own.share / own.truth - 1 for own in found.largest]
    assert found.error_of_copies == pytest.approx(math.sqrt(np.mean(np.square(errors))))
    assert found.error_of_copies < 0.12
    values = [own.estimated / own.truth - 1 for own in found.largest]
    assert found.error_of_values == pytest.approx(math.sqrt(np.mean(np.square(values))))


def many(counts, **parameters):
    """A table of 40 groups of these counts, and its release."""
    values = tuple(f"v{i:02}" for i in range(len(counts)))
    table = of_classes([counts] * 40, values)
    return table, drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(**SAMPLED | parameters), table)


@pytest.mark.parametrize("parameters", [PAPER, {"mode": "balanced"}])
@pytest.mark.parametrize("counts", [(600, 400), spread(300), (1500, 500, 500, 500)])
def test_nothing_is_read_of_counts_that_fit_every_number_of_copies(counts, parameters):
    """Every count from B·(B − 1) on is from B·k to (B + 1)·k for some k, so that all larger B fit as well."""
    found = measured(SCALE_ATTACK, context_of(*many(counts, **parameters)))
    assert found.groups == 40
    assert found.groups_told <= 2
    if not found.groups_told:
        assert (found.error_of_copies, found.largest) == (None, ())
        assert "learns nothing" in found.verdict
    asked = {"p": 0.5, "epsilon": 0.3, "delta": 0.3}
    before = measured(SCALE_ATTACK, context_of(many(counts)[0], None), **asked)
    assert (before.groups, before.groups_told) == (40, 0)


@pytest.mark.parametrize("parameters", [PAPER, {"mode": "balanced"}])
@pytest.mark.parametrize(("counts", "large"), [(spread(60, 200), 40), (spread(40, 50), 0), ((30, 27), 0)])
def test_of_a_release_of_which_no_group_is_sampled_copies_tell_nothing(counts, large, parameters):
    """Of 200 with a share of 0.3 all are drawn, though of as many of one value 57 would be."""
    found = measured(SCALE_ATTACK, context_of(*many(counts, **parameters)))
    assert (found.groups, found.groups_told, found.records_told) == (large, 0, 0)
    assert (found.error_of_copies, found.error_of_values) == (None, None)


def test_no_more_copies_are_read_than_the_least_sample_has():
    """All counts are multiples of 20, and 560 records of 57 at least have been published 9 times each."""
    table = of_classes([(300, 60, 60, 60, 40, 40, *[0] * 8)], FOURTEEN)
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(**SAMPLED, mode="balanced"), table)
    found = measured(SCALE_ATTACK, context_of(table, replace(drawn, table=table)))
    assert [own.copies for own in found.largest] == [9]


@given(st.lists(st.integers(1, 60), min_size=2, max_size=4), st.integers(2, 12))
def test_the_chance_of_fitting_is_that_of_counts_that_are_as_likely_each(counts, factor):
    """Of all counts from B·k to B·(k + 1) the share that fits, for each count but the least."""

    def fits(count, b):
        return any(b * k <= count <= (b + 1) * k for k in range(count + 1))

    expected = 0.0
    for b in range(factor, min(20, min(counts)) + 1):
        shares = [np.mean([fits(o // b * b + more, b) for more in range(b)]) for o in sorted(counts)[1:]]
        expected += math.prod(shares)
    found = chance_of_fitting(np.array(counts, dtype=float), factor, 20)
    assert found == pytest.approx(min(1, expected))


def test_copies_are_of_all_quasi_identifiers():
    drawn = sampled(**PAPER)
    two = replace(
        GROUPS,
        attributes=(*GROUPS.attributes, "more"),
        hierarchies=(*GROUPS.hierarchies, GROUPS.hierarchies[0]),
        codes=np.concatenate([GROUPS.codes, GROUPS.codes[:, :1]], axis=1),
    )
    both = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(**SAMPLED | PAPER), two)
    with pytest.raises(InvalidInput, match="agree in all quasi-identifiers"):
        measured(SCALE_ATTACK, context_of(two, both), quasi_identifiers=("more",))
    names = tuple(GROUPS.attributes[j] for j in GROUPS.quasi_identifiers)
    whole = measured(SCALE_ATTACK, context_of(GROUPS, drawn), quasi_identifiers=names)
    assert whole == measured(SCALE_ATTACK, context_of(GROUPS, drawn))


def test_of_a_dataset_without_quasi_identifiers_all_rows_are_one_group():
    name, hierarchy = GROUPS.attributes[1], GROUPS.hierarchies[1]
    codes = np.repeat(hierarchy.leaves, spread(900)).reshape(-1, 1)
    table = Table((name,), (hierarchy,), codes, sensitive=frozenset({name}))
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(**SAMPLED | PAPER), table)
    found = measured(SCALE_ATTACK, context_of(table, drawn))
    assert (found.groups, found.groups_told, found.largest[0].shows, found.largest[0].truth) == (
        1,
        1,
        (),
        0.9,
    )
    before = measured(SCALE_ATTACK, context_of(table, None), p=0.5, epsilon=0.3, delta=0.3)
    assert (before.groups_told, before.quasi_identifiers) == (1, ())


def test_no_gate_takes_a_large_error_for_safety():
    value = found_in(VALUES_OF[SCALE_ATTACK.name], "error_of_copies")
    assert (value.marks.safer, value.marks.if_alone) == ("low", "good")


def test_copies_of_a_fixed_size_tell_nothing():
    found = measured(SCALE_ATTACK, context_of(GROUPS, sampled()))
    assert (found.mode, found.groups, found.groups_told) == ("balanced_fixed", 3, 0)
    assert (found.error_of_copies, found.largest) == (None, ())
    assert "copies tell nothing more" in found.verdict


def test_where_a_rule_made_other_groups_no_truth_is_told():
    found = measured(SCALE_ATTACK, context_of(GROUPS, sampled(rule=TableRule((1, 0)), **PAPER)))
    assert (found.groups_told, found.error_of_copies, found.largest[0].truth) == (1, None, None)


def test_beforehand_it_is_told_what_copies_would_tell_of_records():
    asked = {"p": 0.5, "epsilon": 0.3, "delta": 0.3}
    found = measured(SCALE_ATTACK, context_of(GROUPS, None), **asked)
    assert (found.mode, found.groups_told, found.error_of_values) == ("paper", 3, None)
    assert "Sampled as published" in found.verdict
    first = found.largest[-1]
    assert (first.records, first.copies) == (1000, 15)  # of samples of 64.17
    assert (first.share, first.truth) == (pytest.approx(0.9, rel=0.03), 0.9)
    assert first.estimated is None
    few = measured(SCALE_ATTACK, context_of(GROUPS, None), **asked, least_copies=13)
    assert few.groups_told == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("asked", [{"epsilon": 1000, "delta": 0.3}, {"epsilon": 0.9, "delta": 0.999999}])
def test_of_groups_that_would_hardly_be_sampled_nothing_would_be_told(asked):
    found = measured(SCALE_ATTACK, context_of(GROUPS, None), p=0.9, **asked)
    assert (found.groups, found.groups_told) == (4, 0)
    assert found.verdict.startswith("No group's counts would fit")


def test_what_is_refused_and_why():
    uniform = drawn_by(UNIFORM_PERTURBATION, UniformPerturbation(p=0.5, p_cap=0.5), GROUPS)
    asked = SCALE_ATTACK.parameters()
    assert "copies none" in unreadable(SCALE_ATTACK, context_of(GROUPS, uniform), asked)
    with pytest.raises(InvalidInput, match="Of records nothing says what p would be"):
        measured(SCALE_ATTACK, context_of(GROUPS, None))
    drawn = sampled(**PAPER)
    with pytest.raises(InvalidInput, match="The release says itself what epsilon is"):
        measured(SCALE_ATTACK, context_of(GROUPS, drawn), epsilon=0.3)
    before = replace(drawn, published=replace(drawn.published, epsilon=None, delta=None, bound=None))
    context = context_of(GROUPS, before)
    assert "not published what sizes" in SCALE_ATTACK.supports(context, asked)
    with pytest.raises(NotSupported):
        SCALE_ATTACK.compute(context, asked, lambda _: None)

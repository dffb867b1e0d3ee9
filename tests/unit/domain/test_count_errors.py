"""Errors of counts from uniformly replaced values: vectors, edges, and draws by the thousand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.reconstructed_shares import CopiedRows, copies_of
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.errors import NotSupported
from app.domain.hierarchies.predicates import AskedAttribute, Predicate
from app.domain.mechanisms.balanced_samples import balanced_sizes
from app.domain.mechanisms.copied_counts import CopiedRecords
from app.domain.mechanisms.count_estimates import CountEstimator, CountQuery, EstimateOptions
from app.domain.mechanisms.count_variances import count_variances
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_errors import ShownRecords, likeliest_shares
from app.domain.mechanisms.uniform_perturbation import PublishedUniform
from tests.oracles.copied_releases import many
from tests.oracles.effort import examples
from tests.oracles.reconstruction_by_hand import likeliest_by_steps
from tests.unit.measures.diversity_tables import flat, table

EIGHT = (900, 20, 20, 20, 10, 10, 10, 10)
FALSE_ALARM = 5.5
"""Standard errors: a right formula is refused once in 25 million runs."""

GROUPS = {
    ("M", "Eng"): (5, 2, 2, 1),
    ("M", "Law"): (1, 2, 2, 1),
    ("F", "Eng"): (1, 3, 2, 2),
    ("F", "Law"): (4, 4, 2, 2),
}
VALUES = ("0", "1", "2", "3")


def longs(*numbers):
    return np.array(numbers, dtype=np.int64)


def small(published):
    """The released table of four groups, with what was published of it."""
    rows = [
        (*group, value)
        for group, own in GROUPS.items()
        for value, n in zip(VALUES, own, strict=True)
        for _ in range(n)
    ]
    columns = (flat("MF"), flat(("Eng", "Law")), flat(VALUES))
    return DrawnRelease(table(("gender", "job", "code"), columns, rows, {"code"}), "drawn", published)


def counted(release):
    own = release.table
    asked = [
        AskedAttribute(name, hierarchy, None, top_is_missing=True)
        for name, hierarchy in zip(own.attributes, own.hierarchies, strict=True)
    ]
    return CountedRelease.drawn(release, asked)


UNIFORM = counted(small(PublishedUniform("code", tuple(map(CellValue, VALUES)), 0.6)))


def found(*predicates, of=UNIFORM, **options):
    asked = [
        Predicate(name, values if isinstance(values, tuple) else (values,)) for name, values in predicates
    ]
    return of.estimates(of.read([asked]), EstimateOptions(**options))


def likeliest(shown, p):
    """The likeliest shares of one query."""
    return likeliest_shares(np.array([shown], dtype=float), p)[0]


@pytest.mark.spec("RP-T2")
def test_one_group_with_both_standard_errors():
    shown = np.array([50.0, 30, 15, 5])
    own = ShownRecords(np.full(4, 100.0), shown, np.ones(4), 0.5, 4)
    assert np.sqrt(own.variances()) == pytest.approx([9.013878, 7.826238, 6.800735, 6.614378], abs=1e-6)
    assert np.sqrt(own.underlying_variances()) == pytest.approx([10, 9.165151, 7.141428, 4.358899], abs=1e-6)
    assert own.of_true(np.array([60.0, 25, 10, 5])) == pytest.approx([73.75, 56.25, 48.75, 46.25])
    assert likeliest(shown, 0.5) == pytest.approx([0.671053, 0.302632, 0.026316, 0], abs=1e-6)
    # Var(A + B) = Var A + Var B + 2·Cov(A, B), of 60 + 25 records.
    both = ShownRecords(np.array([100.0]), np.array([80.0]), np.array([2.0]), 0.5, 4)
    assert both.of_true(np.array([85.0])) == pytest.approx([73.75 + 56.25 - 2 * 27.5])


@pytest.mark.spec("RP-T3")
@pytest.mark.parametrize(
    ("predicates", "numbers", "kind"),
    [
        ((("gender", "F"), ("code", "0")), (5, 2.581989, 3.227486), False),
        ((("code", "2"),), (7.333333, 3.382964, 4.157397), False),
        ((("gender", "M"), ("job", "Eng"), ("code", "0")), (6.666667, None, None), True),
        ((("job", "Eng"), ("code", "0")), (18 * 0.388889, None, None), False),
    ],
)
def test_queries_of_a_small_release(predicates, numbers, kind):
    own = found(*predicates)
    assert own.estimates[0] == pytest.approx(numbers[0], abs=1e-5)
    if numbers[1] is not None:
        assert own.standard_errors[0] == pytest.approx(numbers[1], abs=1e-6)
        assert own.underlying_errors[0] == pytest.approx(numbers[2], abs=1e-6)
    assert own.is_one_group[0] == kind
    whole = found(("gender", "M"))
    assert (whole.estimates[0], whole.standard_errors[0]) == (16, 0)
    assert np.isnan(whole.underlying_errors[0])


def test_an_aggregate_that_coincides_with_a_group_is_that_group():
    rows = [("M", "Eng", "0")] * 3 + [("F", "Law", "1")] * 2
    own = table(("gender", "job", "code"), (flat("MF"), flat(("Eng", "Law")), flat(VALUES)), rows, {"code"})
    told = counted(DrawnRelease(own, "drawn", PublishedUniform("code", tuple(map(CellValue, VALUES)), 0.5)))
    assert [
        bool(found((name, value), of=told).is_one_group[0])
        for name, value in (("gender", "M"), ("job", "Law"))
    ] == [True, True]
    assert not found(("gender", ("M", "F")), of=told).is_one_group[0]
    assert not found(of=told).is_one_group[0]


def test_where_none_or_all_show_a_value_the_interval_is_wilsons():
    own = found(("gender", "M"), ("job", "Eng"), ("code", ("0", "1", "2")))
    assert not own.is_wilson[0]
    rows = [("M", "Eng", "0")] * 10
    same = table(("gender", "job", "code"), (flat("MF"), flat(("Eng", "Law")), flat(VALUES)), rows, {"code"})
    told = counted(DrawnRelease(same, "drawn", PublishedUniform("code", tuple(map(CellValue, VALUES)), 0.6)))
    z, n = 1.959963984540054, 10
    for value, shown in (("0", 10), ("1", 0)):
        own = found(("code", value), of=told)
        assert (own.underlying_errors[0], own.is_wilson[0]) == (0, True)
        q = shown / n
        middle = (q + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(q * (1 - q) / n + z**2 / (4 * n**2))
        ends = [n * (end - 0.1) / 0.6 for end in (middle - reach, middle + reach)]
        assert [own.underlying_low[0], own.underlying_high[0]] == pytest.approx(ends)


def test_the_estimates_within_bounds_are_told_as_biased_and_only_of_uniform_replacement():
    plain = found(("gender", "M"), ("job", "Eng"), ("code", "3"))
    own = found(("gender", "M"), ("job", "Eng"), ("code", "3"), estimator="maximum_likelihood")
    assert plain.estimates[0] == pytest.approx(0, abs=1e-9)
    assert (own.is_biased[0], plain.is_biased[0]) == (True, False)
    assert own.standard_errors == plain.standard_errors
    everything = found(("gender", "M"), estimator="maximum_likelihood")
    assert (everything.estimates[0], everything.is_biased[0]) == (16, False)
    records = PublishedRecords({}, {}, np.array([0, 1], dtype=np.int32), 2, np.array([3.0, 1.0]))
    other = CountEstimator(records, TransitionMatrix(np.array([0.5, 0.6])))
    with pytest.raises(NotSupported, match="replaced alike"):
        other.estimates([CountQuery({})], EstimateOptions(estimator="maximum_likelihood"))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=6), st.floats(0.1, 0.9))
def test_the_likeliest_shares_are_those_that_expectation_maximisation_ends_in(shown, p):
    own = likeliest(shown, p)
    if not sum(shown):
        assert not own.any()
        return
    assert own.sum() == pytest.approx(1)
    c, n = (1 - p) / len(shown), sum(shown)
    plain = (np.array(shown) / n - c) / p
    if (plain >= 0).all():
        assert own == pytest.approx(plain, abs=1e-12)
    steps = likeliest_by_steps(shown, p)
    score = [
        sum(o * np.log(p * f + c) for o, f in zip(shown, shares, strict=True)) for shares in (own, steps)
    ]
    assert score[0] >= score[1] - 1e-9
    assert own == pytest.approx(steps, abs=2e-3)


def test_edges_of_the_likeliest_shares():
    assert likeliest([0, 0, 8], 0.3) == pytest.approx([0, 0, 1])
    assert likeliest([6, 4], 0.4) == pytest.approx([0.75, 0.25])
    assert likeliest_shares(np.zeros((2, 3)), 0.3).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.spec("RP-T10")
def test_variances_of_plain_and_of_sampled_counts():
    own = ReconstructionQuestion(UniformReplacement(0.5, 14), 0.3, 0.3)
    amounts, sizes = longs(900, 20), longs(1000, 1000)
    plain = count_variances(amounts, sizes, sizes, own.replacement)
    assert plain == pytest.approx([909.183673, 154.897959], abs=1e-6)
    (n1,) = balanced_sizes(longs(900), longs(1000), own, "chernoff_simple").tolist()
    sampled = count_variances(amounts, sizes, longs(n1, n1), own.replacement)
    assert sampled == pytest.approx([14491.385122, 2508.394031], abs=1e-6)
    assert count_variances(longs(1), longs(2), longs(0), own.replacement).tolist() == [0]


def is_variance(draws, variance):
    """Whether the variance of draws is this one, by the variance of squared deviations."""
    squares = (draws - draws.mean()) ** 2
    return abs(squares.mean() - variance) < FALSE_ALARM * squares.std() / np.sqrt(len(draws))


@pytest.mark.parametrize(("samples", "times"), [(100, 8000), (31, 20000), (64, 10000)])
def test_variances_are_those_of_draws(samples, times):
    """Of a plain release of 100 records, of one of 31 in copies and of 64, one of which is copied twice."""
    group, p = (55, 30, 10, 4, 1), 0.5
    m, n = len(group), sum(group)
    shown = many(group, times, samples, p)
    estimates = (shown - n * (1 - p) / m) / p
    own = count_variances(longs(*group), np.full(m, n), np.full(m, samples), UniformReplacement(p, m))
    for value in range(m):
        assert estimates[:, value].mean() == pytest.approx(
            group[value], abs=FALSE_ALARM * np.sqrt(own[value] / times)
        )
        assert is_variance(estimates[:, value], own[value])
        assert not is_variance(estimates[:, value], 1.25 * own[value])
    if samples == n:
        two = ShownRecords(np.array([100.0]), np.array([0.0]), np.array([2.0]), p, m)
        assert is_variance(estimates[:, 0] + estimates[:, 1], two.of_true(np.array([85.0]))[0])


@pytest.mark.deep
@pytest.mark.parametrize("chosen", [[0], [2], [0, 1], [0, 2, 4]])
def test_the_error_of_copies_that_a_reader_computes_is_on_average_not_below_the_true_one(chosen):
    """3,000 releases of 20 groups of 37, of each of which 15 records are drawn."""
    group, p, samples, times = (20, 10, 4, 2, 1), 0.5, 15, 60_000
    m, n, per = len(group), sum(group), 20
    shown = many(group, times, samples, p).reshape(-1, per, m)
    asked = np.zeros(m)
    asked[chosen] = 1
    estimates = ((shown @ asked) - n * len(chosen) * (1 - p) / m).sum(axis=1) / p
    told = []
    for release in shown[:300]:
        groups, values = (own.astype(np.int32) for own in np.nonzero(release))
        records = PublishedRecords({0: groups}, {0: per}, values, m, release[groups, values])
        told.append(CopiedRecords(records, groups, p, samples).on(()).variances([{}], asked[None, :])[0])
    true = estimates.var()
    assert 0.97 * true < np.mean(told) < 1.5 * true
    independent = ShownRecords(
        np.array([per * n]), np.array([(shown @ asked).sum(axis=1).mean()]), asked.sum(keepdims=True), p, m
    )
    assert independent.variances()[0] < 0.6 * true


def test_of_nobody_there_is_nothing_to_be_off():
    rows = [("M", "Eng", "0")] * 10
    same = table(("gender", "job", "code"), (flat("MF"), flat(("Eng", "Law")), flat(VALUES)), rows, {"code"})
    told = counted(DrawnRelease(same, "drawn", PublishedUniform("code", tuple(map(CellValue, VALUES)), 0.6)))
    for options in ({}, {"estimator": "maximum_likelihood"}):
        own = found(("gender", "F"), ("code", "0"), of=told, **options)
        assert (own.records[0], own.estimates[0], own.standard_errors[0]) == (0, 0, 0)
        assert np.isnan(own.underlying_errors[0])
        assert not own.is_one_group[0]
        # Who asks for all that a person shows asks about that person, though nobody is there.
        assert found(("gender", "F"), ("job", "Law"), ("code", "0"), of=told, **options).is_one_group[0]
        assert not found(("gender", "F"), ("job", ("Law", "Eng")), of=told, **options).is_one_group[0]


def test_what_is_kept_of_copies_counts_in_memory_and_time():
    plain, cut = UNIFORM, samples_of(6)
    query = [[Predicate("gender", ("F",)), Predicate("code", ("0",))]]
    assert cut.n_bytes > 2 * plain.n_bytes
    assert cut.seconds(cut.read(query)) > 1.5 * plain.seconds(plain.read(query))


def samples_of(size, mode="balanced_fixed"):
    return counted(small(PublishedSamples("code", tuple(map(CellValue, VALUES)), 0.6, mode, size)))


def test_counts_in_copies_have_errors_only_where_sizes_of_samples_are_told():
    query = (("gender", "F"), ("code", "0"))
    whole, cut = (found(*query, of=samples_of(size)) for size in (100, 6))
    untold = found(*query, of=samples_of(None, "balanced"))
    plain = found(*query)
    assert whole.estimates == cut.estimates == untold.estimates == plain.estimates
    assert whole.standard_errors == pytest.approx(plain.standard_errors)
    assert cut.standard_errors > 1.2 * plain.standard_errors
    assert np.isnan(untold.standard_errors).all()
    assert np.isnan([whole.underlying_errors, untold.underlying_errors]).all()
    assert (samples_of(6).without_errors, UNIFORM.without_errors) == (None, None)
    assert "not told" in samples_of(None).without_errors
    by_coins = found(("gender", "F"), of=samples_of(None, "paper"))
    assert by_coins.estimates[0] == 20
    assert np.isnan(by_coins.standard_errors[0])


def test_where_groups_may_be_suppressed_nothing_is_told_as_exact():
    for mode in ("balanced", "paper"):
        for query in ((("gender", "F"),), (), (("gender", "F"), ("code", "0"))):
            own = found(*query, of=samples_of(None, mode))
            assert np.isnan([own.standard_errors, own.low, own.high]).all()
            assert own.is_biased.all()
        assert "groups may be suppressed" in samples_of(None, mode).without_errors
    everybody = found(("gender", "F"), of=samples_of(6))
    assert (everybody.estimates[0], everybody.standard_errors[0], everybody.is_biased[0]) == (20, 0, False)


def test_of_copies_there_are_no_likeliest_counts():
    """The copies of a record are as one, so that what is published has another probability."""
    for size in (None, 6):
        with pytest.raises(NotSupported, match="one by one"):
            found(("code", "0"), of=samples_of(size), estimator="maximum_likelihood")


def test_of_single_records_in_copies_no_error_is_told():
    one = samples_of(1)
    assert np.isnan(found(("gender", "F"), ("code", "0"), of=one).standard_errors).all()
    assert "single record" in one.without_errors
    assert found(("gender", "F"), of=one).standard_errors[0] == 0


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(sum), st.integers(2, 60), st.floats(0.1, 0.9)
)
def test_the_error_of_one_count_is_that_which_a_micro_reconstruction_tells(shown, size, p):
    n, amounts = sum(shown), np.array(shown)
    values = np.flatnonzero(amounts).astype(np.int32)
    alike = np.zeros(len(values), dtype=np.int32)
    records = PublishedRecords({0: alike}, {0: 1}, values, 4, amounts[values].astype(float))
    of_counts = CopiedRecords(records, alike, p, size).on(()).variances([{}] * 4, np.eye(4))
    times, of_pairs = copies_of(np.array([n]), np.array([min(n, size)]))
    group = CopiedRows.of(np.array([n]), size, np.array([0]), 1)
    own = UniformReplacement(p, 4)
    of_groups = group.standard_errors(times * amounts, of_pairs * amounts * (n - amounts), own)
    assert np.sqrt(of_counts) == pytest.approx(of_groups * n, rel=1e-9)


def test_a_variance_from_the_original_records_would_tell_them():
    """Of a group that is not sampled it is a linear function of how many have the value: why none is told."""
    own = UniformReplacement(0.5, 14)
    of = [count_variances(longs(k), longs(20), longs(20), own)[0] for k in range(21)]
    steps = np.diff(of)
    assert steps == pytest.approx(np.full(20, steps[0]))
    assert abs(steps[0]) > 0.1

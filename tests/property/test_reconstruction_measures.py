"""What measures say of groups whose values are, or would be, replaced: against loops over small groups."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.analyses.expected_count_errors import EXPECTED_COUNT_ERRORS
from app.domain.attacks.micro_reconstruction import MICRO_RECONSTRUCTION
from app.domain.attacks.ratio_attack import RATIO_ATTACK
from app.domain.attacks.scale_attack import SCALE_ATTACK
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.models.reconstruction_privacy import RECONSTRUCTION_PRIVACY
from app.domain.tables.table import Table
from tests.oracles import wang_by_hand as by_hand
from tests.oracles.drawn_releases import context_of, drawn_by, measured
from tests.oracles.effort import examples
from tests.oracles.perturbation_by_hand import table_of_groups
from tests.oracles.reconstruction_by_hand import level, pool_by_hand, words_of_pool

SOME = settings(max_examples=examples(60), deadline=None)
EIGHTHS = st.integers(1, 7).map(lambda eighths: eighths / 8)


def groups(most, least=1):
    """Up to four groups' counts of three values."""
    own = st.lists(st.integers(0, most), min_size=3, max_size=3).filter(any)
    return st.lists(own, min_size=least, max_size=4)


FLAT = Hierarchy.from_parents({f"v{v}": [None] for v in range(3)})


def label(group):
    return (str(group + 1),)


@SOME
@given(groups(6), EIGHTHS, EIGHTHS, st.floats(0.01, 0.99))
@pytest.mark.spec("RP-4", "RP-5")
def test_reconstruction_privacy_by_every_criterion(counts, p, epsilon, delta):
    found = measured(
        RECONSTRUCTION_PRIVACY,
        context_of(table_of_groups(counts), None),
        p=p,
        epsilon=epsilon,
        delta=delta,
        criterion="exact_min",
    )
    for own in found.by_criterion:
        levels = [level(group, p, 3, epsilon, own.criterion) for group in counts]
        assume(all(abs(one - delta) > 1e-6 for one in levels))
        failing = [sum(group) for group, one in zip(counts, levels, strict=True) if one < delta]
        assert (own.groups_failing, own.records_failing) == (len(failing), sum(failing))
        assert own.is_met == (not failing)
        assert own.delta == pytest.approx(min(1.0, *levels), rel=1e-9)
        if own.criterion == "exact_min":
            assert (found.is_met, found.groups_failing) == (own.is_met, own.groups_failing)
    assert found.amplification == pytest.approx(1 + 3 * p / (1 - p))


@SOME
@given(groups(20), st.floats(0.02, 1), st.floats(0.05, 0.9), st.floats(0, 0.6), st.integers(1, 10))
@pytest.mark.spec("RP-8")
def test_the_ratio_attack_by_integrals_over_both_answers(counts, rate, epsilon, delta, least):
    found = measured(
        RATIO_ATTACK,
        context_of(table_of_groups(counts), None),
        rate=rate,
        epsilon=epsilon,
        delta=delta,
        least_records=least,
        top=200,
    )
    looked_at = {label(g): own for g, own in enumerate(counts) if sum(own) >= least}
    tails = {g: by_hand.tails_of_quotient(max(own), sum(own), rate, epsilon) for g, own in looked_at.items()}
    assume(all(abs(min(own) - delta) > 1e-6 for own in tails.values()))
    told = [sum(looked_at[g]) for g, own in tails.items() if min(own) < delta]
    assert (found.groups, found.records) == (len(looked_at), sum(map(sum, looked_at.values())))
    assert (found.groups_told, found.records_told) == (len(told), sum(told))
    assert {own.shows for own in found.worst} == set(looked_at)
    for own in found.worst:
        low, high = tails[own.shows]
        assert (own.too_low, own.too_high) == (pytest.approx(low, abs=1e-7), pytest.approx(high, abs=1e-7))
        assert own.confidence == pytest.approx(1 - low - high, abs=1e-7)
        assert (own.records, own.with_value) == (sum(looked_at[own.shows]), max(looked_at[own.shows]))
    if looked_at:
        greatest = max(1 - low - high for low, high in tails.values())
        assert found.greatest_confidence == pytest.approx(greatest, abs=1e-7)


@SOME
@given(groups(12), EIGHTHS, st.floats(0.1, 0.8), st.floats(0, 3), st.integers(0, 10**6))
@pytest.mark.spec("RP-3", "RP-8")
def test_micro_reconstruction_of_a_drawn_release(counts, p, share, errors, seed):
    table = table_of_groups(counts)
    drawn = drawn_by(UNIFORM_PERTURBATION, UniformPerturbation(p=p, p_cap=p), table, str(seed))
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), share=share, errors=errors, top=200)
    shown = [[0] * 3 for _ in counts]
    for place, value in drawn.table.codes.tolist():
        shown[place - 1][value - 1] += 1
    c = (1 - p) / 3
    a, exposed = p + c, []
    assert (found.groups, found.records) == (len(counts), table.n_records)
    for own in found.worst:
        group = shown[int(own.shows[0]) - 1]
        n, likeliest = sum(group), by_hand.likeliest(group, p)
        assert {one.value for one in own.values} == {f"v{v}" for v, k in enumerate(group) if k}
        for one in own.values:
            v = int(one.value[1:])
            estimate = (group[v] / n - c) / p
            assert (one.shown, one.estimated) == (group[v], pytest.approx(estimate, abs=1e-12))
            assert one.likeliest == pytest.approx(likeliest[v], abs=1e-9)
            with_value = min(max(n * estimate, 0), n)
            spread = math.sqrt(with_value * a * (1 - a) + (n - with_value) * c * (1 - c)) / p
            assert one.standard_error == pytest.approx(spread / n)
            right = likeliest[v] * a
            assert one.believed == pytest.approx(right / (right + (1 - likeliest[v]) * c), abs=1e-9)
        first = own.values[0]
        assert first.shown == max(group)
        assert own.told == pytest.approx(min(first.estimated, 1) - errors * first.standard_error)
        assume(abs(own.told - share) > 1e-9)
        exposed += [n] if own.told > share else []
    assert (found.groups_exposed, found.records_exposed) == (len(exposed), sum(exposed))


def told_by_copies(shown, p, epsilon, delta, least_copies, most_copies):
    """(copies, size of the sample, share) of one group; None where nothing is read from its counts."""
    n = sum(shown)
    copies = by_hand.copies_read(shown, most_copies)
    if (
        copies < least_copies
        or by_hand.fitting_by_chance([k for k in shown if k], copies, most_copies) >= 0.5
    ):
        return None
    size = n / (copies + 0.5)
    return copies, size, by_hand.share_of_size(size, p, len(shown), epsilon, delta)


@SOME
@given(
    st.lists(
        st.tuples(st.integers(100, 900), st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=3
    ),
    st.floats(0.3, 0.8), st.floats(0.2, 0.6), st.floats(0.2, 0.6), st.integers(1, 4), st.integers(0, 10**6),
)  # fmt: skip
@pytest.mark.spec("RP-6")
def test_the_scale_attack_on_samples_as_published(counts, p, epsilon, delta, least_copies, seed):
    table = table_of_groups(counts)
    asked = SamplePerturbScale(
        p=p, p_cap=p, epsilon=epsilon, delta=delta, mode="paper", accept_known_leak=True
    )
    context = context_of(table, drawn_by(SAMPLE_PERTURB_SCALE, asked, table, str(seed)))
    found = measured(SCALE_ATTACK, context, least_copies=least_copies, top=200)
    shown = [[0] * 3 for _ in counts]
    for place, value in context.drawn.table.codes.tolist():
        shown[place - 1][value - 1] += 1
    of_one = by_hand.greatest_size(1.0, p, 3, epsilon, delta)
    # Of each of three values one record more or less is taken than expected: three deviations are 3·√3/2.
    least_sample = max(1, math.floor(of_one) - math.ceil(1.5 * math.sqrt(3)))
    expected, large = {}, [g for g, own in enumerate(shown) if sum(own) > of_one]
    for g in large:
        own, n = shown[g], sum(shown[g])
        told = told_by_copies(own, p, epsilon, delta, least_copies, n // least_sample)
        if told is None:
            continue
        copies, size, share = told
        estimate = (max(own) / n - (1 - p) / 3) / p
        a, c = p + (1 - p) / 3, (1 - p) / 3
        spread = math.sqrt(size * (share * a * (1 - a) + (1 - share) * c * (1 - c))) / p / size
        off, room = abs(share - estimate), 3 * spread + share / (2 * copies + 1)
        assume(abs(off - room) > 1e-6)
        if off <= room:
            expected[label(g)] = (n, copies, size, share, estimate, max(counts[g]) / sum(counts[g]))
    assert (found.groups, found.groups_told) == (len(large), len(expected))
    assert found.records_told == sum(own[0] for own in expected.values())
    for one in found.largest:
        own = (one.records, one.copies, one.sample, one.share, one.estimated, one.truth)
        assert own == pytest.approx(expected[one.shows], rel=1e-6)
    if expected:
        squares = [(own[3] / own[5] - 1) ** 2 for own in expected.values()]
        assert found.error_of_copies == pytest.approx(math.sqrt(np.mean(squares)), rel=1e-6)


def folded(shift, deviation):
    """The mean of |shift + deviation·z| for standard normal z."""
    if not deviation:
        return abs(shift)
    far = shift / deviation
    near = deviation * math.sqrt(2 / math.pi) * math.exp(-(far**2) / 2)
    return near + shift * math.erf(far / math.sqrt(2))


def expected_error(queries, counts, samples, p):
    """Mean over queries of the expected |estimate − answer| / answer, samples by group."""
    errors = []
    for _, value, answer, inside in queries:
        own = {tuple(row[:2]) for row in inside}
        total = sum(by_hand.variance(counts[g][value], sum(counts[g]), samples[g], p, 3) for g in own)
        lost = sum(counts[g][value] for g in own if not samples[g])
        errors.append(folded(lost, math.sqrt(total)) / answer)
    return pytest.approx(np.mean(errors), rel=1e-9)


@SOME
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=3, max_size=24),
    EIGHTHS, st.floats(0.2, 1.0), st.floats(0.1, 0.9), st.integers(0, 10**6),
)  # fmt: skip
@pytest.mark.spec("RP-7")
def test_expected_errors_of_counts_by_loops_over_queries_and_groups(rows, p, epsilon, delta, seed):
    records = np.array(rows)
    table = Table(("a", "b", "s"), (FLAT,) * 3, (records + 1).astype(np.int32), sensitive=frozenset({"s"}))
    counts = {g: [0] * 3 for g in {row[:2] for row in rows}}
    for a, b, value in rows:
        counts[a, b][value] += 1
    asked = {"p": (p,), "p_cap": p, "epsilon": epsilon, "delta": delta, "queries": 100, "least_count": 1}
    with patch("app.domain.analyses.expected_count_errors.pool_words", lambda *_: words_of_pool(seed)):
        found = measured(EXPECTED_COUNT_ERRORS, context_of(table, None), most_draws=10_000, **asked)
    own = EXPECTED_COUNT_ERRORS.parameters(most_draws=10_000, **asked)
    draws, queries = pool_by_hand(records, [3, 3], 3, own, words_of_pool(seed))
    distinct = {(tuple(sorted(places.items())), value) for places, value, _, _ in queries}
    assert (found.draws, found.queries_distinct) == (draws, len(distinct))
    (point,) = found.points
    question = (p, 3, epsilon, delta)
    plain = {g: sum(own) for g, own in counts.items()}
    balanced = {g: by_hand.balanced_size(own, *question) for g, own in counts.items()}
    fixed = {g: min(n, by_hand.fixed_size(*question)) for g, n in plain.items()}
    failing = [plain[g] for g, own in counts.items() if not by_hand.is_within(max(own), sum(own), *question)]
    assert (point.groups_failing, point.records_failing) == (len(failing), sum(failing))
    assert point.error_plain == expected_error(queries, counts, plain, p)
    for samples, error, gone in (
        (balanced, point.error_balanced, point.suppressed_balanced),
        (fixed, point.error_balanced_fixed, point.suppressed_balanced_fixed),
    ):
        assert gone == sum(plain[g] for g, n in samples.items() if not n)
        assert error == (expected_error(queries, counts, samples, p) if any(samples.values()) else None)

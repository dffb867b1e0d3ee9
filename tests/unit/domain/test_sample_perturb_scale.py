"""Sample, perturb, scale: sizes of samples, rounding, copies, and the mechanism as services use it."""

import math
import re
import time
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

from app.domain.classes.reconstruction import Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.errors import InvalidInput, NotSupported
from app.domain.mechanisms.balanced_samples import (
    balanced_sizes,
    copies,
    expanded,
    fixed_size,
    sampled_counts,
)
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.perturbation_by_hand import stream
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import flat

FOURTEEN = tuple(f"v{i:02}" for i in range(14))
EIGHT = (900, 20, 20, 20, 10, 10, 10, 10)
CAPPED = {"p": 0.5, "p_cap": 0.5}
SIMPLE = "chernoff_simple"
SEVERE = {"epsilon": 1.0, "delta": 0.8187}


def question(p=0.5, epsilon=0.3, delta=0.3, m=14):
    return ReconstructionQuestion(UniformReplacement(p, m), epsilon, delta)


def longs(*numbers):
    return np.array(numbers, dtype=np.int64)


def table(*classes):
    return of_classes([tuple(own) + (0,) * (14 - len(own)) for own in classes], FOURTEEN)


WHOLE = table(EIGHT, (30, 10), (1,))


def plan(of=WHOLE, rule=None, **parameters):
    asked = SamplePerturbScale(**CAPPED | parameters)
    return SAMPLE_PERTURB_SCALE.plan(MechanismContext(of, rule), asked)


def draw(of=WHOLE, rule=None, bits=None, **parameters):
    asked = SamplePerturbScale(**CAPPED | parameters)
    return SAMPLE_PERTURB_SCALE.draw(MechanismContext(of, rule), asked, bits or stream("drawn"))


def supports(of, **parameters):
    return SAMPLE_PERTURB_SCALE.supports(MechanismContext(of), SamplePerturbScale(**CAPPED | parameters))


@pytest.mark.spec("RP-T10")
def test_sizes_of_samples():
    whole = Estimates(longs(900), longs(1000), UniformReplacement(0.5, 14), 0.3)
    assert whole.greatest_sizes(SIMPLE, 0.3) == pytest.approx(64.174133, abs=1e-6)
    rounded = Estimates(longs(57), longs(63), UniformReplacement(0.5, 14), 0.3)
    assert rounded.greatest_sizes(SIMPLE, 0.3) == pytest.approx(63.811670, abs=1e-6)
    assert balanced_sizes(longs(900), longs(1000), question(), SIMPLE).tolist() == [63]
    assert fixed_size(question(), SIMPLE) == 57


def test_a_group_within_its_bound_is_taken_whole_and_one_that_cannot_be_helped_not_at_all():
    found = balanced_sizes(longs(30, 1, 90), longs(60, 1, 90), question(), SIMPLE)
    assert found.tolist() == [60, 1, 57]
    strict = question(epsilon=0.9, delta=0.9)
    assert balanced_sizes(longs(30, 1), longs(60, 1), strict, SIMPLE)[1] == 0
    assert fixed_size(strict, SIMPLE) == 0


@pytest.mark.deep
@pytest.mark.parametrize("bound", [SIMPLE, "chernoff_full"])
def test_sizes_are_those_of_trying_one_record_less_at_a_time(bound):
    rng = np.random.default_rng(4)
    for _ in range(150):
        m, n = int(rng.integers(2, 20)), int(rng.integers(1, 300))
        own = question(rng.uniform(0.05, 0.95), rng.uniform(0.1, 1.8), rng.uniform(0.05, 0.9), m)
        top = int(rng.integers(-(-n // m), n + 1))

        def passes(amount, size, own=own):
            found = Estimates(longs(amount), longs(size), own.replacement, own.epsilon)
            return found.within(bound, own.delta)[0]

        tried = n if passes(top, n) else 0
        tried = tried or next((k for k in range(n, 0, -1) if passes(-(-k * top // n), k)), 0)
        assert balanced_sizes(longs(top), longs(n), own, bound).tolist() == [tried]


def test_the_size_of_a_sample_of_a_million_records_is_found_at_once():
    """In the first a record less at a time is tried more than 500,000 times."""
    hard = question(0.5, 1.0, 0.3, m=100_000)
    began = time.process_time()
    found = balanced_sizes(longs(10, 900_000), longs(10**6, 10**6), hard, SIMPLE)
    assert time.process_time() - began < 0.5
    assert (found > 0).all()


def test_where_nothing_is_told_no_size_is_too_large():
    for least in ({"p": 1e-9}, {"epsilon": 1e-9}, {"p": 1e-9, "epsilon": 1e-9, "delta": 5e-324}):
        for mode in ("balanced_fixed", "balanced"):
            found = plan(mode=mode, **least)
            assert found.is_feasible
            assert found.constants["groups_sampled"] == 0
            assert found.constants["sample_size_whatever_is_shown"] <= 2**53
            assert len(draw(mode=mode, **least).columns[1]) == WHOLE.n_records


@pytest.mark.parametrize("bound", [SIMPLE, "chernoff_full"])
def test_no_realised_sample_is_above_its_bound(bound):
    """Wang et al., theorem 5.16, claims it of samples of random size, of which up to 99 % are above it."""
    rng = np.random.default_rng(3)
    for number in range(60):
        own = question(float(rng.choice([0.3, 0.5, 0.9])), 0.3, 0.3, m=4)
        vectors = rng.integers(0, 200, (5, 4)) + np.array([1, 0, 0, 0])
        counts = counts_of(vectors.sum(axis=0), vectors)
        sizes = balanced_sizes(vectors.max(axis=1), counts.sizes, own, bound)
        taken = sampled_counts(counts, sizes, stream(str(number)))
        for group in range(5):
            entries = slice(counts.starts[group], counts.starts[group + 1])
            sample = taken[entries]
            assert sample.sum() == sizes[group]
            exact = sizes[group] * counts.counts[entries] / counts.sizes[group]
            assert ((np.floor(exact) <= sample) & (sample <= np.ceil(exact))).all()
            if sizes[group]:
                top = longs(int(sample.max())), longs(int(sizes[group]))
                assert Estimates(*top, own.replacement, 0.3).within(bound, 0.3)[0]


def test_samples_have_the_shares_of_their_group_in_the_mean():
    """Wang et al., theorem 5.18; of 7 and 13 records a sample of 12 has 4.2 and 7.8."""
    n = 40_000
    counts = counts_of([7 * n, 13 * n], [[7, 13]] * n)
    taken = sampled_counts(counts, np.full(n, 12), stream("mean"))
    first = taken[::2]
    assert set(first.tolist()) == {4, 5}
    # A false alarm of another seed has a chance of less than 1e-6.
    assert abs(first.mean() - 4.2) < 5 * math.sqrt(0.2 * 0.8 / n)


def test_copies_bring_a_sample_back_to_the_size_of_its_group():
    counts = counts_of([25, 17], [[10, 7], [15, 10]])
    samples = longs(5, 25)
    owners, values = expanded(counts, sampled_counts(counts, samples, stream("copies")))
    assert (len(owners), set(values.tolist())) == (30, {0, 1})
    found = copies(owners, counts.sizes, samples, stream("scale"))
    assert np.bincount(owners, found).tolist() == [17, 25]
    assert Counter(found[:5].tolist()) == {3: 3, 4: 2}
    assert set(found[5:].tolist()) == {1}


def test_who_is_copied_once_more_is_chosen_evenly():
    n = 20_000
    owners = np.repeat(np.arange(n), 3)
    found = copies(owners, np.full(n, 7), np.full(n, 3), stream("even")).reshape(n, 3)
    assert (found.sum(axis=1) == 7).all()
    assert (np.abs((found == 3).mean(axis=0) - 1 / 3) < 5 * math.sqrt(2 / 9 / n)).all()


def test_the_rows_of_every_group_are_as_many_as_before():
    for mode in ("balanced_fixed", "balanced"):
        drawn = draw(mode=mode)
        before, after = (np.bincount(own) for own in (WHOLE.codes[:, 0], drawn.columns[0]))
        assert before.tolist() == after.tolist()
        assert len(drawn.columns[1]) == WHOLE.n_records
        assert draw(mode=mode).columns[1].tolist() == drawn.columns[1].tolist()


def test_nothing_that_depends_on_data_is_published_of_the_sizes():
    fixed, free = draw().published, draw(mode="balanced").published
    assert (fixed.sample_size, free.sample_size) == (57, None)
    assert (fixed.values, fixed.p, free.mode) == (FOURTEEN, 0.5, "balanced")
    assert asdict(draw(table((500, 500))).published) == asdict(fixed)


@pytest.mark.spec("RP-T14")
def test_the_fixed_size_gives_away_nothing_by_the_copies():
    """Every group of 1,000 is published in 1000 = 57·17 + 31 copies, whatever its shares are: the largest
    divisor pattern of the counts is that of a sample of 57 for all of them."""
    for share in (300, 500, 900):
        rest = [(1000 - share) // 13] * 13
        rest[0] += 1000 - share - sum(rest)
        drawn = draw(table((share, *rest)))
        shown = np.bincount(drawn.columns[1])
        assert shown.sum() == 1000
        for count in shown[shown > 0].tolist():
            assert any(17 * k <= count <= 18 * k for k in range(1, 58))


@pytest.mark.spec("RP-T14")
def test_estimates_of_a_fixed_sample_are_unbiased_and_as_far_off_as_stated():
    """Of 200 groups of 1,000 with the top share ½ the relative error is 0.200 in the root of its square."""
    rest = [39] * 12 + [32]
    many = table(*[(500, *rest)] * 200)
    drawn = draw(many)
    shown = np.zeros(200)
    np.add.at(shown, drawn.columns[0] - many.codes[:, 0].min(), drawn.columns[1] == 1)
    estimates = (shown / 1000 - 0.5 / 14) / 0.5
    assert abs(estimates.mean() / 0.5 - 1) < 5 * 0.2 / math.sqrt(200)
    assert math.sqrt(((estimates / 0.5 - 1) ** 2).mean()) == pytest.approx(0.2, rel=0.25)


def test_the_plan_says_how_many_groups_are_cut():
    found = plan()
    assert found.is_feasible
    constants = found.constants
    assert (constants["groups"], constants["groups_sampled"], constants["groups_suppressed"]) == (3, 1, 0)
    assert constants["sample_size_whatever_is_shown"] == 57
    assert constants["records_of_groups_sampled"] == 1000
    assert all(own.isascii() and own for own in constants)


@pytest.mark.parametrize("mode", ["balanced_fixed", "balanced", "paper"])
@pytest.mark.parametrize("severe", [{}, {"p": 0.49, "epsilon": 1.0, "delta": 0.8187}])
def test_what_is_stored_with_a_release_is_the_same_whatever_the_shares_are(mode, severe):
    """Two tables of as many values and groups of the same sizes: one is sampled and suppressed, one is not.

    A reader would solve how many are expected to be suppressed, Π(1 − n_x·s/n), for the shares.
    """
    even = tuple([20] * 14)
    alike, mixed = table(even, even, even, (1, 1, 1, 1)), table((267, *[1] * 13), even, even, (4,))
    asked = severe | {"mode": mode, "accept_known_leak": mode == "paper"}
    first, second = (plan(own, **asked) for own in (alike, mixed))
    if not first.is_feasible:
        assert mode == "balanced_fixed"
        return
    assert (first.constants != second.constants) == (mode != "balanced_fixed")
    assert first.warnings == second.warnings
    assert first.guarantees == second.guarantees


def test_before_the_leak_is_accepted_the_plan_says_nothing_of_shares():
    found = plan(table((600, 400), (60, 40)), mode="paper", epsilon=1.0, delta=0.8187)
    assert not {"groups_sampled", "records_of_groups_sampled", "groups_suppressed"} & found.constants.keys()
    assert not any("expected" in own for own in found.warnings)


def test_sentences_of_samples_as_published_are_their_own():
    found = plan(mode="paper", accept_known_leak=True)
    assert "about as many rows as it has records" in found.warnings[0]
    assert not any("Every record is released" in own for own in found.warnings)
    [guarantee] = found.guarantees
    assert "whatever sample is drawn" not in guarantee.sentence
    assert "this is false" in guarantee.sentence
    assert plan().warnings[0].startswith("Every group is released with the other attributes")


def test_a_bound_is_as_published_in_every_mode_and_only_the_fixed_size_has_something_left_of_it():
    [fixed] = plan().guarantees
    assert (fixed.model, fixed.standing) == ("reconstruction_bound", "as_published")
    assert "says nothing of the probability itself" in fixed.sentence
    [free] = plan(mode="balanced").guarantees
    assert (free.status, free.standing) == ("as_published", "none")
    assert {own.id: own.holds for own in free.hypotheses}["sizes_tell_nothing"] == "no"
    assert any("Choose balanced_fixed" in own for own in plan(mode="balanced").warnings)
    for numbers in (fixed.sentence, *(own.reason for own in fixed.hypotheses)):
        assert "57" not in numbers


def test_groups_that_cannot_be_helped_are_suppressed_and_counted():
    """(ε·p)² = 0.25 ≤ 2·0.2·(p + c·k) of k different values holds from four on, and of one value never."""
    few = table((1,), (1, 1, 1, 1), (8,))
    found = plan(few, **SEVERE, mode="balanced")
    assert (found.constants["groups_suppressed"], found.constants["records_suppressed"]) == (2, 9)
    (warning,) = [own for own in found.warnings if "suppressed if no sample of it is small enough" in own]
    (named,) = re.findall(r"it may have 0.8573, below one record. With p of at most ([0-9.]+) no ", warning)
    enough = plan(few, **SEVERE | {"p": float(named)}, mode="balanced")
    assert enough.constants["groups_suppressed"] == 0
    assert not any("is suppressed if" in own for own in enough.warnings)
    assert found.warnings[0].startswith("Every group that is not suppressed is released")
    drawn = draw(few, **SEVERE, mode="balanced")
    assert {len(own) for own in drawn.columns} == {4}
    assert np.bincount(drawn.columns[0]).tolist() == [0, 0, 4]


@pytest.mark.parametrize("mechanism", ["uniform_perturbation", "sample_perturb_scale"])
@pytest.mark.parametrize(
    ("values", "is_warned"),
    [
        (tuple(str(own) for own in range(21)), True),
        (tuple(f"{own}.50" for own in range(1000, 1030)), True),
        (tuple(str(own) for own in range(20)), False),
        (tuple(f"{own}-{own + 9}" for own in range(0, 300, 10)), False),
    ],
)
def test_amounts_that_nobody_put_into_classes_are_warned_about_before_anything_is_drawn(
    mechanism, values, is_warned
):
    """Each amount of 21 and more would be a value of its own; classes of amounts are none."""
    (own,) = (found for found in MECHANISMS if found.name == mechanism)
    amounts = of_classes([(1,) * len(values)] * 2, values)
    warnings = own.plan(MechanismContext(amounts), own.parameters(**CAPPED)).warnings
    told = [warning for warning in warnings if "put them into classes" in warning]
    assert len(told) == is_warned
    assert all(f"The {len(values)} values of 'condition' are numbers" in warning for warning in told)


def test_parameters_that_suppress_everything_are_refused_with_the_numbers():
    [fault] = plan(**SEVERE).missing
    assert (fault.pointer, fault.code) == ("/mechanism/p", "sample-below-one")
    assert "p = 0.5, epsilon = 1 and delta = 0.8187" in fault.message
    # 2·ln(1/δ)·w / (ε·p)² with w = p + (1 − p) / 14.
    assert "Of records with one value a sample may have 0.8573." in fault.message
    assert plan(**SEVERE).guarantees == ()
    with pytest.raises(InvalidInput):
        draw(**SEVERE)
    assert [own.code for own in plan(p=0.6).missing] == ["p-above-cap"]


@pytest.mark.parametrize("mode", ["balanced_fixed", "balanced", "paper"])
@pytest.mark.parametrize("bound", [SIMPLE, "chernoff_full"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.8187), (0.3, 0.99), (1.6, 0.5)])
def test_the_p_that_a_refusal_names_is_the_greatest_that_will_do(mode, bound, epsilon, delta):
    asked = {"mode": mode, "bound": bound, "epsilon": epsilon, "delta": delta, "p_cap": 0.9}
    asked |= {"p": 0.9, "accept_known_leak": mode == "paper"}
    few = table((1,), (8,))
    [fault] = plan(few, **asked).missing
    (named,) = re.findall(r"Give p of at most ([0-9.]+), ", fault.remedy)
    enough = plan(few, **asked | {"p": float(named)})
    assert enough.is_feasible
    assert enough.constants["groups_suppressed"] == 0
    more = plan(few, **asked | {"p": float(named) * 1.00002})
    assert [own.code for own in more.missing] == ["sample-below-one"]


def test_other_sensitive_attributes_are_refused():
    rows = [("c", "v", "x"), ("c", "w", "y")]
    columns = [flat(column) for column in zip(*rows, strict=True)]
    codes = np.array([[1, 1, 1], [1, 2, 2]], dtype=np.int32)
    both = Table(("town", "s", "t"), tuple(columns), codes, sensitive=frozenset({"s", "t"}))
    assert "Leave these out of the dataset" in supports(both, attribute="s")
    with pytest.raises(NotSupported):
        draw(both, attribute="s")
    assert supports(WHOLE) is None
    assert "single value" in supports(of_classes([(3,)], ("v",)))


def test_a_rule_makes_larger_groups_first():
    drawn = draw(rule=TableRule((1, 0)))
    assert set(drawn.columns[0].tolist()) == {0}
    assert plan(rule=TableRule((1, 0))).constants["groups"] == 1


def test_it_is_in_the_catalogue_and_keeps_no_records():
    assert SAMPLE_PERTURB_SCALE in MECHANISMS
    assert (SAMPLE_PERTURB_SCALE.family, SAMPLE_PERTURB_SCALE.keeps_records) == ("sample", False)

"""Differentially private histograms: what is refused, planned, promised, and drawn."""

import dataclasses
import itertools
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.common_hypotheses import one_record_per_person
from app.domain.mechanisms.exact_noise import two_sided_geometric
from app.domain.mechanisms.laplace_histogram import LAPLACE_HISTOGRAM, LaplaceHistogram
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.private_release import group_privacy
from app.domain.mechanisms.several_draws import private_guarantee_together
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.domain.rules.rule import CellRule, RecordRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream

TOWNS = Hierarchy.from_parents({"Laf": ["IN"], "Day": ["IN"], "Chi": ["IL"], "IN": [None], "IL": [None]})
JOBS = Hierarchy.from_parents({"Eng": [None], "Nur": [None]})
STABLE = {"epsilon": 1.0, "delta": 1e-3, "least_records": 50}
PUBLIC = frozenset({"town", "job"})


def table(counts, ids=None):
    """So many records of each pair of labels."""
    rows = [
        (0 if town is None else TOWNS.node_of(town), JOBS.node_of(job))
        for (town, job), n in counts.items()
        for _ in range(n)
    ]
    return Table(
        ("town", "job"), (TOWNS, JOBS), np.array(rows, dtype=np.int32), ids, sensitive=frozenset({"job"})
    )


WHOLE = table({("Laf", "Eng"): 60, ("Laf", "Nur"): 1, ("Day", "Nur"): 40, ("Chi", "Eng"): 25})


def context(of=WHOLE, rule=None, **more):
    return MechanismContext(of, rule, **{"public": PUBLIC, **more})


def stable(**more):
    return StabilityHistogram(**STABLE | more)


KNOWN = {"town": ("Laf", "Day", "Chi", "Chi"), "job": ("Eng", "Nur", "Eng", "Eng")}
WEIGHED = {"dictionary": KNOWN, "trade_off": 1.0}


def shown(drawn):
    """How often each row is published."""
    rows = zip(*(own.tolist() for own in drawn.columns), strict=True)
    found = {}
    for town, job in rows:
        pair = TOWNS.labels[town], JOBS.labels[job]
        found[pair] = found.get(pair, 0) + 1
    return found


@pytest.mark.parametrize(
    ("make", "pointer", "code"),
    [
        (lambda: stable(epsilon=0.0), "/epsilon", "out-of-range"),
        (lambda: stable(epsilon=21.0), "/epsilon", "out-of-range"),
        (lambda: stable(epsilon=math.nan), "/epsilon", "out-of-range"),
        (lambda: stable(epsilon=0.1234567891), "/epsilon", "too-many-decimals"),
        (lambda: LaplaceHistogram(epsilon=0.1234567891), "/epsilon", "too-many-decimals"),
        (lambda: stable(delta=0.0), "/delta", "out-of-range"),
        (lambda: stable(delta=0.02), "/delta", "out-of-range"),
        (lambda: stable(least_records=0), "/least_records", "out-of-range"),
        (lambda: stable(dictionary=KNOWN), "/trade_off", "without-the-other"),
        (lambda: stable(trade_off=1.0), "/trade_off", "without-the-other"),
        (lambda: stable(phi_offset=2.0), "/dictionary", "without-the-other"),
        (lambda: stable(sensitivity={"town": (1.0, 0.5)}), "/sensitivity/town", "not-monotone"),
        (lambda: stable(sensitivity={"town": (0.0, math.inf)}), "/sensitivity/town", "invalid-weight"),
        (
            lambda: stable(dictionary={"town": ("Laf",), "job": ()}, trade_off=1.0),
            "/dictionary",
            "wrong-shape",
        ),
    ],
)
def test_what_is_refused_without_a_table(make, pointer, code):
    with pytest.raises(InvalidInput) as refused:
        make()
    assert (refused.value.faults[0].pointer, refused.value.faults[0].code) == (pointer, code)


def test_numbers_are_the_decimals_that_they_are_written_as():
    assert stable(epsilon=0.1).law.epsilon == Fraction(1, 10)
    assert stable(epsilon=0.123456789).law.epsilon == Fraction(123456789, 10**9)


@pytest.mark.parametrize(
    "rule",
    [
        RecordRule(np.zeros((126, 2), dtype=np.int16)),
        CellRule(np.zeros((126, 2), dtype=np.int32)),
    ],
)
@pytest.mark.parametrize(
    ("mechanism", "asked"),
    [
        (STABILITY_HISTOGRAM, stable(rule_is_public=True)),
        (LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=1.0, rule_is_public=True)),
    ],
)
def test_what_depends_on_other_records_is_no_public_rule(mechanism, asked, rule):
    """Records that are suppressed because few are alike, above all."""
    assert "kind table_level" in mechanism.supports(context(rule=rule), asked)
    with pytest.raises(NotSupported):
        mechanism.draw(context(rule=rule), asked, stream("a"))
    of_data = context(rule=TableRule((1, 0)), rule_is_of_data=True)
    [fault] = mechanism.plan(of_data, asked).missing
    assert (fault.pointer, fault.code) == ("/rule", "rule-from-data")
    undeclared = dataclasses.replace(asked, rule_is_public=False)
    plan = mechanism.plan(context(rule=TableRule((1, 0))), undeclared)
    assert [own.code for own in plan.missing] == ["rule-not-public"]
    assert plan.guarantees == ()
    with pytest.raises(InvalidInput):
        mechanism.draw(context(rule=TableRule((1, 0))), undeclared, stream("a"))


def test_without_a_rule_there_is_nothing_to_declare():
    for mechanism, asked in (
        (STABILITY_HISTOGRAM, stable()),
        (LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=1.0)),
    ):
        (guarantee,) = mechanism.plan(context(), asked).guarantees
        assert {own.id: own.holds for own in guarantee.hypotheses}["rule_is_public"] == "yes"


def test_plans_look_at_no_record():
    """Of two tables of one description the plans are the same to the byte, be these feasible or not."""
    other = table({("Chi", "Nur"): 3})
    for rule in (None, TableRule((1, 0)), TableRule((2, 1))):
        for mechanism, asked in (
            (STABILITY_HISTOGRAM, stable(rule_is_public=True)),
            (STABILITY_HISTOGRAM, stable(delta=1e-9)),
            (LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=0.5, rule_is_public=True)),
        ):
            plans = [mechanism.plan(context(own, rule), asked) for own in (WHOLE, other)]
            assert repr(plans[0]) == repr(plans[1])
            assert mechanism.supports(context(other, rule), asked) is None


def test_the_plan_of_a_stability_histogram():
    """τ, and all of δ, of ε = 1 and δ = 1e-6: the source's 15."""
    plan = STABILITY_HISTOGRAM.plan(context(), stable(delta=1e-6, least_records=1000))
    told = plan.constants
    assert told["threshold"] == 15
    assert told["delta_of_threshold"] == pytest.approx(math.exp(-14) / (1 + math.exp(-1)))
    assert told["delta_of_threshold"] <= 1e-6
    assert (told["factor"], told["count_likely"]) == (pytest.approx(math.e), 17)
    (guarantee,) = plan.guarantees
    assert (guarantee.model, guarantee.standing) == ("differential_privacy", "certified")
    assert (guarantee.parameters["epsilon"], guarantee.parameters["delta"]) == (1.0, 1e-6)
    assert guarantee.parameters["neighbours"] == "add_or_remove_one_record"
    assert "factor e^ε = 2.71828, apart from a slack of δ = 1e-06" in guarantee.sentence
    assert any("with 2 records ε = 2 and δ = 5.44e-06" in own for own in plan.warnings)


def test_no_sentence_reads_delta_as_a_probability_of_the_promise():
    for mechanism, asked in (
        (STABILITY_HISTOGRAM, stable()),
        (LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=4.0)),
    ):
        plan = mechanism.plan(context(), asked)
        said = " ".join([*plan.warnings, *(own.sentence for own in plan.guarantees)])
        assert "1 − δ" not in said
        assert "with probability" not in said


def test_large_numbers_are_warned_of_and_too_large_ones_are_not_certified():
    def warned(**more):
        return " ".join(STABILITY_HISTOGRAM.plan(context(), stable(**more)).warnings)

    assert "Above 3 a promise is weak" in warned(epsilon=3.1)
    assert "Above 3 a promise is weak" not in warned(epsilon=3.0)
    assert "above a tenth of 1 in the 50 records" in warned(delta=0.0021)
    assert "above a tenth of 1" not in warned(delta=0.002)
    at_bound = STABILITY_HISTOGRAM.plan(context(), stable(delta=0.01, least_records=100))
    assert [own.code for own in at_bound.missing] == ["delta-too-large"]
    assert at_bound.guarantees == ()


def test_fewer_records_than_declared_bar_the_draw_and_no_other_number_is_told():
    (fault,) = STABILITY_HISTOGRAM.bars(context(), stable(least_records=127))
    assert fault.code == "fewer-records"
    assert re.findall(r"\d+", fault.message + fault.remedy) == ["127"]
    assert STABILITY_HISTOGRAM.bars(context(), stable(least_records=126)) == ()
    with pytest.raises(InvalidInput):
        STABILITY_HISTOGRAM.draw(context(), stable(least_records=127), stream("a"))


def test_a_stability_histogram_publishes_noisy_counts_from_the_threshold_on():
    drawn = STABILITY_HISTOGRAM.draw(context(), stable(), stream("histogram"))
    found = shown(drawn)
    assert drawn.published.threshold == 8
    assert set(found) <= {("Laf", "Eng"), ("Day", "Nur"), ("Chi", "Eng"), ("Laf", "Nur")}
    assert ("Laf", "Nur") not in found
    assert all(count >= 8 for count in found.values())
    # ε = 1: a count is off by more than 25 with a chance below 1e-10.
    assert abs(found["Laf", "Eng"] - 60) < 25
    assert [
        own.tolist() for own in STABILITY_HISTOGRAM.draw(context(), stable(), stream("histogram")).columns
    ] == [own.tolist() for own in drawn.columns]


def numbered(counts):
    """A table of one column with so many records of each value, and its declared values."""
    values = Hierarchy.from_parents({f"v{i:06}": [None] for i in range(len(counts))})
    codes = np.repeat(np.arange(1, len(counts) + 1, dtype=np.int32), counts)[:, None]
    return MechanismContext(Table(("value",), (values,), codes), public=frozenset({"value"}))


@pytest.mark.parametrize("epsilon", ["0.25", "1", "3"])
def test_what_is_drawn_is_the_counts_with_the_noise_that_the_plan_states(epsilon):
    """Of one stream of bytes: a count that falls just short of the threshold is missing, one at it is not."""
    law, counts = NoiseLaw(Fraction(epsilon)), np.arange(1, 400) % 60 + 1
    noisy = counts + two_sided_geometric(len(counts), law.epsilon, stream("cells"))
    asked = stable(epsilon=float(epsilon), delta=1e-4)
    (column,) = STABILITY_HISTOGRAM.draw(numbered(counts), asked, stream("cells")).columns
    found, least = np.bincount(column, minlength=400)[1:], law.threshold(Fraction(1, 10_000))
    assert {least - 1, least} <= set(noisy.tolist())
    assert found.tolist() == np.where(noisy >= least, noisy, 0).tolist()
    # The Laplace histogram counts the missing value, of which there is none, before the others.
    expected = np.append(0, counts) + two_sided_geometric(400, law.epsilon, stream("cells"))
    (column,) = LAPLACE_HISTOGRAM.draw(
        numbered(counts), LaplaceHistogram(epsilon=float(epsilon)), stream("cells")
    ).columns
    assert np.bincount(column, minlength=400).tolist() == np.maximum(expected, 0).tolist()


def test_noise_of_many_cells_has_its_law():
    """χ² of 20,000 cells in 11 classes, p < 1e-4 rejects; the streams are seeded."""
    law, n, true = NoiseLaw(Fraction(1)), 20_000, 30
    context_of = numbered(np.full(n, true))
    asked = stable(epsilon=1.0, delta=1e-3)
    (stability,) = STABILITY_HISTOGRAM.draw(context_of, asked, stream("many cells")).columns
    of_all = LaplaceHistogram(epsilon=1.0)
    (laplace,) = LAPLACE_HISTOGRAM.draw(context_of, of_all, stream("all cells")).columns
    chances = [float(law.tail(5)), *(float(law.probability(z)) for z in range(-4, 5)), float(law.tail(5))]
    assert sum(chances) == pytest.approx(1)
    for column in (stability, laplace):
        noise = np.bincount(column, minlength=n + 1)[1:] - true
        seen = np.bincount(np.clip(noise, -5, 5) + 5, minlength=11)
        expected = n * np.array(chances)
        assert float(((seen - expected) ** 2 / expected).sum()) < chi2.isf(1e-4, 10)


def test_a_rule_makes_larger_combinations():
    asked = stable(rule_is_public=True)
    found = shown(STABILITY_HISTOGRAM.draw(context(rule=TableRule((1, 1))), asked, stream("rule")))
    assert set(found) == {("IN", "*"), ("IL", "*")}
    assert abs(found["IN", "*"] - 101) < 25


def test_nothing_may_be_published_at_all():
    few = table({(town, job): 1 for town in ("Laf", "Day") for job in ("Eng", "Nur")})
    drawn = STABILITY_HISTOGRAM.draw(context(few), stable(delta=1e-9, least_records=1), stream("few"))
    assert [len(own) for own in drawn.columns] == [0, 0]


def test_a_laplace_histogram_counts_what_does_not_occur_too():
    plan = LAPLACE_HISTOGRAM.plan(context(), LaplaceHistogram(epsilon=0.1))
    # Five nodes of towns and two of jobs, and ⊥ of each: what a cell may be.
    assert plan.constants["cells"] == 6 * 3
    assert plan.constants["rows_of_noise"] == pytest.approx(18 / (2 * math.sinh(0.1)))
    found = shown(LAPLACE_HISTOGRAM.draw(context(), LaplaceHistogram(epsilon=0.1), stream("all")))
    assert set(found) > {("Laf", "Eng"), ("Day", "Nur")}
    assert any(pair not in {("Laf", "Eng"), ("Laf", "Nur"), ("Day", "Nur"), ("Chi", "Eng")} for pair in found)
    (guarantee,) = plan.guarantees
    assert guarantee.parameters["delta"] == 0.0
    assert "slack" not in guarantee.sentence


def test_a_laplace_histogram_under_a_rule_counts_its_values_and_missing_ones():
    some = table({("Laf", "Eng"): 500, (None, "Nur"): 300})
    asked = LaplaceHistogram(epsilon=1.0, rule_is_public=True)
    assert LAPLACE_HISTOGRAM.plan(context(some, TableRule((1, 1))), asked).constants["cells"] == 3
    found = shown(LAPLACE_HISTOGRAM.draw(context(some, TableRule((1, 1))), asked, stream("rule")))
    assert abs(found["IN", "*"] - 500) < 25
    assert abs(found["*", "*"] - 300) < 25


def test_values_that_only_the_data_tell_are_no_public_domain():
    for public in (frozenset(), frozenset({"town"})):
        reason = LAPLACE_HISTOGRAM.supports(context(public=public), LaplaceHistogram(epsilon=1.0))
        assert "'job'" in reason
        assert "not declared" in reason
        with pytest.raises(NotSupported):
            LAPLACE_HISTOGRAM.draw(context(public=public), LaplaceHistogram(epsilon=1.0), stream("a"))
    suppressed = context(rule=TableRule((0, 1)), public=frozenset({"town"}))
    asked = LaplaceHistogram(epsilon=1.0, rule_is_public=True)
    assert LAPLACE_HISTOGRAM.supports(suppressed, asked) is None


def test_too_many_combinations_are_refused_with_their_number():
    wide = Hierarchy.from_parents({f"v{i:04}": [None] for i in range(1000)})
    large = Table(("a", "b"), (wide, wide), np.ones((3, 2), dtype=np.int32))
    of_large = MechanismContext(large, public=frozenset({"a", "b"}))
    [fault] = LAPLACE_HISTOGRAM.plan(of_large, LaplaceHistogram(epsilon=1.0)).missing
    assert fault.code == "too-many-cells"
    assert "1,002,001 combinations" in fault.message
    narrow = Hierarchy.from_parents({f"v{i:04}": [None] for i in range(900)})
    fewer = MechanismContext(
        Table(("a", "b"), (wide, narrow), np.ones((3, 2), dtype=np.int32)), public=frozenset("ab")
    )
    assert LAPLACE_HISTOGRAM.plan(fewer, LaplaceHistogram(epsilon=1.0)).is_feasible
    [fault] = LAPLACE_HISTOGRAM.plan(fewer, LaplaceHistogram(epsilon=0.0001)).missing
    assert fault.code == "too-much-noise"


def test_one_record_a_person_is_checked_by_identifiers():
    with pytest.raises(InvalidInput):
        table({("Laf", "Eng"): 2}, np.array(["p", "p"], dtype=object))
    known = table({("Laf", "Eng"): 2}, np.array(["p", "q"], dtype=object))
    for of, holds in ((known, "yes"), (WHOLE, "assumed")):
        (guarantee,) = STABILITY_HISTOGRAM.plan(context(of), stable()).guarantees
        assert {own.id: own.holds for own in guarantee.hypotheses}["one_record_per_person"] == holds


def test_groups_of_records_have_less():
    assert group_privacy(2, 1.0, 1e-6) == (2.0, pytest.approx(2 * math.e * 1e-6))
    assert group_privacy(3, 0.1, 0.0) == (0.3, 0.0)
    assert group_privacy(50, 1.0, 1e-6)[1] == 1.0


def test_several_draws_add_up_exactly():
    persons = (one_record_per_person(WHOLE),)
    stated = [{"epsilon": 0.1, "delta": 1e-10}, {"epsilon": 0.2, "delta": 0.0}]
    together = private_guarantee_together(stated, persons)
    assert (together.parameters["epsilon"], together.parameters["delta"]) == (0.3, 1e-10)
    assert (together.standing, together.parameters["draws"]) == ("certified", 2)
    unknown = private_guarantee_together([stated[0], None], persons)
    assert (unknown.standing, unknown.model) == ("none", "differential_privacy")
    assert "draw 2" in unknown.sentence
    assert "epsilon" not in unknown.parameters


def test_epsilons_beyond_every_floating_point_factor_are_told():
    stated = [{"epsilon": 20.0, "delta": 0.0}] * 36
    together = private_guarantee_together(stated, ())
    assert together.parameters["epsilon"] == 720.0
    assert "at most a factor e^ε = e^720, apart" in together.sentence


@pytest.mark.parametrize(
    ("deltas", "least", "standing"),
    [
        ([0.004, 0.005], {"least_records": 100}, "certified"),
        ([0.005, 0.005], {"least_records": 100}, "none"),
        ([0.01] * 99, {}, "certified"),
        ([0.01] * 101, {}, "none"),
    ],
)
def test_together_nothing_is_certified_that_a_single_draw_could_not_promise(deltas, least, standing):
    """A sum of δ of 1 in the declared records; and the sentence tells no probability above 1."""
    stated = [{"epsilon": 1.0, "delta": own} | least for own in deltas]
    of_rule = Hypothesis("rule_is_public", "assumed", "Declared.")
    together = private_guarantee_together([*stated, {"epsilon": 1.0, "delta": 0.0}], (of_rule,))
    assert together.standing == standing
    assert ("Nothing is promised" in together.sentence) == (standing == "none")
    assert of_rule in together.hypotheses
    known = {own.id: own.reason for own in together.hypotheses}
    assert ("100 records" in known.get("least_records_is_public", "")) == bool(least)
    assert "1.01" not in together.sentence


def test_the_declared_number_of_records_is_a_hypothesis():
    (guarantee,) = STABILITY_HISTOGRAM.plan(context(), stable()).guarantees
    (own,) = (own for own in guarantee.hypotheses if own.id == "least_records_is_public")
    assert own.holds == "assumed"
    assert "at least 50 records" in own.reason
    (laplace,) = LAPLACE_HISTOGRAM.plan(context(), LaplaceHistogram(epsilon=1.0)).guarantees
    assert all(own.id != "least_records_is_public" for own in laplace.hypotheses)


def test_tables_of_more_than_64_columns_are_counted():
    """Of 70 columns all but two are suppressed to one value each."""
    values = Hierarchy.from_parents({"a": [None], "b": [None]})
    names = tuple(f"c{i}" for i in range(70))
    codes = np.tile(np.array([values.node_of("a"), values.node_of("b")], dtype=np.int32), (300, 35))
    wide = Table(names, (values,) * 70, codes)
    rule = TableRule((0, *(1,) * 68, 0))
    asked = LaplaceHistogram(epsilon=1.0, rule_is_public=True)
    of_wide = MechanismContext(wide, rule, frozenset(names))
    assert LAPLACE_HISTOGRAM.plan(of_wide, asked).constants["cells"] == 9
    for mechanism, own in ((LAPLACE_HISTOGRAM, asked), (STABILITY_HISTOGRAM, stable(rule_is_public=True))):
        first, *between, last = mechanism.draw(of_wide, own, stream("wide")).columns
        assert all(not column.any() for column in between)
        both = (first == values.node_of("a")) & (last == values.node_of("b"))
        assert abs(int(both.sum()) - 300) < 25


def test_combinations_are_numbered_as_they_are_read_back():
    """All combinations of columns of 3, 1, 2 and 5 values, with so little noise that none is lost."""
    sizes = (3, 1, 2, 5)
    trees = [Hierarchy.from_parents({f"v{i}": [None] for i in range(own)}) for own in sizes]
    grid = np.array(list(np.ndindex(*sizes)), dtype=np.int32) + 1
    of_all = Table(tuple("abcd"), tuple(trees), np.repeat(grid, np.arange(60, 60 + len(grid)), axis=0))
    drawn = LAPLACE_HISTOGRAM.draw(
        MechanismContext(of_all, public=frozenset("abcd")), LaplaceHistogram(epsilon=20.0), stream("small")
    )
    found, counts = np.unique(np.column_stack(drawn.columns), axis=0, return_counts=True)
    assert (found == grid).all()
    # ε = 20: noise other than 0 has a probability below 5e-9 a cell, and the stream is seeded.
    assert counts.tolist() == list(range(60, 60 + len(grid)))


@pytest.mark.parametrize("epsilon", ["0.0001", "0.05", "1", "20"])
def test_the_count_that_is_likely_published_is_the_least(epsilon):
    law, chance = NoiseLaw(Fraction(epsilon)), Fraction(19, 20)
    found = law.reaching(100, chance)
    assert law.tail(100 - found) >= Decimal("0.95")
    assert found == 100 or law.tail(100 - found + 1) < Decimal("0.95")


def test_the_plan_of_little_epsilon_takes_few_steps(monkeypatch):
    """Thresholds of hundreds of thousands are found from their logarithms."""
    asked, tail = [], NoiseLaw.tail

    def counted(law, least):
        asked.append(least)
        return tail(law, least)

    monkeypatch.setattr(NoiseLaw, "tail", counted)
    plan = STABILITY_HISTOGRAM.plan(context(), stable(epsilon=0.0001, delta=1e-30))
    assert plan.constants["count_likely"] > plan.constants["threshold"] > 600_000
    assert len(asked) < 100


def test_the_chance_of_a_count_at_the_threshold_is_told_as_it_is():
    for epsilon, told in ((1.0, "0.731"), (20.0, "probability of 1,"), (0.01, "0.502")):
        warnings = STABILITY_HISTOGRAM.plan(context(), stable(epsilon=epsilon)).warnings
        assert told in warnings[0]
        assert "one half" not in warnings[0]


def test_rows_of_noise_are_part_of_the_estimate():
    """With a small ε a thousandth of the records that are alone becomes thousands of rows each."""
    asked = stable(epsilon=0.0005, delta=0.001)
    plan = STABILITY_HISTOGRAM.plan(context(), asked)
    threshold = int(plan.constants["threshold"])
    n = 20_000
    (column,) = STABILITY_HISTOGRAM.draw(numbered(np.ones(n, dtype=int)), asked, stream("alone")).columns
    assert plan.rows_per_record == pytest.approx(1 + 0.001 * (threshold + 2000), rel=1e-3)
    # About 20 of them are published: between 2 and 60, but for a probability below 1e-6; and seeded.
    assert 2 * threshold < len(column) < 3 * n * (plan.rows_per_record - 1)
    assert LAPLACE_HISTOGRAM.plan(context(), LaplaceHistogram(epsilon=0.1)).rows_per_record == 1


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.01, 0.01), (0.5, 1e-3), (3.0, 0.01), (20.0, 1e-9)]
)
def test_no_combination_is_expected_to_have_more_rows_than_estimated(epsilon, delta):
    """Of every size up to twice the threshold, from the law of the noise."""
    asked = stable(epsilon=epsilon, delta=delta, least_records=1)
    reach, tau = math.ceil(60 / epsilon), asked.threshold
    noise = np.arange(-reach, reach + 1)
    chance = np.exp(-epsilon * np.abs(noise)) * math.tanh(epsilon / 2)
    for size in range(1, 2 * tau, max(1, tau // 200)):
        noisy = size + noise
        expected = float((noisy * chance)[noisy >= tau].sum())
        assert expected <= size * (1 + asked.rows_of_noise) * (1 + 1e-9)


def test_a_value_is_told_to_be_protected_by_two_steps():
    """A record with another value is one record less and one more: 2ε and (1 + e^ε)·δ."""
    warnings = STABILITY_HISTOGRAM.plan(context(), stable(delta=1e-6, least_records=1000)).warnings
    assert any("at most 7.39 to 1, apart from a slack of 3.72e-06" in own for own in warnings)
    warnings = LAPLACE_HISTOGRAM.plan(context(), LaplaceHistogram(epsilon=0.5)).warnings
    assert any("at most 2.72 to 1." in own for own in warnings)


def test_a_second_file_of_the_same_records_is_told_not_to_be_recognised():
    (guarantee,) = STABILITY_HISTOGRAM.plan(context(), stable()).guarantees
    (own,) = (own for own in guarantee.hypotheses if own.id == "drawn_once")
    assert "is recognised in another file" in own.reason


def test_records_are_counted_as_their_best_against_a_public_dictionary():
    """A record that no entity is like counts as one itself; noise is of the combinations that they become.

    With Φ = 1 + values shown and u = levels kept, ⊥ is worth 4λ, (Chi, Eng) 2λ/3 + 3, all else that is
    counted here λ/3 + 3 as it is, and all other generalisations less than one of these.
    """
    found = {}
    for trade_off in (0.5, 0.85, 1.0):
        asked = stable(**WEIGHED | {"trade_off": trade_off})
        drawn = STABILITY_HISTOGRAM.draw(context(), asked, stream("own"))
        found[trade_off] = set(shown(drawn))
        assert drawn.published.threshold == asked.threshold == stable().threshold
    root = TOWNS.labels[0], JOBS.labels[0]
    as_they_are = {("Laf", "Eng"), ("Day", "Nur"), ("Chi", "Eng")}
    assert found == {0.5: as_they_are, 0.85: {root, ("Chi", "Eng")}, 1.0: {root}}


def test_plans_with_a_dictionary_look_at_no_record_and_say_what_it_rests_on():
    other = table({("Chi", "Nur"): 3})
    asked = stable(**WEIGHED)
    plans = [STABILITY_HISTOGRAM.plan(context(own), asked) for own in (WHOLE, other)]
    assert repr(plans[0]) == repr(plans[1])
    assert plans[0].constants["generalisations"] == 6
    (guarantee,) = plans[0].guarantees
    (plain,) = STABILITY_HISTOGRAM.plan(context(), stable()).guarantees
    assert (guarantee.parameters, guarantee.sentence) == (plain.parameters, plain.sentence)
    told = {own.id: own.holds for own in guarantee.hypotheses}
    assert told == {own.id: own.holds for own in plain.hypotheses} | {"dictionary_is_public": "assumed"}
    assert any("if it is the table itself" in own for own in plans[0].warnings)
    many = stable(**WEIGHED | {"dictionary": {"town": ("Laf",) * 10_000}})
    costs = [
        (plan.seconds, plan.seconds_per_record, plan.bytes)
        for plan in (STABILITY_HISTOGRAM.plan(context(), own) for own in (stable(), asked, many))
    ]
    assert all(less < more for one in zip(*costs, strict=True) for less, more in itertools.pairwise(one))


@pytest.mark.parametrize(
    ("more", "rule", "pointer", "code"),
    [
        ({"dictionary": {"age": ("1",)}}, None, "/mechanism/dictionary/age", "unknown-attribute"),
        ({}, TableRule((2, 0)), "/mechanism/dictionary/town", "attribute-not-public"),
        ({"phi_offset": 0.0}, None, "/mechanism/phi_offset", "phi-not-bounded-away-from-zero"),
        ({"sensitivity": {"age": (0.0, 1.0)}}, None, "/mechanism/sensitivity/age", "unknown-attribute"),
        ({"trade_off": 1e12}, None, "/mechanism/trade_off", "scores-too-large"),
    ],
)
def test_what_a_dictionary_cannot_do(more, rule, pointer, code):
    asked = stable(**WEIGHED | more, rule_is_public=True)
    faults = STABILITY_HISTOGRAM.plan(context(rule=rule), asked).missing
    assert [(own.pointer, own.code) for own in faults] == [(pointer, code)]
    with pytest.raises(InvalidInput):
        STABILITY_HISTOGRAM.draw(context(rule=rule), asked, stream("a"))


def test_what_is_worth_how_much_must_not_follow_from_records():
    asked = stable(**WEIGHED)
    of_data = context(public=frozenset({"town"}))
    assert "'job'" in STABILITY_HISTOGRAM.supports(of_data, asked)
    with pytest.raises(NotSupported):
        STABILITY_HISTOGRAM.draw(of_data, asked, stream("a"))
    assert STABILITY_HISTOGRAM.supports(of_data, stable()) is None
    with pytest.raises(InvalidInput) as refused:
        STABILITY_HISTOGRAM.plan(context(), stable(**WEIGHED | {"dictionary": {"job": ("Cook",)}}))
    assert refused.value.faults[0].code == "unknown-value"

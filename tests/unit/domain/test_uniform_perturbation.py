"""Uniform perturbation as services use it: what is refused, planned, promised, drawn and published."""

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.several_draws import posterior as posterior_of
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.models.reconstruction_privacy import RECONSTRUCTION_PRIVACY
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import measured

FOURTEEN = tuple(f"v{i:02}" for i in range(14))
CAPPED = {"p": 0.5, "p_cap": 0.5}


def table(*classes):
    return of_classes([tuple(own) + (0,) * (14 - len(own)) for own in classes], FOURTEEN)


WHOLE = table((60, 20, 10, 10), (2, 1))


def plan(of=WHOLE, rule=None, **parameters):
    return UNIFORM_PERTURBATION.plan(MechanismContext(of, rule), UniformPerturbation(**CAPPED | parameters))


def draw(of=WHOLE, rule=None, bits=None, **parameters):
    context = MechanismContext(of, rule)
    asked = UniformPerturbation(**CAPPED | parameters)
    return UNIFORM_PERTURBATION.draw(context, asked, bits or stream("drawn"))


def supports(of, rule=None, **parameters):
    asked = UniformPerturbation(**CAPPED | parameters)
    return UNIFORM_PERTURBATION.supports(MechanismContext(of, rule), asked)


@pytest.mark.spec("RP-T1")
def test_plans_tell_the_cap_of_two_beliefs_and_the_belief_that_p_reaches():
    beliefs = {"p": 0.5, "rho_1": 0.1, "rho_2": 0.7}
    samples = SAMPLE_PERTURB_SCALE.plan(MechanismContext(WHOLE), SamplePerturbScale(**beliefs))
    for constants in (plan(p_cap=None, **beliefs).constants, samples.constants):
        assert (constants["gamma"], constants["rho_2_reached"]) == pytest.approx((15, 0.625))
        # γ = (0.7 / 0.1)·(0.9 / 0.3) = 21, and (γ − 1) / (m − 1 + γ) of 14 values.
        assert constants["p_cap"] == pytest.approx(20 / 34)
    assert "rho_2_reached" not in plan().constants


@pytest.mark.spec("RP-T15")
@pytest.mark.parametrize(("p", "is_warned"), [(0.02496, True), (0.02497, False), (1e-9, True)])
def test_a_p_so_small_that_nothing_can_be_counted_is_warned_about(p, is_warned):
    """√(c·(1 − c) / n) / p is 1 at p = 0.024961, of 104 records and 14 values."""
    own = table((60, 20, 10, 10), (2, 1, 1))
    samples = SAMPLE_PERTURB_SCALE.plan(MechanismContext(own), SamplePerturbScale(p=p, p_cap=0.5))
    measure = measured(RECONSTRUCTION_PRIVACY, own, p=p)
    for warnings in (plan(own, p=p).warnings, samples.warnings, measure.warnings):
        assert any("even over all records" in one for one in warnings) is is_warned


@pytest.mark.parametrize(
    ("parameters", "pointer", "code"),
    [
        ({"p": 0.5}, "/p_cap", "cap-missing"),
        ({"p": 0.5, "rho_1": 0.1}, "/p_cap", "cap-missing"),
        ({"p": 0.5, "p_cap": 0.5, "rho_1": 0.1, "rho_2": 0.5}, "/p_cap", "cap-missing"),
        ({"p": 0.5, "p_cap": 0.5, "rho_2": 0.5}, "/p_cap", "cap-missing"),
        ({"p": 0.5, "rho_1": 0.5, "rho_2": 0.5}, "/rho_1", "out-of-range"),
        ({"p": 0.0, "p_cap": 0.5}, "/p", "out-of-range"),
        ({"p": 1.0, "p_cap": 0.5}, "/p", "out-of-range"),
        ({"p": 1e-10, "p_cap": 0.5}, "/p", "out-of-range"),
        ({"p": 0.5, "p_cap": 0.5, "epsilon": 1e-10}, "/epsilon", "out-of-range"),
        ({"p": 0.5, "p_cap": 1.0}, "/p_cap", "out-of-range"),
        ({"p": 0.5, "p_cap": 0.5, "epsilon": 0.0}, "/epsilon", "out-of-range"),
        ({"p": 0.5, "p_cap": 0.5, "delta": 1.0}, "/delta", "out-of-range"),
        ({"p": 0.5, "p_cap": 0.5, "delta": 0.0}, "/delta", "out-of-range"),
    ],
)
def test_what_is_refused_without_a_table(parameters, pointer, code):
    with pytest.raises(InvalidInput) as refused:
        UniformPerturbation(**parameters)
    assert (refused.value.faults[0].pointer, refused.value.faults[0].code) == (pointer, code)


@pytest.mark.spec("RP-T1")
def test_p_above_its_cap_is_refused_with_both_numbers():
    """γ = (0.3 / 0.05)·(0.95 / 0.7) = 114 / 14."""
    found = plan(p_cap=None, rho_1=0.05, rho_2=0.3)
    [fault] = found.missing
    cap = (114 / 14 - 1) / (14 - 1 + 114 / 14)
    assert found.constants["p_cap"] == pytest.approx(cap)
    assert (fault.pointer, fault.code) == ("/mechanism/p", "p-above-cap")
    assert "p is 0.5" in fault.message
    assert f"{cap:.9g}" in fault.message
    assert found.guarantees == ()
    assert plan(p=0.3, p_cap=None, rho_1=0.05, rho_2=0.3).is_feasible
    with pytest.raises(InvalidInput):
        draw(p=0.6)


def test_the_plan_says_who_fails_by_every_criterion():
    constants = plan().constants
    assert (constants["values"], constants["groups"], constants["gamma"]) == (14, 2, 15)
    assert constants["groups_failing_chernoff_simple"] == 1
    assert constants["records_failing_chernoff_simple"] == 100
    assert constants["delta_chernoff_simple"] == pytest.approx(0.299278, abs=1e-6)
    assert constants["delta_exact_min"] == pytest.approx(0.011925, abs=1e-6)
    assert constants["delta_exact_total"] == pytest.approx(0.011925 + 0.013233, abs=2e-6)
    assert constants["greatest_p_chernoff_simple"] == pytest.approx(0.499176, abs=1e-6)
    assert all(own.isascii() and own for own in constants)


def test_what_one_record_tells_is_promised_of_every_prior():
    record, _ = plan(table((3, 2)), p=0.5, p_cap=None, rho_1=0.1, rho_2=0.7).guarantees
    assert (record.model, record.standing) == ("amplification", "certified")
    assert record.parameters["gamma"] == pytest.approx(15)
    assert record.parameters["local_epsilon"] == pytest.approx(math.log(15))
    assert "becomes at most 0.625 likely" in record.sentence


def test_a_group_that_fails_leaves_nothing_of_what_is_promised_of_groups():
    _, groups = plan().guarantees
    assert (groups.model, groups.status, groups.standing) == ("reconstruction_privacy", "certified", "none")
    holds = {own.id: own for own in groups.hypotheses}
    assert holds["groups_within_bound"].holds == "no"
    assert "1 of 2 groups fail by exact_total" in holds["groups_within_bound"].reason
    assert {"p_within_cap", "one_record_per_person", "not_shown_otherwise", "drawn_once"} <= set(holds)


def test_only_exact_criteria_are_worded_as_probabilities_and_certified():
    _, exact = plan(table((1, 1))).guarantees
    assert (exact.status, exact.standing) == ("certified", "certified")
    assert "with a probability of at least 0.3" in exact.sentence
    for bound in ("chernoff_simple", "chernoff_full"):
        _, found = plan(table((2, 1)), criterion=bound).guarantees
        assert (found.status, found.standing) == ("as_published", "as_published")
        assert "says nothing of the probability itself" in found.sentence
        assert "claims that such an estimate has a large error" in found.claimed_by_source


def test_the_estimate_of_time_knows_the_sizes_of_groups():
    assert plan(table((3000, 2000, 1000))).seconds < plan(table(*[(30 + i, 20) for i in range(120)])).seconds


def test_every_leaf_may_be_drawn_and_p_of_the_values_stay():
    large = table((4000,), (4000,))
    drawn = draw(large)
    assert drawn.published.values == FOURTEEN
    assert (drawn.published.attribute, drawn.published.p) == ("condition", 0.5)
    assert drawn.columns[0].tolist() == large.codes[:, 0].tolist()
    shown = np.bincount(drawn.columns[1], minlength=15)[1:]
    expected = 8000 * np.array([0.5 + 0.5 / 14, *[0.5 / 14] * 13])
    spread = np.sqrt(expected * (1 - expected / 8000))
    # A false alarm of another seed has a chance of less than 1e-6.
    assert (np.abs(shown - expected) < 5.5 * spread).all()
    assert draw(large).columns[1].tolist() == drawn.columns[1].tolist()
    assert draw(large, bits=stream("other")).columns[1].tolist() != drawn.columns[1].tolist()


@pytest.mark.spec("RP-T1")
def test_the_matrix_is_that_of_the_source():
    """Example 1: p = 4/9 of 10 values keeps a value with ½ and draws each other with 1/18."""
    ten = of_classes([(3, 2) + (0,) * 8], FOURTEEN[:10])
    published = draw(ten, p=4 / 9).published
    dense = published.matrix.dense()
    assert dense[0] == pytest.approx([0.5, *[1 / 18] * 9])
    inverse = np.linalg.inv(dense)
    assert (inverse[0, 0], inverse[0, 1]) == pytest.approx((2.125, -0.125))
    posterior = published.matrix.greatest_posteriors(np.full(10, 0.1))
    assert posterior == pytest.approx([0.5] * 10)
    believed = posterior_of([published.matrix], np.full(10, 0.1), [0])
    assert believed == pytest.approx([0.5, *[0.055556] * 9], abs=1e-6)
    assert published.numbers(ten.hierarchies[1]).tolist() == [-1, *range(10)]


def test_what_is_refused_of_a_table():
    rows = {"v": [None], "w": [None]}
    town = Hierarchy.from_parents({"c": [None]})
    codes = np.array([[1, 1], [1, 0]], dtype=np.int32)
    lacking = Table(("town", "s"), (town, Hierarchy.from_parents(rows)), codes, sensitive=frozenset({"s"}))
    for work in (supports, draw):
        with pytest.raises(InvalidInput, match=r"1 record has no value of 's' .*: rows 2\.") as refused:
            work(lacking)
        assert refused.value.faults[0].pointer == "/mechanism/attribute"
    nested = Hierarchy.from_parents({"v": ["all"], "w": ["all"], "all": [None], "x": [None]})
    inner = np.array([[1, nested.node_of("all")]], dtype=np.int32)
    generalised = Table(("town", "s"), (town, nested), inner, sensitive=frozenset({"s"}))
    assert "generalised value of 's'" in supports(generalised)
    assert "single value" in supports(of_classes([(3,)], ("v",)))
    assert supports(WHOLE, TableRule((1, 0))) is None
    assert "leaves this attribute as it is" in supports(WHOLE, TableRule((0, 1)))


def test_a_rule_makes_larger_groups():
    assert plan(rule=TableRule((1, 0))).constants["groups"] == 1
    assert set(draw(rule=TableRule((1, 0))).columns[0].tolist()) == {0}


def test_without_quasi_identifiers_all_records_are_one_group_and_that_is_said():
    column = WHOLE.codes[:, 1:]
    alone = Table(("condition",), WHOLE.hierarchies[1:], column, sensitive=frozenset({"condition"}))
    found = plan(alone)
    assert found.constants["groups"] == 1
    assert any("no quasi-identifier" in own for own in found.warnings)
    assert any("10 values of 'condition' that no record has" in own for own in found.warnings)


def test_it_is_in_the_catalogue():
    assert UNIFORM_PERTURBATION in MECHANISMS
    assert UNIFORM_PERTURBATION.keeps_records

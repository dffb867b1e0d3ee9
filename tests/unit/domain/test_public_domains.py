"""Which values can be published comes from declarations, and what is sensitive is what is drawn."""

import numpy as np
import pytest

from app.domain.classes.reconstruction import UniformReplacement
from app.domain.hierarchies.numbers import alike_in_number
from app.domain.mechanisms.mechanism import MechanismContext, Origin
from app.domain.mechanisms.perturbation import PERTURBATION, Perturbation
from app.domain.mechanisms.public_domains import domain_is_public, why_not_drawn
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream
from tests.unit.measures.diversity_tables import flat, table

ILL = ("flu", "gout", "hiv")
TOWNS = table(
    ("town", "illness"), (flat("AB"), flat(ILL)), [("A", "flu")] * 6 + [("B", "gout")] * 4, {"illness"}
)
DECLARED = frozenset({"illness"})


def context(of=TOWNS, **more):
    return MechanismContext(of, **{"public": DECLARED, **more})


def domain_of(mechanism, parameters, own):
    """What each guarantee of a plan says of the domain."""
    plan = mechanism.plan(own, parameters)
    return {one.holds for held in plan.guarantees for one in held.hypotheses if one.id == "domain_is_public"}


def test_values_that_nobody_declared_are_not_drawn():
    reason = why_not_drawn(MechanismContext(TOWNS), "illness")
    assert "Which values 'illness' can have is not declared" in reason
    assert "would tell which of them the records have" in reason
    assert why_not_drawn(context(), "illness") is None


@pytest.mark.parametrize(
    ("origin", "holds"),
    [
        (None, "yes"),
        (Origin("illnesses", is_of_data=False), "yes"),
        (Origin("illnesses", is_of_data=True), "no"),
        (Origin("illnesses", is_of_data=True, is_recorded=False), "assumed"),
    ],
)
def test_a_hierarchy_that_was_made_of_data_is_named_in_every_plan(origin, holds):
    own = context(origins={} if origin is None else {"illness": origin})
    found = domain_is_public(own, "illness")
    assert found.holds == holds
    assert ("'illnesses'" in found.reason) is (holds != "yes")
    capped = {"p": 0.3, "p_cap": 0.4}
    assert domain_of(UNIFORM_PERTURBATION, UniformPerturbation(**capped), own) == {holds}
    assert domain_of(SAMPLE_PERTURB_SCALE, SamplePerturbScale(**capped), own) == {holds}
    known = Perturbation(beta=1.0, reference={"flu": 6, "gout": 3, "hiv": 1})
    assert domain_of(PERTURBATION, known, own) == {holds}
    # Without a reference it is published which values occur, whatever is declared.
    weaker = "assumed" if holds == "yes" else holds
    assert domain_of(PERTURBATION, Perturbation(beta=1.0), own) == {weaker}


def test_a_release_of_a_declared_domain_is_the_same_whether_a_rare_value_occurs_or_not():
    """Nine records with a tenth that has a rare value or not are not told apart by what is published."""
    published = []
    for last in ("hiv", "flu"):
        rows = [("A", own) for own in ("flu", "gout") * 4 + ("flu", last)]
        own = context(table(("town", "illness"), (flat("A"), flat(ILL)), rows, {"illness"}))
        for mechanism, asked in (
            (UNIFORM_PERTURBATION, UniformPerturbation(p=0.3, p_cap=0.4)),
            (SAMPLE_PERTURB_SCALE, SamplePerturbScale(p=0.3, p_cap=0.4)),
            (PERTURBATION, Perturbation(beta=1.0, reference={"flu": 5, "gout": 4, "hiv": 1})),
        ):
            published.append(repr(mechanism.draw(own, asked, stream("same")).published))
    assert published[:3] == published[3:]


def test_beside_a_sensitive_attribute_that_leaves_as_it_is_nothing_else_is_drawn():
    public = frozenset({"town", "illness"})
    reason = why_not_drawn(context(public=public), "town")
    assert "'illness' would be released as it is" in reason
    # Suppressed in all records it does not leave; of several that are sensitive one may be drawn.
    assert why_not_drawn(context(public=public, rule=TableRule((0, 1))), "town") is None
    both = table(("town", "illness"), TOWNS.hierarchies, [("A", "flu"), ("B", "gout")], {"town", "illness"})
    assert why_not_drawn(MechanismContext(both, public=public), "town") is None
    none = table(("town", "illness"), TOWNS.hierarchies, [("A", "flu"), ("B", "gout")], set())
    assert why_not_drawn(MechanismContext(none, public=public), "town") is None


@pytest.mark.parametrize("values", [100_001, pytest.param(1_000_000, marks=pytest.mark.deep)])
def test_domains_of_one_value_and_of_too_many_are_refused(values):
    one = table(("town", "illness"), (flat("A"), flat(("flu",))), [("A", "flu")] * 3, {"illness"})
    asked = UniformPerturbation(p=0.3, p_cap=0.4)
    assert "single value" in UNIFORM_PERTURBATION.supports(context(one), asked)
    many = flat([f"v{number}" for number in range(values)])
    codes = np.array([[1, 7]] * 3, dtype=np.int32)
    large = Table(("town", "illness"), (flat("A"), many), codes, sensitive=DECLARED)
    for mechanism, parameters in (
        (UNIFORM_PERTURBATION, asked),
        (SAMPLE_PERTURB_SCALE, SamplePerturbScale(p=0.3, p_cap=0.4)),
    ):
        assert f"{values:,} values" in mechanism.supports(context(large), parameters)


AGES = ("1", "1.0", "01", "2", "x")


def aged(ages):
    rows = [(age, own) for age, own in zip(ages, ["flu", "gout"] * len(ages), strict=False)]
    return table(("age", "illness"), (flat(AGES), flat(ILL)), rows, {"illness"})


def test_numbers_are_grouped_by_value_and_not_as_they_are_written():
    hierarchy = flat(AGES)
    nodes = np.array([hierarchy.node_of(own) for own in AGES], dtype=np.int32)
    found = alike_in_number(hierarchy, nodes)
    assert len(set(found[:3].tolist())) == 1
    assert len(set(found.tolist())) == 3


def test_groups_that_are_one_by_value_are_tested_and_sampled_as_one():
    """Each spelling is within its bound, and both together are not."""
    own = aged(["1"] * 30 + ["1.0"] * 30)
    asked = UniformPerturbation(p=0.3, p_cap=0.4, epsilon=0.5, delta=0.3, criterion="exact_total")
    apart, one = (
        UNIFORM_PERTURBATION.plan(context(own, numeric=numeric), asked)
        for numeric in (frozenset(), frozenset({"age"}))
    )
    assert [plan.constants["groups"] for plan in (apart, one)] == [2, 1]
    assert [plan.constants["groups_failing_exact_total"] for plan in (apart, one)] == [0, 1]
    assert [plan.guarantees[1].standing for plan in (apart, one)] == ["certified", "none"]
    sampled = SamplePerturbScale(p=0.5, p_cap=0.5, epsilon=0.5)
    numeric = context(own, numeric=frozenset({"age"}))
    drawn = SAMPLE_PERTURB_SCALE.draw(numeric, sampled, stream("one"))
    assert len(set(drawn.columns[0].tolist())) == 1
    assert len(drawn.columns[0]) == 60


def test_a_plan_does_not_say_that_estimates_are_bad_where_groups_fail():
    own = table(("town", "illness"), (flat("A"), flat(ILL)), [("A", "flu")] * 400, {"illness"})
    for criterion in ("exact_total", "exact_min", "chernoff_simple", "chernoff_full"):
        asked = UniformPerturbation(p=0.4, p_cap=0.4, criterion=criterion)
        promised = UNIFORM_PERTURBATION.plan(context(own), asked).guarantees[1]
        assert {one.id: one.holds for one in promised.hypotheses}["groups_within_bound"] == "no"
        assert f"By {criterion}, 1 of 1 groups fail" in promised.sentence
        assert "nothing is promised" in promised.sentence
        assert "off by more" not in promised.sentence


def test_a_bound_has_one_status_in_every_mechanism_and_mode():
    statuses = set()
    for bound in ("chernoff_simple", "chernoff_full"):
        uniform = UniformPerturbation(p=0.3, p_cap=0.4, criterion=bound)
        plans = [UNIFORM_PERTURBATION.plan(context(), uniform)]
        for mode in ("balanced_fixed", "balanced", "paper"):
            leak = {"accept_known_leak": True} if mode == "paper" else {}
            asked = SamplePerturbScale(p=0.3, p_cap=0.4, bound=bound, mode=mode, **leak)
            plans.append(SAMPLE_PERTURB_SCALE.plan(context(), asked))
        statuses |= {
            own.status for plan in plans for own in plan.guarantees if own.model == "reconstruction_bound"
        }
    assert statuses == {"as_published"}


@pytest.mark.parametrize(("p", "is_warned"), [(0.84, False), (0.86, True), (0.999, True)])
def test_a_p_near_1_is_warned_of_in_every_plan(p, is_warned):
    """Of three values p + (1 − p) / 3 is 0.9 at p = 0.85."""
    assert (UniformReplacement(p, 3).nearly_all_kept() is not None) is is_warned
    plans = [UNIFORM_PERTURBATION.plan(context(), UniformPerturbation(p=p, p_cap=0.9999))]
    for mode in ("balanced_fixed", "balanced", "paper"):
        leak = {"accept_known_leak": True} if mode == "paper" else {}
        asked = SamplePerturbScale(p=p, p_cap=0.9999, mode=mode, **leak)
        plans.append(SAMPLE_PERTURB_SCALE.plan(context(), asked))
    for plan in plans:
        assert any("next to nothing is hidden" in own for own in plan.warnings) is is_warned

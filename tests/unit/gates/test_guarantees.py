"""What is found of a release's guarantees: the best of several, judged by what is left of it."""

from __future__ import annotations

from dataclasses import fields

import pytest

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.errors import NotSupported
from app.domain.gates.findings import Finding
from app.domain.gates.guarantees import finding_of_guarantees
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.common_hypotheses import ONE_RECORD_PER_PERSON, one_record_per_person
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import MODEL_OF
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.several_draws import guarantee_together
from app.services.gates.policy_documents import policy_of
from tests.oracles.perturbation_by_hand import stream, table_of
from tests.unit.policies.example_policies import criterion, document, promised


def guarantee(beta: float = 2.0, bound: str = "enhanced", *holds: str, **more) -> PrivacyGuarantee:
    hypotheses = tuple(Hypothesis(f"h{at}", own, f"Because of {at}.") for at, own in enumerate(holds))
    stated = {"beta": beta, "bound": bound, "attribute": more.pop("attribute", "ill")}
    return PrivacyGuarantee("beta_likeness", stated, "It is so.", more.pop("status", "certified"), hypotheses)


def found(demand, *guarantees: PrivacyGuarantee, sensitive: tuple[str, ...] = ("ill",)) -> Finding:
    condition = policy_of(document(criterion(demand))).requirements[0].condition
    return finding_of_guarantees(condition, guarantees, sensitive)


@pytest.mark.parametrize(
    ("demand", "own", "said"),
    [
        (promised({"at_most": 2}), guarantee(2.0), "Every hypothesis was checked and holds."),
        (promised({"at_most": 2}), guarantee(2 + 5e-10), "β = 2, enhanced"),
        (promised({"at_most": 2}), guarantee(1.0, "basic", "assumed"), "the policy allows: h0"),
        (promised(status="heuristic"), guarantee(status="as_published"), "as published"),
    ],
)
def test_a_guarantee_that_is_all_that_is_asked_for_passes(demand, own, said):
    finding = found(demand, own)
    assert finding.passes
    assert finding.promised == own
    assert said in finding.explanation


@pytest.mark.parametrize(
    ("demand", "own", "said"),
    [
        (promised({"at_most": 2}), guarantee(2.1), "β is 2.1; it must be at most 2"),
        (promised(bound="enhanced"), guarantee(1.0, "basic"), "bound is basic; it must be at least enhanced"),
        (promised(), guarantee(1.0, "basic", "yes", "no"), "because h1 does not hold: Because of 1"),
        (promised(), guarantee(status="as_published"), "it is as published; it must be at least certified"),
        (promised(status="heuristic"), guarantee(status="none"), "it is none"),
        (promised(may=False), guarantee(1.0, "basic", "assumed"), "policy does not allow: h0"),
    ],
)
def test_a_guarantee_that_falls_short_fails_and_says_why(demand, own, said):
    finding = found(demand, own)
    assert not finding.passes
    assert finding.promised == own
    assert said in finding.explanation


def private(epsilon: float, delta: float) -> PrivacyGuarantee:
    hypotheses = (Hypothesis("h", "yes", "It is so."),)
    stated = {"epsilon": epsilon, "delta": delta}
    return PrivacyGuarantee("differential_privacy", stated, "It is so.", "certified", hypotheses)


@pytest.mark.parametrize(
    ("delta", "comparison", "threshold", "passes"),
    [
        (1e-10, "at_most", 1e-12, False),
        (9e-10, "at_most", 1e-10, False),
        (1e-10, "at_most", 0, False),
        (0.0, "at_most", 0, True),
        (1e-10, "at_most", 1e-10, True),
        (1e-12, "at_most", 1e-10, True),
        (1e-10, "below", 1e-10, False),
        (1e-12, "below", 1e-10, True),
        (1e-12, "at_least", 1e-10, False),
        (1e-12, "equals", 1e-10, False),
    ],
)
def test_numbers_that_are_tiny_are_compared_as_what_they_are(delta, comparison, threshold, passes):
    """A tolerance of 1e-9 would let any such δ pass for any other."""
    bound = {"kind": "differential_privacy", "epsilon": {"at_most": 1}, "delta": {comparison: threshold}}
    demand = {"kind": "guarantee", "model": bound, "status": "certified", "may_rest_on_assumptions": True}
    assert found(demand, private(1.0, delta)).passes is passes


def test_of_several_guarantees_the_best_that_satisfies_all_stands():
    lax, strict, refuted = guarantee(2.0), guarantee(1.0, "basic"), guarantee(0.5, "enhanced", "no")
    assert found(promised({"at_most": 2}), lax, refuted, strict).promised == strict
    assert found(promised({"at_most": 2}, bound="enhanced"), refuted, strict, lax).promised == lax
    none = found(promised({"at_most": 0.7}, bound="enhanced"), lax, strict, refuted)
    assert not none.passes


def test_of_guarantees_that_pass_the_one_that_promises_more_is_told():
    """Of δ that is the greater one, of β the less."""

    def of_groups(delta: float) -> PrivacyGuarantee:
        stated = {"p": 0.3, "epsilon": 0.3, "delta": delta, "criterion": "exact_total", "attribute": "ill"}
        return PrivacyGuarantee("reconstruction_privacy", stated, "It is so.", "certified", ())

    demand = promised() | {"model": {"kind": "reconstruction_privacy", "delta": {"at_least": 0.05}}}
    assert found(demand, of_groups(0.1), of_groups(0.4)).promised == of_groups(0.4)
    assert found(promised(), guarantee(2.0), guarantee(1.0)).promised == guarantee(1.0)


def test_a_release_without_such_a_guarantee_says_what_it_promises():
    finding = found(promised(attribute="job"), guarantee(), sensitive=("ill", "job"))
    assert not finding.passes
    assert finding.explanation == (
        "The release promises no β-likeness of 'job'. It promises: beta likeness of 'ill'."
    )
    assert "It promises: nothing." in found(promised()).explanation


def test_which_of_several_attributes_is_meant_has_to_be_said():
    with pytest.raises(NotSupported, match="sensitive are: 'ill', 'job'"):
        found(promised(), guarantee(), sensitive=("job", "ill"))


def test_what_mechanisms_promise_is_what_policies_can_ask_for():
    """A mechanism whose model has no entry could be drawn by, and no gate could ask for it."""
    table = table_of([600, 300, 200])
    sampled = {"epsilon": 3.0, "delta": 1e-4, "sampling_rate": 0.5, "least_records": 1000, "trade_off": 0.001}
    given = [
        ("perturbation", {"beta": 2.0}),
        ("uniform_perturbation", {"p": 0.3, "p_cap": 0.4}),
        ("uniform_perturbation", {"p": 0.3, "p_cap": 0.4, "criterion": "chernoff_full"}),
        ("sample_perturb_scale", {"p": 0.3, "p_cap": 0.4}),
        ("stability_histogram", {"epsilon": 1.0, "delta": 1e-3, "least_records": 11}),
        ("laplace_histogram", {"epsilon": 1.0}),
        ("sampled_generalisation", sampled),
        ("sampled_generalisation_published", sampled | {"least_share": 0.5}),
        (
            "dirichlet_multinomial",
            {"partition": ("age",), "epsilon": 2.0, "delta": 1e-6, "certificate": "exact_tail"},
        ),
    ]
    context = MechanismContext(table, public=frozenset(table.attributes))
    by_name = {mechanism.name: mechanism for mechanism in MECHANISMS}
    assert {name for name, _ in given} == by_name.keys()
    for name, parameters in given:
        mechanism = by_name[name]
        asked = mechanism.parameters(**parameters)
        plan = mechanism.plan(context, asked)
        for own in plan.guarantees:
            assert any(rests.id == ONE_RECORD_PER_PERSON for rests in own.hypotheses)
        persons = one_record_per_person(table)
        draws = [mechanism.draw(context, asked, stream(seed)).published for seed in "ab"]
        together = guarantee_together("ill", draws, persons)
        promised_by_all = () if together.status == "none" else (together,)
        for own in (*plan.guarantees, *promised_by_all):
            model = MODEL_OF[own.model]
            assert {field.name for field in fields(model.parameters)} <= own.parameters.keys()
            assert all(own.parameters[name] in order for name, order in model.choices.items())
            holds = {hypothesis.id: hypothesis.holds for hypothesis in own.hypotheses}
            assert {holds[id_] for id_ in model.always_assumed} <= {"assumed"}

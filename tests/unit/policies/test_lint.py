"""What lint says: each mistake on its own, and nothing of what is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.domain.catalogue.result_values import value_at
from app.domain.gates.group_scores import GROUPED
from app.domain.policies.lint import lint
from app.domain.policies.score_condition import SCORE_VALUES
from app.services.datasets.structured_text import read_yaml
from app.services.gates.policies import templates
from app.services.gates.policy_documents import policy_of
from tests.unit.policies.example_policies import criterion, document, measured, model, promised, scored

REGISTER = "register"
BOUND = {"kind": "bound", "dictionary": REGISTER}
OPTIMUM = {
    "kind": "optimum",
    "objective": {"kind": "max_utility", "risk_cap": 1},
    "dictionary": REGISTER,
}


def least_loss(**loss) -> dict:
    """A demand for the least loss under 2-anonymity."""
    objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "loss": loss}
    return {"kind": "optimum", "objective": objective}


def found(*criteria, **more) -> tuple[dict[str, str], dict[str, str]]:
    """Errors and warnings of a policy: place → code."""
    said = lint(policy_of(document(*criteria, **more)))
    return tuple({own.pointer: own.code for own in faults} for faults in (said.errors, said.warnings))


ERRORS = [
    (measured("kmap", "k", "at_least", 5), "/measure/kind", "unknown-measure"),
    (measured("k_map", "is_k_map", "equals", True, REGISTER, k=0), "/measure/k", "out-of-range"),
    (measured("k_map", "is_k_map", "equals", True, REGISTER, kay=5), "/measure/kay", "unknown-field"),
    (measured("k_map", "is_k_map", "equals", True, REGISTER, k="5"), "/measure/k", "wrong-type"),
    (measured("k_map", "is_k_map", "equals", True), "/dictionary", "no-dictionary"),
    (measured("k_map", "is_k_map", "equals", True, "regster"), "/dictionary", "unknown-slot"),
    (measured("k_map", "is_k_map", "at_least", 5, REGISTER), "/threshold", "wrong-kind"),
    (measured("k_map", "is_k_map", "at_least", True, REGISTER), "/comparison", "wrong-kind"),
    (measured("k_map", "records_failing", "at_most", False, REGISTER), "/threshold", "wrong-kind"),
    (measured("k_map", "records_failing", "at_most", "inf", REGISTER), "/threshold", "out-of-range"),
    (measured("k_map", "k", "at_least", 5, REGISTER), "/value", "repeats-the-question"),
    (measured("k_map", "judged", "at_least", 5, REGISTER), "/value", "unknown-value"),
    (measured("k_map", "judged.quasi_identifiers", "at_least", 5, REGISTER), "/value", "unknown-value"),
    (measured("equivalence_classes", "unique_share", "at_most", 5), "/threshold", "out-of-range"),
    (measured("equivalence_classes", "unique_share", "below", 0), "/threshold", "never-passes"),
    (measured("equivalence_classes", "k", "equals", 4.5), "/threshold", "never-passes"),
    ({**measured("equivalence_classes", "k", "at_least", 5), "version": 99}, "/version", "wrong-version"),
    (measured("rule_reuse", "now.risk", "at_most", 1, REGISTER, next_dataset="d"), "/measure/next_dataset",
     "names-a-resource"),
    (measured("record_linkage", "risk_linked", "at_most", 1, REGISTER, auxiliary="x"), "/measure/auxiliary",
     "unknown-slot"),
    (measured("attacker_models", "journalist.highest", "at_most", 0.2), "/dictionary", "no-dictionary"),
    (scored("risk_max", "at_most", -1), "/threshold", "out-of-range"),
    (scored("risk_maximum", "at_most", 1), "/value", "unknown-value"),
    (scored("risk_max", "at_most", 1, dictionary="x"), "/dictionary", "unknown-slot"),
    (model("k_anonymty", k=5), "/model/kind", "unknown-model"),
    (model("k_anonymity", k=0), "/model/k", "out-of-range"),
    (model("k_anonymity"), "/model/k", "missing"),
    (model("k_map", k=5), "/dictionary", "no-dictionary"),
    ({**model("average_risk", threshold=0.1), "failing_share": 0.1}, "/failing_share", "not-applicable"),
    ({"kind": "bound", "dictionary": "x"}, "/dictionary", "unknown-slot"),
    ({"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": -1}}, "/objective/risk_cap",
     "out-of-range"),
    ({"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": 1}}, "/dictionary",
     "no-dictionary"),
    ({"kind": "optimum", "objective": {"kind": "min_rsk"}}, "/objective/kind", "unknown-objective"),
    (least_loss(kind="precision", weights={"city": -1}), "/objective/loss/weights/city", "out-of-range"),
    (least_loss(kind="ambiguity", weights={"city": 2}), "/objective/loss/weights", "not-applicable"),
    (least_loss(kind="precision", aggregate="rank"), "/objective/loss/aggregate", "not-applicable"),
    (least_loss(kind="precision", suppression_factor=0.4), "/objective/loss/suppression_factor",
     "not-applicable"),
]  # fmt: skip


@pytest.mark.parametrize(("demand", "place", "code"), ERRORS, ids=[f"{c}{p}" for _, p, c in ERRORS])
def test_each_mistake_of_a_condition_is_an_error_at_its_place(demand, place, code):
    errors, _ = found(criterion(demand))
    assert errors == {f"/criteria/0/demand{place}": code}


def test_a_misspelt_word_is_told_apart_from_what_was_meant():
    said = lint(policy_of(document(criterion(measured("kmap", "k", "at_least", 5)))))
    assert said.errors[0].remedy.startswith("Did you mean 'k_map'?")


def test_an_unknown_value_is_answered_with_those_there_are_and_what_they_mean():
    said = lint(policy_of(document(criterion(measured("k_map", "k_popul", "at_least", 5, REGISTER)))))
    assert "Did you mean 'k_population'?" in said.errors[0].remedy
    assert "is_k_map (Whether no class fails)" in said.errors[0].remedy


SCOPES = [
    (measured("equivalence_classes", "k", "at_least", 5), {"groups": "race"}, "/groups"),
    (measured("anonymity", "k_equivalence", "at_least", 5), {"attributes": ["race"]}, "/attributes"),
    (measured("equivalence_classes", "k", "at_least", 5, quasi_identifiers=["race"]),
     {"attributes": ["race"]}, "/attributes"),
    (scored("risk_max", "at_most", 1), {"attributes": ["race"]}, "/attributes"),
    (scored("k_equivalence", "at_least", 2), {"groups": "race"}, "/groups"),
    (model("average_risk", threshold=0.1), {"groups": "race"}, "/groups"),
    (BOUND, {"groups": "race"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("demand", "scope", "place"), SCOPES)
def test_a_scope_that_a_condition_does_not_support_is_an_error(demand, scope, place):
    errors, _ = found(criterion(demand, scope=scope))
    assert errors == {f"/criteria/0/scope{place}": "unsupported-scope"}


@pytest.mark.parametrize(
    ("demand", "scope"),
    [
        (measured("equivalence_classes", "k", "at_least", 5), {"attributes": ["race"]}),
        (model("k_anonymity", k=5), {"attributes": ["race"]}),
        (model("k_anonymity", k=5), {"groups": "race"}),
        (scored("loss_quantiles.0.95", "at_most", 1), {"groups": "race"}),
    ],
)
def test_scopes_that_are_supported_are_none(demand, scope):
    assert found(criterion(demand, scope=scope), criterion(BOUND, id="b")) == ({}, {})


def test_scores_by_group_are_those_that_gates_have_of_groups():
    for value in SCORE_VALUES:
        demand = scored(value.path.replace("<key>", "0.95"), "at_least", 1)
        errors, _ = found(criterion(demand, scope={"groups": "race"}))
        supported = "unsupported-scope" not in errors.values()
        assert supported == (value.path.partition(".")[0] in GROUPED), value.path


def test_a_scope_is_held_against_the_roles_of_the_schema():
    schema = {"attributes": {"income": "sensitive", "id": "identifier"}}
    one = criterion(model("k_anonymity", k=5), scope={"attributes": ["income"]})
    other = criterion(model("k_anonymity", k=5), id="b", scope={"groups": "id"})
    errors, _ = found(one, other, schema=schema)
    assert errors == {
        "/criteria/0/scope/attributes/0": "wrong-role",
        "/criteria/1/scope/groups": "wrong-role",
    }


CONTRADICTIONS = [
    (("at_least", 5), ("below", 3)),
    (("above", 5), ("below", 6)),
    (("equals", 4), ("at_least", 5)),
    (("at_most", 4), ("at_least", 5)),
]


@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS)
def test_criteria_that_no_release_can_meet_together_are_an_error(one, other):
    criteria = [criterion(measured("equivalence_classes", "k", *own), id=str(own)) for own in (one, other)]
    errors, _ = found(*criteria)
    assert errors == {"/criteria/1/demand/threshold": "contradictory"}
    _, warnings = found(criteria[0], {**criteria[1], "severity": "warn"})
    assert warnings["/criteria/1/demand/threshold"] == "contradictory"


@pytest.mark.parametrize(("version", "contradictory"), [(1, False), (2, True)])
def test_two_versions_of_a_measure_are_not_compared(version, contradictory):
    low = {**measured("alpha_k_anonymity", "alpha", "at_most", 0.2), "version": 2}
    high = {**measured("alpha_k_anonymity", "alpha", "at_least", 0.5), "version": version}
    errors, _ = found(criterion(low, id="a"), criterion(high, id="b"))
    assert ("contradictory" in errors.values()) == contradictory


@pytest.mark.parametrize(
    ("one", "other", "implied"),
    [
        (scored("risk_max", "at_most", 1), scored("risk_max", "at_most", 2), 1),
        (scored("risk_max", "at_most", 2), scored("risk_max", "below", 2), 0),
        (scored("risk_max", "at_most", 2), scored("risk_max", "at_most", 2), 1),
        (model("k_anonymity", k=5), model("k_anonymity", k=3), 1),
        (model("k_anonymity", k=3), model("k_anonymity", k=5), 0),
        ({**model("k_anonymity", k=5), "failing_share": 0.1}, model("k_anonymity", k=5), 0),
        (
            model("beta_likeness", beta=2, beta_negative=0.9),
            model("beta_likeness", beta=1, beta_negative=0.5),
            0,
        ),
        (BOUND, {**BOUND, "may_rest_on_assumptions": True}, 1),
        ({**OPTIMUM, "gap": 0.1}, OPTIMUM, 0),
    ],
)
def test_a_criterion_that_follows_from_another_is_a_warning(one, other, implied):
    needs_slot = scored("min_consistent", "at_least", 2)
    errors, warnings = found(criterion(one, id="a"), criterion(other, id="b"), criterion(needs_slot, id="c"))
    assert (errors, warnings) == ({}, {f"/criteria/{implied}": "implied"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scored("risk_max", "at_most", 1), scored("risk_average", "at_most", 2)),
        (model("k_anonymity", k=5), model("distinct_l_diversity", l=2)),
        ({**model("k_anonymity", k=5), "failing_share": 0.1}, model("k_anonymity", k=3)),
        ({**model("k_anonymity", k=5), "missing": "matches_everything"}, model("k_anonymity", k=5)),
        ({**model("k_anonymity", k=5), "suppressed": "own_block"}, model("k_anonymity", k=5)),
        (model("beta_likeness", beta=1, beta_negative=0.5), model("beta_likeness", beta=1)),
        (model("beta_likeness", beta=1, groups=["a"]), model("beta_likeness", beta=2)),
        (measured("equivalence_classes", "records_below_k", "at_most", 9, k=2),
         measured("equivalence_classes", "records_below_k", "at_most", 4, k=3)),
    ],
)  # fmt: skip
def test_criteria_about_different_things_imply_nothing(one, other):
    criteria = (criterion(one, id="a"), criterion(other, id="b"), criterion(BOUND, id="c"))
    assert found(*criteria) == ({}, {})


def test_a_blocking_criterion_is_not_implied_by_one_that_only_warns():
    strict = criterion(model("k_anonymity", k=5), id="a", severity="warn")
    assert found(strict, criterion(model("k_anonymity", k=3), id="b"), criterion(BOUND, id="c")) == ({}, {})


@pytest.mark.parametrize("comparison", ["at_least", "equals"])
def test_warnings_grow_with_the_criteria_and_not_with_their_pairs(comparison):
    criteria = [
        criterion(scored("min_consistent", comparison, n + 1), id=f"c{n}", severity="warn") for n in range(99)
    ]
    said = lint(policy_of(document(*criteria, criterion(BOUND, id="last"))))
    assert said.errors == ()
    places = [(own.pointer, own.code) for own in said.warnings]
    assert 98 <= len(places) == len(set(places)) < 300


WARNINGS = [
    (scored("risk_max", "at_least", 1), "/demand/comparison", "wrong-direction"),
    (scored("min_consistent", "below", 5), "/demand/comparison", "wrong-direction"),
    (measured("equivalence_classes", "is_k_anonymous", "equals", False), "/demand/threshold",
     "wrong-direction"),
    (scored("risk_max", "at_most", "inf"), "/demand/threshold", "always-passes"),
    (measured("equivalence_classes", "unique_share", "at_most", 1), "/demand/threshold", "always-passes"),
    (measured("equivalence_classes", "k", "at_least", 1), "/demand/threshold", "always-passes"),
    (model("k_anonymity", k=1), "/demand/model", "always-passes"),
    ({**model("k_anonymity", k=1), "missing": "excluded"}, "/demand/missing", "leaves-out"),
    ({**model("k_anonymity", k=5), "failing_share": 1.0}, "/demand/failing_share", "always-passes"),
    ({**model("k_anonymity", k=5), "dictionary": REGISTER}, "/demand/dictionary", "unused-dictionary"),
]  # fmt: skip


@pytest.mark.parametrize(("demand", "place", "code"), WARNINGS)
def test_what_is_hardly_meant_is_a_warning(demand, place, code):
    assert found(criterion(demand), criterion(BOUND, id="b")) == ({}, {f"/criteria/0{place}": code})


def test_repeats_unused_slots_and_options_without_effect_are_noted():
    one = criterion(model("k_anonymity", k=5), severity="warn")
    errors, warnings = found(
        one,
        {**criterion(model("distinct_l_diversity", l=2)), "severity": "warn", "reason": "  "},
        dictionaries=[{"name": "a"}, {"name": "a"}],
        assumes={"attacker": "x", "options": {"absent_policy": "add_self"}},
    )
    assert errors == {
        "/criteria/1/id": "duplicate",
        "/criteria/1/reason": "missing-reason",
        "/dictionaries/1/name": "duplicate",
    }
    assert warnings == {
        "/criteria": "never-blocks",
        "/assumes/options": "unused-options",
        "/dictionaries/0": "unused-slot",
        "/dictionaries/1": "unused-slot",
    }


def test_templates_have_nothing_wrong_but_that_their_schema_is_to_be_filled():
    for own in templates():
        said = lint(own.policy)
        codes = [(fault.pointer, fault.code) for fault in said.warnings]
        assert (said.errors, codes) == ((), [("/schema/attributes", "draft-schema")]), own.policy.name


def test_the_page_on_policies_shows_a_policy_without_mistakes_and_names_every_score():
    page = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    said = lint(policy_of(read_yaml(example).value))
    assert (said.errors, said.warnings) == ((), ())
    for value in SCORE_VALUES:
        assert value.path.removeprefix("loss_quantiles.") in page


def test_values_are_found_by_their_paths():
    result = {"a": {"b": {"0.95": "inf", "c": None}}, "n": 3, "t": True, "l": [1]}
    asked = {"a.b.0.95": float("inf"), "n": 3, "t": True}
    assert {path: value_at(result, path) for path in asked} == asked
    for path in ("a", "a.b.c", "a.b.d", "a.b.c.e", "n.x", "l", "l.0", ""):
        assert value_at(result, path) is None


@pytest.mark.parametrize(
    ("demand", "place", "code"),
    [
        (promised({"at_most": 2}, kind="gamma_likeness"), "/model/kind", "unknown-model"),
        (promised({"at_most": 2}, gamma={"at_most": 2}), "/model/gamma", "unknown-field"),
        (promised(2), "/model/beta", "wrong-type"),
        (promised({}), "/model/beta", "wrong-type"),
        (promised({"at_most": "2"}), "/model/beta/at_most", "wrong-type"),
        (promised({"at_most": False}), "/model/beta/at_most", "wrong-type"),
        (promised({"at_mots": 2}), "/model/beta/at_mots", "unknown-field"),
        (promised({"at_most": 2e6}), "/model/beta/at_most", "out-of-range"),
        (promised({"below": 0}), "/model/beta/below", "never-passes"),
        (promised({"at_most": 1, "above": 1}), "/model/beta", "never-passes"),
        (promised(bound="tight"), "/model/bound", "unknown-choice"),
        (promised(bound={"equals": "basic"}), "/model/bound", "wrong-type"),
        (promised(attribute="race"), "/model/attribute", "wrong-role"),
        (promised(attribute=""), "/model/attribute", "wrong-length"),
    ],
)
def test_each_mistake_of_a_guarantee_is_an_error_at_its_place(demand, place, code):
    assert found(criterion(demand))[0] == {f"/criteria/0/demand{place}": code}


@pytest.mark.parametrize(
    ("demand", "place", "code"),
    [
        (promised({"at_most": 1e6}), "/model/beta/at_most", "always-passes"),
        (promised({"at_least": 1}), "/model/beta/at_least", "wrong-direction"),
        (promised({"at_most": 1}, bound="basic"), "/model/bound", "always-passes"),
        (promised({"at_most": 1}, may=False), "/may_rest_on_assumptions", "never-passes"),
    ],
)
def test_a_guarantee_that_is_hardly_meant_is_a_warning(demand, place, code):
    errors, warnings = found(criterion(demand), dictionaries=[])
    assert (errors, warnings) == ({}, {f"/criteria/0/demand{place}": code})


@pytest.mark.parametrize(
    ("numbers", "weak"),
    [
        ({}, {"epsilon", "delta"}),
        ({"epsilon": {"at_most": 3}, "delta": {"at_most": 1e-3}}, set()),
        ({"epsilon": {"at_most": 3.1}, "delta": {"at_most": 1e-6}}, {"epsilon"}),
        ({"epsilon": {"at_most": 1}, "delta": {"at_most": 0.0011}}, {"delta"}),
        ({"epsilon": {"at_most": 1}}, {"delta"}),
    ],
)
def test_differential_privacy_of_large_numbers_or_of_none_is_a_warning(numbers, weak):
    demand = {
        "kind": "guarantee",
        "model": {"kind": "differential_privacy", **numbers},
        "may_rest_on_assumptions": True,
    }
    errors, warnings = found(criterion(demand), dictionaries=[])
    assert errors == {}
    assert warnings == {f"/criteria/0/demand/model/{name}": "weak-guarantee" for name in weak}


@pytest.mark.parametrize(
    ("limits", "errors", "warnings"),
    [
        ({"epsilon": 3, "delta": 1e-3}, {}, {}),
        (
            {"epsilon": 3, "delta": 1e-3, "may_rest_on_assumptions": False},
            {},
            {"may_rest_on_assumptions": "never-passes"},
        ),
        ({"epsilon": 3.1, "delta": 0.01}, {}, {"epsilon": "weak-guarantee", "delta": "weak-guarantee"}),
    ],
)
def test_limits_of_a_budget_that_promise_little_are_a_warning(limits, errors, warnings):
    demand = {"kind": "privacy_budget", "may_rest_on_assumptions": True, **limits}
    told = found(criterion(demand), dictionaries=[])
    assert told == (errors, {f"/criteria/0/demand/{name}": code for name, code in warnings.items()})


def test_a_budget_is_of_the_whole_table_and_the_stricter_of_two_implies_the_other():
    lax = {"kind": "privacy_budget", "epsilon": 2, "delta": 1e-5, "may_rest_on_assumptions": True}
    scoped = criterion(lax, scope={"groups": "race"})
    assert found(scoped, dictionaries=[])[0] == {"/criteria/0/scope": "unsupported-scope"}
    strict = criterion({**lax, "epsilon": 1}, id="strict")
    assert found(criterion(lax, id="lax"), strict, dictionaries=[]) == ({}, {"/criteria/0": "implied"})


def test_a_guarantee_is_about_one_of_the_attributes_that_the_schema_calls_sensitive():
    two = {"attributes": {"ill": "sensitive", "job": "sensitive", "race": "quasi_identifier"}}
    said = {"/criteria/0/demand/model/attribute": "missing"}
    assert found(criterion(promised({"at_most": 1})), schema=two, dictionaries=[]) == (said, {})
    named = criterion(promised({"at_most": 1}, attribute="job"))
    assert found(named, schema=two, dictionaries=[]) == ({}, {})
    scoped = criterion(promised({"at_most": 1}), scope={"groups": "race"})
    assert found(scoped, dictionaries=[])[0] == {"/criteria/0/scope": "unsupported-scope"}


def test_the_stricter_of_two_guarantees_implies_the_other():
    lax, strict = promised({"at_most": 2}), promised({"at_most": 1}, bound="enhanced")
    both = found(criterion(lax, id="lax"), criterion(strict, id="strict"), dictionaries=[])
    assert both == ({}, {"/criteria/0": "implied"})

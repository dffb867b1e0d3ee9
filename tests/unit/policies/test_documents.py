"""Policies read from documents, and written again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import InvalidInput
from app.domain.policies.objectives import problem_of
from app.domain.policies.policy import with_coverage
from app.services.gates.policy_documents import (
    asked_document,
    document_of_policy,
    policy_of,
    scoring_options_of,
)
from tests.unit.policies.example_policies import criterion, document, measured, model, scored

SCORE = criterion(scored("risk_max", "at_most", "inf"))


def faults_of(given) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        policy_of(given)
    return {fault.pointer: fault.code for fault in caught.value.faults}


def test_the_canonical_document_is_read_as_the_same_policy():
    given = document(
        SCORE,
        criterion(model("k_anonymity", k=5), id="b", scope={"groups": "race"}, severity="warn"),
        criterion(measured("k_map", "is_k_map", "equals", True, "register", k=5), id="c"),
        criterion({"kind": "bound", "dictionary": "register"}, id="d"),
        criterion({"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": 1}}, id="e"),
        schema={"attributes": {"race": "quasi_identifier"}},
        suppression_limit=0.05,
    )
    policy = policy_of(given)
    assert policy_of(document_of_policy(policy)) == policy
    assert document_of_policy(policy_of(document_of_policy(policy))) == document_of_policy(policy)


def test_defaults_that_are_spelt_out_mean_the_same():
    plain = document(SCORE)
    spelt = document(
        {**SCORE, "severity": "block"},
        assumes={"attacker": "Anybody.", "options": {"utility": "depth_sum", "risk_model": "I"}},
        suppression_limit=0.0,
        dictionaries=[{"name": "register", "description": "", "required": True}],
    )
    assert document_of_policy(policy_of(plain)) == document_of_policy(policy_of(spelt))


def test_a_limit_that_nobody_named_is_none_where_it_counts_and_0_in_policies_of_before():
    given = document(SCORE)
    for version in (None, 1, 2):
        before = replace(policy_of(given), coverage_version=version)
        assert document_of_policy(before)["suppression_limit"] == 0
        assert before.most_suppressed(100) is None
    policy = with_coverage(policy_of(given))
    assert "suppression_limit" not in document_of_policy(policy)
    assert policy_of(document_of_policy(policy)) == policy
    assert policy.most_suppressed(100) is None
    # A share that is no binary fraction counts as it is written, and 0 is a limit, too.
    for share, most in ((0.0, 0), (0.07, 7), (0.071, 7), (1.0, 100)):
        assert with_coverage(policy_of(given | {"suppression_limit": share})).most_suppressed(100) == most


def test_readings_of_privacy_models_are_written_where_they_are_not_as_usual():
    usual = {"missing": "own_category", "suppressed": "excluded"}
    plain, spelt = (document(criterion({**model("k_anonymity", k=5), **more})) for more in ({}, usual))
    written = document_of_policy(policy_of(plain))
    assert written == document_of_policy(policy_of(spelt))
    # Policies that were stored before there were readings keep their hash.
    assert written["criteria"][0]["demand"] == {**model("k_anonymity", k=5), "failing_share": 0}
    other = {"missing": "matches_everything", "suppressed": "own_block"}
    found = document_of_policy(policy_of(document(criterion({**model("k_anonymity", k=5), **other}))))
    assert found["criteria"][0]["demand"].items() >= other.items()
    assert document_of_policy(policy_of(found)) == found
    faulty = criterion({**model("k_anonymity", k=5), "missing": "none", "suppressed": 1})
    assert faults_of(document(faulty)) == {
        "/criteria/0/demand/missing": "unknown-choice",
        "/criteria/0/demand/suppressed": "wrong-type",
    }


def test_every_mistake_is_named_at_its_place():
    mistaken = document(
        criterion({"kind": "scor"}, id=1),
        criterion({**scored("risk_max", "at_mst", "five"), "more": 1}, scope={}),
        {"id": "c", "title": "C", "demand": scored("risk_max", "at_most", True)},
        nme=1,
        version="1",
        format="other",
        schema={"attributes": {"race": "quasi"}},
    )
    assert faults_of(mistaken) == {
        "/criteria/0/id": "wrong-type",
        "/criteria/0/demand/kind": "unknown-kind",
        "/criteria/1/demand/comparison": "unknown-choice",
        "/criteria/1/demand/threshold": "wrong-type",
        "/criteria/1/demand/more": "unknown-field",
        "/criteria/1/scope": "exactly-one",
        "/criteria/2/reason": "missing",
        "/nme": "unknown-field",
        "/version": "wrong-type",
        "/format": "unknown-format",
        "/schema/attributes/race": "unknown-choice",
    }


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"risk_model": "IV"}, "/assumes/options/risk_model"),
        ({"absent_policy": "ignore"}, "/assumes/options/absent_policy"),
        ({"utility": {"kind": "depth_sum", "weights": {"a": -1}}}, "/assumes/options/utility/weights/a"),
        ({"utlity": "depth_sum"}, "/assumes/options/utlity"),
        ({"consistency": {"default": {"mode": "exact"}}}, "/assumes/options/consistency/default/mode"),
        ({"risk_model": {"kind": "custom"}}, "/assumes/options/risk_model/formula"),
    ],
)
def test_options_are_those_of_an_assessment(options, pointer):
    assert [*faults_of(document(SCORE, assumes={"attacker": "x", "options": options}))] == [pointer]


def test_options_reach_the_scores():
    given = {"risk_model": "III", "absent_policy": "add_self", "utility": {"kind": "log_leaves"}}
    options = scoring_options_of(policy_of(document(SCORE, assumes={"attacker": "x", "options": given})))
    assert options.risk_model.name == "III"
    assert options.absent_policy == "add_self"
    assert options.utility.kind == "log_leaves"


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "text",
        {},
        {"criteria": {}},
        document(),
        document(SCORE, criteria="all"),
        {"a": [[[[[[[]]]]]]]},
    ],
)
def test_what_is_no_policy_is_refused(given):
    assert faults_of(given)


def test_what_is_nested_without_end_is_refused():
    deep: list = []
    for _ in range(100):
        deep = [deep]
    assert "too-deep" in faults_of(document(SCORE, description=deep)).values()


def test_an_objective_becomes_the_question_of_a_search():
    demand = {
        "kind": "optimum",
        "objective": {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 3}]},
    }

    def question():
        asked = policy_of(document(criterion(demand))).requirements[0].condition
        return problem_of(asked.objective, asked.scope)

    assert question().privacy[0].k == 3
    weighed = {"kind": "precision", "weights": {"city": 2}, "aggregate": "maximum"}
    demand["objective"]["loss"] = weighed
    assert question().to_document()["objective"]["loss"] == weighed


def test_what_a_criterion_asks_is_the_same_while_nothing_changes_that_its_value_rests_on():
    def asked(demand, **more):
        policy = policy_of(document(criterion(demand), **more))
        return asked_document(policy, policy.requirements[0])

    score, classes = scored("risk_max", "at_most", 2), model("k_anonymity", k=5)
    options = {"assumes": {"attacker": "Anybody.", "options": {"absent_policy": "add_self"}}}
    slots = {"dictionaries": [{"name": "register"}, {"name": "other"}]}
    assert asked(score) == asked(score, version=2, title="Another", suppression_limit=0.5)
    assert asked(score) != asked(scored("risk_max", "at_most", 3))
    assert asked(score) != asked(score, **options)
    assert asked(score) != asked(score, **slots)
    assert asked(classes) == asked(classes, **options) == asked(classes, **slots)
    assert asked(classes) != asked({**classes, "missing": "excluded"})

"""A policy in format 1 stays what it was, and says the same in format 2."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.api.bodies.validation import SlicedValidator
from app.api.schemas.policies import NewPolicy
from app.domain.errors import InvalidInput
from app.domain.policies.difference import difference
from app.domain.policies.formats import FORMAT_1, FORMAT_2, format_of
from app.domain.policies.lint import lint
from app.domain.policies.policy import pinned
from app.services.fingerprints import resource_sha256, sha256_of
from app.services.gates.evidence_masking import masked_policy
from app.services.gates.policies import templates
from app.services.gates.policy_documents import asked_document, document_of_policy, policy_of
from app.services.resources import Kind
from tests.unit.policies.example_policies import Json, criterion, document, measured, model, scored

KEPT = {
    "public-release": (
        "d07f309e421ab282980d673989a98c0d2433506d1b09840922ccab0a742de778",
        "300978d9cb51422588e2afdf5ae085288378d19f362b5eeaf7d6f2a91d3edcc4",
    ),
    "trusted-partner": (
        "3253bf5ea60e9ef30ecce0ab7c2dda3307134bb339e89e31aed1dcf7fc7d335b",
        "9601708fca559ec60b8f3115bd488c7932e8ee95ea7e02523e687be72b8a9178",
    ),
    "internal-analytics": (
        "4521e1682c66e1100416ae3f5ba45fb8b8521acab9bf4346db29bfac0d6f072b",
        "b021ac2d5c08e3546e34b0b63a70eaeedbd0662e61056f7aee687796fa5adad5",
    ),
}
"""Template of version 1 → the hash of the stored policy, and that of what waivers of it were granted for."""

WRONG = (
    document(criterion(scored("min_consistant", "at_least", 2))),
    document(criterion(measured("kmap", "k", "at_least", 5)), criterion(scored("risk_max", "at_most", -1))),
    document(
        criterion(scored("risk_max", "at_most", 1), id="a"), criterion(scored("risk_max", "above", 2), id="b")
    ),
    document(criterion(model("k_anonymity", k=1)), criterion(model("k_anonymity", k=5), severity="warn")),
    document(criterion(model("no_such_model")), title=" "),
)
"""Policies that lint says something of, in format 1."""


def in_format_2(given: Json) -> Json:
    """The same policy in format 2."""
    items = [
        {FORMAT_2.condition if name == FORMAT_1.condition else name: own for name, own in item.items()}
        for item in given[FORMAT_1.requirements]
    ]
    rest = {name: own for name, own in given.items() if name != FORMAT_1.requirements}
    return {**rest, "format": FORMAT_2.name, FORMAT_2.requirements: items}


def test_stored_policies_and_waivers_of_format_1_keep_their_hashes():
    for own in templates(1):
        policy = pinned(own.policy, as_before=True)
        kept = {name: value for name, value in document_of_policy(policy).items() if name != "name"}
        asked = [asked_document(policy, requirement) for requirement in policy.requirements]
        assert (resource_sha256(Kind.POLICY, kept, {}), sha256_of(asked)) == KEPT[policy.name]


@pytest.mark.parametrize("given", [document_of_policy(own.policy) for own in templates(1)] + [*WRONG])
def test_both_formats_are_read_as_one_policy_and_written_as_they_came(given):
    old, new = policy_of(given), policy_of(in_format_2(given))
    assert (old.format, new.format) == (FORMAT_1, FORMAT_2)
    assert old.requirements == new.requirements
    assert in_format_2(document_of_policy(old)) == document_of_policy(new)
    assert policy_of(document_of_policy(new)) == replace(new, suppression_limit=new.suppression_limit or 0.0)
    assert [asked_document(old, own) for own in old.requirements] == [
        asked_document(new, own) for own in new.requirements
    ]
    assert in_format_2(masked_policy(document_of_policy(old))) == masked_policy(document_of_policy(new))


@pytest.mark.parametrize("given", WRONG)
def test_lint_says_the_same_of_both_and_points_at_the_fields_that_were_written(given):
    old, new = lint(policy_of(given)), lint(policy_of(in_format_2(given)))
    for before, after in ((old.errors, new.errors), (old.warnings, new.warnings)):
        told = [(own.code, own.message, own.remedy) for own in before]
        assert sorted(told) == sorted((own.code, own.message, own.remedy) for own in after)
        written = {
            own.pointer.replace("/criteria", "/requirements", 1).replace("/demand", "/requirement", 1)
            for own in before
        }
        assert written == {own.pointer for own in after}
    assert not any(own.pointer.startswith("/requirements") for own in (*old.errors, *old.warnings))


def test_a_change_of_format_alone_changes_nothing_that_is_evaluated():
    given = document(criterion(scored("risk_max", "at_most", 1)))
    found = difference(policy_of(given), policy_of(in_format_2(given)))
    assert found.effect == "none"
    ((change,),) = (own.fields for own in found.changes)
    assert (change.field, change.before, change.after) == ("format", FORMAT_1.name, FORMAT_2.name)
    stricter = in_format_2(document(criterion(scored("risk_max", "at_most", 0.5))))
    assert difference(policy_of(given), policy_of(stricter)).effect == "stricter"
    assert difference(policy_of(stricter), policy_of(given)).effect == "looser"


@pytest.mark.parametrize(
    ("given", "pointer", "remedy"),
    [
        (document(criterion(scored("risk_max", "at_most", 1)), format=FORMAT_2.name),
         "/criteria", "Call it requirements, as privacy-risk/policy/2 does."),
        (in_format_2(document(criterion(scored("risk_max", "at_most", 1)))) | {"format": FORMAT_1.name},
         "/requirements", "Call it criteria, as privacy-risk/policy/1 does."),
    ],
)  # fmt: skip
def test_a_field_of_the_other_format_is_refused_with_its_name_in_this_one(given, pointer, remedy):
    with pytest.raises(InvalidInput) as refused:
        policy_of(given)
    assert (pointer, remedy) in [(own.pointer, own.remedy) for own in refused.value.faults]


@pytest.mark.parametrize("format_", ["privacy-risk/policy/3", None, 2])
def test_an_unknown_format_is_named_and_the_rest_is_read_by_the_list_that_is_there(format_):
    for given in (document(criterion({})), in_format_2(document(criterion({})))):
        with pytest.raises(InvalidInput) as refused:
            policy_of(given | {"format": format_})
        form = FORMAT_1 if "criteria" in given else FORMAT_2
        assert {own.pointer for own in refused.value.faults} == {
            "/format",
            f"/{form.requirements}/0/{form.condition}/kind",
        }


def test_a_body_is_checked_by_the_schema_of_its_format():
    body = SlicedValidator(NewPolicy)
    given = document(criterion(scored("risk_max", "at_most", 1)))
    assert body.validate(given).document() == given
    assert body.validate(in_format_2(given)).document() == in_format_2(given)
    for wrong in (given | {"format": FORMAT_2.name}, given | {"format": "other"}):
        with pytest.raises(ValueError, match=r"format|requirements"):
            body.validate(wrong)
    assert format_of({}) == FORMAT_2

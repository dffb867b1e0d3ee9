"""The schema of a policy: who may be in a release in which role, and what lint says of it."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInput
from app.domain.policies.difference import difference
from app.domain.policies.lint import lint
from app.domain.policies.schema import PolicySchema
from app.services.gates.policy_documents import document_of_policy, policy_of
from tests.unit.policies.example_policies import criterion, document, model

ASKED = criterion(model("k_anonymity", k=5))


def warnings_of(**more) -> dict[str, str]:
    return {
        fault.pointer: fault.code
        for fault in lint(policy_of(document(ASKED, **({"dictionaries": []} | more)))).warnings
    }


def errors_of(**more) -> dict[str, str]:
    return {
        fault.pointer: fault.code
        for fault in lint(policy_of(document(ASKED, **({"dictionaries": []} | more)))).errors
    }


def test_names_come_before_patterns_and_patterns_shut_out_in_any_case():
    schema = PolicySchema({"county name": "quasi_identifier"}, {"*name*": "dropped", "*_ID": "identifier"})
    assert schema.role_of("county name") == ("quasi_identifier", "policy")
    assert schema.role_of("SurName") == ("dropped", "pattern")
    assert schema.role_of("member_id") == ("identifier", "pattern")
    assert schema.role_of("name_id") == ("dropped", "pattern")
    assert schema.role_of("remark") is None


@pytest.mark.parametrize("role", ["quasi_identifier", "sensitive", "weight", "other"])
def test_a_pattern_never_lets_a_column_leave(role):
    with pytest.raises(InvalidInput) as caught:
        policy_of(document(ASKED, schema={"attributes": {}, "patterns": {"*": role}}))
    assert [(own.pointer, own.code) for own in caught.value.faults] == [
        ("/schema/patterns/*", "unknown-choice")
    ]


def test_a_policy_without_a_schema_is_warned_of():
    assert warnings_of() == {}
    assert warnings_of(schema=None) == {"/schema": "no-schema"}


def test_a_draft_is_warned_of_and_says_what_is_to_be_confirmed():
    assert warnings_of(schema={"attributes": {}}) == {"/schema/attributes": "draft-schema"}
    half = {"attributes": {"race": "quasi_identifier"}, "to_confirm": ["race"]}
    assert warnings_of(schema=half) == {"/schema/to_confirm": "draft-schema"}
    other = {"attributes": {"race": "quasi_identifier"}, "to_confirm": ["sex"]}
    assert errors_of(schema=other) == {"/schema/to_confirm/0": "unknown-column"}


def test_reasons_are_given_once_and_for_columns_that_may_leave():
    schema = {"attributes": {"race": "sensitive", "name": "dropped"}}
    given = [{"columns": ["race", "race", "name"], "reason": " "}]
    assert errors_of(schema=schema, not_covered=given) == {
        "/not_covered/0/columns/1": "duplicate",
        "/not_covered/0/columns/2": "wrong-role",
    }
    assert warnings_of(schema=schema, not_covered=given) == {"/not_covered/0/reason": "missing-reason"}
    assert warnings_of(singled_out_share=1.0) == {"/singled_out_share": "singles-out-everybody"}


def test_what_is_left_out_is_not_written_so_that_stored_policies_keep_their_hash():
    plain = document_of_policy(policy_of(document(ASKED)))
    assert plain["schema"] == {"attributes": {"race": "quasi_identifier"}}
    assert not {"not_covered", "singled_out_share"} & plain.keys()
    full = document(
        ASKED,
        schema={"attributes": {"race": "sensitive"}, "patterns": {"*_id": "dropped"}, "to_confirm": ["race"]},
        not_covered=[{"columns": ["race"], "reason": "Because of this."}],
        singled_out_share=0.01,
        suppression_limit=0.05,
    )
    policy = policy_of(full)
    assert policy_of(document_of_policy(policy)) == policy
    assert policy.reason_for("race") == "Because of this."
    assert policy.reason_for("sex") is None


def test_what_changes_in_schema_and_reasons_is_told():
    before = policy_of(document(ASKED))
    after = policy_of(
        document(
            ASKED,
            schema={"attributes": {"race": "sensitive"}, "patterns": {"*_id": "dropped"}},
            not_covered=[{"columns": ["race"], "reason": "Because of this."}],
            singled_out_share=0.01,
        )
    )
    found = difference(before, after)
    assert found.effect == "different"
    assert {own.field for own in found.changes[0].fields} == {
        "schema.race",
        "schema.patterns.*_id",
        "not_covered.race",
        "singled_out_share",
    }


PERSON = {"attributes": {"pid": "person", "race": "quasi_identifier"}}
PERSONS = {"attributes": {"race": "quasi_identifier"}, "rows_are": "persons"}


@pytest.mark.parametrize("schema", [PERSON, PERSONS])
def test_a_schema_says_whom_a_row_is_about(schema):
    policy = policy_of(document(ASKED, schema=schema))
    assert document_of_policy(policy)["schema"] == schema
    assert policy.schema is not None
    said = ("pid", None) if schema is PERSON else (None, "persons")
    assert (policy.schema.person, policy.schema.rows_are) == said
    assert errors_of(schema=schema) == {}
    # Nobody had said before what a row is: whoever says so now has another policy.
    found = difference(policy_of(document(ASKED)), policy)
    assert found.effect == "different"
    assert {own.field for own in found.changes[0].fields} == {
        "schema.pid" if schema is PERSON else "schema.rows_are"
    }


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"attributes": {**PERSON["attributes"], "sex": "person"}}, "/schema/attributes/sex"),
        ({**PERSON, "rows_are": "persons"}, "/schema/rows_are"),
    ],
)
def test_it_is_said_once_whom_a_row_is_about(schema, pointer):
    assert errors_of(schema=schema) == {pointer: "second-person"}


@pytest.mark.parametrize(
    "schema", [{"attributes": {}, "patterns": {"*": "person"}}, {**PERSON, "rows_are": "visits"}]
)
def test_patterns_name_no_persons_and_rows_are_persons_or_nothing(schema):
    with pytest.raises(InvalidInput) as caught:
        policy_of(document(ASKED, schema=schema))
    assert [own.code for own in caught.value.faults] == ["unknown-choice"]

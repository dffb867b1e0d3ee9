"""Templates of regulators: every number with its source, every question with what answers it."""

from __future__ import annotations

import re

import pytest

from app.domain.policies.lint import lint
from app.domain.risk.release_context import ContextAnswers, release_context
from app.services.gates.policies import NAMES, OF_REGULATORS, OWN, template
from app.services.gates.policy_documents import policy_of
from app.services.gates.release_contexts import ContextQuestion, context_document, policy_for

SOURCED = re.compile(r"[Tt]exts? read|read in copies|[Uu]nverified")
NO_SOURCE_NEEDED = re.compile(
    r"by what the words mean|convention of this template|side of the person looked for"
)
each = pytest.mark.parametrize("name", OF_REGULATORS)


def test_earlier_versions_of_the_templates_are_kept():
    newest = (*OWN, "little-gain", "synthetic-release", *OF_REGULATORS)
    assert {1: OWN, 2: OWN + OF_REGULATORS, 3: OWN + OF_REGULATORS, 4: newest} == NAMES
    assert len(OWN) == 3


@each
def test_each_number_says_where_it_is_from_and_whether_that_was_read(name):
    for own in template(name).policy.requirements:
        assert SOURCED.search(own.reason) or NO_SOURCE_NEEDED.search(own.reason), own.id


@each
def test_each_question_says_who_asks_it_and_whether_that_was_read(name):
    outline = template(name).policy.outline
    assert outline
    for own in outline:
        assert SOURCED.search(own.source), own.title


@each
def test_each_requirement_answers_a_question(name):
    policy = template(name).policy
    answering = {id_ for own in policy.outline for id_ in own.requirements}
    assert answering == {own.id for own in policy.requirements}


@each
def test_no_template_says_that_a_release_is_lawful(name):
    text = template(name).text.lower()
    assert not re.search(
        r"compl(y|ies|iant|iance)|is lawful|guarantee", text.replace("no template makes", "")
    )


def test_safe_harbor_has_eighteen_kinds_of_identifier_in_the_order_of_the_rule():
    outline = template("hipaa-safe-harbor").policy.outline
    letters = [own.title[1] for own in outline[:-1]]
    assert "".join(letters) == "ABCDEFGHIJKLMNOPQR"
    assert [own.source[: own.source.index(")", 25) + 1] for own in outline[:2]] == [
        "45 CFR 164.514(b)(2)(i)(A)",
        "45 CFR 164.514(b)(2)(i)(B)",
    ]
    assert [own.title for own in outline if not own.requirements] == [
        "(P) Biometric identifiers, finger and voice prints",
        "(Q) Full-face photographs and comparable images",
    ]


@pytest.mark.parametrize(
    ("columns", "role"),
    [
        (("patient_name", "Surname", "home_phone", "fax", "email", "SSN", "mrn", "patient MRN", "account_no",
          "license_no", "licence", "plate", "license_plate", "vin", "device_serial", "website", "url",
          "ip_address", "fingerprint", "voice_print", "photo", "photograph", "street", "city", "home_city",
          "county", "beneficiary_id", "certificate_no"), "dropped"),
        (("ethnicity", "platelets", "mrna_level", "photophobia", "invoice_total", "country", "age", "zip",
          "sex", "diagnosis", "systolic", "capacity"), None),
    ],
)  # fmt: skip
def test_safe_harbor_shuts_columns_out_by_their_names_and_not_what_sounds_like_them(columns, role):
    schema = template("hipaa-safe-harbor").policy.schema
    given = {own: schema.role_of(own) for own in columns}
    assert given == dict.fromkeys(columns, role and (role, "pattern"))


PUBLIC = ContextAnswers(release_model="public", invasion_of_privacy="high")
REASONS = {"prevalence": "Our count.", "breach": "A guess.", "threshold": "Our expert."}


def answers(**changed):
    given = {
        "release_model": "non_public", "invasion_of_privacy": "high", "controls": "low",
        "motives_and_capacity": "medium", "prevalence": 0.001, "breach": 0.1,
    }  # fmt: skip
    return ContextAnswers(**given | changed)


def test_the_template_of_ontario_is_the_policy_of_a_public_and_highly_invasive_release():
    written = template("ontario-release").policy
    filled = policy_for(ContextQuestion(answers=PUBLIC), release_context(PUBLIC))
    assert [(own.id, own.condition, own.severity) for own in filled.requirements] == [
        (own.id, own.condition, own.severity) for own in written.requirements
    ]
    assert [(own.title, own.requirements) for own in filled.outline] == [
        (own.title, own.requirements) for own in written.outline
    ]


@pytest.mark.parametrize(
    ("asked", "requirements"),
    [
        (answers(), {"data-risk": {"k": 3}, "mean-risk": {"threshold": 0.1}}),
        (answers(least_class=2), {"data-risk": {"k": 2}, "mean-risk": {"threshold": 0.1}}),
        (answers(controls="high", motives_and_capacity="low", breach=0.0, prevalence=0.0),
         {"data-risk": {"k": 3}}),
        (answers(release_model="semi_public", controls=None, motives_and_capacity=None),
         {"data-risk": {"k": 12}}),
        (answers(invasion_of_privacy=None, threshold=0.09),
         {"data-risk": {"k": 3}, "mean-risk": {"threshold": 0.18}}),
    ],
)  # fmt: skip
def test_a_context_is_answered_with_a_policy_without_mistakes_and_a_source_for_every_number(
    asked, requirements
):
    found = context_document(ContextQuestion(answers=asked, reasons=REASONS, name="ours"))
    policy = policy_of(found["policy"])
    said = lint(policy)
    assert (said.errors, [own.code for own in said.warnings]) == ((), ["draft-schema"])
    numbers = {own.id: own.condition.parameters for own in policy.requirements if own.id in requirements}
    assert numbers == requirements
    assert ("mean-risk" in [own.id for own in policy.requirements]) == ("mean-risk" in requirements)
    assert {own["number"] for own in found["sources"]} == {
        name for name, own in found.items() if name not in ("sources", "policy") and own is not None
    }
    assert all(own["source"] for own in found["sources"])
    text = " ".join(own.reason for own in policy.requirements)
    assert "Our count." in text
    assert "A guess." in text


def test_a_public_context_has_no_recipient_and_asks_for_no_reasons():
    found = context_document(ContextQuestion(answers=PUBLIC))
    assert (found["recognition"], found["breach"], found["probability"]) == (None, None, 1.0)
    assert {own["number"] for own in found["sources"]} == {
        "threshold", "attempt", "probability", "data_risk", "measured_by", "k",
    }  # fmt: skip

"""The outline of a policy: questions of somebody outside, which change no verdict and no stored hash."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInput
from app.domain.policies.difference import difference
from app.domain.policies.lint import lint
from app.services.gates.evidence_masking import masked_policy
from app.services.gates.policy_documents import document_of_policy, policy_of
from tests.unit.policies.example_policies import criterion, document, scored

ASKED = criterion(scored("risk_max", "at_most", 1), id="a")
QUESTION = {
    "title": "Singling out",
    "source": "Opinion 05/2014",
    "text": "Whether anybody is told apart.",
    "requirements": ["a"],
}


def with_outline(*questions):
    return document(ASKED, outline=list(questions), suppression_limit=0.05)


def test_an_outline_is_kept_as_it_is_written_and_left_out_where_there_is_none():
    assert "outline" not in document_of_policy(policy_of(document(ASKED)))
    policy = policy_of(with_outline(QUESTION))
    written = document_of_policy(policy)
    assert written["outline"] == [QUESTION]
    assert policy_of(written) == policy
    assert masked_policy(written)["outline"] == [QUESTION]


def test_a_question_may_be_answered_by_nothing_but_not_by_what_there_is_not():
    unanswered = {name: own for name, own in QUESTION.items() if name != "requirements"}
    assert lint(policy_of(with_outline(unanswered))).errors == ()
    twice = with_outline(QUESTION, {**QUESTION, "requirements": ["a", "b"]})
    errors = {own.pointer: own.code for own in lint(policy_of(twice)).errors}
    assert errors == {
        "/outline/1/title": "duplicate",
        "/outline/1/requirements/1": "unknown-requirement",
    }


def test_an_outline_changes_nothing_that_is_evaluated():
    before, after = policy_of(document(ASKED, suppression_limit=0.05)), policy_of(with_outline(QUESTION))
    found = difference(before, after)
    assert found.effect == "none"
    assert [own.field for own in found.changes[0].fields] == ["outline.Singling out"]


@pytest.mark.parametrize("missing", ["title", "source", "text"])
def test_a_question_says_who_asks_what(missing):
    with pytest.raises(InvalidInput) as refused:
        policy_of(with_outline({name: own for name, own in QUESTION.items() if name != missing}))
    assert [(own.pointer, own.code) for own in refused.value.faults] == [(f"/outline/0/{missing}", "missing")]

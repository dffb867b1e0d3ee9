"""What counts as a reason, wherever one is asked for."""

from __future__ import annotations

import pytest

from app.domain.policies.lint import lint
from app.domain.policies.policy import with_coverage
from app.domain.policies.reasons import is_reason
from app.services.gates.policy_documents import document_of_policy, policy_of
from tests.unit.policies.example_policies import criterion, document, model

NONE = (
    "", " ", "\t\n", ".", "-", "…", "?!", "—", "\u200b", "\u200b\u200d\ufeff", "\u00a0", "\u2060 .", "\u3164",
    "\u115f\u1160", "\uffa0", "\u2800", "\u0301", "\u202e",
    "Sensitive values, which leave as they are: nobody outside is thought to know them.",
    "Sensitive values,  which leave as they are:\nnobody outside is thought to know them.",
)  # fmt: skip
SOME = ("Nobody knows it.", "x", "5", "因为", "Это.", "لا", ". known .", "\u200bpublic\u200b")
K = criterion(model("k_anonymity", k=2))


@pytest.mark.parametrize(
    ("text", "is_one"), [*((own, False) for own in NONE), *((own, True) for own in SOME)]
)
def test_a_reason_has_a_word_that_can_be_seen_and_is_not_the_products(text, is_one):
    assert is_reason(text) is is_one


@pytest.mark.parametrize("reason", ["", ".", "\u200b"])
def test_a_policy_without_a_written_reason_is_kept_and_warned_of(reason):
    written = policy_of(document(K, not_covered=[{"columns": ["race"], "reason": reason}]))
    kept = policy_of(document_of_policy(with_coverage(written)))
    assert (kept.without_reason, kept.reason_for("race")) == (("race",), None)
    assert lint(written).errors == ()
    assert [own.pointer for own in lint(written).warnings if own.code == "missing-reason"] == [
        "/not_covered/0/reason"
    ]


def test_what_was_stored_before_keeps_the_reason_that_it_had():
    given = document(K, not_covered=[{"columns": ["income"], "reason": "."}])
    for own in (given, {**given, "coverage_version": 1}):
        stored = policy_of(own)
        assert (stored.without_reason, stored.reason_for("income")) == ((), ".")
        assert document_of_policy(stored) == document_of_policy(policy_of(given))


def test_requirements_and_secrets_need_a_word_too():
    found = lint(policy_of(document({**K, "reason": ". \u200b"})))
    assert [(own.pointer, own.code) for own in found.errors] == [("/criteria/0/reason", "missing-reason")]

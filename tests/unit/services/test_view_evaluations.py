"""Evaluations of views within their limits: time that ends proves nothing, and is said to be no result."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.policies.policy import Policy
from app.services.gates import view_changes, view_evaluation
from app.services.gates.policy_documents import document_of_policy, policy_of
from app.services.gates.view_evaluation import ViewEvaluation
from app.services.gates.view_subject import ViewSubject
from app.services.resources import Kind, Stored
from app.services.views.reading import WrittenQuery
from app.services.views.schema_documents import schema_document
from app.services.views.view_checks import Limits
from app.services.views.written_schema import WrittenSchema

POLICY = policy_of(
    {
        "format": "privacy-risk/policy/2", "name": "p", "version": 1, "title": "p",
        "assumes": {"attacker": "anybody"},
        "requirements": [
            {
                "id": "r", "title": "r", "reason": "r",
                "requirement": {
                    "kind": "perfect_privacy", "language": "sql",
                    "secrets": [{"id": "s", "reason": "r", "query": "SELECT a FROM t WHERE b = 1"}],
                },
            }
        ],
    }
)  # fmt: skip
SCHEMA = WrittenSchema(sql="CREATE TABLE t (a integer NOT NULL, b integer NOT NULL);")
PRIVATE, DISCLOSING = "SELECT a FROM t WHERE b = 2", "SELECT b FROM t"


def evaluation(*queries: str, waived: bool = False) -> ViewEvaluation:
    stored = Stored(
        id="p", kind=Kind.POLICY, name="p@1", sha256="0" * 64, created_at=datetime.now(UTC),
        summary={}, uses=(), document=document_of_policy(POLICY),
    )  # fmt: skip
    waiver = {"name": "w", "in_force": True}
    views = tuple(WrittenQuery(f"v{number}", query) for number, query in enumerate(queries))
    return ViewEvaluation(ViewSubject(stored, POLICY, SCHEMA, views, {"r": waiver} if waived else {}))


def outcome(judged: ViewEvaluation, **halted: object) -> str:
    return str(judged.criterion(0, **halted)["outcome"])  # type: ignore[arg-type]


def test_pairs_decide_the_outcome():
    assert outcome(evaluation(PRIVATE, PRIVATE)) == "passed"
    assert outcome(evaluation(PRIVATE, DISCLOSING)) == "failed"
    assert outcome(evaluation(PRIVATE, DISCLOSING, waived=True)) == "waived"
    assert outcome(evaluation(PRIVATE + " AND a IS NULL OR b < 7 AND a % 2 = 1")) == "not_computable"


@pytest.mark.parametrize("waived", [False, True])
def test_work_that_is_stopped_is_no_result(waived: bool):
    for queries in ((PRIVATE,), (DISCLOSING,)):
        judged = evaluation(*queries, waived=waived)
        assert outcome(judged, halted=lambda: True) == "not_computable"
        assert not judged.complete
        assert judged.now(0, lambda: True) is None
    stopped = evaluation(PRIVATE).stopped(0)
    judged = evaluation(PRIVATE)
    assert judged.result([stopped], [], [], judged.coverage())["verdict"] == "error"


def test_time_that_ends_before_all_is_decided_is_no_result(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(view_evaluation, "LIMITS", Limits(seconds=0.0))
    judged = evaluation(PRIVATE)
    assert outcome(judged) == "not_computable"
    assert not judged.complete


KEYED = WrittenSchema(sql="CREATE TABLE t (a integer PRIMARY KEY, b integer NOT NULL);")


@pytest.mark.parametrize(
    "secret",
    [
        "SELECT x.a FROM t x JOIN t y ON x.a = y.a WHERE x.b = 1 AND y.b = 2",
        "SELECT sum(x.a) FROM t x JOIN t y ON x.a = y.a WHERE x.b = 1 AND y.b = 2",
    ],
)
def test_a_secret_that_a_key_leaves_empty_keeps_nothing_secret(secret: str):
    policy = policy_of_secret(secret)
    of_keyed, without_key = (
        ViewEvaluation(
            replace(evaluation("SELECT a FROM t WHERE b = 3").subject, policy=policy, schema=schema)
        ).criterion(0)
        for schema in (KEYED, SCHEMA)
    )
    assert (of_keyed["outcome"], of_keyed["error"]["code"]) == ("not_computable", "constant-secret")
    assert without_key["outcome"] == "passed"


def test_a_schema_is_kept_as_it_is_written():
    assert WrittenSchema.of(SCHEMA.document()) == SCHEMA
    assert WrittenSchema.of(SCHEMA.document()).sha256 == SCHEMA.sha256
    stored = WrittenSchema(stored=schema_document(SCHEMA.read("postgres")))
    assert stored.sha256 == SCHEMA.sha256
    assert WrittenSchema.of(stored.document()).sha256 == SCHEMA.sha256


def test_each_pair_that_discloses_has_the_nearest_change_that_is_proved_to_pass():
    criterion = evaluation(PRIVATE, DISCLOSING, "SELECT a FROM t\nWHERE b < 9").criterion(0)
    private, wide, narrow = criterion["pairs"]
    assert "nearest_change" not in private
    for pair, query in ((wide, "SELECT b FROM t WHERE {}"), (narrow, "SELECT a FROM t WHERE b < 9 AND {}")):
        change = pair["nearest_change"]
        (step,) = change["steps"]
        assert (change["status"], step["condition"]) == ("found", "t.b <> 1")
        assert outcome(evaluation(query.format(step["condition"]))) == "passed"
    # What is let pass needs no change, and what is not decided has none that is known.
    for pairs in (
        evaluation(DISCLOSING, waived=True).criterion(0)["pairs"],
        evaluation("SELECT a FROM t WHERE a % 2 = 1").criterion(0)["pairs"],
    ):
        assert "nearest_change" not in pairs[0]


def test_where_no_change_passes_or_the_budget_ends_it_is_said(monkeypatch: pytest.MonkeyPatch):
    whole = replace(evaluation(DISCLOSING).subject, policy=policy_of_secret("SELECT a FROM t"))
    (pair,) = ViewEvaluation(whole).criterion(0)["pairs"]
    assert pair["nearest_change"]["status"] == "not_found"
    monkeypatch.setattr(view_changes, "MOST_ADVISED", 1)
    first, second = evaluation(DISCLOSING, DISCLOSING).criterion(0)["pairs"]
    assert first["nearest_change"]["status"] == "found"
    assert second["nearest_change"] == {**second["nearest_change"], "status": "not_looked_for", "steps": []}
    # Time that ends costs the advice, and never the verdict.
    monkeypatch.setattr(view_evaluation, "SECONDS_OF_CHANGES", 0.0)
    judged = evaluation(DISCLOSING)
    (pair,) = judged.criterion(0)["pairs"]
    assert (pair["nearest_change"]["status"], judged.complete) == ("not_looked_for", True)
    assert judged.criterion(0)["outcome"] == "failed"


def policy_of_secret(secret: str) -> Policy:
    document = document_of_policy(POLICY)
    document["requirements"][0]["requirement"]["secrets"][0]["query"] = secret
    return policy_of(document)

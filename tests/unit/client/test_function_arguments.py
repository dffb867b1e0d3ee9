"""What can be told to be wrong without a service is told before one is started."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

import privacy_risk as pr
from privacy_risk import embedded
from privacy_risk.anonymisation import Criteria
from privacy_risk.usual import least_class

FRAME = pd.DataFrame({"zip": ["1", "2", "3"], "age": [30, 40, 50], "ill": ["a", "b", "a"]})


@pytest.fixture(autouse=True)
def no_service(monkeypatch):
    def start():
        raise AssertionError("a service was started")

    monkeypatch.setattr(embedded, "_Embedded", start)


@pytest.mark.parametrize(
    ("asked", "argument", "fault"),
    [
        ({"k": 0}, "k", "0 is out of range"),
        ({"k": 2.5}, "k", "2.5 is out of range"),
        ({"k": True}, "k", "True is out of range"),
        ({"k": float("nan")}, "k", "nan is out of range"),
        ({"k": "5"}, "k", "'5' is out of range"),
        ({"k": 4}, "k", "The table has 3 rows, so no class can have 4"),
        ({"k": 2, "l": {"ill": 0}}, "l", "0 is out of range"),
        ({"k": 2, "l": {"sick": 2}}, "l", "no column 'sick'"),
        ({"k": 2, "t": {"ill": 1.5}}, "t", "1.5 is out of range"),
        ({"k": 2, "t": 0}, "t", "0 is out of range"),
        ({"k": 2, "beta": {"ill": 0}}, "beta", "0 is out of range"),
        ({"k": 2, "beta": {"ill": -1}}, "beta", "-1 is out of range"),
        ({"k": 2, "beta": float("nan")}, "beta", "nan is out of range"),
        ({"k": 2, "beta": 1000001}, "beta", "1000001 is out of range"),
        ({"k": 2, "beta": float("inf")}, "beta", "inf is out of range"),
        ({"k": 2, "beta": "2"}, "beta", "'2' is out of range"),
        ({"k": 2, "beta": Decimal("2.00000000000000000001")}, "beta", "is out of range"),
        ({"k": 2, "beta": Fraction(1, 3)}, "beta", "Fraction(1, 3) is out of range"),
        ({"k": 2, "beta": {"il": 2}}, "beta", "no column 'il'"),
        ({"k": 2, "quasi_identifiers": ["ill"], "beta": {"ill": 2}}, "sensitive", "is sensitive here"),
        ({"k": 2, "max_suppressed": 1.01}, "max_suppressed", "1.01 is out of range"),
        ({"k": 2, "max_suppressed": -0.1}, "max_suppressed", "-0.1 is out of range"),
        ({"k": 2, "importance": {"zip": -1}}, "importance", "-1 is out of range"),
        ({"k": 2, "quasi_identifiers": ["plz"]}, "quasi_identifiers", "no column 'plz'"),
        ({"k": 2, "quasi_identifiers": "zip"}, "quasi_identifiers", "'zip' is one text"),
        ({"k": 2, "quasi_identifiers": ["ill"], "sensitive": ["ill"]}, "sensitive", "is sensitive here"),
        ({"k": 2, "roles": {"ill": "secret"}}, "roles", "'secret', of 'ill', is no role"),
        ({"k": 2, "roles": {"ill": "other"}, "l": {"ill": 2}}, "roles", "'ill' is other here"),
        ({"k": 2, "hierarchies": {"plz": []}}, "hierarchies", "no column 'plz'"),
        ({"k": 2, "server": "http://127.0.0.1:1"}, "key", "server is given, but key is not"),
    ],
)  # fmt: skip
def test_an_argument_that_cannot_be_meant_is_named(asked, argument, fault):
    with pytest.raises(pr.InvalidArgument) as raised:
        pr.anonymise(FRAME, **asked)
    assert (raised.value.argument, fault in raised.value.fault) == (argument, True)
    assert str(raised.value) == f"{argument}: {raised.value.fault} {raised.value.remedy}"


def test_decimals_are_kept_as_they_are_written():
    asked = Criteria(2, beta={"ill": Decimal("0.1"), "age": 2})
    asked.check(["ill", "age"], 3)
    _, *likeness = asked.privacy(["ill", "age"])
    assert likeness == [
        {"kind": "beta_likeness", "beta": 0.1, "attribute": "ill"},
        {"kind": "beta_likeness", "beta": 2.0, "attribute": "age"},
    ]
    assert asked.named == ("ill", "age")


@pytest.mark.parametrize(
    ("rows", "rarest", "beta", "least"),
    [(600, 1, 2, 200), (12, 4, 0.5, 2), (12, 4, 100, 2), (7, 7, 3, 1), (10, 1, 1e6, 4), (100, 2, 4, 11)],
)
def test_the_least_class_with_a_value_is_the_first_that_its_bound_allows(rows, rarest, beta, least):
    share = Fraction(rarest, rows)
    allowed = float(share) * (1 + min(beta, -math.log(share)))
    assert least_class(rows, rarest, beta) == least
    assert least == next(size for size in range(1, rows + 1) if 1 / size <= allowed + 1e-12)


@pytest.mark.parametrize("text", ["", "[]", "a: [", "- 1"])
def test_what_is_no_policy_is_named(tmp_path, text):
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(pr.InvalidArgument, match=r"policy: .*policy\.yaml"):
        pr.gate(file, FRAME, original=FRAME)


def test_a_policy_that_is_not_there_and_one_of_another_type_are_named(tmp_path):
    with pytest.raises(pr.InvalidArgument, match="policy: There is no file"):
        pr.gate(tmp_path / "none.yaml", FRAME, original=FRAME)
    with pytest.raises(pr.WrongType, match="policy: A int is no policy"):
        pr.gate(5, FRAME, original=FRAME)


def test_an_original_without_a_column_of_the_policy_is_refused():
    policy = {"schema": {"attributes": {"zip": "quasi_identifier", "income": "sensitive"}}}
    with pytest.raises(pr.InvalidArgument, match="original: The table has no column 'income'"):
        pr.gate(policy, FRAME, original=FRAME)


def test_without_the_service_beside_the_client_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(embedded, "_TOP", tmp_path)
    with pytest.raises(pr.ServiceNotStarted, match=r"pip install 'privacy-risk\[embedded\]'"):
        embedded._Embedded(lambda _: None)


VIEWS = {"views": {"wards": "SELECT ward FROM stay"}, "relational_schema": "CREATE TABLE stay (ward int);"}


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ({**VIEWS, "original": FRAME}, "original"),
        ({**VIEWS, "frame": FRAME}, "frame"),
        ({**VIEWS, "roles": {}}, "roles"),
        ({**VIEWS, "relational_schema": None}, "relational_schema"),
        ({**VIEWS, "views": None}, "views"),
        ({**VIEWS, "views": ["SELECT ward FROM stay"]}, "views"),
        ({**VIEWS, "views": {"wards": 5}}, "views"),
        ({"frame": FRAME}, "original"),
        ({}, "frame"),
    ],
)
def test_views_and_tables_are_judged_apart_and_each_with_what_it_needs(asked, argument):
    with pytest.raises((pr.InvalidArgument, pr.WrongType)) as raised:
        pr.gate({"name": "p"}, **asked)
    assert raised.value.argument == argument

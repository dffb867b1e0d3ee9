"""Whether what was released of a table keeps the limits of a requirement, to the last digit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.gates.spending_kept import TableSpending, finding_of_spending
from app.domain.mechanisms.privacy_loss import PrivacyLoss, composed, decimal_text
from app.domain.mechanisms.spending import sentence_on
from app.domain.policies.budget_condition import BudgetCondition


def spent(epsilon: str, delta: str = "0") -> PrivacyLoss:
    return PrivacyLoss(Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize(
    ("losses", "passes"),
    [
        ([spent("0.1"), spent("0.2")], True),
        ([spent("0.1"), spent("0.2"), spent("1e-16")], False),
        ([spent("0.3", "1e-5")], True),
        ([spent("0.3", "1.00000000000000001e-5")], False),
        ([], True),
    ],
)
def test_sums_are_compared_to_the_last_digit(losses, passes):
    limits = BudgetCondition(0.3, 1e-5, may_rest_on_assumptions=True)
    assert finding_of_spending(limits, TableSpending(composed(losses), len(losses))).passes is passes


def test_a_release_that_is_not_private_leaves_no_sum():
    found = finding_of_spending(BudgetCondition(2, 0.001), TableSpending(spent("1"), 1, ("plain", None)))
    assert not found.passes
    assert "is known of 2 releases of the table" in found.explanation
    assert "'plain'" in found.explanation
    assert [own.holds for own in found.hypotheses] == ["no"]


def test_what_other_uploads_tell_is_assumed_unless_the_policy_refuses_that():
    """Beside what the guarantees of the releases rest on."""
    rule = Hypothesis("rule_is_public", "assumed", "Declared.")
    spending = TableSpending(spent("1", "1e-6"), 1, hypotheses=(rule,))
    found = finding_of_spending(BudgetCondition(2, 0.001), spending)
    assert not found.passes
    assert "does not allow: all releases private, rule is public" in found.explanation
    assert {own.id: own.holds for own in found.hypotheses} == {
        "all_releases_private": "assumed", "rule_is_public": "assumed",
    }  # fmt: skip
    allowed = BudgetCondition(2, 0.001, may_rest_on_assumptions=True)
    assert finding_of_spending(allowed, spending).passes
    refuted = replace(spending, hypotheses=(replace(rule, holds="no"),))
    assert not finding_of_spending(allowed, refuted).passes


@pytest.mark.parametrize(
    ("delta", "least", "passes"),
    [("0.02", 50, False), ("0.019", 50, True), ("0.5", None, True), ("1", None, False)],
)
def test_a_sum_of_delta_that_promises_nothing_passes_no_gate(delta, least, passes):
    limits = BudgetCondition(5, 0.999, may_rest_on_assumptions=True)
    found = finding_of_spending(replace(limits, delta=1.0), TableSpending(spent("2", delta), 2, (), least))
    assert found.passes is passes
    told = sentence_on(spent("2", delta), 2, least)
    assert ("Nothing is promised of what 2 releases" in found.explanation) is not passes
    assert told.startswith("Nothing is promised" if not passes else "Whether or not")


@given(st.decimals(min_value=-(10**6), max_value=10**6, places=40) | st.decimals(0, 20, places=9))
def test_a_decimal_is_told_with_all_of_its_digits(number):
    text = decimal_text(Fraction(number))
    assert Fraction(text) == Fraction(number)
    assert "e" not in text.lower()
    assert not (text.endswith("0") and "." in text)


def test_one_release_is_told_of_as_one():
    assert "all that this release shows changes" in sentence_on(spent("1"), 1)
    limits = BudgetCondition(2, 0.001, may_rest_on_assumptions=True)
    told = finding_of_spending(limits, TableSpending(spent("1"), 1, (None,))).explanation
    assert told.startswith("The only differentially private release of the table spends an ε of 1 and")
    assert "is known of 1 release of the table." in told


def test_what_does_not_end_is_no_decimal():
    with pytest.raises(ValueError, match="no end"):
        decimal_text(Fraction(1, 3))

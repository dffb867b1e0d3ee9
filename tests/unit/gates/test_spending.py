"""Whether what was released of a table keeps the limits of a requirement, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.gates.spending_kept import TableSpending, finding_of_spending
from app.domain.mechanisms.privacy_loss import PrivacyLoss, composed, decimal_text
from app.domain.policies.policy import BudgetCondition


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
    limits = BudgetCondition(0.3, 1e-5)
    assert finding_of_spending(limits, TableSpending(composed(losses), len(losses))).passes is passes


def test_a_release_that_is_not_private_leaves_no_sum():
    found = finding_of_spending(BudgetCondition(2, 0.001), TableSpending(spent("1"), 1, ("plain", None)))
    assert not found.passes
    assert "2 releases of the table have no certified guarantee" in found.explanation
    assert "'plain'" in found.explanation
    assert [own.holds for own in found.hypotheses] == ["no"]


@given(st.decimals(min_value=-(10**6), max_value=10**6, places=40) | st.decimals(0, 20, places=9))
def test_a_decimal_is_told_with_all_of_its_digits(number):
    text = decimal_text(Fraction(number))
    assert Fraction(text) == Fraction(number)
    assert "e" not in text.lower()
    assert not (text.endswith("0") and "." in text)


def test_what_does_not_end_is_no_decimal():
    with pytest.raises(ValueError, match="no end"):
        decimal_text(Fraction(1, 3))

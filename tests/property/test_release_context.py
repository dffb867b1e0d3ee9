"""The context of a release, against the guideline's table and steps written down a second time.

Source: De-identification Guidelines for Structured Data, Ontario, 2016.
"""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.risk.release_context import (
    ACQUAINTANCES,
    ContextAnswers,
    recognition_of,
    release_context,
)

GRADES = ("low", "medium", "high")
# Rows by controls from high to low, columns by motives and capacity from low to high: in hundredths.
TABLE = {"high": (5, 10, 20), "medium": (20, 30, 40), "low": (40, 50, 60)}
CHOSEN = {"low": Fraction(1, 10), "medium": Fraction(3, 40), "high": Fraction(1, 20)}

grades = st.sampled_from(GRADES)
hundredths = st.integers(0, 100)


def by_hand(model, invasion, controls, motives, prevalence, m, breach):
    """Context probability, allowed risk of the data and least class, in fractions of whole numbers."""
    p, b = Fraction(prevalence, 100_000), Fraction(breach, 100)
    recognised = 1 - (1 - p) ** m
    if model == "public":
        context = Fraction(1)
    elif model == "semi_public":
        context = max(Fraction(60, 100), recognised, b)
    else:
        context = max(Fraction(TABLE[controls][GRADES.index(motives)], 100), recognised, b)
    allowed = min(Fraction(1), CHOSEN[invasion] / context)
    k = 1
    while Fraction(1, k) > allowed:
        k += 1
    return context, allowed, k


def answered(model, invasion, controls, motives, prevalence, m, breach):
    of_recipient = {"controls": controls, "motives_and_capacity": motives} if model == "non_public" else {}
    of_context = {"prevalence": prevalence / 100_000, "acquaintances": m, "breach": breach / 100}
    return ContextAnswers(
        release_model=model,
        invasion_of_privacy=invasion,
        **of_recipient,
        **({} if model == "public" else of_context),
    )


cases = st.tuples(
    st.sampled_from(["public", "semi_public", "non_public"]), grades, grades, grades,
    # Rare and frequent: from a share of a few in 1000 on hardly anybody knows nobody.
    st.integers(0, 200) | st.integers(0, 100_000), st.integers(1, 190),
    st.integers(0, 10) | hundredths,
)  # fmt: skip


@pytest.mark.parametrize("controls", GRADES)
@pytest.mark.parametrize("motives", GRADES)
def test_every_cell_of_the_table_of_attempts_is_that_of_the_guideline(controls, motives):
    found = release_context(answered("non_public", "low", controls, motives, 0, 150, 0))
    assert found.probability == found.attempt == TABLE[controls][GRADES.index(motives)] / 100


@given(cases)
def test_the_numbers_are_those_of_the_guideline(case):
    context, allowed, k = by_hand(*case)
    found = release_context(answered(*case))
    assert found.probability == pytest.approx(float(context), abs=1e-12)
    assert found.data_risk == pytest.approx(float(allowed), rel=1e-12)
    if case[0] == "non_public":
        assert (found.measured_by, found.k) == ("strict_average", 3)
        assert found.mean_counts == (Fraction(1, 3) > allowed)
    else:
        assert (found.measured_by, found.k, found.mean_counts) == ("maximum", k, False)
    overall = found.data_risk * found.probability
    assert overall <= found.threshold + 1e-12


@given(cases)
def test_what_makes_an_attack_less_likely_never_leaves_less_to_the_data(case):
    model, invasion, controls, motives, prevalence, m, breach = case
    found = release_context(answered(*case))

    def at_least(**changed):
        names = ("model", "invasion", "controls", "motives", "prevalence", "m", "breach")
        other = release_context(answered(**dict(zip(names, case, strict=True)) | changed))
        assert other.data_risk >= found.data_risk - 1e-15
        assert model == "non_public" or other.k <= found.k

    at_least(controls=GRADES[min(GRADES.index(controls) + 1, 2)])
    at_least(motives=GRADES[max(GRADES.index(motives) - 1, 0)])
    at_least(invasion=GRADES[max(GRADES.index(invasion) - 1, 0)])
    at_least(prevalence=prevalence // 2)
    at_least(m=max(m // 2, 1))
    at_least(breach=breach // 2)


@given(st.integers(0, 10_000), st.integers(1, 1000))
def test_the_chance_to_know_somebody_keeps_its_digits_however_rare_the_condition_is(parts, m):
    p = Decimal(parts) / 1_000_000
    exact = 1 - (1 - p) ** m
    assert recognition_of(float(p), m) == pytest.approx(float(exact), rel=1e-9, abs=1e-18)
    assert recognition_of(1.0, m) == 1.0


def test_the_guideline_speaks_of_150_acquaintances_and_a_data_risk_of_0_2_in_a_context_of_0_5():
    assert ACQUAINTANCES == 150
    asked = ContextAnswers(
        release_model="non_public", invasion_of_privacy="low", controls="low", motives_and_capacity="medium",
        prevalence=0.0, breach=0.0,
    )  # fmt: skip
    found = release_context(asked)
    assert (found.probability, found.data_risk, found.mean_counts) == (0.5, 0.2, True)
    assert release_context(dataclasses.replace(asked, least_class=2)).k == 2


@pytest.mark.parametrize(("invasion", "k"), [("low", 10), ("medium", 14), ("high", 20)])
def test_a_public_release_asks_for_the_classes_of_the_guideline(invasion, k):
    """Its table writes 15 where 1 / 0.075 is 13.3: a class of 14 keeps the threshold."""
    assert release_context(ContextAnswers(release_model="public", invasion_of_privacy=invasion)).k == k


def test_a_threshold_of_ones_own_takes_the_place_of_a_grade():
    assert release_context(ContextAnswers(release_model="public", threshold=0.09)).k == 12


@pytest.mark.parametrize(
    ("given_", "faults"),
    [
        ({"release_model": "public"}, {"/threshold": "exactly-one"}),
        ({"release_model": "public", "threshold": 0.1, "invasion_of_privacy": "low"},
         {"/threshold": "exactly-one"}),
        ({"release_model": "public", "threshold": 0.1, "breach": 0.1, "controls": "low"},
         {"/breach": "not-applicable", "/controls": "not-applicable"}),
        ({"release_model": "semi_public", "threshold": 0.1, "controls": "high", "breach": 0.1},
         {"/controls": "not-applicable", "/prevalence": "missing"}),
        ({"release_model": "non_public", "threshold": 0.1, "breach": 0.1},
         {"/controls": "missing", "/motives_and_capacity": "missing", "/prevalence": "missing"}),
    ],
)  # fmt: skip
def test_what_is_not_asked_and_what_is_missing_are_named(given_, faults):
    with pytest.raises(InvalidInput) as refused:
        ContextAnswers(**given_)
    assert {own.pointer: own.code for own in refused.value.faults} == faults

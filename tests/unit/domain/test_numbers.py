"""Numbers: thresholds, ties, sums and JSON."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.tables.numbers import (
    exact_sum,
    highest_accepted,
    lowest_accepted,
    tie_margin,
    tie_margins,
    to_json_number,
)


def test_thresholds_forgive_a_billionth_and_no_more():
    assert 5 - 0.9e-9 >= lowest_accepted(5) > 5 - 1.1e-9
    assert 5 + 0.9e-9 <= highest_accepted(5) < 5 + 1.1e-9


def test_great_thresholds_forgive_what_sums_in_another_order_differ_by():
    assert highest_accepted(1e12) == 1e12 + 1
    assert lowest_accepted(-1e12) == -1e12 - 1
    assert highest_accepted(math.nextafter(8.5e161, 0)) > 8.5e161


def test_tie_margins_are_relative_above_one_and_nought_at_infinity():
    values = np.array([0.0, 1e-9, -1e6, math.inf])
    assert tie_margins(values).tolist() == [1e-12, 1e-12, 1e-6, 0.0]
    assert tie_margins(values).tolist() == [tie_margin(v) for v in values.tolist()]


def test_an_infinite_term_makes_the_sum_infinite():
    assert exact_sum(np.array([1.0, math.inf])) == math.inf
    assert exact_sum(np.full(10, 0.1)) == 1.0
    assert exact_sum(np.full(10, 1e308)) == exact_sum([1e308] * 10) == math.inf


def test_json_carries_infinity_as_text_and_never_nan():
    assert (to_json_number(math.inf), to_json_number(1.5)) == ("inf", 1.5)
    with pytest.raises(ValueError, match="NaN"):
        to_json_number(math.nan)

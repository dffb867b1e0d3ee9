"""``dp_counts``: counts with the noise that is promised, the promise and what it rests on first."""

from __future__ import annotations

import math

import pandas as pd
import pyarrow as pa
import pytest

import privacy_risk as pr
from privacy_risk.private_counts import error_bound

pytestmark = pytest.mark.anyio

TRUE = {("north", "well"): 90, ("north", "ill"): 70, ("south", "well"): 80}
OFF = 20
"""Noise of ε = 1 is beyond this with a probability of 2·e⁻²¹/(1 + e⁻¹), about 1.2·10⁻⁹."""
RARE = ("east", "ill")
"""Of one person: published with a probability of at most δ of the threshold, 6.1·10⁻⁷."""


def visits(extra: int = 0) -> pd.DataFrame:
    rows = [pair for pair, n in TRUE.items() for _ in range(n)] + [RARE]
    return pd.DataFrame(rows, columns=["ward", "outcome"]).assign(number=lambda own: own.index + extra)


async def test_counts_are_near_the_true_ones_and_say_first_what_is_promised(call):
    """By chance it fails less than once in 10⁶: by the rare one, 6.1·10⁻⁷, or by the noise of three."""
    found = await call(pr.dp_counts, visits(), by=["ward", "outcome"])
    counted = {(own.ward, own.outcome): own.noisy_count for own in found.frame.itertuples()}
    assert counted.keys() == TRUE.keys()
    assert all(abs(counted[pair] - n) <= OFF for pair, n in TRUE.items())
    assert list(found.frame["noisy_count"]) == sorted(counted.values(), reverse=True)
    first, *assumed = str(found).split("\n\n")[0].splitlines()
    assert first.startswith("Differential privacy: Whether or not any one person's record is in the data")
    assert "slack of δ = 1e-06" in first
    assert any(own.startswith("  one record per person (assumed)") for own in assumed)
    assert any("values were looked up" in own for own in assumed)
    assert assumed[-1] == (
        f"Each count is off by at most {found.error_bound} with a probability of 95 %; combinations whose "
        "noisy count is below 15 are left out."
    )
    html = found._repr_html_()
    assert html.index("Whether or not") < html.index("noisy count is below") < html.index("<table>")

    again = await call(pr.dp_counts, visits(), by=["ward", "outcome"])
    pd.testing.assert_frame_equal(again.frame, found.frame)
    with pytest.raises(pr.ProblemError, match="409"):
        await call(pr.dp_counts, visits(), by="ward")
    other = await call(pr.dp_counts, visits(), by="ward", epsilon=0.5, independent_of_earlier=True)
    assert "Of all 2 releases together" in str(other)


VALUES = {"ward": ["east", "north", "south", "west"], "outcome": ["ill", "well"]}


async def test_values_that_are_given_are_all_counted_with_epsilon_alone(call):
    """Noise of eight counts is beyond OFF in one of 10⁸ runs."""
    found = await call(pr.dp_counts, visits(extra=2000), by=["ward", "outcome"], values=VALUES)
    counted = {(own.ward, own.outcome): own.noisy_count for own in found.frame.itertuples()}
    for ward in VALUES["ward"]:
        for outcome in VALUES["outcome"]:
            true = {**TRUE, RARE: 1}.get((ward, outcome), 0)
            assert abs(counted.get((ward, outcome), 0) - true) <= OFF
    assert "slack of δ" not in str(found)
    assert "values were looked up" not in str(found)
    assert "of 15 combinations, a missing value (*) among each column's," in str(found)
    with pytest.raises(pr.InvalidArgument, match="does not list every value that ward has"):
        await call(pr.dp_counts, visits(), by="ward", values={"ward": ["north", "south"]})
    with pytest.raises(pr.InvalidArgument, match="has other columns than ward"):
        await call(pr.dp_counts, visits(), by="ward", values=VALUES)


async def test_a_table_of_arrow_gets_one_back(call):
    table = pa.Table.from_pandas(visits(extra=1000), preserve_index=False)
    found = await call(pr.dp_counts, table, by="ward")
    assert found.frame.column_names == ["ward", "noisy_count"]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("Wrad", "by: The table has no column 'Wrad'. Did you mean 'ward'?"),
        ([], "are no columns to count by"),
        (["ward", "ward"], "are no columns to count by"),
    ],
)
async def test_columns_that_cannot_be_meant_are_refused_before_anything_is_sent(call, by, said):
    with pytest.raises(pr.InvalidArgument) as refused:
        await call(pr.dp_counts, visits(), by=by)
    assert said in str(refused.value)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.5, 6.0])
def test_the_bound_is_the_least_that_noise_keeps_with_95_percent(epsilon):
    alpha = math.exp(-epsilon)

    def beyond(bound: int) -> float:
        return sum(2 * (1 - alpha) / (1 + alpha) * alpha**z for z in range(bound + 1, bound + 4000))

    bound = error_bound(epsilon)
    assert beyond(bound) <= 0.05
    assert bound == 0 or beyond(bound - 1) > 0.05

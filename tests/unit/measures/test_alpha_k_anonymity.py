"""(α,k)-anonymity as a measure, against loops over the classes."""

from collections import Counter

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.models.alpha_k_anonymity import ALPHA_K_ANONYMITY
from tests.unit.measures import diversity_tables as tables


def test_the_inpatient_releases():
    first = tables.measured(ALPHA_K_ANONYMITY, *tables.release_1(), alpha=0.5, k=4)
    assert (first.k, first.alpha, first.value, first.frequent) == (4, 1, tables.C, 4)
    assert (first.worst.rows, first.classes_failing, first.records_failing) == ((9, 10, 11, 12), 1, 4)
    assert first.attainable == 5 / 12
    second = tables.measured(ALPHA_K_ANONYMITY, *tables.release_2(), alpha=0.5, k=4)
    assert (second.k, second.alpha, second.is_met) == (4, 0.5, True)
    assert tables.measured(ALPHA_K_ANONYMITY, *tables.release_2(), alpha=0.5, k=5).records_failing == 12
    assert tables.measured(ALPHA_K_ANONYMITY, *tables.release_2(), alpha=0.49, k=4).records_failing == 12


def test_only_the_shares_of_the_values_named_are_limited():
    found = tables.measured(ALPHA_K_ANONYMITY, *tables.release_1(), values=(tables.HD,), k=1)
    assert (found.alpha, found.value, found.worst.rows, found.is_met) == (0.5, tables.HD, (1, 2, 3, 4), True)


@pytest.mark.parametrize("seed", range(5))
def test_shares_and_sizes_are_those_of_loops(seed):
    rng = np.random.default_rng(seed)
    rows = [("pqrs"[rng.integers(4)], "abc"[rng.integers(3)]) for _ in range(rng.integers(1, 30))]
    found = tables.table(("q", "s"), (tables.flat("pqrs"), tables.flat("abc")), rows, {"s"})
    sizes, both = Counter(q for q, _ in rows), Counter(rows)
    for limited in ("abc", "b", "ac"):
        share = {q: max(both[q, s] for s in limited) / n for q, n in sizes.items()}
        result = tables.measured(ALPHA_K_ANONYMITY, found, values=tuple(limited), alpha=0.4, k=3)
        assert (result.alpha, result.k) == (max(share.values()), min(sizes.values()))
        failing = [q for q, n in sizes.items() if n < 3 or share[q] > 0.4]
        assert (result.classes_failing, result.is_met) == (len(failing), not failing)
        assert result.records_failing == sum(sizes[q] for q in failing)


def test_a_share_is_compared_with_the_decimal_that_was_written():
    """3 of 10 are not more than 0.3, though the nearest binary fraction of 0.3 is less than it."""
    found = tables.one_class({"a": 3, "b": 7})
    assert tables.measured(ALPHA_K_ANONYMITY, found, values=("a",), alpha=0.3).is_met
    assert not tables.measured(ALPHA_K_ANONYMITY, found, values=("a",), alpha=0.29999999).is_met


def test_values_left_out_and_values_unknown():
    rows = [("x", None), ("x", None), ("y", "a")]
    found = tables.table(("q", "s"), (tables.flat("xy"), tables.flat("ab")), rows, {"s"})
    result = tables.measured(ALPHA_K_ANONYMITY, found, missing_sensitive="excluded", alpha=1.0, k=1)
    assert (result.alpha, result.k, result.records_without_value, result.is_met) == (1, 1, 2, True)
    assert result.worst.rows == (3,)
    with pytest.raises(InvalidInput) as caught:
        tables.measured(ALPHA_K_ANONYMITY, found, values=("c",))
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [
        ("/measure/values/0", "unknown-value")
    ]

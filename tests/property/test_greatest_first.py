"""The greatest elements, found without sorting all, are those that come first when all are sorted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.domain.arrays import firsts_of_greatest, greatest_first
from app.domain.tables.distinct import amounts_of_rows, distinct_rows

ELEMENTS = st.lists(st.tuples(st.integers(0, 4), st.integers(-2, 2), st.sampled_from([-1.0, 0.5, np.inf])))


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 2.0, np.inf])), st.integers(0, 8))
def test_the_greatest_are_the_first_of_a_stable_sort(scores, top):
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:top]
    assert greatest_first(np.array(scores, dtype=float), top).tolist() == expected


@given(ELEMENTS)
def test_each_owner_has_its_greatest_element_and_the_first_of_equals(elements):
    owners, first, second = (np.array([own[j] for own in elements], dtype=t) for j, t in enumerate("iid"))
    expected = []
    for owner in sorted(set(owners.tolist())):
        own = [place for place in range(len(elements)) if owners[place] == owner]
        expected.append(min(own, key=lambda place: (-first[place], -second[place], place)))
    assert firsts_of_greatest(owners, 5, first.astype(float), second).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 3)), min_size=1),
    st.sampled_from([3, 2_000, 2**40]),
    st.booleans(),
)
def test_amounts_of_equal_rows_are_summed_in_canonical_order(rows, size, are_ones):
    columns = [np.array([row[j] for row in rows], dtype=np.int32) for j in range(2)]
    amounts = np.ones(len(rows), dtype=np.int64) if are_ones else np.array([row[2] for row in rows])
    expected: dict[tuple[int, int], int] = {}
    for one, other, amount in zip(*columns, amounts.tolist(), strict=True):
        expected[one, other] = expected.get((one, other), 0) + amount
    found = amounts_of_rows(columns, [4, size], amounts)
    assert found.tolist() == [expected[own] for own in sorted(expected)]
    assert len(found) == distinct_rows(columns, [4, size], len(rows)).size

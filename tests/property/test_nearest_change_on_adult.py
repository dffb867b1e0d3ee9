"""The nearest change of the Adult table, against every rule of its lattice judged one by one."""

from __future__ import annotations

import os

import numpy as np
import pytest

from app.domain.models.class_suppression import ClassSuppression
from app.domain.models.k_anonymity import KAnonymity
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply, identity
from app.domain.search.nearest.change import AllowedSuppression, privacy_requirement
from app.domain.search.nearest.nearest import nearest_change
from tests.oracles.adult_by_hand import AdultByHand, counted
from tests.oracles.rules_on_adult import FIVE, by_hand, context_of

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        os.environ.get("PRIVACY_RISK_DATA") is None,
        reason="PRIVACY_RISK_DATA does not name the folder of real data",
    ),
]


def small(hand: AdultByHand, levels, k: int) -> np.ndarray:
    """Which records are in classes of fewer than k."""
    keys = np.zeros(hand.n, dtype=np.int64)
    for columns, level in zip(hand.columns, levels, strict=True):
        keys = keys * (columns[level].max() + 1) + columns[level]
    inverse, counts = counted(keys)
    return counts[inverse] < k


def passes_with(table, hand, k):
    def passes(rule) -> bool:
        if isinstance(rule, TableRule):
            return not small(hand, rule.levels, k).any()
        _, counts = np.unique(rule.codes[rule.codes.any(axis=1)], axis=0, return_counts=True)
        return not len(counts) or int(counts.min()) >= k

    return passes


def change_of(table, hand, k, limit):
    passes = passes_with(table, hand, k)
    rule = identity(table.n_attributes)
    requirement = privacy_requirement(table, rule, (KAnonymity(k),), 0.0, passes)
    suppression = AllowedSuppression(ClassSuppression((KAnonymity(k),)), limit)
    return nearest_change(table, rule, build_utility(table), [requirement], suppression=suppression)


@pytest.mark.deep
@pytest.mark.parametrize(("k", "limit"), [(5, 0), (5, 1206), (50, 300)])
def test_of_five_attributes_the_change_loses_least(k, limit):
    table, hand = context_of(*FIVE).table, by_hand(*FIVE)
    rated = []
    for levels in hand.rules():
        gone = int(small(hand, levels, k).sum())
        if gone <= limit:
            rated.append((-hand.utility(levels) * (hand.n - gone) / hand.n, gone, sum(levels), levels))
    less, suppressed, _, levels = min(rated)
    change = change_of(table, hand, k, limit)
    assert (change.status, change.proven) == ("found", True)
    assert tuple(change.levels.get(name, 0) for name in table.attributes) == levels
    assert change.suppressed_records == suppressed
    assert change.utility_after == pytest.approx(-less, abs=1e-9)
    assert int((~apply(change.rule, table).any(axis=1)).sum()) == suppressed


@pytest.mark.deep
def test_of_all_twelve_thousand_rules_the_change_loses_least():
    table, hand = context_of().table, by_hand()
    passing = [levels for levels in hand.rules() if not small(hand, levels, 5).any()]
    expected = min(passing, key=lambda levels: (-hand.utility(levels), sum(levels), levels))
    change = change_of(table, hand, 5, 0)
    assert change.proven
    assert tuple(change.levels.get(name, 0) for name in table.attributes) == expected

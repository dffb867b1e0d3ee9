"""Suppressed records as one more class: who is of it, what it shows, and that all criteria hold with it."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.judging import JudgedRecords, Population
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import KMap
from app.domain.models.overlapping import OverlappingClasses
from app.domain.models.suppression import own_block, passes_with_block
from app.domain.tables.table import Table
from tests.oracles.recodings import ILLNESS, SMALL

ROWS = [[1, 1], [1, 2], [2, 1], [3, 1], [4, 2]]
CLASSES = np.array([0, 0, 1, 2, 3])
SHOWN = np.array([[1], [2], [3], [4]], dtype=np.int32)


def records():
    table = Table(
        ("a", "illness"), (SMALL, ILLNESS), np.array(ROWS, dtype=np.int32), sensitive=frozenset({"illness"})
    )
    return JudgedRecords(table, np.arange(5, dtype=np.int32))


def test_who_is_left_out_for_a_missing_value_is_not_of_the_block():
    suppressed, left_out = np.array([True, True, False]), np.array([True, False, False])
    assert own_block(suppressed, left_out, "own_block").tolist() == [False, True, False]
    assert not own_block(suppressed, left_out, "excluded").any()


def test_the_block_is_one_class_of_which_nothing_is_shown_and_who_anybody_may_be():
    people = Population(np.array([2, 3, 4, 1]), 7, 17, SHOWN)
    judged = records().judged(CLASSES, 4, people)
    block = judged.with_block(np.array([False, True, False, True]))
    assert block.records.tolist() == [2, 2, 1]
    assert block.class_of_group.tolist() == [1, 1, 0, 2, 0]
    assert block.counts("illness").distinct.tolist() == [2, 2, 1]
    assert (block.population().tolist(), block.outside()) == ([17, 2, 4], 0)


def test_what_is_suppressed_matches_nobody_where_missing_values_match_everything():
    shown = np.array([[1, 1], [2, 1], [1, TOP], [4, 2]], dtype=np.int32)
    judged = OverlappingClasses(records(), CLASSES, 4, shown, shown == TOP)
    assert judged.sizes.tolist() == [3, 1, 3, 1]
    block = judged.with_block(np.array([False, True, False, True]))
    assert block.sizes.tolist() == [2, 3, 3]
    assert block.shows_nothing.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("criterion", "passes"),
    [(KAnonymity(2), False), (KAnonymity(1), True), (DistinctLDiversity(2), False), (KMap(3), False)],
)
def test_criteria_have_to_hold_of_the_block_and_of_the_others(criterion, passes):
    people = Population(np.array([3, 3, 1, 3]), 0, 10, SHOWN)
    judged = records().judged(CLASSES, 4, people)
    assert passes_with_block(judged, (criterion,), np.array([False, True, False, True])) == passes


def test_the_block_may_hold_what_would_fail_alone():
    judged = records().judged(CLASSES, 4)
    assert passes_with_block(judged, (DistinctLDiversity(2),), np.array([False, True, True, True]))
    assert not passes_with_block(judged, (DistinctLDiversity(2),), np.array([False, True, True, False]))

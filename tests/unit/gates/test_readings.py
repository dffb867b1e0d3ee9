"""How a gate reads missing values and suppressed records, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.classes.grouping import Grouping
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import NotSupported
from app.domain.gates.class_shares import failing_records
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.class_suppression import suppress_records
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.population_uniqueness import PopulationUniqueness
from app.domain.rules.rule import CellRule, TableRule
from app.domain.tables.table import Table

TOWN = Hierarchy.from_parents({"x": [None], "y": [None], "z": [None]})
ILL = Hierarchy.from_parents({"flu": [None], "cold": [None]})
# One in x, two of whom the town is missing, two in y.
TABLE = Table(
    ("town", "ill"),
    (TOWN, ILL),
    np.array([[1, 1], [0, 1], [0, 2], [2, 1], [2, 2]], dtype=np.int32),
    sensitive=frozenset({"ill"}),
)
PLAIN = TableRule((0, 0))


def failing(missing, suppressed, rule=PLAIN, absent=None) -> list[int]:
    reading = Grouping(missing=missing, suppressed=suppressed)
    return np.flatnonzero(
        failing_records(Release(TABLE, rule), KAnonymity(2), reading, absent=absent)
    ).tolist()


def some(*rows: int):
    found = np.zeros(TABLE.n_records, dtype=bool)
    found[list(rows)] = True
    return found


@pytest.mark.parametrize(
    ("missing", "expected"), [("own_category", [0]), ("matches_everything", []), ("excluded", [0, 1, 2])]
)
def test_readings_of_missing_values_differ(missing, expected):
    """Nobody is like x but who may be anything; who lacks a town is no company where that is excluded."""
    assert failing(missing, "excluded") == failing(missing, "own_block") == expected


@pytest.mark.parametrize(
    ("missing", "suppressed", "withheld", "expected"),
    [
        ("own_category", "excluded", (0, 1, 2), []),
        ("own_category", "own_block", (0, 1, 2), []),
        ("excluded", "excluded", (0, 1, 2), []),
        # The block is of x alone: at the others nobody looks.
        ("excluded", "own_block", (0, 1, 2), [0]),
        ("excluded", "excluded", (1, 2), [0]),
        # Who misses the town shows none, and cannot be told from whom it is suppressed.
        ("matches_everything", "own_block", (3,), [0, 4]),
        ("matches_everything", "excluded", (3,), [0, 4]),
    ],
)
def test_readings_of_suppressed_records_differ(missing, suppressed, withheld, expected):
    rule = suppress_records(TABLE, PLAIN, some(*withheld), missing, suppressed)
    assert failing(missing, suppressed, rule) == expected


def test_records_that_are_not_in_a_file_are_no_company_of_those_whose_town_is_suppressed():
    shown = TABLE.codes.copy()
    shown[0, 0] = 0
    shown[3:] = 0
    # In the file are three rows without a town; the two people of y are not.
    assert failing("matches_everything", "own_block", CellRule(shown), some(3, 4)) == []
    shown[1:3] = 0
    assert failing("matches_everything", "own_block", CellRule(shown), some(1, 2, 3, 4)) == [0]
    assert failing("own_category", "own_block", CellRule(shown), some(1, 2, 3, 4)) == [0]


def test_estimates_that_need_classes_which_share_no_record_are_refused():
    reading = Grouping(missing="matches_everything")
    with pytest.raises(NotSupported):
        failing_records(Release(TABLE, PLAIN), PopulationUniqueness(0.5, sampling_fraction=0.5), reading)


@pytest.mark.parametrize(("lower", "fails"), [(0.0, False), (0.2, True)])
def test_a_release_of_nobody_does_not_hide_who_is_outside(lower, fails):
    """Nobody of z is in the table: measure and searches say no to a lower bound, whoever is shown."""
    codes = np.array([[1], [1], [2], [2]], dtype=np.int32)
    table = Table(("town",), (TOWN,), codes)
    people = np.array([1, 1, 2, 2, 3], dtype=np.int32)
    counter = Counter(table, Dictionary(5, (link_nodes("town", TOWN, people),)))
    for gone in ([0, 1, 2, 3], [0, 1]):
        withheld = np.isin(np.arange(4), gone)
        release = Release(table, suppress_records(table, TableRule((0,)), withheld))
        found = failing_records(release, DeltaPresence(lower, 1.0), counter=counter)
        assert found.tolist() == [fails] * 4

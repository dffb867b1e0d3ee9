"""Rules as values, and tables: what is accepted and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import TableRule, apply, identity, record_rule, suppression, table_rule
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, T, nodes


def test_table_rules_are_ordered_as_the_lattice_is():
    assert TableRule((0, 1)) <= TableRule((0, 1))
    assert TableRule((0, 1)) < TableRule((1, 1))
    assert not TableRule((0, 1)) <= TableRule((1, 0))
    assert not TableRule((1, 0)) <= TableRule((0, 1))
    assert len({TableRule((0, 1)), TableRule((0, 1))}) == 1


def test_levels_by_name_default_to_as_it_is():
    assert table_rule(T, {"race": 2}) == TableRule((0, 2, 0))


def test_every_wrong_level_is_named_with_its_bound():
    with pytest.raises(InvalidInput) as caught:
        table_rule(T, {"city": 6, "race": -1, "zip": 0})
    assert [fault.pointer for fault in caught.value.faults] == ["/levels/zip", "/levels/city", "/levels/race"]
    assert "outside 0..5" in caught.value.faults[1].message


def test_suppression_suppresses_the_named_attributes_and_no_others():
    disclosed = apply(suppression(T, ["race"]), T)
    assert (disclosed[:, 1] == TOP).all()
    np.testing.assert_array_equal(disclosed[:, [0, 2]], T.codes[:, [0, 2]])
    with pytest.raises(InvalidInput, match="no attribute 'zip'"):
        suppression(T, ["zip"])


def test_identity_discloses_everything_as_it_is():
    disclosed = apply(identity(3), T)
    np.testing.assert_array_equal(disclosed, T.codes)
    with pytest.raises(ValueError, match="read-only"):
        disclosed[0, 0] = 0


def test_steps_of_a_record_end_at_the_top():
    steps = np.zeros((6, 3), dtype=int)
    steps[1] = (1, 2, 2)
    steps[2] = (5, 0, 0)
    disclosed = apply(record_rule(T, steps), T)
    assert disclosed[1].tolist() == [CITY.node_of("Greater Lafayette"), TOP, TOP]
    assert disclosed[2, 0] == TOP, "Dayton is only 4 below the top"
    np.testing.assert_array_equal(disclosed[[0, 3, 4, 5]], T.codes[[0, 3, 4, 5]])


def test_steps_out_of_range_are_refused_with_their_rows():
    steps = np.zeros((6, 3), dtype=int)
    steps[4, 1] = 3
    with pytest.raises(InvalidInput, match=r"'race' outside 0\.\.2 \(first rows: 5\)"):
        record_rule(T, steps)
    with pytest.raises(InvalidInput, match="for 5 records"):
        record_rule(T, steps[:5])


def test_a_rule_for_another_number_of_attributes_is_refused():
    with pytest.raises(InvalidInput, match="2 levels"):
        apply(TableRule((0, 0)), T)


def test_distinct_records_come_in_canonical_order_with_their_counts():
    codes = nodes(("Dayton", "White", None), ("Chicago", None, None), ("Dayton", "White", None))
    table = Table(T.attributes, T.hierarchies, codes)
    rows = table.distinct()
    assert rows.size == 2
    assert rows.codes.tolist() == sorted(rows.codes.tolist())
    assert rows.counts[rows.inverse].tolist() == [2, 1, 2]
    np.testing.assert_array_equal(rows.codes[rows.inverse], table.codes)
    split = table.distinct(extra=[(np.array([0, 0, 1], dtype=np.int32), 2)])
    assert split.size == 3


def test_an_empty_dataset_is_refused():
    with pytest.raises(InvalidInput, match="no records"):
        Table(T.attributes, T.hierarchies, T.codes[:0])


def test_a_repeated_identifier_is_refused_by_row_and_not_by_value():
    ids = np.array(["a", "b", "a", "c", "b", "d"], dtype=object)
    with pytest.raises(InvalidInput, match=r"in 2 rows \(first rows: 3, 5\)"):
        Table(T.attributes, T.hierarchies, T.codes, ids)

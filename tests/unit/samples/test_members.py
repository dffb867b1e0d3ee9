import math
import time
from datetime import date

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.samples import members
from app.samples.members import CASE_STUDY, REFERENCE_DATE, generate
from tests.benchmarks.wide_table import wide_table


def completed_years(born: date, day: date) -> int:
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("n_members", "n_entities", "seed"), [(20_000, 50_000, members.SEED), (1, 7, 3), (7, 7, 4), (300, 305, 5)]
)
def test_exactly_seven_people_are_consistent_with_the_case_study(n_members, n_entities, seed):
    sample = generate(n_members, n_entities, seed)
    cases = [row for row in rows(sample.members) if all(row[a] == v for a, v in CASE_STUDY.items())]
    assert len(cases) == 1
    assert cases[0] == rows(sample.members)[0]
    city_of = members.zip_to_city()
    age = completed_years(date.fromisoformat(cases[0]["birth_date"]), REFERENCE_DATE)
    count = sum(
        person["race"] == cases[0]["race"]
        and city_of[person["zip"]] == cases[0]["city"]
        and int(person["age"]) == age
        for person in rows(sample.census)
    )
    assert count == 7
    phi = math.exp(sum(members.WEIGHTS[attribute] for attribute in CASE_STUDY))
    assert phi == pytest.approx(7.028688, abs=5e-7)
    assert phi / count == pytest.approx(1.004098, abs=5e-7)


def test_every_member_is_among_the_census_people_under_the_same_identifier():
    sample = generate(500, 900, 11)
    people = {person["person_id"]: person for person in rows(sample.census)}
    assert len(people) == 900
    city_of = members.zip_to_city()
    for member in rows(sample.members):
        person = people[member["member_id"]]
        assert city_of[person["zip"]] == member["city"]
        assert person["race"] == member["race"]
        assert int(person["age"]) == completed_years(date.fromisoformat(member["birth_date"]), REFERENCE_DATE)


def test_every_value_is_a_leaf_of_its_hierarchy():
    sample = generate(5_000, 5_000, 2)
    assert set(sample.members["city"]) <= {row[0] for row in members.city_rows()}
    assert set(sample.members["race"]) <= {race for races in members.RACES.values() for race in races}
    assert set(sample.members["income"]) <= {row[0] for row in members.income_rows()}
    first, last = members.BIRTH_DATES
    born = [date.fromisoformat(value) for value in sample.members["birth_date"]]
    assert first <= min(born) <= max(born) <= last


@pytest.mark.parametrize(
    ("hierarchy_rows", "leaves"), [(members.city_rows(), 52), (members.income_rows(), 300)]
)
def test_hierarchies_by_rows_have_four_levels_below_the_top_and_no_label_twice(hierarchy_rows, leaves):
    assert len(hierarchy_rows) == leaves
    assert {len(row) for row in hierarchy_rows} == {4}
    parent_of = {}
    for row in hierarchy_rows:
        for node, parent in zip(row, [*row[1:], None], strict=True):
            assert parent_of.setdefault(node, parent) == parent


def test_equal_arguments_give_equal_tables_and_another_seed_others():
    first, again, other = generate(200, 300, 1), generate(200, 300, 1), generate(200, 300, 2)
    for name, column in first.members.items():
        assert np.array_equal(column, again.members[name])
    assert any(not np.array_equal(column, other.census[name]) for name, column in first.census.items())


def test_the_csv_holds_every_row_in_order():
    sample = generate(120, 200, 1)
    text = b"".join(members.csv_chunks(sample.census, rows_per_chunk=17)).decode()
    lines = text.splitlines()
    assert lines[0] == "person_id,age,gender,zip,race,education"
    assert [tuple(line.split(",")) for line in lines[1:]] == list(zip(*sample.census.values(), strict=True))


def test_the_wide_table_has_ten_columns_one_of_them_unique_and_agrees_with_itself():
    wide = wide_table(2_000)
    assert len(wide) == 10
    assert len(set(wide["member_id"])) == 2_000
    city_of = members.zip_to_city()
    for row in rows(wide):
        assert city_of[row["zip"]] == row["city"]


@pytest.mark.parametrize(("n_members", "n_entities"), [(0, 100), (101, 100), (3, 6)])
def test_impossible_sizes_are_refused(n_members, n_entities):
    with pytest.raises(InvalidInput):
        generate(n_members, n_entities)


@pytest.mark.deep
def test_a_million_people_take_seconds():
    start = time.process_time()
    sample = generate(1_000_000, 1_000_000)
    assert len(sample.members["member_id"]) == 1_000_000
    assert time.process_time() - start < 30

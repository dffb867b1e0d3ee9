"""Hierarchies made from their leaves."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInput, TooLarge
from app.domain.hierarchies.builders import dates, flat, intervals, leaf_range, masking, ordered_groups
from app.domain.hierarchies.hierarchy import TOP, Hierarchy


def path(h: Hierarchy, value: str) -> list[str]:
    node = h.node_of(value)
    return [h.labels[h.ancestor_steps(s)[node]] for s in range(int(h.depth[node]) + 1)]


def test_intervals_are_half_open_and_nest():
    h = intervals(["52000", "60000", "59999.5", "-1"], ["10000", 100000])
    assert path(h, "52000") == ["52000", "[50000, 60000[", "[0, 100000[", "*"]
    assert path(h, "60000")[1] == "[60000, 70000["
    assert path(h, "59999.5")[1] == "[50000, 60000["
    assert path(h, "-1")[1:3] == ["[-10000, 0[", "[-100000, 0["]
    assert [h.labels[leaf] for leaf in h.leaves] == ["-1", "52000", "59999.5", "60000"]


def test_intervals_start_at_the_origin_and_take_fractions():
    assert path(intervals(["0.25"], ["0.1"], origin="0.05"), "0.25")[1] == "[0.25, 0.35["


@pytest.mark.parametrize(
    ("values", "widths", "code"),
    [
        (["a"], [10], "not-a-number"),
        (["1"], [0], "not-positive"),
        (["1"], [10, 15], "not-nested"),
        (["NaN"], [10], "not-a-number"),
        ([], [10], "empty"),
        (["1"], [10, 10], "not-nested"),
    ],
)
def test_intervals_refuse_what_does_not_nest(values, widths, code):
    with pytest.raises(InvalidInput) as caught:
        intervals(values, widths)
    assert caught.value.faults[0].code == code


def test_groups_of_an_order_hold_neighbours():
    h = ordered_groups(["a", "b", "c", "d", "e"], [2, 2])
    assert path(h, "c") == ["c", "[c, d]", "[a, d]", "*"]
    assert path(h, "e") == ["e", "[e, e]", "[e, e]", "*"]
    with pytest.raises(InvalidInput):
        ordered_groups(["a", "b"], [1])


def test_masking_hides_one_character_more_per_level():
    assert path(masking(["47906", "47907"]), "47906") == [
        "47906",
        "4790*",
        "479**",
        "47***",
        "4****",
        "*****",
    ]
    assert path(masking(["abc", "xbc"], side="left"), "abc") == ["abc", "*bc", "**c", "***"]


def test_masking_fills_up_shorter_values_on_the_side_asked_for():
    right = masking(["SW1A", "SW1"])
    assert path(right, "SW1")[1:3] == ["SW1*", "SW**"]
    assert path(right, "SW1A")[1] == "SW1*"
    left = masking(["7", "17"], pad="left")
    assert path(left, "7") == ["7", " *", "**"]
    with pytest.raises(InvalidInput):
        masking(["a"], char="**")


def test_dates_are_truncated_to_the_levels_asked_for():
    h = dates(["1975-05-10", "1974-12-31"], ["day", "month", "quarter", "year", "decade"])
    assert path(h, "1975-05-10") == ["1975-05-10", "1975-05", "1975-Q2", "1975", "1970s", "*"]
    assert [h.labels[leaf] for leaf in h.leaves] == ["1974-12-31", "1975-05-10"]
    assert path(dates(["1975-05"], ["month", "year"]), "1975-05") == ["1975-05", "1975", "*"]
    assert dates(["1975-05-10"], ["day", "year"]).height == 2


def test_times_stand_below_the_levels_from_second_to_year():
    levels = ["second", "minute", "hour", "day", "month", "quarter", "year", "decade"]
    h = dates(["2024-05-01 08:07:30", "2024-05-01 08:07:31", "2024-05-01"], levels)
    assert path(h, "2024-05-01 08:07:30") == [
        "2024-05-01 08:07:30", "2024-05-01 08:07", "2024-05-01 08", "2024-05-01", "2024-05", "2024-Q2",
        "2024", "2020s", "*",
    ]  # fmt: skip
    assert [h.labels[leaf] for leaf in h.leaves] == [
        "2024-05-01",
        "2024-05-01 08:07:30",
        "2024-05-01 08:07:31",
    ]


def test_what_is_finer_than_the_first_level_stands_below_it():
    h = dates(["2024-05-01 08:07:30.25", "2024-05-01 08:07:30.5"], ["second", "day"])
    assert path(h, "2024-05-01 08:07:30.5") == [
        "2024-05-01 08:07:30.5", "2024-05-01 08:07:30", "2024-05-01", "*",
    ]  # fmt: skip
    h = dates(["2024-05-01 08:07:30", "2024-05-02"], ["day", "year"])
    assert path(h, "2024-05-01 08:07:30") == ["2024-05-01 08:07:30", "2024-05-01", "2024", "*"]


def test_clocks_of_several_zones_are_not_mixed_below_the_day():
    h = dates(["2024-05-01 08:07:30Z", "2024-05-01 08:07:31+02:00"], ["second", "hour", "day"])
    assert path(h, "2024-05-01 08:07:30Z") == ["2024-05-01 08:07:30Z", "2024-05-01 08Z", "2024-05-01", "*"]
    assert path(h, "2024-05-01 08:07:31+02:00")[1:] == ["2024-05-01 08+02:00", "2024-05-01", "*"]


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["2024-05-01 08:07:61"], ["second"]),
        (["2024-05"], ["second"]),
        (["1975-02-30"], ["day"]),
        (["1975-05"], ["day"]),
        (["10.05.1975"], ["day"]),
        (["1975-05-10"], []),
        (["1975-05-10"], ["month", "day"]),
        (["1975-05-10"], ["day", "day"]),
        (["1975-05-10"], ["day", "week"]),
    ],
)
def test_what_is_no_date_or_no_list_of_levels_is_refused(values, levels):
    with pytest.raises(InvalidInput):
        dates(values, levels)


def test_flat_puts_every_value_below_the_top():
    h = flat(["b", "a", "b"])
    assert [h.labels[leaf] for leaf in h.leaves] == ["b", "a"]
    assert h.height == 1
    assert h.parent.tolist() == [TOP, TOP, TOP]


def test_ranges_of_numbers_and_of_days_include_both_ends():
    assert leaf_range("0", "3", "1.5") == ["0", "1.5", "3"]
    assert leaf_range("1999-12-30", "2000-01-02", "1") == [
        "1999-12-30",
        "1999-12-31",
        "2000-01-01",
        "2000-01-02",
    ]
    with pytest.raises(InvalidInput):
        leaf_range("3", "0")
    with pytest.raises(InvalidInput):
        leaf_range("2000-01-01", "2000-02-01", "0")
    with pytest.raises(TooLarge):
        leaf_range("0", "1", "0.0000001")

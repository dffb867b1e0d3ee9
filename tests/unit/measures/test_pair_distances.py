"""Distances between two places of each record: by hand, by brute force over records, and what is refused."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables
from app.domain.analyses.pair_distances import EARTH_KM, coordinates_of, great_circles, pair_distances
from app.domain.analyses.synthetic_measures import UtilityParameters
from app.domain.errors import InvalidInput

DATA = os.environ.get("PRIVACY_RISK_DATA")
DEGREE = EARTH_KM * math.pi / 180
PLACES = {"A": (0.0, 0.0), "B": (1.0, 0.0), "C": (2.0, 0.0), "N": (0.0, 90.0)}


def tables_of(original: list[tuple[str, str]], synthetic: list[tuple[str, str]]) -> ComparedTables:
    """Tables of home, work and a third column; an empty text is a missing value."""
    columns, codes = [], []
    for j, name in enumerate(("home", "work")):
        values = ["", *sorted({row[j] for row in original + synthetic} - {""})]
        columns.append(ComparedColumn(name, values))
        codes.append(np.array([values.index(row[j]) for row in original + synthetic], dtype=np.int32))
    columns.insert(1, ComparedColumn("other", ["", "x"]))
    codes.insert(1, np.ones(len(codes[0]), dtype=np.int32))
    both = np.stack(codes, axis=1)
    return ComparedTables(tuple(columns), both[: len(original)], both[len(original) :])


def refused(*arguments: object, of: object = pair_distances) -> tuple[str, str, str]:
    with pytest.raises(InvalidInput) as caught:
        of(*arguments)  # type: ignore[operator]
    (fault,) = caught.value.faults
    assert fault.remedy
    return fault.pointer, fault.code, fault.message


def test_four_pairs_on_the_equator_are_compared_as_by_hand():
    """One pair goes to the pole in place of two degrees, one from the place next door to the same place."""
    original = [("A", "A"), ("A", "B"), ("B", "C"), ("A", "C")]
    synthetic = [("A", "A"), ("A", "A"), ("A", "B"), ("A", "N"), ("A", "unlisted"), ("", "A")]
    found = pair_distances(tables_of(original, synthetic), ("home", "work"), PLACES, (50.0, 150.0))
    assert [(own.least, own.below) for own in found.bands] == [(0, 50), (50, 150), (150, None)]
    assert [(own.original, own.synthetic, own.difference) for own in found.bands] == [
        (0.25, 0.5, 0.25), (0.5, 0.25, -0.25), (0.25, 0.25, 0.0),
    ]  # fmt: skip
    assert found.difference == 0.25
    assert found.median_original == pytest.approx(111.195080, abs=1e-6)
    assert found.median_difference == pytest.approx(-DEGREE / 2, abs=1e-6)
    assert found.mean_original == pytest.approx(DEGREE, abs=1e-6)
    assert found.mean_difference == pytest.approx((0 + 0 + 1 + 90) / 4 * DEGREE - DEGREE, abs=1e-6)
    assert (found.left_out_original, found.left_out_synthetic, found.unknown_places) == (0, 2, 1)


def test_a_published_distance_is_met_and_opposite_points_are_half_a_circle_apart():
    """Nashville to Los Angeles by airport, 2,887.2599506 km on a sphere of 6,372.8 km (Rosetta Code)."""
    points = np.radians([[-86.67, 36.12], [-118.40, 33.94], [10.0, 20.0], [-170.0, -20.0]])
    found = great_circles(points[[0, 2]], points[[1, 3]])
    assert found[0] * 6372.8 == pytest.approx(2887.2599506, abs=1e-6)
    assert found[1] == pytest.approx(math.pi, abs=1e-7)


def unit_vector(longitude: float, latitude: float) -> np.ndarray:
    x, y = math.radians(longitude), math.radians(latitude)
    return np.array([math.cos(y) * math.cos(x), math.cos(y) * math.sin(x), math.sin(y)])


NAMES = st.sampled_from(["A", "B", "C", "D", "E", ""])
PAIRS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=12)


@given(
    PAIRS,
    PAIRS,
    st.dictionaries(st.sampled_from("ABCD"), st.tuples(st.floats(-180, 180), st.floats(-90, 90)), min_size=1),
    st.lists(st.floats(0.1, 20_000), max_size=4),
)
def test_bands_and_moments_are_those_counted_record_by_record(original, synthetic, places, limits):
    def distances(rows: list[tuple[str, str]]) -> list[float]:
        found = []
        for row in rows:
            if all(name in places for name in row):
                first, second = (unit_vector(*places[name]) for name in row)
                sine = float(np.linalg.norm(np.cross(first, second)))
                found.append(EARTH_KM * math.atan2(sine, float(first @ second)))
        return found

    tables, expected = tables_of(original, synthetic), [distances(original), distances(synthetic)]
    if not all(expected):
        assert refused(tables, ("home", "work"), places)[:2] == ("/places", "no-pair")
        return
    found = pair_distances(tables, ("home", "work"), places, limits)
    assert found.median_original == pytest.approx(float(np.median(expected[0])), abs=1e-3)
    assert found.mean_original == pytest.approx(float(np.mean(expected[0])), abs=1e-3)
    assert found.median_difference == pytest.approx(
        float(np.median(expected[1])) - found.median_original, abs=1e-3
    )
    assert found.mean_difference == pytest.approx(float(np.mean(expected[1])) - found.mean_original, abs=1e-3)
    listed = {name for row in original + synthetic for name in row if name}
    assert found.unknown_places == len(listed - places.keys())
    assert found.left_out_original == len(original) - len(expected[0])
    assert found.left_out_synthetic == len(synthetic) - len(expected[1])
    ends = [own.least for own in found.bands]
    assert ends[0] == 0
    assert [own.below for own in found.bands] == [*ends[1:], None]
    if limits:
        assert ends[1:] == sorted(set(limits))
    for table, name in zip(expected, ("original", "synthetic"), strict=True):
        assert sum(getattr(own, name) for own in found.bands) == pytest.approx(1)
        near_a_limit = any(abs(one - end) < 1e-3 for one in table for end in ends[1:])
        for own in found.bands if not near_a_limit else ():
            inside = [one for one in table if own.least <= one < (own.below or math.inf)]
            assert getattr(own, name) == pytest.approx(len(inside) / len(table))
    moved = sum(abs(own.original - own.synthetic) for own in found.bands) / 2
    assert found.difference == pytest.approx(moved)


@given(PAIRS)
def test_a_copy_differs_in_no_band_and_no_moment_of_distance(rows):
    rows = [*rows, ("A", "B")]
    found = pair_distances(tables_of(rows, rows[::-1]), ("home", "work"), PLACES)
    assert found.difference == found.median_difference == 0
    assert found.mean_difference == pytest.approx(0, abs=1e-9)


def test_deciles_of_the_original_are_the_limits_without_others():
    places = {str(i): (float(i), 0.0) for i in range(101)}
    rows = [("0", str(i)) for i in range(1, 101)]
    found = pair_distances(tables_of(rows, rows[:50]), ("home", "work"), places)
    assert [own.least for own in found.bands[1:]] == pytest.approx([i * DEGREE for i in range(10, 100, 10)])
    assert [own.original for own in found.bands] == pytest.approx([0.09, *[0.1] * 8, 0.11])
    assert found.difference == pytest.approx(0.09 + 4 * 0.1)


def test_what_is_no_table_of_places_or_no_pair_is_refused_with_a_remedy():
    columns = {"home": ["A", "B", ""], "longitude": ["0", "1.5", "x"], "latitude": ["0", "", "2"]}
    pair = ("work", "home")
    assert coordinates_of(columns, pair) == {"A": (0.0, 0.0)}
    assert coordinates_of({**columns, "place": columns["home"]}, ("a", "b")) == {"A": (0.0, 0.0)}

    def fault(**changed: list[str]) -> tuple[str, str, str]:
        return refused({**columns, **changed}, pair, of=coordinates_of)

    assert refused({"home": ["A"], "x": ["1"]}, pair, of=coordinates_of) == (
        "/places", "other-columns", "It shows home, x.",
    )  # fmt: skip
    for wrong in ("x", "nan", "inf", "180.5", "-181"):
        pointer, code, message = fault(longitude=["0", wrong, "1"], latitude=["0", "1", "1"])
        assert (pointer, code) == ("/places", "wrong-coordinates")
        assert message.startswith("Row 2 ")
    assert fault(latitude=["90.1", "0", "0"])[1] == "wrong-coordinates"
    assert fault(home=["A", "B", "A"], longitude=["1", "2", "3"])[2].startswith("Row 3 ")
    tables = tables_of([("A", "B")], [("A", "X")])
    pointer, code, message = refused(tables, ("home", "work"), PLACES)
    assert (pointer, code) == ("/places", "no-pair")
    assert "none are listed of 1 place." in message
    assert refused(tables, ("home", "street"), PLACES) == (
        "/pair/1", "unknown-attribute", "'street' is not a column of the tables.",
    )  # fmt: skip


@pytest.mark.parametrize(
    "parameters",
    [{"pair": ("home", "work")}, {"places": "zones"}, {"pair": ("home",), "places": "zones"},
     {"pair": ("home", "home"), "places": "zones"}, {"bands": (5.0,)}],
)  # fmt: skip
def test_half_a_question_about_distances_is_refused(parameters):
    assert refused(of=lambda: UtilityParameters(**parameters))[:2] == ("/pair", "incomplete")


@pytest.mark.real_data
@pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data")
def test_commuters_of_leeds_with_shuffled_homes_travel_farther():
    """Homes drawn apart from work keep both marginals and lose how near people live to their work."""
    folder = Path(DATA or "") / "commuting-leeds-2011"
    with (folder / "flows.csv").open(newline="") as file:
        flows = list(csv.DictReader(file))
    with (folder / "zones.csv").open(newline="") as file:
        zones = list(csv.DictReader(file))
    columns = {("place" if name == "zone" else name): [row[name] for row in zones] for name in zones[0]}
    places = coordinates_of(columns, ("home", "work"))
    rows = [(own["geo_code1"], own["geo_code2"]) for own in flows for _ in range(int(own["all"]) // 10)]
    order = np.random.default_rng(1).permutation(len(rows)).tolist()
    shuffled = [(rows[i][0], work) for i, (_, work) in zip(order, rows, strict=True)]
    same = pair_distances(tables_of(rows, rows), ("home", "work"), places, (2, 5, 10))
    other = pair_distances(tables_of(rows, shuffled), ("home", "work"), places, (2, 5, 10))
    assert same.left_out_original == same.unknown_places == same.difference == 0
    assert sum(own.original for own in same.bands) == pytest.approx(1)
    assert other.median_difference > 0
    assert other.mean_difference > 0
    assert other.difference > 0.05
    assert other.bands[0].difference < 0

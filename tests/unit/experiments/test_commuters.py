"""S2 to S5 on tables of commuters that somebody has: with metres, or with coordinates of the places."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from app.cli import program
from app.domain.errors import InvalidInput
from app.experiments.catalogue import chosen
from app.experiments.report import Effort, Report

DATA = os.environ.get("PRIVACY_RISK_DATA")
DEGREE = 6371.0088 * math.pi / 180 / 1.609344
"""Miles of a degree along a great circle."""


def report(name: str, commuters: Path, places: Path | None = None) -> Report:
    (experiment,) = chosen((name,))
    return experiment.run(Effort(seeds=1, commuters=commuters, places=places))


def test_places_are_apart_by_great_circles(tmp_path: Path):
    commuters, places = tmp_path / "commuters.csv", tmp_path / "places.csv"
    rows = ("Pole,Quito,40,bus\n", "Quito,Quito,20,bus\n", "Quito,Pole,10,bus\n", "East,Pole,2,bus\n")
    commuters.write_text("home,work,workers,how\n" + "".join(rows))
    places.write_text("place,longitude,latitude\nPole,17,90\nQuito,0,0\nEast,90,0\n")
    (table,) = report("S2", commuters, places).tables
    real = {row[0]: row[2] for row in table.rows}
    assert real["31+"] == pytest.approx(90 * DEGREE * 40 / 60)
    assert real["11–30"] == pytest.approx(90 * DEGREE)


@pytest.mark.parametrize(
    ("commuters", "places"),
    [
        ("home,work,workers\nA,B,3\n", "place,longitude,latitude\nA,1,1\n"),
        ("home,work,workers\nA,A,many\n", "place,longitude,latitude\nA,1,1\n"),
        ("home,work\nA,A\n", "place,longitude,latitude\nA,1,1\n"),
        ("home,work,workers\nA,A,3\n", "place,longitude,latitude\nA,east,1\n"),
    ],
)
def test_a_place_without_coordinates_is_refused(tmp_path: Path, commuters: str, places: str):
    for name, text in (("commuters.csv", commuters), ("places.csv", places)):
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match="a place has no coordinates") as refused:
        report("S2", tmp_path / "commuters.csv", tmp_path / "places.csv")
    assert [own.pointer for own in refused.value.faults] == ["--places"]


def test_places_of_no_table_are_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="--places is of the table"):
        program.run(["experiment", "S2", "--places", str(tmp_path / "places.csv")], None)


@pytest.mark.deep
@pytest.mark.real_data
@pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data")
@pytest.mark.parametrize("name", ["S2", "S3", "S4", "S5"])
@pytest.mark.parametrize(
    "files",
    [
        ("commuting-leeds-2011/flows.csv", "commuting-leeds-2011/zones.csv"),
        ("commuting-us-lodes2018/monroe-ny-36055.csv",),
    ],
    ids=["Leeds", "Monroe County"],
)
def test_exact_claims_hold_of_real_commuters_and_little_of_them_is_noise(name: str, files: tuple[str, ...]):
    found = report(name, *(Path(DATA or "") / own for own in files))
    assert all(claim.holds for claim in found.claims if claim.grade == "exact")
    assert all(row[-1] < 0.2 for row in found.tables[0].rows)

"""A profile that a command computes itself is the one that a service would have told."""

from __future__ import annotations

import gzip
import json

import pytest

from app.cli import profile

pytestmark = pytest.mark.anyio

MEMBERS = "id,born,zip,sex,income,illness\n" + "".join(
    f"p{i},{1950 + i % 30}-0{1 + i % 9}-1{i % 10},{13000 + i % 7},{'mf'[i % 2]},{1000 + 37 * i % 400},"
    f"{('flu', 'Flu', 'cancer', '')[i % 4]}\n"
    for i in range(60)
)
VISITS = "patient,born,sex,zip,illness\n" + "".join(
    f"p{i // 3},19{40 + i // 3 % 50}-0{1 + i // 3 % 9}-11,{'mf'[i // 3 % 2]},{13000 + i // 3},{'ab'[i % 2]}\n"
    for i in range(180)
)
TABLES = {
    "members.csv": MEMBERS.encode(),
    "semicolons.csv": MEMBERS.replace(",", ";").encode("cp1252"),
    "visits.csv": VISITS.encode(),
    "strays.csv": (MEMBERS + "p60,unknown,,m,n/a,flu\n").encode(),
    "packed.csv.gz": gzip.compress(MEMBERS.encode()),
}
ASKED = [
    ("members.csv",),
    ("members.csv", "--quasi-identifiers", "zip", "sex", "--sensitive", "illness", "--rows-are", "persons"),
    ("members.csv", "--quasi-identifiers", "zip", "--sensitive", "income", "--missing", "excluded"),
    ("semicolons.csv", "--sensitive", "illness"),
    ("visits.csv", "--quasi-identifiers", "zip", "--sensitive", "illness", "--person", "patient"),
    ("visits.csv", "--quasi-identifiers", "zip", "--sensitive", "illness"),
    ("strays.csv", "--quasi-identifiers", "born", "zip", "--missing-marker", "n/a", "--missing-marker", ""),
    ("packed.csv.gz", "--quasi-identifiers", "born", "sex"),
]


@pytest.fixture
def tables(tmp_path):
    for name, content in TABLES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("asked", ASKED, ids=lambda own: " ".join(own))
async def test_it_is_the_profile_that_the_service_tells(console, capsys, monkeypatch, tables, asked):
    table, *more = asked
    told = []
    for is_small in (True, False):
        monkeypatch.setattr(profile, "is_small", lambda _, small=is_small: small)
        status = await console("profile", tables / table, *more, "--json")
        captured = capsys.readouterr()
        document = json.loads(captured.out) if captured.out else {}
        told.append((status, captured.err, document | {"seconds": None}))
        if document:
            assert (document["seconds"]["service"] == 0.0) is is_small
    assert told[0] == told[1]


async def test_signs_that_people_have_several_rows_are_looked_for(console, capsys, tables):
    assert await console("profile", tables / "visits.csv", "--quasi-identifiers", "zip", "sex") == 0
    assert "One person seems to have several rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more",
    [
        ("--quasi-identifiers", "zip", "--level", "zip=1"),
        ("--quasi-identifiers", "zip", "--hierarchy", "zip=zip.csv"),
        ("--quasi-identifiers", "nothing"),
    ],
)
async def test_what_takes_more_is_asked_of_a_service(console, capsys, monkeypatch, tables, more):
    (tables / "zip.csv").write_text("".join(f"{13000 + i};*\n" for i in range(7)))
    monkeypatch.chdir(tables)
    told = []
    for is_small in (True, False):
        monkeypatch.setattr(profile, "is_small", lambda _, small=is_small: small)
        told.append((await console("profile", "members.csv", *more), capsys.readouterr().err))
    assert told[0] == told[1]

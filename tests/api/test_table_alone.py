"""What a command computes about a table itself is what a service would have told."""

from __future__ import annotations

import gzip
import json

import anyio.to_thread
import pytest

from app.cli import anonymise, profile, table_alone
from app.cli.operations import Operations
from app.cli.program import run
from app.domain.errors import PrivacyRiskError

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
    ("members.csv", "--quasi-identifiers", "zip", "--sensitive", "illness", "--hierarchy", "zip=zip.csv"),
]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    for name, content in TABLES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "zip.csv").write_text("".join(f"{13000 + i};1300*;*\n" for i in range(7)))
    (tmp_path / "short.csv").write_text("13000;*\n")
    (tmp_path / "zip.json").write_text(json.dumps({"kind": "masking", "side": "right"}))
    monkeypatch.chdir(tmp_path)
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
        ("--quasi-identifiers", "zip", "--hierarchy", "zip=short.csv"),
        ("--quasi-identifiers", "nothing"),
    ],
)
async def test_what_takes_more_is_asked_of_a_service(console, capsys, monkeypatch, tables, more):
    told = []
    for is_small in (True, False):
        monkeypatch.setattr(profile, "is_small", lambda _, small=is_small: small)
        told.append((await console("profile", "members.csv", *more), capsys.readouterr().err))
    assert told[0] == told[1]


ANONYMISED = [
    ("members.csv", "--k", "3"),
    ("members.csv", "--k", "2", "--l", "2", "--t", "illness=0.9", "--quasi-identifiers", "zip", "sex"),
    (
        "members.csv",
        "--k",
        "3",
        "--beta",
        "illness=4",
        "--quasi-identifiers",
        "zip",
        "born",
        "--importance",
        "zip=2",
    ),
    (
        "members.csv",
        "--k",
        "2",
        "--sensitive",
        "income",
        "--hierarchy",
        "zip=zip.csv",
        "--max-suppressed",
        "0.5",
    ),
    ("members.csv", "--k", "2", "--hierarchy", "zip=zip.json", "--identifier", "id", "--rows-are", "persons"),
    ("semicolons.csv", "--k", "61"),
    ("semicolons.csv", "--k", "60", "--max-suppressed", "0"),
    ("members.csv", "--k", "2", "--l", "5", "--max-suppressed", "0"),
    ("visits.csv", "--k", "3", "--quasi-identifiers", "zip", "--sensitive", "illness", "--person", "patient"),
    ("visits.csv", "--k", "3", "--quasi-identifiers", "zip", "--sensitive", "illness"),
    ("visits.csv", "--k", "3", "--quasi-identifiers", "zip", "--one-row-per-person", "patient"),
    ("strays.csv", "--k", "2", "--quasi-identifiers", "born", "zip"),
    ("packed.csv.gz", "--k", "4", "--quasi-identifiers", "sex", "zip"),
    ("members.csv", "--k", "3", "--quasi-identifiers", "zip", "--hierarchy", "zip=short.csv"),
]


@pytest.mark.parametrize("asked", ANONYMISED, ids=lambda own: " ".join(own))
async def test_it_is_the_release_that_the_service_makes(console, capsys, monkeypatch, tables, asked):
    table, *more = asked
    told = []
    for is_small in (True, False):
        monkeypatch.setattr(anonymise, "is_small", lambda _, small=is_small: small)
        files = [tables / name for name in ("release.csv", "policy.toml")]
        options = ("--output", files[0], "--save-policy", files[1], "--json")
        try:
            status = await console("anonymise", table, *more, *options)
        except PrivacyRiskError as error:
            status = str(error)
        captured = capsys.readouterr()
        lines = sorted(files[0].read_text().splitlines()) if files[0].exists() else None  # the order is drawn
        policy = files[1].read_text() if files[1].exists() else None
        document = json.loads(captured.out) if captured.out else None
        told.append((status, captured.err, document, lines, policy))
        for file in files:
            file.unlink(missing_ok=True)
    assert told[0] == told[1]


async def test_a_release_of_a_small_table_needs_no_service(monkeypatch, tables):
    operations = Operations(**dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None))
    monkeypatch.setattr(table_alone, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(table_alone._Search, "wait", slowly(table_alone._Search.wait))
    output = tables / "release.csv"
    argv = ["anonymise", str(tables / "members.csv"), "--k", "3", "--output", str(output)]
    assert await anyio.to_thread.run_sync(lambda: run(argv, operations)) == 0
    assert len(output.read_text().splitlines()) == 61


def slowly(wait):
    """As if the search had not ended when it is first asked about: its progress is told."""
    answers = iter([False, False])
    return lambda search, seconds: next(answers, None) is None and wait(search, 60)

"""What is judged is what leaves: times of day and spellings, at every door, against what a file holds."""

from __future__ import annotations

import csv
import datetime as dt
import json
import random
import re
from collections import Counter
from itertools import product

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import privacy_risk as pr

pytestmark = pytest.mark.anyio

STAMPS = [dt.datetime(2024, 5, 1 + n % 3, 8 + n % 5, 7 * n % 60, n % 60) for n in range(60)]
"""Sixty moments of three days: each is by itself, and twenty people share each day."""
DAYS = Counter(own.date() for own in STAMPS)


def policy(k, *columns):
    requirement = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": k}}
    own = {"id": "k", "title": "k", "reason": "As asked for.", "requirement": requirement}
    return {
        "format": "privacy-risk/policy/2",
        "name": f"p{k}",
        "version": 1,
        "title": "k",
        "assumes": {"attacker": "Anybody."},
        "schema": {"attributes": dict.fromkeys(columns, "quasi_identifier"), "rows_are": "persons"},
        "requirements": [own],
    }


def written(path, *columns, names=("x", "y")):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names[: len(columns)], *zip(*columns, strict=True)])
    return path


def described(path, table, reading="", **columns):
    """A description of the table; ``columns`` are what it says of each."""
    parts = [f'[dataset]\nname = "t"\nfile = "{table}"\nrows_are = "persons"\n{reading}\n']
    parts += [f"[dataset.attributes.{name}]\n{said}\n" for name, said in columns.items()]
    path.write_text("\n".join(parts))
    return path


async def k_of(console, capsys, *arguments):
    """The k of a table's profile, by the command."""
    capsys.readouterr()
    assert await console("profile", *arguments, "--json") == 0
    figures = json.loads(capsys.readouterr().out)["result"]["figures"]
    return next(
        own["value"] for own in figures if own["measure"] == "equivalence_classes" and own["name"] == "k"
    )


def spelled(stamp, form):
    return stamp.isoformat() + "Z" if form == "iso" else stamp.strftime("%d.%m.%Y %H:%M:%S")


@pytest.mark.parametrize("form", [pytest.param("iso", marks=pytest.mark.deep), "german"])
async def test_twelve_stamps_of_one_day_are_twelve_values_in_text(console, tmp_path, capsys, form):
    table = written(tmp_path / "t.csv", [spelled(own, form) for own in STAMPS])
    gated = tmp_path / "p.json"
    gated.write_text(json.dumps(policy(2, "x")))
    assert await k_of(console, capsys, table, "--quasi-identifiers", "x", "--delimiter", ",") == 1
    assert await console("gate", gated, "--dataset", table) == 1
    assert await console("describe", table, "-o", tmp_path / "t.toml") == 0
    assert "hh:mm:ss" in (tmp_path / "t.toml").read_text()
    assert await k_of(console, capsys, "--tables", tmp_path / "t.toml") == 1
    assert await console("gate", gated, "--tables", tmp_path / "t.toml") == 1
    assert await console("gate", gated, "--tables", tmp_path / "t.toml", "--release", table) == 1


@pytest.mark.parametrize("form", ["iso", pytest.param("german", marks=pytest.mark.deep)])
async def test_whoever_wants_the_day_says_so_and_days_leave(console, tmp_path, capsys, form):
    table = written(tmp_path / "t.csv", [spelled(own, form) for own in STAMPS])
    gated, release = tmp_path / "p.json", tmp_path / "release.csv"
    gated.write_text(json.dumps(policy(20, "x")))
    day = "yyyy-mm-dd" if form == "iso" else "dd.mm.yyyy"
    for said in (
        f'type = "date"\nformat = "{day}"',
        f'type = "date"\nformat = "{day} hh:mm:ss"\nhierarchy = {{kind = "dates", levels = ["day", "year"]}}',
    ):
        tables = described(tmp_path / "t.toml", table, x=said)
        assert await console("anonymise", "--tables", tables, "--k", "20", "-o", release) == 0
        assert Counter(release.read_text().replace('"', "").split()[1:]) == Counter(
            {str(day): n for day, n in DAYS.items()}
        )
        assert await console("gate", gated, "--tables", tables, "--release", release) == 0
        # The table itself shows the times, whatever its description reads of them.
        assert await console("gate", gated, "--tables", tables) == 1
        assert await console("gate", gated, "--tables", tables, "--release", table) == 1


@pytest.mark.parametrize(
    "of",
    [
        pytest.param("second", marks=pytest.mark.deep),
        "part of a second",
        pytest.param("zone", marks=pytest.mark.deep),
    ],
)
async def test_stamps_of_parquet_are_read_as_they_are(console, tmp_path, capsys, of):
    column = pd.Series(STAMPS)
    if of == "part of a second":
        column = column.dt.floor("D") + pd.to_timedelta(range(60), unit="us")
    if of == "zone":
        column = column.dt.tz_localize("Europe/Berlin")
    pd.DataFrame({"x": column}).to_parquet(tmp_path / "t.parquet")
    gated = tmp_path / "p.json"
    gated.write_text(json.dumps(policy(2, "x")))
    assert await k_of(console, capsys, tmp_path / "t.parquet", "--quasi-identifiers", "x") == 1
    assert await console("gate", gated, "--dataset", tmp_path / "t.parquet") == 1
    assert await console("describe", tmp_path / "t.parquet", "-o", tmp_path / "t.toml") == 0
    assert await console("gate", gated, "--tables", tmp_path / "t.toml") == 1


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": STAMPS, "y": "a"}),
        pytest.param(pd.DataFrame({"x": pd.Series(STAMPS, dtype=object), "y": "a"}), marks=pytest.mark.deep),
        pytest.param(pa.table({"x": STAMPS, "y": ["a"] * 60}), marks=pytest.mark.deep),
        pa.table({"x": pa.array(STAMPS, pa.timestamp("ns", tz="UTC")), "y": ["a"] * 60}),
    ],
    ids=["pandas", "objects", "arrow", "zone"],
)
async def test_stamps_of_frames_are_read_as_they_are(call, frame):
    roles = {"x": "quasi_identifier", "y": "quasi_identifier"}
    found = await call(pr.profile, frame, quasi_identifiers=["x", "y"], rows_are="persons")
    assert found["k"] == 1
    assert (await call(pr.gate, policy(2, "x", "y"), frame, original=frame, roles=roles)).outcome == "fail"
    release = await call(pr.anonymise, frame, k=20, quasi_identifiers=["x", "y"], rows_are="persons")
    shown = release.frame["x"].tolist() if isinstance(frame, pd.DataFrame) else release.frame["x"].to_pylist()
    assert Counter(shown) == Counter({str(day): n for day, n in DAYS.items()})
    assert (await call(pr.gate, policy(20, "x", "y"), release, original=frame)).outcome == "pass"


async def test_clocks_of_several_zones_are_told_and_never_mixed(console, tmp_path, capsys):
    zones = ["Z", "+02:00", "-05:00"]
    table = written(tmp_path / "t.csv", [f"2024-05-01 08:00:00{zones[n % 3]}" for n in range(60)])
    assert await k_of(console, capsys, table, "--quasi-identifiers", "x", "--delimiter", ",") == 20
    assert await console("describe", table, "-o", tmp_path / "t.toml") == 0
    assert "clocks of several zones" in (tmp_path / "t.toml").read_text()
    gated = tmp_path / "p.json"
    for k, status in ((20, 0), (21, 1)):
        gated.write_text(json.dumps(policy(k, "x")))
        assert await console("gate", gated, "--tables", tmp_path / "t.toml") == status
        assert await console("gate", gated, "--dataset", table) == status


MERGED = {
    "trim": ("trim = true", "", ["A", "B"], ["A ", " A", "B  ", "\tB"]),
    "markers": ('missing = ["", "NA", "-", "null"]', "", ["A", "B"], ["NA", "-", "null"]),
    "decimals": ("", 'type = "number"\nformat = "1.234,56"', ["1.200", "17"], ["1200", "1.200,00", "17,0"]),
    "days": (
        "",
        'type = "date"\nformat = "dd.mm.yyyy"',
        ["01.05.1975", "02.05.1975"],
        ["1.5.1975", "2.05.1975"],
    ),
    "times": (
        "",
        'type = "date"\nformat = "dd.mm.yyyy"',
        ["01.05.1975"],
        ["01.05.1975 08:07", "1.5.1975 8:07"],
    ),
    "unreadable": ("", 'type = "number"\non_unreadable = "missing"', ["1", "2"], ["unknown", "?", "x"]),
}
"""What a description says, the common spellings, and those that it reads as one of them, or as missing."""


DOORS = {
    "dataset": ("--dataset", "table"),
    "tables": ("--tables", "tables"),
    "dataset and release": ("--dataset", "table", "--release", "table"),
    "tables and release": ("--tables", "tables", "--release", "table"),
}
ALTERNATELY = {("tables", 0), ("dataset and release", 0), ("tables", 1), ("tables and release", 1)}
"""The doors at which a file is judged in every run, where it has the k that is asked for, and one less."""


@pytest.mark.parametrize(
    ("seed", "judged"),
    [
        pytest.param(0, ALTERNATELY, id="alternately"),
        *(
            pytest.param(seed, {*product(DOORS, (0, 1))}, id=f"everywhere {seed}", marks=pytest.mark.deep)
            for seed in (0, 1)
        ),
    ],
)
@pytest.mark.parametrize("kind", MERGED)
async def test_a_file_is_judged_as_it_is_spelled_with_a_description_as_without(
    console, tmp_path, capsys, kind, seed, judged
):
    reading, said, common, rare = MERGED[kind]
    drawn = random.Random(f"{kind} {seed}")
    rows = [(text, y) for text in common for y in "pq" * 10]
    rows += [(text, y) for text in rare for y in "pq" for _ in range(drawn.randint(2, 9))]
    drawn.shuffle(rows)
    cells = [text for text, _ in rows]
    table = written(tmp_path / "t.csv", *zip(*rows, strict=True))
    tables = described(tmp_path / "t.toml", table, reading, x=said, y="")
    k = min(Counter(rows).values())
    gated = tmp_path / "p.json"
    for asked, status in ((k, 0), (k + 1, 1)):
        gated.write_text(json.dumps(policy(asked, "x", "y")))
        for door in (own for own, outcome in sorted(judged) if outcome == status):
            subject = [{"table": table, "tables": tables}.get(own, own) for own in DOORS[door]]
            capsys.readouterr()
            assert await console("gate", gated, *subject) == status, (subject, capsys.readouterr())
            told = capsys.readouterr().out
            if "--tables" in subject:
                found = re.findall(r"('[^']*') for [^(]*\((\d+) rows?\)", told.replace("\\t", "\t"))
                assert {(f"{own!r}", str(n)) for own, n in Counter(cells).items() if own in rare} <= {
                    (repr(text[1:-1]), n) for text, n in found
                }
    assert await console("profile", "--tables", tables) == 0
    assert "Read as one value, or as missing, in x" in capsys.readouterr().out


async def test_a_gate_takes_the_release_that_was_made_with_markers_of_its_own(console, tmp_path, capsys):
    cells = [["1", "2", "-8", "NA"][n % 4] for n in range(40)]
    table = written(tmp_path / "t.csv", cells, [f"{n % 2}" for n in range(40)])
    tables = described(tmp_path / "t.toml", table, 'missing = ["", "NA", "-8"]', x="", y="")
    release, gated = tmp_path / "release.csv", tmp_path / "p.yaml"
    asked = ("anonymise", "--tables", tables, "--k", "5", "-o", release, "--save-policy", gated)
    assert await console(*asked) == 0
    assert await console("gate", gated, "--tables", tables, "--release", release) == 0, capsys.readouterr()


async def test_a_country_that_is_written_like_a_marker_is_a_country(console, tmp_path):
    table = written(tmp_path / "t.csv", [["DE", "FR", "NA"][n % 3] for n in range(60)])
    gated = tmp_path / "p.json"
    for k, status in ((20, 0), (21, 1)):
        gated.write_text(json.dumps(policy(k, "x")))
        assert await console("gate", gated, "--dataset", table) == status
        tables = described(tmp_path / "t.toml", table, 'missing = ["", "NA"]', x="")
        assert await console("gate", gated, "--tables", tables) == status

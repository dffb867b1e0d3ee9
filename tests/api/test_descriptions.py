"""What ``describe`` writes is accepted as it stands by all commands, of files, folders and databases."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
import yaml

from app.samples.files import write_patients, write_sample

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    write_sample(folder, 300, 600)
    write_patients(folder, 500)
    return folder


@pytest.mark.parametrize("name", ["members", "patients"])
async def test_a_description_is_taken_as_it_stands_by_every_command(console, samples, tmp_path, capsys, name):
    tables, release, policy = (tmp_path / own for own in ("t.toml", "release.csv", "policy.yaml"))
    assert await console("describe", samples / f"{name}.csv", "-o", tables) == 0
    assert await console("profile", "--tables", tables) == 0
    criteria = ("--k", "3", "--max-suppressed", "0.3")
    asked = ("anonymise", "--tables", tables, *criteria, "-o", release, "--save-policy", policy)
    assert await console(*asked) == 0
    exempt = yaml.safe_load(policy.read_text())["not_covered"]
    columns = [name for own in exempt for name in own["columns"]]
    assert {own["reason"] for own in exempt} == {""}
    assert (
        f"no reason why these columns may leave as they are: {', '.join(columns)}" in capsys.readouterr().err
    )
    assert await console("gate", policy, "--tables", tables, "--release", release) == 2
    assert "Nobody has written why these columns may leave" in capsys.readouterr().out
    for reason, status in (("\u200b . -", 2), ("Nobody outside = knows it.", 0)):
        assert await console(*asked, "--reason", *(f"{name}={reason}" for name in columns)) == 0
        assert ("no reason" in capsys.readouterr().err) == bool(status)
        assert await console("gate", policy, "--tables", tables, "--release", release) == status
        capsys.readouterr()
    assert await console("gate", policy, "--tables", tables, "--release", release) == 0, capsys.readouterr()
    assert await console("gate", policy, "--tables", tables) == 1
    assert "singles out" in capsys.readouterr().out


async def test_the_canonical_form_of_a_release_that_passes_is_handed_back(console, tmp_path, capsys):
    data, policy, report, target = (tmp_path / own for own in ("d.csv", "p.yaml", "e.json", "canonical.csv"))
    plain = "town,note\n" + "".join(f'T{n % 2},"a, b"\n' for n in range(12))
    data.write_text(plain)
    made = ("anonymise", data, "--k", 3, "--quasi-identifiers", "town", "note", "--rows-are", "persons")
    assert await console(*made, "-o", tmp_path / "r.csv", "--save-policy", policy) == 0
    released = (tmp_path / "r.csv").read_bytes()
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b"\xef\xbb\xbf" + released.replace(b"T0", b'"T0"').replace(b"\n", b"\r\n"))
    judge = ("gate", policy, "--dataset", data, "--rows-are", "persons", "--report", report)
    judge = (*judge, "--write-canonical", target)
    assert await console(*judge, "--release", odd) == 0, capsys.readouterr()
    assert target.read_bytes() == released
    assert f"in canonical form was written to {target}" in capsys.readouterr().out
    for file, notes in ((odd, 1), (target, 0)):
        verify = ("verify", report, "--subject-file", file)
        assert await console(*verify) == 3  # its key lies beside it
        assert capsys.readouterr().out.count("same content, other bytes") == notes
    odd.write_bytes(odd.read_bytes() + b"\r\n")
    assert await console("verify", report, "--subject-file", odd) == 1
    # A release that does not pass leaves none, not even an earlier one.
    odd.write_bytes(released.replace(b"T0", b"T9", 1))
    assert await console(*judge, "--release", odd) != 0
    assert not target.exists()


async def test_a_canonical_form_is_of_a_release_in_csv_and_takes_no_judged_files_place(
    console, tmp_path, capsys
):
    for name in ("d.csv", "r.csv", "r.parquet", "p.yaml"):
        (tmp_path / name).write_text("town\nA\n")
    at = {name: tmp_path / name for name in ("d.csv", "r.csv", "r.parquet", "p.yaml", "new.csv")}
    judge = ("gate", at["p.yaml"], "--dataset", at["d.csv"])
    for release, target, said in (
        ((), at["new.csv"], "Only a release file in CSV"),
        (("--release", at["r.parquet"]), at["new.csv"], "Only a release file in CSV"),
        (("--release", at["r.csv"]), at["r.csv"], "is a file that is judged"),
        (("--release", at["r.csv"]), at["d.csv"], "is a file that is judged"),
        (("--release", at["r.csv"], "--dry-run"), at["new.csv"], "no verdict to write"),
    ):
        assert await console(*judge, *release, "--write-canonical", target) == 2
        assert said in capsys.readouterr().err
    assert at["r.csv"].read_text() == at["d.csv"].read_text() == "town\nA\n"


async def test_a_query_and_a_folder_are_judged_as_the_file_is(console, samples, tmp_path, capsys):
    members = pd.read_csv(samples / "members.csv", dtype=str)
    with closing(sqlite3.connect(tmp_path / "members.db")) as database:
        members.to_sql("members", database, index=False)
    (tmp_path / "pieces").mkdir()
    for number, rows in enumerate((members[:200], members[200:])):
        rows.to_parquet(tmp_path / "pieces" / f"{number}.parquet", index=False)
    await console("describe", samples / "members.csv", "-o", tmp_path / "t.toml")
    queried = ("--query", "select * from members", "--from", f"sqlite:///{tmp_path / 'members.db'}")
    results = []
    for table in ((), queried, (tmp_path / "pieces",)):
        capsys.readouterr()
        assert await console("profile", "--tables", tmp_path / "t.toml", *table, "--json") == 0
        results.append(json.loads(capsys.readouterr().out)["result"]["figures"])
    assert results[0] == results[1] == results[2]


async def test_what_the_service_refuses_of_a_description_is_told_by_its_place(
    console, samples, tmp_path, capsys
):
    tables = tmp_path / "t.toml"
    await console("describe", samples / "members.csv", "-o", tables)
    text = tables.read_text()
    for old, new, place in (
        ('["day", "month"', '["days", "month"', "attributes/birth_date/hierarchy/levels/0"),
        ('kind = "rare_values"', 'kind = "rare"', "attributes/city/hierarchy/kind"),
        ('file = "', 'encoding = "utf-7777"\nfile = "', "encoding"),
    ):
        assert old in text
        tables.write_text(text.replace(old, new, 1))
        assert await console("profile", "--tables", tables) == 1
        assert f"{tables}/dataset/{place}: " in capsys.readouterr().err

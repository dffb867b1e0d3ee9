"""What ``describe`` writes is accepted as it stands by all commands, of files, folders and databases."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager

import anyio
import pandas as pd
import pytest
import yaml

import privacy_risk as pr
from app.cli import anonymise, gate, profile
from app.cli.program import run
from app.samples.files import write_patients, write_sample
from tests.api.blocking import Blocking

pytestmark = pytest.mark.anyio


@pytest.fixture
async def command(api, monkeypatch):
    """Runs a command, which finds the application as its service; its exit status."""
    client = pr.Client("http://service", (await api.tenant_with_key())[1], transport=Blocking(api))

    @contextmanager
    def service_client(server, operations):
        yield client

    for module in (anonymise, gate, profile):
        monkeypatch.setattr(module, "service_client", service_client)

    async def command(*argv):
        return await anyio.to_thread.run_sync(lambda: run([*map(str, argv)], None))

    return command


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    write_sample(folder, 300, 600)
    write_patients(folder, 500)
    return folder


@pytest.mark.parametrize("name", ["members", "patients"])
async def test_a_description_is_taken_as_it_stands_by_every_command(command, samples, tmp_path, capsys, name):
    tables, release, policy = (tmp_path / own for own in ("t.toml", "release.csv", "policy.yaml"))
    assert await command("describe", samples / f"{name}.csv", "-o", tables) == 0
    assert await command("profile", "--tables", tables) == 0
    criteria = ("--k", "3", "--max-suppressed", "0.3")
    asked = ("anonymise", "--tables", tables, *criteria, "-o", release, "--save-policy", policy)
    assert await command(*asked) == 0
    exempt = yaml.safe_load(policy.read_text())["not_covered"]
    columns = [name for own in exempt for name in own["columns"]]
    assert {own["reason"] for own in exempt} == {""}
    assert (
        f"no reason why these columns may leave as they are: {', '.join(columns)}" in capsys.readouterr().err
    )
    assert await command("gate", policy, "--tables", tables, "--release", release) == 2
    assert "Nobody has written why these columns may leave" in capsys.readouterr().out
    for reason, status in (("\u200b . -", 2), ("Nobody outside = knows it.", 0)):
        assert await command(*asked, "--reason", *(f"{name}={reason}" for name in columns)) == 0
        assert ("no reason" in capsys.readouterr().err) == bool(status)
        assert await command("gate", policy, "--tables", tables, "--release", release) == status
        capsys.readouterr()
    assert await command("gate", policy, "--tables", tables, "--release", release) == 0, capsys.readouterr()
    assert await command("gate", policy, "--tables", tables) == 1
    assert "singles out" in capsys.readouterr().out


async def test_the_canonical_form_of_a_release_that_passes_is_handed_back(command, tmp_path, capsys):
    data, policy, report, target = (tmp_path / own for own in ("d.csv", "p.yaml", "e.json", "canonical.csv"))
    plain = "town,note\n" + "".join(f'T{n % 2},"a, b"\n' for n in range(12))
    data.write_text(plain)
    made = ("anonymise", data, "--k", 3, "--quasi-identifiers", "town", "note", "--rows-are", "persons")
    assert await command(*made, "-o", tmp_path / "r.csv", "--save-policy", policy) == 0
    released = (tmp_path / "r.csv").read_bytes()
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b"\xef\xbb\xbf" + released.replace(b"T0", b'"T0"').replace(b"\n", b"\r\n"))
    judge = ("gate", policy, "--dataset", data, "--rows-are", "persons", "--report", report)
    judge = (*judge, "--write-canonical", target)
    assert await command(*judge, "--release", odd) == 0, capsys.readouterr()
    assert target.read_bytes() == released
    assert f"in canonical form was written to {target}" in capsys.readouterr().out
    for file, notes in ((odd, 1), (target, 0)):
        verify = ("verify", report, "--subject-file", file)
        assert await command(*verify) == 3  # its key lies beside it
        assert capsys.readouterr().out.count("same content, other bytes") == notes
    odd.write_bytes(odd.read_bytes() + b"\r\n")
    assert await command("verify", report, "--subject-file", odd) == 1
    # A release that does not pass leaves none, not even an earlier one.
    odd.write_bytes(released.replace(b"T0", b"T9", 1))
    assert await command(*judge, "--release", odd) != 0
    assert not target.exists()


async def test_a_canonical_form_is_of_a_release_in_csv_and_takes_no_judged_files_place(
    command, tmp_path, capsys
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
        assert await command(*judge, *release, "--write-canonical", target) == 2
        assert said in capsys.readouterr().err
    assert at["r.csv"].read_text() == at["d.csv"].read_text() == "town\nA\n"


async def test_a_query_and_a_folder_are_judged_as_the_file_is(command, samples, tmp_path, capsys):
    members = pd.read_csv(samples / "members.csv", dtype=str)
    with closing(sqlite3.connect(tmp_path / "members.db")) as database:
        members.to_sql("members", database, index=False)
    (tmp_path / "pieces").mkdir()
    for number, rows in enumerate((members[:200], members[200:])):
        rows.to_parquet(tmp_path / "pieces" / f"{number}.parquet", index=False)
    await command("describe", samples / "members.csv", "-o", tmp_path / "t.toml")
    queried = ("--query", "select * from members", "--from", f"sqlite:///{tmp_path / 'members.db'}")
    results = []
    for table in ((), queried, (tmp_path / "pieces",)):
        capsys.readouterr()
        assert await command("profile", "--tables", tmp_path / "t.toml", *table, "--json") == 0
        results.append(json.loads(capsys.readouterr().out)["result"]["figures"])
    assert results[0] == results[1] == results[2]


async def test_what_the_service_refuses_of_a_description_is_told_by_its_place(
    command, samples, tmp_path, capsys
):
    tables = tmp_path / "t.toml"
    await command("describe", samples / "members.csv", "-o", tables)
    text = tables.read_text()
    for old, new, place in (
        ('["day", "month"', '["days", "month"', "attributes/birth_date/hierarchy/levels/0"),
        ('kind = "flat"', 'kind = "flatt"', "attributes/race/hierarchy/kind"),
        ('file = "', 'encoding = "utf-7777"\nfile = "', "encoding"),
    ):
        assert old in text
        tables.write_text(text.replace(old, new, 1))
        assert await command("profile", "--tables", tables) == 1
        assert f"{tables}/dataset/{place}: " in capsys.readouterr().err

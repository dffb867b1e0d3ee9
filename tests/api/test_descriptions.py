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

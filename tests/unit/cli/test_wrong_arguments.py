"""Wrong arguments of the commands that bring a service of their own: told before anything starts."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest

from app.cli.operations import Operations
from app.cli.program import run
from app.cli.table_header import require_columns
from app.domain.errors import InvalidInput
from tests.unit.cli.gate_stub import TABLES

POLICY = """\
format: privacy-risk/policy/2
name: small
version: 1
title: Small
assumes: {attacker: Anybody who knows the quasi-identifiers.}
requirements:
- id: alike
  title: Two are alike
  reason: Nobody is alone.
  requirement: {kind: privacy_model, model: {kind: k_anonymity, k: 2}}
"""
GATE = ("gate", "policy.yaml", "--dataset", "members.csv", "--tables", "tables.toml")
FILES = {
    "policy.yaml": POLICY,
    "none.yaml": POLICY.replace("k: 2", "k: two").replace("title: Small", "titel: Small"),
    "tables.toml": TABLES,
    "members.csv": "id,city\n1,Gary\n",
    "members.txt": "id,city\n1,Gary\n",
    "city.csv": "Gary;Lake\n",
    "census.csv": "zip\n1\n",
    "zip-city.csv": "zip,city\n1,Gary\n",
    "no-hierarchy.toml": TABLES.replace("city.csv", "gone.csv", 1),
    "no-lookup.toml": TABLES.replace("zip-city.csv", "gone.csv"),
    "other-member.toml": TABLES.replace("weight", "wieght"),
    "unlinked.toml": TABLES.partition("[dictionary]")[0],
    "rule.yaml": "kind: [\n",
    "harm.yaml": "family: additive\ndataset: members\n",
}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["gate", "none.yaml", "--dataset", "members.csv", "--tables", "tables.toml"], "none.yaml/titel"),
        (["gate", "policy.yaml", "--dataset", "members.txt"], "--tables: Nothing says"),
        (["gate", "policy.yaml", "--dataset", "members.txt", "--tables", "tables.toml"], "names no format"),
        ([*GATE[:4], "--tables", "no-hierarchy.toml"], "gone.csv"),
        ([*GATE[:4], "--tables", "no-lookup.toml", "--dictionary", "register=census.csv"], "gone.csv"),
        ([*GATE[:4], "--tables", "other-member.toml"], "wieght"),
        (
            [*GATE[:4], "--tables", "unlinked.toml", "--dictionary", "register=census.csv"],
            "how the columns of",
        ),
        ([*GATE, "--release", "members.txt"], "names no format"),
        (
            [*GATE[:3], "census.csv", "--tables", "tables.toml"],
            "tables.toml/dataset/identifier: The table has no column 'id'. Its columns are: zip.",
        ),
        ([*GATE, "--rule", "rule.yaml"], "rule.yaml"),
        ([*GATE, "--sensitivity", "harm.yaml"], "must not say its dataset"),
        ([*GATE, "--report", "nowhere/evidence.json"], "--report: There is no folder nowhere"),
        ([*GATE, "--output", "junit=nowhere/gate.xml"], "--output: There is no folder nowhere"),
        ([*GATE, "--dry-run", "--sensitivity", "harm.yaml"], "must not say its dataset"),
        (["profile", "members.txt"], "say --format"),
        (["profile", "gone.csv"], "There is no file gone.csv"),
        (["profile", "members.csv", "--level", "city=x"], "is no level"),
        (["profile", "members.csv", "--hierarchy", "city=gone.csv"], "There is no file gone.csv"),
        (["profile", "members.csv", "--sensitive", "town"], "Its columns are: id, city."),
        (["demo", "--journey", "tables.toml", "--dataset", "census.csv"], "Its columns are: zip."),
        (["demo", "--journey", "gone.toml"], "There is no file gone.toml"),
        (["demo", "--journey", "no-hierarchy.toml"], "gone.csv"),
        (["demo", "--journey", "tables.toml", "--dataset", "members.txt"], "names no format"),
        (["demo", "--dataset", "members.csv"], "need a journey file"),
        (["demo", "--output", "members.csv"], "--output: members.csv is no folder"),
    ],
    ids=lambda own: " ".join(own) if isinstance(own, list) else None,
)
def test_a_wrong_argument_is_told_before_anything_starts(tmp_path: Path, monkeypatch, capsys, argv, said):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for name in ("TemporaryDirectory", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, None)
    verbs = dict.fromkeys(Operations.__dataclass_fields__) | {"running_service": lambda: None}
    assert run(argv, Operations(**verbs)) == (2 if argv[0] == "gate" else 1)
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)


def test_what_the_head_of_a_table_cannot_tell_is_left_to_the_service(tmp_path: Path):
    """Truth in other words than TOML's."""
    table = tmp_path / "t.csv"
    table.write_text("1,Gary\n")
    require_columns(table, "csv", {"header": "false"}, ["column_1"])
    with pytest.raises(InvalidInput, match="no column 'column_3'"):
        require_columns(table, "csv", {"header": False}, ["column_3"])


def test_a_compressed_table_that_is_damaged_is_refused_before_a_service_is_started(tmp_path: Path):
    damaged = tmp_path / "t.csv.gz"
    whole = gzip.compress(b"id,city\n1,Gary\n" * 100)
    for bytes_ in (whole[:14] + b"\xff" * 10 + whole[24:], whole[:-9], b"id,city\n"):
        damaged.write_bytes(bytes_)
        with pytest.raises(InvalidInput, match="damaged, cut off or not gzip"):
            require_columns(damaged, "csv.gz", {}, ["id"])

"""``verify`` as a process of its own: exit status, words, and nothing loaded that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.program import run
from app.evidence.keys import PublicKey, keys_bytes
from app.reports.page import render_page
from tests.unit.reports.documents import BEGIN, KEY, signed, statement


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "report.json").write_bytes(signed())
    (tmp_path / "keys.json").write_bytes(keys_bytes([KEY]))
    (tmp_path / "report.html").write_text(render_page(signed()))
    return tmp_path


def verify(folder: Path, *arguments: str) -> int:
    return run(["verify", str(folder / "report.json"), "--keys", str(folder / "keys.json"), *arguments], None)


def test_a_genuine_report_is_described_and_ends_with_0(files, capsys):
    assert verify(files, "--html", str(files / "report.html")) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Genuine: verdict 'members-gate': fail\n")
    assert KEY.id in said.out
    assert f"{'d' * 64}  dataset/members" in said.out
    assert said.err == ""


def tampered(files):
    (files / "report.json").write_bytes(signed().replace(b"A", b"B", 1))


def laid_out_anew(files):
    (files / "report.json").write_text(json.dumps(json.loads(signed())))


def expired(files):
    (files / "keys.json").write_bytes(keys_bytes([PublicKey(KEY.raw, BEGIN, BEGIN)]))


def unknown(files):
    (files / "keys.json").write_bytes(keys_bytes([]))


def without_keys(files):
    (files / "keys.json").write_text("{}")


def without_report(files):
    (files / "report.json").unlink()


def resigned(files):
    document = json.loads(signed())
    document["signatures"][0]["sig"] = json.loads(signed(statement("assessment")))["signatures"][0]["sig"]
    (files / "report.json").write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (tampered, "wrong-signature"),
        (laid_out_anew, "malformed-report"),
        (resigned, "wrong-signature"),
        (expired, "outside-key-validity"),
        (unknown, "unknown-key"),
        (without_keys, "malformed-keys"),
        (without_report, "No such file"),
    ],
)
def test_anything_else_ends_with_2_and_names_the_fault(damage, code, files, capsys):
    damage(files)
    assert verify(files) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("privacy-risk: ")
    assert code in said.err


@pytest.mark.parametrize(
    "page", ["", "<html></html>", render_page(signed(statement("assessment"))), "\udc80"]
)
def test_a_page_of_another_report_ends_with_2(page, files, capsys):
    (files / "other.html").write_bytes(page.encode("utf-8", "surrogateescape"))
    assert verify(files, "--html", str(files / "other.html")) == 2
    assert capsys.readouterr().out == ""


def test_it_needs_neither_the_service_nor_the_mathematics(files):
    script = (
        "import runpy, sys\n"
        "try: runpy.run_module('app', run_name='__main__')\n"
        "except SystemExit as end: status = end.code\n"
        "loaded = {'numpy', 'fastapi', 'sqlalchemy', 'pydantic', 'app.main', 'httpx'} & set(sys.modules)\n"
        "sys.exit(str(sorted(loaded)) if loaded else status)\n"
    )
    arguments = ["verify", str(files / "report.json"), "--keys", str(files / "keys.json")]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Genuine")

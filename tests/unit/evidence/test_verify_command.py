"""``verify`` as a process of its own: exit status, words, and nothing loaded that it does not need."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from app.cli import verify as verify_command
from app.cli.program import run
from app.evidence.envelope import Signer, sealed
from app.evidence.keys import PublicKey, keys_bytes
from app.evidence.statement import Subject
from app.reports.page import render_page
from tests.unit.reports.documents import (
    BEGIN,
    ISSUED,
    KEY,
    OTHER_KEY,
    OTHER_PRIVATE,
    signed,
    statement,
    verdict_result,
    withdrawn_report,
)

POLICY = verdict_result()["policy"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "report.json").write_bytes(signed())
    (tmp_path / "keys.json").write_bytes(keys_bytes([KEY]))
    (tmp_path / "report.html").write_text(render_page(signed()))
    return tmp_path


def verify(folder: Path, *arguments: str, age: timedelta = timedelta(hours=1)) -> int:
    """The command's exit status that long after the report was issued."""
    argv = [str(folder / "report.json"), "--keys", str(folder / "keys.json"), *arguments]
    return verify_command.main(argv, lambda: ISSUED + age)


def test_a_genuine_report_is_described_and_ends_with_0(files, capsys):
    assert verify(files, "--html", str(files / "report.html")) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Genuine: verdict 'members-gate': fail\n")
    assert KEY.id in said.out
    assert f"{'d' * 64}  dataset/members" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("after", "said"),
    [(timedelta(days=1), ", after this verdict"), (-timedelta(minutes=1), "")],
)
def test_a_release_that_was_withdrawn_is_named(files, capsys, after, said):
    report = withdrawn_report(ISSUED + after)
    (files / "report.json").write_bytes(report)
    (files / "report.html").write_text(render_page(report))
    assert verify(files, "--html", str(files / "report.html")) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        f"Genuine: verdict 'members-gate': fail; the release was withdrawn on {ISSUED + after:%Y-%m-%d}{said}"
    )
    assert "The release was withdrawn on" in (files / "report.html").read_text()


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


TEMPORARY = replace(KEY, proves_origin=False)


def write(folder, made, keys):
    (folder / "report.json").write_bytes(signed(made))
    (folder / "keys.json").write_bytes(keys_bytes(keys))


def test_a_key_that_came_along_with_a_report_proves_no_origin_wherever_it_lies(files, capsys):
    write(files, None, [TEMPORARY])
    assert verify(files) == 3
    assert capsys.readouterr().out.startswith("Unaltered, origin not proven: verdict 'members-gate': fail\n")
    (files / "report.keys.json").write_bytes((files / "keys.json").read_bytes())
    assert run(["verify", str(files / "report.json")], None) == 3


def test_keys_that_lie_beside_the_report_prove_no_origin_even_without_their_mark(files):
    (files / "report.keys.json").write_bytes(keys_bytes([KEY]))
    assert run(["verify", str(files / "report.json")], None) == 3
    assert verify(files) == 0


def test_keys_that_lie_beside_the_report_prove_no_origin_though_they_are_named(files):
    (files / "report.keys.json").write_bytes(keys_bytes([KEY]))
    (files / "linked.json").symlink_to(files / "report.keys.json")
    report = str(files / "report.json")
    assert verify_command.main([report, "--keys", str(files / "report.keys.json")]) == 3
    assert verify_command.main([report, "--keys", str(files / "linked.json")]) == 3


def test_a_report_that_says_its_key_was_temporary_proves_no_origin_even_without_the_keys_mark(files, capsys):
    write(files, statement(signed_by="temporary"), [KEY])
    assert verify(files) == 3
    assert "anybody can make a report with such a key" in capsys.readouterr().out


@pytest.mark.parametrize("by", ["pipeline", "service"])
def test_the_key_of_a_pipeline_or_service_that_is_trusted_proves_origin(by, files):
    write(files, statement(signed_by=by), [KEY])
    assert verify(files) == 0


def test_a_forgers_own_key_is_unknown_to_whoever_trusts_another(files, capsys):
    forged = sealed(statement(signed_by="pipeline"), Signer(OTHER_KEY, OTHER_PRIVATE.sign))
    (files / "report.json").write_bytes(forged)
    assert verify(files) == 2
    assert "unknown-key" in capsys.readouterr().err


def test_without_any_keys_nothing_can_be_said(files, capsys):
    assert run(["verify", str(files / "report.json")], None) == 2
    assert "report.keys.json" in capsys.readouterr().err


@pytest.mark.parametrize("changed", [{"signed_by": "me"}, {"signed_by": None}, {"more": 1}])
def test_a_statement_may_not_invent_members(changed, files, capsys):
    write(files, statement(**changed), [KEY])
    assert verify(files) == 2
    assert "malformed-statement" in capsys.readouterr().err


def passed():
    return statement(result=verdict_result() | {"verdict": "pass"}, signed_by="pipeline")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--verdict", "pass"], None),
        (["--verdict", "fail"], "Its verdict is pass, not fail."),
        (["--subject", "d" * 64, "--subject", "C" * 64], None),
        (["--subject", "d" * 64, "--subject", "0" * 64], f"It is not about {'0' * 64}."),
        (["--policy", POLICY["name"]], None),
        (["--policy", f"{POLICY['name']}@{POLICY['version']}"], None),
        (["--policy", POLICY["sha256"].upper()], None),
        (["--policy", f"{POLICY['name']}@99"], "It was judged by the policy"),
        (["--policy", "0" * 64], "It was judged by the policy"),
        (["--policy", ""], "It was judged by the policy"),
        (["--max-age", "60m"], None),
        (["--max-age", "59m"], "longer ago than is allowed"),
        (["--max-age", "1d"], None),
    ],
)
def test_what_is_asked_of_a_genuine_report_is_a_status_of_its_own(arguments, why, files, capsys):
    write(files, passed(), [KEY])
    assert verify(files, *arguments) == (0 if why is None else 1)
    said = capsys.readouterr()
    assert said.out.startswith("Genuine: ")
    assert (why or "") in said.err
    assert bool(said.err) == (why is not None)


def test_a_policy_that_is_called_like_the_hash_of_another_is_not_taken_for_it(files):
    wanted = "9" * 64
    result = verdict_result() | {"policy": POLICY | {"name": wanted}}
    write(files, statement(result=result), [KEY])
    assert verify(files, "--policy", wanted) == 1
    assert verify(files, "--policy", f"{wanted}@{POLICY['version']}") == 0


def test_names_in_a_report_write_no_line_of_their_own_and_move_no_cursor(files, capsys):
    name = "x\x1b[2J\x1b[H\nGenuine: verdict 'members-gate': pass\u202e"
    made = statement(
        resource={"name": name, "sha256": "a" * 64},
        result=verdict_result() | {"policy": POLICY | {"name": name}},
    )
    write(files, replace(made, subjects=(Subject(f"file/{name}", "d" * 64),)), [TEMPORARY])
    assert verify(files, "--policy", "to-partners", "--subject", "0" * 64) == 1
    said = capsys.readouterr()
    lines = (said.out + said.err).splitlines()
    assert not any(line.startswith("Genuine") for line in lines)
    assert not any(not character.isprintable() for line in lines for character in line)


def test_a_file_that_is_too_large_for_a_report_is_not_read_whole(files, monkeypatch, capsys):
    monkeypatch.setattr("app.cli.files.MOST_BYTES", len(signed()))
    assert verify(files) == 0
    (files / "report.json").write_bytes(signed() + b" ")
    assert verify(files) == 2
    assert "has more than" in capsys.readouterr().err


def test_an_old_failed_report_on_something_else_is_told_all_three_reasons(files, capsys):
    asked = ["--verdict", "pass", "--subject", "0" * 64, "--max-age", "7d"]
    assert verify(files, *asked, age=timedelta(days=8)) == 1
    assert capsys.readouterr().err.count("not what was asked") == 3


def test_what_is_not_as_asked_is_1_also_where_the_origin_is_not_proven(files):
    write(files, statement(signed_by="temporary"), [TEMPORARY])
    assert verify(files, "--verdict", "fail") == 3
    assert verify(files, "--verdict", "pass") == 1


def test_a_report_from_the_future_is_no_young_one(files):
    write(files, passed(), [KEY])
    assert verify(files, "--max-age", "7d", age=-timedelta(minutes=5)) == 0
    assert verify(files, "--max-age", "7d", age=-timedelta(minutes=6)) == 1


def test_an_assessment_has_no_verdict_to_be_taken_for_a_pass(files):
    write(files, statement("assessment"), [KEY])
    assert verify(files, "--verdict", "pass") == 1


def test_a_release_file_is_known_by_its_bytes_and_the_dataset_is_not_taken_for_it(files):
    (files / "release.csv").write_bytes(b"city\nGary\n")
    (files / "raw.csv").write_bytes(b"name,city\nA. Person,Gary\n")
    hashes = [hashlib.sha256((files / name).read_bytes()).hexdigest() for name in ("release.csv", "raw.csv")]
    made = passed()
    subjects = (*made.subjects, Subject("file/release.csv", hashes[0]), Subject("dataset/raw", hashes[1]))
    write(files, replace(made, subjects=subjects), [KEY])
    assert verify(files, "--subject-file", str(files / "release.csv"), "--subject", hashes[0]) == 0
    assert verify(files, "--subject-file", str(files / "raw.csv")) == 1
    (files / "release.csv").write_bytes(b"city\nGary \n")
    assert verify(files, "--subject-file", str(files / "release.csv")) == 1
    assert verify(files, "--subject-file", str(files / "nowhere.csv")) == 2


def test_the_canonical_file_is_taken_and_the_judged_bytes_with_a_note(files, capsys):
    contents = {
        "judged.csv": b'"city"\r\nGary\r\n',
        "canonical.csv": b"city\nGary\n",
        "other.csv": b'"city"\nGary\n',
    }
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    for name, content in contents.items():
        (files / name).write_bytes(content)
    made = passed()
    about = (Subject("file/r.csv", hashes["judged.csv"]), Subject("canonical/r.csv", hashes["canonical.csv"]))
    write(files, replace(made, subjects=(*made.subjects, *about)), [KEY])
    for name, status, notes in (("canonical.csv", 0, 0), ("judged.csv", 0, 1), ("other.csv", 1, 0)):
        for asked in (("--subject-file", str(files / name)), ("--subject", hashes[name])):
            assert verify(files, *asked) == status
            assert capsys.readouterr().out.count("same content, other bytes") == notes
    write(files, replace(made, subjects=(*made.subjects, about[0])), [KEY])
    assert verify(files, "--subject-file", str(files / "judged.csv")) == 0
    assert "other bytes" not in capsys.readouterr().out
    assert verify(files, "--subject-file", str(files / "canonical.csv")) == 1


@pytest.mark.parametrize("asked", [["--max-age", "7"], ["--max-age", "-7d"], ["--subject", "abc"]])
def test_a_question_that_makes_no_sense_is_2(asked, files):
    with pytest.raises(SystemExit) as ended:
        verify(files, *asked)
    assert ended.value.code == 2

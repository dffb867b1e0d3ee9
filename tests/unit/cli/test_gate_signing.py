"""Evidence of gates without a server: signed by the pipeline's key or a temporary one."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.cli import verify
from app.cli.gate_question import Subject
from app.cli.gate_signing import requested_by, signed_here
from app.cli.program import run
from app.evidence.envelope import opened
from app.evidence.keys import read_keys
from app.evidence.private_keys import private_key_pem
from app.evidence.statement import Subject as About
from app.evidence.statement import statement_of
from app.reports.page import render_page
from tests.unit.reports.documents import signed, statement

KEY = Ed25519PrivateKey.from_private_bytes(b"p" * 32)


def now() -> datetime:
    return datetime(2026, 11, 20, 13, tzinfo=UTC)


def status(*argv: str) -> int:
    return verify.main(list(argv), now)


def predicate_of(name="r.json"):
    return statement_of(opened(Path(name).read_bytes()).content).predicate


def test_a_gate_without_a_key_writes_one_beside_the_report_that_proves_no_origin(judge, files, capsys):
    assert judge("--report", "r.json") == 0
    said = capsys.readouterr().out
    assert "Evidence written to r.json, the public key to r.keys.json" in said
    assert "not who signed it" in said
    assert "tored" not in said
    assert status("r.json") == status("r.json", "--keys", "r.keys.json") == 3
    assert predicate_of()["signed_by"] == "temporary"
    (own,) = json.loads((files / "r.keys.json").read_text())["keys"]
    assert own["valid_from"] == own["valid_until"] == predicate_of()["issued_at"]
    del own["proves"]
    (files / "stripped.json").write_text(json.dumps({"format": "privacy-risk/keys/1", "keys": [own]}))
    assert status("r.json", "--keys", "stripped.json") == 3


def test_two_reports_are_signed_by_two_temporary_keys(judge, files):
    judge("--report", "a.json")
    judge("--report", "b.json", "--keys", "b.public")
    assert (files / "b.public").exists()
    assert not (files / "b.keys.json").exists()
    assert status("a.json", "--keys", "b.public") == 2


def test_a_verdict_of_which_nothing_is_written_is_stored_nowhere_and_says_so(judge, capsys):
    judge()
    assert "Nothing of this is stored: --report FILE writes" in capsys.readouterr().out


def test_the_verdict_of_a_server_is_stored_there(judge, files, capsys):
    assert judge("--server", "http://x", "--tables", "tables.toml", "--report", "r.json") == 0
    assert "Stored on the server as the evaluation" in capsys.readouterr().out
    assert not (files / "r.keys.json").exists()


RAW = base64.b64encode(KEY.private_bytes_raw()).decode()
PEM = private_key_pem(KEY).decode()


@pytest.mark.parametrize("text", [PEM, RAW, f"{RAW}\n"], ids=["PEM", "base64", "base64 with its line's end"])
@pytest.mark.parametrize("how", ["option", "file of a variable", "variable"])
def test_a_key_of_the_pipeline_proves_origin_to_who_trusts_its_public_part(
    judge, files, monkeypatch, capsys, text, how
):  # fmt: skip
    (files / "key").write_text(text)
    given = []
    if how == "option":
        given = ["--signing-key", "key"]
    elif how == "variable":
        monkeypatch.setenv("PRIVACY_RISK_SIGNING_KEY", text)
    else:
        monkeypatch.setenv("PRIVACY_RISK_SIGNING_KEY_FILE", "key")
    assert judge("--report", "r.json", *given) == 0
    said = capsys.readouterr()
    assert RAW not in said.out + said.err
    assert RAW not in (files / "r.json").read_text() + (files / "r.keys.json").read_text()
    # No process that is started later inherits the key.
    assert "PRIVACY_RISK_SIGNING_KEY" not in os.environ
    assert status("r.json") == status("r.json", "--keys", "r.keys.json") == 3
    trusted = json.loads((files / "r.keys.json").read_text())
    del trusted["keys"][0]["proves"]
    (files / "trusted.json").write_text(json.dumps(trusted))
    assert status("r.json", "--keys", "trusted.json", "--verdict", "pass") == 0


def test_a_pair_is_made_once_and_its_private_part_is_readable_to_its_owner_alone(files, judge):
    assert run(["signing-key", "gate.key", "--keys", "trusted.json"], None) == 0
    assert stat.S_IMODE((files / "gate.key").stat().st_mode) == 0o600
    (own,) = read_keys((files / "trusted.json").read_bytes()).values()
    assert own.proves_origin
    before = (files / "gate.key").read_bytes()
    assert run(["signing-key", "gate.key", "--keys", "other.json"], None) == 1
    assert run(["signing-key", "other.key", "--keys", "trusted.json"], None) == 1
    assert (files / "gate.key").read_bytes() == before
    assert not (files / "other.key").exists()
    assert not (files / "other.json").exists()
    assert judge("--report", "r.json", "--signing-key", "gate.key") == 0
    assert own.id in read_keys((files / "r.keys.json").read_bytes())


ELLIPTIC = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    "content", [b"secret-nonsense", RAW[:-4].encode(), PEM[:60].encode(), ELLIPTIC, b"\xff\xfe"]
)
def test_what_is_no_key_is_2_before_anything_is_asked_and_is_never_repeated(
    judge, stub, files, capsys, content
):  # fmt: skip
    (files / "key").write_bytes(content)
    assert judge("--signing-key", "key") == 2
    said = capsys.readouterr()
    assert "no Ed25519 private key" in said.err
    assert content.decode("ascii", "replace")[:15] not in (said.out + said.err).replace("-----BEGIN", "")
    assert stub.sent == {}


@pytest.mark.parametrize(
    "given", [["--signing-key", "k"], ["--keys", "k", "--report", "r"], ["--requested-by", "me"]]
)
def test_a_server_signs_itself(judge, files, given):
    assert judge("--server", "http://x", "--tables", "tables.toml", *given) == 2


def test_a_key_without_a_report_is_no_use(judge):
    assert judge("--keys", "k") == 2


GITHUB = {
    "GITHUB_REPOSITORY": "club/members",
    "GITHUB_RUN_ID": "17",
    "GITHUB_SHA": "ab12",
    "GITHUB_ACTOR": "eve",
}
GITLAB = {"CI_PROJECT_PATH": "club/members", "CI_PIPELINE_ID": "18", "CI_COMMIT_SHA": "cd34"}


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        (None, {}, None),
        (None, GITHUB, "GitHub Actions: club/members, run 17, commit ab12"),
        (None, GITLAB, "GitLab CI: club/members, pipeline 18, commit cd34"),
        ("the nightly\n build", GITHUB, "the nightly build"),
        ("", GITHUB, None),
        ("x" * 500, {}, "x" * 200),
    ],
)
def test_a_pipeline_says_who_asks_and_names_nobody(given, environment, said):
    assert requested_by(given, environment) == said


def test_the_report_names_who_asked(judge):
    judge("--report", "r.json", "--requested-by", "the nightly build")
    assert predicate_of()["asked_by"] == {"kind": "pipeline", "id": None, "name": "the nightly build"}


def test_files_are_named_as_they_are_called_and_the_release_is_a_subject_by_its_bytes(tmp_path):
    (tmp_path / "raw.csv").write_bytes(b"raw")
    (tmp_path / "release.csv").write_bytes(b"released")
    hashes = {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("raw.csv", "release.csv")
    }
    made = statement(files=[
        {"role": "dataset", "name": "raw-0123", "sha256": hashes["raw.csv"]},
        {"role": "release", "name": "release-0123", "sha256": hashes["release.csv"],
         "canonical_sha256": "a" * 64},
    ])  # fmt: skip
    about = (About("file/release-0123", hashes["release.csv"]), About("canonical/release-0123", "a" * 64))
    made = replace(made, subjects=(*made.subjects, *about))
    subject = Subject(tmp_path / "raw.csv", None, None, tmp_path / "release.csv", None, {}, None, None)
    own = signed_here(signed(made), None, None, subject, {})
    (tmp_path / "r.json").write_bytes(own.envelope)
    now_said = statement_of(opened(own.envelope).content)
    assert [one["name"] for one in now_said.predicate["files"]] == ["raw.csv", "release.csv"]
    assert now_said.subjects[-2] == About("file/release.csv", hashes["release.csv"])
    assert now_said.subjects[-1] == About("canonical/release.csv", "a" * 64)
    page = render_page(own.envelope)
    assert "release.csv" in page
    assert hashes["release.csv"] in page

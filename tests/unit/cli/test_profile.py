"""The profile of a table against a stub of the service: what it asks, what it shows, how it fails."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.cli import embedded, gate_service, profile
from app.cli.operations import Operations, RunningService
from app.cli.program import run
from privacy_risk import Client

PROPOSAL = [
    {"name": "id", "type": "text", "role": "identifier", "reason": "Every row has another value."},
    {"name": "zip", "type": "number", "role": "quasi_identifier", "reason": "Its values repeat."},
    {"name": "sex", "type": "categorical", "role": "quasi_identifier", "reason": "Its values repeat."},
    {"name": "note", "type": "text", "role": "other", "reason": "Nearly every row has another text."},
    {"name": "disease", "type": "categorical", "role": "quasi_identifier", "reason": "Its values repeat."},
]
DOUBTS: list[dict[str, Any]] = []
RESULT = {
    "judged": {
        "records": 12,
        "records_judged": 11,
        "records_missing": 1,
        "records_suppressed": 0,
        "classes": 3,
        "missing": "excluded",
    },
    "values_alone": [{"attribute": "disease", "records": 1}],
    "singled_out": {
        "judged": {"quasi_identifiers": ["zip", "sex"]}, "persons": 11, "singled_out": 3, "largest_set": 2,
        "sets_found": 2, "orders": None,
        "smallest_sets": [{"columns": ["zip"], "persons": 2, "persons_in_all": 2},
                          {"columns": ["zip", "sex"], "persons": 1, "persons_in_all": 3}],
        "columns": [{"column": "zip", "share": 0.25, "part": 0.833, "standard_error": None},
                    {"column": "sex", "share": 0.05, "part": 0.167, "standard_error": None}],
    },
    "sensitive": ["disease"],
    "figures": [
        {"measure": "equivalence_classes", "name": "k", "attribute": None, "value": 1.0, "safer": "higher",
         "worst": {"rows": [7], "records": 1}},
        {"measure": "l_diversity", "name": "c_min(2)", "attribute": "disease", "value": "inf",
         "safer": "lower", "worst": {"rows": [1, 2, 3, 4], "records": 4}},
        {"measure": "attacker_models", "name": "prosecutor.share_at_risk", "attribute": None, "value": None,
         "safer": "lower", "worst": None},
    ],
    "left_out": [
        {"measure": "t_closeness", "attribute": "disease", "reason": "ordered: no order; give a hierarchy."}
    ],
}  # fmt: skip
TABLE = "id,zip,sex,note,disease\np1,13053,f,x,flu\n"


class Stub:
    """Answers of the service; ``sent`` are the bodies by the last part of their path."""

    def __init__(self) -> None:
        self.sent: dict[str, list[Any]] = {}
        self.calls: list[str] = []
        self.queries: dict[str, dict[str, str]] = {}
        self.too_large = False
        self.dataset: dict[str, Any] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1/")
        self.calls.append(f"{request.method} {path}")
        content = request.read()
        is_json = request.headers.get("content-type") == "application/json"
        body = json.loads(content) if is_json else content
        self.sent.setdefault(path, []).append(body)
        self.queries[path] = dict(request.url.params)
        named = body["name"] if is_json else request.url.params.get("name", "x")
        resource = {"id": "i", "name": named, "sha256": "0"}
        finished = {"id": "run-1", "state": "succeeded", "attempt": 1}
        if path == "measurements" and self.too_large:
            queued = finished | {"state": "queued"}
            return httpx.Response(202, json=resource | {"result": None, "run": queued})
        answers = {
            "proposal": {"rows_in_sample": 1, "attributes": PROPOSAL, "doubts": DOUBTS},
            "datasets": resource | self.dataset,
            "measurements": resource | {"result": RESULT},
            "measurements/i": resource | {"result": RESULT},
            "runs/run-1": finished,
        }  # fmt: skip
        named = "proposal" if path.endswith("/proposal") else path
        return httpx.Response(201, json=answers.get(named, resource))


@pytest.fixture
def stub(monkeypatch):
    answers = Stub()

    def client(base_url, api_key, **_):
        return Client(base_url, api_key, transport=httpx.MockTransport(answers))

    monkeypatch.setattr(gate_service, "Client", client)
    monkeypatch.setattr(embedded, "Client", client)
    monkeypatch.setattr(profile, "is_small", lambda _: False)  # what is small needs no service
    return answers


@pytest.fixture
def profiled(stub, tmp_path) -> Callable[..., int]:
    stopped = []
    service = RunningService("http://stub", "pre.secret", 1, lambda: None, lambda: stopped.append(True))
    verbs = dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None) | {
        "start_service": lambda home, **_: service
    }

    def run_profile(*more: str, file: str = "patients.csv") -> int:
        table = tmp_path / file
        if not table.exists():
            table.write_text(TABLE)
        status = run(["profile", str(table), *more], Operations(**verbs))
        assert stopped or status == 1, "the service was left running"
        return status

    return run_profile


def test_it_shows_the_figures_with_their_classes_and_the_time_of_the_call(profiled, capsys):
    assert profiled("--sensitive", "disease") == 0
    out = capsys.readouterr().out
    for part in (
        "patients.csv: 12 records",
        "zip, sex (proposed by the service)",
        "note: Nearly every row has another text.",
        "11 records in 3 classes; missing values: excluded",
        "1 records with missing values, 0 that are suppressed",
        "singled out        zip alone singles out 2 of 11 people.\n",
        "                   zip and sex single out 1 of 11 people, and no fewer columns do.\n",
        "                   All columns together single out 3 of 11 people.\n",
        "                   Share of all that is singled out: zip 83 %, sex 17 %.\n",
        "                   disease: 1 row has a value that no other person has.\n",
        "row 7",
        "rows 1, 2, 3, … (4 records)",
        "∞",
        "–",
        "Measured by one call in 0.",
    ):
        assert part in out


def test_everything_is_measured_by_one_call(profiled, stub):
    profiled("--sensitive", "disease", "--level", "zip=2", "--missing", "excluded")
    assert [call for call in stub.calls if "measurements" in call] == ["POST measurements"]
    (body,) = stub.sent["measurements"]
    assert body["measure"] == {"kind": "privacy_profile", "singled_out": True, "missing": "excluded"}
    assert body["rule"] == {"kind": "table_level", "levels": {"zip": 2}}


def test_roles_are_proposed_unless_they_are_said(profiled, stub):
    profiled("--sensitive", "disease")
    profiled("--quasi-identifiers", "zip", "--sensitive", "disease", "--identifier", "id")
    proposed, said = (
        {column["name"]: column["role"] for column in body["attributes"]} for body in stub.sent["datasets"]
    )
    quasi = "quasi_identifier"
    assert proposed == {"id": "identifier", "zip": quasi, "sex": quasi, "disease": "sensitive"}
    assert said == {"id": "identifier", "zip": quasi, "disease": "sensitive"}


def test_types_are_those_of_the_proposal(profiled, stub):
    profiled("--sensitive", "disease")
    types = {column["name"]: column["type"] for column in stub.sent["datasets"][0]["attributes"]}
    assert types == {"id": "text", "zip": "number", "sex": "categorical", "disease": "categorical"}


def test_hierarchies_are_taken_from_files_by_name_and_by_pattern(profiled, stub, tmp_path):
    (tmp_path / "h_zip.csv").write_text("13053;130;*\n")
    (tmp_path / "other.csv").write_text("f;*\n")
    profiled("--hierarchies", str(tmp_path / "h_{}.csv"), "--hierarchy", f"sex={tmp_path / 'other.csv'}")
    assert stub.sent["hierarchies/csv"] == [b"13053;130;*\n", b"f;*\n"]
    (body,) = stub.sent["datasets"]
    named = {column["name"]: (column.get("hierarchy") or "")[:5] for column in body["attributes"]}
    assert named == {"id": "", "zip": "2-zip", "sex": "3-sex", "disease": ""}


def test_the_dialect_is_the_proposal_but_for_what_is_said(profiled, stub, tmp_path):
    (tmp_path / "patients.csv.gz").write_bytes(gzip.compress(TABLE.replace(",", ";").encode()))
    profiled("--delimiter", ";", "--missing-marker", "?", file="patients.csv.gz")
    query = stub.queries["uploads"]
    assert (query["delimiter"], query["quote"], query["missing"]) == (";", '"', "?")
    assert (query["format"], query["encoding"]) == ("csv.gz", "utf-8")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("sex,sex\nf,1\nm,2\n", "--header"),
        ("sex,zip,\nf,1\nm,2\n", "--delimiter"),
        ("sex,land\nf,DE\nm,NA\n", "--missing-marker"),
    ],
)
def test_a_doubt_about_the_file_is_told_with_its_option(profiled, tmp_path, capsys, text, option):
    (tmp_path / "patients.csv").write_text(text)
    assert profiled() == 1
    assert option in capsys.readouterr().err


def test_a_doubt_about_a_date_is_told_with_its_option_unless_it_is_said(profiled, stub, capsys, monkeypatch):
    doubt = {
        "decides": "format",
        "column": "zip",
        "choices": ["dd/mm/yyyy", "mm/dd/yyyy"],
        "sentence": "zip?",
    }
    monkeypatch.setattr(sys.modules[__name__], "DOUBTS", [doubt])
    assert profiled() == 1
    assert "--date-format zip=dd/mm/yyyy" in capsys.readouterr().err
    assert profiled("--quasi-identifiers", "sex") == 0
    assert profiled("--date-format", "zip=mm/dd/yyyy") == 0
    said = stub.sent["datasets"][-1]["attributes"][1]
    assert (said["name"], said["type"], said["format"]) == ("zip", "date", "mm/dd/yyyy")
    assert "zip is read as dates written mm/dd/yyyy." in capsys.readouterr().out


def test_what_is_taken_for_granted_is_told(profiled, tmp_path, capsys):
    (tmp_path / "patients.csv").write_text("id;zip;sex;note;disease\np1;NA;f;x;flu\np2;7;f;x;-\n")
    assert profiled() == 0
    out = capsys.readouterr().out
    assert "Cells are taken to be separated by a semicolon." in out
    assert "Taken for missing values: NA (in zip)." in out
    assert "Read as values, though they often mean that one is missing: - (in disease)." in out


def test_a_file_that_has_changed_is_another_upload(stub, tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "pre.secret")
    operations = Operations(**dict.fromkeys(Operations.__dataclass_fields__))
    names = set()
    for row in ("", "p2,13053,m,y,flu\n"):
        (tmp_path / "patients.csv").write_text(TABLE + row)
        assert run(["profile", str(tmp_path / "patients.csv"), "--server", "http://stub"], operations) == 0
        names.add(stub.queries["uploads"]["name"])
    assert len(names) == 2


def test_the_format_may_be_said_where_the_suffix_does_not(profiled, stub):
    assert profiled("--format", "csv", file="patients.data") == 0
    assert stub.queries["uploads"]["format"] == "csv"


def test_a_suffix_without_a_format_is_refused_with_the_option_that_says_it(profiled, capsys):
    assert profiled(file="patients.data") != 0
    assert "--format" in capsys.readouterr().err


def test_work_above_the_direct_budget_is_done_by_a_run(profiled, stub, capsys):
    stub.too_large = True
    assert profiled("--json") == 0
    assert "GET runs/run-1" in stub.calls
    assert json.loads(capsys.readouterr().out)["result"] == RESULT


def test_with_json_there_is_one_object_and_nothing_else(profiled, capsys):
    assert profiled("--json", "--sensitive", "disease") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["result"] == RESULT
    assert report["quasi_identifiers"] == ["zip", "sex"]
    assert report["proposed"] is True
    assert {"service", "upload", "dataset", "profile"} <= set(report["seconds"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sensitive", "diagnosis"), "no column 'diagnosis'"),
        (("--level", "age=1"), "no column 'age'"),
        (("--level", "zip"), "names no column"),
        (("--level", "zip=much"), "is no level"),
        (("--sensitive", "zip", "--quasi-identifiers", "zip"), "both a quasi-identifier and sensitive"),
        (("--hierarchy", "zip=nowhere.csv"), "no file nowhere.csv"),
    ],
)
def test_what_does_not_fit_is_said_with_status_1(profiled, capsys, arguments, message):
    assert profiled(*arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_every_column_that_is_not_there_is_named(profiled, stub, capsys):
    assert profiled("--sensitive", "diagnosis", "zip", "--quasi-identifiers", "age") == 1
    message = capsys.readouterr().err
    assert "no column 'diagnosis'" in message
    assert "no column 'age'" in message
    assert "no column 'zip'" not in message
    assert stub.calls == []


@pytest.mark.parametrize(
    "damaged", [lambda whole: whole[:-9], lambda whole: b"zip\n12345\n", lambda whole: whole + b"x"]
)
def test_a_compressed_file_that_is_cut_off_is_refused_before_anything_starts(
    profiled, stub, tmp_path, capsys, damaged
):
    (tmp_path / "patients.csv.gz").write_bytes(damaged(gzip.compress(TABLE.encode())))
    assert profiled(file="patients.csv.gz") == 1
    assert "patients.csv.gz: The file is damaged, cut off or not gzip." in capsys.readouterr().err
    assert stub.calls == []


def test_a_file_of_an_unknown_format_is_refused_before_anything_starts(profiled, stub, capsys):
    assert profiled(file="patients.ods") == 1
    assert "names no format" in capsys.readouterr().err
    assert stub.calls == []


def test_a_service_that_is_running_is_asked_and_left_running(stub, tmp_path, capsys, monkeypatch):
    (tmp_path / "patients.csv").write_text(TABLE)
    question = ["profile", str(tmp_path / "patients.csv"), "--server", "http://stub"]
    operations = Operations(**dict.fromkeys(Operations.__dataclass_fields__))
    monkeypatch.delenv("PRIVACY_RISK_API_KEY", raising=False)
    assert run(question, operations) == 1
    assert "PRIVACY_RISK_API_KEY is not set" in capsys.readouterr().err
    assert stub.calls == []
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "pre.secret")
    assert run(question, operations) == 0
    assert "patients.csv: 12 records" in capsys.readouterr().out


def test_cells_are_read_as_proposed_unless_a_file_of_a_hierarchy_lists_them(
    profiled, stub, tmp_path, monkeypatch
):
    quasi = {"role": "quasi_identifier", "reason": "Its values repeat."}
    dated = {"name": "disease", "type": "date", "format": "dd.mm.yyyy", **quasi}
    priced = {"name": "zip", "type": "number", "format": "1.234,56", **quasi}
    monkeypatch.setattr(sys.modules[__name__], "PROPOSAL", [*PROPOSAL[:1], priced, *PROPOSAL[2:4], dated])
    (tmp_path / "zip.csv").write_text("13053;130;*\n")
    profiled("--hierarchy", f"zip={tmp_path / 'zip.csv'}")
    (body,) = stub.sent["datasets"]
    found = {own["name"]: own for own in body["attributes"]}
    assert found["disease"] == {
        "name": "disease", "type": "date", "role": "quasi_identifier", "format": "dd.mm.yyyy",
        "on_unreadable": "missing",
    }  # fmt: skip
    assert found["zip"].pop("hierarchy").startswith("2-zip-")
    assert found["zip"] == {"name": "zip", "type": "categorical", "role": "quasi_identifier"}
    assert "on_unreadable" not in found["sex"]


def test_cells_that_count_as_missing_are_told(profiled, stub, capsys):
    born = {"name": "born", "type": "date", "unreadable": 3}
    stub.dataset = {"attributes": [born, {"name": "sex", "type": "categorical", "unreadable": 0}]}
    profiled("--json")
    said = "cells that are no date and count as missing: 3"
    assert json.loads(capsys.readouterr().out)["unreadable"] == {"born": said}
    profiled()
    assert f"unreadable         born: {said}" in capsys.readouterr().out

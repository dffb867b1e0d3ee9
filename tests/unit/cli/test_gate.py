"""The gate's command against a stub of the service: what it asks, what it writes, and its exit status."""

from __future__ import annotations

import hashlib
import io
import json
import sys

import httpx
import pytest

from app.cli import gate
from app.cli.gate_files import check_policy_file
from app.cli.program import run
from app.evidence.envelope import opened
from app.evidence.statement import statement_of
from tests.unit.cli.gate_stub import ASKED, POLICY, TABLES, stub_page
from tests.unit.cli.verdict_documents import ERROR, FAIL, PASS, criterion, evidence_of, verdict


@pytest.mark.parametrize(("result", "code"), [(PASS, 0), (FAIL, 1), (ERROR, 2)])
def test_the_exit_status_is_the_verdict(judge, stub, capsys, result, code):
    stub.result = result
    assert judge() == code
    assert capsys.readouterr().out.startswith(("PASS", "FAIL", "ERROR")[code])


def test_the_policy_is_stored_and_asked_about_the_table_as_it_is(judge, stub):
    judge()
    assert stub.sent["POST /policies"]["name"] == "public-release"
    asked = stub.sent[ASKED]
    assert asked["rule"] == {"kind": "identity"}
    assert asked["dictionaries"] == {}
    assert "sensitivity" not in asked
    declared = stub.sent["POST /datasets"]["attributes"]
    assert declared == [
        {"name": "id", "type": "text", "role": "identifier"},
        {"name": "city", "type": "categorical", "role": "quasi_identifier"},
    ]


@pytest.mark.parametrize(
    ("argv", "named", "rows_are"),
    [
        ([], ["identifier", "quasi_identifier"], None),
        (["--person", "id"], ["person", "quasi_identifier"], None),
        (["--rows-are", "persons"], ["identifier", "quasi_identifier"], "persons"),
    ],
)
def test_the_command_says_what_a_row_of_the_dataset_is(judge, stub, argv, named, rows_are):
    judge(*argv)
    sent = stub.sent["POST /datasets"]
    assert [own["role"] for own in sent["attributes"]] == named
    assert sent.get("rows_are") == rows_are


def test_a_stored_dataset_says_itself_what_a_row_is(stub, operations, files, capsys):
    argv = ["--server", "http://s", "--dataset-id", "members", "--person", "id"]
    assert run(["gate", "policy.yaml", *argv], operations) == 2
    assert "--person: The columns of the dataset are described already." in capsys.readouterr().err


def test_the_command_says_how_the_file_of_the_dataset_is_read(judge, stub, files):
    (files / "members.csv").write_text("1;03/04/1980\n2;NA\n")
    policy = (files / "policy.yaml").read_text()
    (files / "policy.yaml").write_text(policy.replace("id:", "column_1:").replace("city:", "column_2:"))
    judge(
        "--delimiter", ";", "--header", "false", "--missing-marker", "NA", "--encoding", "latin-1",
        "--date-format", "column_2=mm/dd/yyyy",
    )  # fmt: skip
    query = stub.sent["POST /uploads"]
    said = [query[key] for key in ("delimiter", "header", "encoding", "missing")]
    assert said == [";", "false", "latin-1", "NA"]
    assert stub.sent["POST /datasets"]["attributes"][1] == {
        "name": "column_2", "type": "date", "role": "quasi_identifier", "format": "mm/dd/yyyy"
    }  # fmt: skip


def test_the_delimiter_that_was_meant_is_told(judge, files, capsys):
    (files / "members.csv").write_text("id;city\n1;Gary\n")
    assert judge() == 2
    assert "the delimiter is probably a semicolon" in capsys.readouterr().err


def test_a_tables_file_says_hierarchies_links_weights_and_the_only_slot(judge, stub, files):
    (files / "members.csv").write_text("id;city\n1;Gary\n")
    (files / "tables.toml").write_text(TABLES.replace('delimiter = ","', 'delimiter = ";"'))
    judge("--tables", "tables.toml", "--rule", "rule.yaml")
    asked = stub.sent[ASKED]
    (dataset,) = [asked["dataset"]]
    assert dataset.startswith("members-")
    hierarchy = stub.sent["POST /hierarchies/csv"]["name"]
    assert stub.sent["POST /datasets"]["attributes"][1]["hierarchy"] == hierarchy
    (link,) = stub.sent["POST /dictionaries"]["links"]
    assert link["hierarchy"] == hierarchy
    assert link["transform"]["upload"] in stub.uploads
    assert asked["dictionaries"] == {"register": stub.sent["POST /dictionaries"]["name"]}
    assert stub.sent["POST /sensitivity-profiles"]["attributes"] == {
        "city": {"leaves": 0.3, "inner": "harmonic"}
    }
    assert asked["sensitivity"] == stub.sent["POST /sensitivity-profiles"]["name"]
    assert asked["rule"] == {"kind": "table_level", "levels": {"city": 1}}
    sent = {name.rsplit("-", 1)[0]: parameters for name, (_, parameters) in stub.uploads.items()}
    assert sent["members"]["delimiter"] == ";"
    assert stub.uploads[stub.sent["POST /datasets"]["upload"]][0] == b"id;city\n1;Gary\n"


@pytest.mark.parametrize(
    ("weight", "slots", "demand", "is_sent"),
    [
        ("", True, "privacy_model", False),
        ("", True, "score", True),
        ("weight = 0.3\n", True, "privacy_model", True),
        ("weight = 0.3\n", False, "privacy_model", False),
    ],
)
def test_no_sensitivity_is_made_up_where_nobody_gave_weights_or_asks_for_harm(
    judge, stub, files, weight, slots, demand, is_sent
):
    (files / "tables.toml").write_text(TABLES.replace("weight = 0.3\n", weight))
    criteria = [
        {"id": id_, "severity": severity, "demand": {"kind": demand}}
        for id_, severity in (("a", "block"), ("b", "warn"), ("c", "block"))
    ]
    policy = POLICY.replace("criteria: []", f"criteria: {json.dumps(criteria)}")
    if not slots:
        policy = policy.replace("[{name: register, description: the register}]", "[]")
    (files / "policy.yaml").write_text(policy)
    assert judge("--tables", "tables.toml") == 0
    assert ("sensitivity" in stub.sent[ASKED]) is is_sent
    assert ("POST /sensitivity-profiles" in stub.sent) is is_sent


def test_the_same_files_get_the_same_names_and_others_do_not(judge, stub, files):
    judge("--tables", "tables.toml")
    before = stub.sent[ASKED]
    judge("--tables", "tables.toml")
    after = stub.sent[ASKED]
    assert {key: before[key] for key in ("dataset", "dictionaries", "sensitivity")} == {
        key: after[key] for key in ("dataset", "dictionaries", "sensitivity")
    }
    assert before["name"] != after["name"]
    (files / "members.csv").write_text("id,city\n1,Hammond\n")
    judge("--tables", "tables.toml")
    assert stub.sent[ASKED]["dataset"] != before["dataset"]


def test_a_release_file_is_judged_by_its_key(judge, stub):
    judge("--tables", "tables.toml", "--release", "release.csv", "--key", "id")
    release = stub.sent[ASKED]["release"]
    assert release["key"] == "id"
    assert stub.uploads[release["upload"]][0] == b"id,city\n1,*\n"
    assert "rule" not in stub.sent[ASKED]


def test_a_table_is_read_in_the_encoding_that_it_is_in_unless_one_is_declared(judge, stub, files):
    (files / "members.csv").write_bytes("id,city\n1,Zürich\n".encode("latin-1"))
    judge()
    assert [query.get("encoding") for _, query in stub.uploads.values()] == ["latin-1"]
    stub.uploads.clear()
    described = TABLES.replace('name = "members"', 'name = "members"\nencoding = "cp1252"', 1)
    (files / "tables.toml").write_text(described)
    judge("--tables", "tables.toml")
    assert "cp1252" in [query.get("encoding") for _, query in stub.uploads.values()]


def test_a_release_file_keeps_the_records_order_only_if_the_command_says_so(judge, stub):
    judge("--tables", "tables.toml", "--release", "release.csv", "--key", "id")
    assert stub.sent[ASKED]["release"].keys() == {"upload", "key"}
    judge("--tables", "tables.toml", "--release", "release.csv", "--order", "records")
    release = stub.sent[ASKED]["release"]
    assert (release["order"], "key" in release) == ("records", False)


def test_only_a_server_believes_that_who_asks_governs(judge, stub):
    """The service that runs for the command gives anybody all scopes: nobody has looked at the register."""
    judge("--tables", "tables.toml")
    assert stub.sent[ASKED]["as_governor"] is False
    judge("--tables", "tables.toml", "--server", "https://service.example")
    assert "as_governor" not in stub.sent[ASKED]


def test_a_dictionary_of_a_file_takes_the_place_of_the_described_one(judge, stub, files):
    (files / "new.csv").write_text("zip\n2\n")
    judge("--tables", "tables.toml", "--dictionary", "register=new.csv")
    assert stub.uploads[stub.sent["POST /dictionaries"]["upload"]][0] == b"zip\n2\n"


def test_what_a_server_holds_is_named_and_nothing_is_sent_to_it(judge, stub, operations):
    argv = [
        "gate",
        "public-release@2",
        "--dataset-id",
        "members",
        "--server",
        "http://s",
        "--rule",
        "proposal",
    ]
    argv += ["--dictionary", "register=census", "--sensitivity", "members-harm"]
    assert run(argv, operations) == 0
    assert {key for key in stub.sent if key.startswith("POST")} == {ASKED}
    asked = stub.sent[ASKED]
    del asked["name"]
    assert asked == {
        "dataset": "members",
        "rule": "proposal",
        "dictionaries": {"register": "census"},
        "sensitivity": "members-harm",
    }


def test_a_release_that_a_server_has_made_is_named(stub, operations, files, capsys):
    stub.answers["GET /releases/drawn"] = httpx.Response(
        200, json={"id": "r-1", "name": "drawn", "sha256": "0", "dataset": "members"}
    )
    argv = ["gate", "public-release@2", "--stored-release", "drawn"]
    assert run([*argv, "--server", "http://s"], operations) == 0
    assert {key: own for key, own in stub.sent[ASKED].items() if key != "name"} == {
        "dataset": "members", "release": {"name": "drawn"}, "dictionaries": {},
    }  # fmt: skip
    assert capsys.readouterr().out.startswith("PASS  drawn")
    assert run(["gate", "policy.yaml", "--stored-release", "drawn"], operations) == 2
    assert "--stored-release names what a server holds." in capsys.readouterr().err
    assert run([*argv, "--server", "http://s", "--key", "id"], operations) == 2
    assert run([*argv, "--server", "http://s", "--dataset", "members.csv"], operations) == 2


def test_the_questions_of_a_stored_policy_are_answered_where_it_may_be_read(stub, operations, capsys):
    heading = {"title": "Who is singled out?", "source": "An office", "text": "…", "requirements": []}
    stub.outline = [heading]
    argv = ["gate", "public-release@2", "--dataset-id", "members", "--server", "http://s"]
    assert run(argv, operations) == 0
    assert "Question  Who is singled out? (An office)\n" in capsys.readouterr().out
    stub.answers["GET /policies/public-release@2"] = httpx.Response(403, json={"status": 403, "title": "no"})
    assert run(argv, operations) == 0
    assert "Question" not in capsys.readouterr().out


def test_what_is_too_large_for_a_direct_answer_becomes_a_run(judge, stub):
    stub.is_large = True
    assert judge() == 0
    name = stub.sent[ASKED]["name"]
    assert f"GET /evaluations/id-{name}" in stub.sent


def test_files_are_written_in_their_formats_and_text_is_printed(judge, stub, files, capsys):
    argv = [
        "--format",
        "junit",
        "--output",
        "a.xml",
        "--output",
        "sarif=b.sarif",
        "--report",
        "r.json",
        "--html",
    ]
    assert judge(*argv, "r.html") == 0
    assert capsys.readouterr().out.startswith("PASS")
    assert "<testsuites" in (files / "a.xml").read_text()
    assert json.loads((files / "b.sarif").read_text())["version"] == "2.1.0"
    assert statement_of(opened((files / "r.json").read_bytes()).content).predicate["result"] == PASS
    written = hashlib.sha256((files / "r.json").read_bytes()).hexdigest()
    assert (files / "r.html").read_text() == stub_page(written)
    assert judge("--quiet", "--output", "a.txt") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("page", ["<p>Log in to the network</p>", stub_page("0" * 64)])
def test_another_page_than_that_of_the_evidence_is_2(judge, stub, files, page):
    stub.page = lambda sha256: page
    assert judge("--server", "http://x", "--tables", "tables.toml", "--html", "r.html") == 2
    assert not (files / "r.html").exists()


def test_a_fault_is_written_in_every_format_too(judge, files, capsys):
    (files / "a.xml").write_text("<an-old-pass/>")
    assert judge("--output", "junit=a.xml", dataset="nowhere.csv") == 2
    assert "There is no file nowhere.csv" in (files / "a.xml").read_text()
    captured = capsys.readouterr()
    assert captured.out.startswith("ERROR  nowhere.csv")
    assert "There is no file nowhere.csv" in captured.err


def test_evidence_of_an_earlier_pass_does_not_stay_where_there_is_no_verdict(judge, files):
    written = ["--report", "r.json", "--html", "r.html"]
    assert judge(*written) == 0
    assert judge(*written, dataset="nowhere.csv") == 2
    assert not (files / "r.json").exists()
    assert not (files / "r.html").exists()


PROBLEM = httpx.Response(422, json={"type": "/problems/invalid-input", "title": "No", "status": 422})


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        (ASKED, PROBLEM),
        (ASKED, httpx.Response(500, text="broken")),
        (ASKED, httpx.Response(200, text="not JSON")),
        (ASKED, httpx.Response(200, json=[])),
        (ASKED, httpx.Response(200, json={"unexpected": True})),
        (ASKED, httpx.ConnectError("refused")),
        (ASKED, httpx.ReadTimeout("late")),
        (ASKED, RuntimeError("a fault of the program")),
        ("POST /policies", httpx.Response(403, json={"type": "/problems/forbidden", "status": 403})),
        ("POST /policies", httpx.Response(409, json={"type": "/problems/conflict", "status": 409})),
        ("POST /uploads", PROBLEM),
        ("POST /datasets", PROBLEM),
    ],
)
def test_whatever_goes_wrong_on_the_way_is_2_and_takes_the_place_of_old_reports(
    judge, stub, files, capsys, key, answer
):
    (files / "a.json").write_text('{"verdict": "pass"}')
    stub.answers[key] = answer
    assert judge("--output", "json=a.json") == 2
    assert capsys.readouterr().err
    assert json.loads((files / "a.json").read_text())["verdict"] == "error"


@pytest.mark.parametrize(
    "result", [None, {}, PASS | {"criteria": []}, PASS | {"verdict": "fail"}, FAIL | {"verdict": "pass"}]
)
def test_an_answer_that_is_no_verdict_is_2(judge, stub, result):
    stub.result = result
    assert judge() == 2


@pytest.mark.parametrize("evidence", [None, {}, {"sha256": "0" * 64}])
def test_a_pass_without_its_evidence_is_2(judge, stub, evidence):
    stub.evidence = evidence
    assert judge() == 2


@pytest.mark.parametrize(
    "envelope",
    [
        lambda name: b"<html>",
        lambda name: evidence_of(PASS, "another"),
        lambda name: evidence_of(FAIL, name),
        lambda name: evidence_of({**PASS, "criteria": PASS["criteria"][:1]}, name),
        lambda name: evidence_of("pass", name),
        lambda name: evidence_of(PASS, name, resource=None),
        lambda name: evidence_of(PASS, name, report="assessment"),
    ],
)
def test_a_pass_beside_evidence_of_something_else_is_2(judge, stub, files, envelope):
    """Even if its hash is the one that the service tells."""
    stub.envelope = envelope
    assert judge("--report", "report.json") == 2
    assert not (files / "report.json").exists()


CRITERIA = "criteria: [{id: a, severity: block}, {id: b, severity: warn}, {id: c}]\n"


@pytest.mark.parametrize(
    ("criteria", "code"),
    [
        (CRITERIA, 0),
        (CRITERIA.replace("warn", "block"), 2),
        (CRITERIA.replace("id: c", "id: d"), 2),
        (CRITERIA.replace("}]", "}, {id: d}]"), 2),
    ],
)
def test_a_pass_that_leaves_out_what_the_policy_requires_is_2(judge, files, criteria, code):
    (files / "policy.yaml").write_text(POLICY.replace("criteria: []\n", criteria))
    assert judge() == code


@pytest.mark.parametrize(
    "policy", [{"name": "other", "version": 2}, {"name": "public-release", "version": 1}]
)
def test_a_pass_under_another_policy_is_2(judge, stub, policy):
    stub.result = {**PASS, "policy": policy}
    assert judge() == 2


@pytest.mark.parametrize(
    ("named", "code"),
    [("public-release", 0), ("public-release@2", 0), ("public-release@3", 2), ("public", 2), ("release", 2)],
)
def test_a_pass_under_the_named_policy_is_0(judge, named, code):
    assert judge("--server", "http://x", "--tables", "tables.toml", policy=named) == code


def test_the_answer_to_another_question_is_2(judge, stub):
    made = {"id": "i", "name": "yesterday", "sha256": "0", "result": PASS, "evidence": {"id": "e"}}
    stub.answers[ASKED] = httpx.Response(200, json=made)
    assert judge() == 2


def test_a_run_that_fails_is_2(judge, stub):
    stub.is_large = True
    failed = {"id": "r", "state": "failed", "attempt": 3, "error": {"code": "worker-lost"}}
    stub.answers["GET /runs/run-1"] = httpx.Response(200, json=failed)
    assert judge() == 2


@pytest.mark.parametrize("where", ["--report", "--html", "--output"])
def test_a_file_that_cannot_be_written_is_2(judge, files, where):
    assert judge(where, "no-such-folder/file") == 2
    assert not (files / "no-such-folder").exists()


def test_output_that_nobody_takes_is_2(judge, monkeypatch):
    class Closed(io.StringIO):
        def flush(self):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert judge() == 2


def test_what_the_output_cannot_encode_does_not_cost_the_verdict(judge, stub, monkeypatch):
    taken = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, encoding="ascii"))
    stub.result = verdict("pass", criterion("a", title="Größe ≥ 5"))
    assert judge("--format", "markdown") == 0
    assert b"Gr\\xf6\\xdfe" in taken.getvalue().replace(b"\\\\", b"\\")


def test_an_interrupt_is_130(judge, stub):
    stub.answers[ASKED] = KeyboardInterrupt()
    assert judge() == 130


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [", "policy.yaml"),
        ("name: a\nname: b\n", "policy.yaml"),
        ("a: .nan\n", "policy.yaml"),
        ("- a\n", "must hold an object"),
        ("!!python/object/apply:os.system [ls]", "policy.yaml"),
        ("a: &a [*a]\n", "policy.yaml"),
        ("", "policy.yaml"),
    ],
)
def test_a_policy_that_cannot_be_read_is_2(judge, files, capsys, text, said):
    (files / "policy.yaml").write_text(text)
    assert judge() == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--dictionary", "register"], "fills no slot"),
        (["--dictionary", "register=census.csv"], "how the columns"),
        (["--dictionary", "a=census.csv", "--dictionary", "a=census.csv"], "twice"),
        (["--dictionary", "register=census"], "no file census"),
        (["--rule", "proposal"], "no file proposal"),
        (["--rule", "proposal.yaml", "--server", "http://s"], "no file proposal.yaml"),
        (["--rule", "a b", "--server", "http://s"], "is no name"),
        (["--sensitivity", "harm"], "--server"),
        (["--key", "id"], "--release"),
        (["--order", "records"], "--release"),
        (["--release", "none.csv"], "no file none.csv"),
        (["--tables", "none.toml"], "no file none.toml"),
        (["--tables", "policy.yaml"], "cannot be parsed"),
        (["--tables", "tables.toml", "--person", "id"], "--person: The columns of the dataset are described"),
        (["--tables", "tables.toml", "--rows-are", "persons"], "--rows-are: The columns of the dataset are"),
    ],
)
def test_what_does_not_fit_together_is_2_and_says_what_to_do(judge, stub, capsys, argv, said):
    assert judge(*argv) == 2
    assert said in capsys.readouterr().err
    assert ASKED not in stub.sent


def test_without_a_schema_the_columns_have_to_be_described(judge, files, capsys):
    (files / "policy.yaml").write_text(POLICY.replace("schema", "# schema"))
    assert judge() == 2
    assert "--tables" in capsys.readouterr().err


def test_what_is_wrong_with_a_policy_for_a_server_is_told_where_it_describes_no_columns(
    judge, stub, files, capsys, monkeypatch
):
    monkeypatch.setattr(gate, "check_policy_file", check_policy_file)
    (files / "policy.yaml").write_text(POLICY.replace("schema", "scheme"))
    assert judge("--server", "http://s") == 2
    said = capsys.readouterr().err
    assert "policy.yaml/scheme" in said
    assert "--tables" not in said
    assert stub.sent == {}


def test_the_tables_file_names_the_dataset_where_nothing_else_does(stub, operations, files, capsys):
    (files / "tables").mkdir()
    for name in ("city.csv", "census.csv", "zip-city.csv"):
        (files / "tables" / name).write_bytes((files / name).read_bytes())
    (files / "tables" / "tables.toml").write_text(TABLES)
    argv = ["gate", "policy.yaml", "--tables", "tables/tables.toml"]
    assert run(argv, operations) == 2
    assert "There is no file tables/other.csv." in capsys.readouterr().err
    (files / "tables" / "other.csv").write_text("id,city\n7;Gary\n")
    assert run(argv, operations) == 0
    assert b"7;Gary" in next(iter(stub.uploads.values()))[0]
    assert capsys.readouterr().out.startswith("PASS  tables/other.csv")


def test_something_has_to_be_judged(stub, operations, files, capsys):
    assert run(["gate", "policy.yaml"], operations) == 2
    assert "Nothing says what is judged." in capsys.readouterr().err


def test_a_server_needs_its_key(judge, monkeypatch, capsys):
    monkeypatch.delenv("PRIVACY_RISK_API_KEY")
    assert judge("--server", "http://s") == 2
    assert "PRIVACY_RISK_API_KEY" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["gate", "policy.yaml", "--dataset", "a", "--dataset-id", "b"],
        ["gate", "policy.yaml", "--dataset", "a", "--rule", "b", "--release", "c"],
        ["gate", "policy.yaml", "--rule", "b", "--stored-release", "c"],
        ["gate", "policy.yaml", "--dataset", "a", "--format", "pdf"],
    ],
)
def test_wrong_usage_is_2(argv, operations):
    with pytest.raises(SystemExit) as caught:
        run(argv, operations)
    assert caught.value.code == 2


@pytest.mark.parametrize(("missing", "code"), [([], 0), (["register"], 2)])
def test_a_dry_run_judges_nothing_and_says_so(judge, stub, capsys, missing, code):
    plan = {"missing": missing, "criteria": [{"id": "a", "route": "direct", "cost": {"seconds": 0.25}}]}
    stub.answers[f"{ASKED}/plans"] = httpx.Response(200, json=plan)
    assert judge("--dry-run") == code
    assert ASKED not in stub.sent
    out = capsys.readouterr().out
    assert out.startswith("Nothing was judged.")
    assert "route: direct" in out
    assert judge("--dry-run", "--format", "json") == code
    assert json.loads(capsys.readouterr().out) == plan
    assert judge("--dry-run", "--report", "r.json") == 2


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("ci", "argv", "drawn"), [(None, [], True), ("true", [], False), (None, ["--quiet"], False)]
)
def test_progress_is_drawn_on_a_terminal_and_not_in_a_pipeline(judge, stub, monkeypatch, ci, argv, drawn):
    stub.is_large = True
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert judge(*argv) == 0
    assert ("criteria 1 of 2" in terminal.getvalue()) is drawn


def test_every_format_that_is_offered_is_written():
    assert set(gate.FORMATS) == {"text", "json", "junit", "sarif", "markdown"}

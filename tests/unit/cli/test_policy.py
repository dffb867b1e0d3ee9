"""``policy`` on the command line: from files alone."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.cli import policy_table
from app.cli.operations import Operations
from app.cli.program import run
from app.domain.policies.schema import ColumnReading
from app.services.datasets.structured_text import read_yaml
from app.services.gates.policies import NAMES, NEWEST, template
from app.services.gates.policy_documents import policy_of


@pytest.fixture
def policy(capsys, tmp_path):
    """Run the command; its status, what it printed, and what it complained of."""

    def call(*arguments: object) -> tuple[int, str, str]:
        # None of its actions calls for anything that the program is wired with.
        status = run(["policy", *map(str, arguments)], object.__new__(Operations))
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


@pytest.fixture
def file(tmp_path):
    def write(text: str, name: str = "policy.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_templates_are_listed_and_printed_as_they_are(policy):
    status, out, _ = policy("template")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == list(NAMES[NEWEST])
    assert policy("template", "trusted-partner") == (0, template("trusted-partner").text, "")


@pytest.mark.parametrize("name", NAMES[NEWEST])
def test_a_template_has_nothing_wrong_but_an_empty_schema(policy, file, name):
    path = file(template(name).text)
    status, out, _ = policy("lint", path)
    assert status == 0
    assert "warning [draft-schema] /schema/attributes" in out
    assert out.endswith(f"{path}: {name}@4, 0 errors, 1 warning\n")


def test_mistakes_are_told_with_their_lines(policy, file):
    text = template("public-release").text.replace("kind: k_map", "kind: kmap")
    path = file(text)
    line = next(n for n, own in enumerate(text.splitlines(), start=1) if "kmap" in own)
    status, out, _ = policy("lint", path)
    assert status == 1
    assert f"{path}:{line}: error [unknown-model] /requirements/1/requirement/model/kind" in out
    assert "Did you mean 'k_map'?" in out
    assert out.endswith("1 error, 1 warning\n")


def test_json_is_linted_too(policy, file):
    path = file(json.dumps(read_yaml(template("internal-analytics").text).value), "policy.json")
    assert policy("lint", path)[0] == 0


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2", ""])
def test_what_cannot_be_read_has_status_2(policy, file, text):
    status, out, err = policy("lint", file(text))
    assert (status, out) == (2, "")
    assert err.startswith("privacy-risk: ")


def test_a_file_that_is_not_there_or_no_text_has_status_2(policy, tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.yaml", tmp_path / "bytes.yaml", tmp_path):
        assert policy("lint", path)[0] == 2
        assert policy("diff", path, path)[0] == 2


def test_what_is_no_policy_has_errors(policy, file):
    status, out, _ = policy("lint", file("a: 1"))
    assert status == 1
    assert "not a policy" in out


def test_a_stricter_version_is_called_so(policy, file):
    text = template("internal-analytics").text
    old = file(text, "old.yaml")
    new = file(text.replace("version: 4", "version: 5", 1).replace("k: 3", "k: 5"), "new.yaml")
    status, out, _ = policy("diff", old, new)
    assert status == 0
    assert out.startswith("internal-analytics@4 -> internal-analytics@5: stricter")
    assert policy("diff", old, file("a: 1", "none.yaml"))[0] == 1


PEOPLE = "member_no,surname,it's,sex\n" + "".join(
    f"{number},{name},{number % 3},{'fm'[number % 2]}\n"
    for number, name in enumerate(["Smith", "Jones", "Taylor", "Brown", "Wilson", "Evans"] * 5)
)


def test_a_schema_is_proposed_and_written_with_every_role_to_be_confirmed(policy, file):
    path, table = file(template("internal-analytics").text), file(PEOPLE, "people.csv")
    status, printed, _ = policy("schema", path, table)
    assert status == 0
    assert policy("schema", path, table, "--write") == (0, "", "")
    assert printed in path.read_text(encoding="utf-8")
    written = policy_of(read_yaml(path.read_text(encoding="utf-8")).value)
    assert written.schema is not None
    assert set(written.schema.to_confirm) == {"member_no", "surname", "it's", "sex"}
    assert written.schema.attributes["member_no"] == "identifier"
    assert written.schema.attributes["sex"] == "quasi_identifier"
    assert written.schema.is_draft
    # Everything else is as it was.
    before = template("internal-analytics").policy
    assert replace(written, schema=None) == replace(before, schema=None)


def test_roles_that_a_policy_gives_stay_as_they_are(policy, file):
    read = "  file: {missing: ['', 'NA']}\n  columns: {sex: {type: categorical, hierarchy: {kind: flat}}}\n"
    schema = f"schema:\n  attributes: {{sex: sensitive}}\n  patterns: {{'*name': dropped}}\n{read}"
    text = template("internal-analytics").text.replace("schema:\n  attributes: {}\n", schema)
    path, table = file(text), file(PEOPLE, "people.csv")
    assert policy("schema", path, table, "--write")[0] == 0
    written = policy_of(read_yaml(path.read_text(encoding="utf-8")).value)
    assert written.schema is not None
    assert written.schema.attributes["sex"] == "sensitive"
    assert written.schema.to_confirm == ("member_no", "it's")
    assert "surname" not in written.schema.attributes
    assert written.schema.file.missing == ("", "NA")
    assert written.schema.columns == {"sex": ColumnReading("categorical", hierarchy={"kind": "flat"})}


@pytest.mark.parametrize("said", ["attributes: {sex: person}", "attributes: {}\n  rows_are: persons"])
def test_what_a_policy_says_of_persons_stays_when_roles_are_proposed(policy, file, said):
    text = template("internal-analytics").text.replace("schema:\n  attributes: {}\n", f"schema:\n  {said}\n")
    path, table = file(text), file(PEOPLE, "people.csv")
    assert policy("schema", path, table, "--write")[0] == 0
    written = policy_of(read_yaml(path.read_text(encoding="utf-8")).value).schema
    assert written is not None
    assert (written.person, written.rows_are) == ((None, "persons") if "rows_are" in said else ("sex", None))


def test_a_schema_needs_a_table_or_a_dataset(policy, file):
    status, _, said = policy("schema", file(template("internal-analytics").text))
    assert status == 2
    assert "--server with --dataset" in said


def people_schema(**roles: str) -> str:
    filled = "schema:\n  attributes: " + json.dumps(roles) + "\n"
    return template("internal-analytics").text.replace("schema:\n  attributes: {}\n", filled)


def test_roles_are_held_against_a_table_without_telling_its_values(policy, file):
    text = people_schema(mail="sensitive", sex="quasi_identifier", town="quasi_identifier", ward="dropped")
    lines = PEOPLE.splitlines()
    mails = [f"{own},a{n}@mail.example" for n, own in enumerate(lines[1:])]
    path, table = file(text), file("\n".join([lines[0] + ",mail", *mails]) + "\n", "people.csv")
    assert "people" not in policy("lint", path)[1]
    status, printed, _ = policy("lint", path, "--table", table, "--json")
    assert status == 0
    said = {(own["code"], own["pointer"]): own["message"] for own in json.loads(printed)["warnings"]}
    assert set(said) == {
        ("absent-column", "/schema/attributes/town"),
        ("unnamed-column", "/schema/attributes"),
        ("looks-like-identifier", "/schema/attributes/mail"),
        ("singles-out", "/schema/attributes/mail"),
    }
    assert (
        "100.0% email) and has the role sensitive" in said["looks-like-identifier", "/schema/attributes/mail"]
    )
    assert not any(name in printed for name in ("Smith", "Jones", "@", "a7"))
    plain = policy("lint", path, "--table", table)[1]
    assert f"{path}:{line_of(text, 'mail')}: warning [looks-like-identifier]" in plain
    assert plain.count("[unnamed-column]") == 3


def test_roles_are_held_against_a_dataset_of_a_server(policy, file, monkeypatch):
    found = [
        {"attribute": "note", "kinds": [{"kind": "email", "share": 0.75, "is_direct_identifier": True}]},
        {"attribute": "sex", "kinds": [{"kind": "email", "share": 0.01, "is_direct_identifier": False}]},
    ]
    answers = {"attributes": found}
    declared = {"attributes": [{"name": name} for name in ("note", "sex", "id")]}
    client = SimpleNamespace(
        datasets=SimpleNamespace(get=lambda name: SimpleNamespace(document=declared)),
        measurements=SimpleNamespace(answer=lambda body: SimpleNamespace(document={"result": answers})),
    )
    monkeypatch.setattr(policy_table, "service_client", lambda server, operations: nullcontext(client))
    path = file(people_schema(note="sensitive", sex="quasi_identifier", age="quasi_identifier"))
    printed = json.loads(policy("lint", path, "--server", "http://s", "--dataset", "people", "--json")[1])
    assert [(own["code"], own["pointer"]) for own in printed["warnings"]] == [
        ("unnamed-column", "/schema/attributes"),
        ("absent-column", "/schema/attributes/age"),
        ("looks-like-identifier", "/schema/attributes/note"),
    ]


def line_of(text: str, word: str) -> int:
    return next(n for n, own in enumerate(text.splitlines(), start=1) if word in own)


def test_columns_that_nothing_judges_are_told_by_how_many_they_single_out(policy, file):
    roles = {
        "member_no": "sensitive",
        "surname": "identifier",
        "sex": "quasi_identifier",
        "it's": "sensitive",
    }
    path, table = file(people_schema(**roles)), file(PEOPLE + ",,,\n", "people.csv")
    printed = json.loads(policy("lint", path, "--table", table, "--json")[1])["warnings"]
    (own,) = [own for own in printed if own["code"] == "singles-out"]
    # Thirty numbers, and an empty cell that singles nobody out.
    assert (own["pointer"], "96.77%" in own["message"]) == ("/schema/attributes/member_no", True)


def test_a_table_that_cannot_be_read_has_status_2(policy, file, tmp_path):
    path = file(template("internal-analytics").text)
    assert policy("lint", path, "--table", tmp_path / "none.csv")[0] == 2
    assert policy("lint", path, "--table", file("", "empty.csv"))[0] == 2
    assert policy("lint", path, "--table", file(PEOPLE, "p.csv"), "--dataset", "people")[0] == 2


WAREHOUSE = Path(__file__).parents[3] / "docs/pipelines/warehouse"


@pytest.mark.parametrize(
    ("written", "instead", "code"),
    [
        ("name FROM", "nome FROM", "unknown-column"),
        ("'cancer'", "'cancer' AND diagnosis = 'flu'", "constant-secret"),
        ("'cancer'", "'flu'", None),
        (
            "'cancer'",
            "'cancer' AND patient.name = 'x' AND EXISTS (SELECT 1 FROM patient p WHERE p.pid = patient.pid "
            "AND p.name = 'y')",
            "constant-secret",
        ),
    ],
)
def test_secrets_are_read_over_the_tables_that_are_named(policy, file, written, instead, code):
    text = (WAREHOUSE / "policy.yaml").read_text()
    tables = str(WAREHOUSE / "schema.sql")
    assert policy("lint", file(text), "--relational-schema", tables)[0] == 0
    changed = file(text.replace(written, instead, 1))
    assert policy("lint", changed)[0] == 0, "without tables nothing is wrong"
    status, out, _ = policy("lint", changed, "--relational-schema", tables)
    assert (status, f"[{code}]" in out) == ((0, False) if code is None else (1, True))
    assert policy("lint", changed, "--relational-schema", changed)[0] == 2

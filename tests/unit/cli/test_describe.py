"""What ``describe`` writes: read as it stands by what takes it, and told by its place where it is wrong."""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tomllib
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.cli import describe
from app.cli.description import Described, description_text
from app.cli.gate_tables import load_tables
from app.cli.program import run
from app.cli.table_header import require_described
from app.domain.errors import InvalidInput
from app.samples.files import write_patients, write_sample
from tests.unit.services.workbooks import workbook


def described(*arguments):
    parser = argparse.ArgumentParser()
    describe.add_parser(parser.add_subparsers())
    return describe.run(parser.parse_args(["describe", *map(str, arguments)]), None)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    write_sample(folder, 300, 600)
    write_patients(folder, 500)
    return folder


@pytest.fixture
def table(tmp_path):
    (tmp_path / "people.csv").write_text("zip,born\n" + "02139,1970-01-02\n00501,1980-03-04\n" * 10)
    return tmp_path / "people.csv"


def test_the_demonstrations_members_are_described_as_they_are_read(samples, tmp_path, capsys):
    assert described(samples / "members.csv", "-o", tmp_path / "t.toml") == 0
    tables = load_tables(tmp_path / "t.toml")
    assert tables.dataset.identifier == "member_id"
    roles = {own.name: own.declaration["role"] for own in tables.attributes}
    quasi = dict.fromkeys(("city", "race", "birth_date"), "quasi_identifier")
    assert roles == {**quasi, "income": "sensitive"}
    require_described(tables.dataset, tables.attributes)
    assert "300 records, 5 columns" in capsys.readouterr().out


def test_patients_of_a_german_hospital_are_read_as_they_are_written(samples, tmp_path):
    described(samples / "patients.csv", "-o", tmp_path / "t.toml")
    text = (tmp_path / "t.toml").read_text()
    tables = load_tables(tmp_path / "t.toml")
    assert (tables.dataset.dialect["delimiter"], tables.release["delimiter"]) == (";", ",")
    born = next(own for own in tables.attributes if own.name == "Geburtsdatum")
    assert (born.declaration["type"], born.declaration["format"]) == ("date", "dd.mm.yyyy")
    assert born.hierarchy["kind"] == "dates"
    assert {"Nachname", "Bemerkung"}.isdisjoint(own.name for own in tables.attributes)
    assert "[dataset.attributes.Nachname]\n# A direct identifier" in text
    require_described(tables.dataset, tables.attributes)


def test_a_guess_is_marked(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("xyzzy\n" + "a\nb\n" * 20)
    described(tmp_path / "t.csv", "-o", tmp_path / "t.toml")
    assert "# UNSURE: Its values repeat" in (tmp_path / "t.toml").read_text()
    assert "UNSURE             xyzzy" in capsys.readouterr().out


def test_names_and_reasons_of_any_signs_make_a_file_that_can_be_read(tmp_path):
    names = ['a "quoted" one', "ä.ö", "x\\y", "tab\there", "#"]
    pq.write_table(pa.table({name: ["a", "b"] * 5 for name in names}), tmp_path / "t.parquet")
    described(tmp_path / "t.parquet", "-o", tmp_path / "t.toml")
    assert list(tomllib.loads((tmp_path / "t.toml").read_text())["dataset"]["attributes"]) == names


def test_rows_that_were_not_looked_at_may_hold_cells_of_another_type(table):
    found = asyncio.run(describe._described(table, "people.csv", {}))
    text = description_text(Described(found.name, found.file, 10**6, found.dialect, found.proposal))
    assert 'type = "date"\n# In the rows after these, what is no date\non_unreadable = "missing"' in text


def test_a_workbook_is_described_with_what_was_said_of_its_zeros(tmp_path):
    def zeros(book):
        for row in range(2, 7):
            book.active.cell(row, 1).number_format = "00000"

    book = tmp_path / "zips.xlsx"
    book.write_bytes(workbook(("zip", "sex"), *[(2139, "f")] * 5, change=zeros))
    with pytest.raises(InvalidInput, match="zeros in front that only the format shows"):
        described(book, "-o", tmp_path / "no.toml")
    described(book, "--leading-zeros", "keep", "-o", tmp_path / "t.toml")
    assert tomllib.loads((tmp_path / "t.toml").read_text())["dataset"]["leading_zeros"] == "keep"
    tables = load_tables(tmp_path / "t.toml", book)
    assert tables.dataset.dialect["leading_zeros"] == "keep"


def test_an_edited_file_is_never_written_over(table, tmp_path):
    (tmp_path / "t.toml").write_text("edited")
    with pytest.raises(InvalidInput, match="is there already"):
        described(table, "-o", tmp_path / "t.toml")
    assert (tmp_path / "t.toml").read_text() == "edited"


def test_a_query_is_described_without_a_file(tmp_path, monkeypatch):
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute("create table people (zip text, born date)")
        database.executemany("insert into people values (?, ?)", [("02139", "1970-01-02")] * 5)
    address = f"sqlite:///{tmp_path / 'x.db'}"
    described("--query", "select * from people", "--from", address, "-o", tmp_path / "t.toml")
    text = (tmp_path / "t.toml").read_text()
    assert "file" not in tomllib.loads(text)["dataset"]
    assert address not in text
    tables = load_tables(tmp_path / "t.toml", tmp_path / "any.parquet")
    assert {own.name: own.declaration["type"] for own in tables.attributes}["born"] == "date"


def test_a_folder_of_pieces_is_described(tmp_path):
    (tmp_path / "people").mkdir()
    for number in (1, 2):
        pq.write_table(pa.table({"zip": ["02139"] * 5}), tmp_path / "people" / f"{number}.parquet")
    described(tmp_path / "people", "-o", tmp_path / "t.toml")
    assert load_tables(tmp_path / "t.toml").dataset.path == tmp_path / "people"


BORN = "[dataset.attributes.born]\n"


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ('role = "quasi_identifier"', 'role = "quasi"', "zip/role", "'quasi' is no role"),
        ('role = "quasi_identifier"', 'role = "identifier"', "zip/role", 'identifier = "zip"'),
        ('type = "date"', 'type = "day"', "born/type", "Write one of categorical"),
        ('type = "date"', 'type = "date"\nformat = "1234.56"', "born/format", "dd.mm.yyyy"),
        ('type = "date"', 'type = "date"\nfromat = "x"', "born/fromat", "Allowed are role"),
        ('type = "date"', 'type = "text"\non_unreadable = "missing"', "born/on_unreadable", "change type"),
        ('type = "date"', 'type = "date"\nweight = "much"', "born/weight", "from 0 on"),
        ('type = "date"', 'type = "date"\nproposed_level = -1', "born/proposed_level", "Write 0, 1, 2"),
        ("hierarchy = {", 'hierarchy = "none.csv" # {', "zip/hierarchy", "There is no file"),
        ("hierarchy = {", "hierarchy = 3 # {", "zip/hierarchy", "hierarchy = { kind"),
        ("attributes.born]", "attributes.burn]", "burn", "The table has no column 'burn'"),
    ],
)
def test_what_is_edited_wrongly_is_told_by_its_place(table, tmp_path, capsys, old, new, place, said):
    file = tmp_path / "t.toml"
    described(table, "-o", file)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    assert run(["profile", "--tables", str(file)], None) == 1
    message = capsys.readouterr().err
    assert f"{file}/dataset/attributes/{place}: " in message
    assert said in message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sensitive", "zip"], "Say it there, and leave --sensitive out"),
        (["--query", "select 1", "people.csv"], "Give one of the two"),
        (["--from", "sqlite://"], "--from belongs to a query"),
        (["nowhere.csv"], "There is no file nowhere.csv"),
    ],
)
def test_what_does_not_go_together_is_told_before_anything_starts(table, tmp_path, capsys, options, said):
    described(table, "-o", tmp_path / "t.toml")
    for command in (["profile"], ["anonymise", "--k", "2", "-o", str(tmp_path / "release.csv")]):
        assert run([*command, "--tables", str(tmp_path / "t.toml"), *options], None) == 1
        assert said in capsys.readouterr().err


def test_a_release_is_written_as_it_will_be_read(table, tmp_path):
    from app.cli.anonymise import release_file

    described(table, "-o", tmp_path / "t.toml")
    (tmp_path / "t.toml").write_text(
        (tmp_path / "t.toml").read_text() + '[release]\ndelimiter = ";"\nencoding = "latin-1"\n'
    )
    tables = load_tables(tmp_path / "t.toml")
    assert release_file(pa.table({"a": ["ü"], "b": ["x"]}), tables) == b'"a";"b"\n"\xfc";"x"\n'
    with pytest.raises(InvalidInput, match="signs that latin-1 cannot write"):
        release_file(pa.table({"a": ["≥ 5"]}), tables)
    assert release_file(pa.table({"a": ["≥ 5"]}), None) == "a\n≥ 5\n".encode()
    alone = pa.table({"a": ["", "x, y", 'say "it"']})
    assert release_file(alone, None) == b'a\n""\n"x, y"\n"say ""it"""\n'

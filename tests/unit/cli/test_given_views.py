"""Views as the command line names them: what is read, and all that is refused before anything is judged."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from app.cli.dbt_manifest import VERSIONS
from app.cli.given_views import GivenViews, Place, given_views
from app.domain.errors import InvalidInput
from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked

SCHEMA = "CREATE TABLE raw.d (pid integer NOT NULL, ill text NOT NULL, ward integer NOT NULL);"
CATALOG = "https://schemas.getdbt.com/dbt/catalog/v1.json"
QUERY = "SELECT pid FROM d WHERE ill = 'flu'"
WAREHOUSE = Path(__file__).parents[3] / "docs/pipelines/warehouse"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("schema.sql", SCHEMA)
    return tmp_path


def write(path: str, content: str | bytes) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def given(views: str = "models/**/*.sql", schema: str | None = "schema.sql", **more: object) -> GivenViews:
    named = {"views": views, "relational_schema": schema, "catalog": None, **more}
    found = given_views(Namespace(**named))
    assert found is not None
    return found


def refusal(*args: str, **more: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        given(*args, **more)
    return " ".join(f"{own.pointer}: {own.code}: {own.message}" for own in refused.value.faults)


def test_every_file_is_a_view_by_its_path(folder: Path):
    write("models/a.sql", QUERY)
    write("models/marts/b.sql", "\ufeff" + QUERY)
    found = given()
    assert [(own.id, own.path, own.query) for own in found.views] == [
        ("a", "models/a.sql", QUERY), ("marts.b", "models/marts/b.sql", QUERY)
    ]  # fmt: skip
    assert found.body["relational_schema"] == {"sql": SCHEMA}
    assert [own.id for own in given("models/a.sql").views] == ["a"]


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("other/a.sql", QUERY, "no-views"),
        ("models/a.sql", b"SELECT 1\nFROM \xff", "models/a.sql: malformed: Line 2, column 6: "),
        ("models/a.sql", QUERY.encode("utf-16"), "malformed: Line 1, column 1"),
        ("models/a.sql", " \n", "models/a.sql: empty: Line 1, column 1"),
        ("models/a.sql", "x" * 10_000_000, "models/a.sql: too-large"),
        ("models/D.sql", QUERY, "models/D.sql: named-as-table"),
        ("models/a b.sql", QUERY, "models/a b.sql: invalid-name"),
    ],
)
def test_a_file_that_is_no_view_is_refused(folder: Path, path: str, content: str | bytes, said: str):
    write(path, content)
    assert said in refusal()


def test_no_pattern_leaves_the_folder_by_a_link(folder: Path):
    write("models/a.sql", QUERY)
    write("secret/b.sql", QUERY)
    Path("models/link.sql").symlink_to(Path("secret/b.sql").resolve())
    assert "models/link.sql: outside" in refusal()
    Path("models/link.sql").unlink()
    Path("models/marts").symlink_to(Path("secret").resolve())
    assert "models/marts/b.sql: outside" in refusal()
    Path("models/marts").unlink()
    Path("models/broken.sql").symlink_to("nowhere.sql")
    assert "models/broken.sql: unreadable" in refusal()


def test_two_files_of_one_name_are_refused(folder: Path):
    write("models/a.b.sql", QUERY)
    write("models/a/b.sql", QUERY)
    assert "duplicate-id" in refusal()


def test_views_are_judged_without_data(folder: Path):
    write("models/a.sql", QUERY)
    assert "--dataset: two-subjects" in refusal(dataset=Path("d.csv"))
    assert "--relational-schema: missing" in refusal(schema=None)
    assert "--catalog: needs-manifest" in refusal(catalog=Path("catalog.json"))
    alone = Namespace(views=None, relational_schema="schema.sql", catalog=None)
    with pytest.raises(InvalidInput, match="belongs to views"):
        given_views(alone)
    assert given_views(Namespace(views=None, relational_schema=None, catalog=None)) is None


def manifest(*nodes: dict[str, object], version: int = 12, **metadata: object) -> str:
    named = f"https://schemas.getdbt.com/dbt/manifest/v{version}.json"
    document = {
        "metadata": {"dbt_schema_version": named, "adapter_type": "postgres", **metadata},
        "nodes": {str(own["unique_id"]): own for own in nodes},
    }
    write("target/manifest.json", json.dumps(document))
    return "target/manifest.json"


def model(name: str, code: str | None = QUERY, **more: object) -> dict[str, object]:
    return {
        "unique_id": f"model.shop.{name}", "resource_type": "model", "language": "sql",
        "relation_name": f'"db"."m"."{name}"', "original_file_path": f"models/{name}.sql",
        "compiled_path": f"target/compiled/shop/models/{name}.sql", "raw_code": code, "compiled_code": code,
        "config": {"materialized": "view"}, "depends_on": {"nodes": [], "macros": []}, **more,
    }  # fmt: skip


SNAPSHOT = {**model("a"), "unique_id": "snapshot.shop.a", "resource_type": "snapshot"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_models_of_a_project_are_its_views(folder: Path, version: int):
    stage = model("stage", "select pid, ward\nfrom raw.d")
    over = model(
        "over", 'select ward\nfrom "db"."m"."stage"', raw_code="select ward\nfrom {{ ref('stage') }}"
    )
    moved = model(
        "moved", "\n\nselect ward\nfrom raw.d", raw_code="{% set x = 1 %}\n{{ x }}\nselect ward from raw.d"
    )
    shown = model("inside", QUERY, config={"materialized": "ephemeral"}, relation_name=None)
    test = {"unique_id": "test.shop.t", "resource_type": "test", "compiled_code": "select 1"}
    found = given(manifest(stage, over, moved, shown, test, version=version))
    assert [own.id for own in found.views] == ["shop.stage", "shop.over", "shop.moved"]
    view = found.view("shop.over")
    assert view is not None
    (line,) = [number for number, own in enumerate(view.query.split("\n"), 1) if "raw" in own]
    assert view.written_at(line) == Place("models/stage.sql", 2)
    assert view.own_place(line) == Place("models/over.sql", 2)
    moved_view = found.view("shop.moved")
    assert moved_view is not None
    assert moved_view.path == "target/compiled/shop/models/moved.sql"


@pytest.mark.parametrize(
    ("nodes", "metadata", "said"),
    [
        ([model("a", None)], {}, "model.shop.a: not-compiled"),
        ([model("a", " ")], {}, "not-compiled"),
        ([model("a", language="python")], {}, "not-sql"),
        ([model("a", relation_name=None)], {}, "has no relation_name"),
        ([], {}, "no-views"),
        ([model("a", config={"materialized": "ephemeral"})], {}, "no-views"),
        ([model("a", "select * from m.b"), model("b", "select * from m.a")], {}, "reads shop.b reads shop.a"),
        ([model("a", "select 1; select 2")], {}, "models/a.sql: several-statements: Line 1, column 11"),
        ([model("a"), SNAPSHOT], {}, "duplicate-id"),
        ([model("a")], {"adapter_type": "snowflake"}, "unknown-dialect"),
        ([model("a")], {"version": 9}, "version v9; read are v10 to v12"),
        ([model("a")], {"version": 13}, "unknown-version"),
        ([model("a")], {"dbt_schema_version": CATALOG}, "no manifest"),
    ],
)  # fmt: skip
def test_a_project_that_cannot_be_judged_is_refused(folder: Path, nodes, metadata, said: str):
    assert said in refusal(manifest(*nodes, **metadata))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"metadata":\n oops', "malformed: Line 2, column 2"),
        ("[1]", "is no manifest"),
        (b"\xff\xfe", "no text in UTF-8"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_a_manifest_that_is_none_is_refused(folder: Path, content: str | bytes, said: str):
    write("target/manifest.json", content)
    assert said in refusal("target/manifest.json")


def test_a_catalog_tells_columns_and_no_key():
    found = given(
        str(WAREHOUSE / "target/manifest.json"), schema=None, catalog=WAREHOUSE / "target/catalog.json"
    )
    assert found.body["relational_schema"]["sql"].split("\n") == [
        'CREATE TABLE "hospital"."patient" ("pid" integer, "name" text);',
        'CREATE TABLE "hospital"."diagnosis" ("pid" integer, "diagnosis" text, "ward" integer);',
    ]
    both = {"schema": "schema.sql", "catalog": WAREHOUSE / "target/catalog.json"}
    assert "exactly-one" in refusal(str(WAREHOUSE / "target/manifest.json"), **both)


def test_a_catalog_whose_types_are_none_is_refused(folder: Path):
    column = {"name": "pid", "type": "integer); DROP TABLE x; --", "index": 1}
    table = {"metadata": {"schema": "raw", "name": "d"}, "columns": {"pid": column}}
    document = {
        "metadata": {"dbt_schema_version": CATALOG},
        "nodes": {},
        "sources": {"source.shop.raw.d": table},
    }
    write("catalog.json", json.dumps(document))
    at = manifest(model("a"))
    assert "does not tell the columns" in refusal(at, schema=None, catalog=Path("catalog.json"))


def test_models_whose_tables_keep_rows_are_named(folder: Path):
    grown = model("grown", config={"materialized": "incremental"})
    sent = given(manifest(SNAPSHOT, grown, model("b"))).body["views"]
    assert [(own["id"], own.get("keeps_rows", False)) for own in sent] == [
        ("shop.a", True), ("shop.grown", True), ("shop.b", False),
    ]  # fmt: skip


def test_a_file_that_reads_the_views_of_others_is_judged_by_their_tables(folder: Path):
    write("models/flu.sql", f"{QUERY}; -- no more")
    write("models/marts/named.sql", "-- one\nCREATE VIEW marts.wards AS\nSELECT ward,\n  pid FROM d;")
    write(
        "models/over.sql", 'CREATE VIEW "Over" AS\nSELECT f.pid FROM FLU AS f\nJOIN marts.wards USING (pid)'
    )
    write("models/last.sql", 'SELECT o.pid\nFROM "Over" AS o, wards')
    found = {own.id: own for own in given().views}
    # What reads no view stays as it is in its file, so that its hash is that of the file.
    assert found["flu"].query == f"{QUERY}; -- no more"
    assert found["marts.named"].query.startswith("-- one\nCREATE VIEW")
    queries = [WrittenQuery(own.id, own.query) for own in found.values()]
    secrets = [WrittenQuery("cancer", "SELECT pid FROM d WHERE ill = 'cancer'")]
    check = ViewCheck({}, (), secrets, queries, language="sql", tables=SCHEMA)
    verdicts = {own["view"]: own["verdict"] for own in checked(check)["pairs"]}
    assert verdicts == {
        "flu": "PRIVATE", "marts.named": "DISCLOSES", "over": "DISCLOSES", "last": "DISCLOSES"
    }  # fmt: skip
    lines = found["last"].query.split("\n")
    (at,) = (number for number, line in enumerate(lines, 1) if line == "  pid FROM d")
    assert found["last"].written_at(at) == Place("models/marts/named.sql", 4)
    assert found["last"].own_place(at) == Place("models/last.sql", 2)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": "SELECT pid FROM b", "b": "SELECT pid FROM a"}, "--views: circle: Views read each other in a"),
        ({"a": "SELECT pid\nFROM a"}, "circle: a reads a"),
        (
            {"x/a": QUERY, "y/a": QUERY, "b": "SELECT pid\nFROM a"},
            "models/b.sql: relation-unclear: Line 2, column 6: 'a' may mean the view x.a or y.a",
        ),
        (
            {"a": "\nCREATE VIEW a (pid) AS SELECT pid FROM d", "b": "SELECT pid FROM a"},
            "models/a.sql: not-read: Line 2, column 13: other views read it by columns named here",
        ),
    ],
)
def test_files_that_read_each_other_in_no_clear_way_are_refused(folder: Path, files: dict, said: str):
    for name, query in files.items():
        write(f"models/{name}.sql", query)
    assert said.replace("circle: a reads a", "in a circle: a reads a") in refusal()


def test_what_is_no_sql_and_what_a_server_knows_is_left_as_it_is(folder: Path):
    texts = {"a": "v(p) :- d(p, 'flu', w).", "b": "SELECT pid FROM c", "c": QUERY, "d2": "SELECT 1; SELECT 2"}
    for name, query in texts.items():
        write(f"models/{name}.sql", query)
    assert {own.id: own.query for own in given(schema="held", server="http://x").views} == texts
    found = {own.id: own.query for own in given().views}
    assert {name: found[name] for name in ("a", "c", "d2")} == {
        name: texts[name] for name in ("a", "c", "d2")
    }
    assert found["b"].startswith("WITH ")

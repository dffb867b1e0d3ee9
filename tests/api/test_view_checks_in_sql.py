"""Views in SQL checked against secrets over HTTP."""

from __future__ import annotations

import pytest

from tests.api.problem_documents import problem_of
from tests.oracles.sql_queries import in_sql
from tests.unit.views.vectors import VECTORS, queries_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def left_standing(standing: dict[str, str]) -> dict[str, str]:
    """One tenant asks all: an answer rests on nothing but its question."""
    return standing


SECRET = "SELECT DISTINCT pname FROM p JOIN d USING (pid) WHERE diagnosis = 'cancer'"
HOSPITAL = {
    "relations": {
        "p": {"attributes": ["pid", "pname"]},
        "d": {"attributes": ["pid", "diagnosis", "medication", "ward"]},
    }
}
FLU = "SELECT pid FROM d WHERE diagnosis = 'flu'"
OTHER = "EXISTS (SELECT 1 FROM d AS e WHERE e.pid = d.pid AND e.diagnosis = '{}')"


def body(view, schema=HOSPITAL, secret=SECRET, **more):
    return {
        "relational_schema": schema,
        "language": "sql",
        "secrets": [{"id": "secret", "query": secret}],
        "views": [{"id": "view", "query": view}],
        **more,
    }


async def checked(client, sent):
    answer = await client.post("/v1/view-checks", json=sent)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["result"]


async def pair(client, *args, **more):
    (found,) = (await checked(client, body(*args, **more)))["pairs"]
    return found


async def fault(client, *args, **more):
    answer = await client.post("/v1/view-checks", json=body(*args, **more))
    (error,) = problem_of(answer, 422, "invalid-input")["errors"]
    return error


# QV-16 takes as much work as may be done: twelve joins of a relation with itself, which are asked elsewhere.
@pytest.mark.parametrize(
    "name", [pytest.param(own, marks=[pytest.mark.deep] if own == "QV-16" else []) for own in VECTORS]
)
async def test_the_worked_examples_have_their_verdicts_in_sql(client, name):
    vector = VECTORS[name]
    columns = {relation: own["attributes"] for relation, own in vector["schema"].items()}
    secret, views = queries_of(vector)
    sent = {
        "relational_schema": {
            "relations": vector["schema"],
            "foreign_keys": vector.get("foreign_keys", []),
        },
        "language": "sql",
        "secrets": [{"id": "s", "query": in_sql(secret, columns)}],
        "views": [{"id": f"v{i}", "query": in_sql(own, columns)} for i, own in enumerate(views)],
    }
    found = await checked(client, sent)
    assert found["verdict"] == vector["expect"]["verdict"]
    disclosing = [i for i, own in enumerate(found["pairs"]) if own["verdict"] == "DISCLOSES"]
    assert disclosing == vector["expect"].get("views", disclosing)
    assert all(own["not_exact"] == {"secret": [], "view": []} for own in found["pairs"])


STATED_IN_SQL = [name for name, own in VECTORS.items() if "views_sql" in own]


@pytest.mark.parametrize("name", STATED_IN_SQL)
async def test_the_worked_examples_that_are_stated_in_sql(client, name):
    vector = VECTORS[name]
    columns = {relation: own["attributes"] for relation, own in vector["schema"].items()}
    secret = vector.get("secret_sql") or in_sql(queries_of(vector)[0], columns)
    sent = body("", {"relations": vector["schema"]}, secret)
    sent["views"] = [{"id": f"v{i}", "query": own} for i, own in enumerate(vector["views_sql"])]
    found = (await checked(client, sent))["pairs"]
    assert len(found) == len(vector["views"])
    disclosing = [i for i, own in enumerate(found) if own["verdict"] == "DISCLOSES"]
    assert disclosing == vector["expect"]["views"]
    assert all(own["not_exact"] == {"secret": [], "view": []} for own in found)


async def test_a_key_makes_a_view_tell_in_sql_as_well(client):
    """QV-06 is QV-05 with a key."""
    vector = VECTORS["QV-05"]
    columns = {relation: own["attributes"] for relation, own in vector["schema"].items()}
    secret = in_sql(queries_of(vector)[0], columns)
    for name, verdict in (("QV-05", "PRIVATE"), ("QV-06", "DISCLOSES")):
        found = await pair(client, vector["views_sql"][1], {"relations": VECTORS[name]["schema"]}, secret)
        assert found["verdict"] == verdict


@pytest.mark.spec(*(f"SQ-{number}" for number in range(1, 13)))
@pytest.mark.parametrize(
    ("view", "verdict", "reason", "method"),
    [
        (
            "SELECT DISTINCT pid FROM d WHERE diagnosis IN ('flu','hepatitis')",
            "PRIVATE",
            "NO_UNIFIABLE_SUBGOALS",
            "no_overlap",
        ),
        (
            "SELECT COUNT(*) FROM d WHERE diagnosis = 'flu'",
            "PRIVATE",
            "NO_UNIFIABLE_SUBGOALS",
            "no_overlap",
        ),
        (
            "SELECT ward, COUNT(*) FROM d GROUP BY ward",
            "DISCLOSES",
            "SHARED_CRITICAL_TUPLE",
            "row_determined",
        ),
        (f"{FLU} AND {OTHER.format('asthma')}", "PRIVATE", "NO_UNIFIABLE_SUBGOALS", "no_overlap"),
        (
            "SELECT pname FROM p NATURAL JOIN d WHERE ward = 1212",
            "DISCLOSES",
            "SHARED_CRITICAL_TUPLE",
            "row_determined",
        ),
        (
            f"{FLU} UNION ALL SELECT pid FROM d WHERE diagnosis = 'cancer'",
            "DISCLOSES",
            "SHARED_CRITICAL_TUPLE",
            "row_determined",
        ),
        (
            "SELECT 1 FROM d WHERE diagnosis = 'cancer' AND diagnosis = 'flu'",
            "PRIVATE",
            "EMPTY_QUERY",
            "constant",
        ),
        ("SELECT AVG(ward) FROM d WHERE diagnosis = 'flu'", "PRIVATE", "NO_UNIFIABLE_SUBGOALS", "envelope"),
        (f"{FLU} AND NOT {OTHER.format('asthma')}", "PRIVATE", "NO_UNIFIABLE_SUBGOALS", "envelope"),
        (f"{FLU} AND NOT {OTHER.format('cancer')}", "UNKNOWN", "NON_CONJUNCTIVE", "envelope"),
        (
            "SELECT d.pid FROM d LEFT JOIN p ON p.pid = d.pid WHERE d.diagnosis = 'flu'",
            "UNKNOWN",
            "NON_CONJUNCTIVE",
            "envelope",
        ),
        ("SELECT DISTINCT ward FROM d WHERE diagnosis LIKE 'hep%'", "UNKNOWN", "NON_CONJUNCTIVE", "envelope"),
    ],
)
async def test_sql_is_judged_as_specified(client, view, verdict, reason, method):
    found = await pair(client, view)
    assert (found["verdict"], found["reason_code"], found["method"]) == (verdict, reason, method)
    assert (found["witness"] is not None) == (verdict == "DISCLOSES")
    assert bool(found["not_exact"]["view"]) == (method == "envelope")


@pytest.mark.spec("SQ-13")
async def test_an_unknown_column_is_an_error_of_the_input(client):
    error = await fault(client, "SELECT nosuch FROM d")
    assert (error["pointer"], error["code"]) == ("/views/0/query", "unknown-column")
    assert error["message"].startswith("Line 1, column 8: ")


async def test_an_envelope_says_by_which_operators_and_where(client):
    found = await pair(client, "SELECT DISTINCT ward FROM d\nWHERE diagnosis LIKE 'hep%'")
    assert found["not_exact"] == {"secret": [], "view": [{"operator": "LIKE", "line": 2, "column": 7}]}
    assert "LIKE at line 2, column 7" in found["explanation"]
    assert "denied as if it disclosed" in found["explanation"]


async def test_a_disclosure_says_where_its_row_is_read(client):
    found = await pair(client, "SELECT pname\nFROM p NATURAL JOIN d\nWHERE ward = 1212")
    relation = found["witness"]["view"]["deciding_row"]["relation"]
    place = {"p": {"line": 2, "column": 6}, "d": {"line": 2, "column": 21}}[relation]
    assert found["witness"]["view"]["places"] == [place]
    assert found["witness"]["secret"]["places"][0]["line"] == 1


TABLES = """
CREATE TABLE staff (
  name VARCHAR(50) PRIMARY KEY, doctor TEXT NOT NULL, since DATE, CHECK (since > '2000-01-01'));
CREATE TABLE visit (id UUID PRIMARY KEY, name VARCHAR(50) NOT NULL REFERENCES staff (name));
"""


async def test_tables_in_sql_are_a_schema(client):
    sent = body(
        "SELECT name FROM staff WHERE doctor <> 'Drake'",
        {"sql": TABLES},
        "SELECT DISTINCT name FROM staff WHERE doctor = 'Drake' AND since >= DATE '2020-02-01'",
        ignore_foreign_keys=True,
    )
    found = await checked(client, sent)
    (only,) = found["pairs"]
    assert only["reason_code"] == "SHARED_BLOCK"
    assert only["witness"]["secret"]["deciding_row"]["values"]["since"].startswith("2020-02-")
    assert "since = '2020-02-" in only["explanation"]
    assert any("CHECK" in own for own in found["warnings"])
    assert any("uuid" in own for own in found["warnings"])
    linked = await pair(
        client, "SELECT name FROM visit", {"sql": TABLES}, "SELECT name FROM staff WHERE name = 'x'"
    )
    assert (linked["verdict"], linked["reason_code"]) == ("UNKNOWN", "FOREIGN_KEY_LINK")


async def test_dates_exclude_each_other_as_dates(client):
    schema = {"sql": "CREATE TABLE v (pid INT NOT NULL, day DATE NOT NULL, PRIMARY KEY (pid, day))"}
    secret = "SELECT pid FROM v WHERE day < '2020-01-01'"
    assert (await pair(client, "SELECT pid FROM v WHERE day >= '2020-01-01'", schema, secret))[
        "verdict"
    ] == "PRIVATE"
    assert (await pair(client, "SELECT pid FROM v WHERE day >= '2019-12-31'", schema, secret))[
        "verdict"
    ] == "DISCLOSES"
    # Between two days that follow each other there is no other.
    none = await pair(client, "SELECT pid FROM v WHERE day > '2019-12-31'", schema, secret)
    assert none["verdict"] == "PRIVATE"


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        (
            {"sql": "CREATE TABLE p (pid INT);\nCREATE INDEX i ON p (pid)"},
            "/relational_schema/sql",
            "not-a-table",
        ),
        ({"sql": "CREATE TABLE p (pid INT"}, "/relational_schema/sql", "sql-syntax"),
        ({"sql": "CREATE TABLE p (pid INT REFERENCES q)"}, "/relational_schema/sql", "unknown-relation"),
        ({"sql": "CREATE TABLE p (pid INT)", **HOSPITAL}, "/relational_schema/sql", "two-schemas"),
        ({}, "/relational_schema/relations", "no-relation"),
    ],
)
async def test_tables_that_are_not_read_are_refused_at_their_place(client, schema, pointer, code):
    error = await fault(client, "SELECT 1 FROM p", schema, "SELECT 1 FROM p")
    assert (error["pointer"], error["code"]) == (pointer, code)


async def test_names_fold_as_the_dialect_does(client):
    tables = {"sql": 'CREATE TABLE T (A INT PRIMARY KEY, "b c" INT NOT NULL)'}
    sent = body('SELECT "a", t."b c" FROM t', tables, "SELECT a FROM T")
    assert (await checked(client, sent))["verdict"] == "DISCLOSES"
    error = await fault(client, 'SELECT "A" FROM t', tables, "SELECT a FROM T")
    assert error["code"] == "unknown-column"


async def test_keeps_duplicates_is_said_by_sql_itself(client):
    sent = body("SELECT pid FROM d")
    sent["views"][0]["keeps_duplicates"] = True
    problem = problem_of(await client.post("/v1/view-checks", json=sent), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "keeps-duplicates"


@pytest.mark.parametrize(
    ("view", "code", "place"),
    [
        ("SELECT pid FROM d; SELECT pid FROM p", "several-statements", (1, 20)),
        ("DELETE FROM d", "not-a-query", (1, 1)),
        ("CREATE TABLE x AS SELECT pid FROM d", "not-a-query", (1, 1)),
        ("DROP VIEW d", "not-a-query", (1, 1)),
        ("-- nothing", "not-a-query", (1, 1)),
        ("SELECT pid\nFROM nosuch", "unknown-relation", (2, 6)),
        ("SELECT pid FROM other.d", "unknown-relation", (1, 17)),
        ("SELECT pid FROM d, p", "ambiguous-column", (1, 8)),
        ("SELECT d.pid FROM d, p AS d", "duplicate-alias", (1, 22)),
        ("SELECT x.pid FROM d", "unknown-column", (1, 8)),
        ("WITH RECURSIVE x AS (SELECT pid FROM x) SELECT 1 FROM x", "recursive-query", (1, 38)),
        ("SELECT leak(pid) FROM d", "unknown-function", (1, 8)),
        ("SELECT pid FROM d WHERE ward = $1", "parameter", (1, 33)),
        ("SELECT pid FROM d, LATERAL lower('x') x", "not-read", (1, 20)),
        ("SELECT pid FROM d TABLESAMPLE SYSTEM (10)", "not-read", None),
        ("SELECT pid FROM d FOR UPDATE", "not-read", None),
        ("SELECT pid FROM d UNION SELECT pid, pname FROM p", "wrong-arity", (1, 32)),
        ("SELECT pid FROM d WHERE (pid = 1", "sql-syntax", (1, 32)),
        ("SELECT pid FROM d WHERE pid = 'x", "sql-syntax", None),
        ("SELECT TOP 3 pid FROM d", "sql-syntax", (1, 12)),
        ("SELECT pid FROM d WHERE pid = '\0'", "sql-syntax", (1, 32)),
        ("SELECT pid FROM d WHERE ward > 3", "no-order", (1, 25)),
        ("SELECT pid FROM d WHERE ward = 3 OR ward = '03'", "ambiguous-literal", (1, 37)),
        ("SELECT pid FROM d WHERE " + "(" * 1000 + "ward = 3" + ")" * 1000, "nested-too-deep", (1, 65)),
        ("SELECT pid FROM d WHERE " + "NOT " * 1000 + "ward = 3", "nested-too-deep", (1, 185)),
        (" UNION ".join(["SELECT pid FROM d"] * 200), "query-too-large", (1, 8)),
        ("SELECT 1 FROM " + ", ".join(f"d d{i}" for i in range(150)), "query-too-large", None),
        (
            "WITH a0 AS (SELECT pid FROM d)"
            + "".join(f", a{i + 1} AS (SELECT x.pid FROM a{i} x, a{i} y)" for i in range(12))
            + " SELECT * FROM a12",
            "query-too-large",
            None,
        ),
    ],
)  # fmt: skip
async def test_what_is_not_read_is_refused_at_its_line_and_column(client, view, code, place):
    error = await fault(client, view)
    assert (error["pointer"], error["code"]) == ("/views/0/query", code), error
    if place is not None:
        assert error["message"].startswith(f"Line {place[0]}, column {place[1]}: "), error


@pytest.mark.parametrize(
    "view",
    [
        "SELECT pid FROM d WHERE " + " OR ".join(f"ward = {i}" for i in range(1_400)),
        "SELECT pid FROM d WHERE ward IN (" + ", ".join(map(str, range(3_500))) + ")",
        "SELECT pid FROM d WHERE " + " AND ".join(f"(ward = {i} OR pid <> {i})" for i in range(500)),
        "SELECT pid FROM d WHERE " + " + ".join(["ward"] * 2_500) + " = 3",
        "SELECT " + "CASE WHEN ward = 1 THEN " * 39 + "1" + " END" * 39 + " FROM d",
        "SELECT pid FROM d WHERE " + "EXISTS (SELECT 1 FROM d WHERE ward = 1 AND " * 19 + "1 = 1" + ")" * 19,
        "SELECT pid, SUM(ward) OVER (ORDER BY pid) FROM d",
        "SELECT pid FROM d WHERE UPPER(diagnosis) = 'FLU' ORDER BY pid LIMIT 5",
        "SELECT pid FROM d FULL JOIN p USING (pid)",
        "SELECT pid FROM d GROUP BY pid HAVING COUNT(*) > 3",
        "SELECT pid FROM d EXCEPT SELECT pid FROM p",
    ],
)
async def test_what_is_too_much_or_not_conjunctive_is_undecided_in_time(client, view):
    found = await pair(client, view)
    assert found["verdict"] in ("UNKNOWN", "DISCLOSES")
    assert found["work"]["ms"] < 5_000


async def test_a_text_of_ten_megabytes_is_refused(client):
    answer = await client.post("/v1/view-checks", json=body("SELECT " + "1, " * 3_400_000 + "1"))
    problem_of(answer, 413, "too-large")


async def test_a_literal_of_the_wrong_type_is_refused(client):
    tables = {"sql": "CREATE TABLE w (ward INT NOT NULL, name TEXT NOT NULL, kind BOOLEAN NOT NULL)"}
    for literal in ("ward = 'x'", "name = 5", "kind = 'perhaps'", "ward = 1e999999"):
        error = await fault(client, f"SELECT 1 FROM w WHERE {literal}", tables, "SELECT 1 FROM w")
        assert error["code"] == "wrong-type", literal
        assert error["message"].startswith("Line 1, column 23: ")
    same = await pair(
        client, "SELECT 1 FROM w WHERE ward = '5' AND kind", tables, "SELECT 1 FROM w WHERE ward <> 5"
    )
    assert same["verdict"] == "PRIVATE"


STAYS = 'CREATE TABLE stay (pid integer NOT NULL, ill text NOT NULL, since date NOT NULL, "Ward" integer)'
OF_STAYS = "SELECT pid FROM stay WHERE ill = 'cancer'"
HUNDRED = " OR ".join(f"pid = {i}" for i in range(100))


@pytest.mark.parametrize(
    ("view", "code", "place"),
    [
        # Of another dialect.
        ("SELECT TOP 5 pid FROM stay", "sql-syntax", (1, 12)),
        ("SELECT pid\nFROM `stay`", "sql-syntax", (2, 11)),
        ("SELECT [pid] FROM stay", "not-read", (1, 9)),
        ('SELECT pid FROM stay WHERE ill = "flu"', "unknown-column", (1, 34)),
        ("SELECT pid FROM stay QUALIFY 1 = 1", "not-read", (1, 30)),
        # Names that quotes keep as they are.
        ('SELECT "PID" FROM stay', "unknown-column", (1, 8)),
        ('SELECT pid FROM "Stay"', "unknown-relation", (1, 17)),
        # Literals of another type.
        ("SELECT pid FROM stay\nWHERE pid = 'one'", "wrong-type", (2, 7)),
        ("SELECT pid FROM stay WHERE pid = TRUE", "wrong-type", (1, 28)),
        ("SELECT pid FROM stay WHERE ill = 5", "wrong-type", (1, 28)),
        ("SELECT pid FROM stay WHERE since = '2023-02-30'", "wrong-type", (1, 28)),
        ("SELECT pid FROM stay WHERE since IN (DATE '2023-01-01', 7)", "wrong-type", (1, 28)),
        # What no text of SQL has.
        ("SELECT pid FROM stay WHERE ill = 'x\0'", "sql-syntax", (1, 36)),
        (f"SELECT pid FROM stay WHERE {'(' * 1000}pid = 1{')' * 1000}", "nested-too-deep", (1, 68)),
    ],
)
async def test_what_is_no_query_of_the_dialect_and_the_schema_is_refused_at_its_place(
    client, view, code, place
):
    error = await fault(client, view, {"sql": STAYS}, OF_STAYS)
    assert (error["pointer"], error["code"]) == ("/views/0/query", code)
    assert error["message"].startswith("Line {}, column {}: ".format(*place))


@pytest.mark.parametrize(
    ("view", "verdict"),
    [
        # A hundred times a hundred alternatives, and ten thousand written one by one.
        (f"SELECT pid FROM stay WHERE ({HUNDRED}) AND ({HUNDRED}) AND ill = 'flu'", "PRIVATE"),
        (f"SELECT pid FROM stay WHERE ({HUNDRED}) AND ({HUNDRED})", "UNKNOWN"),
        (f"SELECT pid FROM stay WHERE pid IN ({'1, ' * 9_990}1)", None),
        # Folded, as names without quotes are.
        ("SELECT PID FROM Stay WHERE ILL = 'flu'", "PRIVATE"),
        ("SELECT S.Pid FROM STAY s WHERE S.ill = 'cancer'", "DISCLOSES"),
        ("SELECT \"Ward\" FROM stay WHERE ill = 'flu' AND ward = 7", "PRIVATE"),
    ],
)
async def test_what_is_large_or_spelt_otherwise_is_judged(client, view, verdict):
    if verdict is None:
        error = await fault(client, view, {"sql": STAYS}, OF_STAYS)
        assert error["code"] == "string-too-long"
    else:
        assert (await pair(client, view, {"sql": STAYS}, OF_STAYS))["verdict"] == verdict


@pytest.mark.parametrize("dialect", ["mysql", "tsql", "snowflake", "bigquery", "duckdb", "Postgres", ""])
async def test_a_dialect_of_which_it_is_not_known_what_it_takes_for_equal_is_refused(client, dialect):
    error = await fault(client, FLU, dialect=dialect)
    assert error["pointer"] == "/dialect"
    assert "'postgres'" in error["message"]

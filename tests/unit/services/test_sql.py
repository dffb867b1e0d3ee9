"""What SQL is read as, and what of it is left to an envelope."""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction

import pytest

from app.domain.errors import InvalidInput
from app.domain.views.relational_schema import RelationDefinition
from app.services.views.column_types import ColumnType, shown
from app.services.views.reading import WrittenQuery, read_schema, reader
from app.services.views.schema_documents import schema_document, schema_of
from app.services.views.sql.tables import read_tables
from app.services.views.sql.translation import Room
from app.services.views.view_checks import ViewCheck, checked

RELATIONS = {
    "p": RelationDefinition(["pid", "pname"]),
    "d": RelationDefinition(["pid", "diagnosis", "ward"], {"ward": "integer"}, nullable=["ward"]),
}


def read(text, tables=None):
    schema = read_schema({} if tables else RELATIONS, (), tables, "postgres")
    return reader("sql", "postgres", schema)(WrittenQuery("q", text))


def operators(text, tables=None):
    return [own.operator for own in read(text, tables).not_exact]


def fault(text, tables=None):
    with pytest.raises(InvalidInput) as error:
        read(text, tables)
    return error.value.faults[0].code


def verdict(secret, view, tables):
    asked = ViewCheck(
        {}, (), [WrittenQuery("s", secret)], [WrittenQuery("v", view)], False, "sql", tables=tables
    )
    return checked(asked)["verdict"]


WARDS = """
CREATE TABLE stay (
    id integer NOT NULL, name text NOT NULL, ward integer, day date NOT NULL, at timestamp NOT NULL,
    ill text CHECK (ill IN ('flu', 'fluke', 'cold'))
);
CREATE TABLE bill (id integer NOT NULL, payer text);
"""
SECRETS = {
    "ward": "SELECT id FROM stay WHERE ward = 1",
    "ill": "SELECT id FROM stay WHERE ill = 'cold'",
    "day": "SELECT id FROM stay WHERE day = DATE '2021-05-05'",
    "name": "SELECT id FROM stay WHERE name = 'Ada'",
    "at": "SELECT id FROM stay WHERE at = TIMESTAMP '2021-05-05 12:30'",
}
"""What is secret of each column."""


@pytest.mark.parametrize(
    ("of", "apart", "touching"),
    [
        ("ward", "SELECT id FROM stay WHERE ward IS NOT DISTINCT FROM {}", (2, 1)),
        ("name", "SELECT id FROM stay WHERE NOT name IS DISTINCT FROM {}", ("'Eve'", "'Ada'")),
        ("ward", "SELECT id FROM stay WHERE (id, ward) IN ((1, {}), (2, 3))", (2, 1)),
        ("ward", "SELECT id FROM stay WHERE (id, ward) = (1, {})", (2, 1)),
        ("ward", "SELECT id FROM stay WHERE ward = ANY('{{{},3}}')", (2, 1)),
        ("ill", "SELECT id FROM stay WHERE ill LIKE {}", ("'fl%'", "'%'")),
        ("ill", "SELECT id FROM stay WHERE ill NOT LIKE {}", ("'_old'", "'fl%'")),
        ("ill", "SELECT id FROM stay WHERE ill ~~ {}", ("'fl%'", "'c%'")),
        ("ill", "SELECT id FROM stay WHERE ill !~~ {}", ("'_old'", "'fl%'")),
        ("ill", "SELECT id FROM stay WHERE lower(ill) = {}", ("'flu'", "'cold'")),
        ("ill", "SELECT id FROM stay WHERE upper(ill) <> {}", ("'COLD'", "'FLU'")),
        ("day", "SELECT id FROM stay WHERE EXTRACT(YEAR FROM day) = {}", (2020, 2021)),
        ("day", "SELECT id FROM stay WHERE EXTRACT(YEAR FROM day) > {}", (2021, 2020)),
        ("day", "SELECT id FROM stay WHERE EXTRACT(YEAR FROM day) NOT BETWEEN {} AND 2022", (2020, 2022)),
        ("day", "SELECT id FROM stay WHERE EXTRACT(YEAR FROM day) IN (2018, {})", (2020, 2021)),
        ("at", "SELECT id FROM stay WHERE date_part('year', at) = {}", (2020, 2021)),
        ("at", "SELECT id FROM stay WHERE date_trunc('day', at) = {}",
         ("'2021-05-04'", "DATE '2021-05-05'")),
        ("at", "SELECT id FROM stay WHERE date_trunc('hour', at) <> {}",
         ("'2021-05-05 12:00'", "'2021-05-05 11:00'")),
        ("at", "SELECT id FROM stay WHERE date_trunc('minute', at) > {}",
         ("'2021-05-05 12:30'", "'2021-05-05 12:29'")),
        ("at", "SELECT id FROM stay WHERE date_trunc('day', at) < {}", ("'2021-05-05'", "'2021-05-06'")),
        ("at", "SELECT id FROM stay WHERE date_trunc('day', at) <= {}", ("'2021-05-04'", "'2021-05-05'")),
        ("at", "SELECT id FROM stay WHERE date_trunc('day', at) BETWEEN {} AND '2022-01-01'",
         ("'2021-05-06'", "'2021-05-05'")),
        ("at", "SELECT id FROM stay WHERE date_trunc('day', at) IN ('2020-01-01', {})",
         ("'2021-05-04'", "'2021-05-05'")),
        ("ward", "SELECT bill.id FROM (stay JOIN bill USING (id)) WHERE ward = {}", (2, 1)),
        ("ward", "SELECT x.id FROM bill AS x JOIN (stay JOIN bill ON bill.id = 7) ON x.id = 7 "
         "WHERE ward = {}", (2, 1)),
        ("ward", "SELECT x.id FROM bill AS x LEFT JOIN (stay JOIN bill ON bill.id = 7) ON x.id = 7 "
         "WHERE ward = {}", (2, 1)),
        ("name", "SELECT id FROM stay WHERE COALESCE(name, 'x') = {}", ("'Eve'", "'Ada'")),
        ("name", "SELECT COALESCE(name, 'x') FROM stay WHERE name = {}", ("'Eve'", "'Ada'")),
        ("ward", "SELECT COUNT(*) FILTER (WHERE ward = {}) FROM stay", (2, 1)),
        ("ward", "SELECT COUNT(CASE WHEN ward = {} THEN 1 END) FROM stay", (2, 1)),
        ("ward", "SELECT ward, COUNT(*) FROM stay GROUP BY ward HAVING ward = {}", (2, 1)),
        ("ward", "SELECT ward FROM stay GROUP BY ward HAVING ward = {} AND COUNT(*) > 3", (2, 1)),
        ("ward", "SELECT n FROM (SELECT ward, COUNT(*) AS n FROM stay GROUP BY ward) AS x WHERE ward = {}",
         (2, 1)),
        ("ward", "SELECT x.r FROM (SELECT ward, RANK() OVER (PARTITION BY ward ORDER BY id) AS r FROM stay)"
         " AS x WHERE x.ward = {}", (2, 1)),
        ("ward", "SELECT bill.id FROM bill LEFT JOIN stay USING (id) WHERE ward = {}", (2, 1)),
    ],
)  # fmt: skip
def test_what_users_of_postgresql_write_for_a_comparison_is_read_as_one(of, apart, touching):
    fine, bad = map(apart.format, touching)
    assert verdict(SECRETS[of], fine, WARDS) == "PRIVATE"
    assert verdict(SECRETS[of], bad, WARDS) != "PRIVATE"


@pytest.mark.parametrize(
    ("view", "construct", "column"),
    [
        (
            "SELECT stay.id FROM stay, LATERAL (SELECT payer FROM bill WHERE bill.id = stay.id) x",
            "LATERAL",
            27,
        ),
        ("SELECT stay.id FROM stay JOIN (VALUES (1), (2)) AS v (id) ON v.id = stay.id", "VALUES", 32),
        ("SELECT day FROM stay INTERSECT SELECT at FROM stay", "INTERSECT", 39),
        ("SELECT j.ward FROM (stay JOIN bill USING (id)) AS j", "join that has a name", 21),
        ("SELECT id FROM stay WHERE date_part('year', day) = 2020", "expression that may fail", 45),
        ("SELECT id FROM stay WHERE date_part(name, at) = 2020", "EXTRACT", 43),
        ("SELECT id FROM stay WHERE date_trunc('day', at) = '2020-01-01 08:00'", "DATE_TRUNC", 27),
        ("SELECT id FROM stay WHERE date_trunc('year', at) = '2020-01-01'", "DATE_TRUNC", 27),
    ],
)
def test_what_is_not_read_exactly_is_named_with_its_place(view, construct, column):
    first = read(view, WARDS).not_exact[0]
    assert (first.operator, first.place.line, first.place.column) == (construct, 1, column)
    assert verdict(SECRETS["ward"], view, WARDS) == "UNKNOWN"


@pytest.mark.parametrize(
    "condition",
    ["day > CURRENT_DATE - INTERVAL '7 days'", "day > CURRENT_DATE - 7", "day < now() - INTERVAL '1 year'"],
)
def test_what_the_clock_says_is_asked_of_rows_that_meet_the_other_conditions(condition):
    found = verdict(SECRETS["ward"], f"SELECT id FROM stay WHERE ward = 2 AND {condition}", WARDS)
    # A date is cast to a moment of the clock's zone, which may fail.
    assert found == ("UNKNOWN" if "now" in condition else "PRIVATE")
    assert verdict(SECRETS["ward"], f"SELECT id FROM stay WHERE {condition}", WARDS) == "UNKNOWN"


@pytest.mark.parametrize(
    ("of", "view"),
    [
        # The sum is NULL only where there is no row at all, of whatever ward.
        ("ward", "SELECT SUM(CASE WHEN ward = 2 THEN 1 ELSE 0 END) FROM stay"),
        # Of groups those are shown that have no row of it.
        ("ward", "SELECT id, COUNT(*) FILTER (WHERE ward = 2) FROM stay GROUP BY id"),
        (
            "ward",
            "SELECT x.r FROM (SELECT ward, RANK() OVER (ORDER BY id) AS r FROM stay) AS x WHERE x.ward = 2",
        ),
        (
            "ward",
            "SELECT n FROM (SELECT ward, COUNT(*) AS n FROM stay GROUP BY ward LIMIT 3) AS x WHERE ward = 2",
        ),
        ("ward", "SELECT ward, COUNT(*) FROM stay GROUP BY ROLLUP (ward) HAVING ward = 2"),
        ("ward", "SELECT bill.id FROM bill LEFT JOIN stay USING (id) WHERE payer = 'x'"),
        ("ward", "SELECT bill.id FROM bill LEFT JOIN stay USING (id) WHERE ward IS DISTINCT FROM 1"),
        # A row without a stay is shown by the other alternative.
        ("ward", "SELECT bill.id FROM bill LEFT JOIN stay USING (id) WHERE ward = 2 OR payer = 'x'"),
        # Other letters may be lower in other places, and texts are ordered by them.
        ("name", "SELECT id FROM stay WHERE name LIKE 'E%'"),
        ("name", "SELECT id FROM stay WHERE lower(name) = 'eve'"),
        ("ward", "SELECT id FROM stay WHERE COALESCE(ward, 2) = 2"),
        # The division fails on a row of ward 1, which is not counted.
        ("ward", "SELECT COUNT(CASE WHEN 10 / (ward - 1) = 10 AND ward = 2 THEN 1 END) FROM stay"),
        ("ward", "SELECT COUNT(*) FILTER (WHERE 10 / (ward - 1) = 10 AND ward = 2) FROM stay"),
    ],
)
def test_what_depends_on_other_rows_is_not_read_as_a_comparison(of, view):
    assert verdict(SECRETS[of], view, WARDS) == "UNKNOWN"


def test_the_parser_is_loaded_by_the_first_check_of_sql():
    code = "import sys, app.main, app.api.app; print('sqlglot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_another_dialects_syntax_is_refused():
    assert fault("SELECT TOP 3 pid FROM d") == "sql-syntax"
    assert fault("SELECT `pid` FROM d") == "sql-syntax"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pid FROM d ORDER BY ward DESC",
        "SELECT DISTINCT pid FROM d ORDER BY pid",
        "SELECT pid, COUNT(*) AS n FROM d GROUP BY pid ORDER BY n",
        "SELECT pid, COUNT(*) FROM d GROUP BY 1 ORDER BY COUNT(*)",
        "SELECT COUNT(DISTINCT pid) FROM d",
        "SELECT COUNT(ward) FROM d",
        "SELECT COUNT(pid), diagnosis FROM d GROUP BY diagnosis",
        "SELECT pid FROM d GROUP BY pid, ward",
        "WITH n AS (SELECT ward, COUNT(*) AS c FROM d GROUP BY ward) SELECT c, ward FROM n",
        "SELECT pid FROM d WHERE NOT (ward IS NULL OR ward NOT IN (1, 2))",
        "SELECT x.pid FROM (SELECT pid FROM d UNION SELECT pid FROM p) AS x JOIN p USING (pid)",
        "SELECT pid FROM p INTERSECT SELECT pid FROM d",
        "SELECT pid FROM p WHERE (pid, pname) IN (SELECT pid, diagnosis FROM d)",
        "(SELECT pid FROM p) UNION ALL (SELECT pid FROM d)",
        "CREATE VIEW x AS SELECT pid FROM p",
    ],
)
def test_what_is_read_exactly(text):
    assert operators(text) == []


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("SELECT DISTINCT pid FROM d ORDER BY ward", "ORDER BY of a column that is not shown"),
        ("SELECT ward FROM d GROUP BY ward ORDER BY COUNT(*)", "COUNT"),
        ("SELECT pid, ward FROM d GROUP BY pid", "column that is not grouped"),
        ("SELECT pid AS ward FROM d GROUP BY ward", "column that is not grouped"),
        ("SELECT diagnosis, COUNT(ward) FROM d GROUP BY diagnosis", "COUNT"),
        ("SELECT COUNT(DISTINCT pid), COUNT(*) FROM d", "COUNT(DISTINCT)"),
        ("SELECT DISTINCT COUNT(*) FROM d GROUP BY ward", "DISTINCT of aggregates"),
        ("SELECT SUM(ward) FROM d", "SUM"),
        ("SELECT pid, COUNT(*) FILTER (WHERE ward = 1) FROM d GROUP BY pid", "FILTER"),
        ("SELECT pid FROM d LIMIT 3", "LIMIT"),
        ("SELECT pid FROM d ORDER BY ward + 1", "ORDER BY of an expression"),
        ("SELECT pid FROM d WHERE ward IS NULL", "IS NULL"),
        ("SELECT pid FROM d WHERE pid NOT IN (SELECT pid FROM p)", "NOT IN"),
        ("SELECT pid FROM d WHERE ward = (SELECT MAX(ward) FROM d)", "scalar subquery"),
        ("SELECT CASE WHEN ward = 1 THEN 1 END FROM d", "CASE"),
        ("SELECT ward + 1 FROM d", "arithmetic"),
        ("SELECT DISTINCT ON (pid) pid FROM d", "DISTINCT ON"),
        ("SELECT RANK() OVER (ORDER BY ward) FROM d", "window function"),
        ("SELECT ward FROM d INTERSECT SELECT ward FROM d", "INTERSECT"),
        ("SELECT pid FROM d INTERSECT ALL SELECT pid FROM d", "INTERSECT ALL"),
        ("SELECT x.pid FROM (SELECT pid FROM d LIMIT 1) AS x", "LIMIT"),
        ("SELECT pid, GROUPING(pid) FROM d GROUP BY ROLLUP (pid, ward)", "ROLLUP"),
        ("SELECT pid AS x, COUNT(*) FROM d GROUP BY diagnosis, CUBE (x)", "CUBE"),
        ("SELECT pid FROM d GROUP BY GROUPING SETS ((pid, ward), (diagnosis), ())", "GROUPING SETS"),
        ("SELECT ROUND(ward, 1) FROM d", "ROUND"),
        ("SELECT CONCAT(pid, diagnosis) FROM d", "CONCAT"),
        ("SELECT STDDEV_SAMP(ward) FROM d", "STDDEV_SAMP"),
        ("SELECT VARIANCE(ward), pid FROM d GROUP BY pid", "VARIANCE"),
        ("SELECT string_agg(diagnosis, ',') FROM d GROUP BY ward", "STRING_AGG"),
        ("SELECT array_agg(pid) FROM d", "ARRAY_AGG"),
        (
            "SELECT pid, LAG(ward) OVER w FROM d WINDOW w AS (PARTITION BY pid ORDER BY ward)",
            "window function",
        ),
        ("SELECT CURRENT_DATE, pid FROM p", "CURRENT_DATE"),
    ],
)
def test_what_is_left_to_an_envelope(text, operator):
    assert operator in operators(text)


def test_the_order_of_rows_can_tell_what_is_not_shown():
    tables = "CREATE TABLE d (pid INT NOT NULL, ward INT NOT NULL, PRIMARY KEY (pid, ward))"
    secret = "SELECT pid FROM d WHERE ward = 5"
    assert verdict(secret, "SELECT DISTINCT pid FROM d WHERE ward > 5 ORDER BY ward", tables) == "PRIVATE"
    assert verdict(secret, "SELECT DISTINCT pid FROM d WHERE ward > 4 ORDER BY ward", tables) == "UNKNOWN"


def test_numbers_are_compared_as_their_columns_have_them():
    tables = "CREATE TABLE n (i INT NOT NULL, f DOUBLE PRECISION NOT NULL, d DECIMAL(5, 2) NOT NULL)"
    for secret, view, expected in (
        ("i > 3.5", "i < 4", "PRIVATE"),
        ("i > 3.5", "i < 5", "DISCLOSES"),
        ("d > 3.5", "d < 4", "DISCLOSES"),
        ("f = 0.1", "f <> 0.10000000000000000001", "UNKNOWN"),
        ("d = 0.1", "d <> 0.10000000000000000001", "UNKNOWN"),
        ("i = '3.0'", "i <> 3", "UNKNOWN"),
        ("i = '03'", "i <> 3", "PRIVATE"),
    ):
        asked = (f"SELECT i FROM n WHERE {own}" for own in (secret, view))
        assert verdict(*asked, tables) == expected, (secret, view)


def test_texts_that_a_database_may_take_for_equal_are_refused():
    text = "SELECT pid FROM d WHERE diagnosis = 'Flu' OR diagnosis = 'flu'"
    assert fault(text) == "ambiguous-literal"
    assert fault("SELECT pid FROM d WHERE diagnosis = '1' OR pid = 1") == "ambiguous-literal"
    assert operators("SELECT pid FROM d WHERE diagnosis = '02139' OR pid = 1") == []


def test_what_two_queries_write_is_compared():
    schema = read_schema(RELATIONS, (), None, "postgres")
    one = reader("sql", "postgres", schema)
    one(WrittenQuery("q", "SELECT pid FROM d WHERE pid = 1212"))
    with pytest.raises(InvalidInput, match="depends on the column's type"):
        one(WrittenQuery("q", "SELECT pid FROM d WHERE pid = '1212'"))


def test_the_order_of_texts_is_left_to_an_envelope():
    tables = "CREATE TABLE n (name TEXT NOT NULL, at TIMESTAMPTZ, day DATE, code CHAR(3))"
    assert operators("SELECT 1 FROM n WHERE name < 'M'", tables=tables) == ["order of texts"]
    assert operators("SELECT 1 FROM n WHERE at > '2020-01-01'", tables=tables) == ["order of values"]
    assert operators("SELECT 1 FROM n WHERE day = '1 May'", tables=tables) == ["literal of another type"]
    assert operators("SELECT 1 FROM n WHERE name = code", tables=tables) == ["comparison of different types"]
    assert fault("SELECT 1 FROM n WHERE day = '2020-02-30'", tables=tables) == "wrong-type"


def test_a_view_of_one_name_with_a_table_reads_the_table():
    assert operators("WITH d AS (SELECT pid FROM d) SELECT pid FROM d") == []
    assert fault("WITH RECURSIVE d AS (SELECT pid FROM d) SELECT pid FROM d") == "recursive-query"


def test_a_constraint_that_ties_rows_is_not_left_out():
    with pytest.raises(InvalidInput, match="only CREATE TABLE"):
        read_tables("CREATE TABLE v (a INT); ALTER TABLE v ADD PRIMARY KEY (a)", "postgres")
    with pytest.raises(InvalidInput, match="is not read"):
        read_tables("CREATE TABLE v (a INT, EXCLUDE USING gist (a WITH =))", "postgres")


def test_dates_are_shown_as_dates():
    assert shown(737_425, ColumnType("date")) == "2020-01-01"
    assert shown(737_425 + Fraction(1, 2), ColumnType("timestamp")) == "2020-01-01 12:00:00"
    assert shown(737_425 + Fraction(1, 3) + Fraction(1, 7), ColumnType("timestamp")) == (
        "2020-01-01 11:25:42.857142857142"
    )
    assert shown(737_425 + Fraction(1, 2), ColumnType("date")) == "2020-01-01 12:00:00"
    assert shown(-5, ColumnType("date")) == "0001-12-26 BC"
    assert shown(10**30, ColumnType("timestamp")) == f"#{10**30}"
    assert shown("flu", ColumnType("text")) == "flu"


def test_a_negation_inside_an_operator_is_read():
    tables = "CREATE TABLE d (pid INT NOT NULL, ward INT)"
    secret = "SELECT pid FROM d WHERE ward = 1"
    assert operators("SELECT pid FROM d WHERE ward IS NOT NULL", tables=tables) == []
    assert operators("SELECT pid FROM d WHERE NOT ward IS NULL", tables=tables) == []
    assert operators("SELECT pid FROM d WHERE ward IS NULL", tables=tables) == ["IS NULL"]
    assert verdict(secret, "SELECT pid FROM d WHERE ward IS NOT NULL", tables) == "DISCLOSES"


@pytest.mark.parametrize(
    ("declared", "listed"),
    [
        ("b text CHECK (b IN ('x', 'y'))", {"x", "y"}),
        ("b text, CONSTRAINT own CHECK ((b = 'x' OR b IN ('y')) AND a IN (1))", {"x", "y"}),
        ("b integer CHECK (b IN (1, '2', -3))", {1, 2, -3}),
        # The first list is one that holds; a smaller one would be, too.
        ("b text CHECK (b IN ('x', 'y')) CHECK (b IN ('x'))", {"x", "y"}),
        ("b mood", {"sad", "o'k"}),
        ("b text CHECK (b IN ('x', NULL))", None),
        ("b text CHECK (b = NULL)", None),
        ("b text CHECK (b NOT IN ('x', 'y'))", None),
        ("b text CHECK (b IN ('x') OR a = 1)", None),
        ("b text CHECK (b IN ('x') OR true)", None),
        ("b text CHECK (b IN ('x', lower('Y')))", None),
        ("b text CHECK (lower(b) IN ('x', 'y'))", None),
        ("b text CHECK (b IN ('x') OR b LIKE 'y%')", None),
        ("b text CHECK (b <> 'x')", None),
        ("b text CHECK (r.b IN ('x'))", None),
        ("b char(2) CHECK (b IN ('x', 'y'))", None),
        ("b double precision CHECK (b IN (1, 2))", None),
        ("b numeric CHECK (b IN (1, 2.5))", None),
        ("b numeric CHECK (b IN (1, 2))", None),
        ("b numeric(5, 2) CHECK (b = 1)", None),
        ("b text CHECK (b = 'x' OR b IN UNNEST(ARRAY['y']))", None),
        ("b text CHECK (b = 'x' OR b IN a)", None),
        ("b mood(3)", None),
        ("b own.feeling", {"low"}),
        ("b feeling", None),
        ("b own.mood", None),
        (f"b integer CHECK (b IN ({', '.join(map(str, range(101)))}))", None),
        ("b other.mood", None),
        ("b mood[]", None),
    ],
)
def test_the_values_of_a_column_are_those_that_its_constraint_or_type_lists(declared, listed):
    types = "CREATE TYPE mood AS ENUM ('sad', 'o''k'); CREATE TYPE own.feeling AS ENUM ('low');"
    tables = f"{types} CREATE TABLE r (a integer, {declared})"
    schema = read_schema({}, (), tables, "postgres")
    column = schema.relational.relations["r"].ranges[1]
    assert column.values == (None if listed is None else frozenset(listed))
    assert schema.types["r"][1].values == column.values
    left_out = any("CHECK constraints of r are left out" in own for own in schema.warnings)
    assert left_out == ("CHECK" in declared and listed is None)
    if listed is not None:
        assert fault("SELECT a FROM r WHERE b = '99'", tables) == "outside-domain"


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("TYPE mood AS ENUM ('a'); CREATE TYPE MOOD AS ENUM ('a', 'b')", "duplicate-type"),
        ("TYPE \"char\" AS ENUM ('a')", "type-name"),
        ("TYPE box AS ENUM ('a')", "type-name"),
        ("TYPE pg_class AS ENUM ('a')", "type-name"),
        ("TYPE int8multirange AS ENUM ('a')", "type-name"),
        ("TYPE _int4 AS ENUM ('a')", "type-name"),
        ("TYPE 'mood' AS ENUM ('a')", "type-name"),
        ("OR REPLACE TYPE mood AS ENUM ('a')", "not-read"),
        ("TEMP TYPE mood AS ENUM ('a')", "not-read"),
        ("TYPE IF NOT EXISTS mood AS ENUM ('a')", "not-read"),
        ("TYPE mood(3) AS ENUM ('a')", "not-a-table"),
    ],
)
def test_a_type_that_may_not_be_the_one_that_a_column_has_is_refused(declared, code):
    assert fault("SELECT a FROM r", f"CREATE {declared}; CREATE TABLE r (a integer)") == code


def test_a_type_that_another_database_has_is_one_that_somebody_made():
    """In PostgreSQL such a name, or one in quotes, is of a type that may compare in any way."""
    words = ("string", "number", "long", "short", "clob", "fixed", "varchar2", '"integer"', '"serial"')
    columns = ", ".join(f"c{place} {word}" for place, word in enumerate(words))
    tables = read_tables(f"CREATE TABLE r ({columns})", "postgres")
    assert {own.family for own in tables.types["r"]} == {"unknown"}
    assert len(tables.definitions["r"].nullable) == len(words)
    known = "CREATE TABLE r (a character  varying(3), b timestamp(0) with time zone, c int /* c */ NOT NULL)"
    assert [own.family for own in read_tables(known, "postgres").types["r"]] == ["text", "opaque", "number"]


@pytest.mark.parametrize("comment", ["-- no more", "/* no\nmore */", "-- one\n; -- two"])
def test_a_comment_behind_the_last_semicolon_is_no_statement(comment):
    assert list(read_tables(f"CREATE TABLE r (a integer); {comment}", "postgres").definitions) == ["r"]
    assert operators(f"SELECT pid FROM d; {comment}") == []
    assert fault(f"SELECT pid FROM d; {comment}\n; SELECT pid FROM p") == "several-statements"
    assert fault(comment) == "not-a-query"


def test_columns_that_using_makes_one_look_like_either():
    tables = "CREATE TABLE r (a integer NOT NULL, c char(1)); CREATE TABLE t (a numeric(5, 2), c char(2));"
    for view in (
        "SELECT DISTINCT a FROM r JOIN t USING (a)",
        "SELECT DISTINCT c FROM r JOIN t USING (c)",
        "SELECT DISTINCT * FROM r NATURAL JOIN t",
        "SELECT a FROM t JOIN r AS x USING (a) GROUP BY a",
        "SELECT a FROM r JOIN t USING (a) UNION SELECT a FROM r",
    ):
        assert operators(view, tables=tables) != [], view
    assert operators("SELECT DISTINCT a FROM r JOIN r AS x USING (a)", tables=tables) == []
    assert operators("SELECT a FROM r JOIN t USING (a)", tables=tables) == []


def test_a_type_of_names_of_objects_is_none_that_is_known():
    tables = "CREATE TABLE r (a integer, b oid, c regclass, d regtype, e regproc)"
    assert [own.family for own in read_tables(tables, "postgres").types["r"]] == ["number"] + 4 * ["unknown"]


def test_a_listed_column_may_be_above_what_it_never_is():
    tables = "CREATE TABLE r (a integer, b integer CHECK (b IN (1, 2)))"
    assert verdict("SELECT a FROM r WHERE b > 1", "SELECT a FROM r WHERE b < 1.5", tables) == "PRIVATE"
    assert verdict("SELECT a FROM r WHERE b > 5", "SELECT a FROM r", tables) == "PRIVATE"
    assert verdict("SELECT a FROM r WHERE b > 0", "SELECT a FROM r WHERE b < 9", tables) == "DISCLOSES"


def test_no_more_values_are_listed_than_a_schema_may_have(monkeypatch):
    monkeypatch.setattr("app.services.views.sql.tables.MOST_LISTED", 5)
    tables = "".join(f"CREATE TABLE t{i} (a integer CHECK (a IN (1, 2)));" for i in range(4))
    tables += "CREATE TYPE mood AS ENUM ('x', 'y'); CREATE TABLE own (a mood, b text, CHECK (b IN ('x')));"
    found = read_schema({}, (), tables, "postgres")
    listed = {name: [own.values for own in it.ranges] for name, it in found.relational.relations.items()}
    assert listed["t0"] == listed["t1"] == [frozenset({1, 2})]
    assert listed["t2"] == listed["t3"] == [None]
    assert listed["own"] == [None, frozenset({"x"})]
    said = [own for own in found.warnings if "may be taken to hold any value" in own]
    assert [own.partition(" may ")[0] for own in said] == ["a of t2", "a of t3", "a of own"]


def test_a_type_of_many_values_is_compared_with_them_though_they_are_not_listed():
    values = ", ".join(f"'v{number}'" for number in range(101))
    tables = f"CREATE TYPE large AS ENUM ({values}); CREATE TABLE r (a integer NOT NULL, b large NOT NULL)"
    (said,) = (own for own in read_tables(tables, "postgres").warnings if "any value" in own)
    assert said.startswith("b of r may be taken")
    asked = "SELECT a FROM r WHERE b = 'v1'", "SELECT a FROM r WHERE b = 'v2'"
    assert verdict(*asked, tables) == "PRIVATE"
    assert operators("SELECT a FROM r WHERE b < 'v2'", tables=tables) == ["order of texts"]


def test_times_of_day_have_an_order_and_are_shown_as_times():
    tables = "CREATE TABLE n (a integer NOT NULL, at time NOT NULL, zoned time(0) with time zone NOT NULL)"
    for secret, view, expected in (
        ("at = '10:00'", "at = '10:00:00.000'", "DISCLOSES"),
        ("at = '10:00'", "at <> TIME '10:00:00'", "PRIVATE"),
        ("at < '10:00'", "at >= '10:00:00'", "PRIVATE"),
        ("at < '10:00:00.000001'", "at BETWEEN '10:00' AND '11:00'", "DISCLOSES"),
        ("at = '24:00'", "at = '00:00'", "UNKNOWN"),
        ("at = '10:00 AM'", "at = '11:00'", "UNKNOWN"),
        ("at = '10:00:00.0000001'", "at = '11:00'", "UNKNOWN"),
        ("zoned = '10:00'", "zoned = '11:00'", "UNKNOWN"),
    ):
        asked = (f"SELECT a FROM n WHERE {own}" for own in (secret, view))
        assert verdict(*asked, tables) == expected, (secret, view)
    assert fault("SELECT a FROM n WHERE at = '10:61'", tables) == "wrong-type"
    assert fault("SELECT a FROM n WHERE at = 10", tables) == "wrong-type"
    assert operators("SELECT a FROM n WHERE at = zoned", tables) == [
        "comparison of different types",
        "expression that may fail",
    ]
    assert shown(Fraction(3, 4) + Fraction(1, 86_400_000_000), ColumnType("time")) == "18:00:00.000001"
    assert shown(Fraction(3, 2), ColumnType("time")) == "#1.5"


def test_whether_there_is_a_row_is_read_exactly_and_rows_cut_off_by_their_envelope():
    assert operators("SELECT EXISTS (SELECT 1 FROM d WHERE ward = 1) AS found") == []
    assert operators("WITH x AS (SELECT pid FROM d) SELECT (EXISTS (SELECT 1 FROM x))") == []
    assert operators("SELECT NOT EXISTS (SELECT 1 FROM d)") == ["NOT"]
    assert operators("SELECT EXISTS (SELECT 1 FROM d) FROM p") == ["EXISTS"]
    assert operators("SELECT EXISTS (SELECT 1 FROM d) WHERE 1 = 1") == ["EXISTS"]
    assert operators("SELECT EXISTS (SELECT 1 FROM d) LIMIT 0") == ["EXISTS", "LIMIT"]
    for cut in ("FETCH FIRST 5 ROWS ONLY", "OFFSET 2 ROWS FETCH NEXT ROW WITH TIES"):
        assert "FETCH" in operators(f"SELECT pid FROM d {cut}")
    for name, text in (
        ("FETCH", "SELECT pid FROM d\n FETCH FIRST ROW ONLY"),
        ("FETCH", "(SELECT pid FROM d)\n FETCH FIRST 2 ROWS ONLY"),
        ("OFFSET", "(SELECT pid FROM d)\n OFFSET 5"),
        ("LIMIT", "SELECT pid FROM d\n LIMIT 5"),
    ):
        (own,) = read(text).not_exact
        assert (own.operator, own.place.line, own.place.column) == (name, 2, 2)
    assert operators("SELECT pid FROM p WHERE EXISTS (SELECT 1 FROM d FETCH FIRST 1 ROW ONLY)") == []
    assert operators("SELECT pid FROM p WHERE EXISTS (SELECT 1 FROM d FETCH FIRST 0 ROWS ONLY)") != []
    assert fault("SELECT pid FROM d FETCH FIRST (1 + 1) ROWS ONLY") == "not-read"
    assert fault("SELECT pid FROM d FETCH FIRST 5 PERCENT ROWS ONLY") == "not-read"


def test_a_unique_constraint_over_a_nullable_column_excludes_rows():
    tables = "CREATE TABLE d (pid INT UNIQUE, ward INT NOT NULL)"
    secret, view = "SELECT pid FROM d WHERE ward = 1", "SELECT pid FROM d WHERE ward = 2"
    assert verdict(secret, view, tables) == "DISCLOSES"
    assert verdict(secret, view, tables.replace(" UNIQUE", "")) == "PRIVATE"


@pytest.mark.parametrize(
    ("tables", "code"),
    [
        (f"CREATE TABLE t ({', '.join(f'c{i} INT' for i in range(201))})", "too-many-columns"),
        ("CREATE TABLE t (a INT, A INT)", "duplicate-attribute"),
        ("CREATE TABLE t (a INT); CREATE TABLE x.t (a INT)", "duplicate-relation"),
        (f"CREATE TABLE {'t' * 101} (a INT)", "relation-name"),
        ('CREATE TABLE "a table" (a INT)', "relation-name"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "unknown-attribute"),
        ("".join(f"CREATE TABLE t{i} (a INT);" for i in range(501)), "too-many-tables"),
        ("CREATE TABLE t (a INT UNIQUE NULLS NOT DISTINCT)", "nullable-key"),
        ("CREATE TABLE t (a INT) INHERITS (u)", "not-read"),
        ("CREATE TABLE t (LIKE u)", "not-read"),
    ],
)
def test_tables_that_make_no_schema_are_refused(tables, code):
    with pytest.raises(InvalidInput) as error:
        read_schema({}, (), tables, "postgres")
    assert (error.value.faults[0].code, error.value.faults[0].pointer) == (code, "/sql")


def test_a_query_that_is_short_and_very_large_is_refused_at_once():
    """In half a second of the processor's time; written out, it would have 60 ways for each of 150 names."""
    joined = ", ".join(f"d AS d{i}" for i in range(90))
    chosen = " OR ".join(f"d{i}.ward = 1" for i in range(60))
    inside = " AND ".join("NOT EXISTS (SELECT 1 FROM a WHERE a.pid = d.pid)" for _ in range(150))
    began = time.process_time()
    text = f"WITH a AS (SELECT d0.pid FROM {joined} WHERE {chosen}) SELECT 1 FROM d WHERE {inside}"
    assert fault(text) == "query-too-large"
    assert time.process_time() - began < 10


def test_all_queries_of_a_check_share_what_they_may_be_written_out_to(monkeypatch):
    monkeypatch.setattr("app.services.views.sql.queries.Room", lambda: Room(3))
    schema = read_schema(RELATIONS, (), None, "postgres")
    one, query = reader("sql", "postgres", schema), WrittenQuery("q", "SELECT pid FROM p, d AS d (x, y, z)")
    one(query)
    with pytest.raises(InvalidInput, match="written out"):
        one(query)
    reader("sql", "postgres", schema)(query)


def test_an_answer_has_at_most_as_many_columns_as_can_be_told():
    tables = f"CREATE TABLE t ({', '.join(f'c{i} INT' for i in range(150))})"
    assert fault("SELECT * FROM t AS a, t AS b", tables=tables) == "query-too-large"
    assert operators("SELECT a.* FROM t AS a, t AS b", tables=tables) == []


def test_the_first_row_is_enough_for_exists():
    text = "SELECT pid FROM p WHERE EXISTS (SELECT 1 FROM d WHERE d.pid = p.pid {})"
    assert operators(text.format("LIMIT 1")) == []
    assert "LIMIT" in operators(text.format("LIMIT 0"))
    assert "OFFSET" in operators(text.format("LIMIT 1 OFFSET 1"))


def test_the_name_of_a_schema_is_understood_before_a_table():
    tables = "CREATE TABLE x.t (a INT NOT NULL); CREATE TABLE u (a INT NOT NULL)"
    assert operators("SELECT a FROM x.t", tables) == []
    assert fault("SELECT a FROM y.t", tables) == "unknown-relation"
    assert fault("SELECT a FROM x.u", tables) == "unknown-relation"


def test_a_condition_of_a_join_sees_only_what_it_joins():
    secret = "SELECT pname FROM p WHERE pid = 2"
    view = "SELECT z.ward FROM d AS z WHERE EXISTS (SELECT 1 FROM p AS z, d JOIN p ON z.pid = 1)"
    schema = read_schema(RELATIONS, (), None, "postgres")
    read_one = reader("sql", "postgres", schema)
    asked = ViewCheck(RELATIONS, (), [WrittenQuery("s", secret)], [WrittenQuery("v", view)], language="sql")
    assert checked(asked)["verdict"] == "DISCLOSES"
    assert read_one(WrittenQuery("v", view.replace("z.pid", "p.pid"))).not_exact == ()
    assert fault("SELECT 1 FROM p AS z, d JOIN p ON z.pid = 1") == "unknown-column"


@pytest.mark.parametrize(
    "condition",
    [
        "10 / (ward - 1) > 2",
        "abs(ward) = 3",
        "diagnosis LIKE pid",
        "substring(diagnosis, 1, ward) = 'x'",
        "ward = (SELECT d.ward FROM d)",
        "CAST(diagnosis AS INT) = 3",
    ],
)
def test_an_expression_that_may_fail_may_be_tried_on_every_row(condition):
    tables = "CREATE TABLE d (pid TEXT NOT NULL, diagnosis TEXT NOT NULL, ward INT NOT NULL)"
    secret, named = "SELECT pid FROM d WHERE ward = 1", "expression that may fail"
    for view in (
        f"SELECT pid FROM d WHERE ward = 2 AND {condition}",
        f"SELECT pid FROM d WHERE ward = 2 AND pid IN (SELECT pid FROM d WHERE ward = 2 AND {condition})",
        f"SELECT q.pid FROM (SELECT pid, {condition} FROM d WHERE ward = 2) AS q",
    ):
        assert named in operators(view, tables), view
        assert verdict(secret, view, tables) == "UNKNOWN", view
    shown = f"SELECT pid, {condition} FROM d WHERE ward = 2"
    assert named not in operators(shown, tables)


@pytest.mark.parametrize(
    "condition",
    [
        "ward > 1 + 2",
        "diagnosis LIKE 'x%'",
        "substring(diagnosis, 1, 2) = 'x'",
        "ward < (SELECT MAX(d.ward) FROM d WHERE ward = 2)",
        "ward IN (SELECT d.ward FROM d WHERE ward = 2)",
        "lower(diagnosis) = 'x'",
    ],
)
def test_what_cannot_fail_leaves_the_other_conditions_as_they_are(condition):
    tables = "CREATE TABLE d (pid TEXT NOT NULL, diagnosis TEXT NOT NULL, ward INT NOT NULL)"
    view = f"SELECT pid FROM d WHERE ward = 2 AND {condition}"
    assert verdict("SELECT pid FROM d WHERE ward = 1", view, tables) == "PRIVATE"


def test_names_are_told_apart_as_the_database_does():
    assert fault("SELECT xmin FROM p") == "ambiguous-column"
    assert fault('SELECT q."ctid" FROM (SELECT pid AS ctid FROM p) AS q') == "ambiguous-column"
    assert fault(f"SELECT pid FROM p AS {'x' * 64}") == "name-too-long"
    # Only letters of ASCII are folded.
    tables = 'CREATE TABLE x ("ä" INT NOT NULL, "Ä" INT NOT NULL)'
    secret = 'SELECT 1 FROM x WHERE "Ä" = 1'
    assert verdict(secret, "SELECT 1 FROM x WHERE Ä = 2", tables) == "PRIVATE"
    assert verdict(secret, "SELECT 1 FROM x WHERE ä = 2", tables) == "DISCLOSES"


def test_what_is_not_grouped_by_is_null_in_rows_of_sums():
    tables = "CREATE TABLE r (a INT NOT NULL); CREATE TABLE s (a INT NOT NULL)"
    secret, sums = "SELECT a FROM s WHERE a = 2", "(SELECT a FROM r GROUP BY ROLLUP (a)) AS z"
    for view in (f"SELECT s.a FROM s, {sums} WHERE z.a IS NULL OR s.a = 1", f"SELECT s.a FROM s, {sums}"):
        assert verdict(secret, view, tables) == "UNKNOWN"
    assert verdict(secret, f"SELECT s.a FROM s, {sums} WHERE s.a = 1", tables) == "PRIVATE"


@pytest.mark.parametrize(
    ("tables", "secret", "views"),
    [
        (
            "CREATE TABLE r (a INT PRIMARY KEY); CREATE TABLE s (b NUMERIC(10,2) PRIMARY KEY)",
            "SELECT b FROM s WHERE b = 1",
            [
                "SELECT s.b FROM r JOIN s ON r.a = s.b UNION SELECT a FROM r",
                "SELECT a FROM r UNION SELECT s.b FROM r JOIN s ON r.a = s.b",
                "SELECT DISTINCT * FROM (SELECT s.b FROM r JOIN s ON a = b UNION ALL SELECT a FROM r) AS x",
                "SELECT s.b FROM r JOIN s ON r.a = s.b INTERSECT SELECT a FROM r",
                "SELECT 1 UNION SELECT b FROM s WHERE b = 1",
            ],
        ),
        (
            "CREATE TABLE n (id INT PRIMARY KEY, a NUMERIC NOT NULL)",
            "SELECT id FROM n WHERE id = 5",
            [
                "SELECT DISTINCT x.a FROM n x, n y WHERE x.a = y.a AND y.id = 0",
                "SELECT x.a FROM n x, n y WHERE x.a = y.a AND y.id = 0 GROUP BY x.a",
                "SELECT x.a FROM n x, n y WHERE x.a = y.a AND y.id = 0 UNION SELECT a FROM n WHERE id = 0",
                "SELECT x.a, COUNT(DISTINCT y.id) FROM n x, n y WHERE x.a = y.a AND y.id = 0 GROUP BY x.a",
            ],
        ),
        (
            "CREATE TABLE c (a CHAR(3) PRIMARY KEY); CREATE TABLE d (b CHAR(5) PRIMARY KEY)",
            "SELECT b FROM d",
            ["SELECT d.b FROM c JOIN d ON c.a = d.b UNION SELECT a FROM c"],
        ),
    ],
)
def test_a_set_of_equal_values_that_are_shown_differently_is_sealed(tables, secret, views):
    schema = read_schema({}, (), tables, "postgres")
    again = schema_of(schema_document(schema))
    assert again.types == schema.types
    for view in views:
        assert verdict(secret, view, tables) == "UNKNOWN", view


def test_a_set_of_values_that_are_shown_in_one_way_is_read_exactly():
    tables = (
        "CREATE TABLE r (a INT NOT NULL, w NUMERIC(9) NOT NULL, b NUMERIC(10,2) NOT NULL, c CHAR(3) NOT NULL,"
        " t VARCHAR(3) NOT NULL, d DATE NOT NULL, at TIMESTAMP NOT NULL, n NUMERIC NOT NULL)"
    )
    for text in (
        "SELECT DISTINCT a, w, b, c, t, d, at FROM r",
        "SELECT a FROM r UNION SELECT w FROM r UNION SELECT 7",
        "SELECT b FROM r INTERSECT SELECT b FROM r",
        "SELECT c FROM r GROUP BY c",
        "SELECT d FROM r UNION SELECT at FROM r",
        "SELECT COUNT(DISTINCT n) FROM r",
        "SELECT a FROM r UNION ALL SELECT n FROM r",
    ):
        assert operators(text, tables) == [], text
    assert read("SELECT d FROM r UNION ALL SELECT at FROM r", tables).parts[0].types == (
        ColumnType("timestamp"),
    )


def test_a_secret_that_keys_let_find_no_row_is_explained_by_them():
    tables = "CREATE TABLE r (a integer PRIMARY KEY, b text NOT NULL, UNIQUE (b))"
    two = "SELECT x.a FROM r AS x JOIN r AS y USING (a) WHERE x.b = '1' AND y.b = '2'"
    for secret, view, what in ((two, "SELECT a FROM r", "secret"), ("SELECT a FROM r", two, "view")):
        asked = [WrittenQuery("s", secret)], [WrittenQuery("v", view)]
        (pair,) = checked(ViewCheck({}, (), *asked, language="sql", tables=tables))["pairs"]
        assert (pair["verdict"], pair["reason_code"]) == ("PRIVATE", "NO_UNIFIABLE_SUBGOALS")
        assert pair["explanation"] == (
            f"The {what} {what[0]!r} never finds a row: it asks for several rows at once of which keys or "
            "dependencies let not all exist (r by (a) or (b)). So neither answer says anything about the "
            "other."
        )

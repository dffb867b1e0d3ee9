"""What is listed as never failing, tried in PostgreSQL on the extreme values of its types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import psycopg
import pytest

from app.domain.errors import InvalidInput
from app.persistence.addresses import libpq_url
from app.services.views.reading import WrittenQuery
from app.services.views.sql.kinds import Kinds
from app.services.views.sql.never_failing import (
    COUNT,
    NEVER_FAILING,
    SHORT,
    UNDECLARED,
    WORD,
    Entry,
    result_of,
)
from app.services.views.sql.text import SqlText, one_query
from app.services.views.view_checks import ViewCheck, checked

NINES = "9" * 300
TEXTS = ("''", "' '", "'a'", "'Ä'", "'İß'", "'%'", r"E'\\'", "'('", "'[a'", "repeat('x', 9000)")
MOMENTS = ("-infinity", "infinity", "4714-11-24 BC", "4714-12-31 BC", "0001-12-31 BC", "0001-01-01")
VALUES: dict[str, tuple[str, ...]] = {
    "smallint": ("-32768", "-1", "0", "1", "32767"),
    "integer": ("-2147483648", "-1", "0", "1", "2147483647"),
    "bigint": ("-9223372036854775808", "-1", "0", "1", "9223372036854775807"),
    SHORT: (f"{NINES}.{NINES}", f"-{NINES}.{NINES}", "1e-300", "-1e-300", "0.0", "1.00", "'NaN'"),
    "numeric": (
        *("1e400", "-1e400", "1e-400", "1e-16383", "'NaN'", "'Infinity'", "'-Infinity'", "0.000"),
        *(f"{sign}{'9' * 131072}.{'9' * 16383}" for sign in ("", "-")),
    ),
    "real": ("'NaN'", "'Infinity'", "'-Infinity'", "3.4028235e38", "-3.4028235e38", "1e-45", "'-0.0'", "0.1"),
    "double precision": (
        *("'NaN'", "'Infinity'", "'-Infinity'", "1.7976931348623157e308", "-1.7976931348623157e308"),
        *("5e-324", "'-0.0'", "0.1"),
    ),
    "text": TEXTS,
    "varchar": TEXTS,
    "char": ("''", "' '", "'a'", "'Ä'", r"E'\\'"),
    "boolean": ("TRUE", "FALSE"),
    "date": tuple(f"'{own}'" for own in (*MOMENTS, "2020-02-29", "300000-01-01", "5874897-12-31")),
    "timestamp": tuple(
        f"'{own}'" for own in (*MOMENTS, "2020-02-29 23:59:59.999999", "294276-12-31 23:59:59.999999")
    ),
    "timestamptz": tuple(f"'{own}'" for own in (*MOMENTS[:2], "4713-01-01 BC", "294276-12-30")),
    "time": ("'00:00'", "'23:59:59.999999'", "'24:00'"),
    "interval": ("'178000000 years'", "'-178000000 years'", "'0'", "'2147483647 days'", "'1 mon -30 days'"),
    "uuid": ("'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    "enum": ("'y'", "'x'"),
}
LITERALS = {
    COUNT: ("0", "1", "2147483647"),
    WORD: ("''", "'%'", "'_%%'", "'a'", "'ä%'", "'[('", "'%%_%x'"),
}
TYPES = {"enum": "views_mood", "char": "char(4)"}
OPERATORS = {
    **{"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "neg": "-", "dpipe": "||"},
    **{"nullsafeeq": "IS NOT DISTINCT FROM", "nullsafeneq": "IS DISTINCT FROM"},
    **{"add": "+", "sub": "-", "mul": "*", "like": "LIKE", "ilike": "ILIKE"},
}


@pytest.fixture(scope="module")
def connection(postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(libpq_url(postgres.admin_url), autocommit=True) as own:
        own.execute("SET client_min_messages = error; SET jit = off")
        own.execute("CREATE TYPE pg_temp.views_mood AS ENUM ('y', 'x')")
        for kind, values in VALUES.items():
            own.execute(f'CREATE TEMP TABLE "of {kind}" (x {TYPES.get(kind, kind)})')
            for value in (*values, "NULL"):
                own.execute(f'INSERT INTO "of {kind}" VALUES ({value})')  # type: ignore[arg-type]
        yield own


def in_sql(name: str, operands: list[str]) -> str:
    """The expression as PostgreSQL writes it."""
    word, _, what = name.partition(":")
    match word:
        case "extract":
            return f"EXTRACT({what} FROM {operands[0]})"
        case "date_trunc" | "date_part":
            return f"{word}('{what}', {operands[0]})"
        case "as":
            return f"CAST({operands[0]} AS {'double precision' if what == 'double' else what})"
        case "row_number" | "rank" | "dense_rank":
            return f"{word}() OVER ()"
    if word in OPERATORS:
        return f" {OPERATORS[word]} ".join(operands) if len(operands) > 1 else f"- {operands[0]}"
    return f"{word}({', '.join(operands)})"


def is_tried(connection: psycopg.Connection, name: str, kinds: tuple[str, ...]) -> bool:
    """Whether there is the expression for operands of these kinds, tried on all of their values."""
    columns = [f"t{i}.x" for i in range(len(kinds))]
    tables = ", ".join(f'"of {kind}" AS t{i}' for i, kind in enumerate(kinds) if kind in VALUES)
    choices = [LITERALS.get(kind, (own,)) for kind, own in zip(kinds, columns, strict=True)]
    try:
        for operands in product(*choices):
            shown = in_sql(name, list(operands))
            # Without being asked for, an expression is not computed.
            sql = f"SELECT {shown} AS y {'FROM' if tables else ''} {tables} OFFSET 0"
            connection.execute(f"SELECT COUNT(y::text) FROM ({sql}) AS own")  # type: ignore[arg-type]
    except (psycopg.errors.UndefinedFunction, psycopg.errors.AmbiguousFunction):
        return False
    return True


def combinations(entry: Entry) -> Iterator[tuple[str, ...]]:
    """The kinds of operands for which an entry is listed, each undeclared column being of every type."""
    operands = entry[1]
    every = [sorted(own - {UNDECLARED}) + list(VALUES) * (UNDECLARED in own) for own in operands]
    only_alike = bool(operands) and all(own == {UNDECLARED} for own in operands)
    for kinds in product(*every):
        if not only_alike or len(set(kinds)) == 1:
            yield kinds


def test_what_is_listed_never_fails_on_the_extreme_values_of_its_types(connection):
    tried = 0
    for entry in NEVER_FAILING:
        for name in entry[0].split():
            found = [is_tried(connection, name, kinds) for kinds in dict.fromkeys(combinations(entry))]
            assert any(found), name
            is_of_any = any(UNDECLARED in own for own in entry[1])
            assert is_of_any or all(found), (name, entry[1])
            tried += sum(found)
    assert tried > 1_000


@pytest.mark.parametrize(
    "template",
    [
        "COALESCE({}, {})",
        "GREATEST({}, {})",
        "LEAST({}, {})",
        "CASE WHEN {0} IS NULL THEN {1} ELSE {0} END",
        "(SELECT {} UNION ALL SELECT {} LIMIT 1)",
    ],
)
def test_values_of_two_types_that_are_taken_together_never_fail(connection, template):
    kinds = Kinds(SqlText("", "postgres"))
    node = one_query(SqlText("SELECT 1", "postgres"))
    together = [own for own in product(VALUES, repeat=2) if kinds.together(node, own)]
    for one, other in together:
        shown = template.format("a.x", "b.x")
        sql = f'SELECT {shown} AS y FROM "of {one}" AS a, "of {other}" AS b OFFSET 0'
        connection.execute(f"SELECT COUNT(y::text) FROM ({sql}) AS own")  # type: ignore[arg-type]
    assert len(together) > 40
    assert ("date", "timestamp") not in together
    assert ("numeric", "double precision") not in together


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("as:timestamp", ("date",)),
        ("as:timestamptz", ("date",)),
        ("as:double", ("numeric",)),
        ("as:real", (SHORT,)),
        ("eq", ("numeric", "double precision")),
        ("lt", ("real", "numeric")),
        ("substring", ("text", "text")),
        ("date_trunc:month", ("timestamp",)),
        ("date_trunc:day", ("date",)),
        ("extract:hour", ("date",)),
        ("like", ("text", "text")),
        ("abs", ("integer",)),
        ("neg", ("bigint",)),
        ("add", ("integer", "integer")),
        ("round", ("numeric",)),
        ("as:smallint", ("integer",)),
        ("as:integer", ("text",)),
    ],
)
def test_the_trial_finds_what_fails(connection, name, kinds):
    assert not result_of(name, kinds)
    with pytest.raises(psycopg.Error) as error:
        is_tried(connection, name, kinds)
    # A wrong value, not a query that is none.
    assert error.value.sqlstate[:2] in ("22", "0A")


TABLES = """
    CREATE TABLE r (id integer NOT NULL, k smallint NOT NULL, d date NOT NULL, at timestamp NOT NULL,
        big numeric NOT NULL, price numeric(10, 2) NOT NULL, f double precision NOT NULL, t text NOT NULL,
        day text NOT NULL);
    CREATE TABLE s (at timestamp NOT NULL, f real NOT NULL, "T" text NOT NULL)
    """
SECRET = "SELECT id FROM r WHERE id = 1"


HIDING = f"(id = 2 OR {' OR '.join(f'id = {i} AND k = {i}' for i in range(3, 30))})"
"""It costs the database more than what it is tried beside."""


def outcome(condition: str, view: str = f"SELECT id FROM r WHERE {HIDING} AND {{}}") -> str:
    """The verdict, or the code of the fault, on a view that keeps no row of the secret."""
    queries = [WrittenQuery("s", SECRET)], [WrittenQuery("v", view.format(condition))]
    try:
        return checked(ViewCheck({}, (), *queries, language="sql", tables=TABLES))["verdict"]
    except InvalidInput as error:
        return error.faults[0].code


MAY_FAIL = (
    "date_trunc('day', d) = '2020-01-01'",
    "date_trunc('month', at) = '2020-01-01'",
    "date_trunc('week', at) = '2020-01-01'",
    "date_trunc(t, at) = '2020-01-01'",
    "date_trunc(day, at) = '2020-01-01'",
    "coalesce(d, at) = '2020-01-01'",
    "greatest(d, at) > '2020-01-01'",
    "CASE WHEN k = 1 THEN d ELSE at END > '2020-01-01'",
    "CASE k WHEN 1 THEN at WHEN 2 THEN d END IS NULL",
    "big = f",
    "big BETWEEN 1 AND f",
    "f BETWEEN big AND 5",
    "f IN (big, 2)",
    "at IN (CAST(d AS date), at)",
    "nullif(big, f) IS NULL",
    "nullif(f, big) IS NULL",
    "big IS DISTINCT FROM f",
    "substring(t from 'a.c') = 'abc'",
    "substring(t, t) = 'abc'",
    "EXTRACT(HOUR FROM d) = 1",
    "EXTRACT(YEAR FROM t) = 1",
    "CAST(d AS timestamp) = '2020-01-01'",
    "CAST(k AS numeric(2, 1)) = 1",
    "CAST(d AS \"date\") = '2020-01-01'",
    "CAST(t AS string) = 'x'",
    "EXISTS (SELECT 1 FROM s WHERE s.f = r.big)",
    "big IN (SELECT f FROM s)",
    "at IN (SELECT d FROM r UNION ALL SELECT at FROM s)",
    "f = (SELECT max(big) FROM r)",
    "id = (SELECT sum(f) FROM r)",
    "k * k = 1",
)


@pytest.mark.parametrize("condition", MAY_FAIL)
def test_a_view_with_what_may_fail_is_not_private(condition):
    assert outcome(condition) == "UNKNOWN"


@pytest.mark.parametrize(
    "condition",
    [
        "at > d AND d BETWEEN '2020-01-01' AND at",
        "d BETWEEN CAST('2000-01-27' AS date) AND CAST('2000-01-27' AS date) + 30",
        "big = price AND k < big AND f > price AND f > 1.5",
        "coalesce(k, id, 1) = 1 AND greatest(price, big, 2) > 1",
        "nullif(at, d) IS NULL AND nullif(t, '') IS NULL",
        "CASE WHEN t LIKE 'a%' THEN 'x' ELSE upper(t) END = 'X'",
        "substring(t, 1, 2) = 'x' AND trim(lower(t)) || d = 'x' AND length(t) > k",
        "date_trunc('day', at) = '2020-01-01' AND date_trunc('hour', at) > d",
        "EXTRACT(YEAR FROM d) = 2020 AND EXTRACT(HOUR FROM at) < 8",
        "CAST(k AS bigint) = 1 AND CAST(at AS date) = d AND CAST(d AS text) = '2020'",
        "id > 1 + 2 * 3 AND abs(price) < 5",
        "d IN (SELECT at FROM s) AND id IN (SELECT count(*) FROM s)",
        "k > (SELECT avg(price) FROM r WHERE id = 2)",
        'id IN (1, 2, k) AND (t, id) IN (SELECT "T", 2 FROM s)',
        "t IS DISTINCT FROM 'x' AND NOT k = 1",
    ],
)
def test_a_view_with_what_never_fails_stays_private(condition):
    assert outcome(condition) == "PRIVATE"


@pytest.mark.parametrize(
    "condition",
    [
        "nvl(t, 'x') = 'x'",
        "\"Lower\"(t) = 'x'",
        "\"lower\"(t) = 'x'",
        "\"coalesce\"(t, 'x') = 'x'",
        "\"trim\"(t) = 'x'",
        "ucase(t) = 'X'",
        "len(t) = 1",
        "convert(t, int) = 1",
        "public.lower(t) = 'x'",
        "if(k = 1, TRUE) IS NULL",
        "t <=> 'x'",
        "k == 1",
        "timestamp_trunc(at, day) = '2020-01-01'",
    ],
)
def test_names_that_are_none_of_postgresql_are_not_taken_for_its_own(condition):
    assert outcome(condition) in ("unknown-function", "not-read", "sql-syntax")


@pytest.mark.parametrize(
    "view",
    [
        "SELECT 1 FROM (SELECT at FROM s UNION ALL SELECT d FROM r WHERE id = 2) x WHERE x.at = '2020-01-01'",
        "SELECT x.y FROM (SELECT coalesce(d, at) AS y FROM r WHERE id = 2) AS x",
        "SELECT 1 FROM (SELECT id, d AS at FROM r WHERE id = 2) AS x FULL JOIN s USING (at)",
        "WITH x AS (SELECT big FROM r WHERE id = 2) SELECT 1 FROM x JOIN s ON s.f = x.big",
        "SELECT 1 FROM (SELECT big AS f FROM r WHERE id = 2) AS x NATURAL JOIN s",
    ],
)
def test_what_fails_beneath_a_view_is_tried_as_early(view):
    assert outcome("", view) == "UNKNOWN"


def test_what_is_computed_of_the_rows_that_are_left_tells_nothing_of_others():
    for view in (
        "SELECT big * f, date_trunc('day', d), coalesce(d, at) FROM r WHERE id = 2",
        "SELECT x.y FROM (SELECT sum(f) AS y FROM r WHERE id = 2) AS x",
        "SELECT d FROM r WHERE id = 2 UNION SELECT at FROM s",
    ):
        assert outcome("", view) == "PRIVATE"


def test_a_row_that_the_filter_hides_makes_what_may_fail_fail(connection):
    """For each of these conditions there is such a row, and an order of conditions in which it is tried."""
    extreme = "1, 1, '300000-01-01', '4714-11-24 BC', 1e400, 0, 0, '(', 'x'"
    connection.execute(TABLES.replace("CREATE", "CREATE TEMP"))
    connection.execute(f"INSERT INTO r VALUES ({extreme}); INSERT INTO s VALUES ('2020-01-01', 1, 'x')")
    failing = 0
    for condition in MAY_FAIL:
        try:
            connection.execute(f"SELECT id FROM r WHERE {HIDING} AND {condition}")  # type: ignore[arg-type]
        except psycopg.Error as error:
            print(condition, error)
            failing += error.sqlstate[:2] in ("22", "0A")
    assert failing >= 18

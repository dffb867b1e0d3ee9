"""The rows of examples, put into a table of PostgreSQL that has the types that were declared."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from app.domain.errors import InvalidInput
from app.persistence.addresses import libpq_url
from app.services.views.reading import WrittenQuery, read_schema
from app.services.views.schema_documents import schema_document, schema_of
from app.services.views.view_checks import ViewCheck, checked

TABLES = """CREATE TABLE own (
    id integer NOT NULL, s smallint NOT NULL, b bigint NOT NULL, c varchar(3) NOT NULL,
    n numeric(3, 2) NOT NULL, w numeric(2) NOT NULL, d date NOT NULL, at timestamp NOT NULL,
    whole timestamp(0) NOT NULL, t time NOT NULL)"""


@pytest.fixture(scope="module")
def connection(postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(libpq_url(postgres.admin_url), autocommit=True) as own:
        own.execute(TABLES.replace("CREATE", "CREATE TEMP"))
        yield own


def judged(condition: str, view: str = "SELECT * FROM own") -> dict:
    """The pair of those who meet a condition, and all rows."""
    queries = [WrittenQuery("s", f"SELECT id FROM own WHERE {condition}")], [WrittenQuery("v", view)]
    (pair,) = checked(ViewCheck({}, (), *queries, language="sql", tables=TABLES))["pairs"]
    return pair


@pytest.mark.parametrize(
    "condition",
    [
        "id = 2000000000",
        "id > 2000000000",
        "b = 999999999999",
        "b > 999999999999 AND s > 5",
        "s = 32767 AND id > 0",
        "s BETWEEN -32768 AND -32767",
        "n > 1 AND n < 1.02",
        "n < 0 AND n > -9.98",
        "w > 1 AND w < 4 AND id <> 3",
        "w = 99",
        "c = 'abc'",
        "d = '9999-12-31'",
        "d > '9999-12-31'",
        "d > '2020-01-01' AND id = 1000000000",
        "at > '2020-01-01' AND at < '2020-01-01 00:00:00.000002'",
        "whole > '2020-01-01' AND whole < '2020-01-01 00:00:03'",
        "t = '23:59:59.999999'",
        "t > '23:00' AND id <> 5",
    ],
)
def test_a_row_of_an_example_can_be_in_its_table(connection, condition):
    found = judged(condition)
    assert found["verdict"] == "DISCLOSES"
    for side in ("secret", "view"):
        values = found["witness"][side]["deciding_row"]["values"]
        row = [str(own) for own in values.values()]
        marks = ", ".join(["%s"] * len(row))
        (kept,) = connection.execute(
            f"WITH x AS (INSERT INTO own VALUES ({marks}) RETURNING *) SELECT row_to_json(x) FROM x", row
        ).fetchall()
        # Nothing is rounded or cut off.
        for name, value in values.items():
            sent = str(kept[0][name]).replace("T", " ") if name in ("at", "whole") else kept[0][name]
            assert str(sent) == str(value) or float(sent) == float(value), name
        with connection.transaction(force_rollback=True):
            connection.execute("DELETE FROM own")
            connection.execute(f"INSERT INTO own VALUES ({marks})", row)
            assert connection.execute(f"SELECT id FROM own WHERE {condition}").fetchall()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "condition",
    [
        *("s = 100000", "s <> 32768", "s IN (1, -32769)", "id = 2147483648", "id = '99999999999'"),
        *("c = 'four'", "c IN ('a', 'äöüß')", "n = 10", "n = 1.234", "w = 0.5", "w = 100"),
        *("whole = '2020-01-01 00:00:00.5'", "EXISTS (SELECT 1 FROM own AS o WHERE o.s = 70000)"),
    ],
)
def test_a_literal_that_its_column_never_has_is_refused(condition):
    with pytest.raises(InvalidInput) as error:
        judged(condition)
    (fault,) = error.value.faults
    assert fault.code == "outside-domain"
    assert "none of the column's values" in fault.message


@pytest.mark.parametrize(
    "condition",
    [
        *("s > 32767", "n > 0 AND n < 0.01"),
        "at > '2020-01-01' AND at < '2020-01-01 00:00:00.000001'",
        *(
            pytest.param(own, marks=pytest.mark.deep)
            for own in (
                *("s < -32768", "s > 100000", "n > 9.99", "w > 1 AND w < 2"),
                "s > 32765 AND s <> 32766 AND s <> 32767",
            )
        ),
    ],
)
def test_a_condition_that_no_value_of_the_type_meets_discloses_nothing_by_a_row_that_cannot_be(condition):
    found = judged(condition)
    assert (found["verdict"], found["witness"]) in (("UNKNOWN", None), ("PRIVATE", None))


def test_nan_is_above_all_numbers_so_that_no_limit_proves_anything(connection):
    """Both conditions are met by a row with NaN, which no example can show."""
    assert connection.execute("SELECT 'NaN'::numeric(3, 2) > 9.99").fetchall() == [(True,)]
    assert judged("n > 9.99", "SELECT id FROM own WHERE n > 50")["verdict"] == "UNKNOWN"


def test_a_schema_that_was_stored_before_is_read_without_sizes():
    schema = read_schema({}, (), TABLES, "postgres")
    document = schema_document(schema)
    assert schema_of(document).types == schema.types
    assert schema_of(document).relational.relations == schema.relational.relations
    for described in document["types"].values():
        for own in described:
            del own["declared"]
    before = schema_of(document)
    assert {own.declared for own in before.types["own"]} == {""}
    assert 100_000 in before.relational.relations["own"].ranges[1]
    assert 100_000 not in schema.relational.relations["own"].ranges[1]

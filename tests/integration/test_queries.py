"""A query of a PostgreSQL: its types as texts, one batch at a time, in a transaction that only reads."""

from __future__ import annotations

import pyarrow as pa
import pytest

import privacy_risk as pr
from app.persistence.addresses import sqlalchemy_url


@pytest.fixture(scope="module")
def address(database_urls):
    url = sqlalchemy_url(database_urls.admin).set(drivername="postgresql+psycopg")
    return url.render_as_string(hide_password=False)


def rows_of(sql, address):
    return pa.Table.from_batches(pr.query(sql, address).batches()).to_pylist()


def test_values_of_the_databases_types_are_texts_that_say_the_same(address):
    (row,) = rows_of(
        "select '02139'::text as zip, 0.10::numeric(9,2) as pay, date '1970-01-02' as born, "
        "null::date as died, ''::text as note, timestamp '2026-01-31 08:05' as seen, true as alive, "
        "12345678901234567890::numeric as n, '10.0.0.1'::inet as ip, 'a%b:c' as t where 'x' like '%'",
        address,
    )
    assert row == {
        "zip": "02139", "pay": "0.10", "born": "1970-01-02", "died": None, "note": "",
        "seen": "2026-01-31 08:05:00", "alive": "true", "n": "12345678901234567890", "ip": "10.0.0.1",
        "t": "a%b:c",
    }  # fmt: skip


def test_the_server_hands_over_no_more_than_is_asked_for(address):
    batches = pr.query("select repeat('x', 1000), generate_series(1, 100000000)", address).batches()
    assert [next(batches).num_rows for _ in range(2)] == [0, 10_000]
    batches.close()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("with a as (create table b (c int)) select 1", "syntax error"),
        ("with a as (select nextval('nothing')) select * from a", 'relation "nothing" does not exist'),
        ("select lo_create(0)", "read-only transaction"),
        ("select 'Smith'::text::int as n from generate_series(1, 2)", ": InvalidTextRepresentation."),
    ],
)
def test_what_fails_or_would_write_is_refused_without_a_cell(address, sql, said):
    with pytest.raises(pr.InvalidArgument) as raised:
        rows_of(sql, address)
    assert said in raised.value.fault
    assert "Smith" not in str(raised.value)

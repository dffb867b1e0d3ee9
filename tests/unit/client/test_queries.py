"""Tables that a query answers: faithful texts, bounded memory, no secrets told, nothing written."""

from __future__ import annotations

import datetime as dt
import sqlite3
import uuid
from contextlib import closing
from decimal import Decimal

import pyarrow as pa
import pytest

import privacy_risk as pr
from privacy_risk import queries
from privacy_risk.cell_texts import texts_of
from privacy_risk.tables import table_of


@pytest.fixture
def address(tmp_path):
    path = tmp_path / "members.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table members (zip text, born date, pay numeric, note text)")
        rows = [("02139", "1970-01-02", 12.5, ""), ("00501", None, 3, None)]
        database.executemany("insert into members values (?, ?, ?, ?)", rows)
    return f"sqlite:///{path}"


def rows_of(query):
    return pa.Table.from_batches(query.batches()).to_pylist()


def fault_of(sql, address):
    with pytest.raises(pr.InvalidArgument) as raised:
        rows_of(pr.query(sql, address))
    return raised.value


def test_leading_zeros_and_missing_cells_stay_and_empty_texts_are_not_missing(address):
    assert rows_of(pr.query("select * from members", address)) == [
        {"zip": "02139", "born": "1970-01-02", "pay": "12.5", "note": ""},
        {"zip": "00501", "born": None, "pay": "3", "note": None},
    ]


def test_percent_signs_and_colons_are_the_querys_own(address):
    (row,) = rows_of(pr.query("-- all\nselect '%s :x' as a from members where zip like '%39'", address))
    assert row == {"a": "%s :x"}


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Decimal("0.10"), "0.10"),
        (Decimal("1E+2"), "100"),
        (Decimal("12345678901234567890.123"), "12345678901234567890.123"),
        (17100.0, "17100"),
        (0.1, "0.1"),
        (2.0**60, "1.152921504606847e+18"),
        (True, "true"),
        (12, "12"),
        (dt.date(2026, 1, 31), "2026-01-31"),
        (dt.datetime(2026, 1, 31), "2026-01-31"),
        (dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.UTC), "2026-01-31 12:30:00+00:00"),
        (dt.time(8, 5), "08:05:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_cells_become_texts_that_say_the_same(cell, text):
    assert texts_of("x", [cell, None, "a"]) == [text, None, "a"]


@pytest.mark.parametrize("cell", [b"a", ["a"], {"a": 1}])
def test_cells_that_are_no_single_values_are_refused_by_their_column(cell):
    with pytest.raises(pr.InvalidArgument, match=r"'photo'.*Cast the column"):
        texts_of("photo", [cell])


def test_a_batch_is_read_at_a_time(address, monkeypatch):
    monkeypatch.setattr(queries, "BATCH_ROWS", 100)
    numbers = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 100000000) "
    batches = pr.query(numbers + "select x from n", address).batches()
    assert [next(batches).num_rows for _ in range(3)] == [0, 100, 100]
    batches.close()


@pytest.mark.parametrize(
    ("sql", "argument", "said"),
    [
        ("insert into members values (1, 2, 3, 4)", "sql", "not a query"),
        ("/* a query */ drop table members", "sql", "not a query"),
        ("with a as (select 1) insert into members select 1, 2, 3, 4", "sql", "readonly"),
        ("select wrong from members", "sql", "no such column: wrong"),
        ("select zip, note as zip from members", "sql", "Several columns are called 'zip'"),
        ("select cast(x'ff' as text) as a", "sql", "(OperationalError)"),
    ],
)
def test_what_is_no_table_or_would_write_is_refused(address, sql, argument, said):
    fault = fault_of(sql, address)
    assert fault.argument == argument
    assert said in fault.fault
    assert fault.remedy
    assert len(rows_of(pr.query("select * from members", address))) == 2


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nosuch://me:s3cret@host/x?token=t0ken", "the dialect nosuch"),
        ("snowflake://me:s3cret@host/x?token=t0ken", "snowflake-sqlalchemy"),
        ("mysql+pymysql://me:s3cret@host/x", "pip install 'pymysql'"),
        ("sqlite:///nowhere.db", "no database nowhere.db"),
        ("s3cret", "not the address of a database"),
        ("postgresql+psycopg://me:s3cret@127.0.0.1:port/x", "not the address of a database"),
        ("postgresql+psycopg://me:s3cret@127.0.0.1:1/x?application_name=t0ken", "cannot be reached"),
        ("postgresql+psycopg://me:s3cret@127.0.0.1/x?s3cret=t0ken", "cannot be reached"),
    ],
)
def test_a_database_that_cannot_be_asked_is_told_without_what_is_secret(address, said):
    fault = fault_of("select 1", address)
    assert fault.argument == "address"
    assert said in str(fault)
    assert "s3cret" not in str(fault)
    assert "t0ken" not in str(fault)
    assert "s3cret" not in repr(pr.query("select 1", address))


def test_what_a_driver_says_is_told_without_the_password(address, monkeypatch):
    url = "postgresql+psycopg://me:s3cret@host/x?options=t0ken"
    from sqlalchemy import exc, make_url

    error = exc.OperationalError("select", {}, RuntimeError("no s3cret for t0ken\nDETAIL: cells"))
    assert "no *** for ***." in queries._fault("sql", "It fails", make_url(url), error).fault


def test_an_error_about_values_repeats_none():
    from sqlalchemy import exc, make_url

    class InvalidText(type("DataError", (Exception,), {})):
        pass

    error = exc.DataError("select", {}, InvalidText("not a number: 'Smith'"))
    fault = queries._fault("sql", "It fails", make_url("sqlite://"), error)
    assert fault.fault == "It fails: InvalidText."


def test_the_address_may_come_from_the_environment(address, monkeypatch):
    monkeypatch.setenv("PRIVACY_RISK_QUERY_ADDRESS", address)
    assert table_of(pr.query("select zip from members"), "frame").rows == 2
    monkeypatch.delenv("PRIVACY_RISK_QUERY_ADDRESS")
    with pytest.raises(pr.InvalidArgument, match="PRIVACY_RISK_QUERY_ADDRESS"):
        pr.query("select 1")

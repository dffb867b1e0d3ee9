"""What tests share leaks nothing from one to the next."""

from __future__ import annotations

import psycopg
import pytest

from tests.api.service import build_api
from tests.conftest import BESIDE_ROWS


def test_a_copy_counts_as_untouched_only_as_long_as_nothing_was_written(postgres):
    name = postgres.clone()
    before = postgres.written()
    with psycopg.connect(postgres.urls(name).admin) as connection:
        connection.execute("CREATE TABLE written (x int)")
        connection.rollback()
    after_rollback = postgres.written()
    postgres.drop(name)
    assert after_rollback != before


def test_what_a_test_changes_adds_or_removes_is_restored_in_copies_of_a_copy(postgres):
    first = postgres.clone()
    rows = "SELECT name FROM tenants ORDER BY name"
    added = "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), %(name)s, now())"
    with psycopg.connect(postgres.urls(first).admin, autocommit=True) as connection:
        for name in "abc":
            connection.execute(added, {"name": name})
    postgres.keep_rows(first)
    second = postgres.clone(first)
    with psycopg.connect(postgres.urls(second).admin, autocommit=True) as connection:
        connection.execute(added, {"name": "d"})
        connection.execute("DELETE FROM tenants WHERE name = 'a'")
        connection.execute("UPDATE tenants SET name = 'x' WHERE name = 'b'")
        assert connection.execute(rows).fetchall() == [("c",), ("d",), ("x",)]
        postgres.restore(second)
        assert connection.execute(rows).fetchall() == [("a",), ("b",), ("c",)]
    postgres.drop(first)
    postgres.drop(second)


@pytest.mark.parametrize(
    "left",
    [
        "CREATE TABLE left_over (x int)",
        "CREATE FUNCTION left_over() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE tenants DISABLE TRIGGER ALL",
        "ALTER TABLE tenants DISABLE ROW LEVEL SECURITY",
        "GRANT DELETE ON tenants TO app_runtime",
        "SELECT lo_create(0)",
    ],
)
def test_what_restoring_would_not_take_back_is_noticed(postgres, emptied_database, left):
    before = postgres.beside_rows(emptied_database)
    with psycopg.connect(postgres.urls(emptied_database).admin) as connection:
        connection.execute(left)
        assert connection.execute(BESIDE_ROWS).fetchone() != before
        connection.rollback()
    assert postgres.beside_rows(emptied_database) == before


@pytest.mark.anyio
async def test_applications_of_one_process_have_their_own_use_cases(anyio_backend, store, registry, clock):
    one, other = (build_api(store, registry, clock) for _ in range(2))
    for api in (one, other):
        async with api.client(None) as client:
            assert (await client.get("/v1/hierarchies")).status_code == 401
        assert api.app.state.services is api.services
    assert one.services is not other.services

"""The migrations go up, down and up again, and make what the metadata say."""

from __future__ import annotations

import socket
import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from psycopg.pq import Ping
from sqlalchemy import create_engine

from app.domain.errors import Conflict, Unavailable
from app.persistence.addresses import sqlalchemy_url
from app.persistence.migration import alembic_config, await_server, head_revision, migrate
from app.persistence.tables import metadata


@pytest.fixture
def newest(postgres):
    """The addresses of a database of its own at the newest revision."""
    name = postgres.clone()
    yield postgres.urls(name)
    postgres.drop(name)


@pytest.fixture(scope="module")
def at_the_base(postgres):
    """A database that no migration has touched, and that nobody is connected to."""
    name = postgres.clone()
    migrate(postgres.urls(name).owner, "base")
    yield name
    postgres.drop(name)


@pytest.fixture
def empty(postgres, at_the_base):
    """The addresses of a copy of it."""
    name = postgres.clone(at_the_base)
    yield postgres.urls(name)
    postgres.drop(name)


def objects(urls):
    """Names of all tables, sequences, types and functions that are in the database."""
    query = """
        SELECT 'relation ' || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
    """
    with psycopg.connect(urls.admin) as connection:
        return {name for (name,) in connection.execute(query)}


def test_down_to_the_base_nothing_is_left(empty):
    left = {name for name in objects(empty) if "alembic_version" not in name}
    assert left == set()


def test_up_down_and_up_again_makes_the_same(empty):
    migrate(empty.owner)
    made = objects(empty)
    migrate(empty.owner, "0001")
    assert objects(empty) < made
    migrate(empty.owner)
    assert objects(empty) == made
    migrate(empty.owner, "base")
    migrate(empty.owner)
    assert objects(empty) == made


def test_going_back_leaves_only_webhooks_whose_address_can_be_read(newest):
    """The owner has no key to put an encrypted address back; one in clear stays."""
    with psycopg.connect(newest.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'x', now())"
        )
        for name, url, address in (("plain", "'https://x.example/'", "NULL"), ("sealed", "NULL", "''")):
            connection.execute(
                "INSERT INTO webhooks (tenant_id, id, name, url, address, events, secrets, created_at)"
                f" SELECT id, '{name}', '{name}', {url}, {address}, '{{}}', '', now() FROM tenants"
            )
    migrate(newest.owner, "0008")
    with psycopg.connect(newest.admin) as connection:
        assert connection.execute("SELECT name FROM webhooks").fetchall() == [("plain",)]
        connection.execute("DELETE FROM webhooks")


def test_going_back_leaves_no_release_that_could_be_drawn_again(newest):
    """Nothing counts draws there; a release under a rule stays."""
    with psycopg.connect(newest.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'x', now())"
        )
        for id_ in ("ruled", "drawn"):
            connection.execute(
                "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
                f" SELECT id, '{id_}', 'release', '{id_}', '', '{{}}', '', now() FROM tenants"
            )
        connection.execute(
            "INSERT INTO data_keys (tenant_id, id, purpose, wrapped_key, master_key_id)"
            " SELECT id, 'drawn', 'release', '', '' FROM tenants"
        )
        connection.execute(
            "INSERT INTO draws (tenant_id, id, subject_sha256, question_sha256, dataset_id, begun_at)"
            " SELECT id, 'drawn', '', '', '', now() FROM tenants"
        )
    migrate(newest.owner, "0009")
    with psycopg.connect(newest.admin) as connection:
        assert connection.execute("SELECT name FROM resources").fetchall() == [("ruled",)]
        assert connection.execute("SELECT count(*) FROM data_keys").fetchone() == (0,)
        connection.execute("DELETE FROM resources")
    migrate(newest.owner)


def test_going_back_leaves_only_blocks_that_can_be_read(newest):
    """What an upload's key opens is computed anew there."""
    with psycopg.connect(newest.admin) as connection:
        connection.execute("SET session_replication_role = replica")
        for number, key in ((0, None), (1, "an upload")):
            connection.execute(
                "INSERT INTO run_blocks (tenant_id, run_id, number, payload, sealed_by)"
                " VALUES (gen_random_uuid(), 'run', %s, '', %s)",
                [number, key],
            )
    migrate(newest.owner, "0016")
    with psycopg.connect(newest.admin) as connection:
        assert connection.execute("SELECT number FROM run_blocks").fetchall() == [(0,)]
        connection.execute("DELETE FROM run_blocks")


def test_going_back_is_refused_once_hashes_of_tables_are_under_keys(newest):
    """An earlier version would know none of these tables again, and give each a fresh budget."""
    with psycopg.connect(newest.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'x', now())"
        )
        connection.execute("INSERT INTO read_contents SELECT id, 'content', 'table', true FROM tenants")
    with pytest.raises(Conflict, match="under keys"):
        migrate(newest.owner, "0015")
    with psycopg.connect(newest.admin) as connection:
        connection.execute("UPDATE read_contents SET is_keyed = false")
    migrate(newest.owner, "0015")


def test_policies_of_an_older_database_have_used_their_names_and_revocations_are_not_forgotten(empty):
    """An earlier version would tell a revoked verdict as if it stood."""
    migrate(empty.owner, "0017")
    with psycopg.connect(empty.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'x', now())"
        )
        for kind, name in (("policy", "strict@1"), ("rule", "strict")):
            connection.execute(
                "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
                " SELECT id, %s, %s, %s, repeat('a', 64), '{}', '', now() FROM tenants",
                [kind, kind, name],
            )
    migrate(empty.owner)
    with psycopg.connect(empty.admin) as connection:
        used = connection.execute("SELECT name, sha256 FROM policy_names").fetchall()
        assert used == [("strict@1", "a" * 64)]
        connection.execute(
            "INSERT INTO revocations SELECT id, 'verdict', repeat('b', 64), 'A reason.', now() FROM tenants"
        )
    with pytest.raises(Conflict, match="revoked"):
        migrate(empty.owner, "0017")
    with psycopg.connect(empty.admin) as connection:
        connection.execute("DELETE FROM revocations")
    migrate(empty.owner, "0017")


def test_of_api_keys_of_one_name_the_newest_keeps_it_and_all_keep_working(empty):
    migrate(empty.owner, "0019")
    with psycopg.connect(empty.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'x', now())"
        )
        keys = [
            ("a", "ro", None),
            ("b", "ro-2", None),
            ("c", "ro", "now"),
            ("d", "ro", None),
            ("e", "ro", None),
        ]
        for id_, name, revoked in keys:
            connection.execute(
                "INSERT INTO api_keys (tenant_id, id, name, prefix, secret_sha256, scopes, created_at,"
                " revoked_at) SELECT id, %s, %s, %s, '', '{assess}', now(), %s FROM tenants",
                [id_, name, id_, revoked],
            )
    migrate(empty.owner)
    with psycopg.connect(empty.admin) as connection:
        names = dict(connection.execute("SELECT id, name FROM api_keys").fetchall())
        connection.execute("DELETE FROM api_keys")
    assert names == {"a": "ro-4", "b": "ro-2", "c": "ro", "d": "ro-3", "e": "ro"}


def test_draws_of_an_older_database_spend_what_their_releases_promise(empty):
    """Exactly as it is written; a deleted release, one that is not stored yet, or one that promises nothing
    certified tells nothing.
    """
    migrate(empty.owner, "0010")
    stated = (
        '{"model": "differential_privacy", "status": "%s", "parameters": {"epsilon": 0.1, "delta": 1e-10}}'
    )
    with psycopg.connect(empty.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'x', now())"
        )
        for id_, status in (("kept", "certified"), ("claimed", "as_published"), ("ruled", "")):
            summary = f'{{"mechanism": {{"guarantees": [{stated % status}]}}}}' if status else "{}"
            connection.execute(
                "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
                " SELECT id, %s, 'release', %s, '', %s, '', now() FROM tenants",
                [id_, id_, summary],
            )
        for id_ in ("kept", "claimed", "deleted", "open"):
            connection.execute(
                "INSERT INTO draws (tenant_id, id, subject_sha256, question_sha256, dataset_id, begun_at,"
                " sealed) SELECT id, %s, '', '', '', now(), %s FROM tenants",
                [id_, b"secret" if id_ == "open" else None],
            )
    migrate(empty.owner)
    with psycopg.connect(empty.admin) as connection:
        rows = connection.execute("SELECT id, epsilon, delta FROM draws ORDER BY id").fetchall()
        connection.execute("DELETE FROM draws")
        connection.execute("DELETE FROM resources")
    nothing = [(id_, None, None) for id_ in ("claimed", "deleted")]
    assert rows == [*nothing, ("kept", Decimal("0.1"), Decimal("1e-10")), ("open", None, None)]
    migrate(empty.owner, "0010")


def test_the_migrations_make_what_the_metadata_say(newest):
    engine = create_engine(sqlalchemy_url(newest.owner))
    with engine.connect() as connection:
        command.check(alembic_config(connection))
    engine.dispose()


def test_a_database_at_the_newest_revision_is_left_alone_without_loading_alembic(newest):
    assert head_revision() == ScriptDirectory.from_config(alembic_config()).get_current_head()
    again = f"import sys; from app.persistence.migration import migrate; migrate({newest.owner!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"{again}; print('alembic' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"


def test_a_server_that_is_still_starting_is_waited_for(monkeypatch):
    answers = iter([Ping.NO_RESPONSE, Ping.REJECT, Ping.OK])
    server = SimpleNamespace(ping=lambda address: next(answers))
    monkeypatch.setattr("app.persistence.migration.PGconn", server)
    await_server("postgresql://app_owner@127.0.0.1/privacy_risk", 60)
    assert list(answers) == []


def test_a_server_that_does_not_come_is_named():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        address = f"postgresql://app_owner:s3cret@127.0.0.1:{unused.getsockname()[1]}/privacy_risk"
        with pytest.raises(Unavailable, match=r"no connection within 0\.1 s"):
            await_server(address, 0.1)
        with pytest.raises(Unavailable, match="cannot be reached") as refused:
            migrate(address)
    assert "s3cret" not in str(refused.value)


@pytest.mark.timeout(20)
def test_a_server_that_takes_the_connection_and_says_nothing_is_not_waited_for_without_end():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://app_owner@127.0.0.1:{silent.getsockname()[1]}/privacy_risk"
        with pytest.raises(Unavailable, match=r"no connection within 0\.1 s"):
            await_server(address, 0.1)


def test_a_database_that_cannot_keep_every_text_is_refused(postgres):
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE of_bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(Unavailable, match="keeps text as SQL_ASCII") as refused:
                migrate(postgres.urls("of_bytes").admin)
        finally:
            connection.execute("DROP DATABASE of_bytes")
    assert "ENCODING 'UTF8'" in refused.value.remedy


def test_every_table_is_owned_by_the_owner_and_separated_for_it_too(database_urls):
    query = """
        SELECT c.relname, pg_get_userbyid(c.relowner), c.relrowsecurity, c.relforcerowsecurity
        FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    """
    with psycopg.connect(database_urls.admin) as connection:
        rows = {name: rest for name, *rest in connection.execute(query)}
    assert all(owner == "app_owner" for owner, *_ in rows.values())
    for table in metadata.sorted_tables:
        assert rows[table.name] == ["app_owner", True, True], table.name


def test_ciphertext_is_stored_as_it_is(database_urls):
    query = """
        SELECT attrelid::regclass::text || '.' || attname, attstorage::text FROM pg_attribute
        WHERE attrelid IN ('resources'::regclass, 'upload_pieces'::regclass, 'results'::regclass,
                           'run_blocks'::regclass, 'evidence'::regclass, 'release_pieces'::regclass)
          AND attname IN ('document', 'payload', 'envelope')
    """
    with psycopg.connect(database_urls.admin) as connection:
        storage = dict(connection.execute(query).fetchall())
    assert len(storage) == 6
    assert set(storage.values()) == {"e"}

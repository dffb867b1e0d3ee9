"""The two roles and the database, made by a superuser: idempotent, for the embedded and any other server."""

from __future__ import annotations

import psycopg
from psycopg import sql

from app.persistence.addresses import libpq_url, sqlalchemy_url

OWNER_ROLE = "app_owner"
RUNTIME_ROLE = "app_runtime"


def provision(admin_url: str, database: str, owner_password: str, runtime_password: str) -> None:
    """Create or update app_owner, app_runtime and the database that app_owner owns."""
    with psycopg.connect(libpq_url(admin_url), autocommit=True) as connection:
        ensure_role(connection, OWNER_ROLE, owner_password)
        ensure_role(connection, RUNTIME_ROLE, runtime_password)
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone()
        if found is None:
            statement = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(statement.format(sql.Identifier(database), sql.Identifier(OWNER_ROLE)))
    close_to_public(admin_url, database)


def ensure_role(connection: psycopg.Connection, role: str, password: str) -> None:
    """A login role without any privilege of the server."""
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    statement = sql.SQL(
        "{} ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD {}"
    )
    verb = sql.SQL("ALTER" if known else "CREATE")
    connection.execute(statement.format(verb, sql.Identifier(role), sql.Literal(password)))


def close_to_public(admin_url: str, database: str) -> None:
    """Take from everybody what PostgreSQL grants to everybody, then let the runtime role connect."""
    here = sqlalchemy_url(admin_url).set(database=database).render_as_string(hide_password=False)
    with psycopg.connect(libpq_url(here)) as connection:
        name, runtime = sql.Identifier(database), sql.Identifier(RUNTIME_ROLE)
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
        connection.execute(sql.SQL("REVOKE ALL ON SCHEMA public FROM PUBLIC"))
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, runtime))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(runtime))
        connection.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(sql.Identifier(OWNER_ROLE)))

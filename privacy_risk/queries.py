"""The rows of a database's query as a table of texts: whatever SQLAlchemy has a driver for.

Nothing is written to the database: statements that begin otherwise than a query are not sent, the transaction
is one for reading where the database knows such, and it is never committed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from privacy_risk.arguments import InvalidArgument
from privacy_risk.cell_texts import texts_of
from privacy_risk.sources import BATCH_ROWS, library, schema_batch

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection, CursorResult, Engine
    from sqlalchemy.engine import URL

ADDRESS_VARIABLE: Final = "PRIVACY_RISK_QUERY_ADDRESS"
_PACKAGES: Final = {
    "athena": "PyAthena[SQLAlchemy]",
    "awsathena": "PyAthena[SQLAlchemy]",
    "bigquery": "sqlalchemy-bigquery",
    "clickhouse": "clickhouse-sqlalchemy",
    "databricks": "databricks-sqlalchemy",
    "duckdb": "duckdb-engine",
    "redshift": "sqlalchemy-redshift",
    "snowflake": "snowflake-sqlalchemy",
    "teradatasql": "teradatasqlalchemy",
    "trino": "trino[sqlalchemy]",
    "MySQLdb": "mysqlclient",
    "psycopg2": "psycopg2-binary",
}
"""Dialect or module → the package that brings it, where that is called otherwise."""
_COMMENTS: Final = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*", re.DOTALL)
_QUERIES: Final = ("select", "with", "values", "table", "from")
_OF_VALUES: Final = ("DataError", "IntegrityError")
"""Errors of drivers that are about values, and may repeat them."""


def query(sql: str, address: str | None = None) -> Query:
    """The table that a query answers, for :func:`profile`, :func:`anonymise` and :func:`gate`.

    ``address`` is the database's, as SQLAlchemy writes it: ``sqlite:///members.db``,
    ``postgresql+psycopg://user:password@host/name``. Without it the environment variable
    ``PRIVACY_RISK_QUERY_ADDRESS`` has it, so that no password need stand in a program. The cells become
    texts: numbers with all their digits, dates as ``2026-01-31``, NULL as missing.

    Raises InvalidArgument if no database is named, or the statement is no query.
    """
    address = address or os.environ.get(ADDRESS_VARIABLE, "")
    if not address:
        raise InvalidArgument(
            "address",
            "Nothing says which database is asked.",
            f"Give its address, or put it into {ADDRESS_VARIABLE}.",
        )
    start = _COMMENTS.match(sql)
    word = re.match(r"\w*", sql[start.end() if start else 0 :])
    if word is None or word[0].lower() not in _QUERIES:
        raise InvalidArgument("sql", "It is not a query.", "Give one that begins with SELECT or WITH.")
    return Query(sql, address)


@dataclass(frozen=True)
class Query:
    """A query and the database that is asked; printed without the address, which may hold a password."""

    sql: str
    address: str = field(repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in the database's order, the first batch without any.

        Raises InvalidArgument if there is no driver, the database cannot be asked or refuses the query, or
        the answer is no table: without columns, with two of a name, or with cells that are no single values.
        """
        arrow = library("sql", "pyarrow")
        with (
            _connected(self.address) as connection,
            _told(connection.engine.url),
            closing(_executed(connection, self.sql)) as result,
        ):
            names = _names_of(result)
            schema = arrow.schema([(name, arrow.large_string()) for name in names])
            yield schema_batch(schema)
            while rows := _fetched(result):
                columns = [
                    arrow.array(texts_of(name, cells), arrow.large_string())
                    for name, cells in zip(names, zip(*rows, strict=True), strict=True)
                ]
                yield arrow.RecordBatch.from_arrays(columns, schema=schema)


@contextmanager
def _connected(address: str) -> Iterator[Connection]:
    """A connection that reads only; what it has begun is rolled back."""
    engine = _engine(address)
    try:
        with _told(engine.url):
            connection = engine.connect()
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            elif engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
        with connection:
            yield connection
    finally:
        engine.dispose()


def _engine(address: str) -> Engine:
    alchemy = library("address", "sqlalchemy")
    try:
        url = alchemy.make_url(address)
    except (alchemy.exc.ArgumentError, ValueError):
        # The library's message may repeat the address.
        raise InvalidArgument(
            "address",
            "It is not the address of a database.",
            "Write DIALECT+DRIVER://USER:PASSWORD@HOST/NAME, or sqlite:///FILE.",
        ) from None
    # A driver would make an empty database of a file that is not there.
    name = url.database or ":memory:"
    is_named = url.get_backend_name() in ("sqlite", "duckdb") and not name.startswith((":", "file:", "md:"))
    if is_named and not Path(name).is_file():
        raise InvalidArgument("address", f"There is no database {name}.", "Name a file that is there.")
    reading: dict[str, Any] = {"read_only": True} if url.get_backend_name() == "duckdb" else {}
    try:
        engine: Engine = alchemy.create_engine(
            url, poolclass=alchemy.NullPool, hide_parameters=True, connect_args=reading
        )
    except alchemy.exc.NoSuchModuleError:
        raise _without_driver(url, _PACKAGES.get(url.get_backend_name())) from None
    except ModuleNotFoundError as error:
        raise _without_driver(url, _PACKAGES.get(str(error.name), error.name)) from None
    except (alchemy.exc.SQLAlchemyError, TypeError, ValueError) as error:
        raise _fault("address", "The address cannot be used", url, error) from None
    if engine.dialect.is_async:
        raise InvalidArgument(
            "address",
            f"The driver of {url.drivername} is for asynchronous programs.",
            "Name another one, such as postgresql+psycopg or sqlite.",
        )
    return engine


def _without_driver(url: URL, package: str | None) -> InvalidArgument:
    wanted = f"python -m pip install '{package}'"
    if package is None:
        wanted = f"Install the package that brings SQLAlchemy the dialect {url.get_backend_name()}"
    return InvalidArgument(
        "address",
        f"No driver for {url.drivername} is installed here.",
        f"{wanted}, or name another driver: DIALECT+DRIVER://…",
    )


def _executed(connection: Connection, sql: str) -> CursorResult[Any]:
    """The answer, of which a batch of rows at a time is held here, and where it can be at the server."""
    return connection.exec_driver_sql(
        sql,
        execution_options={"stream_results": True, "yield_per": BATCH_ROWS, "no_parameters": True},
    )


def _names_of(result: CursorResult[Any]) -> list[str]:
    names = list(result.keys()) if result.returns_rows else []
    if not names:
        raise InvalidArgument("sql", "The query answers no columns.", "Give one that selects some.")
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise InvalidArgument(
            "sql", f"Several columns are called {twice[0]!r}.", "Rename them: SELECT … AS another_name."
        )
    return names


def _fetched(result: CursorResult[Any]) -> Sequence[Sequence[Any]]:
    """The next rows. Drivers repeat cells in what they say of those that they cannot read: it is not told."""
    exc = library("address", "sqlalchemy.exc")
    try:
        return result.fetchmany(BATCH_ROWS)
    except exc.DBAPIError as error:
        raise InvalidArgument(
            "sql",
            f"The database answers no more rows ({type(error.orig).__name__}).",
            "Run the query in the database's own client to see why.",
        ) from None


@contextmanager
def _told(url: URL) -> Iterator[None]:
    """What the database says of a connection or a query, without what the address has in secret."""
    exc = library("address", "sqlalchemy.exc")
    try:
        yield
    except exc.SQLAlchemyError as error:
        is_statement = bool(getattr(error, "statement", None))
        argument, fault = ("sql", "The query fails") if is_statement else ("address", "It cannot be reached")
        raise _fault(argument, fault, url, error) from None


def _fault(argument: str, fault: str, url: URL, error: Exception) -> InvalidArgument:
    """The first line of what a driver says, unless it is about values."""
    said: BaseException = getattr(error, "orig", None) or error
    kinds = {own.__name__ for own in type(said).__mro__}
    lines = str(said).strip().splitlines()
    reason = type(said).__name__
    if lines and kinds.isdisjoint(_OF_VALUES):
        reason = _without_secrets(lines[0], url)
    remedy = "Correct it." if argument == "sql" else "Look at the address, and whether the database answers."
    return InvalidArgument(argument, f"{fault}: {reason.rstrip('.')}.", remedy)


def _without_secrets(text: str, url: URL) -> str:
    secrets = [str(url.password or "")]
    secrets += [own for value in url.query.values() for own in ([value] if isinstance(value, str) else value)]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text

"""Database addresses, and the engines made from them."""

from __future__ import annotations

import select
from typing import Any

from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine


def sqlalchemy_url(url: str) -> URL:
    """The address with the one driver that is used, whatever PostgreSQL spelling it came in."""
    parsed = make_url(url)
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise ValueError("the database's address must begin with postgresql://")
    return parsed.set(drivername="postgresql+psycopg")


def libpq_url(url: str) -> str:
    """The address as libpq reads it: for psycopg itself, the queue and the client programs."""
    return sqlalchemy_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def create_engine(url: str, *, connections: int = 20) -> AsyncEngine:
    """An engine for the runtime role with so many connections at most; who finds none free waits for one.

    A dead connection is noticed before it is used. All that were made are kept: under load, to end one that
    is over a smaller number and to make it anew for the next request costs the server more than the requests.
    """
    engine = create_async_engine(
        sqlalchemy_url(url),
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_ended)
    return engine


def _refuse_ended(connection: Any, record: object, proxy: object) -> None:  # noqa: ANN401 - the pool's own
    """Have the pool connect anew if the server has ended the connection while nobody used it.

    Nothing is due to arrive then but the end itself, or the message that it comes: to look whether there is
    something to read says what an empty statement would, without going to the server and back.
    """
    driver = connection.driver_connection
    if driver.closed:
        raise InvalidatePoolError
    waiting = select.poll()
    waiting.register(driver.fileno(), select.POLLIN)
    if waiting.poll(0):
        raise InvalidatePoolError

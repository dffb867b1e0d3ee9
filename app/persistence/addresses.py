"""Database addresses, and the engines made from them."""

from __future__ import annotations

from sqlalchemy import URL, make_url
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


def create_engine(url: str, *, pool_size: int = 10) -> AsyncEngine:
    """An engine for the runtime role; a dead connection is noticed before it is used."""
    return create_async_engine(
        sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        hide_parameters=True,
    )

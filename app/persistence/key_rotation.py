"""Replacing the master key: all that it wraps is unwrapped with the old one and wrapped with the new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, Table, create_engine, select, text, update

from app.domain.errors import Unavailable
from app.persistence.addresses import sqlalchemy_url
from app.persistence.encryption import KeyKind, MasterKey
from app.persistence.tables import data_keys, signing_keys

WRAPPED: Final[Mapping[KeyKind, Table]] = {"data_key": data_keys, "signing_key": signing_keys}
"""Where the keys are that the master key wraps, each row with that one's id as ``master_key_id``."""


def rotate_master_key(owner_url: str, old: MasterKey, new: MasterKey) -> int:
    """Rewrap all data and signing keys in one transaction; how many there were. Again after success: none.

    The service must be stopped meanwhile: a process that holds the old key cannot make new keys that the
    new one unwraps.
    """
    engine = create_engine(sqlalchemy_url(owner_url))
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('app.maintenance', 'on', true)"))
            return sum(_rewrap(connection, kind, table, old, new) for kind, table in WRAPPED.items())
    finally:
        engine.dispose()


def _rewrap(connection: Connection, kind: KeyKind, table: Table, old: MasterKey, new: MasterKey) -> int:
    connection.execute(text(f"LOCK TABLE {table.name} IN EXCLUSIVE MODE"))
    keys = table.c
    rows = connection.execute(select(table).where(keys.master_key_id != new.id)).all()
    for row in rows:
        if row.master_key_id != old.id:
            raise Unavailable(
                f"A {kind.replace('_', ' ')} is wrapped by the master key {row.master_key_id}, "
                f"neither the old one ({old.id}) nor the new one ({new.id}).",
                "Give the master key that the data were written with.",
            )
        key = old.unwrap(row.wrapped_key, row.tenant_id, row.id, kind)
        connection.execute(
            update(table)
            .where(keys.tenant_id == row.tenant_id, keys.id == row.id)
            .values(wrapped_key=new.wrap(key, row.tenant_id, row.id, kind), master_key_id=new.id)
        )
    return len(rows)


def master_keys_in_use(owner_url: str) -> set[str]:
    """The ids of the master keys that keys are wrapped by."""
    engine = create_engine(sqlalchemy_url(owner_url))
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('app.maintenance', 'on', true)"))
            used = (select(table.c.master_key_id) for table in WRAPPED.values())
            return {key_id for query in used for key_id in connection.execute(query).scalars()}
    finally:
        engine.dispose()

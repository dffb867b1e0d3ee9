"""Replacing the master key: every data key is unwrapped with the old one and wrapped with the new."""

from __future__ import annotations

from sqlalchemy import create_engine, select, text, update

from app.domain.errors import Unavailable
from app.persistence.addresses import sqlalchemy_url
from app.persistence.encryption import MasterKey
from app.persistence.tables import data_keys


def rotate_master_key(owner_url: str, old: MasterKey, new: MasterKey) -> int:
    """Rewrap all data keys in one transaction; how many there were. Again after success: none.

    The service must be stopped meanwhile: a process that holds the old key cannot make new data keys
    that the new one unwraps.
    """
    engine = create_engine(sqlalchemy_url(owner_url))
    rewrapped = 0
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('app.maintenance', 'on', true)"))
            connection.execute(text("LOCK TABLE data_keys IN EXCLUSIVE MODE"))
            keys = data_keys.c
            for row in connection.execute(select(data_keys).where(keys.master_key_id != new.id)).all():
                if row.master_key_id != old.id:
                    raise Unavailable(
                        f"A data key is wrapped by the master key {row.master_key_id}, "
                        f"neither the old one ({old.id}) nor the new one ({new.id}).",
                        "Give the master key that the data were written with.",
                    )
                data_key = old.unwrap(row.wrapped_key, row.tenant_id, row.id)
                connection.execute(
                    update(data_keys)
                    .where(keys.tenant_id == row.tenant_id, keys.id == row.id)
                    .values(wrapped_key=new.wrap(data_key, row.tenant_id, row.id), master_key_id=new.id)
                )
                rewrapped += 1
    finally:
        engine.dispose()
    return rewrapped


def master_keys_in_use(owner_url: str) -> set[str]:
    """The ids of the master keys that data keys are wrapped by."""
    engine = create_engine(sqlalchemy_url(owner_url))
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('app.maintenance', 'on', true)"))
            return set(connection.execute(select(data_keys.c.master_key_id).distinct()).scalars())
    finally:
        engine.dispose()

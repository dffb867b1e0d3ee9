"""Where the settings say that the data are, and the key that opens them."""

from __future__ import annotations

from typing import Final

from app.composition.database import Database
from app.domain.errors import Unavailable
from app.persistence.encryption import MasterKey
from app.services.access.tenant_settings import SETTINGS, TenantSettings
from app.settings import Settings

MIB: Final = 1024**2


def configured_database(settings: Settings) -> Database:
    """The configured database; Unavailable says which setting is missing."""
    if settings.database_url is None:
        raise Unavailable(
            "DATABASE_URL is not set.", "Set it, or use serve, which brings a database of its own."
        )
    key = configured_master_key(settings)
    if key is None:
        raise Unavailable(
            "There is no master key: PRIVACY_RISK_MASTER_KEY and PRIVACY_RISK_MASTER_KEY_FILE are not set.",
            "Make one with `openssl rand -base64 32` and keep a copy: losing it loses the data.",
        )
    return Database(settings.database_url.get_secret_value(), key, settings.table_cache_mib * MIB)


def tenant_defaults(settings: Settings) -> TenantSettings:
    """What holds for tenants without settings of their own."""
    return TenantSettings(**{name: getattr(settings, f"tenant_{name}") for name in SETTINGS})


def configured_master_key(settings: Settings) -> MasterKey | None:
    """The configured master key, None without one."""
    if settings.master_key is not None:
        return MasterKey.from_text(settings.master_key.get_secret_value())
    if settings.master_key_file is not None:
        return MasterKey.from_text(settings.master_key_file.read_text())
    return None


def owner_url(settings: Settings) -> str:
    """The database's address for the role that owns the tables; Unavailable without one."""
    if settings.owner_database_url is None:
        raise Unavailable(
            "PRIVACY_RISK_OWNER_DATABASE_URL is not set.",
            "Set it to the database's address for the role that owns the tables.",
        )
    return settings.owner_database_url.get_secret_value()

"""Every setting of the service, read from the environment by ``main`` alone and passed on as values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, HttpUrl, IPvAnyNetwork, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def default_home() -> Path:
    """Where an embedded service keeps its files: /var/lib for root, the user's data folder otherwise."""
    if os.geteuid() == 0:
        return Path("/var/lib/privacy-risk")
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "privacy-risk"


_OrUnlimited = BeforeValidator(lambda value: None if value == "unlimited" else value)

Days = Annotated[Annotated[int, Field(ge=1, le=36_500)] | None, _OrUnlimited]
"""Days, or None for ever."""

Quota = Annotated[Annotated[int, Field(ge=1, le=10**15)] | None, _OrUnlimited]
"""A whole number, or None without a limit."""


Networks = Annotated[
    tuple[IPvAnyNetwork, ...],
    NoDecode,
    BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
]
"""Networks, separated by commas; an address is a network of one."""


class Settings(BaseSettings):
    """Settings come from variables named ``PRIVACY_RISK_…``, the database's address from ``DATABASE_URL``."""

    model_config = SettingsConfigDict(env_prefix="PRIVACY_RISK_", extra="ignore", frozen=True)

    database_url: Annotated[
        SecretStr | None,
        Field(
            validation_alias="DATABASE_URL",
            description="Address of PostgreSQL for the role app_runtime, which may own nothing. "
            "Unset: an embedded PostgreSQL is started in the home folder.",
        ),
    ] = None
    owner_database_url: Annotated[
        SecretStr | None,
        Field(
            description="The same database for the role that owns the tables; for migrate and rotate-keys."
        ),
    ] = None
    home: Annotated[
        Path,
        Field(
            default_factory=default_home, description="Folder of the embedded database, its keys and logs."
        ),
    ]
    master_key: Annotated[
        SecretStr | None,
        Field(description="Base64 of the 32 bytes that wrap all data keys. Losing it loses the data."),
    ] = None
    master_key_file: Annotated[Path | None, Field(description="File that holds the master key.")] = None
    previous_master_key_file: Annotated[
        Path | None, Field(description="File with the master key that rotate-keys replaces.")
    ] = None

    host: Annotated[str, Field(description="Address that the API listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port of the API; 0 takes a free one.")] = 8000
    public_url: Annotated[
        HttpUrl | None,
        Field(
            description="Address that browsers use, such as `https://risk.example.org`. With https the "
            "cookies of the pages are `Secure`, whatever a proxy says or does not say."
        ),
    ] = None
    trusted_proxies: Annotated[
        Networks,
        Field(
            description="Addresses or networks of the proxies whose `X-Forwarded-For` and "
            "`X-Forwarded-Proto` are believed, by commas. Unset: those of this machine, `127.0.0.1` and "
            "`::1`."
        ),
    ] = ()
    metrics_host: Annotated[str, Field(description="Address that the metrics are served on.")] = "127.0.0.1"
    metrics_port: Annotated[
        int | None, Field(ge=0, le=65535, description="Port of the metrics; unset: no metrics.")
    ] = None
    log_level: Annotated[
        str, Field(pattern="^(debug|info|warning|error)$", description="Least level logged.")
    ] = "info"

    direct_seconds: Annotated[
        float, Field(gt=0, le=30, description="Work estimated above this must be done as a run.")
    ] = 0.5
    direct_mib: Annotated[
        int, Field(ge=16, description="Memory of a piece of work above which it must be done as a run.")
    ] = 256
    table_cache_mib: Annotated[
        int, Field(ge=0, description="Memory of the encoded tables that a process keeps, in MiB.")
    ] = 512

    upload_max_bytes: Annotated[
        int, Field(ge=1024, description="Largest upload, decompressed, in bytes.")
    ] = 4 * 1024**3
    upload_max_rows: Annotated[int, Field(ge=1, description="Most rows of an upload.")] = 50_000_000
    upload_max_columns: Annotated[int, Field(ge=1, description="Most columns of an upload.")] = 500
    upload_max_cell_bytes: Annotated[
        int,
        Field(
            ge=1,
            validation_alias=AliasChoices(
                "PRIVACY_RISK_UPLOAD_MAX_CELL_BYTES",
                "PRIVACY_RISK_UPLOAD_MAX_CELL",  # what it was called while it said characters
            ),
            description="Longest cell of an upload, in bytes of UTF-8.",
        ),
    ] = 10_000
    upload_processor_seconds: Annotated[
        float, Field(gt=0, description="Processor time that any upload may cost, in seconds.")
    ] = 4.0
    upload_processor_seconds_per_mib: Annotated[
        float, Field(gt=0, description="Processor time that an upload may cost besides, per MiB received.")
    ] = 1.0
    uploads_at_once: Annotated[
        int, Field(ge=1, description="Uploads of one tenant that an API process reads at once.")
    ] = 4
    direct_at_once: Annotated[
        int, Field(ge=1, description="Direct answers that an API process computes at once for one tenant.")
    ] = 8

    tenant_results_days: Annotated[
        Days, Field(description="Days that results of runs are kept, or `unlimited`.")
    ] = 365
    tenant_runs_days: Annotated[
        Days,
        Field(
            description="Days that runs without a result are kept after their end. Unset: as long as what "
            "they worked on."
        ),
    ] = None
    tenant_unused_uploads_days: Annotated[
        Days, Field(description="Days that uploads are kept unused, or `unlimited`.")
    ] = 30
    tenant_uploads: Annotated[Quota, Field(description="Most uploads of a tenant, or `unlimited`.")] = 1000
    tenant_datasets: Annotated[Quota, Field(description="Most datasets of a tenant, or `unlimited`.")] = 1000
    tenant_stored_bytes: Annotated[
        Quota,
        Field(description="Most bytes of a tenant's uploads, compressed and encrypted, or `unlimited`."),
    ] = 100 * 1024**3
    tenant_active_runs: Annotated[
        Quota, Field(description="Most queued and running runs of a tenant, or `unlimited`.")
    ] = 100

    webhook_networks: Annotated[
        Networks,
        Field(
            description="Networks beside the public ones that webhooks may be sent to, by commas: 10.0.0.0/8."
        ),
    ] = ()
    worker_concurrency: Annotated[
        int, Field(ge=1, le=64, description="Runs that a worker executes at once.")
    ] = 1
    run_memory_mib: Annotated[
        int, Field(ge=512, description="Resident memory of a run's process, in MiB.")
    ] = 8192
    run_seconds: Annotated[
        int, Field(ge=1, description="Longest wall-clock time of one attempt of a run.")
    ] = 6 * 3600

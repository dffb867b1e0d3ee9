"""Every setting of the service, read from the environment by ``main`` alone and passed on as values."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    IPvAnyNetwork,
    Json,
    SecretStr,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.home import default_home

MOST_PROCESSES: Final = 16
"""Most processes that answer requests of one service: an embedded database has connections for so many."""


_OrUnlimited = BeforeValidator(lambda value: None if value == "unlimited" else value)

Days = Annotated[Annotated[int, Field(ge=1, le=36_500)] | None, _OrUnlimited]
"""Days, or None for ever."""

Quota = Annotated[Annotated[int, Field(ge=1, le=10**15)] | None, _OrUnlimited]
"""A whole number, or None without a limit."""


_ByCommas = BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value)

Networks = Annotated[tuple[IPvAnyNetwork, ...], NoDecode, _ByCommas]
"""Networks, separated by commas; an address is a network of one."""

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]  # fmt: skip
"""Signatures that may be allowed: whoever can check one of these cannot make one."""


class MappedGroup(BaseModel):
    """What the members of a group of the identity provider may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tenant: str | None = None
    scopes: frozenset[Literal["data:read", "data:write", "assess", "govern", "admin", "operator"]]


def _named_once(value: object) -> object:
    """Refuse JSON whose objects have a name twice, of which the last would count; what is no JSON is left."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"names {min(twice)!r} twice")
        return dict(pairs)

    if isinstance(value, str):
        with suppress(json.JSONDecodeError):
            json.loads(value, object_pairs_hook=once)
    return value


class Settings(BaseSettings):
    """Settings come from variables named ``PRIVACY_RISK_…``, the database's address from ``DATABASE_URL``."""

    model_config = SettingsConfigDict(
        env_prefix="PRIVACY_RISK_", extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    database_url: Annotated[
        SecretStr | None,
        Field(
            validation_alias="DATABASE_URL",
            description="Address of PostgreSQL for the role app_runtime, which may own nothing. "
            "Unset: an embedded PostgreSQL is started in the home folder.",
        ),
    ] = None
    owner_database_url: SecretStr | None = None
    """The same database for the role that owns the tables; for migrate and rotate-keys."""
    home: Path = Field(default_factory=default_home)
    """Folder of the embedded database, its keys and logs."""
    master_key: SecretStr | None = None
    """Base64 of the 32 bytes that wrap all data keys. Losing it loses the data."""
    master_key_file: Path | None = None
    """File that holds the master key."""
    previous_master_key_file: Path | None = None
    """File with the master key that rotate-keys replaces."""

    host: str = "127.0.0.1"
    """Address that the API listens on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port of the API; 0 takes a free one."""
    processes: Annotated[int, Field(ge=0, le=MOST_PROCESSES)] = 1
    """Processes that answer requests; 0 takes one per core. Caches and places are each one's own."""
    public_url: HttpUrl | None = Field(
        None,
        description="Address that browsers use, such as `https://risk.example.org`. With https the "
        "cookies of the pages are `Secure`, whatever a proxy says or does not say.",
    )
    trusted_proxies: Networks = Field(
        (),
        description="Addresses or networks of the proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` "
        "are believed, by commas. Unset: those of this machine, `127.0.0.1` and `::1`.",
    )
    requests_per_minute: Annotated[int, Field(ge=1, le=10**6)] | None = None
    """Most requests of one key, or one person, in a minute, all processes together; unset: any number."""
    metrics_host: str = "127.0.0.1"
    """Address that the metrics are served on."""
    metrics_port: Annotated[int | None, Field(ge=0, le=65535)] = None
    """Port of the metrics; unset: no metrics."""
    log_level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = "info"
    """Least level logged."""

    oidc_issuer: Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=300)] | None = None
    """Issuer of the identity provider, exactly as its tokens name it; unset: API keys alone are taken."""
    oidc_audience: str | None = None
    """Audience (`aud`) of tokens that are sent with requests; unset: none are taken there."""
    oidc_algorithms: Annotated[tuple[Algorithm, ...], NoDecode, _ByCommas] = Field(
        "RS256,ES256",
        min_length=1,
        validate_default=True,
        description="Signatures of tokens that are accepted, by commas: RS, PS or ES with 256, 384 or 512, "
        "and EdDSA.",
    )
    oidc_groups_claim: str = "groups"
    """Claim that holds the groups of a user: a text or a list of texts."""
    oidc_tenant_claim: str | None = None
    """Claim that names the tenant of a user; unset: the mapping of groups does."""
    oidc_groups: Annotated[Json[dict[str, MappedGroup]] | None, NoDecode, BeforeValidator(_named_once)] = (
        Field(
            None,
            description="What each group may do, as JSON: "
            '`{"analysts": {"tenant": "acme", "scopes": ["data:read", "assess"]}}`.',
        )
    )
    oidc_client_id: str | None = None
    """Name of this service at the identity provider, to sign in to the pages; unset: by API keys alone."""
    oidc_client_secret: SecretStr | None = None
    """Its secret, if it has one."""
    oidc_scope: Annotated[str, Field(pattern=r"^(.* )?openid( .*)?$")] = "openid profile"
    """What the pages ask the identity provider for, by blanks."""

    direct_seconds: Annotated[float, Field(gt=0, le=30)] = 0.5
    """Work estimated above this must be done as a run."""
    direct_mib: Annotated[int, Field(ge=16)] = 256
    """Memory of a piece of work above which it must be done as a run."""
    table_cache_mib: Annotated[int, Field(ge=0)] = 512
    """Memory of the encoded tables that a process keeps, in MiB."""

    upload_max_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024**3
    """Largest upload, decompressed, in bytes."""
    upload_max_rows: Annotated[int, Field(ge=1)] = 50_000_000
    """Most rows of an upload."""
    upload_max_columns: Annotated[int, Field(ge=1)] = 500
    """Most columns of an upload."""
    upload_max_cell_bytes: Annotated[
        int,
        Field(
            ge=1,
            validation_alias=AliasChoices(
                "PRIVACY_RISK_UPLOAD_MAX_CELL_BYTES",
                "PRIVACY_RISK_UPLOAD_MAX_CELL",  # what it was called while it said characters
            ),
        ),
    ] = 10_000
    """Longest cell of an upload, in bytes of UTF-8."""
    upload_processor_seconds: Annotated[float, Field(gt=0)] = 4.0
    """Processor time that any upload may cost, in seconds."""
    upload_processor_seconds_per_mib: Annotated[float, Field(gt=0)] = 1.0
    """Processor time that an upload may cost besides, per MiB received."""
    uploads_at_once: Annotated[int, Field(ge=1)] = 4
    """Uploads of one tenant that an API process reads at once."""
    direct_at_once: Annotated[int, Field(ge=1)] = 8
    """Direct answers that an API process computes at once for one tenant."""

    tenant_results_days: Days = 365
    """Days that results of runs are kept, or `unlimited`."""
    tenant_runs_days: Days = None
    """Days that runs without a result are kept after their end. Unset: as long as what they worked on."""
    tenant_unused_uploads_days: Days = 30
    """Days that uploads are kept unused, or `unlimited`."""
    tenant_uploads: Quota = 1000
    """Most uploads of a tenant, or `unlimited`."""
    tenant_datasets: Quota = 1000
    """Most datasets of a tenant, or `unlimited`."""
    tenant_stored_bytes: Quota = 100 * 1024**3
    """Most bytes of a tenant's uploads, compressed and encrypted, or `unlimited`."""
    tenant_active_runs: Quota = 100
    """Most queued and running runs of a tenant, or `unlimited`."""

    webhook_networks: Networks = ()
    """Networks beside the public ones that webhooks may be sent to, by commas: 10.0.0.0/8."""
    worker_concurrency: Annotated[int, Field(ge=1, le=64)] = 1
    """Runs that a worker executes at once."""
    run_memory_mib: Annotated[int, Field(ge=512)] = 8192
    """Resident memory of a run's process, in MiB; tables of more, at 8 bytes a cell, are refused."""
    run_seconds: Annotated[int, Field(ge=1)] = 6 * 3600
    """Longest wall-clock time of one attempt of a run."""
    cluster: Annotated[str, Field(pattern=r"^(tls|tcp)://[^/@\s]+:[0-9]{1,5}$")] | None = Field(
        None,
        description="Address of the scheduler of a Dask cluster that computes blocks of runs: "
        "`tls://scheduler:8786`, on this machine also `tcp://127.0.0.1:8786`. Unset: workers compute all.",
    )
    cluster_falls_back: bool = False
    """Whether a run goes on without the cluster while that is away, instead of waiting for it."""

    @model_validator(mode="after")
    def _cluster_is_usable(self) -> Self:
        """Refuse a cluster that personal data would travel to in clear, or that nothing here can talk to."""
        if self.cluster is None:
            return self
        host = self.cluster.partition("://")[2].rpartition(":")[0]
        if self.cluster.startswith("tcp://") and host not in ("127.0.0.1", "localhost", "[::1]"):
            raise ValueError("PRIVACY_RISK_CLUSTER must be an address with tls: personal data travel")
        if find_spec("distributed") is None:
            raise ValueError("PRIVACY_RISK_CLUSTER needs Dask: pip install 'privacy-risk[cluster]'")
        return self

    @model_validator(mode="after")
    def _identity_provider_is_whole(self) -> Self:
        """Refuse at the start what would refuse everybody later, or let in whom nobody meant."""
        issuer = self.oidc_issuer
        if issuer is None:
            return self
        host = HttpUrl(issuer).host
        if not issuer.startswith("https://") and host not in ("127.0.0.1", "localhost", "[::1]"):
            raise ValueError("PRIVACY_RISK_OIDC_ISSUER must be an address with https")
        if self.oidc_audience is None and self.oidc_client_id is None:
            raise ValueError("with PRIVACY_RISK_OIDC_ISSUER goes PRIVACY_RISK_OIDC_AUDIENCE or …_CLIENT_ID")
        if self.oidc_client_id is not None and self.public_url is None:
            raise ValueError("with PRIVACY_RISK_OIDC_CLIENT_ID goes PRIVACY_RISK_PUBLIC_URL")
        if not self.oidc_groups:
            raise ValueError("with PRIVACY_RISK_OIDC_ISSUER goes PRIVACY_RISK_OIDC_GROUPS")
        homeless = sorted(name for name, own in self.oidc_groups.items() if own.tenant is None)
        if homeless and self.oidc_tenant_claim is None:
            raise ValueError(
                f"PRIVACY_RISK_OIDC_GROUPS names no tenant for {', '.join(homeless)}, and there is no "
                "PRIVACY_RISK_OIDC_TENANT_CLAIM"
            )
        return self

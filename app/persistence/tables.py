"""The tables, as SQLAlchemy metadata with a fixed naming convention.

Every tenant table has ``tenant_id`` and is separated by row-level security (see the migrations).
Keys are (tenant_id, id), so that no foreign key can point into another tenant. ``serial`` gives lists
an order that does not depend on clocks. Payloads are ciphertext (``encryption.py``); summaries, names
and audit details hold no cell values.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB
from sqlalchemy.schema import SchemaItem

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMING)


def _tenant_table(name: str, *parts: SchemaItem, key: tuple[str, ...] = ("tenant_id", "id")) -> Table:
    tenant = Column("tenant_id", Uuid(as_uuid=False), ForeignKey("tenants.id"), nullable=False)
    return Table(name, metadata, tenant, *parts, PrimaryKeyConstraint(*key))


def _belongs(column: str, table: str, *, ondelete: str = "CASCADE") -> ForeignKeyConstraint:
    """What the row goes with: a row of the same tenant."""
    columns = [f"{table}.tenant_id", f"{table}.id"]
    return ForeignKeyConstraint(["tenant_id", column], columns, ondelete=ondelete)


def _id(name: str = "id") -> Column[str]:
    return Column(name, String(64), nullable=False)


def _serial() -> Column[int]:
    return Column("serial", BigInteger, Identity(always=True), nullable=False)


def _sealed_by() -> Column[str]:
    comment = "the upload whose key it is encrypted under; null: the tenant's documents key"
    return Column("sealed_by", String(64), nullable=True, comment=comment)


def _time(name: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def _database_time(name: str) -> Column[object]:
    """A sign of life, or how long one holds, by the database's own clock, the only one that all share."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


tenants = Table(
    "tenants",
    metadata,
    Column("id", Uuid(as_uuid=False), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    _time("created_at"),
    Column(
        "settings",
        JSONB,
        nullable=False,
        server_default=text("'{}'"),
        comment="those that are not the service's defaults",
    ),
)

api_keys = _tenant_table(
    "api_keys",
    _id(),
    _serial(),
    Column("name", Text, nullable=False),
    Column("prefix", String(64), nullable=False, unique=True),
    Column("secret_sha256", LargeBinary, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    _time("created_at"),
    _time("expires_at", nullable=True),
    _time("last_used_at", nullable=True),
    _time("revoked_at", nullable=True),
    UniqueConstraint("id"),
    Index(
        "ix_api_keys_tenant_id_name", "tenant_id", "name", unique=True,
        postgresql_where=text("revoked_at IS NULL"),
    ),
)  # fmt: skip

data_keys = _tenant_table(
    "data_keys",
    _id(),
    Column("purpose", Text, nullable=False),
    Column("wrapped_key", LargeBinary, nullable=False),
    Column("master_key_id", String(32), nullable=False),
    _database_time("touched_at"),
    CheckConstraint("purpose IN ('documents', 'upload', 'release')", name="purpose"),
    Index("ix_data_keys_touched_at", "touched_at", postgresql_where=text("purpose = 'upload'")),
)

resources = _tenant_table(
    "resources",
    _id(),
    _serial(),
    Column("kind", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("summary", JSONB, nullable=False),
    Column("document", LargeBinary, nullable=False),
    _time("created_at"),
    _sealed_by(),
    UniqueConstraint("tenant_id", "kind", "name"),
    Index("ix_resources_tenant_id_kind_serial", "tenant_id", "kind", "serial"),
    Index("ix_resources_tenant_id_kind_created_at", "tenant_id", "kind", "created_at"),
    Index("ix_resources_tenant_id_sha256", "tenant_id", "sha256"),
)

resource_uses = _tenant_table(
    "resource_uses",
    _id("user_id"),
    Column("position", Integer, nullable=False),
    _id("used_id"),
    _belongs("user_id", "resources"),
    _belongs("used_id", "resources", ondelete="RESTRICT"),
    Index("ix_resource_uses_tenant_id_used_id", "tenant_id", "used_id"),
    key=("tenant_id", "user_id", "position"),
)

upload_pieces = _tenant_table(
    "upload_pieces",
    _id("upload_id"),
    Column("number", Integer, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False, comment="of the ciphertext"),
    Column("payload", LargeBinary, nullable=False),
    _belongs("upload_id", "data_keys"),
    key=("tenant_id", "upload_id", "number"),
)

# What was drawn of may be gone: a draw stays counted, and is known by hashes alone.
draws = _tenant_table(
    "draws",
    Column("id", String(64), nullable=False, comment="the release's"),
    _serial(),
    Column("subject_sha256", String(64), nullable=False, comment="what was drawn of"),
    Column("question_sha256", String(64), nullable=False),
    _id("dataset_id"),
    Column("sealed", LargeBinary, nullable=True, comment="null once the bytes are stored"),
    _time("begun_at"),
    _time("withdrawn_at", nullable=True),
    Column("epsilon", Numeric, nullable=True),
    Column("delta", Numeric, nullable=True),
    Column("given_up_at", DateTime(timezone=True), nullable=True, comment="its dataset was erased first"),
    Column("least_records", BigInteger, nullable=True),
    Column(
        "beside",
        ARRAY(String(64)),
        nullable=False,
        server_default="{}",
        comment="subjects of other contents that count with it",
    ),
    Column(
        "is_compared",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="with all that was given out before",
    ),
    Index("ix_draws_tenant_id_subject_sha256_serial", "tenant_id", "subject_sha256", "serial"),
    Index(
        "ix_draws_tenant_id_dataset_id",
        "tenant_id",
        "dataset_id",
        postgresql_where=text("sealed IS NOT NULL"),
    ),
)

# It is for a table by the hash that draws of it are counted by, and outlives all that is stored of it.
budgets = _tenant_table(
    "budgets",
    _id(),
    _serial(),
    Column("name", Text, nullable=False),
    Column("subject_sha256", String(64), nullable=False, comment="as in draws"),
    Column("epsilon", Numeric, nullable=False),
    Column("delta", Numeric, nullable=False),
    _time("created_at"),
    _time("changed_at"),
    UniqueConstraint("tenant_id", "name"),
    UniqueConstraint("tenant_id", "subject_sha256"),
)

# Which contents are the same table outlives them, as budgets do.
read_contents = _tenant_table(
    "read_contents",
    Column("content_sha256", String(64), nullable=False),
    Column("table_sha256", String(64), nullable=False, comment="of its cells"),
    Column(
        "is_keyed",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="whether table_sha256 is by the tenant's key",
    ),
    Column(
        "is_nameless",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="whether table_sha256 leaves out the names of columns",
    ),
    key=("tenant_id", "content_sha256", "table_sha256"),
)

release_pieces = _tenant_table(
    "release_pieces",
    _id("release_id"),
    Column("number", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    _belongs("release_id", "data_keys"),
    key=("tenant_id", "release_id", "number"),
)

results = _tenant_table(
    "results",
    _id(),
    Column("kind", String(64), nullable=False),
    # Null: a result that answers its own run alone.
    Column("input_sha256", String(64), nullable=True),
    Column("document", LargeBinary, nullable=False),
    _time("created_at"),
    _sealed_by(),
    UniqueConstraint("tenant_id", "input_sha256", "kind"),
    # Whatever was being kept while its key was destroyed goes, too: it would stand in the way of equal data.
    _belongs("sealed_by", "data_keys"),
    Index("ix_results_tenant_id_sealed_by", "tenant_id", "sealed_by"),
)

runs = _tenant_table(
    "runs",
    _id(),
    _serial(),
    _id("resource_id"),
    Column("state", String(16), nullable=False),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("losses", Integer, nullable=False, server_default=text("0")),
    Column("input_sha256", String(64), nullable=False),
    Column("estimate", JSONB, nullable=False),
    Column("progress", JSONB, nullable=True),
    Column("cancel_requested", Boolean, nullable=False, server_default=text("false")),
    Column("stop_requested", Boolean, nullable=False, server_default=text("false")),
    Column("error", JSONB, nullable=True),
    Column("result_id", String(64), nullable=True),
    Column("worker", Text, nullable=True),
    Column("last_event", Integer, nullable=False, server_default=text("0")),
    _time("created_at"),
    _time("started_at", nullable=True),
    _time("finished_at", nullable=True),
    _database_time("alive_at"),
    UniqueConstraint("id"),
    _belongs("resource_id", "resources"),
    ForeignKeyConstraint(["tenant_id", "result_id"], ["results.tenant_id", "results.id"]),
    CheckConstraint(
        "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')", name="state"
    ),
    Index("ix_runs_tenant_id_serial", "tenant_id", "serial"),
    Index("ix_runs_tenant_id_created_at", "tenant_id", "created_at"),
    Index("ix_runs_tenant_id_started_at", "tenant_id", "started_at"),
    Index("ix_runs_tenant_id_state_finished_at", "tenant_id", "state", "finished_at"),
    Index("ix_runs_tenant_id_resource_id_serial", "tenant_id", "resource_id", "serial"),
    Index("ix_runs_tenant_id_result_id", "tenant_id", "result_id"),
    Index("ix_runs_alive_at", "alive_at", postgresql_where=text("state IN ('queued', 'running')")),
)

run_events = _tenant_table(
    "run_events",
    _id("run_id"),
    Column("number", Integer, nullable=False),
    Column("type", String(32), nullable=False),
    Column("data", JSONB, nullable=False),
    _time("at"),
    _belongs("run_id", "runs"),
    key=("tenant_id", "run_id", "number"),
)

run_blocks = _tenant_table(
    "run_blocks",
    _id("run_id"),
    Column("number", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    _sealed_by(),
    _belongs("run_id", "runs"),
    key=("tenant_id", "run_id", "number"),
)

idempotency_keys = _tenant_table(
    "idempotency_keys",
    Column("route", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("reply", LargeBinary, nullable=True),
    _time("created_at"),
    Column("owner", String(32), nullable=False, server_default=text("''"), comment="one request, fencing"),
    _database_time("lease_until"),
    Index("ix_idempotency_keys_tenant_id_created_at", "tenant_id", "created_at"),
    Index(
        "ix_idempotency_keys_tenant_id_lease_until",
        "tenant_id",
        "lease_until",
        postgresql_where=text("reply IS NULL"),
    ),
    key=("tenant_id", "route", "key"),
)

page_sessions = _tenant_table(
    "page_sessions",
    Column("id", LargeBinary, nullable=False, comment="sha256 of what the cookie holds"),
    _time("ends_at"),
    Index("ix_page_sessions_ends_at", "ends_at"),
    key=("id",),
)

request_counts = _tenant_table(
    "request_counts",
    Column("id", LargeBinary, nullable=False, comment="sha256 of the caller"),
    Column("used", Integer, nullable=False),
    _time("ends_at"),
    Index("ix_request_counts_ends_at", "ends_at"),
)

audit_events = _tenant_table(
    "audit_events",
    Column("number", BigInteger, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("details", JSON, nullable=False, comment="as written, for it is hashed"),
    _time("at"),
    Column("previous_sha256", LargeBinary, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Index("ix_audit_events_tenant_id_at", "tenant_id", "at"),
    key=("tenant_id", "number"),
)

# Written with each event, so that a chain which ends too early is found.
audit_heads = _tenant_table(
    "audit_heads",
    Column("number", BigInteger, nullable=False, comment="of the last audit event"),
    Column("sha256", LargeBinary, nullable=False),
    key=("tenant_id",),
)

signing_keys = _tenant_table(
    "signing_keys",
    Column("id", String(64), nullable=False, comment="sha256 of the public key"),
    _serial(),
    Column("public_key", LargeBinary, nullable=False),
    Column("wrapped_key", LargeBinary, nullable=False),
    Column("master_key_id", String(32), nullable=False),
    _time("valid_from"),
    _time("valid_until", nullable=True),
    # A tenant signs with one key at a time.
    Index(
        "uq_signing_keys_tenant_id", "tenant_id", unique=True, postgresql_where=text("valid_until IS NULL")
    ),
)

# What it is about may be gone: the ids of resources are kept without pointing to them.
evidence = _tenant_table(
    "evidence",
    _id(),
    _serial(),
    Column("report", String(32), nullable=False),
    _id("resource_id"),
    Column("resource_name", Text, nullable=False),
    Column("resource_sha256", String(64), nullable=False),
    _id("key_id"),
    Column("sha256", String(64), nullable=False, comment="of the envelope's bytes"),
    Column("envelope", LargeBinary, nullable=False),
    _time("issued_at"),
    UniqueConstraint("tenant_id", "resource_id"),
    ForeignKeyConstraint(["tenant_id", "key_id"], ["signing_keys.tenant_id", "signing_keys.id"]),
    CheckConstraint("report IN ('verdict', 'assessment')", name="report"),
    Index("ix_evidence_tenant_id_serial", "tenant_id", "serial"),
    Index("ix_evidence_tenant_id_issued_at", "tenant_id", "issued_at"),
    Index("ix_evidence_tenant_id_resource_name_serial", "tenant_id", "resource_name", "serial"),
    Index("ix_evidence_tenant_id_key_id_issued_at", "tenant_id", "key_id", "issued_at"),
    Index("ix_evidence_tenant_id_sha256", "tenant_id", "sha256"),
)

# Both outlive the policies and evaluations that they are about.
policy_names = _tenant_table(
    "policy_names",
    Column("name", Text, nullable=False, comment="NAME@VERSION"),
    Column("sha256", String(64), nullable=False),
    key=("tenant_id", "name"),
)

revocations = _tenant_table(
    "revocations",
    Column("id", String(64), nullable=False, comment="the evaluation's"),
    Column("judged_sha256", String(64), nullable=False),
    Column("reason", Text, nullable=False),
    _time("revoked_at"),
    Index("ix_revocations_tenant_id_judged_sha256", "tenant_id", "judged_sha256"),
)

webhooks = _tenant_table(
    "webhooks",
    _id(),
    _serial(),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=True, comment="in clear, of the time before address"),
    Column("address", LargeBinary, nullable=True, comment="encrypted"),
    Column("events", ARRAY(Text), nullable=False),
    Column("secrets", LargeBinary, nullable=False),
    _time("created_at"),
    _time("disabled_at", nullable=True),
    UniqueConstraint("tenant_id", "name"),
    CheckConstraint("(url IS NULL) <> (address IS NULL)", name="one_address"),
)

webhook_deliveries = _tenant_table(
    "webhook_deliveries",
    _id(),
    _serial(),
    _id("webhook_id"),
    Column("event", Text, nullable=False),
    Column("payload", Text, nullable=False, comment="as it is signed; ids, names and verdicts only"),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("status", Integer, nullable=True),
    Column("error", Text, nullable=True),
    _time("created_at"),
    _time("next_attempt_at", nullable=True),
    _time("delivered_at", nullable=True),
    _time("held_until", nullable=True),
    _belongs("webhook_id", "webhooks"),
    CheckConstraint("state IN ('pending', 'delivered', 'failed')", name="state"),
    Index("ix_webhook_deliveries_tenant_id_webhook_id_serial", "tenant_id", "webhook_id", "serial"),
    Index("ix_webhook_deliveries_tenant_id_webhook_id_created_at", "tenant_id", "webhook_id", "created_at"),
    Index(
        "ix_webhook_deliveries_next_attempt_at",
        "next_attempt_at",
        postgresql_where=text("state = 'pending'"),
    ),
    Index("ix_webhook_deliveries_held_until", "held_until", postgresql_where=text("state = 'pending'")),
)

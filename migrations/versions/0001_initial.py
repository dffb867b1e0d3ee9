"""Tenants, keys, resources, runs and records, with row-level security and the look-up functions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.row_security import DEFINER, let_call, secure

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# What the runtime role may do with each table. It owns nothing; resources, events and audit are not changed.
_GRANTS = {
    "tenants": "SELECT",
    "api_keys": "SELECT, INSERT, UPDATE",
    "data_keys": "SELECT, INSERT, UPDATE, DELETE",
    "resources": "SELECT, INSERT, DELETE",
    "resource_uses": "SELECT, INSERT",
    "upload_pieces": "SELECT, INSERT",
    "results": "SELECT, INSERT, DELETE",
    "runs": "SELECT, INSERT, UPDATE",
    "run_events": "SELECT, INSERT",
    "run_blocks": "SELECT, INSERT, UPDATE, DELETE",
    "idempotency_keys": "SELECT, INSERT, UPDATE, DELETE",
    "audit_events": "SELECT, INSERT",
}

# Ciphertext does not compress: it is kept outside the row as it is.
_CIPHERTEXT = {
    "resources": "document",
    "upload_pieces": "payload",
    "results": "document",
    "run_blocks": "payload",
}

_FUNCTIONS = {
    "lookup_api_key(wanted text)": """
        RETURNS TABLE (tenant_id uuid, id text, name text, prefix text, secret_sha256 bytea, scopes text[],
                       created_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
                       revoked_at timestamptz)
        LANGUAGE sql STABLE {definer} AS $$
            SELECT k.tenant_id, k.id, k.name, k.prefix, k.secret_sha256, k.scopes, k.created_at,
                   k.expires_at, k.last_used_at, k.revoked_at
            FROM public.api_keys k WHERE k.prefix = wanted
        $$""",
    "lookup_touch_api_key(wanted text, used_at timestamptz)": """
        RETURNS void LANGUAGE sql {definer} AS $$
            UPDATE public.api_keys SET last_used_at = used_at
            WHERE id = wanted AND (last_used_at IS NULL OR last_used_at < used_at - interval '1 minute')
        $$""",
    "lookup_add_tenant(new_id uuid, new_name text, at timestamptz, wrapped bytea, master text)": """
        RETURNS TABLE (id uuid, name text, created_at timestamptz, created boolean)
        LANGUAGE plpgsql {definer} AS $$
        #variable_conflict use_column
        BEGIN
            RETURN QUERY INSERT INTO public.tenants AS t (id, name, created_at) VALUES (new_id, new_name, at)
                ON CONFLICT (name) DO NOTHING RETURNING t.id, t.name, t.created_at, true;
            IF FOUND THEN
                INSERT INTO public.data_keys (tenant_id, id, purpose, wrapped_key, master_key_id)
                VALUES (new_id, 'documents', 'documents', wrapped, master);
            ELSE
                RETURN QUERY SELECT t.id, t.name, t.created_at, false FROM public.tenants t
                    WHERE t.name = new_name;
            END IF;
        END
        $$""",
    "lookup_tenants()": """
        RETURNS TABLE (id uuid, name text, created_at timestamptz)
        LANGUAGE sql STABLE {definer} AS $$
            SELECT t.id, t.name, t.created_at FROM public.tenants t ORDER BY t.name
        $$""",
    "lookup_run_tenant(wanted text)": """
        RETURNS uuid LANGUAGE sql STABLE {definer} AS $$
            SELECT r.tenant_id FROM public.runs r WHERE r.id = wanted
        $$""",
    "lookup_stale_uploads(silent_seconds double precision)": """
        RETURNS TABLE (tenant_id uuid, id text) LANGUAGE sql STABLE {definer} AS $$
            SELECT k.tenant_id, k.id FROM public.data_keys k
            WHERE k.purpose = 'upload'
              AND k.touched_at <= clock_timestamp() - make_interval(secs => silent_seconds)
              AND NOT EXISTS (SELECT FROM public.resources r WHERE r.tenant_id = k.tenant_id AND r.id = k.id)
        $$""",
    "lookup_master_keys()": """
        RETURNS TABLE (master_key_id text) LANGUAGE sql STABLE {definer} AS $$
            SELECT DISTINCT k.master_key_id FROM public.data_keys k
        $$""",
}


def upgrade() -> None:
    _create_tenants_and_keys()
    _create_resources()
    _create_uses()
    _create_results()
    _create_runs()
    _create_what_runs_leave()
    _create_records()
    for table, column in _CIPHERTEXT.items():
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    for table, rights in _GRANTS.items():
        secure(table, rights, "id" if table == "tenants" else "tenant_id")
    op.execute("GRANT SELECT ON alembic_version TO app_runtime")
    for signature, body in _FUNCTIONS.items():
        op.execute(f"CREATE FUNCTION {signature} {body.format(definer=DEFINER)}")
        let_call(signature)


def downgrade() -> None:
    op.execute("REVOKE SELECT ON alembic_version FROM app_runtime")
    for signature in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {signature}")
    for table in reversed(_GRANTS):
        op.drop_table(table)


def _create_tenants_and_keys() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
        sa.UniqueConstraint("name", name=op.f("uq_tenants_name")),
    )
    op.create_table(
        "api_keys",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.String(length=64), nullable=False),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_api_keys_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("id", name=op.f("uq_api_keys_id")),
        sa.UniqueConstraint("prefix", name=op.f("uq_api_keys_prefix")),
    )
    op.create_table(
        "data_keys",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("master_key_id", sa.String(length=32), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("purpose IN ('documents', 'upload')", name=op.f("ck_data_keys_purpose")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_data_keys_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_data_keys")),
    )
    op.create_index(
        "ix_data_keys_touched_at",
        "data_keys",
        ["touched_at"],
        unique=False,
        postgresql_where=sa.text("purpose = 'upload'"),
    )


def _create_resources() -> None:
    op.create_table(
        "resources",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("summary", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_resources_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_resources")),
        sa.UniqueConstraint("tenant_id", "kind", "name", name=op.f("uq_resources_tenant_id_kind_name")),
    )
    op.create_index(
        "ix_resources_tenant_id_kind_serial", "resources", ["tenant_id", "kind", "serial"], unique=False
    )
    op.create_index("ix_resources_tenant_id_sha256", "resources", ["tenant_id", "sha256"], unique=False)


def _create_uses() -> None:
    op.create_table(
        "resource_uses",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("user_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("used_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "used_id"],
            ["resources.tenant_id", "resources.id"],
            name=op.f("fk_resource_uses_tenant_id_used_id_resources"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id"],
            ["resources.tenant_id", "resources.id"],
            name=op.f("fk_resource_uses_tenant_id_user_id_resources"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_resource_uses_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "position", name=op.f("pk_resource_uses")),
    )
    op.create_index(
        "ix_resource_uses_tenant_id_used_id", "resource_uses", ["tenant_id", "used_id"], unique=False
    )
    op.create_table(
        "upload_pieces",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("upload_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False, comment="of the ciphertext"),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "upload_id"],
            ["data_keys.tenant_id", "data_keys.id"],
            name=op.f("fk_upload_pieces_tenant_id_upload_id_data_keys"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_upload_pieces_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "upload_id", "number", name=op.f("pk_upload_pieces")),
    )


def _create_results() -> None:
    op.create_table(
        "results",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("input_sha256", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_results_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_results")),
        sa.UniqueConstraint(
            "tenant_id", "input_sha256", "kind", name=op.f("uq_results_tenant_id_input_sha256_kind")
        ),
    )


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("resource_id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("input_sha256", sa.String(length=64), nullable=False),
        sa.Column("estimate", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("progress", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("error", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("result_id", sa.String(length=64), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("last_event", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("alive_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')",
            name=op.f("ck_runs_state"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "resource_id"],
            ["resources.tenant_id", "resources.id"],
            name=op.f("fk_runs_tenant_id_resource_id_resources"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "result_id"],
            ["results.tenant_id", "results.id"],
            name=op.f("fk_runs_tenant_id_result_id_results"),
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_runs_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_runs")),
        sa.UniqueConstraint("id", name=op.f("uq_runs_id")),
    )
    _index_runs()


def _index_runs() -> None:
    op.create_index(
        "ix_runs_alive_at",
        "runs",
        ["alive_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_index(
        "ix_runs_tenant_id_resource_id_serial", "runs", ["tenant_id", "resource_id", "serial"], unique=False
    )
    op.create_index("ix_runs_tenant_id_result_id", "runs", ["tenant_id", "result_id"], unique=False)
    op.create_index("ix_runs_tenant_id_serial", "runs", ["tenant_id", "serial"], unique=False)


def _create_what_runs_leave() -> None:
    op.create_table(
        "run_events",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("data", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "run_id"],
            ["runs.tenant_id", "runs.id"],
            name=op.f("fk_run_events_tenant_id_run_id_runs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_run_events_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "number", name=op.f("pk_run_events")),
    )
    op.create_table(
        "run_blocks",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "run_id"],
            ["runs.tenant_id", "runs.id"],
            name=op.f("fk_run_blocks_tenant_id_run_id_runs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_run_blocks_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "number", name=op.f("pk_run_blocks")),
    )


def _create_records() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("reply", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_idempotency_keys_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "route", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(
        "ix_idempotency_keys_tenant_id_created_at",
        "idempotency_keys",
        ["tenant_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "audit_events",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column(
            "details",
            postgresql.JSON(astext_type=sa.Text()),
            nullable=False,
            comment="as written, for it is hashed",
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("previous_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_audit_events_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "number", name=op.f("pk_audit_events")),
    )

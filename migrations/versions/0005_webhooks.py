"""Webhooks, and the messages that are to be sent to them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.row_security import DEFINER, let_call, secure

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_GRANTS = {
    "webhooks": "SELECT, INSERT, UPDATE, DELETE",
    "webhook_deliveries": "SELECT, INSERT, UPDATE, DELETE",
}

# Whoever takes a message holds it for a while; then it is anybody's again, so that no death loses it.
_DUE = """
    CREATE FUNCTION lookup_due_deliveries(at timestamptz, most integer, hold_seconds double precision)
    RETURNS TABLE (tenant_id uuid, id text) LANGUAGE sql
    {definer} AS $$
        UPDATE public.webhook_deliveries d SET held_until = at + make_interval(secs => hold_seconds)
        WHERE (d.tenant_id, d.id) IN (
            SELECT w.tenant_id, w.id FROM public.webhook_deliveries w
            WHERE w.state = 'pending' AND w.next_attempt_at <= at
              AND (w.held_until IS NULL OR w.held_until <= at)
            ORDER BY w.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING d.tenant_id, d.id
    $$
"""
_SIGNATURE = "lookup_due_deliveries(timestamptz, integer, double precision)"


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("secrets", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_webhooks_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_webhooks")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_webhooks_tenant_id_name")),
    )
    _create_deliveries()
    for table, rights in _GRANTS.items():
        secure(table, rights)
    op.execute(_DUE.format(definer=DEFINER))
    let_call(_SIGNATURE)


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {_SIGNATURE}")
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")


def _create_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.String(length=64), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column(
            "payload", sa.Text(), nullable=False, comment="as it is signed; ids, names and verdicts only"
        ),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'failed')", name=op.f("ck_webhook_deliveries_state")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "webhook_id"],
            ["webhooks.tenant_id", "webhooks.id"],
            name=op.f("fk_webhook_deliveries_tenant_id_webhook_id_webhooks"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_webhook_deliveries_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(
        "ix_webhook_deliveries_tenant_id_webhook_id_serial",
        "webhook_deliveries",
        ["tenant_id", "webhook_id", "serial"],
        unique=False,
    )
    op.create_index(
        "ix_webhook_deliveries_next_attempt_at",
        "webhook_deliveries",
        ["next_attempt_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )

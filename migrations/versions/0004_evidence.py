"""Signing keys and signed evidence, which outlives what it is about."""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import DEFINER, secure

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Evidence is appended to and never changed; of a signing key nothing but its end is ever set.
_GRANTS = {
    "signing_keys": "SELECT, INSERT, UPDATE (valid_until)",
    "evidence": "SELECT, INSERT",
}

_MASTER_KEYS = """
    CREATE OR REPLACE FUNCTION lookup_master_keys() RETURNS TABLE (master_key_id text)
    LANGUAGE sql STABLE {definer} AS $$
        {query}
    $$
"""
_OF_DATA_KEYS = "SELECT DISTINCT k.master_key_id FROM public.data_keys k"
_OF_SIGNING_KEYS = "SELECT DISTINCT s.master_key_id FROM public.signing_keys s"


def upgrade() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False, comment="sha256 of the public key"),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("master_key_id", sa.String(length=32), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_signing_keys_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_signing_keys")),
    )
    op.create_index(
        "uq_signing_keys_tenant_id",
        "signing_keys",
        ["tenant_id"],
        unique=True,
        postgresql_where=sa.text("valid_until IS NULL"),
    )
    _create_evidence()
    op.execute("ALTER TABLE evidence ALTER COLUMN envelope SET STORAGE EXTERNAL")
    for table, rights in _GRANTS.items():
        secure(table, rights)
    op.execute(_MASTER_KEYS.format(definer=DEFINER, query=f"{_OF_DATA_KEYS} UNION {_OF_SIGNING_KEYS}"))


def downgrade() -> None:
    op.execute(_MASTER_KEYS.format(definer=DEFINER, query=_OF_DATA_KEYS))
    op.drop_table("evidence")
    op.drop_table("signing_keys")


def _create_evidence() -> None:
    op.create_table(
        "evidence",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("report", sa.String(length=32), nullable=False),
        sa.Column("resource_id", sa.String(length=64), nullable=False),
        sa.Column("resource_name", sa.Text(), nullable=False),
        sa.Column("resource_sha256", sa.String(length=64), nullable=False),
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False, comment="of the envelope's bytes"),
        sa.Column("envelope", sa.LargeBinary(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("report IN ('verdict', 'assessment')", name=op.f("ck_evidence_report")),
        sa.ForeignKeyConstraint(
            ["tenant_id", "key_id"],
            ["signing_keys.tenant_id", "signing_keys.id"],
            name=op.f("fk_evidence_tenant_id_key_id_signing_keys"),
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_evidence_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_evidence")),
        sa.UniqueConstraint("tenant_id", "resource_id", name=op.f("uq_evidence_tenant_id_resource_id")),
    )
    op.create_index("ix_evidence_tenant_id_serial", "evidence", ["tenant_id", "serial"], unique=False)
    op.create_index(
        "ix_evidence_tenant_id_resource_name_serial",
        "evidence",
        ["tenant_id", "resource_name", "serial"],
        unique=False,
    )
    op.create_index(
        "ix_evidence_tenant_id_key_id_issued_at",
        "evidence",
        ["tenant_id", "key_id", "issued_at"],
        unique=False,
    )

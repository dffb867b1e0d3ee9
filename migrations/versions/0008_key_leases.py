"""Keys of requests in flight are held by one owner for a short lease."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_INDEX = "ix_idempotency_keys_tenant_id_lease_until"


def upgrade() -> None:
    # Whatever is in flight while the schema changes belongs to nobody: its lease has ended.
    op.add_column(
        "idempotency_keys",
        sa.Column(
            "owner",
            sa.String(length=32),
            server_default=sa.text("''"),
            nullable=False,
            comment="one request, fencing",
        ),
    )
    op.add_column(
        "idempotency_keys",
        sa.Column("lease_until", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
    )
    op.create_index(
        _INDEX,
        "idempotency_keys",
        ["tenant_id", "lease_until"],
        unique=False,
        postgresql_where=sa.text("reply IS NULL"),
    )


def downgrade() -> None:
    op.drop_index(_INDEX, "idempotency_keys")
    op.drop_column("idempotency_keys", "lease_until")
    op.drop_column("idempotency_keys", "owner")

"""Indexes for lists of what was created in a period."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_INDEXES = {
    "resources": ["tenant_id", "kind", "created_at"],
    "runs": ["tenant_id", "created_at"],
    "evidence": ["tenant_id", "issued_at"],
    "audit_events": ["tenant_id", "at"],
    "webhook_deliveries": ["tenant_id", "webhook_id", "created_at"],
}


def upgrade() -> None:
    for table, columns in _INDEXES.items():
        op.create_index(_name(table, columns), table, columns, unique=False)


def downgrade() -> None:
    for table, columns in _INDEXES.items():
        op.drop_index(_name(table, columns), table)


def _name(table: str, columns: list[str]) -> str:
    return "_".join(["ix", table, *columns])

"""Settings of tenants, and what retention needs: its index and the rights to remove runs and lock results."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_INDEX = "ix_runs_tenant_id_state_finished_at"

# A row can be locked by who may change some column of it. Of results none is ever changed.
_RIGHTS = {
    "tenants": "UPDATE (settings)",
    "runs": "DELETE",
    "results": "UPDATE (created_at)",
}


def upgrade() -> None:
    op.add_column(
        "tenants",
        sa.Column(
            "settings",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="those that are not the service's defaults",
        ),
    )
    op.create_index(_INDEX, "runs", ["tenant_id", "state", "finished_at"], unique=False)
    for table, right in _RIGHTS.items():
        op.execute(f"GRANT {right} ON TABLE {table} TO app_runtime")


def downgrade() -> None:
    for table, right in _RIGHTS.items():
        op.execute(f"REVOKE {right} ON TABLE {table} FROM app_runtime")
    op.drop_index(_INDEX, "runs")
    op.drop_column("tenants", "settings")

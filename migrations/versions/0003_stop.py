"""Runs that are asked to end with the best they have found, and their results, which answer no other run."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "runs", sa.Column("stop_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.alter_column("results", "input_sha256", existing_type=sa.String(length=64), nullable=True)


def downgrade() -> None:
    # A result of no input cannot be kept; its run then has no result any more. Migrations see all tenants.
    op.execute("SET LOCAL app.maintenance = 'on'")
    op.execute(
        "UPDATE runs SET result_id = NULL FROM results"
        " WHERE results.tenant_id = runs.tenant_id AND results.id = runs.result_id"
        " AND results.input_sha256 IS NULL"
    )
    op.execute("DELETE FROM results WHERE input_sha256 IS NULL")
    op.alter_column("results", "input_sha256", existing_type=sa.String(length=64), nullable=False)
    op.drop_column("runs", "stop_requested")

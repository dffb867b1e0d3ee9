"""Budgets: how much the differentially private releases of one table may spend, and what each of them spends.

A table is known by the hash that its draws are counted by, so that neither another dataset of it nor the same
file that is uploaded again has a fresh budget. ε and δ are exact decimals. What was drawn before takes its
share from its release; where that is deleted, nothing tells it any more.
"""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import secure

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "budgets",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("subject_sha256", sa.String(length=64), nullable=False, comment="as in draws"),
        sa.Column("epsilon", sa.Numeric(), nullable=False),
        sa.Column("delta", sa.Numeric(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_budgets_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_budgets")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_budgets_tenant_id_name")),
        sa.UniqueConstraint("tenant_id", "subject_sha256", name=op.f("uq_budgets_tenant_id_subject_sha256")),
    )
    # Nobody may take a budget away: its table would have none.
    secure("budgets", "SELECT, INSERT, UPDATE (epsilon, delta, changed_at)")
    op.add_column("draws", sa.Column("epsilon", sa.Numeric(), nullable=True))
    op.add_column("draws", sa.Column("delta", sa.Numeric(), nullable=True))
    op.add_column(
        "draws",
        sa.Column(
            "given_up_at", sa.DateTime(timezone=True), nullable=True, comment="its dataset was erased first"
        ),
    )
    op.execute("GRANT UPDATE (given_up_at) ON TABLE draws TO app_runtime")
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute(
        """
        UPDATE draws d
        SET epsilon = (own.parameters ->> 'epsilon')::numeric, delta = (own.parameters ->> 'delta')::numeric
        FROM (
            SELECT r.tenant_id, r.id, g -> 'parameters' AS parameters
            FROM resources r, jsonb_array_elements(r.summary -> 'mechanism' -> 'guarantees') AS g
            WHERE r.kind = 'release' AND g ->> 'model' = 'differential_privacy'
              AND g ->> 'status' = 'certified'
        ) own
        WHERE own.tenant_id = d.tenant_id AND own.id = d.id
        """
    )
    op.execute("SELECT set_config('app.maintenance', '', true)")


def downgrade() -> None:
    op.drop_column("draws", "given_up_at")
    op.drop_column("draws", "delta")
    op.drop_column("draws", "epsilon")
    op.drop_table("budgets")

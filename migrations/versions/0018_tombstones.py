"""Names of policies stay used, and verdicts revoked, whatever becomes of policies and evaluations.

The policies that are stored have their names; those that were deleted before are not known any more.
"""

import sqlalchemy as sa
from alembic import op

from app.domain.errors import Conflict
from migrations.row_security import secure

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "policy_names",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="NAME@VERSION"),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_policy_names_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "name", name=op.f("pk_policy_names")),
    )
    secure("policy_names", "SELECT, INSERT")
    op.create_table(
        "revocations",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False, comment="the evaluation's"),
        sa.Column("judged_sha256", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_revocations_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_revocations")),
    )
    op.create_index("ix_revocations_tenant_id_judged_sha256", "revocations", ["tenant_id", "judged_sha256"])
    secure("revocations", "SELECT, INSERT")
    op.create_index("ix_evidence_tenant_id_sha256", "evidence", ["tenant_id", "sha256"])
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute(
        "INSERT INTO policy_names (tenant_id, name, sha256) "
        "SELECT tenant_id, name, sha256 FROM resources WHERE kind = 'policy'"
    )
    op.execute("SELECT set_config('app.maintenance', '', true)")


def downgrade() -> None:
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    if op.get_bind().execute(sa.text("SELECT 1 FROM revocations LIMIT 1")).first():
        raise Conflict(
            "Verdicts are revoked: an earlier version would tell them as if they stood.",
            "Restore a backup of the time before this version into a new database.",
        )
    op.execute("SELECT set_config('app.maintenance', '', true)")
    op.drop_index("ix_evidence_tenant_id_sha256", "evidence")
    op.drop_table("revocations")
    op.drop_table("policy_names")

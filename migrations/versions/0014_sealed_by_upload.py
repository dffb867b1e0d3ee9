"""What is built on an upload is encrypted under that upload's key; heads of audit chains.

The last event is noted beside the chain: one that ends too early would look whole otherwise. A migration has
no master key: what is stored already stays under the tenant's documents key.
"""

import sqlalchemy as sa
from alembic import op

from app.domain.errors import Conflict
from migrations.row_security import secure

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_TABLES = ("resources", "results")
_COMMENT = "the upload whose key it is encrypted under; null: the tenant's documents key"
_INDEX = "ix_results_tenant_id_sealed_by"
_STAYING = """
    SELECT 1 FROM resources WHERE sealed_by IS NOT NULL
    UNION ALL SELECT 1 FROM results WHERE sealed_by IS NOT NULL LIMIT 1
"""
# PostgreSQL copies values of columns into its statistics, from where no deletion takes them.
_NOT_SAMPLED = (("data_keys", "wrapped_key", "bytea"), ("resources", "summary", "jsonb"))


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("sealed_by", sa.String(length=64), nullable=True, comment=_COMMENT))
    op.create_index(_INDEX, "results", ["tenant_id", "sealed_by"], unique=False)
    op.create_foreign_key(
        op.f("fk_results_tenant_id_data_keys"), "results", "data_keys",
        ["tenant_id", "sealed_by"], ["tenant_id", "id"], ondelete="CASCADE",
    )  # fmt: skip
    _note_heads()
    # A result that an equal question of other data leads to passes to the key of these.
    op.execute("GRANT UPDATE (document, sealed_by) ON TABLE results TO app_runtime")
    for table, column, kind in _NOT_SAMPLED:
        # The same type again drops the statistics that there are.
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind}")
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")


def _note_heads() -> None:
    op.create_table(
        "audit_heads",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False, comment="of the last audit event"),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_audit_heads_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_audit_heads")),
    )
    secure("audit_heads", "SELECT, INSERT, UPDATE (number, sha256)")
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute(
        """
        INSERT INTO audit_heads (tenant_id, number, sha256)
        SELECT DISTINCT ON (tenant_id) tenant_id, number, sha256 FROM audit_events
        ORDER BY tenant_id, number DESC
        """
    )
    op.execute("SELECT set_config('app.maintenance', '', true)")


def downgrade() -> None:
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    if op.get_bind().execute(sa.text(_STAYING)).first() is not None:
        raise Conflict(
            "Documents are encrypted under the keys of uploads, which no earlier version can read.",
            "Restore a backup of the time before this version into a new database.",
        )
    op.execute("SELECT set_config('app.maintenance', '', true)")
    for table, column, _ in _NOT_SAMPLED:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS -1")
    op.execute("REVOKE UPDATE (document, sealed_by) ON TABLE results FROM app_runtime")
    op.drop_table("audit_heads")
    op.drop_index(_INDEX, "results")
    for table in _TABLES:
        op.drop_column(table, "sealed_by")

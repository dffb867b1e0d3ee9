"""Uploaded contents with the tables that they were read as, and what draws declare of a table's size.

A budget is for a table, whichever file it comes in. A content is noted when it is uploaded; of uploads of
before, whose cells are encrypted, it is noted once their file is uploaded again. Draws keep the number of
records that their release declares, so that it is known when that is deleted.
"""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import secure

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "read_contents",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("content_sha256", sa.String(length=64), nullable=False),
        sa.Column("table_sha256", sa.String(length=64), nullable=False, comment="of its cells"),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_read_contents_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "content_sha256", "table_sha256", name=op.f("pk_read_contents")),
    )
    # Nobody may take one away: its table would have a fresh budget.
    secure("read_contents", "SELECT, INSERT")
    op.add_column("draws", sa.Column("least_records", sa.BigInteger(), nullable=True))
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute(
        """
        UPDATE draws d
        SET least_records = (own.parameters ->> 'least_records')::numeric::bigint
        FROM (
            SELECT r.tenant_id, r.id, g -> 'parameters' AS parameters
            FROM resources r, jsonb_array_elements(r.summary -> 'mechanism' -> 'guarantees') AS g
            WHERE r.kind = 'release' AND g ->> 'model' = 'differential_privacy'
        ) own
        WHERE own.tenant_id = d.tenant_id AND own.id = d.id
        """
    )
    op.execute("SELECT set_config('app.maintenance', '', true)")


def downgrade() -> None:
    op.drop_column("draws", "least_records")
    op.drop_table("read_contents")

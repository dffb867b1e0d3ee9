"""Draws keep which others count with them, as far as people are in both, and whether that is known.

It was kept in the summary of their release alone, and gone with it. Of draws of before it is not known: their
identifiers were compared as they are spelled, and nothing was kept of what had been deleted.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "draws",
        sa.Column(
            "beside", postgresql.ARRAY(sa.String(length=64)), nullable=False, server_default="{}",
            comment="subjects of other contents that count with it",
        ),
    )  # fmt: skip
    op.add_column(
        "draws",
        sa.Column(
            "is_compared", sa.Boolean(), nullable=False, server_default=sa.false(),
            comment="with all that was given out before",
        ),
    )  # fmt: skip
    op.add_column(
        "read_contents",
        sa.Column(
            "is_nameless", sa.Boolean(), nullable=False, server_default=sa.false(),
            comment="whether table_sha256 leaves out the names of columns",
        ),
    )  # fmt: skip
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute(
        """
        UPDATE draws d
        SET beside = ARRAY(
            SELECT jsonb_array_elements_text(r.summary -> 'mechanism' -> 'people' -> 'subjects')
        )
        FROM resources r
        WHERE r.tenant_id = d.tenant_id AND r.id = d.id AND r.kind = 'release'
          AND jsonb_typeof(r.summary -> 'mechanism' -> 'people' -> 'subjects') = 'array'
        """
    )
    op.execute("SELECT set_config('app.maintenance', '', true)")


def downgrade() -> None:
    op.drop_column("read_contents", "is_nameless")
    op.drop_column("draws", "is_compared")
    op.drop_column("draws", "beside")

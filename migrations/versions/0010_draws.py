"""Draws of randomised releases: how many there were of which data, and what was drawn.

A draw is known by hashes alone and is counted for good: neither the release nor its dataset takes it along.
What was drawn is encrypted under a key of its own, as uploads are.
"""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import secure

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_PURPOSE = "ck_data_keys_purpose"


def upgrade() -> None:
    op.drop_constraint(op.f(_PURPOSE), "data_keys")
    op.create_check_constraint(op.f(_PURPOSE), "data_keys", "purpose IN ('documents', 'upload', 'release')")
    op.create_table(
        "draws",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False, comment="the release's"),
        sa.Column("serial", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("subject_sha256", sa.String(length=64), nullable=False, comment="what was drawn of"),
        sa.Column("question_sha256", sa.String(length=64), nullable=False),
        sa.Column("dataset_id", sa.String(length=64), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True, comment="null once the bytes are stored"),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_draws_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_draws")),
    )
    op.create_index(
        "ix_draws_tenant_id_subject_sha256_serial", "draws", ["tenant_id", "subject_sha256", "serial"]
    )
    op.create_index(
        "ix_draws_tenant_id_dataset_id",
        "draws",
        ["tenant_id", "dataset_id"],
        postgresql_where=sa.text("sealed IS NOT NULL"),
    )
    # Nobody may take a draw out of the count.
    secure("draws", "SELECT, INSERT, UPDATE (sealed, withdrawn_at)")
    op.create_table(
        "release_pieces",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("release_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_release_pieces_tenant_id_tenants")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "release_id"],
            ["data_keys.tenant_id", "data_keys.id"],
            name=op.f("fk_release_pieces_tenant_id_release_id_data_keys"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "release_id", "number", name=op.f("pk_release_pieces")),
    )
    # Ciphertext does not compress: it is kept outside the row as it is.
    op.execute("ALTER TABLE release_pieces ALTER COLUMN payload SET STORAGE EXTERNAL")
    secure("release_pieces", "SELECT, INSERT")


def downgrade() -> None:
    # Without what was drawn such a release cannot be read, and nothing here would keep it from being drawn
    # again: it is there no more, nor is its key.
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute("DELETE FROM resources r USING draws d WHERE r.tenant_id = d.tenant_id AND r.id = d.id")
    op.execute("DELETE FROM data_keys WHERE purpose = 'release'")
    op.execute("SELECT set_config('app.maintenance', '', true)")
    op.drop_table("release_pieces")
    op.drop_table("draws")
    op.drop_constraint(op.f(_PURPOSE), "data_keys")
    op.create_check_constraint(op.f(_PURPOSE), "data_keys", "purpose IN ('documents', 'upload')")

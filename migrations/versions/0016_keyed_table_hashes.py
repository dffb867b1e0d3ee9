"""Hashes of tables are kept under a key of their tenant, so that nobody can find out by them what was here.

A migration has no master key: what was noted before stays as it is until a service starts, which puts it
under the key (``lookup_unkeyed_tables`` tells it where there is some).
"""

import sqlalchemy as sa
from alembic import op

from app.domain.errors import Conflict
from migrations.row_security import DEFINER, let_call

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_UNKEYED = "lookup_unkeyed_tables()"
_BODY = """
    RETURNS TABLE (tenant_id uuid) LANGUAGE sql STABLE {definer} AS $$
        SELECT DISTINCT r.tenant_id FROM public.read_contents r WHERE NOT r.is_keyed
    $$"""


def upgrade() -> None:
    op.add_column(
        "read_contents",
        sa.Column(
            "is_keyed", sa.Boolean(), nullable=False, server_default=sa.false(),
            comment="whether table_sha256 is by the tenant's key",
        ),
    )  # fmt: skip
    op.execute("GRANT UPDATE (table_sha256, is_keyed) ON TABLE read_contents TO app_runtime")
    op.execute(f"CREATE FUNCTION {_UNKEYED} {_BODY.format(definer=DEFINER)}")
    let_call(_UNKEYED)


def downgrade() -> None:
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    if op.get_bind().execute(sa.text("SELECT 1 FROM read_contents WHERE is_keyed LIMIT 1")).first():
        raise Conflict(
            "Hashes of tables are under keys: an earlier version would give known tables a fresh budget.",
            "Restore a backup of the time before this version into a new database.",
        )
    op.execute("SELECT set_config('app.maintenance', '', true)")
    op.execute(f"DROP FUNCTION {_UNKEYED}")
    op.execute("REVOKE UPDATE (table_sha256, is_keyed) ON TABLE read_contents FROM app_runtime")
    op.drop_column("read_contents", "is_keyed")

"""Sessions of the pages without an API key, and how many requests a caller has sent in its present minute.

The counts are worth nothing after a crash, so their table is not logged: counting writes no log and waits for
no disk. A caller is known by a hash alone.
"""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import DEFINER, let_call, secure

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_FUNCTIONS = {
    "lookup_begin_tenant_session(tenant uuid, session bytea, at timestamptz, ends timestamptz)": """
        RETURNS void LANGUAGE sql {definer} AS $$
            DELETE FROM public.page_sessions p WHERE p.ends_at <= at;
            INSERT INTO public.page_sessions (tenant_id, id, ends_at) VALUES (tenant, session, ends)
        $$""",
    # By the database's clock, which all processes share. Others' old rows are left to whoever holds them.
    "lookup_count_request(tenant uuid, caller bytea, window_seconds integer)": """
        RETURNS TABLE (sent integer, seconds_left double precision) LANGUAGE plpgsql {definer} AS $$
        DECLARE
            at timestamptz := clock_timestamp();
            wide interval := make_interval(secs => window_seconds);
            ends timestamptz;
        BEGIN
            INSERT INTO public.request_counts AS c (tenant_id, id, used, ends_at)
            VALUES (tenant, caller, 1, at + wide)
            ON CONFLICT (tenant_id, id) DO UPDATE SET
                used = CASE WHEN c.ends_at <= at THEN 1 ELSE c.used + 1 END,
                ends_at = CASE WHEN c.ends_at <= at THEN at + wide ELSE c.ends_at END
            RETURNING c.used, c.ends_at INTO sent, ends;
            IF sent = 1 THEN
                DELETE FROM public.request_counts d USING (
                    SELECT o.tenant_id, o.id FROM public.request_counts o
                    WHERE o.ends_at <= at - wide LIMIT 100 FOR UPDATE SKIP LOCKED
                ) old
                WHERE d.tenant_id = old.tenant_id AND d.id = old.id;
            END IF;
            seconds_left := extract(epoch FROM ends - at);
            RETURN NEXT;
        END
        $$""",
}


def upgrade() -> None:
    op.create_table(
        "request_counts",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.LargeBinary(), nullable=False, comment="sha256 of the caller"),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_request_counts_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_request_counts")),
        prefixes=["UNLOGGED"],
    )
    op.create_index("ix_request_counts_ends_at", "request_counts", ["ends_at"], unique=False)
    secure("request_counts", "SELECT")
    for signature, body in _FUNCTIONS.items():
        op.execute(f"CREATE FUNCTION {signature} {body.format(definer=DEFINER)}")
        let_call(signature)


def downgrade() -> None:
    for signature in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {signature}")
    op.drop_table("request_counts")

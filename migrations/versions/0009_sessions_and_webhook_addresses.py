"""Sessions of the pages, which end when their owner signs out, and encrypted addresses of webhooks.

A migration has no master key: addresses that are stored in clear stay so until a service starts, which
encrypts them (``lookup_plain_webhooks`` tells it where there are some).
"""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import DEFINER, let_call, secure

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# A session is known by the hash of its id alone; who asks for it has no tenant yet.
_FUNCTIONS = {
    "lookup_begin_page_session(key_prefix text, session bytea, at timestamptz, ends timestamptz)": """
        RETURNS void LANGUAGE sql {definer} AS $$
            DELETE FROM public.page_sessions p WHERE p.ends_at <= at;
            INSERT INTO public.page_sessions (tenant_id, id, ends_at)
            SELECT k.tenant_id, session, ends FROM public.api_keys k WHERE k.prefix = key_prefix
        $$""",
    "lookup_page_session(session bytea, at timestamptz)": """
        RETURNS boolean LANGUAGE sql STABLE {definer} AS $$
            SELECT EXISTS (SELECT FROM public.page_sessions p WHERE p.id = session AND p.ends_at > at)
        $$""",
    "lookup_plain_webhooks()": """
        RETURNS TABLE (tenant_id uuid, webhooks bigint) LANGUAGE sql STABLE {definer} AS $$
            SELECT w.tenant_id, count(*) FROM public.webhooks w WHERE w.url IS NOT NULL GROUP BY w.tenant_id
        $$""",
    "lookup_end_page_session(session bytea)": """
        RETURNS void LANGUAGE sql {definer} AS $$
            DELETE FROM public.page_sessions p WHERE p.id = session
        $$""",
}


def upgrade() -> None:
    op.create_table(
        "page_sessions",
        sa.Column("tenant_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("id", sa.LargeBinary(), nullable=False, comment="sha256 of what the cookie holds"),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_page_sessions_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_sessions")),
    )
    op.create_index("ix_page_sessions_ends_at", "page_sessions", ["ends_at"], unique=False)
    secure("page_sessions", "SELECT")
    op.alter_column("webhooks", "url", nullable=True, comment="in clear, of the time before address")
    op.add_column("webhooks", sa.Column("address", sa.LargeBinary(), nullable=True, comment="encrypted"))
    op.create_check_constraint(
        op.f("ck_webhooks_one_address"), "webhooks", "(url IS NULL) <> (address IS NULL)"
    )
    for signature, body in _FUNCTIONS.items():
        op.execute(f"CREATE FUNCTION {signature} {body.format(definer=DEFINER)}")
        let_call(signature)


def downgrade() -> None:
    # Nobody can read encrypted addresses here: such webhooks are there no more, rather than send nowhere.
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    op.execute("DELETE FROM webhooks WHERE url IS NULL")
    op.execute("SELECT set_config('app.maintenance', '', true)")
    op.drop_constraint(op.f("ck_webhooks_one_address"), "webhooks")
    op.drop_column("webhooks", "address")
    op.alter_column("webhooks", "url", nullable=False, comment=None)
    for signature in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {signature}")
    op.drop_table("page_sessions")

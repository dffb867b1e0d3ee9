"""Blocks of unfinished runs are encrypted as their results will be; shares of senders are exact; a queue that
grows faster than its statistics is handed out as quickly.
"""

import sqlalchemy as sa
from alembic import op

from migrations.row_security import DEFINER

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_COMMENT = "the upload whose key it is encrypted under; null: the tenant's documents key"

# One sender counts after the other, and sees what that one has taken: each statement of this language looks
# anew. Whatever is held counts, though by the clock of whoever waited for this turn it were not yet due.
_DUE = """
    CREATE OR REPLACE FUNCTION lookup_due_deliveries(
        at timestamptz, most integer, of_tenant integer, of_webhook integer, hold_seconds double precision
    )
    RETURNS TABLE (tenant_id uuid, id text) LANGUAGE plpgsql
    {definer} AS $$
    #variable_conflict use_column
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('lookup_due_deliveries'));
        RETURN QUERY WITH due AS (
            SELECT w.tenant_id, w.id, w.webhook_id, w.next_attempt_at,
                coalesce(w.held_until <= at, true) AS is_free
            FROM public.webhook_deliveries w
            WHERE w.state = 'pending' AND (w.next_attempt_at <= at OR w.held_until > at)
        ), of_its_webhook AS (
            SELECT d.*, row_number() OVER (
                PARTITION BY d.tenant_id, d.webhook_id ORDER BY d.is_free, d.next_attempt_at, d.id
            ) AS place FROM due d
        ), of_its_tenant AS (
            SELECT o.tenant_id, o.id, o.next_attempt_at, o.is_free, row_number() OVER (
                PARTITION BY o.tenant_id ORDER BY o.is_free, o.place, o.next_attempt_at, o.id
            ) AS place FROM of_its_webhook o WHERE o.place <= of_webhook OR NOT o.is_free
        )
        UPDATE public.webhook_deliveries d SET held_until = at + make_interval(secs => hold_seconds)
        WHERE (d.tenant_id, d.id) IN (
            SELECT w.tenant_id, w.id FROM public.webhook_deliveries w
            JOIN of_its_tenant o ON (o.tenant_id, o.id) = (w.tenant_id, w.id)
            WHERE o.is_free AND o.place <= of_tenant
              AND w.state = 'pending' AND (w.held_until IS NULL OR w.held_until <= at)
            ORDER BY o.place, o.next_attempt_at LIMIT most FOR UPDATE OF w SKIP LOCKED
        )
        RETURNING d.tenant_id, d.id::text;
    END
    $$
"""
_HELD_INDEX = "ix_webhook_deliveries_held_until"

# Without statistics the planner takes ten thousand waiting jobs for a few, and compares each with each. So
# nothing is left to it: a job finds its run by the index, the rest is joined by hash.
_BY_HASH = "SET enable_nestloop = off"
_TURNS = """
    CREATE OR REPLACE FUNCTION lookup_turns()
    RETURNS TABLE (job_id bigint, at_work bigint, last_begun timestamptz, serial bigint)
    LANGUAGE sql STABLE {definer} SET enable_seqscan = off {by_hash} AS $$
        WITH jobs AS (
            SELECT j.id AS job_id, j.status = 'todo' AS waits, r.tenant_id, r.id, r.serial
            FROM public.procrastinate_jobs j CROSS JOIN LATERAL (
                SELECT r.tenant_id, r.id, r.serial FROM public.runs r
                WHERE r.id = j.args ->> 'run_id' LIMIT 1
            ) r
            WHERE j.status IN ('todo', 'doing')
        ), held AS (
            (SELECT r.tenant_id, r.id FROM public.runs r WHERE r.state = 'running'
             UNION SELECT j.tenant_id, j.id FROM jobs j WHERE NOT j.waits)
            EXCEPT SELECT j.tenant_id, j.id FROM jobs j WHERE j.waits
        ), turns AS (
            SELECT t.tenant_id,
                (SELECT max(r.started_at) FROM public.runs r WHERE r.tenant_id = t.tenant_id) AS last_begun
            FROM (SELECT DISTINCT j.tenant_id FROM jobs j WHERE j.waits) t
        ), busy AS (
            SELECT h.tenant_id, count(*) AS at_work FROM held h GROUP BY h.tenant_id
        )
        SELECT j.job_id, coalesce(b.at_work, 0), t.last_begun, j.serial
        FROM jobs j JOIN turns t ON t.tenant_id = j.tenant_id LEFT JOIN busy b ON b.tenant_id = j.tenant_id
        WHERE j.waits
    $$
"""
_FETCH = "procrastinate_fetch_job_v2(character varying[], bigint)"


def upgrade() -> None:
    op.add_column("run_blocks", sa.Column("sealed_by", sa.String(length=64), nullable=True, comment=_COMMENT))
    op.create_index(
        _HELD_INDEX, "webhook_deliveries", ["held_until"], unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )  # fmt: skip
    op.execute(_DUE.format(definer=DEFINER))
    op.execute(_TURNS.format(definer=DEFINER, by_hash=_BY_HASH))
    op.execute(f"ALTER FUNCTION {_FETCH} {_BY_HASH}")


def downgrade() -> None:
    """The functions stay: earlier versions call them just so."""
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    # Their runs begin anew: an earlier version would look for another key.
    op.execute("DELETE FROM run_blocks WHERE sealed_by IS NOT NULL")
    op.execute("SELECT set_config('app.maintenance', '', true)")
    op.drop_index(_HELD_INDEX, "webhook_deliveries")
    op.drop_column("run_blocks", "sealed_by")

"""How many runs wait and are at work, by kind and over all tenants, for the metrics."""

from alembic import op

from migrations.row_security import DEFINER, let_call

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# The partial index on runs that are queued or running answers it, however many have ended.
_QUEUE = "lookup_run_queue(at timestamptz)"
_QUEUE_BODY = """
    RETURNS TABLE (
        kind text, queued bigint, running bigint,
        oldest_seconds double precision, estimated_seconds double precision
    ) LANGUAGE sql STABLE {definer} AS $$
        SELECT s.kind, count(*) FILTER (WHERE r.state = 'queued'),
            count(*) FILTER (WHERE r.state = 'running'),
            coalesce(extract(epoch FROM at - min(r.created_at) FILTER (WHERE r.state = 'queued')), 0),
            coalesce(sum((r.estimate ->> 'seconds')::double precision) FILTER (WHERE r.state = 'queued'), 0)
        FROM public.runs r
        JOIN public.resources s ON s.tenant_id = r.tenant_id AND s.id = r.resource_id
        WHERE r.state IN ('queued', 'running')
        GROUP BY s.kind
    $$
"""


def upgrade() -> None:
    op.execute(f"CREATE FUNCTION {_QUEUE} {_QUEUE_BODY.format(definer=DEFINER)}")
    let_call(_QUEUE)


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {_QUEUE}")

"""Runs keep their losses apart from their attempts; tenants, and receivers of webhooks, take turns."""

from importlib.resources import files

import sqlalchemy as sa
from alembic import op

from migrations.row_security import DEFINER, let_call

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# Whoever saw a worker die need not wait until its runs have been silent for long enough.
_FORSAKE = "lookup_forsake_runs(dead_worker text, silent_seconds double precision)"
_FORSAKE_BODY = """
    RETURNS bigint LANGUAGE sql
    {definer} AS $$
        WITH forsaken AS (
            UPDATE public.runs r SET alive_at = r.alive_at - make_interval(secs => silent_seconds)
            WHERE r.state = 'running' AND r.worker = dead_worker RETURNING r.id
        ) SELECT count(*) FROM forsaken
    $$
"""

# A run is at work while it has a worker, or is just being handed to one; not if it waits to be taken over.
_TURNS = "lookup_turns()"
_TURNS_BODY = """
    RETURNS TABLE (job_id bigint, at_work bigint, last_begun timestamptz, serial bigint)
    LANGUAGE sql STABLE {definer} AS $$
        WITH waiting AS (
            SELECT j.id AS job_id, r.tenant_id, r.id, r.serial
            FROM public.procrastinate_jobs j JOIN public.runs r ON r.id = j.args ->> 'run_id'
            WHERE j.status = 'todo'
        ), held AS (
            (SELECT r.tenant_id, r.id FROM public.runs r WHERE r.state = 'running'
             UNION
             SELECT r.tenant_id, r.id
             FROM public.procrastinate_jobs j JOIN public.runs r ON r.id = j.args ->> 'run_id'
             WHERE j.status = 'doing')
            EXCEPT SELECT w.tenant_id, w.id FROM waiting w
        ), turns AS (
            SELECT t.tenant_id,
                (SELECT count(*) FROM held h WHERE h.tenant_id = t.tenant_id) AS at_work,
                (SELECT max(r.started_at) FROM public.runs r WHERE r.tenant_id = t.tenant_id) AS last_begun
            FROM (SELECT DISTINCT w.tenant_id FROM waiting w) t
        )
        SELECT w.job_id, t.at_work, t.last_begun, w.serial
        FROM waiting w JOIN turns t ON t.tenant_id = w.tenant_id
    $$
"""

# The queue's own way to take a job, but for the order. One worker chooses after the other, so that each sees
# what the others have taken. Job and run stay together: what a job delivers is still the run that it names.
_FETCH_CHANGES = (
    ("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
    ("BEGIN\n", "BEGIN\n    PERFORM pg_advisory_xact_lock(hashtext('procrastinate_fetch_job_v2'));\n"),
    (
        "FROM procrastinate_jobs AS jobs\n",
        "FROM procrastinate_jobs AS jobs LEFT JOIN lookup_turns() AS turns ON turns.job_id = jobs.id\n",
    ),
    (
        "ORDER BY jobs.priority DESC, jobs.id ASC",
        "ORDER BY jobs.priority DESC, turns.at_work, turns.last_begun NULLS FIRST, turns.serial, jobs.id",
    ),
)

# Messages under way come first in the order of their webhook and of their tenant, and so take places.
_OLD_DUE = "lookup_due_deliveries(timestamptz, integer, double precision)"
_DUE = (
    "lookup_due_deliveries(at timestamptz, most integer, of_tenant integer, of_webhook integer,"
    " hold_seconds double precision)"
)
_DUE_BODY = """
    RETURNS TABLE (tenant_id uuid, id text) LANGUAGE sql
    {definer} AS $$
        WITH due AS (
            SELECT w.tenant_id, w.id, w.webhook_id, w.next_attempt_at,
                coalesce(w.held_until <= at, true) AS is_free
            FROM public.webhook_deliveries w WHERE w.state = 'pending' AND w.next_attempt_at <= at
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
        RETURNING d.tenant_id, d.id
    $$
"""
_OLD_DUE_BODY = """
    CREATE FUNCTION lookup_due_deliveries(at timestamptz, most integer, hold_seconds double precision)
    RETURNS TABLE (tenant_id uuid, id text) LANGUAGE sql
    {definer} AS $$
        UPDATE public.webhook_deliveries d SET held_until = at + make_interval(secs => hold_seconds)
        WHERE (d.tenant_id, d.id) IN (
            SELECT w.tenant_id, w.id FROM public.webhook_deliveries w
            WHERE w.state = 'pending' AND w.next_attempt_at <= at
              AND (w.held_until IS NULL OR w.held_until <= at)
            ORDER BY w.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING d.tenant_id, d.id
    $$
"""
_FUNCTIONS = {_FORSAKE: _FORSAKE_BODY, _TURNS: _TURNS_BODY, _DUE: _DUE_BODY}
_INDEX = "ix_runs_tenant_id_started_at"


def upgrade() -> None:
    op.add_column("runs", sa.Column("losses", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.create_index(_INDEX, "runs", ["tenant_id", "started_at"], unique=False)
    op.execute(f"DROP FUNCTION {_OLD_DUE}")
    for signature, body in _FUNCTIONS.items():
        op.execute(f"CREATE FUNCTION {signature} {body.format(definer=DEFINER)}")
        let_call(signature)
    fetch = _shipped_fetch()
    for old, new in _FETCH_CHANGES:
        if fetch.count(old) != 1:
            raise AssertionError(f"procrastinate's function to fetch a job is another one: {old!r}")
        fetch = fetch.replace(old, new)
    op.get_bind().connection.driver_connection.execute(fetch)


def downgrade() -> None:
    shipped = _shipped_fetch().replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    op.get_bind().connection.driver_connection.execute(shipped)
    for signature in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {signature}")
    op.execute(_OLD_DUE_BODY.format(definer=DEFINER))
    let_call(_OLD_DUE)
    op.drop_index(_INDEX, "runs")
    op.drop_column("runs", "losses")


def _shipped_fetch() -> str:
    """The function to fetch a job, as procrastinate ships it."""
    schema = files("migrations").joinpath("procrastinate_3_10_0.sql").read_text()
    begin = schema.index("CREATE FUNCTION procrastinate_fetch_job_v2(")
    return schema[begin : schema.index("CREATE FUNCTION procrastinate_finish_job_v1(")]

"""The queue's tables, as procrastinate 3.10.0 ships them, and the look-up of runs that nobody works on."""

from importlib.resources import files

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = (
    "procrastinate_events",
    "procrastinate_periodic_defers",
    "procrastinate_jobs",
    "procrastinate_workers",
)

# A job is alive while it waits, or while the queue worker that fetched it gives signs of life.
_LOST_RUNS = """
    CREATE FUNCTION lookup_lost_runs(silent_seconds double precision)
    RETURNS TABLE (id text, attempt integer) LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        SELECT r.id, r.attempt FROM public.runs r
        WHERE r.alive_at <= clock_timestamp() - make_interval(secs => silent_seconds)
          AND (r.state = 'running' OR r.state = 'queued' AND NOT EXISTS (
              SELECT FROM public.procrastinate_jobs j
              LEFT JOIN public.procrastinate_workers w ON w.id = j.worker_id
              WHERE j.args ->> 'run_id' = r.id
                AND (j.status = 'todo' OR j.status = 'doing'
                     AND w.last_heartbeat > clock_timestamp() - make_interval(secs => silent_seconds))
          ))
        ORDER BY r.alive_at
    $$
"""


def upgrade() -> None:
    driver = op.get_bind().connection.driver_connection
    driver.execute(files("migrations").joinpath("procrastinate_3_10_0.sql").read_text())
    for table in _TABLES:
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE {table} TO app_runtime")
    for table in _TABLES:
        op.execute(f"GRANT USAGE ON SEQUENCE {table}_id_seq TO app_runtime")
    op.execute(_LOST_RUNS)
    op.execute("REVOKE ALL ON FUNCTION lookup_lost_runs(double precision) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION lookup_lost_runs(double precision) TO app_runtime")


def downgrade() -> None:
    op.execute("DROP FUNCTION lookup_lost_runs(double precision)")
    for table in _TABLES:
        op.execute(f"DROP TABLE {table} CASCADE")
    op.execute("""
        DO $$
        DECLARE it regprocedure;
        BEGIN
            FOR it IN SELECT p.oid FROM pg_proc p
                WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'procrastinate\\_%'
            LOOP EXECUTE format('DROP FUNCTION %s', it); END LOOP;
        END $$
    """)
    op.execute(
        "DROP TYPE procrastinate_job_to_defer_v1, procrastinate_job_status, procrastinate_job_event_type"
    )

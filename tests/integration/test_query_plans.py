"""The queries that every request or every beat makes use an index, however large the tables are."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg import sql

TENANT = "00000000-0000-0000-0000-00000000000a"
HOT = {
    "a resource by id or name": "SELECT * FROM resources WHERE kind = 'rule' AND (id = 'x' OR name = 'x')",
    "a page of resources": "SELECT * FROM resources WHERE kind = 'rule' AND serial < 900"
    " ORDER BY serial DESC LIMIT 51",
    "the users of a resource": "SELECT * FROM resource_uses WHERE used_id = 'x'",
    "what a resource uses": "SELECT * FROM resource_uses WHERE user_id = 'x' ORDER BY position",
    "a piece": "SELECT payload FROM upload_pieces WHERE upload_id = 'x' AND number > 3"
    " ORDER BY number LIMIT 1",
    "a run": "SELECT * FROM runs WHERE id = 'x'",
    "a page of runs": "SELECT * FROM runs WHERE serial < 900 ORDER BY serial DESC LIMIT 51",
    "the runs of a resource": "SELECT * FROM runs WHERE resource_id = 'x' ORDER BY serial DESC LIMIT 51",
    "the events of a run": "SELECT * FROM run_events WHERE run_id = 'x' AND number > 3"
    " ORDER BY number LIMIT 9",
    "a fenced heartbeat": "UPDATE runs SET alive_at = now()"
    " WHERE id = 'x' AND state = 'running' AND attempt = 1",
    "a result by its input": "SELECT * FROM results WHERE input_sha256 = 'x' AND kind = 'assessment'",
    "an idempotency key": "SELECT * FROM idempotency_keys WHERE route = 'x' AND key = 'y'",
    "the last audit event": "SELECT * FROM audit_events ORDER BY number DESC LIMIT 1",
    "a data key": "SELECT * FROM data_keys WHERE id = 'x'",
    "the signing key in use": "SELECT * FROM signing_keys WHERE valid_until IS NULL",
    "evidence by its id": "SELECT * FROM evidence WHERE id = 'x'",
    "the newest evidence about a name": "SELECT * FROM evidence WHERE resource_name = 'x'"
    " ORDER BY serial DESC LIMIT 1",
    "the evidence about a resource": "SELECT * FROM evidence WHERE resource_id = 'x'",
    "a page of evidence": "SELECT * FROM evidence WHERE serial < 900 ORDER BY serial DESC LIMIT 51",
    "the last evidence of a key": "SELECT max(issued_at) FROM evidence WHERE key_id = 'k1'",
    "resources of a day": "SELECT * FROM resources WHERE kind = 'rule' AND created_at >= '2020-01-01'"
    " AND created_at < '2020-01-02' ORDER BY serial DESC LIMIT 51",
    "runs of a day": "SELECT * FROM runs WHERE created_at >= '2020-01-01' AND created_at < '2020-01-02'"
    " ORDER BY serial DESC LIMIT 51",
    "evidence of a day": "SELECT * FROM evidence WHERE issued_at >= '2020-01-01'"
    " AND issued_at < '2020-01-02' ORDER BY serial DESC LIMIT 51",
    "audit events of a day": "SELECT * FROM audit_events WHERE at >= '2020-01-01' AND at < '2020-01-02'"
    " ORDER BY number DESC LIMIT 51",
    "an API key by its prefix": "SELECT * FROM api_keys WHERE prefix = 'x'",
}


@pytest.fixture(scope="module")
def file_database(own_database):
    return own_database


@pytest.fixture(scope="module")
def crowded(database_urls):
    """A connection as the runtime role to tables whose statistics say that they are large."""
    with psycopg.connect(database_urls.admin, autocommit=True) as superuser:
        _crowd(superuser)
    with psycopg.connect(database_urls.runtime) as connection:
        connection.execute("SELECT set_config('app.tenant', %s, false)", [TENANT])
        yield connection


def _crowd(superuser):
    tenants = (
        "(SELECT ('00000000-0000-0000-0000-00000000000' || to_hex(t))::uuid AS tenant, t"
        " FROM generate_series(1, 10) t) s"
    )
    rows = f"FROM {tenants}, generate_series(1, 1000) n"
    for statement in (
        f"INSERT INTO tenants SELECT tenant, 'tenant ' || t, now() FROM {tenants}",
        f"INSERT INTO data_keys SELECT tenant, 'k' || n, 'documents', '', '' {rows}",
        "INSERT INTO api_keys (tenant_id, id, name, prefix, secret_sha256, scopes, created_at)"
        f" SELECT tenant, t || 'k' || n, 'n' || n, t || 'p' || n, '', '{{}}', now() {rows}",
        "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
        " SELECT tenant, 'r' || n, CASE n % 9 WHEN 0 THEN 'rule' ELSE 'dataset' END, 'n' || n, 'h' || n,"
        f" '{{}}', '', now() {rows}",
        f"INSERT INTO resource_uses SELECT tenant, 'r' || n, 0, 'r' || n {rows}",
        f"INSERT INTO upload_pieces SELECT tenant, 'k' || n, 0, 1, 'h', '' {rows}",
        f"INSERT INTO results SELECT tenant, 'x' || n, 'assessment', 'h' || n, '', now() {rows}",
        "INSERT INTO runs (tenant_id, id, resource_id, state, input_sha256, estimate, created_at)"
        f" SELECT tenant, t || 'u' || n, 'r' || n, 'succeeded', 'h' || n, '{{}}', now() {rows}",
        f"INSERT INTO run_events SELECT tenant, t || 'u' || n, 1, 'state', '{{}}', now() {rows}",
        f"INSERT INTO idempotency_keys SELECT tenant, 'route', 'k' || n, 'f', '', now() {rows}",
        f"INSERT INTO audit_events SELECT tenant, n, 'k', 'a', 's', '{{}}', now(), '', '' {rows}",
        "INSERT INTO signing_keys (tenant_id, id, public_key, wrapped_key, master_key_id, valid_from,"
        f" valid_until) SELECT tenant, 'k' || n, '', '', '', now(), CASE WHEN n > 1 THEN now() END {rows}",
        "INSERT INTO evidence (tenant_id, id, report, resource_id, resource_name, resource_sha256, key_id,"
        " sha256, envelope, issued_at)"
        f" SELECT tenant, 'e' || n, 'verdict', 'r' || n, 'n' || n, 'h', 'k' || n, 'h', '', now() {rows}",
        "ANALYZE",
    ):
        superuser.execute(statement)


def scans(plan):
    """The kinds of all nodes that read a table."""
    if "Relation Name" in plan:
        yield plan["Node Type"]
    for part in plan.get("Plans", ()):
        yield from scans(part)


@pytest.mark.parametrize("query", HOT.values(), ids=HOT)
def test_a_hot_query_uses_an_index(query, crowded):
    (answer,) = crowded.execute(sql.SQL("EXPLAIN (FORMAT JSON) ") + sql.SQL(query)).fetchone()
    plan = answer if isinstance(answer, list) else json.loads(answer)
    used = [kind for kind in scans(plan[0]["Plan"]) if kind != "ModifyTable"]
    assert used
    assert "Seq Scan" not in used, json.dumps(plan, indent=1)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "body",
    [
        "SELECT * FROM api_keys WHERE prefix = 'x'",
        "SELECT tenant_id FROM runs WHERE id = 'x'",
        "SELECT id FROM runs WHERE state IN ('queued', 'running') AND alive_at <= now()",
    ],
)
def test_a_look_up_before_the_tenant_is_known_uses_an_index(body, database_urls):
    with psycopg.connect(database_urls.admin) as connection:
        (plan,) = connection.execute(sql.SQL("EXPLAIN (FORMAT JSON) ") + sql.SQL(body)).fetchone()
    assert "Seq Scan" not in list(scans(plan[0]["Plan"]))

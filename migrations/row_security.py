"""How tenants are kept apart, and by which functions alone a session sees beyond its own tenant.

Migrations that are released rest on these: what needs other rules gets a function of its own.
"""

from alembic import op

# The tenant is set for one transaction; afterwards the setting is empty rather than unset.
_TENANT = "(SELECT nullif(current_setting('app.tenant', true), '')::uuid)"
# Even the owner sees rows only inside look-up functions, where the session is another role's, and
# in an operator's command that says so.
_LOOKUP = "(SELECT session_user <> current_user OR current_setting('app.maintenance', true) = 'on')"

# How a look-up function is declared, so that it runs as the owner and finds nothing but its own names.
DEFINER = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"


def secure(table: str, rights: str, column: str = "tenant_id") -> None:
    """Separate the tenants of one table, for its owner too, and let the runtime role in.

    ``column`` holds the tenant of a row, ``rights`` are what the runtime role is granted.
    """
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON {table} USING ({column} = {_TENANT})")
    op.execute(f"CREATE POLICY lookup ON {table} TO CURRENT_USER USING ({_LOOKUP})")
    op.execute(f"REVOKE ALL ON TABLE {table} FROM PUBLIC")
    op.execute(f"GRANT {rights} ON TABLE {table} TO app_runtime")


def let_call(signature: str) -> None:
    """Let the runtime role, and nobody else, call a look-up function."""
    op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO app_runtime")

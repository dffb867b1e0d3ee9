"""Of the API keys that are not revoked, one has a name.

Of several that have one, the newest keeps it; the others are named NAME-2, NAME-3 and on, where these are
free.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_LONGEST = 100


def upgrade() -> None:
    op.execute("SELECT set_config('app.maintenance', 'on', true)")
    connection = op.get_bind()
    live = sa.text("SELECT tenant_id, id, name FROM api_keys WHERE revoked_at IS NULL ORDER BY serial DESC")
    keys = connection.execute(live).all()
    taken = {(key.tenant_id, key.name) for key in keys}
    kept = set()
    for key in keys:
        if (key.tenant_id, key.name) not in kept:
            kept.add((key.tenant_id, key.name))
            continue
        number = 2
        while (key.tenant_id, name := f"{key.name[: _LONGEST - len(str(number)) - 1]}-{number}") in taken:
            number += 1
        taken.add((key.tenant_id, name))
        kept.add((key.tenant_id, name))
        connection.execute(
            sa.text("UPDATE api_keys SET name = :name WHERE tenant_id = :tenant AND id = :id"),
            {"name": name, "tenant": key.tenant_id, "id": key.id},
        )
    op.execute("SELECT set_config('app.maintenance', '', true)")
    op.create_index(
        "ix_api_keys_tenant_id_name", "api_keys", ["tenant_id", "name"], unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index("ix_api_keys_tenant_id_name", "api_keys")

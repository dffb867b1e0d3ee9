"""Who may come in."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import bodies

API_KEYS: Final = bodies(
    {"name": "reader", "scopes": ["data:read", "assess"]}, reader="a key that cannot write"
)

TENANTS: Final = bodies({"name": "acme"}, acme="a tenant")

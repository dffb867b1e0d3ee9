# Made of asynchronous/access.py by generate_synchronous.py: change that file, not this one.
"""Tenants, their keys, and something to begin with."""

from __future__ import annotations

from collections.abc import Sequence

from privacy_risk.answers import items_in
from privacy_risk.synchronous.connection import VERSION, Connection
from privacy_risk.values import Json


class ApiKeys:
    """The tenant's API keys."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._path = f"{VERSION}/api-keys"

    def all(self) -> Sequence[Json]:
        """All keys, revoked ones included; never their secrets."""
        return items_in(self._connection.get_json(self._path))

    def current(self) -> Json:
        """The key that this client uses."""
        return self._connection.get_json(f"{self._path}/current")

    def create(self, body: Json) -> Json:
        """A new key; its ``token`` is shown this once."""
        return self._connection.post(self._path, body)

    def revoke(self, key_id: str) -> None:
        """End a key."""
        self._connection.delete(f"{self._path}/{key_id}")


class Tenants:
    """The own tenant; and for the service's operator all of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._path = f"{VERSION}/tenants"

    def own(self) -> Json:
        """How long the own tenant's data are kept, how much it may have, and has."""
        return self._connection.get_json(f"{VERSION}/tenant")

    def all(self) -> Sequence[Json]:
        """All tenants."""
        return items_in(self._connection.get_json(self._path))

    def create(self, name: str) -> Json:
        """A new tenant, and its first key, whose ``token`` is shown this once."""
        return self._connection.post(self._path, {"name": name})


class ExampleData:
    """The resources of the examples, to look at and to try calls on."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, body: Json | None = None) -> Json:
        """Make them, as far as they are not there."""
        return self._connection.post(f"{VERSION}/example-data", body or {})

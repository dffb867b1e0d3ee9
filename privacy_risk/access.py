"""Tenants, their keys, and something to begin with."""

from __future__ import annotations

from collections.abc import Sequence

from privacy_risk.answers import items_in
from privacy_risk.calls import Calls, call
from privacy_risk.connection import VERSION
from privacy_risk.pools import Pool
from privacy_risk.values import Json


class ApiKeys(Calls[Pool]):
    """The tenant's API keys."""

    @call
    async def all(self) -> Sequence[Json]:
        """All keys, revoked ones included; never their secrets."""
        return items_in(await self._connection.get_json(self._path))

    @call
    async def current(self) -> Json:
        """The key that this client uses."""
        return await self._connection.get_json(f"{self._path}/current")

    @call
    async def create(self, body: Json) -> Json:
        """A new key; its ``token`` is shown this once."""
        return await self._connection.post(self._path, body)

    @call
    async def revoke(self, key_id: str) -> None:
        """End a key."""
        await self._connection.delete(f"{self._path}/{key_id}")


class Tenants(Calls[Pool]):
    """The own tenant; and for the service's operator all of them."""

    @call
    async def own(self) -> Json:
        """How long the own tenant's data are kept, how much it may have, and has."""
        return await self._connection.get_json(f"{VERSION}/tenant")

    @call
    async def all(self) -> Sequence[Json]:
        """All tenants."""
        return items_in(await self._connection.get_json(self._path))

    @call
    async def create(self, name: str) -> Json:
        """A new tenant, and its first key, whose ``token`` is shown this once."""
        return await self._connection.post(self._path, {"name": name})


class ExampleData(Calls[Pool]):
    """The resources of the examples, to look at and to try calls on."""

    @call
    async def create(self, body: Json | None = None) -> Json:
        """Make them, as far as they are not there."""
        return await self._connection.post(f"{VERSION}/example-data", body or {})

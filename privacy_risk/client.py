"""The two clients: one connection pool, one attribute per kind of resource."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx

from privacy_risk.calls import Calls, call, outcome
from privacy_risk.collection import Answered, Collection, Defined, Searched
from privacy_risk.connection import VERSION, Connection
from privacy_risk.governance import (
    ApiKeys,
    AuditEvents,
    Budgets,
    Evaluations,
    Evidence,
    ExampleData,
    Policies,
    SigningKeys,
    Tenants,
    Webhooks,
)
from privacy_risk.pools import AwaitedPool, BlockingPool, Pool
from privacy_risk.resources import (
    Assessments,
    Datasets,
    DictionarySets,
    Frontiers,
    Hierarchies,
    Releases,
    Rules,
    SequentialDisclosures,
    Uploads,
)
from privacy_risk.retries import Retries
from privacy_risk.runs import Runs
from privacy_risk.values import Json


class _Service(Calls[Pool]):
    """What the service offers."""

    def __init__(self, pool: Pool, retries: Retries) -> None:
        self._pool = pool
        connection = Connection(pool, retries)
        super().__init__(connection)
        self.hierarchies = Hierarchies(connection, "/hierarchies")
        self.uploads = Uploads(connection, "/uploads")
        self.datasets = Datasets(connection, "/datasets")
        self.dictionaries = Defined(connection, "/dictionaries")
        self.dictionary_sets = DictionarySets(connection, "/dictionary-sets")
        self.sensitivity_profiles = Defined(connection, "/sensitivity-profiles")
        self.rules = Rules(connection, "/rules")
        self.assessments = Assessments(connection, "/assessments")
        self.measurements = Answered(connection, "/measurements")
        self.optimisations = Searched(connection, "/optimisations")
        self.frontiers = Frontiers(connection, "/frontiers")
        self.releases = Releases(connection, "/releases")
        self.sequential_disclosures = SequentialDisclosures(connection, "/sequential-disclosures")
        self.relational_schemas = Collection(connection, "/relational-schemas")
        self.mechanism_audits = Answered(connection, "/mechanism-audits")
        self.view_checks = Answered(connection, "/view-checks")
        self.runs = Runs(connection, "/runs")
        self.policies = Policies(connection, "/policies")
        self.evaluations = Evaluations(connection, "/evaluations")
        self.budgets = Budgets(connection, "/budgets")
        self.waivers = Collection(connection, "/waivers")
        self.evidence = Evidence(connection, "/evidence")
        self.signing_keys = SigningKeys(connection, "/signing-keys")
        self.webhooks = Webhooks(connection, "/webhooks")
        self.audit_events = AuditEvents(connection, "/audit-events")
        self.example_data = ExampleData(connection, "/example-data")
        self.api_keys = ApiKeys(connection, "/api-keys")
        self.tenants = Tenants(connection, "/tenants")

    @call
    async def catalogue(self) -> Json:
        """What can be measured and chosen, with the parameters of each."""
        return await self._connection.get_json(f"{VERSION}/catalogue")

    @call
    async def propose_dialect(self, sample: bytes) -> Json:
        """How the beginning of a CSV file, at most 1 MiB of it, would be read best."""
        return await self._connection.post_content(
            f"{VERSION}/dialect-proposals", sample, "application/octet-stream"
        )

    @call
    async def health(self) -> Json:
        """Whether the service's process is alive."""
        return await self._connection.get_json("/healthz")

    @call
    async def readiness(self) -> Json:
        """Whether the service can work; ProblemError while it cannot."""
        return await self._connection.get_json("/readyz")


class Client(_Service[BlockingPool]):
    """The service at ``base_url`` under one API key, for programs that block.

    >>> with Client("http://127.0.0.1:8000", key) as client:        # doctest: +SKIP
    ...     client.hierarchies.create({"name": "race", "definition": {...}})

    Every call raises ProblemError when the service refuses, and httpx.TransportError when it cannot be
    reached, after as many attempts as ``retries`` says. ``timeout`` in seconds holds for single answers,
    not for uploads and event streams.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
    ) -> None:
        http = httpx.Client(**_addressed(base_url, api_key), timeout=timeout, transport=transport)
        super().__init__(BlockingPool(http), retries)

    def close(self) -> None:
        """Close the connections."""
        outcome(self._pool.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Service[AwaitedPool]):
    """The same as ``Client`` for programs that do not block: its calls are awaited.

    >>> async with AsyncClient("http://127.0.0.1:8000", key) as client:        # doctest: +SKIP
    ...     await client.hierarchies.create({"name": "race", "definition": {...}})
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
    ) -> None:
        http = AwaitedPool(**_addressed(base_url, api_key), timeout=timeout, transport=transport)
        super().__init__(http, retries)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _addressed(base_url: str, api_key: str) -> dict[str, Any]:
    """What all requests to the service have in common, as httpx takes it."""
    return {"base_url": base_url.rstrip("/"), "headers": {"Authorization": f"Bearer {api_key}"}}

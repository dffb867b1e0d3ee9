"""The client: one connection pool, one attribute per kind of resource."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from privacy_risk.asynchronous.access import AsyncApiKeys, AsyncExampleData, AsyncTenants
from privacy_risk.asynchronous.collection import AsyncAnswered, AsyncCollection, AsyncSearched
from privacy_risk.asynchronous.connection import VERSION, AsyncConnection
from privacy_risk.asynchronous.governance import (
    AsyncEvaluations,
    AsyncEvidence,
    AsyncPolicies,
    AsyncSigningKeys,
)
from privacy_risk.asynchronous.resources import (
    AsyncAssessments,
    AsyncDatasets,
    AsyncDictionarySets,
    AsyncFrontiers,
    AsyncHierarchies,
    AsyncReleases,
    AsyncRules,
    AsyncSequentialDisclosures,
    AsyncUploads,
)
from privacy_risk.asynchronous.runs import AsyncRuns
from privacy_risk.asynchronous.watching import AsyncAuditEvents, AsyncWebhooks
from privacy_risk.retries import Retries
from privacy_risk.values import Json


class AsyncClient:
    """The service at ``base_url`` under one API key.

    >>> async with AsyncClient("http://127.0.0.1:8000", key) as client:        # doctest: +SKIP
    ...     await client.hierarchies.create({"name": "race", "definition": {...}})

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
        transport: httpx.AsyncBaseTransport | None = None,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
    ) -> None:
        http = httpx.AsyncClient(
            base_url=base_url.rstrip("/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout,
            transport=transport,
        )
        self._connection = connection = AsyncConnection(http, retries)
        self.hierarchies = AsyncHierarchies(connection, "/hierarchies")
        self.uploads = AsyncUploads(connection, "/uploads")
        self.datasets = AsyncDatasets(connection, "/datasets")
        self.dictionaries = AsyncCollection(connection, "/dictionaries")
        self.dictionary_sets = AsyncDictionarySets(connection, "/dictionary-sets")
        self.sensitivity_profiles = AsyncCollection(connection, "/sensitivity-profiles")
        self.rules = AsyncRules(connection, "/rules")
        self.assessments = AsyncAssessments(connection, "/assessments")
        self.measurements = AsyncAnswered(connection, "/measurements")
        self.optimisations = AsyncSearched(connection, "/optimisations")
        self.frontiers = AsyncFrontiers(connection, "/frontiers")
        self.releases = AsyncReleases(connection, "/releases")
        self.sequential_disclosures = AsyncSequentialDisclosures(connection, "/sequential-disclosures")
        self.runs = AsyncRuns(connection)
        self.policies = AsyncPolicies(connection, "/policies")
        self.evaluations = AsyncEvaluations(connection, "/evaluations")
        self.waivers = AsyncCollection(connection, "/waivers")
        self.evidence = AsyncEvidence(connection)
        self.signing_keys = AsyncSigningKeys(connection)
        self.webhooks = AsyncWebhooks(connection)
        self.audit_events = AsyncAuditEvents(connection)
        self.example_data = AsyncExampleData(connection)
        self.api_keys = AsyncApiKeys(connection)
        self.tenants = AsyncTenants(connection)

    async def catalogue(self) -> Json:
        """What can be measured and chosen, with the parameters of each."""
        return await self._connection.get_json(f"{VERSION}/catalogue")

    async def propose_dialect(self, sample: bytes) -> Json:
        """How the beginning of a CSV file, at most 1 MiB of it, would be read best."""
        return await self._connection.post_content(
            f"{VERSION}/dialect-proposals", sample, "application/octet-stream"
        )

    async def health(self) -> Json:
        """Whether the service's process is alive."""
        return await self._connection.get_json("/healthz")

    async def readiness(self) -> Json:
        """Whether the service can work; ProblemError while it cannot."""
        return await self._connection.get_json("/readyz")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

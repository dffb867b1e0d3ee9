# Made of asynchronous/client.py by generate_synchronous.py: change that file, not this one.
"""The client: one connection pool, one attribute per kind of resource."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from privacy_risk.retries import Retries
from privacy_risk.synchronous.access import ApiKeys, ExampleData, Tenants
from privacy_risk.synchronous.collection import Answered, Collection, Searched
from privacy_risk.synchronous.connection import VERSION, Connection
from privacy_risk.synchronous.governance import (
    Evaluations,
    Evidence,
    Policies,
    SigningKeys,
)
from privacy_risk.synchronous.resources import (
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
from privacy_risk.synchronous.runs import Runs
from privacy_risk.synchronous.watching import AuditEvents, Webhooks
from privacy_risk.values import Json


class Client:
    """The service at ``base_url`` under one API key.

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
        http = httpx.Client(
            base_url=base_url.rstrip("/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout,
            transport=transport,
        )
        self._connection = connection = Connection(http, retries)
        self.hierarchies = Hierarchies(connection, "/hierarchies")
        self.uploads = Uploads(connection, "/uploads")
        self.datasets = Datasets(connection, "/datasets")
        self.dictionaries = Collection(connection, "/dictionaries")
        self.dictionary_sets = DictionarySets(connection, "/dictionary-sets")
        self.sensitivity_profiles = Collection(connection, "/sensitivity-profiles")
        self.rules = Rules(connection, "/rules")
        self.assessments = Assessments(connection, "/assessments")
        self.measurements = Answered(connection, "/measurements")
        self.optimisations = Searched(connection, "/optimisations")
        self.frontiers = Frontiers(connection, "/frontiers")
        self.releases = Releases(connection, "/releases")
        self.sequential_disclosures = SequentialDisclosures(connection, "/sequential-disclosures")
        self.runs = Runs(connection)
        self.policies = Policies(connection, "/policies")
        self.evaluations = Evaluations(connection, "/evaluations")
        self.waivers = Collection(connection, "/waivers")
        self.evidence = Evidence(connection)
        self.signing_keys = SigningKeys(connection)
        self.webhooks = Webhooks(connection)
        self.audit_events = AuditEvents(connection)
        self.example_data = ExampleData(connection)
        self.api_keys = ApiKeys(connection)
        self.tenants = Tenants(connection)

    def catalogue(self) -> Json:
        """What can be measured and chosen, with the parameters of each."""
        return self._connection.get_json(f"{VERSION}/catalogue")

    def propose_dialect(self, sample: bytes) -> Json:
        """How the beginning of a CSV file, at most 1 MiB of it, would be read best."""
        return self._connection.post_content(
            f"{VERSION}/dialect-proposals", sample, "application/octet-stream"
        )

    def health(self) -> Json:
        """Whether the service's process is alive."""
        return self._connection.get_json("/healthz")

    def readiness(self) -> Json:
        """Whether the service can work; ProblemError while it cannot."""
        return self._connection.get_json("/readyz")

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""The client: one connection pool, one attribute per kind of resource."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from app.client.resources import (
    Assessments,
    Collection,
    Datasets,
    DictionarySets,
    Frontiers,
    Hierarchies,
    Json,
    Measurements,
    Optimisations,
    Releases,
    Runs,
    SequentialDisclosures,
    Uploads,
    json_object,
)


class Client:
    """The service at ``base_url`` under one API key.

    >>> with Client("http://127.0.0.1:8000", key) as client:        # doctest: +SKIP
    ...     client.hierarchies.create({"name": "race", "definition": {...}})

    Every call raises ProblemError when the service refuses, and httpx.TransportError when it cannot be
    reached. ``timeout`` in seconds holds for single answers, not for uploads and event streams.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=base_url.rstrip("/") + "/v1",
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout,
            transport=transport,
        )
        self.hierarchies = Hierarchies(self._http, "/hierarchies")
        self.uploads = Uploads(self._http, "/uploads")
        self.datasets = Datasets(self._http, "/datasets")
        self.dictionaries = Collection(self._http, "/dictionaries")
        self.dictionary_sets = DictionarySets(self._http, "/dictionary-sets")
        self.sensitivity_profiles = Collection(self._http, "/sensitivity-profiles")
        self.rules = Collection(self._http, "/rules")
        self.assessments = Assessments(self._http, "/assessments")
        self.measurements = Measurements(self._http, "/measurements")
        self.optimisations = Optimisations(self._http, "/optimisations")
        self.frontiers = Frontiers(self._http, "/frontiers")
        self.releases = Releases(self._http, "/releases")
        self.sequential_disclosures = SequentialDisclosures(self._http, "/sequential-disclosures")
        self.runs = Runs(self._http)

    def catalogue(self) -> Json:
        """What can be measured and chosen, with the parameters of each."""
        return json_object(self._http.get("/catalogue"))

    def propose_dialect(self, sample: bytes) -> Json:
        """How the beginning of a CSV file, at most 1 MiB of it, would be read best."""
        response = self._http.post(
            "/dialect-proposals", content=sample, headers={"Content-Type": "application/octet-stream"}
        )
        return json_object(response)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

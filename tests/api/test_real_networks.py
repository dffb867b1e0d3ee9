"""Real networks through the service: lawyers who are friends, and people who follow each other."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from app.services.datasets.ingest.dialect import UploadLimits
from tests.api.networks import dataset, measured
from tests.api.service import build_api

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]
FOLDER = Path(DATA or "")


@pytest.fixture
async def client(store: Any, registry: Any, clock: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a new tenant, whose uploads may be as large as the product allows."""
    api = build_api(store, registry, clock, UploadLimits())
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        yield client


async def network(client: httpx.AsyncClient, folder: str, edges: str, person: str) -> tuple[Any, Any]:
    """The people and the edges of a folder as datasets, and as they stand in the files."""
    files = [FOLDER / folder / name for name in ("people.csv", f"{edges}.csv")]
    await dataset(client, "people", files[0].read_text(), **{person: "identifier"})
    await dataset(client, "edges", files[1].read_text())
    return tuple(pd.read_csv(path, dtype=str) for path in files)


async def test_advice_of_a_lawyer_leaks_as_the_dense_exponential_says(client: httpx.AsyncClient):
    people, edges = await network(client, "network-lazega-lawyers", "friendships", "person")
    asked = {
        "edges": "edges", "source": "from", "target": "to", "directed": True, "owner": "1", "time": 1.5,
        "trust": "attributes", "trust_attributes": ["office", "practice"],
    }  # fmt: skip
    answer = await measured(client, "diffusion_risk", **asked)
    assert answer.is_success, answer.text
    result = answer.json()["result"]
    n, number = len(people), {own: i for i, own in enumerate(people["person"])}
    walk = np.zeros((n, n))
    walk[edges["from"].map(number), edges["to"].map(number)] = 1.0
    alone = walk.sum(axis=1) == 0
    walk[alone, alone] = 1.0
    walk /= walk.sum(axis=1, keepdims=True)
    columns = people[["office", "practice"]]
    weights = np.where((columns == columns.iloc[0]).all(axis=1), 0.0, 1.0)
    risks = scipy.linalg.expm(1.5 * (walk - np.eye(n))) @ weights
    assert (result["people"], result["edges"], result["without_profile"]) == (71, 575, 0)
    assert len(result["recipients"]) == 70
    for own in result["recipients"]:
        assert own["risk"] == pytest.approx(risks[number[own["id"]]], abs=1e-12)


async def test_a_stream_among_7_126_people_leaks_as_scipy_says(client: httpx.AsyncClient):
    people, edges = await network(client, "network-twitch-engb", "edges", "node")
    asked = {
        "edges": "edges", "source": "from", "target": "to", "owner": "255", "kernel": "laplacian",
        "time": 0.5, "trust": "common_friends", "decreasing": "reciprocal", "most": 10_000,
    }  # fmt: skip
    answer = await measured(client, "diffusion_risk", **asked)
    assert answer.is_success, answer.text
    result = answer.json()["result"]
    n, number = len(people), {own: i for i, own in enumerate(people["node"])}
    ends = edges["from"].map(number), edges["to"].map(number)
    half = scipy.sparse.coo_array((np.ones(len(edges)), ends), shape=(n, n))
    links = scipy.sparse.csr_array(half + half.T)
    trust = (links @ links[[number["255"]]].T).toarray()[:, 0]
    weights = 1 / (1 + trust)
    weights[number["255"]] = 0.0
    generator = links - scipy.sparse.diags_array(links.sum(axis=1))
    risks = scipy.sparse.linalg.expm_multiply(0.5 * generator, weights, traceA=0.5 * generator.trace())
    assert (result["people"], result["edges"], result["without_edges"]) == (7126, 35324, 0)
    found = {own["id"]: own for own in result["recipients"]}
    assert len(found) == n - 1
    for name, own in found.items():
        assert own["trust"] == trust[number[name]]
        assert own["risk"] == pytest.approx(risks[number[name]], abs=1e-11)

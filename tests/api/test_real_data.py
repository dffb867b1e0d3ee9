"""The public data sets through the whole service, against plain pandas on the files as they are."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from app.services.datasets.ingest.dialect import UploadLimits
from tests.api.service import build_api

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]
FOLDER = Path(DATA or "")

CREDITCARD = ("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE")
UCI = ("age", "workclass", "race", "hours-per-week")


@pytest.fixture
async def client(store: Any, registry: Any, clock: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a new tenant, whose uploads may be as large as the product allows."""
    api = build_api(store, registry, clock, UploadLimits())
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        yield client


async def made(request: Any) -> dict[str, Any]:
    response = await request
    assert response.status_code == 201, response.text
    return response.json()


async def score(client: httpx.AsyncClient, levels: dict[str, int]) -> dict[str, Any]:
    body = {
        "dataset": "table",
        "dictionary": "table",
        "sensitivity": "harm",
        "rule": {"kind": "table_level", "levels": levels},
    }
    return (await made(client.post("/v1/assessments", json=body)))["result"]


async def its_own_dictionary(client: httpx.AsyncClient) -> None:
    await made(client.post("/v1/dictionaries", json={"name": "table", "from_dataset": "table"}))
    profile = {"name": "harm", "dataset": "table", "family": "constant", "constant": 1}
    await made(client.post("/v1/sensitivity-profiles", json=profile))


async def test_labels_repeated_between_levels_are_kept_apart(client: httpx.AsyncClient):
    folder = FOLDER / "creditcard-int"
    csv = {"Content-Type": "text/csv"}
    for name in CREDITCARD:
        rows = (folder / f"creditcard_int_hierarchy_{name}.csv").read_bytes()
        await made(client.post(f"/v1/hierarchies/csv?name={name}&delimiter=;", content=rows, headers=csv))
    table = (folder / "creditcard_int.csv").read_bytes()
    await made(client.post("/v1/uploads?name=table&delimiter=;", content=table, headers=csv))
    attributes = [
        {"name": name, "type": "categorical", "role": "quasi_identifier", "hierarchy": name}
        for name in CREDITCARD
    ]
    await made(
        client.post("/v1/datasets", json={"name": "table", "upload": "table", "attributes": attributes})
    )
    await its_own_dictionary(client)
    as_is = await score(client, {})
    assert as_is["classes"] == 10_517
    assert as_is["risk_average"] == pytest.approx(10_517 / 30_000, rel=1e-12)
    anonymous = await score(client, {"LIMIT_BAL": 3, "MARRIAGE": 2, "AGE": 4})
    assert anonymous["k_equivalence"] >= 5


@pytest.mark.deep
async def test_missing_values_and_built_hierarchies_give_what_pandas_counts(client: httpx.AsyncClient):
    source = FOLDER / "uci-adult-48842" / "adult.test"
    address = "/v1/uploads?name=table&trim=true&missing=%3F"
    await made(client.post(address, content=source.read_bytes(), headers={"Content-Type": "text/csv"}))
    from_column = {name: {"upload": {"upload": "table", "column": name}} for name in UCI}
    for name in UCI:
        numbers = {"kind": "intervals", "widths": ["10", "30"]}
        kind = numbers if name in ("age", "hours-per-week") else {"kind": "flat"}
        body = {"name": name, "definition": {**kind, **from_column[name]}}
        await made(client.post("/v1/hierarchies", json=body))
    attributes = [
        {"name": name, "type": "categorical", "role": "quasi_identifier", "hierarchy": name} for name in UCI
    ]
    dataset = {"name": "table", "upload": "table", "attributes": attributes}
    await made(client.post("/v1/datasets", json=dataset))
    await its_own_dictionary(client)
    found = await score(client, {"age": 1, "hours-per-week": 2})

    frame = pd.read_csv(source, skipinitialspace=True, na_values="?", usecols=list(UCI))
    assert frame["workclass"].isna().sum() > 0
    frame["age"], frame["hours-per-week"] = frame["age"] // 10, frame["hours-per-week"] // 30
    others = ["age", "race", "hours-per-week"]
    of_all = frame.groupby(others).size()
    missing = frame[frame["workclass"].isna()].groupby(others).size()
    same = frame.groupby([*others, "workclass"]).size()

    def consistent(row: Any) -> int:
        """A missing work class, on either side, is consistent with every other."""
        key = tuple(row[name] for name in others)
        if pd.isna(row["workclass"]):
            return int(of_all[key])
        return int(same[(*key, row["workclass"])]) + int(missing.get(key, 0))

    counts = frame.apply(consistent, axis=1)
    assert found["risk_average"] == pytest.approx((1 / counts).mean(), rel=1e-12)
    assert (found["min_consistent"], found["k_matching"]) == (counts.min(), counts.min())
    assert found["k_equivalence"] == frame.groupby([*others, "workclass"], dropna=False).size().min()

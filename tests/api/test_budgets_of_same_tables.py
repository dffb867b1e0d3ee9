"""A table has one budget in whichever file and order it comes, and however often that is read."""

from __future__ import annotations

import gzip
import io
from typing import Any

import httpx
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.services.datasets.ingest.rows_hash import RowsHash
from app.services.datasets.ingest.table_hash import TableHash
from tests.api.drawn_people import ILLNESSES, ROWS, TOWNS, asked, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api
from tests.conftest import DatabaseUrls

pytestmark = pytest.mark.anyio

CSV = "town,illness\n" + "\n".join(ROWS) + "\n"


def private(name: str, dataset: str, epsilon: float = 1) -> dict[str, Any]:
    mechanism = {"kind": "stability_histogram", "epsilon": epsilon, "delta": 1e-4, "least_records": 20}
    return {**asked(name, dataset, mechanism=mechanism), "independent_of_earlier": True}


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"illness": ILLNESSES, "town": TOWNS}), sink)
    return sink.getvalue()


def other_csv() -> bytes:
    return CSV.replace(",", ";").replace("\n", "\r\n").replace("Rome", '"Rome"').encode("utf-16")


FORMS = {
    "gzip": (gzip.compress(CSV.encode()), "format=csv.gz"),
    "dialect": (other_csv(), "format=csv&delimiter=;&encoding=utf-16"),
    "parquet": (parquet(), "format=parquet"),
    "another-order": ("town,illness\n" + "\n".join(sorted(ROWS)) + "\n", "format=csv"),
}


async def uploaded(client: httpx.AsyncClient, name: str, content: bytes | str, query: str) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    await made(client.post(f"/v1/uploads?name={name}&{query}", content=content, headers=headers))
    await people(client, name, upload=name, illnesses=[*ILLNESSES, "?"])


async def test_the_same_table_in_another_file_has_the_same_budget(client: httpx.AsyncClient):
    await people(client)
    body = {"name": "all", "dataset": "people", "epsilon": "1.5", "delta": "0.01"}
    await made(client.post("/v1/budgets", json=body))
    await made(client.post("/v1/releases", json=private("first", "people")))
    for own in ("releases/first", "datasets/people", "uploads/people"):  # also when nothing is stored of it
        assert (await client.delete(f"/v1/{own}")).status_code == 204
    for form, (content, query) in FORMS.items():
        await uploaded(client, form, content, query)
        told = (await client.get(f"/v1/datasets/{form}/budget")).json()
        assert (told["budget"], told["epsilon"]["remaining"]) == ("all", "0.5"), form
        problem_of(await client.post("/v1/releases", json=private("more", form)), 409, "conflict")
        other = await client.post("/v1/budgets", json={**body, "name": "fresh", "dataset": form})
        assert problem_of(other, 409, "conflict")["details"]["existing"]["name"] == "all"
    (listed,) = (await client.get("/v1/budgets")).json()["items"]
    assert listed["datasets"] == list(FORMS)
    manifest = (await made(client.post("/v1/releases", json=private("second", "parquet", 0.5))))["mechanism"]
    assert (manifest["draws"], manifest["together"]["parameters"]["epsilon"]) == (2, 1.5)
    without = {**private("third", "gzip", 0.1), "independent_of_earlier": False}
    problem_of(await client.post("/v1/releases", json=without), 409, "conflict")
    await made(
        client.post("/v1/releases", json={**asked("perturbed", "gzip"), "independent_of_earlier": True})
    )
    assert [own["release"] for own in (await client.get("/v1/budgets/all")).json()["voided_by"]] == [
        "perturbed"
    ]


async def test_another_table_has_a_budget_of_its_own(client: httpx.AsyncClient):
    await people(client)
    body = {"name": "all", "dataset": "people", "epsilon": "1.5", "delta": "0.01"}
    await made(client.post("/v1/budgets", json=body))
    others = {
        "fewer": CSV.rsplit("\n", 2)[0],
        "missing": CSV.replace("gout", ""),
        "one-twice-and-another-never": CSV.replace("Rome,flu", "Rome,asthma", 1),
    }
    for name, text in others.items():
        await uploaded(client, name, text, "format=csv")
        assert (await client.get(f"/v1/datasets/{name}/budget")).json()["budget"] is None


async def test_of_two_budgets_whose_tables_turn_out_to_be_the_same_each_is_kept(client: httpx.AsyncClient):
    """The same bytes, read in two ways, are one content; a file that is read as one of both is the same."""
    await people(client)
    marked = CSV.replace("gout", "?")
    await uploaded(client, "marked", marked, "format=csv")
    await uploaded(client, "emptied", CSV.replace("gout", ""), "format=csv")
    for name, epsilon in (("marked", "3"), ("emptied", "2")):
        body = {"name": name, "dataset": name, "epsilon": epsilon, "delta": "0.01"}
        await made(client.post("/v1/budgets", json=body))
    await made(client.post("/v1/releases", json=private("first", "emptied")))
    await uploaded(client, "bridge", marked, "format=csv&missing=?")
    for name in ("marked", "emptied", "bridge"):
        told = (await client.get(f"/v1/datasets/{name}/budget")).json()
        assert (told["budget"], told["epsilon"]["spent"], told["epsilon"]["remaining"]) == (
            "emptied",
            "1",
            "1",
        )
    refused = problem_of(
        await client.post("/v1/releases", json=private("more", "marked", 1.5)), 409, "conflict"
    )
    assert refused["details"]["budget"]["name"] == "emptied"
    listed = (await client.get("/v1/budgets")).json()["items"]
    assert {own["epsilon"]["spent"] for own in listed} == {"1"}
    assert {tuple(own["datasets"]) for own in listed} == {("marked", "emptied", "bridge")}
    # Either is found again by whoever asks for it, the later one, too.
    for name, epsilon in (("marked", "3"), ("emptied", "2")):
        body = {"name": name, "dataset": name, "epsilon": epsilon, "delta": "0.01"}
        assert (await client.post("/v1/budgets", json=body)).status_code == 200


async def test_of_several_budgets_the_least_of_each_number_decides_and_is_shown(client: httpx.AsyncClient):
    """The table comes in two files whose sameness a third one shows, each with a budget by then."""
    await people(client)
    marked = CSV.replace("gout", "?")
    await uploaded(client, "marked", marked, "format=csv")
    await uploaded(client, "emptied", CSV.replace("gout", ""), "format=csv")
    for name, epsilon, delta in (("marked", "1", "0.01"), ("emptied", "2", "0.00015")):
        body = {"name": name, "dataset": name, "epsilon": epsilon, "delta": delta}
        await made(client.post("/v1/budgets", json=body))
    await uploaded(client, "bridge", marked, "format=csv&missing=?")
    told = (await client.get("/v1/datasets/bridge/budget")).json()
    assert (told["budget"], told["budgets"]) == ("marked", ["marked", "emptied"])
    assert (told["epsilon"]["limit"], told["delta"]["limit"]) == ("1", "0.00015")
    for name in ("marked", "emptied"):
        assert (await client.get(f"/v1/budgets/{name}")).json() == told
    first = await made(client.post("/v1/releases", json=private("first", "bridge", 0.5)))
    shown = first["mechanism"]["budget"]
    assert shown["delta"]["remaining"] == "0.00005"
    assert "each of its budgets 'marked', 'emptied'" in shown["sentence"]
    # Either number is refused beyond what is shown as left, whichever budget it is of.
    for epsilon, delta, short in ((0.5, 1e-4, "emptied"), (0.6, 1e-5, "marked")):
        body = private("more", "marked", epsilon)
        body["mechanism"]["delta"] = delta
        problem = problem_of(await client.post("/v1/releases", json=body), 409, "conflict")
        assert problem["details"]["budget"]["name"] == short
    body = private("rest", "emptied", 0.5)
    body["mechanism"]["delta"] = 5e-5
    rest = await made(client.post("/v1/releases", json=body))
    left = rest["mechanism"]["budget"]
    assert (left["epsilon"]["remaining"], left["delta"]["remaining"]) == ("0", "0")


def hashes_in_clear() -> tuple[str, str]:
    """Of the people's cells, in their order and in none."""
    names = ("town", "illness")
    table = pa.table([TOWNS, ILLNESSES], names)
    cells, rows = TableHash(names), RowsHash(names)
    for own in (cells, rows):
        own.add(table)
    in_any_order = rows.hexdigest()
    assert in_any_order is not None
    return cells.hexdigest(), in_any_order


@pytest.mark.parametrize(("noted", "forms"), [(0, ("gzip", "another-order")), (1, ("another-order",))])
async def test_what_was_noted_with_no_key_is_put_under_one_and_recognised(
    api: Api, client: httpx.AsyncClient, database_urls: DatabaseUrls, noted: int, forms: tuple[str, ...]
):
    """As in a database of before: one hash, in clear, of rows in order or in any, with names of columns."""
    await people(client)
    body = {"name": "all", "dataset": "people", "epsilon": "1.5", "delta": "0.01"}
    await made(client.post("/v1/budgets", json=body))
    cells = hashes_in_clear()[noted]
    tenant = (await client.get("/v1/tenant")).json()["id"]
    with psycopg.connect(database_urls.admin) as connection:
        kept = f"SELECT table_sha256, is_keyed FROM read_contents WHERE tenant_id = '{tenant}'"
        found = dict(connection.execute(kept).fetchall())
        # Of the rows in their order, and in any without the columns' names.
        assert len(found) == 2
        assert all(found.values())
        assert found.keys().isdisjoint(hashes_in_clear())
        connection.execute(
            "WITH gone AS (DELETE FROM read_contents WHERE tenant_id = %s"
            " RETURNING tenant_id, content_sha256)"
            " INSERT INTO read_contents SELECT DISTINCT tenant_id, content_sha256, %s, false FROM gone",
            [tenant, cells],
        )
        connection.commit()
        assert await api.registry.put_table_hashes_under_keys() == 1
        assert await api.registry.put_table_hashes_under_keys() == 0
        connection.commit()
        ((again, is_keyed),) = connection.execute(kept).fetchall()
        assert is_keyed
        assert (again in found) == (noted == 0)
        # The same in clear once more, as an older process would note it beside a newer one.
        connection.execute(
            "INSERT INTO read_contents SELECT tenant_id, content_sha256, %s, false FROM read_contents"
            " WHERE tenant_id = %s",
            [cells, tenant],
        )
        connection.commit()
        assert await api.registry.put_table_hashes_under_keys() == 1
        connection.commit()
        assert cells not in dict(connection.execute(kept).fetchall())
    for form in forms:
        await uploaded(client, form, *FORMS[form])
    # What was recognised by its cells in their order brings the hash of them in any order.
    for form in forms:
        assert (await client.get(f"/v1/datasets/{form}/budget")).json()["budget"] == "all", form

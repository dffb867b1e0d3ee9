"""The client of programs in Python against the application itself."""

from __future__ import annotations

import httpx
import pandas as pd
import pytest

from app.api.examples.assessments import ASSESSMENTS
from privacy_risk import AsyncClient, ProblemError, Retries, parquet_folder
from tests.api.service import Api

pytestmark = pytest.mark.anyio

HIERARCHY = {"name": "colour", "definition": {"kind": "flat", "values": ["red", "blue"]}}


class LosesAnswers(httpx.AsyncBaseTransport):
    """Passes requests on to the application; the answers to the first few POSTs and DELETEs get lost."""

    def __init__(self, api: Api, lost: int) -> None:
        self._inner = httpx.ASGITransport(app=api.app, raise_app_exceptions=False)
        self._lost = lost
        self.statuses: list[tuple[int, str | None]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        await response.aread()
        self.statuses.append((response.status_code, response.headers.get("idempotency-replayed")))
        if request.method in ("POST", "DELETE") and self._lost > 0:
            self._lost -= 1
            raise httpx.ReadError("the connection broke before the answer came", request=request)
        return response


def client_of(transport: httpx.AsyncBaseTransport, token: str) -> AsyncClient:
    retries = Retries(attempts=4, first_delay=0.0, longest_delay=0.0)
    return AsyncClient("http://service", token, transport=transport, retries=retries)


async def test_a_post_whose_answer_was_lost_makes_one_resource(api: Api):
    _, token = await api.tenant_with_key()
    transport = LosesAnswers(api, lost=2)
    async with client_of(transport, token) as client:
        made = await client.hierarchies.create(HIERARCHY)
        assert transport.statuses == [(201, None), (201, "true"), (201, "true")]
        assert [found.id async for found in client.hierarchies.list()] == [made.id]


async def test_a_key_that_was_shown_once_is_not_made_twice(api: Api):
    """Without a key for the request its repetition would leave a second, unknown API key."""
    _, token = await api.tenant_with_key()
    async with client_of(LosesAnswers(api, lost=1), token) as client:
        before = len(await client.api_keys.all())
        await client.api_keys.create({"name": "reader", "scopes": ["data:read"]})
        assert len(await client.api_keys.all()) == before + 1


async def test_an_upload_whose_answer_was_lost_is_the_same_upload(api: Api):
    _, token = await api.tenant_with_key()
    async with client_of(LosesAnswers(api, lost=1), token) as client:
        made = await client.uploads.create_from("t", b"a,b\n1,2\n")
        assert [found.id async for found in client.uploads.list()] == [made.id]


async def test_a_deletion_whose_answer_was_lost_is_done(api: Api):
    _, token = await api.tenant_with_key()
    async with api.python_client(token) as client:
        await client.hierarchies.create(HIERARCHY)
    async with client_of(LosesAnswers(api, lost=1), token) as client:
        await client.hierarchies.delete("colour")
        with pytest.raises(ProblemError, match="404"):
            await client.hierarchies.delete("colour")


async def test_frames_go_in_and_come_out(api: Api):
    _, token = await api.tenant_with_key()
    frame = pd.DataFrame(
        {"zip": ["02139", "46032", None], "age": [30, 41, 52], "name": ["Zoë", "", "=1+1"]},
        index=[7, 8, 9],
    )
    async with api.python_client(token) as client:
        upload = await client.uploads.create_from_frame("people", frame)
        assert upload.document["columns"] == ["zip", "age", "name"]
        attributes = [
            {"name": name, "type": "text" if name == "name" else "categorical", "role": "quasi_identifier"}
            for name in frame
        ]
        await client.datasets.create({"name": "people", "upload": "people", "attributes": attributes})
        await client.rules.create({"name": "as-is", "dataset": "people", "rule": {"kind": "identity"}})
        body = {"name": "all", "dataset": "people", "rule": "as-is", "order": "records"}
        await client.releases.create(body)
        released = await client.releases.frame("all")
    assert list(released.columns) == ["zip", "age", "name"]
    assert released["zip"].tolist() == ["02139", "46032", "*"]
    assert released["age"].tolist() == ["30", "41", "52"]
    assert released["name"].tolist() == ["Zoë", "*", "=1+1"]


@pytest.fixture
def partitioned(tmp_path):
    """A folder of pieces in two partitions, with what writers leave beside them."""
    for number, city in enumerate(("Gary", "Gary", "02139")):
        folder = tmp_path / "people" / f"city={city}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = {"zip": ["00501", None], "age": [number, 40]}
        pd.DataFrame(rows).to_parquet(folder / f"part-{number}.parquet", index=False)
        (folder / f".part-{number}.parquet.crc").touch()
    (tmp_path / "people" / "_SUCCESS").touch()
    return tmp_path / "people"


async def test_a_folder_of_pieces_is_one_upload_also_after_an_answer_is_lost(api: Api, partitioned):
    _, token = await api.tenant_with_key()
    async with client_of(LosesAnswers(api, lost=1), token) as client:
        upload = await client.uploads.create_from_source("people", parquet_folder(partitioned))
        assert upload.document["columns"] == ["zip", "age", "city"]
        assert upload.document["rows"] == 6
        assert [own.name async for own in client.uploads.list()] == ["people"]
        preview = await client.uploads.preview("people")
    assert preview["rows"] == [
        ["00501", "2", "02139"], [None, "40", "02139"],
        ["00501", "0", "Gary"], [None, "40", "Gary"], ["00501", "1", "Gary"], [None, "40", "Gary"],
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [["a", "a"], ["a", 1], ["a", ""]])
async def test_a_frame_whose_columns_have_no_names_of_their_own_is_refused(api: Api, columns):
    async with api.python_client("a.b") as client:
        with pytest.raises(ValueError, match="names"):
            await client.uploads.create_from_frame("t", pd.DataFrame([["1", "2"]], columns=columns))


async def test_the_records_of_an_assessment_are_a_frame(python_journey: AsyncClient):
    frame = await python_journey.assessments.frame("proposal-score")
    result = (await python_journey.assessments.get("proposal-score")).document["result"]
    assert len(frame) == 12
    assert frame["loss"].mean() == pytest.approx(result["risk_average"], rel=1e-12)
    assert frame["count"].min() == result["min_consistent"]


async def test_a_plan_computes_and_stores_nothing(python_journey: AsyncClient):
    body = {**ASSESSMENTS["proposal-score"]["value"], "name": "planned"}
    assert "route" in str(await python_journey.assessments.plan(body))
    with pytest.raises(ProblemError, match="404"):
        await python_journey.assessments.get("planned")


async def test_lists_are_followed_to_their_end_page_by_page(api: Api):
    _, token = await api.tenant_with_key()
    async with api.python_client(token) as client:
        for number in range(5):
            await client.hierarchies.create({**HIERARCHY, "name": f"colour-{number}"})
        first = await client.hierarchies.page(limit=2)
        second = await client.hierarchies.page(limit=2, cursor=first.next_cursor)
        names = [found.name async for found in client.hierarchies.list(name="colour")]
    assert names == [f"colour-{number}" for number in (4, 3, 2, 1, 0)]
    assert [item.name for item in first.items + second.items] == names[:4]
